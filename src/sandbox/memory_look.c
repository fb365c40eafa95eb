#include "sandbox/memory_look.h"
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/clock.h"

enum { KIB = 1024, BLOCK = 512, SOCKET_LEAST = 425984, LOOK_MS = 1000, QUEUED_MS = 100 };
#define MS 1000000ll

uint64_t memory_look_shared_device(void) {
    static uint64_t device;                              /* computed once; the supervisor has one thread */
    struct stat st;
    int fd = device ? -1 : memfd_create("device", MFD_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0) device = st.st_dev;
    if (fd >= 0) close(fd);
    return device;
}

/* The kernel doubles the requested size. */
uint64_t memory_look_socket_most(void) {
    uint64_t most = memory_machine_number("/proc/sys/net/core/wmem_max") * 2;
    return most > SOCKET_LEAST ? most : SOCKET_LEAST;
}

static int compare(const void *a, const void *b) {
    const MemoryObject *x = a, *y = b;
    return x->device != y->device ? (x->device < y->device ? -1 : 1) : x->inode != y->inode ? (x->inode < y->inode ? -1 : 1) : 0;
}

void memory_look_unique(MemoryLook *l) {
    size_t n = 0;
    if (!l->objects.n) return;
    qsort(l->objects.at, l->objects.n, sizeof *l->objects.at, compare);
    for (size_t i = 0; i < l->objects.n; i++)
        if (n == 0 || compare(&l->objects.at[n - 1], &l->objects.at[i]) != 0) l->objects.at[n++] = l->objects.at[i];
    l->objects.n = n;
}

void memory_look_clear(MemoryLook *l) {
    VEC_CLEAR(&l->processes);
    VEC_CLEAR(&l->objects);
    VEC_CLEAR(&l->devices);
}

uint64_t memory_look_kernel(const MemoryLook *l) {
    uint64_t sum = l->kernel + l->watches * MEMORY_WATCH_BYTES + l->descriptors * MEMORY_DESCRIPTOR_BYTES + l->objects.n * MEMORY_OBJECT_BYTES;
    for (size_t i = 0; i < l->processes.n; i++) sum += l->processes.at[i].threads * MEMORY_THREAD_BYTES;
    return sum;
}

/* ---- pages by their share --------------------------------------------------------------------------------------- */

/* One mapping; sizes in bytes. `in_memory`: it maps a file on an in-memory file system. `counted`: that file is among the objects. */
typedef struct Mapping { bool has_file, in_memory, counted; uint64_t device, inode, share, anonymous, swapped; } Mapping;
/* A mapped in-memory file without an open descriptor. `bytes`: its size if `whole`, else the size of the mapped part. */
typedef struct MappedFile { uint64_t device, inode, bytes; bool whole; } MappedFile;
/* `hides`: some shared memory of the call may be in no process's mappings. `in_flight`: some of its sockets may be in no process's descriptors. */
typedef struct Sum { uint64_t all, shared; bool hides, in_flight; VEC(MappedFile) mapped; } Sum;

static bool is_counted(const MemoryLook *l, uint64_t device, uint64_t inode) {
    MemoryObject key = { .device = device, .inode = inode };
    return inode && l->objects.n && bsearch(&key, l->objects.at, l->objects.n, sizeof key, compare);
}

/* One mapped page keeps the whole file in memory. Only root can read the size of that file; otherwise the mapped part counts. */
static void add_mapped(pid_t id, const char *range, const Mapping *m, Sum *sum) {
    char path[80];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/map_files/%s", (int)id, range);
    bool whole = stat(path, &st) == 0 && st.st_ino == m->inode;
    VEC_PUSH(&sum->mapped, ((MappedFile){ m->device, m->inode, whole ? (uint64_t)st.st_blocks * BLOCK : m->share + m->swapped, whole }));
}

/* Pages of a file on a disk belong to the machine's cache: only private copies of them (copy-on-write) count. */
static void add_mapping(pid_t id, const char *range, const Mapping *m, Sum *sum) {
    uint64_t own = m->anonymous < m->share ? m->anonymous : m->share;
    sum->all += MEMORY_MAPPING_BYTES;
    if (m->counted) sum->all += own;
    else if (m->in_memory) add_mapped(id, range, m, sum);
    else sum->all += (m->has_file ? own : m->share) + m->swapped;
}

static int compare_mapped(const void *a, const void *b) {
    const MappedFile *x = a, *y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    if (x->inode != y->inode) return x->inode < y->inode ? -1 : 1;
    return (int)y->whole - (int)x->whole;
}

/* Counts each file once if its size is known, else the mapped parts. */
static void add_mapped_files(Sum *sum) {
    if (sum->mapped.n) qsort(sum->mapped.at, sum->mapped.n, sizeof *sum->mapped.at, compare_mapped);
    const MappedFile *first = NULL;
    for (size_t i = 0; i < sum->mapped.n; i++) {
        const MappedFile *f = &sum->mapped.at[i];
        bool same = first && first->device == f->device && first->inode == f->inode;
        if (!same) first = f;
        if (same && first->whole) continue;
        sum->all += f->bytes;
        sum->shared += f->bytes;
        sum->hides = sum->hides || !f->whole;
    }
    VEC_CLEAR(&sum->mapped);
}

static bool starts(const char *line, const char *name, uint64_t *out) {
    size_t n = strlen(name);
    if (strncmp(line, name, n) != 0) return false;
    *out = strtoull(line + n, NULL, 10) * KIB;
    return true;
}

/* A head line is "from-to rights offset major:minor inode path". */
static bool read_head(const MemoryLook *l, const char *line, Mapping *m) {
    const char *at = line;
    for (int skipped = 0; skipped < 3; skipped++) {      /* range, rights, offset */
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    char *end;
    unsigned long major_number = strtoul(at, &end, 16), minor_number;
    if (*end != ':') return false;
    minor_number = strtoul(end + 1, &end, 16);
    if (*end != ' ') return false;
    uint64_t inode = strtoull(end, NULL, 10), device = makedev((unsigned)major_number, (unsigned)minor_number);
    *m = (Mapping){ .has_file = inode != 0, .device = device, .inode = inode, .counted = is_counted(l, device, inode),
                    .in_memory = inode && (device == memory_look_shared_device() || (l->scratch_device && device == l->scratch_device)) };
    return true;
}

static bool add_process(const MemoryLook *l, const MemoryProcess *p, int64_t until, Sum *sum) {
    char path[40], line[1024], range[48] = "";
    snprintf(path, sizeof path, "/proc/%d/smaps", (int)p->id);
    FILE *f = fopen(path, "re");
    if (!f) return false;
    Mapping m = { 0 };
    Sum before = *sum;
    bool any = false, whole = true, late = false;
    while (!late && fgets(line, sizeof line, f)) {
        bool begins = whole;
        whole = strchr(line, '\n') != NULL;              /* a path can be longer than this buffer */
        if (!begins || starts(line, "Pss:", &m.share) || starts(line, "Anonymous:", &m.anonymous) || starts(line, "SwapPss:", &m.swapped)) continue;
        if (line[0] >= 'A' && line[0] <= 'Z') continue;
        Mapping next;
        if (!read_head(l, line, &next)) continue;
        if (any) add_mapping(p->id, range, &m, sum);
        m = next;
        any = true;
        snprintf(range, sizeof range, "%.*s", (int)strcspn(line, " "), line);
        late = clock_mono_ns() > until;
    }
    fclose(f);
    if (late) sum->all = before.all;
    else if (any) add_mapping(p->id, range, &m, sum);
    sum->all += any && !late ? p->tables : 0;
    return any && !late;
}

/* A child of vfork() shares its parent's memory. */
static bool is_same_memory(const MemoryLook *l, size_t at) {
    const MemoryProcess *p = l->processes.at;
    for (size_t i = 0; i < at; i++)
        if (p[i].size == p[at].size && syscall(SYS_kcmp, p[i].id, p[at].id, KCMP_VM, 0, 0) == 0) return true;
    return false;
}

/* ---- pipes and sockets ------------------------------------------------------------------------------------------ */

static int take(const MemoryObject *o) {
    int process = (int)syscall(SYS_pidfd_open, o->pid, 0);
    int fd = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, o->fd, 0);
    if (process >= 0) close(process);
    return fd;
}

/* Counts the full capacity if the queue is not empty: a queue of single bytes takes as much memory as a full one. */
static uint64_t held_by_pipe(int fd) {
    int waiting = 0, size = fcntl(fd, F_GETPIPE_SZ);
    if (ioctl(fd, FIONREAD, &waiting) == 0 && waiting == 0) return 0;
    return size > 0 ? (uint64_t)size : MEMORY_PIPE_MOST;
}

static int option(int fd, int name) {
    int value = -1;
    socklen_t n = sizeof value;
    return getsockopt(fd, SOL_SOCKET, name, &value, &n) == 0 ? value : -1;
}

/* Data in a pair of sockets counts for the sender. If the sender is gone or has shut down its side, the waiting data can be as much as any sender
 * may have; the number of bytes does not show it, because messages can be small or empty. */
static uint64_t held_by_pair(int fd, uint64_t most) {
    int waiting = 0, sent = 0;
    struct pollfd p = { .fd = fd, .events = POLLIN | POLLRDHUP };
    uint64_t sum = ioctl(fd, SIOCOUTQ, &sent) == 0 && sent > 0 ? (uint64_t)sent : 0;
    bool ended = poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP));
    bool waits = ioctl(fd, FIONREAD, &waiting) < 0 || waiting > 0 || (option(fd, SO_TYPE) != SOCK_STREAM && (p.revents & POLLIN));
    return sum + (ended && waits ? most : 0);
}

/* Internet sockets have a separate counter. */
static uint64_t held_by_socket(int fd, uint64_t most) {
    int domain = option(fd, SO_DOMAIN);
    if (domain == AF_UNIX) return held_by_pair(fd, most);
    if (domain == AF_INET || domain == AF_INET6) return 0;
    uint32_t info[SK_MEMINFO_VARS] = { 0 };
    socklen_t n = sizeof info;
    if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &n) < 0) return most;
    return (uint64_t)info[SK_MEMINFO_RMEM_ALLOC] + info[SK_MEMINFO_WMEM_ALLOC];
}

static uint64_t held_by(const MemoryObject *o, uint64_t socket_most) {
    uint64_t most = o->kind == MEMORY_PIPE ? MEMORY_PIPE_MOST : socket_most;
    int fd = take(o);
    if (fd < 0) return most;
    uint64_t held = o->kind == MEMORY_PIPE ? held_by_pipe(fd) : held_by_socket(fd, most);
    close(fd);
    return held;
}

/* If there are more sockets than there is time for, counts enough for their queues to require the close look. */
void memory_look_queued(MemoryLook *l) {
    int64_t until = clock_mono_ns() + QUEUED_MS * MS;
    for (size_t i = 0; i < l->objects.n && clock_mono_ns() < until; i++) {
        MemoryObject *o = &l->objects.at[i];
        char path[60], text[512];
        if (o->kind != MEMORY_SOCKET) continue;
        snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)o->pid, o->fd);
        const char *at = memory_machine_text(path, text, sizeof text) ? strstr(text, "scm_fds:") : NULL;
        o->queued = at ? strtoull(at + 8, NULL, 10) : 0;
    }
}

uint64_t memory_look_queued_most(const MemoryLook *l, uint64_t socket_most) {
    uint64_t n = 0;
    for (size_t i = 0; i < l->objects.n; i++) n += l->objects.at[i].queued;
    return n * (socket_most > MEMORY_PIPE_MOST ? socket_most : MEMORY_PIPE_MOST);
}

/* Objects whose state takes too long to query count as full. */
static uint64_t add_objects(const MemoryLook *l, uint64_t socket_most, int64_t until, Sum *sum) {
    uint64_t sockets = 0;
    for (size_t i = 0; i < l->objects.n; i++) {
        const MemoryObject *o = &l->objects.at[i];
        sockets += o->kind == MEMORY_SOCKET;
        sum->in_flight = sum->in_flight || o->queued;
        if (o->kind == MEMORY_FILE) {
            sum->all += o->bytes;
            sum->shared += o->bytes;
        } else if (clock_mono_ns() < until) {
            sum->all += held_by(o, socket_most);
        } else {
            sum->all += o->kind == MEMORY_PIPE ? MEMORY_PIPE_MOST : socket_most;
        }
    }
    return sockets;
}

uint64_t memory_look_closely(const MemoryLook *l, const MemoryMachine *grown) {
    Sum sum = { .all = memory_look_kernel(l), .hides = l->closed };
    int64_t began = clock_mono_ns();
    uint64_t socket_most = memory_look_socket_most();
    uint64_t sockets = add_objects(l, socket_most, began + LOOK_MS * MS, &sum);
    for (size_t i = 0; i < l->processes.n; i++) {
        const MemoryProcess *p = &l->processes.at[i];
        if (is_same_memory(l, i) || add_process(l, p, began + 2 * LOOK_MS * MS, &sum)) continue;
        sum.all += p->own + p->shared + p->tables + p->mappings_most * MEMORY_MAPPING_BYTES;  /* not readable, ended in the meantime, or too large to examine */
        sum.shared += p->shared;
    }
    add_mapped_files(&sum);
    /* Sockets in a queue can have descriptors in their own queues; these appear only in the machine's number of sockets. */
    uint64_t seen = memory_look_queued_most(l, socket_most), unseen = grown->sockets > sockets ? (grown->sockets - sockets) * socket_most : 0;
    if (sum.in_flight) sum.all += seen > unseen ? seen : unseen;
    return sum.all + ((sum.hides || sum.in_flight) && grown->shared > sum.shared ? grown->shared - sum.shared : 0);
}
