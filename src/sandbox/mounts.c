#include "sandbox/mounts.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/mem.h"
#include "sandbox/cover.h"
#include "sandbox/shield.h"

/* <sys/mount.h> and <linux/mount.h> conflict here. */
enum { MOUNT_PRIVATE = 1 << 18, MOUNT_SLAVE = 1 << 19, MOUNT_REC = 1 << 14, MOUNT_RDONLY = 1, MOUNT_NOSUID = 2, MOUNT_NODEV = 4, MOUNT_NOEXEC = 8 };

/* Mounts made here are not visible outside. For an ordinary user, unmounting outside propagates here, so that no disk
 * stays busy; for root nothing propagates, because a new mount could contain device files. */
static bool make_private(bool user_namespace) {
    return syscall(SYS_mount, NULL, "/", NULL, MOUNT_REC | (user_namespace ? MOUNT_SLAVE : MOUNT_PRIVATE), NULL) == 0;
}

static bool set_flags(int fd, const char *path, unsigned flags, uint64_t set) {
    struct mount_attr attr = { .attr_set = set };
    return syscall(SYS_mount_setattr, fd, path, flags | AT_RECURSIVE, &attr, sizeof attr) == 0;
}

static bool read_only(int fd, const char *path, unsigned flags) { return set_flags(fd, path, flags, MOUNT_ATTR_RDONLY); }

static bool mount_proc(void) {
    return syscall(SYS_mount, "proc", "/proc", "proc", MOUNT_RDONLY | MOUNT_NOSUID | MOUNT_NODEV | MOUNT_NOEXEC, NULL) == 0;
}

bool mounts_try_proc(void) { return mount_proc(); }

/* A copy of the mounts at `path` that keeps their flags; -1 if the path does not exist. */
static int copy_mounts(const char *path) {
    return (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
}

static bool put_mounts(int fd, const char *path, Error *err) {
    bool ok = syscall(SYS_move_mount, fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_SYMLINKS) == 0;
    if (!ok) error_set(err, ERR_SANDBOX, "mount %s: %m", path);
    return ok;
}

static size_t count(const char *const *list) {
    size_t n = 0;
    while (list && list[n]) n++;
    return n;
}

/* Real paths of the writable places that exist. */
static const char *const *real_roots(const char *const *write, Arena *arena) {
    size_t kept = 0;
    char real[PATH_MAX];
    const char **out = ARENA_ARRAY(arena, const char *, count(write) + 1);
    for (size_t i = 0; write && write[i]; i++)
        if (realpath(write[i], real)) out[kept++] = arena_fmt(arena, "%s", real);
    return out;
}

/* Nothing can be mounted over "/": a process would still see what is below. If everything is writable, as with a home
 * of "/", nothing is made read-only. */
static bool has_top(const char *const *roots) {
    for (size_t i = 0; roots[i]; i++)
        if (strcmp(roots[i], "/") == 0) return true;
    return false;
}

/* Copies are made before everything becomes read-only, so that each keeps its flags: a mount that was read-only stays
 * so. Device files work only in /dev. */
static bool keep_writable(const char *const *roots, Error *err) {
    static const char devices[] = "/dev";
    bool all = has_top(roots);
    size_t n = all ? 0 : count(roots);
    int *copies = mem_zero(n + 1, sizeof *copies);
    for (size_t i = 0; i < n; i++) copies[i] = copy_mounts(roots[i]);
    copies[n] = copy_mounts(devices);
    bool ok = set_flags(AT_FDCWD, "/", 0, all ? MOUNT_ATTR_NODEV : MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV)
        || error_set(err, ERR_SANDBOX, "make mounts read-only: %m");
    for (size_t i = 0; i <= n; i++) {
        if (copies[i] < 0) continue;
        ok = ok && (set_flags(copies[i], "", AT_EMPTY_PATH, i < n ? MOUNT_ATTR_NODEV : MOUNT_ATTR_RDONLY)
                    || error_set(err, ERR_SANDBOX, "change mounts: %m"));
        ok = ok && put_mounts(copies[i], i < n ? roots[i] : devices, err);
        close(copies[i]);
    }
    free(copies);
    return ok;
}

/* Exists on every machine. */
static const char sample[] = "/usr";

static bool try_bind(void) {
    int fd = copy_mounts(sample);
    bool ok = fd >= 0 && read_only(fd, "", AT_EMPTY_PATH) && syscall(SYS_move_mount, fd, "", AT_FDCWD, sample, MOVE_MOUNT_F_EMPTY_PATH) == 0;
    if (fd >= 0) {
        int problem = errno;
        close(fd);
        errno = problem;
    }
    return ok;
}

MountsStep mounts_try(bool user_namespace) {
    if (!make_private(user_namespace)) return MOUNTS_PROPAGATION;
    if (!set_flags(AT_FDCWD, "/", 0, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV)) return MOUNTS_READ_ONLY;
    if (!try_bind()) return MOUNTS_BIND;
    return cover_folder(sample) ? MOUNTS_DONE : MOUNTS_COVER;
}

bool mounts_enter(const MountsPlan *plan, Arena *arena, Error *err) {
    if (!make_private(plan->user_namespace)) return error_set(err, ERR_SANDBOX, "make mounts private: %m");
    const char *const *roots = real_roots(plan->write, arena);
    if (!keep_writable(roots, err) || !shield_all(roots, plan->protect, arena, err)) return false;
    return !plan->own_processes || mount_proc() || error_set(err, ERR_SANDBOX, "mount /proc: %m");
}
