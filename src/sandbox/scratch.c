#include "sandbox/scratch.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/str.h"

enum { MODE = 0700 };

static int open_folder(int at, const char *name) {
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 || errno != EACCES) return fd;
    if (fchmodat(at, name, MODE, 0) < 0) return -1;     /* ours, but not accessible; a link would have been ELOOP or
                                                         * ENOTDIR */
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Lists a descriptor that stays open, from its start. */
static DIR *listing(int fd) {
    int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    if (!dir && again >= 0) close(again);
    if (dir) rewinddir(dir);
    return dir;
}

static bool is_dot(const char *name) { return name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0)); }

/* Moves a nested folder up to `top` under a fresh name, so that two descriptors suffice for any depth. */
static bool lift(int from, const char *name, int top, uint64_t *serial) {
    char fresh[32];
    struct stat st;
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & MODE) != MODE)
        (void)!fchmodat(from, name, MODE, 0);            /* moving a folder needs write permission on it */
    for (int tries = 0; tries < 1000; tries++) {
        snprintf(fresh, sizeof fresh, ".gone-%llu", (unsigned long long)(*serial)++);
        if (renameat(from, name, top, fresh) == 0) return true;
        if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) return false;
    }
    return false;
}

/* Empties `fd`. `top`: nested folders are moved there; -1: this is the top, and each is emptied in turn. */
static bool take_out(int fd, int top, uint64_t *serial, int64_t until);

static bool remove_folder(int at, const char *name, uint64_t *serial, int64_t until) {
    int fd = open_folder(at, name);
    if (fd >= 0) {
        (void)fchmod(fd, MODE);
        bool ok = take_out(fd, at, serial, until);
        close(fd);
        if (!ok) return false;
    }
    return unlinkat(at, name, AT_REMOVEDIR) == 0;
}

static bool take_out(int fd, int top, uint64_t *serial, int64_t until) {
    DIR *dir = listing(fd);
    if (!dir) return false;
    bool ok = true;
    for (struct dirent *e; (e = readdir(dir));) {
        if (is_dot(e->d_name)) continue;
        if (clock_mono_ns() > until) { ok = false; break; }
        if (unlinkat(fd, e->d_name, 0) == 0 || errno == ENOENT) continue;
        if (top < 0) ok = remove_folder(fd, e->d_name, serial, until) && ok;
        else ok = lift(fd, e->d_name, top, serial) && ok;
    }
    closedir(dir);
    return ok;
}

static bool is_empty(int fd) {
    DIR *dir = listing(fd);
    if (!dir) return false;
    struct dirent *e;
    while ((e = readdir(dir)) && is_dot(e->d_name)) {}
    closedir(dir);
    return e == NULL;
}

/* Folders that move up while the top is being read may be seen in this pass or the next. */
bool scratch_empty(int fd, int64_t until_ns) {
    uint64_t serial = 0;
    for (int stuck = 0; stuck < 3;) {
        if (is_empty(fd)) return true;
        if (clock_mono_ns() > until_ns) return false;
        if (!take_out(fd, -1, &serial, until_ns)) stuck++;
    }
    return is_empty(fd);
}

static void remove_stale(const char *parent, const char *prefix) {
    DIR *dir = opendir(parent);
    if (!dir) return;
    for (struct dirent *e; (e = readdir(dir));) {
        struct stat st;
        if (strncmp(e->d_name, prefix, strlen(prefix)) != 0) continue;
        int fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) continue;
        if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0
            && scratch_empty(fd, clock_mono_ns() + 1000000000))
            (void)unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
        close(fd);
    }
    closedir(dir);
}

static bool make(const char *parent, char path[SCRATCH_PATH_MAX], int *fd) {
    char prefix[40];
    snprintf(prefix, sizeof prefix, "harness-calls-%u-", (unsigned)geteuid());
    for (int tries = 0; tries < 10; tries++) {
        if (snprintf(path, SCRATCH_PATH_MAX, "%s/%sXXXXXX", parent, prefix) >= SCRATCH_PATH_MAX) return errno = ENAMETOOLONG, false;
        if (!mkdtemp(path)) return false;
        *fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (*fd >= 0 && flock(*fd, LOCK_SH | LOCK_NB) == 0 && access(path, F_OK) == 0) {   /* not removed as stale by another process? */
            remove_stale(parent, prefix);
            return true;
        }
        if (*fd >= 0) close(*fd);
        (void)rmdir(path);
    }
    return false;
}

bool scratch_base(char path[SCRATCH_PATH_MAX], int *fd, Error *err) {
    const char *other = getenv("TMPDIR");
    return make("/tmp", path, fd) || (other && other[0] == '/' && make(other, path, fd)) || make("/var/tmp", path, fd)
           || error_set(err, ERR_SANDBOX, "no folder for temporary files: %s: %m", path);
}
