#include "sandbox/cover.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "sandbox/reach.h"

/* <sys/mount.h> and <linux/mount.h> conflict here. */
enum { MOUNT_RDONLY = 1, MOUNT_NOSUID = 2, MOUNT_NODEV = 4, MOUNT_NOEXEC = 8 };

bool cover_folder(const char *path) {
    return syscall(SYS_mount, "none", path, "tmpfs", MOUNT_RDONLY | MOUNT_NOSUID | MOUNT_NODEV | MOUNT_NOEXEC, "size=4k,mode=0700") == 0;
}

/* ---- what only root may read ---- */

/* A device on a nodev mount: no process can open it. */
static bool cover_file(const char *path) {
    struct mount_attr closed = { .attr_set = MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY };
    int fd = (int)syscall(SYS_open_tree, AT_FDCWD, "/dev/null", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    bool ok = fd >= 0 && syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH, &closed, sizeof closed) == 0
        && syscall(SYS_move_mount, fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_SYMLINKS) == 0;
    int problem = errno;
    if (fd >= 0) close(fd);
    errno = problem;
    return ok;
}

/* Another program may remove the path meanwhile: then there is nothing to cover. */
static bool cover_existing(bool (*cover)(const char *), const char *path, Error *err) {
    if (access(path, F_OK) != 0 || cover(path)) return true;
    int problem = errno;
    if (access(path, F_OK) != 0) return true;
    errno = problem;
    return error_set(err, ERR_SANDBOX, "cover %s: %m", path);
}

bool cover_secrets(char *const *folders, size_t n, Error *err) {
    static const char *const files[] = { "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/krb5.keytab",
        "/etc/security/opasswd", "/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key" };
    static const char keys[] = "/etc/ssl/private";      /* covered even if others may list it; usually one of `folders` */
    bool ok = true, has_keys = false;
    for (size_t i = 0; ok && i < sizeof files / sizeof *files; i++) ok = cover_existing(cover_file, files[i], err);
    for (size_t i = 0; ok && i < n; i++) {
        ok = cover_existing(cover_folder, folders[i], err);
        has_keys = has_keys || strcmp(folders[i], keys) == 0;
    }
    return ok && (has_keys || cover_existing(cover_folder, keys, err));
}

/* ---- harness's own folders ---- */

/* Makes a folder a mount, so that it cannot be renamed. */
static bool pin(const char *path, Error *err) {
    int fd = (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    bool ok = fd >= 0 && syscall(SYS_move_mount, fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) == 0;
    if (!ok) error_set(err, ERR_SANDBOX, "mount %s: %m", path);
    if (fd >= 0) close(fd);
    return ok;
}

static bool cover_other_name(void *ctx, const char *path) {
    struct stat st;
    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode)) return true;      /* already covered by another mount */
    return cover_folder(path) || error_set(ctx, ERR_SANDBOX, "cover %s: %m", path);
}

/* From the top down to the folder itself; `path` is resolved and inside `home`. */
static bool pin_and_cover(const char *home, const char *path, Error *err) {
    char part[PATH_MAX];
    size_t from = strcmp(home, "/") == 0 ? 0 : strlen(home);
    for (const char *slash = path + from; slash; slash = strchr(slash + 1, '/')) {
        if (slash == path + from) continue;
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        if (mkdir(part, 0700) < 0 && errno != EEXIST) return error_set(err, ERR_SANDBOX, "make %s: %m", part);
        if (!pin(part, err)) return false;
    }
    if (mkdir(path, 0700) < 0 && errno != EEXIST) return error_set(err, ERR_SANDBOX, "make %s: %m", path);
    return reach_names(path, cover_other_name, err);
}

static bool is_covered(const char *path, const char *const *paths, size_t n) {
    char other[PATH_MAX];
    for (size_t i = 0; i < n; i++)
        if (reach_resolve(paths[i], other) && reach_is_below(path, other)) return true;
    return false;
}

bool cover_inside(const char *home, const char *const *paths, Error *err) {
    char top[PATH_MAX], path[PATH_MAX];
    if (!reach_resolve(home, top)) return error_set(err, ERR_SANDBOX, "%s: the path is too long", home);
    for (size_t i = 0; paths && paths[i]; i++) {
        if (!reach_resolve(paths[i], path)) return error_set(err, ERR_SANDBOX, "%s: the path is too long", paths[i]);
        if (reach_is_below(path, top) && !is_covered(path, paths, i) && !pin_and_cover(top, path, err)) return false;
    }
    return true;
}
