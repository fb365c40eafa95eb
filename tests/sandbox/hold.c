/* attempts hold KIND MIB: holds that much memory in ways that a sum over the memory and the descriptors of processes misses. Prints
 * HELD when it has all of it, "stopped" when the kernel refuses a step, and ESCAPED when nothing has ended it long after. */
#define _GNU_SOURCE
#include <linux/close_range.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "attempt.h"

enum { MIB = 1 << 20, PIECE = 32 * MIB, PAGE = 4096 };
static char block[MIB];
static char **arguments;

static _Noreturn void stop(const char *what) {
    printf("%s: stopped, %s\n", what, strerror(errno));
    fflush(stdout);
    _exit(3);
}

static int must(const char *what, int rc) {
    if (rc < 0) stop(what);
    return rc;
}

static void fill(int fd, long bytes) {
    for (long done = 0; done < bytes; done += MIB)
        if (write(fd, block, MIB) != MIB) stop("write");
}

/* Runs `work` in n children that stay; returns when all have done it. */
static void in_children(int n, void (*work)(void)) {
    int ends[2];
    char byte = 0;
    must("pipe", pipe(ends));
    for (int i = 0; i < n; i++) {
        if (must("fork", fork())) continue;
        close(ends[0]);
        work();
        if (write(ends[1], &byte, 1) != 1) stop("write");
        pause();
    }
    close(ends[1]);
    for (int i = 0; i < n; i++)
        if (read(ends[0], &byte, 1) != 1) stop("a child");
}

/* ---- files that no descriptor leads to ---- */

static void mapped(long bytes) {
    for (long done = 0; done < bytes; done += PIECE) {
        int fd = must("memfd_create", memfd_create("x", 0));
        fill(fd, PIECE);
        if (mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED) stop("mmap");
        close(fd);
    }
}

static void unmapped(long bytes) {
    for (long done = 0; done < bytes; done += PIECE) {
        char *at = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) stop("mmap");
        memset(at, 'x', PIECE);
        munmap(at + PAGE, PIECE - PAGE);                 /* the remaining part pins the whole huge page */
    }
}

/* This program with a long tail, as the program of processes. */
static void program(long bytes) {
    for (long done = 0; done < bytes; done += PIECE) {
        int self = must("open", open("/proc/self/exe", O_RDONLY)), fd = must("memfd_create", memfd_create("x", MFD_CLOEXEC));
        for (ssize_t n; (n = read(self, block, MIB)) > 0;)
            if (write(fd, block, (size_t)n) != n) stop("write");
        close(self);
        fill(fd, PIECE);
        int ready[2];
        char byte;
        must("pipe", pipe(ready));
        if (must("fork", fork()) == 0) {
            dup2(ready[1], 1);
            close(ready[0]);
            close(ready[1]);
            fexecve(fd, (char *[]){ "hold", "hold", "wait", "0", arguments[0], NULL }, environ);
            stop("fexecve");
        }
        close(fd);
        close(ready[1]);
        if (read(ready[0], &byte, 1) != 1) stop("fexecve");
        close(ready[0]);
    }
}

/* A thread has descriptors of its own; /proc/PID/fd shows those of the first thread. */
static volatile int ready;
static void *keep(void *bytes) {
    if (close_range(1000000, 1000000, CLOSE_RANGE_UNSHARE) < 0) stop("close_range");
    for (long done = 0; done < *(long *)bytes; done += PIECE) fill(must("memfd_create", memfd_create("x", 0)), PIECE);
    ready = 1;
    for (;;) pause();
    return bytes;
}
static void table(long bytes) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, keep, &bytes)) stop("thread");
    while (!ready) usleep(1000);
}

/* ---- queues of sockets ---- */

enum { PAIRS = 400, SMALL = 4096 };
static int fill_socket(int fd, size_t each) {
    int most = 1 << 30;
    socklen_t n = sizeof most;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &most, n);
    getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &most, &n);
    while (send(fd, block, each, MSG_DONTWAIT) >= 0) {}
    return most;
}

/* The sender is gone, and the receiver could send little itself. */
static long want_each;
static int socket_type;
static size_t message;
static void orphans(void) {
    int pair[2], small = SMALL;
    long sum = 0;
    for (int i = 0; i < PAIRS && sum < want_each; i++) {
        must("socketpair", socketpair(AF_UNIX, socket_type, 0, pair));
        setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
        sum += fill_socket(pair[0], message);
        close(pair[0]);
    }
}
static void queues(long bytes, int type, size_t size) {
    socket_type = type;
    message = size;
    want_each = bytes / 10;
    in_children(10, orphans);
}
static void stream(long bytes) { queues(bytes, SOCK_STREAM, 1); }
static void empty(long bytes) { queues(bytes, SOCK_SEQPACKET, 0); }

static void send_two(int over, const int pair[2]) {
    union { char space[CMSG_SPACE(2 * sizeof(int))]; struct cmsghdr head; } control = { .head = {
        .cmsg_len = CMSG_LEN(2 * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
    memcpy(CMSG_DATA(&control.head), pair, 2 * sizeof(int));
    struct iovec part = { block, 1 };
    struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
    if (sendmsg(over, &m, MSG_DONTWAIT) < 0) stop("sendmsg");
}
/* Full sockets, sent into the queue of another one. */
static void passed(long bytes) {
    int over[2], pair[2];
    must("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, over));
    for (long sum = 0; sum < bytes;) {
        must("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
        sum += fill_socket(pair[0], MIB) + fill_socket(pair[1], MIB);
        send_two(over[0], pair);
        close(pair[0]);
        close(pair[1]);
    }
}

/* ---- memory of the kernel ---- */

enum { TABLES_EACH = 30000, MAPPINGS_EACH = 60000, MAPPING = 256, OPEN_EACH = 1000, OPEN = 2200, WATCH = 200 };

/* Each page needs two pages of page tables and is itself the shared zero page. */
static void far_pages(void) {
    for (uintptr_t i = 0; i < TABLES_EACH; i++) {
        const volatile char *at = mmap((void *)((i + 64) << 30), PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (at != MAP_FAILED) (void)*at;
    }
}
static void tables(long bytes) { in_children((int)(bytes / ((long)TABLES_EACH * 2 * PAGE)) + 1, far_pages); }

static void nothing(void) {}
static void mappings(long bytes) {
    char *at = mmap(NULL, (size_t)MAPPINGS_EACH * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) stop("mmap");
    for (int i = 0; i < MAPPINGS_EACH; i += 2) must("mprotect", mprotect(at + (size_t)i * PAGE, PAGE, PROT_READ));
    in_children((int)(bytes / (MAPPINGS_EACH * MAPPING)) + 1, nothing);
}

static void open_many(void) {
    int pair[2];
    for (int i = 0; i < OPEN_EACH / 2; i++) must("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
}
static void descriptors(long bytes) { in_children((int)(bytes / (OPEN_EACH * OPEN)) + 1, open_many); }

/* An epoll entry belongs to an open file and a descriptor number, and stays when the descriptor is closed. */
static void watches(long bytes) {
    enum { EPOLLS = 100, FILES = 100, FIRST = 300, LAST = 1000 };
    int epolls[EPOLLS], files[FILES];
    long n = 0;
    for (int i = 0; i < EPOLLS; i++) epolls[i] = must("epoll_create", epoll_create1(0));
    for (int i = 0; i < FILES; i++) files[i] = must("eventfd", eventfd(0, 0));
    for (int f = 0; f < FILES; f++)
        for (int number = FIRST; number < LAST; number++) {
            must("dup2", dup2(files[f], number));
            for (int e = 0; e < EPOLLS; e++, n++) {
                if (n * WATCH >= bytes) return;
                must("epoll_ctl", epoll_ctl(epolls[e], EPOLL_CTL_ADD, number, &(struct epoll_event){ .events = EPOLLIN }));
            }
        }
}

/* The process of the kind "processes": it holds memory by existing. */
static void wait_here(long bytes) {
    (void)bytes;
    if (write(1, "x", 1) != 1) _exit(3);
    close(1);
    sleep(60);
    _exit(0);
}

int hold_main(char **argv) {
    static const struct { const char *name; void (*run)(long bytes); } kinds[] = {
        { "mapped", mapped }, { "unmapped", unmapped }, { "program", program }, { "table", table }, { "stream", stream }, { "empty", empty },
        { "passed", passed }, { "tables", tables }, { "mappings", mappings }, { "descriptors", descriptors }, { "watches", watches }, { "wait", wait_here } };
    setvbuf(stdout, NULL, _IOLBF, 0);
    arguments = argv + 2;
    memset(block, 'x', sizeof block);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, argv[0]) != 0) continue;
        kinds[i].run(strtol(argv[1], NULL, 10) * MIB);
        puts("HELD");
        sleep(25);
        say_escaped("held until the end");
        return 0;
    }
    return 2;
}
