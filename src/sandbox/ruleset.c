#include "sandbox/ruleset.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's interface up to ABI 6, missing in older headers. */
typedef struct Attributes { uint64_t fs, net, scoped; } Attributes;

#define FS_REFER (1ull << 13)
#define FS_TRUNCATE (1ull << 14)
#define FS_IOCTL_DEV (1ull << 15)
#define NET_BIND_TCP (1ull << 0)
#define NET_CONNECT_TCP (1ull << 1)
#define SCOPE_ABSTRACT_UNIX_SOCKET (1ull << 0)
#define SCOPE_SIGNAL (1ull << 1)

enum { ABI_REFER = 2, ABI_TRUNCATE = 3, ABI_NET = 4, ABI_IOCTL = 5, ABI_SCOPE = 6 };

#define FILE_READ (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE)
#define READ_ALL (FILE_READ | LANDLOCK_ACCESS_FS_READ_DIR)
#define FILE_WRITE (LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE)
/* Without device files: no program needs to create them, and no other right may open one. */
#define WRITE_ALL (FILE_WRITE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR \
    | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO \
    | LANDLOCK_ACCESS_FS_MAKE_SYM | FS_REFER)

static uint64_t known_fs(int abi) {
    uint64_t all = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;               /* the thirteen of ABI 1 */
    if (abi >= ABI_REFER) all |= FS_REFER;
    if (abi >= ABI_TRUNCATE) all |= FS_TRUNCATE;
    if (abi >= ABI_IOCTL) all |= FS_IOCTL_DEV;
    return all;
}

int ruleset_kernel_abi(void) {
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return abi < 0 ? 0 : (int)abi;
}

int ruleset_new(const RulesetOptions *o, Error *err) {
    Attributes a = { .fs = known_fs(o->abi) };
    size_t size = sizeof a.fs;
    if (o->abi >= ABI_NET) {
        a.net = o->no_tcp ? NET_BIND_TCP | NET_CONNECT_TCP : 0;
        size = offsetof(Attributes, scoped);
    }
    if (o->abi >= ABI_SCOPE) {
        a.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
        size = sizeof a;
    }
    int fd = (int)syscall(SYS_landlock_create_ruleset, &a, size, 0);
    if (fd < 0) error_set(err, ERR_SANDBOX, "landlock: create ruleset: %m");
    return fd;
}

static uint64_t rights(const RulesetOptions *o, int what, bool folder) {
    uint64_t all = what & RULESET_WRITE ? READ_ALL | WRITE_ALL : READ_ALL;
    if (what & RULESET_DEVICE) all = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | FS_IOCTL_DEV;
    if (what & RULESET_LIST) all = LANDLOCK_ACCESS_FS_READ_DIR;
    if (!folder) all &= FILE_READ | FILE_WRITE | FS_IOCTL_DEV;
    return all & known_fs(o->abi);
}

bool ruleset_allow_open(int ruleset, const RulesetOptions *o, int fd, bool folder, const char *path, int what, Error *err) {
    struct landlock_path_beneath_attr rule = { .allowed_access = rights(o, what, folder), .parent_fd = fd };
    return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0
        || error_set(err, ERR_SANDBOX, "landlock: allow %s: %m", path);
}

static int open_path(const char *path, int what) {
    struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
    return what & RULESET_NO_LINKS ? (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how) : open(path, O_PATH | O_CLOEXEC);
}

bool ruleset_allow(int ruleset, const RulesetOptions *o, const char *path, int what, Error *err) {
    int fd = open_path(path, what);
    if (fd < 0 && errno == ELOOP && what & RULESET_NO_LINKS)
        return error_set(err, ERR_SANDBOX, "%s is now a link or reached through one, which it was not when harness started", path);
    if (fd < 0) return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? true : error_set(err, ERR_SANDBOX, "open %s: %m", path);
    struct stat st;
    bool ok = ruleset_allow_open(ruleset, o, fd, fstat(fd, &st) == 0 && S_ISDIR(st.st_mode), path, what, err);
    close(fd);
    return ok;
}
