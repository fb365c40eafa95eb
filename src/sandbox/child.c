#include "sandbox/child.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STOPPED = 127, UMASK = 022, CAPABILITIES = 64 };

/* By number, so that only syscall() of the C library is used. */
#define CALL(name, ...) syscall(SYS_##name, ##__VA_ARGS__)

static _Noreturn void fail(const ChildPlan *p, ChildStep step) {
    ChildFailure f = { step, errno };
    CALL(write, p->report, &f, sizeof f);
    for (;;) CALL(exit_group, STOPPED);
}

static void set_streams(const ChildPlan *p) {
    for (int fd = 0; fd < 3; fd++)
        if (CALL(dup3, p->stream[fd], fd, 0) < 0) fail(p, CHILD_STREAMS);
    if (CALL(close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC) < 0 && errno != ENOSYS) fail(p, CHILD_STREAMS);
}

static void set_limits(const ChildPlan *p) {
    for (size_t i = 0; i < p->n_limits; i++)
        if (CALL(prlimit64, 0, p->limit[i].what, &p->limit[i].to, NULL) < 0) fail(p, CHILD_LIMIT);
}

/* User 0 has no special rights from here on: not at exec, not by setuid programs. Capabilities to keep are made
 * ambient. */
static void set_bounds(const ChildPlan *p) {
    const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED
                               | SECBIT_KEEP_CAPS_LOCKED;
    if (CALL(prctl, PR_SET_SECUREBITS, bits, 0, 0, 0) < 0) fail(p, CHILD_CAPABILITIES);
    for (int c = 0; c < CAPABILITIES; c++) {
        if ((p->keep >> c & 1) || CALL(prctl, PR_CAPBSET_DROP, c, 0, 0, 0) == 0) continue;
        if (c > CAP_AUDIT_READ && errno == EINVAL) break;                /* the kernel has no more */
        fail(p, CHILD_CAPABILITIES);
    }
}

static void set_capabilities(const ChildPlan *p) {
    if (p->may_drop) set_bounds(p);
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3, .pid = 0 };
    uint32_t low = (uint32_t)p->keep, high = (uint32_t)(p->keep >> 32);
    struct __user_cap_data_struct data[2] = { { low, low, low }, { high, high, high } };
    CALL(prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (CALL(capset, &head, data) < 0) fail(p, CHILD_CAPABILITIES);
    for (int c = 0; c < CAPABILITIES; c++)
        if ((p->keep >> c & 1) && CALL(prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, c, 0, 0) < 0) fail(p, CHILD_CAPABILITIES);
}

/* Dies with the supervisor, which may have died already. */
static void tie_to_parent(const ChildPlan *p) {
    if (CALL(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0) fail(p, CHILD_PRIVILEGES);
    if (CALL(getppid) != p->parent)
        for (;;) CALL(exit_group, STOPPED);
}

static void send_listener(const ChildPlan *p, int fd) {
    union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr head; } control = { .head = {
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
    *(int *)(void *)CMSG_DATA(&control.head) = fd;
    char mark = 'L';
    struct iovec part = { &mark, 1 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes };
    if (CALL(sendmsg, p->report, &message, 0) < 0) fail(p, CHILD_REPORT);
    CALL(close, fd);
}

static void enter_filter(const ChildPlan *p) {
    unsigned long flags = p->listener ? SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV : 0;
    long fd = CALL(seccomp, SECCOMP_SET_MODE_FILTER, flags, p->filter);
    if (fd < 0 && errno == EINVAL && p->listener)        /* before Linux 5.19 */
        fd = CALL(seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, p->filter);
    if (fd < 0) fail(p, CHILD_SECCOMP);
    if (p->listener) send_listener(p, (int)fd);
}

_Noreturn void child_start(const ChildPlan *p) {
    if (CALL(setsid) < 0) fail(p, CHILD_SESSION);
    set_streams(p);
    if (CALL(chdir, p->cwd) < 0) fail(p, CHILD_CWD);
    CALL(umask, UMASK);
    set_limits(p);
    if (p->confine) {
        set_capabilities(p);
        if (CALL(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) fail(p, CHILD_PRIVILEGES);
    }
    tie_to_parent(p);
    uint64_t none = 0;                                   /* the launcher has reset the handlers */
    CALL(rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
    if (p->ruleset >= 0 && CALL(landlock_restrict_self, p->ruleset, p->ruleset_flags) < 0) fail(p, CHILD_LANDLOCK);
    if (p->filter) enter_filter(p);
    int first = ENOENT;
    for (const char *const *path = p->programs; *path; path++) {
        CALL(execve, *path, p->argv, p->env);
        if (errno != ENOENT && errno != ENOTDIR && first == ENOENT) first = errno;   /* prefer any other error over "not found" */
    }
    errno = first;
    fail(p, CHILD_EXEC);
}
