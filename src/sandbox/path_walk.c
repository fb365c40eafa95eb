#include "sandbox/path_walk.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };

typedef struct Walker {
    int fd;                             /* the folder `at` */
    char at[PATH_MAX];                  /* "" is the top */
    char rest[2 * PATH_MAX];            /* not walked yet */
    int links;
} Walker;

static bool fail(int error, Error *err) {
    errno = error;
    error_set(err, ERR_IO, "%m");
    errno = error;
    return false;
}

static bool enter(Walker *w, const char *name, Error *err) {
    int fd = openat(w->fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return fail(errno, err);
    close(w->fd);
    w->fd = fd;
    return true;
}

static bool go_up(Walker *w, Error *err) {
    char *slash = strrchr(w->at, '/');
    if (slash) *slash = 0;
    return enter(w, "..", err);
}

static bool go_down(Walker *w, const char *name, Error *err) {
    size_t n = strlen(w->at);
    if (n + 1 + strlen(name) >= sizeof w->at) return fail(ENAMETOOLONG, err);
    if (!enter(w, name, err)) return false;
    snprintf(w->at + n, sizeof w->at - n, "/%s", name);
    return true;
}

static bool go_to_top(Walker *w, Error *err) {
    if (w->fd >= 0) close(w->fd);
    w->fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    w->at[0] = 0;
    return w->fd >= 0 || fail(errno, err);
}

/* The names of the link come before the rest of the path. */
static bool follow(Walker *w, const char *name, Error *err) {
    char target[PATH_MAX], rest[2 * PATH_MAX];
    ssize_t n = readlinkat(w->fd, name, target, sizeof target - 1);
    if (n < 0) return fail(errno, err);
    target[n] = 0;
    if (++w->links > LINKS_MAX) return fail(ELOOP, err);
    if (snprintf(rest, sizeof rest, "%s/%s", target, w->rest) >= (int)sizeof rest) return fail(ENAMETOOLONG, err);
    if (w->rest[0] == 0) rest[n] = 0;
    memcpy(w->rest, rest, sizeof rest);
    return target[0] != '/' || go_to_top(w, err);
}

static char kind_of(const struct stat *st) {
    return S_ISDIR(st->st_mode) ? 'd' : S_ISLNK(st->st_mode) ? 'l' : S_ISREG(st->st_mode) ? 'f' : 'o';
}

/* Takes the next name off the rest. False: there is none. */
static bool next_name(Walker *w, char name[NAME_MAX + 1], bool *too_long) {
    size_t slashes = strspn(w->rest, "/"), n = strcspn(w->rest + slashes, "/");
    *too_long = n > NAME_MAX;
    if (n == 0 || *too_long) return false;
    memcpy(name, w->rest + slashes, n);
    name[n] = 0;
    n += slashes;
    n += strspn(w->rest + n, "/");
    memmove(w->rest, w->rest + n, strlen(w->rest + n) + 1);
    return true;
}

/* One name that is neither "." nor "..". *done: the walk ends here. */
static bool pass(Walker *w, const char *name, PathEach *each, void *ctx, bool *done, Error *err) {
    char at[PATH_MAX + NAME_MAX + 2];
    struct stat st;
    PathStep step = { .at = at, .last = w->rest[0] == 0 };
    snprintf(at, sizeof at, "%s/%s", w->at, name);
    bool there = fstatat(w->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there && errno != ENOENT) return fail(errno, err);
    step.kind = there ? kind_of(&st) : '-';
    if (!each(ctx, &step, err)) return errno = 0, false;
    if (step.kind == 'l') return follow(w, name, err);
    *done = step.last;
    if (*done) return true;
    if (step.kind == 'd') return go_down(w, name, err);
    return fail(there ? ENOTDIR : ENOENT, err);
}

static bool start(Walker *w, const char *path, Error *err) {
    char here[PATH_MAX] = "";
    if (path[0] != '/' && !getcwd(here, sizeof here)) return fail(errno, err);
    if (snprintf(w->rest, sizeof w->rest, "%s/%s", here, path) >= (int)sizeof w->rest) return fail(ENAMETOOLONG, err);
    return go_to_top(w, err);
}

bool path_walk(const char *path, PathEach *each, void *ctx, PathEnd *out, Error *err) {
    Walker w = { .fd = -1 };
    char name[NAME_MAX + 1] = ".";
    bool done = false, too_long = false, ok = start(&w, path, err);
    while (ok && !done && next_name(&w, name, &too_long)) {
        if (strcmp(name, "..") == 0) ok = go_up(&w, err);
        else if (strcmp(name, ".") != 0) ok = pass(&w, name, each, ctx, &done, err);
    }
    if (ok && too_long) ok = fail(ENAMETOOLONG, err);
    int error = errno;
    if (ok) *out = (PathEnd){ .folder = w.fd };
    if (ok) snprintf(out->name, sizeof out->name, "%s", done ? name : ".");
    if (!ok && w.fd >= 0) close(w.fd);
    errno = error;
    return ok;
}
