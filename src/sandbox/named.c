#include "sandbox/named.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/path.h"
#include "sandbox/reach.h"
#include "sandbox/path_walk.h"

typedef struct Check { const char *const *reach; bool inside; /* of the last entry */ } Check;

/* ---- streams ---- */

static bool is_number(const char *text) { return *text && text[strspn(text, "0123456789")] == 0; }

/* True if the path names an open descriptor (/dev/fd/3, /proc/self/fd/3) or a device. Tools cannot create such names. */
static bool is_stream(const char *path) {
    if (strncmp(path, "/dev/fd/", 8) == 0) return is_number(path + 8);
    if (strncmp(path, "/dev/pts/", 9) == 0) return is_number(path + 9);
    if (strncmp(path, "/dev/", 5) == 0) return !strchr(path + 5, '/');
    if (strncmp(path, "/proc/", 6) != 0) return false;
    const char *fd = strstr(path, "/fd/");
    if (!fd || !is_number(fd + 4)) return false;
    return strncmp(path, "/proc/self/fd/", 14) == 0 || (size_t)(fd - path - 6) == strspn(path + 6, "0123456789");
}

static int open_stream(const char *path, int flags, mode_t mode, Error *err) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | flags, mode);
    if (fd < 0) error_set(err, ERR_IO, "%m");
    return fd;
}

/* ---- files ---- */

static bool check_step(void *ctx, const PathStep *step, Error *err) {
    Check *c = ctx;
    if (!step->last && step->kind != 'l') return true;
    c->inside = reach_holds(c->reach, step->at, NULL);
    if (step->kind != 'l' || !(c->inside || step->last)) return true;
    if (!c->inside) {
        error_set(err, ERR_SANDBOX, "%s is a symbolic link, and harness does not write through one", step->at);
        return error_hint(err, "name the file that it leads to");
    }
    error_set(err, ERR_SANDBOX, "%s is a symbolic link in a place that tools can write, so harness does not follow it", step->at);
    return error_hint(err, "remove the link, or name a file outside of the workspace");
}

static const char *kind_name(mode_t mode) {
    return S_ISFIFO(mode) ? "a FIFO" : S_ISSOCK(mode) ? "a socket" : S_ISDIR(mode) ? "a folder" : "a device";
}

static bool check_file(int fd, bool inside, Error *err) {
    struct stat st;
    if (fstat(fd, &st) != 0) return error_set(err, ERR_IO, "%m");
    if (!inside || (S_ISREG(st.st_mode) && st.st_nlink == 1)) return true;
    if (S_ISREG(st.st_mode)) error_set(err, ERR_SANDBOX, "it has another name elsewhere (a hard link), so harness does not write to it");
    else error_set(err, ERR_SANDBOX, "it is %s in a place that tools can write, so harness does not open it", kind_name(st.st_mode));
    return error_hint(err, "remove it, or name a file outside of the workspace");
}

/* Truncates the file only after checking it, and makes the descriptor blocking again. */
static bool settle(int fd, int flags, Error *err) {
    struct stat st;
    int now = fcntl(fd, F_GETFL);
    bool ok = now >= 0 && fcntl(fd, F_SETFL, now & ~O_NONBLOCK) == 0 && fstat(fd, &st) == 0;
    if (ok && (flags & O_TRUNC) && S_ISREG(st.st_mode)) ok = ftruncate(fd, 0) == 0;
    return ok || error_set(err, ERR_IO, "%m");
}

static bool say_why(const PathEnd *end, bool inside, Error *err) {
    int why = errno;
    struct stat st;
    bool there = fstatat(end->folder, end->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    errno = why;
    if (why == ENXIO && there && S_ISFIFO(st.st_mode) && !inside) {
        error_set(err, ERR_IO, "it is a FIFO that no program reads");
        return error_hint(err, "start the program that reads it first");
    }
    if (why == ENXIO && there && !S_ISREG(st.st_mode)) {
        error_set(err, ERR_SANDBOX, "it is %s, so harness does not open it", kind_name(st.st_mode));
        return error_hint(err, "remove it, or name another file");
    }
    return error_set(err, ERR_IO, "%m");
}

static int open_in(const PathEnd *end, int flags, mode_t mode, bool inside, Error *err) {
    int how = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK | (flags & (O_APPEND | O_EXCL));
    int fd = openat(end->folder, end->name, how, mode);
    if (fd < 0) return say_why(end, inside, err), -1;
    if (check_file(fd, inside, err) && settle(fd, flags, err)) return fd;
    close(fd);
    return -1;
}

int named_open(const char *path, int flags, mode_t mode, const char *const *reach, Error *err) {
    Arena arena = { 0 };
    PathEnd end;
    Check c = { .reach = reach };
    size_t n = strlen(path);
    const char *normal = path[0] == '/' ? path_normal(&arena, str_from(path)).at : "";
    int fd = -1;
    if (is_stream(normal)) {
        fd = open_stream(normal, flags, mode, err);
    } else if (n == 0 || path[n - 1] == '/') {
        error_set(err, ERR_IO, "not the name of a file");
    } else if (path_walk(path, check_step, &c, &end, err)) {
        fd = open_in(&end, flags, mode, c.inside, err);
        close(end.folder);
    }
    arena_clear(&arena);
    return fd;
}
