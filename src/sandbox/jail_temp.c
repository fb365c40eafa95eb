#include "sandbox/jail_temp.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/random.h"

#ifdef HARNESS_HOSTILE
enum { WRITE_STEP = 7 };
#else
enum { WRITE_STEP = 1 << 30 };
#endif

void jail_temp_name(char out[static JAIL_TEMP_NAME]) {
    snprintf(out, JAIL_TEMP_NAME, ".harness-%016llx.tmp", (unsigned long long)random_u64());
}

bool jail_temp_open(JailTemp *t, int dir, mode_t mode) {
    *t = (JailTemp){ .dir = dir, .fd = -1 };
    for (int i = 0; i < 16 && t->fd < 0 && (i == 0 || errno == EEXIST); i++) {
        jail_temp_name(t->name);
        t->fd = walk_open(dir, t->name, O_WRONLY | O_CREAT | O_EXCL, mode);
    }
    return t->there = t->fd >= 0;
}

bool jail_temp_write(JailTemp *t, Str bytes) {
    while (bytes.n) {
        size_t step = bytes.n < WRITE_STEP ? bytes.n : WRITE_STEP;
        ssize_t n = fault_hit() ? (errno = ENOSPC, -1) : write(t->fd, bytes.at, step);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        t->written += (uint64_t)n;
        bytes = str_sub(bytes, (size_t)n, bytes.n);
    }
    return true;
}

/* Only root can set the owner; others try to set the group. Without setuid and setgid, which a write clears. */
static bool look_like(int fd, const struct statx *like) {
    if (fchown(fd, like->stx_uid, like->stx_gid) < 0 && fchown(fd, (uid_t)-1, like->stx_gid) < 0 && errno != EPERM)
        return false;
    return fchmod(fd, like->stx_mode & 01777) == 0;
}

bool jail_temp_finish(JailTemp *t, const struct statx *like) {
    if (like && (fault_hit() ? (errno = EIO, true) : !look_like(t->fd, like)))
        return false;
    return fault_hit() ? (errno = EIO, false) : fsync(t->fd) == 0;
}

bool jail_same(const JailStat *a, const JailStat *b) {
    return a->inode == b->inode && a->device == b->device && a->size == b->size && a->modified_ns == b->modified_ns;
}

static bool rename_as(const JailTemp *t, const char *name, unsigned flags) {
    return fault_hit() ? (errno = EIO, false) : renameat2(t->dir, t->name, t->dir, name, flags) == 0;
}

static bool place_fresh(JailTemp *t, const char *name) {
    if (rename_as(t, name, RENAME_NOREPLACE))
        return true;
    if (errno != EINVAL && errno != ENOSYS)
        return false;
    return linkat(t->dir, t->name, t->dir, name, 0) == 0 && unlinkat(t->dir, t->name, 0) == 0;
}

/* Exchanges the two files, so that the old one can be checked after it is no longer reachable by its name. */
static bool place_expected(JailTemp *t, const char *name, const JailStat *expect) {
    struct statx st;
    if (!rename_as(t, name, RENAME_EXCHANGE)) {
        if (errno != EINVAL && errno != ENOSYS)
            return false;
        if (!walk_stat(t->dir, name, &st))
            return false;
        JailStat old = walk_describe(&st);
        return jail_same(&old, expect) ? rename_as(t, name, 0) : (errno = ESTALE, false);
    }
    bool known = walk_stat(t->dir, t->name, &st);
    JailStat old = known ? walk_describe(&st) : (JailStat){ 0 };
    if (known && jail_same(&old, expect))
        return unlinkat(t->dir, t->name, 0) == 0;
    int error = known ? ESTALE : errno;
    renameat2(t->dir, t->name, t->dir, name, RENAME_EXCHANGE);
    return errno = error, false;
}

/* Some file systems cannot sync a folder, and some folders cannot be opened for reading: ignores that. */
static bool sync_dir(int dir) {
    int fd = walk_open(dir, ".", O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return errno == EACCES;
    bool ok = fault_hit() ? (errno = EIO, false) : fsync(fd) == 0 || errno == EINVAL || errno == EROFS;
    int error = errno;
    close(fd);
    return errno = error, ok;
}

bool jail_temp_place(JailTemp *t, const char *name, bool fresh, const JailStat *expect) {
    bool ok = fresh ? place_fresh(t, name) : expect ? place_expected(t, name, expect) : rename_as(t, name, 0);
    if (!ok)
        return false;
    t->there = false;
    return sync_dir(t->dir);
}

void jail_temp_drop(JailTemp *t) {
    int error = errno;
    if (t->there)
        unlinkat(t->dir, t->name, 0);
    if (t->fd >= 0)
        close(t->fd);
    errno = error;
}
