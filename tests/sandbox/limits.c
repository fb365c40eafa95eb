/* Limits of a call, and resources shared with the whole machine: leases, AIO contexts, inotify, requests to file
 * systems, core files. A request that reaches a file system which does not support it counts as an escape: only EPERM
 * and ENOSYS come from the sandbox. */
#define _GNU_SOURCE
#include <linux/aio_abi.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <sched.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include "attempt.h"

enum { INSTANCES = 40, ALLOWED = 16, DELEGATE = 1024 + 16 };

static void unanswered(const char *what, long rc) {
    if (rc < 0 && (errno == EPERM || errno == ENOSYS)) printf("%s: stopped, %s\n", what, strerror(errno));
    else say_escaped(what);
}

/* ---- leases ---- */

static int own_file(int flags) {
    mean_it();
    return open("mine", flags);
}
static void lease_read(void) { unanswered("F_SETLEASE", fcntl(own_file(O_RDONLY), F_SETLEASE, F_RDLCK)); }
static void lease_write(void) { unanswered("F_SETLEASE", fcntl(own_file(O_RDWR), F_SETLEASE, F_WRLCK)); }
static void lease_system(void) {
    int fd = open("/etc/passwd", O_RDONLY);
    unanswered("F_SETLEASE", fcntl(fd, F_SETLEASE, F_RDLCK));
    fcntl(fd, F_SETLEASE, F_UNLCK);
}
static void lease_high_bits(void) { unanswered("F_SETLEASE", syscall(SYS_fcntl, own_file(O_RDONLY), 1ull << 32 | F_SETLEASE, F_RDLCK)); }
static void lease_folder(void) { unanswered("F_SETDELEG", fcntl(open(".", O_RDONLY), DELEGATE, &(uint64_t[2]){ 0 })); }
static void notify_folder(void) { unanswered("F_NOTIFY", fcntl(open(".", O_RDONLY), F_NOTIFY, DN_CREATE)); }

/* ---- scarce resources ---- */

static void aio_context(void) { aio_context_t c = 0; unanswered("io_setup", syscall(SYS_io_setup, 1, &c)); }

static int make_instances(int most) {
    int n = 0;
    while (n < most && (n % 2 ? inotify_init1(IN_CLOEXEC) : inotify_init()) >= 0) n++;
    return n;
}
static void inotify_many(void) {
    int n = make_instances(INSTANCES);
    printf("%d\n", n);
    if (n > ALLOWED) say_escaped("more instances than a call may have");
}
/* Each process creates a few, all at the same time. */
static void inotify_forks(void) {
    int ends[2], go[2], n = 0;
    if (pipe(ends) < 0 || pipe(go) < 0) perror("pipe");
    for (int i = 0; i < 8; i++)
        if (fork() == 0) {
            int got = make_instances(INSTANCES / 8);
            char one = (char)got;
            if (write(ends[1], &one, 1) != 1) perror("write");
            close(go[1]);
            if (read(go[0], &one, 1) < 0) perror("read");
            _exit(0);
        }
    for (int i = 0; i < 8; i++) {
        char one = 0;
        if (read(ends[0], &one, 1) == 1) n += one;
    }
    close(go[1]);
    while (wait(NULL) > 0) {}
    if (n > ALLOWED) say_escaped("more instances than a call may have");
}
/* Descriptors closed after they were sent can no longer be counted. */
static void inotify_closed(void) {
    int n = 0;
    for (int fd; n < INSTANCES && (fd = inotify_init1(0)) >= 0; n++) close(fd);
    if (n > ALLOWED) say_escaped("more instances than a call may have, one after the other");
}

/* ---- requests to a file system ---- */

static void request(const char *what, unsigned long number) {
    static char argument[256];
    unanswered(what, ioctl(own_file(O_RDONLY), number, argument));
}
static void version_64(void) { request("FS_IOC_SETVERSION", 0x40087602); }
static void version_32(void) { request("FS_IOC32_SETVERSION", 0x40047602); }
static void version_ext4(void) { request("EXT4_IOC_SETVERSION", 0x40086604); request("EXT4_IOC32_SETVERSION", 0x40046604); }
static void version_high_bits(void) { unanswered("FS_IOC_SETVERSION", syscall(SYS_ioctl, own_file(O_RDONLY), 0xffffffff40087602ull, "12345678")); }
static void version_folder(void) { unanswered("FS_IOC_SETVERSION", ioctl(open(".", O_RDONLY), 0x40087602, "12345678")); }
static void version_system(void) { unanswered("FS_IOC_SETVERSION", ioctl(open("/usr/bin/env", O_RDONLY), 0x40087602, NULL)); }
static void flags_32(void) { request("FS_IOC32_SETFLAGS", 0x40046602); }
static void verity_enable(void) { request("FS_IOC_ENABLE_VERITY", 0x40806685); }
static void verity_read(void) { request("FS_IOC_MEASURE_VERITY", 0xc0046686); request("FS_IOC_READ_VERITY_METADATA", 0xc0286687); }
static void encryption_policy(void) { request("FS_IOC_SET_ENCRYPTION_POLICY", 0x800c6613); request("FS_IOC_ADD_ENCRYPTION_KEY", 0xc0506617); }
static void snapshots(void) { request("BTRFS_IOC_SNAP_CREATE", 0x50009401); request("BTRFS_IOC_SUBVOL_CREATE_V2",
    0x50009418); request("BTRFS_IOC_SNAP_DESTROY", 0x5000940f); }

/* ---- core files ---- */

static void check_core(const char *how) {
    struct rlimit now;
    getrlimit(RLIMIT_CORE, &now);
    printf("%s: %llu %llu\n", how, (unsigned long long)now.rlim_cur, (unsigned long long)now.rlim_max);
    if (now.rlim_cur != 1) say_escaped("a limit that starts a piped handler");
}
static const struct rlimit none = { 0, 0 }, soft = { 0, 1 };

static void core_set(void) { setrlimit(RLIMIT_CORE, &soft); check_core("soft"); setrlimit(RLIMIT_CORE, &none); check_core("both"); }
static void core_older(void) { syscall(SYS_setrlimit, RLIMIT_CORE, &none); check_core("setrlimit"); }
static void core_both(void) { struct rlimit old; prlimit(0, RLIMIT_CORE, &none, &old); check_core("prlimit with both"); }
static void core_by_number(void) { prlimit(getpid(), RLIMIT_CORE, &none, NULL); check_core("prlimit by number"); }
static void core_high_bits(void) {
    syscall(SYS_prlimit64, 0, 1ull << 32 | RLIMIT_CORE, &none, NULL);
    syscall(SYS_prlimit64, 1ull << 32, RLIMIT_CORE, &none, NULL);
    syscall(SYS_setrlimit, 1ull << 32 | RLIMIT_CORE, &none);
    check_core("high bits");
}
static void core_child(void) {
    int ends[2];
    char byte = 0;
    if (pipe(ends) < 0) perror("pipe");
    pid_t child = fork();
    if (child == 0) {
        if (read(ends[0], &byte, 1) != 1) perror("read");
        check_core("set by its parent");
        fflush(stdout);
        _exit(0);
    }
    prlimit(child, RLIMIT_CORE, &none, NULL);
    if (write(ends[1], &byte, 1) != 1) perror("write");
    waitpid(child, NULL, 0);
}

/* ---- hidden memory ---- */

static void dumpable(void) { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); want("not dumpable", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : -1); }
static void dumpable_high_bits(void) {
    syscall(SYS_prctl, 1ull << 32 | PR_SET_DUMPABLE, 0, 0, 0, 0);
    want("not dumpable", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : -1);
}
static void secret_memory(void) { unanswered("memfd_secret", syscall(447, 0)); }

static int leave(void *p) { (void)p; syscall(SYS_exit, 0); return 0; }
static void thread_descriptors(void) {
    static char stack[65536];
    want("clone", clone(leave, stack + sizeof stack, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, NULL));
    usleep(50000);
}
static void memory_raise(void) {
    struct rlimit now;
    getrlimit(RLIMIT_AS, &now);
    struct rlimit more = { RLIM_INFINITY, RLIM_INFINITY };
    want("address space", now.rlim_max == RLIM_INFINITY ? 0 : setrlimit(RLIMIT_AS, &more));
}

/* ---- pages in queues ---- */

/* A memory file with a page, and a pipe. */
static int page_file(int ends[2]) {
    static char page[4096] = "page";
    int fd = memfd_create("x", 0);
    if (fd < 0 || pipe(ends) < 0 || write(fd, page, sizeof page) != sizeof page) perror("memory file");
    lseek(fd, 0, SEEK_SET);
    return fd;
}
static void pipe_vmsplice(void) {
    int ends[2];
    char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    close(page_file(ends));
    at[0] = 'x';
    want("vmsplice", vmsplice(ends[1], &(struct iovec){ at, 1 }, 1, 0));
    want("vmsplice as a gift", vmsplice(ends[1], &(struct iovec){ at, 4096 }, 1, SPLICE_F_GIFT));
}
static void pipe_splice(void) { int ends[2], fd = page_file(ends); want("splice", splice(fd, NULL, ends[1], NULL, 1, 0)); }
static void pipe_sendfile(void) { int ends[2], fd = page_file(ends); want("sendfile", sendfile(ends[1], fd, NULL, 1)); }
static void socket_sendfile(void) {
    int ends[2], pair[2], fd = page_file(ends);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) perror("socketpair");
    want("sendfile", sendfile(pair[0], fd, NULL, 1));
}

static void thread_table(void) { want("close_range", close_range(1000000, 1000000, CLOSE_RANGE_UNSHARE)); }
static void thread_table_high_bits(void) { want("close_range", syscall(SYS_close_range, 1000000, 1000000, 1ull << 32 | CLOSE_RANGE_UNSHARE)); }
static void huge_file(void) { want("memfd_create", memfd_create("x", MFD_HUGETLB)); }
static void futex_table(void) { want("PR_FUTEX_HASH", prctl(78, 1, 1ul << 16, 0, 0)); }
static struct sock_filter pass[] = { { 0x06, 0, 0, 0x7fff0000 } };
static struct sock_fprog pass_all = { 1, pass };
static void socket_filter(void) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) perror("socketpair");
    want("SO_ATTACH_FILTER", setsockopt(pair[0], SOL_SOCKET, SO_ATTACH_FILTER, &pass_all, sizeof pass_all));
}
static void filters_many(void) {
    int n = 0;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    while (n < 600 && (n % 2 ? prctl(PR_SET_SECCOMP, 2, &pass_all) : syscall(SYS_seccomp, 1, 0, &pass_all)) == 0) n++;
    printf("%d filters, %s\n", n, strerror(errno));
    if (n > 512) say_escaped("more filters than a call may have");
}
static void watches_many(void) {
    int fd = inotify_init1(0), n = 0;
    while (n < 17000 && inotify_add_watch(fd, ".", n % 2 ? IN_CREATE : IN_DELETE) >= 0) n++;
    printf("%d watches, %s\n", n, strerror(errno));
    if (n > 16384) say_escaped("more watches than a call may have");
}
static void locked_pages(void) {
    char *at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    want("mlock", mlock(at, 1 << 20));
}

const Attempt limit_attempts[] = {
    { "pipe-vmsplice", pipe_vmsplice }, { "pipe-splice", pipe_splice }, { "pipe-sendfile", pipe_sendfile }, { "socket-sendfile", socket_sendfile },
    { "thread-table", thread_table }, { "thread-table-high-bits", thread_table_high_bits }, { "memory-huge-file", huge_file },
    { "futex-table", futex_table }, { "socket-filter", socket_filter }, { "filters-many", filters_many }, { "watches-many", watches_many },
    { "locked-pages", locked_pages },
    { "lease-read", lease_read }, { "lease-write", lease_write }, { "lease-system", lease_system }, { "lease-high-bits", lease_high_bits },
    { "lease-folder", lease_folder }, { "notify-folder", notify_folder }, { "aio-context", aio_context }, { "inotify-many", inotify_many },
    { "inotify-forks", inotify_forks }, { "inotify-closed", inotify_closed }, { "version-64", version_64 }, { "version-32", version_32 },
    { "version-ext4", version_ext4 }, { "version-high-bits", version_high_bits }, { "version-folder", version_folder },
    { "version-system", version_system }, { "flags-32", flags_32 }, { "verity-enable", verity_enable }, { "verity-read", verity_read },
    { "encryption-policy", encryption_policy }, { "snapshots", snapshots }, { "core-set", core_set }, { "core-older", core_older },
    { "core-both", core_both }, { "core-by-number", core_by_number }, { "core-high-bits", core_high_bits }, { "core-child", core_child },
    { "dumpable", dumpable }, { "dumpable-high-bits", dumpable_high_bits }, { "memory-secret", secret_memory },
    { "thread-descriptors", thread_descriptors }, { "memory-raise", memory_raise }, { NULL, NULL },
};
