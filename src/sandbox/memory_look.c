#include "sandbox/memory_look.h"
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/sockios.h>
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

enum { KIB = 1024, PIPE_MOST = 1 << 20, SOCKET_LEAST = 425984, LOOK_MS = 1000 };

uint64_t memory_look_shared_device(void) {
    static uint64_t device;                              /* asked once; the supervisor has one thread */
    struct stat st;
    int fd = device ? -1 : memfd_create("device", MFD_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0) device = st.st_dev;
    if (fd >= 0) close(fd);
    return device;
}

/* The kernel doubles what a program asks for. */
uint64_t memory_look_socket_most(void) {
    uint64_t most = 0;
    FILE *f = fopen("/proc/sys/net/core/wmem_max", "re");
    char line[32];
    if (f && fgets(line, sizeof line, f)) most = strtoull(line, NULL, 10) * 2;
    if (f) fclose(f);
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

/* ---- pages by their share --------------------------------------------------------------------------------------- */

/* Of one mapping: sizes in bytes. `counted`: its file is among the objects. */
typedef struct Mapping { bool shared_device, counted; uint64_t share, anonymous, swapped; } Mapping;
typedef struct Sum { uint64_t all, shared; } Sum;

static bool is_counted(const MemoryLook *l, uint64_t device, uint64_t inode) {
    MemoryObject key = { .device = device, .inode = inode };
    return inode && l->objects.n && bsearch(&key, l->objects.at, l->objects.n, sizeof key, compare);
}

/* Pages of a file on a disk belong to the machine's cache: of those mappings only what was copied on writing counts. */
static void add_mapping(const Mapping *m, bool has_file, Sum *sum) {
    uint64_t own = m->anonymous < m->share ? m->anonymous : m->share;
    if (m->counted) sum->all += own;
    else if (!has_file || m->shared_device) sum->all += m->share + m->swapped;
    else sum->all += own + m->swapped;
    if (m->shared_device && !m->counted) sum->shared += m->share;
}

static bool starts(const char *line, const char *name, uint64_t *out) {
    size_t n = strlen(name);
    if (strncmp(line, name, n) != 0) return false;
    *out = strtoull(line + n, NULL, 10) * KIB;
    return true;
}

/* A head line is "from-to rights offset major:minor inode path". */
static bool read_head(const MemoryLook *l, const char *line, Mapping *m, bool *has_file) {
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
    uint64_t inode = strtoull(end, NULL, 10);
    uint64_t device = makedev((unsigned)major_number, (unsigned)minor_number);
    *m = (Mapping){ .shared_device = inode && device == memory_look_shared_device(), .counted = is_counted(l, device, inode) };
    *has_file = inode != 0;
    return true;
}

static bool add_process(const MemoryLook *l, pid_t id, Sum *sum) {
    char path[40], line[1024];
    snprintf(path, sizeof path, "/proc/%d/smaps", (int)id);
    FILE *f = fopen(path, "re");
    if (!f) return false;
    Mapping m = { 0 };
    bool has_file = false, any = false, whole = true;
    while (fgets(line, sizeof line, f)) {
        bool begins = whole;
        whole = strchr(line, '\n') != NULL;              /* a path can be longer than a line here */
        if (!begins || starts(line, "Pss:", &m.share) || starts(line, "Anonymous:", &m.anonymous) || starts(line, "SwapPss:", &m.swapped)) continue;
        if (line[0] >= 'A' && line[0] <= 'Z') continue;
        Mapping next;
        bool next_file;
        if (!read_head(l, line, &next, &next_file)) continue;
        if (any) add_mapping(&m, has_file, sum);
        m = next, has_file = next_file, any = true;
    }
    if (any) add_mapping(&m, has_file, sum);
    fclose(f);
    return any;
}

/* A child of vfork() has its parent's memory, not a copy. */
static bool is_same_memory(const MemoryLook *l, size_t at) {
    const MemoryProcess *p = l->processes.at;
    for (size_t i = 0; i < at; i++)
        if (p[i].size == p[at].size && syscall(SYS_kcmp, p[i].id, p[at].id, KCMP_VM, 0, 0) == 0) return true;
    return false;
}

/* ---- pipes and sockets ------------------------------------------------------------------------------------------ */

/* The size it may have, when something is in it: a queue of single bytes takes as much as a full one. */
static uint64_t held_by(const MemoryObject *o, uint64_t most) {
    int process = (int)syscall(SYS_pidfd_open, o->pid, 0), waiting = 0, sent = 0, size = 0;
    int fd = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, o->fd, 0);
    if (process >= 0) close(process);
    if (fd < 0) return most;
    bool empty = ioctl(fd, FIONREAD, &waiting) == 0 && waiting == 0;
    socklen_t n = sizeof size;
    if (o->kind == MEMORY_PIPE) size = fcntl(fd, F_GETPIPE_SZ);
    else if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, &n) < 0) size = -1;
    else empty = empty && (ioctl(fd, SIOCOUTQ, &sent) < 0 || sent == 0);
    close(fd);
    return empty ? 0 : size > 0 ? (uint64_t)size : most;
}

/* Descriptors that wait in a socket's queue are in no process's list. */
static bool has_descriptors(const MemoryObject *o) {
    char path[60], text[512];
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)o->pid, o->fd);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    text[n < 0 ? 0 : n] = 0;
    const char *at = strstr(text, "scm_fds:");
    return at && strtol(at + 8, NULL, 10) > 0;
}

uint64_t memory_look_closely(const MemoryLook *l, uint64_t grown) {
    Sum sum = { .all = l->kernel };
    int64_t until = clock_mono_ns() + LOOK_MS * 1000000ll;
    bool hides = l->closed;
    uint64_t socket_most = memory_look_socket_most();
    for (size_t i = 0; i < l->objects.n; i++) {
        const MemoryObject *o = &l->objects.at[i];
        if (o->kind == MEMORY_SOCKET) hides = hides || has_descriptors(o);
        if (o->kind == MEMORY_FILE) sum.all += o->bytes, sum.shared += o->bytes;
        else sum.all += held_by(o, o->kind == MEMORY_PIPE ? PIPE_MOST : socket_most);
    }
    for (size_t i = 0; i < l->processes.n; i++) {
        const MemoryProcess *p = &l->processes.at[i];
        if (clock_mono_ns() < until && (is_same_memory(l, i) || add_process(l, p->id, &sum))) continue;
        sum.all += p->own + p->shared;                   /* closed to us, gone meanwhile, or too much to look at */
        sum.shared += p->shared;
    }
    return sum.all + (hides && grown > sum.shared ? grown - sum.shared : 0);
}
