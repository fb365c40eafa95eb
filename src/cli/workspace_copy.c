#include "cli/workspace_copy.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Copying { uint64_t bytes; unsigned entries; const WorkspaceCopy *how; bool in_git; Error *err; } Copying;

static bool fail(const Copying *c, const char *name) { return error_set(c->err, ERR_IO, "copy %s: %m", name); }

static bool too_large(const Copying *c) {
    error_set(c->err, ERR_LIMIT, "the workspace is too large to copy (limits: %d entries, %llu MB, %d levels)", WORKSPACE_COPY_ENTRIES,
              (unsigned long long)(WORKSPACE_COPY_BYTES >> 20), WORKSPACE_COPY_DEPTH);
    return error_hint(c->err, "set `workspace:` to a smaller folder");
}

/* Shares the blocks if the file system supports it, else copies in the kernel, else by read and write. */
static bool copy_bytes(int in, int out) {
    if (ioctl(out, FICLONE, in) == 0) return true;
    ssize_t n;
    while ((n = copy_file_range(in, NULL, out, NULL, 1 << 30, 0)) > 0) continue;
    if (n == 0) return true;
    if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP && errno != EPERM) return false;
    char buffer[1 << 16];
    while ((n = read(in, buffer, sizeof buffer)) > 0)
        for (ssize_t done = 0, w; done < n; done += w)
            if ((w = write(out, buffer + done, (size_t)(n - done))) < 0) return false;
    return n == 0;
}

static bool copy_file(Copying *c, int from, int to, const char *name, const struct stat *st) {
    c->bytes += (uint64_t)st->st_size;
    if (c->bytes > WORKSPACE_COPY_BYTES) return too_large(c);
    int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (in < 0) return fail(c, name);
    int out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct timespec times[2] = { st->st_atim, st->st_mtim };
    bool ok = out >= 0 && copy_bytes(in, out) && fchmod(out, st->st_mode & 0777) == 0 && futimens(out, times) == 0;
    if (!ok) fail(c, name);
    if (out >= 0) close(out);
    close(in);
    return ok;
}

static bool copy_link(const Copying *c, int from, int to, const char *name) {
    char target[PATH_MAX];
    ssize_t n = readlinkat(from, name, target, sizeof target - 1);
    if (n < 0) return fail(c, name);
    target[n] = 0;
    return symlinkat(target, to, name) == 0 || fail(c, name);
}

static bool copy_all(Copying *c, int from, int to, int depth);

static bool copy_folder(Copying *c, int from, int to, const char *name, const struct stat *st, int depth) {
    if (st->st_dev == c->how->device && st->st_ino == c->how->inode) return true;
    if (depth >= WORKSPACE_COPY_DEPTH) return too_large(c);
    int in = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (in < 0) return fail(c, name);
    int out = mkdirat(to, name, 0700) == 0 ? openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    bool ok = out >= 0 || fail(c, name), outer = c->in_git;
    c->in_git |= strcmp(name, ".git") == 0;
    ok = ok && copy_all(c, in, out, depth + 1);
    c->in_git = outer;
    if (ok && fchmod(out, (st->st_mode & 0777) | 0700) != 0) ok = fail(c, name);
    if (out >= 0) close(out);
    close(in);
    return ok;
}

static bool copy_entry(Copying *c, int from, int to, const char *name, int depth) {
    struct stat st;
    bool git = strcmp(name, ".git") == 0;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || (git && !c->how->git) || (c->in_git && strcmp(name, "index.lock") == 0)) return true;
    if (!cancel_check(c->how->cancel, c->err)) return false;
    if (++c->entries > WORKSPACE_COPY_ENTRIES) return too_large(c);
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT || fail(c, name);
    if (git && depth == 0 && !S_ISDIR(st.st_mode)) return true;
    if (S_ISREG(st.st_mode)) return copy_file(c, from, to, name, &st);
    if (S_ISLNK(st.st_mode)) return copy_link(c, from, to, name);
    return !S_ISDIR(st.st_mode) || copy_folder(c, from, to, name, &st, depth);
}

static bool copy_all(Copying *c, int from, int to, int depth) {
    int again = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    if (!dir) {
        if (again >= 0) close(again);
        return fail(c, "a folder");
    }
    bool ok = true;
    for (struct dirent *e; ok && (e = readdir(dir));) ok = copy_entry(c, from, to, e->d_name, depth);
    closedir(dir);
    return ok;
}

bool workspace_copy(int from, int to, const WorkspaceCopy *how, Error *err) {
    Copying c = { .how = how, .err = err };
    return copy_all(&c, from, to, 0);
}
