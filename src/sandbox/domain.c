#include "sandbox/domain.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/fault.h"
#include "sandbox/ruleset.h"

/* Missing in the headers of older systems. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_RESTRICT_SELF_TSYNC
#define LANDLOCK_RESTRICT_SELF_TSYNC (1U << 3)
#endif

enum { ABI_REFER = 2, ABI_TRUNCATE = 3, ABI_TSYNC = 8 };

static const uint64_t on_files = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE;
static const uint64_t on_folders =
    LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
    LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER | LANDLOCK_ACCESS_FS_TRUNCATE;

/* Every right that changes files, as far as this kernel knows it. Reading is not restricted: the jail and the sandbox
 * do that. */
static uint64_t handled_by(int abi) {
    return on_folders & ~(abi < ABI_REFER ? LANDLOCK_ACCESS_FS_REFER : 0) & ~(abi < ABI_TRUNCATE ? LANDLOCK_ACCESS_FS_TRUNCATE : 0);
}

static bool add_path(int ruleset, uint64_t handled, const char *path, Error *err) {
    int fd = fault_hit() ? (errno = EMFILE, -1) : open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || error_set(err, ERR_SANDBOX, "restrict harness: %s: %m", path);
    struct stat st;
    struct landlock_path_beneath_attr rule = { .parent_fd = fd };
    bool ok = fstat(fd, &st) == 0;
    rule.allowed_access = handled & (ok && S_ISDIR(st.st_mode) ? on_folders : on_files);
    ok = ok && !fault_hit() && syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    if (!ok)
        error_set(err, ERR_SANDBOX, "restrict harness: %s: %m", path);
    close(fd);
    return ok;
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SANITIZER_THREADS 1                             /* runs its own watcher thread */
#endif
#endif
#ifndef SANITIZER_THREADS
#define SANITIZER_THREADS 0
#endif

/* True if this is the only thread. The caller needs this where the kernel cannot restrict threads that already run. */
static bool is_alone(void) {
    struct stat st;
    return stat("/proc/self/task", &st) < 0 || st.st_nlink <= 2 + 1 + SANITIZER_THREADS;
}

static bool enforce(int ruleset, int abi, Error *err) {
    if (abi >= ABI_TSYNC && syscall(SYS_landlock_restrict_self, ruleset, LANDLOCK_RESTRICT_SELF_TSYNC) == 0)
        return true;
    if (!is_alone())
        return error_set(err, ERR_SANDBOX, "restrict harness: this kernel can only do that before threads are started");
    if (fault_hit() || syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
        return error_set(err, ERR_SANDBOX, "restrict harness: %m");
    return true;
}

bool domain_restrict(const char *const *writable, Error *err) {
    /* The terminal, for questions; and /dev/null. */
    static const char *const devices[] = { "/dev/null", "/dev/tty", NULL };
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return error_set(err, ERR_SANDBOX, "restrict harness: make it undumpable: %m");
    int abi = ruleset_kernel_abi();
    if (abi <= 0)                                      /* not in this kernel, or disabled */
        return true;
    struct landlock_ruleset_attr attr = { .handled_access_fs = handled_by(abi) };
    int ruleset = fault_hit() ? -1 : (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    if (ruleset < 0)
        return error_set(err, ERR_SANDBOX, "restrict harness: %m");
    bool ok = true;
    for (const char *const *p = devices; ok && *p; p++)
        ok = add_path(ruleset, attr.handled_access_fs, *p, err);
    for (const char *const *p = writable; ok && p && *p; p++)
        ok = add_path(ruleset, attr.handled_access_fs, *p, err);
    if (ok && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        ok = error_set(err, ERR_SANDBOX, "restrict harness: %m");
    ok = ok && enforce(ruleset, abi, err);
    close(ruleset);
    return ok;
}
