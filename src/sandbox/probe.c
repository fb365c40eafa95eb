#include "sandbox/probe.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/number.h"
#include "sandbox/mounts.h"
#include "sandbox/ruleset.h"
#include "sandbox/userns.h"

enum { ABI_LOGS = 7, CAP_AUDIT_READ_BIT = 37 };

/* Written once, by ask(); read-only afterwards. */
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

/* ---- private mounts: tries the whole sequence in a child, because a namespace cannot be left ---- */

/* Some systems allow a user namespace but not its use, so every step is tried. */
typedef struct Trial { int step, number, process_step, process_number; } Trial;

static pid_t trial;
static int trial_pipe = -1;
static UsernsNeed trial_need;
static pthread_once_t trial_once = PTHREAD_ONCE_INIT;
static char mounts_problem[400], process_problem[200];  /* written by ask() */

/* From here to run_trial(): only system calls, because other threads may be running. */
static MountsStep try_mounts(const UsernsMaps *maps) {
    if (trial_need == USERNS_LOSES) return errno = EPERM, MOUNTS_RIGHTS;
    if (trial_need == USERNS_NEEDED && syscall(SYS_unshare, CLONE_NEWUSER) < 0) return MOUNTS_USER;
    if (trial_need == USERNS_NEEDED && !userns_map(maps)) return MOUNTS_MAP;
    if (syscall(SYS_unshare, CLONE_NEWNS) < 0) return MOUNTS_NAMESPACE;
    if (syscall(SYS_unshare, CLONE_NEWIPC) < 0) return MOUNTS_IPC;
    return mounts_try(trial_need == USERNS_NEEDED);
}

/* A process namespace contains the children of the process that creates it. */
static MountsStep try_processes(void) {
    int status = 0;
    if (syscall(SYS_unshare, CLONE_NEWPID) < 0) return MOUNTS_PROCESSES;
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) _exit(mounts_try_proc() ? 0 : errno);
    if (child < 0 || waitpid(child, &status, __WALL) < 0 || !WIFEXITED(status)) return MOUNTS_PROCESSES;
    errno = WEXITSTATUS(status);
    return errno ? MOUNTS_PROC : MOUNTS_DONE;
}

static _Noreturn void run_trial(const UsernsMaps *maps, int report) {
    Trial t = { .step = (int)try_mounts(maps) };
    t.number = t.step ? errno : 0;
    t.process_step = t.step ? t.step : (int)try_processes();
    t.process_number = t.process_step ? errno : 0;
    (void)!write(report, &t, sizeof t);
    _exit(0);
}

/* Without an exit signal: only we know of this child. */
static void start_trial(void) {
    int ends[2];
    UsernsMaps maps = { { 0 }, { 0 } };
    if (pipe2(ends, O_CLOEXEC) < 0) return;
    trial_need = userns_need();
    userns_prepare(&maps);
    trial = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
    if (trial == 0) run_trial(&maps, ends[1]);
    close(ends[1]);
    trial_pipe = ends[0];
}

void probe_begin(void) { pthread_once(&trial_once, start_trial); }

static Trial finish_trial(void) {
    Trial t = { .step = MOUNTS_PIPE, .number = ECHILD, .process_step = MOUNTS_PIPE, .process_number = ECHILD };
    Trial got;
    ssize_t n = -1;
    probe_begin();
    while (trial_pipe >= 0 && (n = read(trial_pipe, &got, sizeof got)) < 0 && errno == EINTR) {}
    if (n == sizeof got) t = got;
    if (trial_pipe >= 0) close(trial_pipe);
    trial_pipe = -1;
    while (trial > 0 && waitpid(trial, NULL, __WALL) < 0 && errno == EINTR) {}
    return t;
}

static const char *const steps[] = {
    [MOUNTS_RIGHTS] = "keep the right to files of other users", [MOUNTS_USER] = "make a user namespace", [MOUNTS_MAP] = "map the user in its namespace",
    [MOUNTS_NAMESPACE] = "make a mount namespace", [MOUNTS_IPC] = "make an IPC namespace", [MOUNTS_PROPAGATION] = "separate the mounts",
    [MOUNTS_READ_ONLY] = "make mounts read-only", [MOUNTS_BIND] = "mount a folder onto itself", [MOUNTS_COVER] = "cover a folder with an empty one",
    [MOUNTS_PROCESSES] = "make a process namespace", [MOUNTS_PROC] = "mount /proc", [MOUNTS_PIPE] = "try it in a child process",
};

static const char *meaning(const Trial *t) {
    if (t->step == MOUNTS_RIGHTS) return "this process has CAP_DAC_OVERRIDE without CAP_SYS_ADMIN, and a user namespace would take that away";
    if (t->step == MOUNTS_USER && (t->number == ENOSPC || t->number == EUSERS)) return "sysctl user.max_user_namespaces allows no more";
    if (t->step == MOUNTS_USER) return "user namespaces are turned off (sysctl kernel.unprivileged_userns_clone), or a container's filter or a chroot forbids them";
    if (t->number == ENOSYS) return "the kernel is too old (Linux 5.12)";
    if (trial_need == USERNS_NEEDED) return "a security module forbids it (on Ubuntu: AppArmor, sysctl kernel.apparmor_restrict_unprivileged_userns)";
    return "a container's filter or a security module forbids it";
}

static void ask_mounts(void) {
    Trial t = finish_trial();
    probe.mount_namespace = !t.step;
    probe.user_namespace = !t.step && trial_need == USERNS_NEEDED;
    probe.process_namespace = !t.process_step;
    if (t.step) snprintf(mounts_problem, sizeof mounts_problem, "cannot %s (%s): %s", steps[t.step], strerror(t.number), meaning(&t));
    else if (t.process_step) snprintf(process_problem, sizeof process_problem, "cannot %s (%s)", steps[t.process_step], strerror(t.process_number));
}

static void ask(void) {
    probe.landlock_abi = lowered(ruleset_kernel_abi());
    probe.seccomp = prctl(PR_GET_SECCOMP) >= 0 && seccomp_offers(SECCOMP_RET_ERRNO);
    probe.seccomp_notify = probe.seccomp && seccomp_offers(SECCOMP_RET_USER_NOTIF);
    probe.openat2 = has_openat2();
    probe.pidfd = has_pidfd();
    probe.close_range = syscall(SYS_close_range, ~0u, ~0u, 0) == 0;
    probe.no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) >= 0;
    ask_mounts();
    probe.landlock_audit = probe.landlock_abi >= ABI_LOGS && prctl(PR_CAPBSET_READ, CAP_AUDIT_READ_BIT) == 1 && geteuid() == 0;
}

const Probe *probe_kernel(void) {
    pthread_once(&probe_once, ask);
    return &probe;
}

const char *probe_mounts_problem(void) {
    probe_kernel();
    return mounts_problem;
}

static void describe_mounts(ProbeEach *each, void *ctx) {
    char text[600];
    const char *how = probe.user_namespace ? "through a user namespace" : "as root";
    if (!probe.mount_namespace) snprintf(text, sizeof text, "%s. Protected files are compared and restored, and home: real is refused", mounts_problem);
    else if (probe.process_namespace) snprintf(text, sizeof text, "%s, with own processes and /proc", how);
    else snprintf(text, sizeof text, "%s, without a /proc of their own: %s", how, process_problem);
    each(ctx, "private mounts", probe.mount_namespace, text);
}

void probe_describe(ProbeEach *each, void *ctx) {
    const Probe *p = probe_kernel();
    char text[80];
    snprintf(text, sizeof text, "ABI %d", p->landlock_abi);
    each(ctx, "landlock", p->landlock_abi >= PROBE_LANDLOCK_MIN, p->landlock_abi ? text : "not in this kernel, or turned off at boot");
    each(ctx, "seccomp", p->seccomp, !p->seccomp ? "not in this kernel" : p->seccomp_notify ? "filters, notify" : "filters");
    each(ctx, "openat2", p->openat2, p->openat2 ? "files can be jailed" : "not in this kernel");
    each(ctx, "pidfd", p->pidfd, p->pidfd ? "processes can be held" : "not in this kernel");
    describe_mounts(each, ctx);
}
