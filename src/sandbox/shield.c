#include "sandbox/shield.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/vec.h"
#include "sandbox/reach.h"
#include "sandbox/git_steps.h"

/* A folder on the path, or a path that becomes read-only. */
typedef struct Point { const char *path; bool read_only; } Point;
typedef VEC(Point) Points;

/* The outermost writable place that strictly contains `path`; NULL: none. */
static const char *root_of(const char *const *write, const char *path) {
    const char *found = NULL;
    for (size_t i = 0; write && write[i]; i++)
        if (strcmp(path, write[i]) != 0 && reach_is_below(path, write[i]) && (!found || strlen(write[i]) < strlen(found))) found = write[i];
    return found;
}

/* True if a writable place is the path itself or inside it: protecting that would leave nothing writable. */
static bool holds_root(const char *const *write, const char *path) {
    for (size_t i = 0; write && write[i]; i++)
        if (reach_is_below(write[i], path)) return true;
    return false;
}

static void add_way(Points *points, Arena *arena, const char *root, const char *path) {
    size_t from = strcmp(root, "/") == 0 ? 0 : strlen(root);
    for (const char *slash = strchr(path + from + 1, '/'); slash; slash = strchr(slash + 1, '/'))
        VEC_PUSH(points, ((Point){ arena_fmt(arena, "%.*s", (int)(slash - path), path), false }));
}

/* The folders that lead to a link. */
static void add_link(Points *points, Arena *arena, const char *const *write, const char *path) {
    char folder[PATH_MAX], real[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path || (size_t)(slash - path) >= sizeof folder) return;
    memcpy(folder, path, (size_t)(slash - path));
    folder[slash - path] = 0;
    if (!realpath(folder, real)) return;
    const char *full = arena_fmt(arena, "%s%s", strcmp(real, "/") == 0 ? "" : real, slash), *root = root_of(write, full);
    if (root) add_way(points, arena, root, full);
}

/* A path that this process cannot reach is unreachable for the program too. */
static bool add_path(Points *points, Arena *arena, const char *const *write, const char *path, Error *err) {
    char real[PATH_MAX];
    struct stat st;
    if (!realpath(path, real)) {
        bool absent = errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EACCES || errno == ENAMETOOLONG;
        if (absent && lstat(path, &st) == 0) add_link(points, arena, write, path);       /* the link's target does not exist yet */
        return absent || error_set(err, ERR_SANDBOX, "protect %s: %m", path);
    }
    const char *root = root_of(write, real);
    if (strcmp(real, path) != 0) add_link(points, arena, write, path);
    if (!root || holds_root(write, real)) return true;
    add_way(points, arena, root, real);
    VEC_PUSH(points, ((Point){ arena_fmt(arena, "%s", real), true }));
    return true;
}

/* A folder before its content; for equal paths, the read-only one first. */
static int compare(const void *a, const void *b) {
    const Point *x = a, *y = b;
    int order = strcmp(x->path, y->path);
    return order ? order : (int)y->read_only - (int)x->read_only;
}

static bool make_read_only(int tree) {
    struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };
    return syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &read_only, sizeof read_only) == 0;
}

/* Mounts the path onto itself, with everything mounted below it. Opens the path once, so that another call cannot
 * substitute a link. */
static bool mount_itself(const Point *p, Error *err) {
    struct open_how how = { .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW, .resolve = RESOLVE_NO_SYMLINKS };
    int at = (int)syscall(SYS_openat2, AT_FDCWD, p->path, &how, sizeof how);
    if (at < 0 && (errno == ENOENT || errno == ENOTDIR)) return true;    /* removed meanwhile */
    int tree = at < 0 ? -1 : (int)syscall(SYS_open_tree, at, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH);
    bool ok = tree >= 0 && (!p->read_only || make_read_only(tree));
    ok = ok && syscall(SYS_move_mount, tree, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0;
    if (!ok) error_set(err, ERR_SANDBOX, "protect %s: %m", p->path);
    if (tree >= 0) close(tree);
    if (at >= 0) close(at);
    return ok;
}

static bool mount_points(const Points *points, Error *err) {
    const char *last = "", *closed = NULL;
    for (size_t i = 0; i < points->n; i++) {
        const Point *p = &points->at[i];
        if (strcmp(p->path, last) == 0 || (closed && reach_is_below(p->path, closed))) continue;
        last = p->path;
        if (!mount_itself(p, err)) return false;
        if (p->read_only) closed = p->path;
    }
    return true;
}

bool shield_all(const char *const *write, const char *const *protect, Arena *arena, Error *err) {
    Points points = { 0 };
    bool ok = true;
    for (size_t i = 0; ok && protect && protect[i]; i++) ok = git_steps_is_path(protect[i]) || add_path(&points, arena, write, protect[i], err);
    if (points.n) qsort(points.at, points.n, sizeof *points.at, compare);
    ok = ok && mount_points(&points, err);
    VEC_CLEAR(&points);
    return ok;
}

bool shield_stands(int root, const char *path) {
    struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
    struct statfs fs;
    int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
    bool stands = fd >= 0 && fstatfs(fd, &fs) == 0 && (fs.f_flags & ST_RDONLY);
    if (fd >= 0) close(fd);
    return stands;
}
