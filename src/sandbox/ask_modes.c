/* Modes, times and owners of files. Landlock lets the owner change them, and private mounts anyone who has the file
 * open, so the supervisor decides. It opens the file as the program would, without magic links (those refer to the
 * supervisor's own descriptors), and checks the location: below a writable root it changes the open file, else it
 * refuses. */
#include "sandbox/ask.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

bool ask_is_below(const char *path, const char *root) {
    size_t n = strlen(root);
    if (n == 1) return true;                             /* "/" */
    return strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == 0);
}

bool ask_is_inside(const Ask *a, const char *path) {
    for (size_t i = 0; i < a->n_roots; i++)
        if (ask_is_below(path, a->roots[i])) return true;
    return false;
}

/* The kernel's path of an open file has no links and dots. Pipes and the like have no path and are in no folder. */
static bool is_inside(const Ask *a, int fd) {
    char link[40], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0 || n == sizeof path - 1) return false;
    path[n] = 0;
    return path[0] != '/' || ask_is_inside(a, path);
}

bool ask_read_path(const Ask *a, const struct seccomp_notif *q, uint64_t from, char path[PATH_MAX]) {
    for (size_t n = 0; n < PATH_MAX;) {
        size_t piece = 256 - (from + n) % 256;           /* never crosses a page boundary */
        if (piece > PATH_MAX - n) piece = PATH_MAX - n;
        if (!ask_read(a, q, from + n, path + n, piece)) return false;
        if (memchr(path + n, 0, piece)) return true;
        n += piece;
    }
    return false;
}

static int open_base(const Ask *a, const struct seccomp_notif *q, int fd) {
    char path[40];
    if (fd != AT_FDCWD) return ask_take(a, q, fd);
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)tree_process_of((pid_t)q->pid));
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int ask_open(const Ask *a, const struct seccomp_notif *q, int base, const char *path, bool follow) {
    int from = path[0] == '/' ? open("/", O_PATH | O_CLOEXEC) : open_base(a, q, base);
    if (from < 0) return -1;
    struct open_how how = { .flags = (uint64_t)(O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW)), .resolve = RESOLVE_NO_MAGICLINKS };
    int fd = (int)syscall(SYS_openat2, from, path, &how, sizeof how), problem = errno;
    close(from);
    errno = problem;
    return fd;
}

static int open_target(const Ask *a, const struct seccomp_notif *q, int base, uint64_t path_at, bool follow) {
    char path[PATH_MAX];
    if (!ask_read_path(a, q, path_at, path)) return errno = EFAULT, -1;
    return ask_open(a, q, base, path, follow);
}

/* A setuid file would remain after the call. (Files created with such a mode are empty, and the kernel clears it when
 * something is written.) */
static bool lends_rights(int fd, uint32_t mode) {
    struct stat st;
    return (mode & (S_ISUID | S_ISGID)) && !(fstat(fd, &st) == 0 && S_ISDIR(st.st_mode));
}

static int change_mode(int fd, uint32_t mode) {
    char link[40];
    if (lends_rights(fd, mode)) return EPERM;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return chmod(link, mode) < 0 ? errno : 0;
}

static int change_times(const Ask *a, const struct seccomp_notif *q, int fd, uint64_t times_at) {
    struct timespec times[2];
    if (times_at && !ask_read(a, q, times_at, times, sizeof times)) return EFAULT;
    return syscall(SYS_utimensat, fd, "", times_at ? times : NULL, AT_EMPTY_PATH) < 0 ? errno : 0;
}

/* Refuses to give files away; allows calls that change nothing. -1: unchanged. */
static int keep_owner(int fd, uint32_t uid, uint32_t gid) {
    struct stat st;
    if (fstat(fd, &st) < 0) return errno;
    return (uid == UINT32_MAX || uid == st.st_uid) && (gid == UINT32_MAX || gid == st.st_gid) ? 0 : EPERM;
}

static int with_file(const Ask *a, const struct seccomp_notif *q, int fd) {
    const __u64 *arg = q->data.args;
    if (!is_inside(a, fd)) return EPERM;
    switch (q->data.nr) {
    case SYS_chmod: case SYS_fchmod: return change_mode(fd, (uint32_t)arg[1]);
    case SYS_fchmodat: return change_mode(fd, (uint32_t)arg[2]);
    case SYS_chown: case SYS_lchown: case SYS_fchown: return keep_owner(fd, (uint32_t)arg[1], (uint32_t)arg[2]);
    case SYS_fchownat: return keep_owner(fd, (uint32_t)arg[2], (uint32_t)arg[3]);
    default: return change_times(a, q, fd, arg[2]);
    }
}

/* An empty path with AT_EMPTY_PATH means the descriptor itself. */
static int open_at(const Ask *a, const struct seccomp_notif *q, uint64_t flags) {
    const __u64 *arg = q->data.args;
    char first = 1;
    if (!arg[1]) return ask_take(a, q, (int)arg[0]);
    if ((flags & AT_EMPTY_PATH) && ask_read(a, q, arg[1], &first, 1) && !first) return ask_take(a, q, (int)arg[0]);
    return open_target(a, q, (int)arg[0], arg[1], !(flags & AT_SYMLINK_NOFOLLOW));
}

int ask_mode(const Ask *a, const struct seccomp_notif *q) {
    const __u64 *arg = q->data.args;
    int fd;
    errno = EBADF;
    switch (q->data.nr) {
    case SYS_chmod: case SYS_chown: fd = open_target(a, q, AT_FDCWD, arg[0], true); break;
    case SYS_lchown: fd = open_target(a, q, AT_FDCWD, arg[0], false); break;
    case SYS_fchmod: case SYS_fchown: fd = ask_take(a, q, (int)arg[0]); break;
    case SYS_fchmodat: fd = open_at(a, q, 0); break;
    case SYS_fchownat: fd = open_at(a, q, arg[4]); break;
    default: fd = open_at(a, q, arg[3]);                 /* utimensat */
    }
    if (fd < 0) return errno ? errno : EBADF;
    int rc = with_file(a, q, fd);
    close(fd);
    return rc;
}

static void add_root(Ask *a, const char *path) {
    char *full = path && *path ? realpath(path, NULL) : NULL;
    if (full && a->n_roots < ASK_ROOTS_MAX) a->roots[a->n_roots++] = full;
    else free(full);
}

/* Links in a root were resolved: if one has a link now, it was changed since. */
static void add_real_root(Ask *a, const char *path) {
    char *full = realpath(path, NULL);
    if (full && strcmp(full, path) == 0) add_root(a, path);
    free(full);
}

void ask_roots(Ask *a, const Request *r, const char *scratch) {
    add_root(a, r->workspace);
    add_root(a, scratch);
    if (r->head.real_home) add_root(a, r->home);
    for (const char **p = r->list[REQUEST_WRITE]; *p; p++) add_real_root(a, *p);
}
