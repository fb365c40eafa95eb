/* Kernel interfaces: mounts, namespaces, privileges, other ABIs, subsystems. Values are set to what they already were,
 * so that a successful attempt does no harm. */
#define _GNU_SOURCE
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/fanotify.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include "attempt.h"

#define CALL(name, ...) want(#name, syscall(SYS_##name, ##__VA_ARGS__))

static void mount_tmpfs(void) { want("mount", mount("none", ".", "tmpfs", 0, NULL)); umount2(".", MNT_DETACH); }
static void mount_bind(void) { mkdir("d", 0755); want("mount",
    mount(getenv("OUT"), "d", NULL, MS_BIND, NULL)); show_file("d/secret"); umount2("d", MNT_DETACH); }
static void mount_remount(void) { want("remount", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL)); }
static void mount_propagation(void) { want("share", mount(NULL, "/", NULL, MS_SHARED, NULL)); }
static void mount_proc(void) { mkdir("p", 0755); want("proc", mount("proc", "p", "proc", 0, NULL)); umount2("p", MNT_DETACH); }
static void unmount(void) { want("umount", umount2("/proc", MNT_DETACH)); }
static void mount_newer(void) { CALL(fsopen, "tmpfs", 0); CALL(fspick, AT_FDCWD, "/", 0); }
static void mount_tree(void) { CALL(open_tree, AT_FDCWD, "/", 1); }
static void mount_move(void) { CALL(move_mount, AT_FDCWD, ".", AT_FDCWD, out_path("dir"), 0); }
static void mount_attributes(void) { uint64_t a[4] = { 0 }; CALL(mount_setattr, AT_FDCWD, "/", 0, a, sizeof a); }
static void pivot(void) { mkdir("old", 0755); CALL(pivot_root, ".", "old"); }
static void change_root(void) { want("chroot", chroot(".")); }

static void unshare_all(void) {
    static const struct { const char *name; int flag; } kinds[] = {
        { "user", CLONE_NEWUSER }, { "mount", CLONE_NEWNS }, { "process", CLONE_NEWPID }, { "network", CLONE_NEWNET }, { "ipc", CLONE_NEWIPC },
        { "uts", CLONE_NEWUTS }, { "cgroup", CLONE_NEWCGROUP }, { "time", 0x80 } };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        pid_t child = fork();
        if (child == 0) { want(kinds[i].name, unshare(kinds[i].flag)); fflush(stdout); _exit(0); }
        waitpid(child, NULL, 0);
    }
}
static void clone_flag(int flag) {
    long child = syscall(SYS_clone, flag | SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) _exit(0);
    want("clone", child);
}
static void clone_user(void) { clone_flag(CLONE_NEWUSER); }
static void clone_mount(void) { clone_flag(CLONE_NEWNS); }
static void clone_network(void) { clone_flag(CLONE_NEWNET); }
static void clone_newer(void) {
    uint64_t args[8] = { CLONE_NEWUSER, 0, 0, 0, SIGCHLD };
    long child = syscall(SYS_clone3, args, sizeof args);
    if (child == 0) _exit(0);
    want("clone3", child);
}
static void enter_namespace(void) {
    want("own", setns(open("/proc/self/ns/mnt", O_RDONLY), 0));
    want("first", setns(open("/proc/1/ns/mnt", O_RDONLY), 0));
    want("by process", setns((int)syscall(SYS_pidfd_open, number("SUPERVISOR"), 0), CLONE_NEWNS));
}

static void ring(void) { char p[200] = { 0 }; CALL(io_uring_setup, 4, p); }
static void bpf_call(void) {
    union bpf_attr a = { .map_type = BPF_MAP_TYPE_ARRAY };
    a.key_size = a.value_size = 4, a.max_entries = 1;
    CALL(bpf, BPF_MAP_CREATE, &a, sizeof a);
}
static void fault_descriptor(void) { CALL(userfaultfd, 1 /* user mode only */); want("device", open("/dev/userfaultfd", O_RDWR)); }
static void perf(void) {
    struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE, .size = sizeof a, .exclude_kernel = 1 };
    CALL(perf_event_open, &a, 0, -1, -1, 0);
}
static void keys(void) { CALL(add_key, "user", "harness-test", "x", 1, -3); }
static void keys_session(void) { CALL(keyctl, 0 /* get */, -4, 0); CALL(keyctl, 6 /* describe */, -3, NULL, 0); }
static void keys_request(void) { CALL(request_key, "user", "harness-none", NULL, 0); }
static void watch_all(void) { want("fanotify", fanotify_init(FAN_CLASS_NOTIF, O_RDONLY)); }
static void module(void) { CALL(init_module, "", 0, ""); CALL(finit_module, open("/etc/passwd", O_RDONLY), "", 0); CALL(delete_module, "harness_none", 0); }
static void kexec(void) { CALL(kexec_load, 0, 0, NULL, 0); }
static void restart(void) { syscall(SYS_reboot, 0xfee1dead, 672274793, 0 /* disable Ctrl-Alt-Del */, NULL); want("reboot", errno == EPERM ? -1 : 0); }
static void swap(void) { want("swapon", swapon("mine", 0)); want("swapoff", swapoff("mine")); }
static void accounting(void) { CALL(acct, NULL); }
static void host_name(void) { char n[100]; gethostname(n, sizeof n); want("sethostname", sethostname(n, strlen(n))); }
static void clock_change(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    want("clock_settime", clock_settime(CLOCK_REALTIME, &now));
}
static void ports(void) { want("iopl", iopl(3)); want("ioperm", ioperm(0x80, 1, 1)); }
static void kernel_log(void) { char t[100]; want("syslog", klogctl(3, t, sizeof t)); }
static void quota(void) { char b[100]; CALL(quotactl, 0x80000100 | 0 /* sync */, NULL, 0, b); }
static void hang_up(void) { CALL(vhangup); }

/* ---- privileges ---- */

static void capabilities(void) {
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct most[2] = { { ~0u, ~0u, 0 }, { 0x1ff, 0x1ff, 0 } }, one[2] = { { 1u << CAP_SYS_ADMIN, 1u << CAP_SYS_ADMIN, 0 } };
    want("all", syscall(SYS_capset, &head, most));
    want("one", syscall(SYS_capset, &head, one));
    want("ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0));
}
static void user_change(void) {
    want("setresuid", setresuid(1, 1, 1));
    want("setgroups", syscall(SYS_setgroups, 1, &(unsigned){ 6 }));
}
/* Checks that an exec by user 0 does not restore what was dropped. */
static void user_exec(void) {
    fflush(stdout);
    execl("/bin/sh", "sh", "-c", "grep -q 'CapEff:.*ffffff' /proc/self/status && echo ESCAPED", (char *)NULL);
}
static void privileges_again(void) { prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0); want("no_new_privs", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? -1 : 0); }
static void secure_bits(void) { want("securebits", prctl(PR_SET_SECUREBITS, 0, 0, 0, 0)); }

/* ---- the layers themselves ---- */

static void filter_own(void) {
    struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF) };
    struct sock_fprog all = { 1, code };
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    pid_t child = fork();
    if (child == 0) {
        long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &all);
        _exit(fd < 0 ? 1 : 0);
    }
    int status = 1;
    usleep(300000);
    if (waitpid(child, &status, WNOHANG) == child && WIFEXITED(status) && WEXITSTATUS(status) == 1) puts("stopped");
    else { say_escaped("a second listener"); kill(child, SIGKILL); }
}
/* A filter of the program's own that allows everything must not override the others. */
static void filter_allow(void) {
    struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
    struct sock_fprog all = { 1, code };
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &all) < 0) perror("seccomp");
    want("chmod", chmod(out_path("file"), 0777));
    want("unshare", unshare(CLONE_NEWNS));
}
static void rules_own(void) {
    struct { uint64_t fs; } attr = { LANDLOCK_ACCESS_FS_READ_FILE };
    int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    struct landlock_path_beneath_attr rule = { LANDLOCK_ACCESS_FS_READ_FILE, open("/", O_PATH) };
    if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0) perror("rule");
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_landlock_restrict_self, rules, 0) < 0) perror("restrict");
    show_file(out_path("secret"));
}
static void abi_x32(void) { want("x32", syscall(0x40000000 + SYS_getpid)); }
static void abi_i386(void) {
    long rc = -1;
#ifdef __x86_64__
    __asm__ volatile("int $0x80" : "=a"(rc) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
#endif
    want("i386", rc);
}
/* Sets high bits that the kernel ignores, to evade a comparison. */
static void high_bits(void) {
    want("socket", syscall(SYS_socket, 0x100000002L, 1L, 0L));
    want("unshare", syscall(SYS_unshare, 0x100000000L | CLONE_NEWUSER));
    want("clone", syscall(SYS_clone, 0x100000000L | CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL));
}

const Attempt kernel_attempts[] = {
    { "mount-tmpfs", mount_tmpfs }, { "mount-bind", mount_bind }, { "mount-remount", mount_remount }, { "mount-shared", mount_propagation },
    { "mount-proc", mount_proc }, { "umount", unmount }, { "mount-fsopen", mount_newer }, { "mount-open-tree", mount_tree },
    { "mount-move", mount_move }, { "mount-setattr", mount_attributes }, { "pivot-root", pivot }, { "chroot", change_root },
    { "unshare", unshare_all }, { "clone-user", clone_user }, { "clone-mount", clone_mount }, { "clone-network", clone_network },
    { "clone3-user", clone_newer }, { "setns", enter_namespace }, { "io-uring", ring }, { "bpf", bpf_call },
    { "userfaultfd", fault_descriptor }, { "perf", perf }, { "keyring-add", keys }, { "keyring-session", keys_session },
    { "keyring-request", keys_request }, { "fanotify", watch_all }, { "module", module }, { "kexec", kexec }, { "reboot", restart },
    { "swap", swap }, { "accounting", accounting }, { "host-name", host_name }, { "clock", clock_change }, { "io-ports", ports },
    { "kernel-log", kernel_log }, { "quota", quota }, { "hang-up", hang_up }, { "capabilities", capabilities },
    { "user-change", user_change }, { "user-exec", user_exec }, { "privileges-again", privileges_again }, { "secure-bits", secure_bits },
    { "filter-listener", filter_own }, { "filter-allow", filter_allow }, { "rules-own", rules_own }, { "abi-x32", abi_x32 },
    { "abi-i386", abi_i386 }, { "high-bits", high_bits }, { NULL, NULL },
};
