#include "sandbox/probe.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/number.h"
#include "sandbox/mounts.h"
#include "sandbox/ruleset.h"

enum { ABI_LOGS = 7, CAP_AUDIT_READ_BIT = 37 };

/* Written once, by ask(), and only read then. */
static Probe probe;
static pthread_once_t probe_once = PTHREAD_ONCE_INIT;

static int lowered(int abi) {
    const char *text = getenv("HARNESS_TEST_LANDLOCK_ABI");
    if (!text || text[0] < '0' || text[0] > '9' || text[1]) return abi;
    return text[0] - '0' < abi ? text[0] - '0' : abi;
}

static bool seccomp_offers(uint32_t action) {
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static bool has_openat2(void) {
    struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH };
    long fd = syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof how);
    if (fd >= 0) close((int)fd);
    return fd >= 0;
}

static bool has_pidfd(void) {
    long fd = syscall(SYS_pidfd_open, getpid(), 0);
    if (fd >= 0) close((int)fd);
    return fd >= 0;
}

/* Tried in a child, because there is no way back out of a namespace. Only system calls there: other threads may be
 * running. No signal tells of its end: nobody but us knows of it. */
static pid_t trial;
static pthread_once_t trial_once = PTHREAD_ONCE_INIT;

static void start_trial(void) {
    if (geteuid() != 0) return;
    trial = (pid_t)syscall(SYS_clone, CLONE_NEWNS | CLONE_NEWPID, NULL, NULL, NULL, NULL);
    if (trial == 0) _exit(mounts_try() ? 0 : 1);
}

void probe_begin(void) { pthread_once(&trial_once, start_trial); }

static bool can_isolate(void) {
    probe_begin();
    int status = 1;
    pid_t ended = -1;
    while (trial > 0 && (ended = waitpid(trial, &status, __WALL)) < 0 && errno == EINTR) {}
    return ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void ask(void) {
    probe.landlock_abi = lowered(ruleset_kernel_abi());
    probe.seccomp = prctl(PR_GET_SECCOMP) >= 0 && seccomp_offers(SECCOMP_RET_ERRNO);
    probe.seccomp_notify = probe.seccomp && seccomp_offers(SECCOMP_RET_USER_NOTIF);
    probe.openat2 = has_openat2();
    probe.pidfd = has_pidfd();
    probe.close_range = syscall(SYS_close_range, ~0u, ~0u, 0) == 0;
    probe.no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) >= 0;
    probe.mount_namespace = can_isolate();
    probe.landlock_audit = probe.landlock_abi >= ABI_LOGS && prctl(PR_CAPBSET_READ, CAP_AUDIT_READ_BIT) == 1 && geteuid() == 0;
}

const Probe *probe_kernel(void) {
    pthread_once(&probe_once, ask);
    return &probe;
}

void probe_describe(ProbeEach *each, void *ctx) {
    const Probe *p = probe_kernel();
    char text[80];
    snprintf(text, sizeof text, "ABI %d", p->landlock_abi);
    each(ctx, "landlock", p->landlock_abi >= PROBE_LANDLOCK_MIN, p->landlock_abi ? text : "not in this kernel, or turned off at boot");
    each(ctx, "seccomp", p->seccomp, !p->seccomp ? "not in this kernel" : p->seccomp_notify ? "filters, notify" : "filters");
    each(ctx, "openat2", p->openat2, p->openat2 ? "files can be jailed" : "not in this kernel");
    each(ctx, "pidfd", p->pidfd, p->pidfd ? "processes can be held" : "not in this kernel");
    each(ctx, "private mounts", p->mount_namespace,
         p->mount_namespace ? "mount and process namespaces as this user" : "not permitted here: the other layers stand alone");
}
