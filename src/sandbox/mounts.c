#include "sandbox/mounts.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/mem.h"

/* <sys/mount.h> and <linux/mount.h> do not go together here. */
enum { MOUNT_PRIVATE = 1 << 18, MOUNT_REC = 1 << 14, MOUNT_RDONLY = 1, MOUNT_NOSUID = 2, MOUNT_NODEV = 4, MOUNT_NOEXEC = 8 };

static bool make_private(void) {
    return syscall(SYS_mount, NULL, "/", NULL, MOUNT_REC | MOUNT_PRIVATE, NULL) == 0;
}

static bool set_flags(int fd, const char *path, unsigned flags, uint64_t set) {
    struct mount_attr attr = { .attr_set = set };
    return syscall(SYS_mount_setattr, fd, path, flags | AT_RECURSIVE, &attr, sizeof attr) == 0;
}

static bool read_only(int fd, const char *path, unsigned flags) { return set_flags(fd, path, flags, MOUNT_ATTR_RDONLY); }

static bool mount_proc(void) {
    return syscall(SYS_mount, "proc", "/proc", "proc", MOUNT_RDONLY | MOUNT_NOSUID | MOUNT_NODEV | MOUNT_NOEXEC, NULL) == 0;
}

bool mounts_try(void) {
    return make_private() && read_only(AT_FDCWD, "/", 0) && mount_proc();
}

/* A copy of the mounts at `path` that keeps their flags; -1 when there is no such path. */
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

/* The copies are made before everything turns read-only, so that each keeps the flags it had: a mount that the machine's
 * owner made read-only stays so. Device files work in /dev alone, whoever has put others where. */
static bool keep_writable(const char *const *write, Error *err) {
    static const char devices[] = "/dev";
    size_t n = count(write);
    int *copies = mem_zero(n + 1, sizeof *copies);
    for (size_t i = 0; i < n; i++) copies[i] = copy_mounts(write[i]);
    copies[n] = copy_mounts(devices);
    bool ok = set_flags(AT_FDCWD, "/", 0, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV) || error_set(err, ERR_SANDBOX, "make mounts read-only: %m");
    for (size_t i = 0; i <= n; i++) {
        if (copies[i] < 0) continue;
        ok = ok && (set_flags(copies[i], "", AT_EMPTY_PATH, i < n ? MOUNT_ATTR_NODEV : MOUNT_ATTR_RDONLY)
                    || error_set(err, ERR_SANDBOX, "change mounts: %m"));
        ok = ok && put_mounts(copies[i], i < n ? write[i] : devices, err);
        close(copies[i]);
    }
    free(copies);
    return ok;
}

static bool protect_path(const char *path, Error *err) {
    int fd = copy_mounts(path);
    if (fd < 0) return errno == ENOENT || errno == ENOTDIR || error_set(err, ERR_SANDBOX, "protect %s: %m", path);
    bool ok = (read_only(fd, "", AT_EMPTY_PATH) || error_set(err, ERR_SANDBOX, "protect %s: %m", path)) && put_mounts(fd, path, err);
    close(fd);
    return ok;
}

/* What only root may read although everybody may read the rest of /etc. Root's children keep that right (CAP_DAC_OVERRIDE,
 * without which nothing of other users' in the workspace could be worked on), so these are covered: a device on a mount
 * without devices cannot be opened by anyone. */
static bool cover_secrets(Error *err) {
    static const char *const secrets[] = { "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/krb5.keytab",
        "/etc/security/opasswd", "/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key" };
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
        if (access(secrets[i], F_OK) != 0) continue;
        int fd = copy_mounts("/dev/null");
        bool ok = fd >= 0 && set_flags(fd, "", AT_EMPTY_PATH, MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY) && put_mounts(fd, secrets[i], err);
        if (fd >= 0) close(fd);
        if (!ok) return error_set(err, ERR_SANDBOX, "cover %s: %m", secrets[i]);
    }
    static const char keys[] = "/etc/ssl/private";
    return access(keys, F_OK) != 0 || syscall(SYS_mount, "none", keys, "tmpfs", MOUNT_RDONLY | MOUNT_NOSUID | MOUNT_NODEV, "size=4k,mode=0700") == 0
        || error_set(err, ERR_SANDBOX, "cover %s: %m", keys);
}

bool mounts_enter(const char *const *write, const char *const *protect, Error *err) {
    if (!make_private()) return error_set(err, ERR_SANDBOX, "make mounts private: %m");
    if (!keep_writable(write, err)) return false;
    for (size_t i = 0; protect && protect[i]; i++)
        if (!protect_path(protect[i], err)) return false;
    if (!cover_secrets(err)) return false;
    return mount_proc() || error_set(err, ERR_SANDBOX, "mount /proc: %m");
}
