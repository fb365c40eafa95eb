#include "sandbox/filter.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/library.h"
#include "base/mem.h"

#define FUNCTIONS(X) X(seccomp_init) X(seccomp_release) X(seccomp_attr_set) X(seccomp_rule_add_array) X(seccomp_export_bpf)

/* Written once, by load(); read-only afterwards. */
static struct {
#define X(name) __typeof__(name) *name;
    FUNCTIONS(X)
#undef X
} api;
static Library library = { .what = "libseccomp", .file = "libseccomp.so.2" };
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void load(void) {
    static const LibraryFunction functions[] = {
#define X(name) { #name, (void **)&api.name },
        FUNCTIONS(X)
#undef X
    };
    library_load(&library, functions, sizeof functions / sizeof *functions);
}

/* A filter being built. `problem` is the first error, as a negative errno; later rules are skipped. */
typedef struct Build { scmp_filter_ctx ctx; int problem; const char *what; } Build;

static const uint32_t refuse = SCMP_ACT_ERRNO(EPERM), deny = SCMP_ACT_ERRNO(EACCES), absent = SCMP_ACT_ERRNO(ENOSYS),
                      invalid = SCMP_ACT_ERRNO(EINVAL);

static void rule(Build *b, uint32_t action, int call, const char *name, unsigned n, const struct scmp_arg_cmp *args) {
    if (b->problem) return;
    int rc = api.seccomp_rule_add_array(b->ctx, action, call, n, args);
    if (rc == -EDOM || rc == -EEXIST) return;            /* unknown on this architecture; duplicate */
    if (rc < 0) b->problem = rc, b->what = name;
}

#define RULE(b, action, name) rule(b, action, SCMP_SYS(name), #name, 0, NULL)
#define RULE_IF(b, action, name, ...) \
    rule(b, action, SCMP_SYS(name), #name, sizeof((struct scmp_arg_cmp[]){ __VA_ARGS__ }) / sizeof(struct scmp_arg_cmp), \
         (struct scmp_arg_cmp[]){ __VA_ARGS__ })

/* The kernel uses only the low half of an int argument; a comparison of all 64 bits could be evaded by setting the
 * others. */
static struct scmp_arg_cmp is(unsigned arg, uint32_t value) {
    return (struct scmp_arg_cmp){ arg, SCMP_CMP_MASKED_EQ, 0xffffffff, value };
}
static struct scmp_arg_cmp has(unsigned arg, uint32_t mask, uint32_t value) {
    return (struct scmp_arg_cmp){ arg, SCMP_CMP_MASKED_EQ, mask, value };
}
static struct scmp_arg_cmp not(unsigned arg, uint64_t value) { return (struct scmp_arg_cmp){ arg, SCMP_CMP_NE, value, 0 }; }
static struct scmp_arg_cmp equal(unsigned arg, uint64_t value) { return (struct scmp_arg_cmp){ arg, SCMP_CMP_EQ, value, 0 }; }
static struct scmp_arg_cmp above(unsigned arg, uint64_t value) { return (struct scmp_arg_cmp){ arg, SCMP_CMP_GT, value, 0 }; }

static void add_lists(Build *b) {
#define REFUSE(name) RULE(b, refuse, name);
#define ABSENT(name) RULE(b, absent, name);
#define NEWER(number, name) rule(b, absent, number, #name, 0, NULL);
#include "sandbox/filter.def"
#undef REFUSE
#undef ABSENT
#undef NEWER
}

static void add_namespaces(Build *b) {
    static const uint32_t flags[] = { CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID,
                                      CLONE_NEWNET };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) RULE_IF(b, refuse, clone, has(0, flags[i], flags[i]));
    RULE_IF(b, refuse, clone, has(0, CLONE_THREAD | CLONE_FILES, CLONE_THREAD));      /* threads that do not share descriptors */
}

/* Typing into a terminal, pasting into a console, and line disciplines, which expose little-used drivers. */
static void add_terminals(Build *b) {
    static const uint32_t requests[] = { 0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */, 0x5423 /* TIOCSETD */ };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) RULE_IF(b, refuse, ioctl, is(1, requests[i]));
}

/* Leases and directory notifications make processes outside wait, or need only read access. */
static void add_leases(Build *b) {
    static const uint32_t commands[] = { 1024 /* F_SETLEASE */, 1026 /* F_NOTIFY */, 1040 /* F_SETDELEG */ };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) RULE_IF(b, refuse, fcntl, is(1, commands[i]));
}

/* Requests that change a file or folder opened for reading. Compares type and number but not the argument's size, so
 * that the 32-bit and 64-bit encodings match. */
static void add_requests(Build *b) {
    static const uint32_t requests[] = {
        0x6602 /* FS_IOC_SETFLAGS */, 0x6604 /* EXT4_IOC_SETVERSION */, 0x6609 /* EXT4_IOC_MIGRATE */, 0x7602 /* FS_IOC_SETVERSION */,
        0x5820 /* FS_IOC_FSSETXATTR */, 0x6613 /* FS_IOC_SET_ENCRYPTION_POLICY */, 0x6617, 0x6618, 0x6619 /* encryption keys */,
        0x6685, 0x6686, 0x6687 /* FS_IOC_*_VERITY */,
        0x9401, 0x940e, 0x940f, 0x9417, 0x9418, 0x941a, 0x9425, 0x943f /* subvolumes and snapshots of btrfs */ };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) RULE_IF(b, refuse, ioctl, has(1, 0xffff, requests[i]));
}

/* A limit of 1 keeps a piped core handler from running, outside and perhaps as root; 0 does not. So it stays 1, and
 * for programs that set 0, as daemons do, the call returns success without an effect. add_others() handles limits of other processes. */
static void add_core_limit(Build *b) {
    static const uint32_t done = SCMP_ACT_ERRNO(0);
    RULE_IF(b, done, setrlimit, is(0, RLIMIT_CORE));
    RULE_IF(b, done, prlimit64, equal(0, 0), is(1, RLIMIT_CORE), not(2, 0), equal(3, 0));
    RULE_IF(b, refuse, prlimit64, equal(0, 0), is(1, RLIMIT_CORE), not(2, 0), not(3, 0));
}

/* A supervisor of the same user cannot inspect a non-dumpable process to sum up its memory. Dumping and tracing are
 * blocked in the sandbox anyway. */
static void add_dumpable(Build *b) { RULE_IF(b, SCMP_ACT_ERRNO(0), prctl, is(0, PR_SET_DUMPABLE)); }

/* Refuses calls that allocate memory which the supervisor cannot find. A page in the queue of a pipe or a socket pins the whole
 * huge page or large folio that it is part of, even after the process has unmapped it or the file was truncated. EINVAL is what programs get for files that
 * cannot be spliced: they copy instead. The descriptor table of a single thread is not visible in /proc, and huge pages come
 * from a pool that another program has reserved. */
static void add_memory(Build *b) {
    RULE(b, invalid, vmsplice);
    RULE(b, invalid, splice);
    RULE(b, invalid, sendfile);
    RULE_IF(b, invalid, close_range, has(2, CLOSE_RANGE_UNSHARE, CLOSE_RANGE_UNSHARE));
    RULE_IF(b, invalid, memfd_create, has(1, MFD_HUGETLB, MFD_HUGETLB));
    RULE_IF(b, invalid, prctl, is(0, 78));               /* PR_FUTEX_HASH: a table of any size in the kernel */
    static const uint32_t options[] = { 26 /* SO_ATTACH_FILTER */, 50 /* SO_ATTACH_BPF */, 51, 52 /* SO_ATTACH_REUSEPORT_CBPF, EBPF */ };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) RULE_IF(b, refuse, setsockopt, is(1, SOL_SOCKET), is(2, options[i]));
}

/* Objects with one limit per user or machine: the supervisor counts them. */
static void add_counted(Build *b, bool ask) {
    RULE(b, ask ? SCMP_ACT_NOTIFY : absent, inotify_init);
    RULE(b, ask ? SCMP_ACT_NOTIFY : absent, inotify_init1);
    if (!ask) return;
    RULE(b, SCMP_ACT_NOTIFY, inotify_add_watch);
    RULE_IF(b, SCMP_ACT_NOTIFY, seccomp, is(0, SECCOMP_SET_MODE_FILTER));
    RULE_IF(b, SCMP_ACT_NOTIFY, prctl, is(0, PR_SET_SECCOMP));
}

enum { IO_PROCESS = 1 /* IOPRIO_WHO_PROCESS */ };
enum { TYPE_MASK = 0xf, TYPES = 16, FAST_OPEN = 0x20000000, FAST_OPEN_CONNECT = 30, TCP = 6, NETLINK = 16 };

/* Families of socket() from `from` to `to`, inclusive. */
static void deny_families(Build *b, uint32_t from, uint32_t to) {
    for (uint32_t family = from; family <= to; family++) RULE_IF(b, deny, socket, is(0, family));
}

static void deny_types_but_stream(Build *b) {
    for (uint32_t type = 0; type < TYPES; type++)
        if (type != SOCK_STREAM) RULE_IF(b, deny, socket, has(1, TYPE_MASK, type));
}

/* A pair of datagram sockets can send to any named socket, so only stream and seqpacket pairs are allowed. Unix sockets
 * are refused in every mode: Landlock does not restrict named ones, and an unconfined service may listen on one. */
static void add_pairs(Build *b) {
    RULE_IF(b, deny, socketpair, not(0, AF_UNIX));
    RULE_IF(b, deny, socketpair, has(1, TYPE_MASK, SOCK_DGRAM));
    RULE_IF(b, deny, socketpair, has(1, TYPE_MASK, SOCK_RAW));
}

static void add_no_network(Build *b, bool tell) {
    RULE(b, tell ? SCMP_ACT_NOTIFY : deny, socket);
    RULE(b, deny, connect);
    RULE(b, deny, bind);
    RULE(b, deny, listen);
}

static void add_proxy(Build *b) {
    deny_families(b, 0, 1);
    deny_families(b, 3, 9);
    RULE_IF(b, deny, socket, above(0, AF_INET6));
    deny_types_but_stream(b);
    for (uint32_t protocol = 1; protocol < TCP; protocol++) RULE_IF(b, deny, socket, is(2, protocol));
    RULE_IF(b, deny, socket, above(2, TCP));             /* includes multipath TCP */
    RULE(b, deny, bind);
    RULE(b, deny, listen);
    RULE_IF(b, deny, sendto, has(3, FAST_OPEN, FAST_OPEN));
    RULE_IF(b, deny, sendmsg, has(2, FAST_OPEN, FAST_OPEN));
    RULE_IF(b, deny, sendmmsg, has(3, FAST_OPEN, FAST_OPEN));
    RULE_IF(b, deny, setsockopt, is(1, TCP), is(2, FAST_OPEN_CONNECT));
    RULE(b, SCMP_ACT_NOTIFY, connect);
}

static void add_network(Build *b) {
    deny_families(b, 0, 1);
    deny_families(b, 3, 9);
    deny_families(b, 11, 15);
    RULE_IF(b, deny, socket, above(0, NETLINK));
    RULE_IF(b, deny, socket, is(0, NETLINK), not(2, 0)); /* reading the routing table is allowed */
    RULE_IF(b, deny, socket, is(0, AF_INET), has(1, TYPE_MASK, SOCK_RAW));
    RULE_IF(b, deny, socket, is(0, AF_INET6), has(1, TYPE_MASK, SOCK_RAW));
}

static void add_signals(Build *b) {
    RULE(b, SCMP_ACT_NOTIFY, kill);
    RULE(b, SCMP_ACT_NOTIFY, tkill);
    RULE(b, SCMP_ACT_NOTIFY, tgkill);
    RULE(b, refuse, rt_sigqueueinfo);
    RULE(b, refuse, rt_tgsigqueueinfo);
    RULE(b, absent, pidfd_send_signal);
    static const uint32_t commands[] = { 8 /* F_SETOWN */, 10 /* F_SETSIG */, 15 /* F_SETOWN_EX */ };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) RULE_IF(b, refuse, fcntl, is(1, commands[i]));
    RULE_IF(b, refuse, ioctl, is(1, 0x8901));            /* FIOSETOWN */
    RULE_IF(b, refuse, ioctl, is(1, 0x8902));            /* SIOCSPGRP */
}

/* Any process of the same user can change limits, priorities and CPU affinity of others, including the supervisor's: a CPU limit of
 * zero is a kill. A program may change its own (number 0); the supervisor decides about other numbers. */
static void add_others(Build *b, bool ask) {
    uint32_t action = ask ? SCMP_ACT_NOTIFY : refuse;
    RULE_IF(b, action, prlimit64, not(0, 0));
    RULE_IF(b, action, sched_setaffinity, not(0, 0));
    RULE_IF(b, action, sched_setscheduler, not(0, 0));
    RULE_IF(b, action, sched_setparam, not(0, 0));
    RULE_IF(b, action, sched_setattr, not(0, 0));
    RULE_IF(b, action, setpriority, is(0, PRIO_PROCESS), not(1, 0));
    RULE_IF(b, refuse, setpriority, not(0, PRIO_PROCESS));               /* groups and users */
    RULE_IF(b, action, ioprio_set, is(0, IO_PROCESS), not(1, 0));
    RULE_IF(b, refuse, ioprio_set, not(0, IO_PROCESS));
}

/* Opening a file for reading, or for neither, can still truncate it. */
static void add_truncate(Build *b) {
    RULE(b, refuse, truncate);
    RULE(b, absent, openat2);
    static const uint32_t modes[] = { O_RDONLY, O_ACCMODE };
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        RULE_IF(b, refuse, open, has(1, O_TRUNC | O_ACCMODE, O_TRUNC | modes[i]));
        RULE_IF(b, refuse, openat, has(2, O_TRUNC | O_ACCMODE, O_TRUNC | modes[i]));
    }
}

static void add_ipc(Build *b) {
    RULE(b, refuse, shmget); RULE(b, refuse, shmat); RULE(b, refuse, shmctl);
    RULE(b, refuse, msgget); RULE(b, refuse, msgsnd); RULE(b, refuse, msgrcv); RULE(b, refuse, msgctl);
    RULE(b, refuse, semget); RULE(b, refuse, semop); RULE(b, refuse, semtimedop); RULE(b, refuse, semctl);
    RULE(b, refuse, mq_open); RULE(b, refuse, mq_unlink);
}

/* Extended attributes are refused: programs work without them. */
static void add_modes(Build *b) {
    static const uint32_t unsupported = SCMP_ACT_ERRNO(EOPNOTSUPP);
    RULE(b, SCMP_ACT_NOTIFY, chmod);
    RULE(b, SCMP_ACT_NOTIFY, fchmod);
    RULE(b, SCMP_ACT_NOTIFY, fchmodat);
    RULE(b, SCMP_ACT_NOTIFY, utimensat);
    rule(b, absent, 452, "fchmodat2", 0, NULL);
    RULE(b, absent, utime); RULE(b, absent, utimes); RULE(b, absent, futimesat);
    RULE(b, SCMP_ACT_NOTIFY, chown); RULE(b, SCMP_ACT_NOTIFY, lchown); RULE(b, SCMP_ACT_NOTIFY, fchown); RULE(b, SCMP_ACT_NOTIFY, fchownat);
    RULE(b, unsupported, setxattr); RULE(b, unsupported, lsetxattr); RULE(b, unsupported, fsetxattr);
    RULE(b, unsupported, removexattr); RULE(b, unsupported, lremovexattr); RULE(b, unsupported, fremovexattr);
    rule(b, absent, 463, "setxattrat", 0, NULL);
    rule(b, absent, 466, "removexattrat", 0, NULL);
    rule(b, absent, 469, "file_setattr", 0, NULL);
}

/* These calls proceed unchanged whatever the supervisor decides. */
static void add_tell(Build *b) {
    RULE(b, SCMP_ACT_NOTIFY, open); RULE(b, SCMP_ACT_NOTIFY, openat); RULE(b, SCMP_ACT_NOTIFY, creat);
    RULE(b, SCMP_ACT_NOTIFY, mkdir); RULE(b, SCMP_ACT_NOTIFY, mkdirat); RULE(b, SCMP_ACT_NOTIFY, rmdir);
    RULE(b, SCMP_ACT_NOTIFY, unlink); RULE(b, SCMP_ACT_NOTIFY, unlinkat); RULE(b, SCMP_ACT_NOTIFY, rename);
    RULE(b, SCMP_ACT_NOTIFY, renameat); RULE(b, SCMP_ACT_NOTIFY, renameat2); RULE(b, SCMP_ACT_NOTIFY, link);
    RULE(b, SCMP_ACT_NOTIFY, linkat); RULE(b, SCMP_ACT_NOTIFY, symlink); RULE(b, SCMP_ACT_NOTIFY, symlinkat);
    RULE(b, SCMP_ACT_NOTIFY, execve);
}

static void add_all(Build *b, unsigned variant) {
    add_lists(b);
    add_namespaces(b);
    add_terminals(b);
    add_pairs(b);
    add_leases(b);
    add_requests(b);
    add_core_limit(b);
    add_dumpable(b);
    add_memory(b);
    add_counted(b, variant & FILTER_ASK_MODES);
    add_others(b, variant & FILTER_ASK_MODES);
    if (variant & FILTER_NET_NONE) add_no_network(b, variant & FILTER_TELL);
    else if (variant & FILTER_NET_PROXY) add_proxy(b);
    else add_network(b);
    if (variant & FILTER_ASK_SIGNALS) add_signals(b);
    if (variant & FILTER_NO_TRUNCATE) add_truncate(b);
    if (variant & FILTER_NO_IPC) add_ipc(b);
    if (variant & FILTER_ASK_MODES) add_modes(b);
    if (variant & FILTER_TELL) add_tell(b);
}

static bool export_to(Build *b, int fd, Filter *out, Error *err) {
    struct stat st;
    int rc = api.seccomp_export_bpf(b->ctx, fd);
    if (rc < 0 || fstat(fd, &st) < 0 || st.st_size <= 0)
        return error_set(err, ERR_SANDBOX, "seccomp: write the filter: %s", strerror(rc < 0 ? -rc : errno));
    size_t bytes = (size_t)st.st_size;
    struct sock_filter *at = mem_alloc(bytes);
    if (pread(fd, at, bytes, 0) != st.st_size) {
        free(at);
        return error_set(err, ERR_SANDBOX, "seccomp: read the filter: %m");
    }
    *out = (Filter){ at, bytes / sizeof *at };
    return true;
}

/* Kills the process for ABIs other than the native one, whose call numbers differ. */
static bool build(Build *b, unsigned variant, int fd, Filter *out, Error *err) {
    if (!b->ctx) return error_set(err, ERR_SANDBOX, "seccomp: cannot create a filter");
    if (api.seccomp_attr_set(b->ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) < 0)
        return error_set(err, ERR_SANDBOX, "seccomp: other ABIs cannot be refused");
    (void)api.seccomp_attr_set(b->ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);   /* a search tree; not in older libraries */
    add_all(b, variant);
    if (b->problem) return error_set(err, ERR_SANDBOX, "seccomp: rule for %s: %s", b->what, strerror(-b->problem));
    if (fd < 0) return error_set(err, ERR_SANDBOX, "seccomp: memfd: %m");
    return export_to(b, fd, out, err);
}

bool filter_build(unsigned variant, Filter *out, Error *err) {
    pthread_once(&library_once, load);
    if (!library.ok) return error_set(err, ERR_SANDBOX, "%s", library.problem);
    Build b = { .ctx = api.seccomp_init(SCMP_ACT_ALLOW) };
    int fd = memfd_create("filter", MFD_CLOEXEC);
    bool ok = build(&b, variant, fd, out, err);
    if (fd >= 0) close(fd);
    if (b.ctx) api.seccomp_release(b.ctx);
    return ok;
}

void filter_clear(Filter *f) {
    free(f->at);
    *f = (Filter){ 0 };
}
