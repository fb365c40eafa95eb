#include "sandbox/memory.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "sandbox/memory_look.h"

#ifndef HUGETLBFS_MAGIC
#define HUGETLBFS_MAGIC 0x958458f6
#endif

enum { EVERY_MS = 100, NEAR_EVERY_MS = 20, LATEST_MS = 2000, COST_FACTOR = 20, DEPTH_MAX = 100, WALK_MS = 50 };
enum { BLOCK = 512, KIB = 1024, PAGE = 4096, MESSAGE_BYTES = 64, SEMAPHORE_BYTES = 64, MAPPINGS_LEAST = 65530 };
#define MS 1000000ll

/* "Name: 123 kB" in bytes, "Name: 123" as a plain number; 0 if missing. */
static uint64_t plain(const char *text, const char *name) {
    const char *at = strstr(text, name);
    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}
static uint64_t field(const char *text, const char *name) { return plain(text, name) * KIB; }

/* ---- processes -------------------------------------------------------------------------------------------------- */

static bool read_status(const Memory *m, pid_t id, MemoryProcess *out) {
    char path[40], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", (int)id);
    if (!memory_machine_text(path, text, sizeof text) || !strstr(text, "\nVmSize:")) return false;
    *out = (MemoryProcess){ .id = id, .size = field(text, "\nVmSize:"), .shared = field(text, "\nRssShmem:"), .tables = field(text, "\nVmPTE:"),
                            .own = field(text, "\nRssAnon:") + field(text, "\nVmSwap:") + field(text, "\nHugetlbPages:"),
                            .threads = plain(text, "\nThreads:") };
    out->mappings_most = out->size / PAGE < m->mappings_most ? out->size / PAGE : m->mappings_most;
    return true;
}

/* If the first thread of a process has ended, /proc shows nothing under the process id; then uses the id of another thread. */
static bool read_process(const Memory *m, pid_t pid, MemoryProcess *out) {
    char path[40];
    if (read_status(m, pid, out)) return true;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    bool found = false;
    for (struct dirent *e; dir && !found && (e = readdir(dir));)
        if (e->d_name[0] != '.') found = read_status(m, (pid_t)strtol(e->d_name, NULL, 10), out);
    if (dir) closedir(dir);
    return found;
}

/* ---- open files ------------------------------------------------------------------------------------------------- */

static bool is_in_memory(long type) { return type == TMPFS_MAGIC || type == (long)HUGETLBFS_MAGIC || type == RAMFS_MAGIC; }

/* Whether a file without a name is in memory depends on its device; all memory files have the same device. */
static bool device_in_memory(MemoryLook *l, uint64_t device, const char *path) {
    for (size_t i = 0; i < l->devices.n; i++)
        if (l->devices.at[i].device == device) return l->devices.at[i].in_memory;
    struct statfs fs;
    bool yes = statfs(path, &fs) == 0 && is_in_memory((long)fs.f_type);
    VEC_PUSH(&l->devices, ((MemoryDevice){ device, yes }));
    return yes;
}

static void add_object(MemoryLook *l, const struct statx *st, MemoryKind kind, pid_t pid, int fd) {
    MemoryObject o = { .device = makedev(st->stx_dev_major, st->stx_dev_minor), .inode = st->stx_ino,
                       .bytes = st->stx_blocks * BLOCK, .kind = kind, .pid = pid, .fd = fd };
    VEC_PUSH(&l->objects, o);
}

static bool is_nameless_file(MemoryLook *l, const struct statx *st, const char *path) {
    return S_ISREG(st->stx_mode) && st->stx_nlink == 0 && st->stx_blocks
           && device_in_memory(l, makedev(st->stx_dev_major, st->stx_dev_minor), path);
}

/* Adds the executable itself: it may be a memory file that is held by nothing else. */
static void add_program(MemoryLook *l, pid_t pid) {
    char path[40];
    struct statx st;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_NLINK | STATX_INO | STATX_BLOCKS, &st) < 0) return;
    if (is_nameless_file(l, &st, path)) add_object(l, &st, MEMORY_FILE, pid, -1);
}

/* /proc/PID/fdinfo has one line for each entry of an epoll instance. */
static void add_watches(MemoryLook *l, pid_t pid, int dir, const char *name) {
    char text[40], path[60];
    ssize_t n = readlinkat(dir, name, text, sizeof text - 1);
    text[n < 0 ? 0 : n] = 0;
    if (!strstr(text, "eventpoll")) return;
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%.20s", (int)pid, name);
    uint64_t most = l->limit / MEMORY_WATCH_BYTES + 1;   /* more than enough to be above one of the limits */
    if (most > l->watches_most) most = l->watches_most + 1;
    if (l->watches < most) l->watches += memory_machine_lines(path, "tfd:", most - l->watches);
}

static void add_descriptor(MemoryLook *l, pid_t pid, int dir, const char *name) {
    struct statx st;
    char path[60];
    size_t before = l->objects.n;
    if (statx(dir, name, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_NLINK | STATX_INO | STATX_BLOCKS, &st) < 0) return;
    snprintf(path, sizeof path, "/proc/self/fd/%d/%.20s", dir, name);
    int fd = (int)strtol(name, NULL, 10);
    if (S_ISSOCK(st.stx_mode)) add_object(l, &st, MEMORY_SOCKET, pid, fd);
    else if (S_ISFIFO(st.stx_mode)) add_object(l, &st, MEMORY_PIPE, pid, fd);
    else if (!(st.stx_mode & S_IFMT)) add_watches(l, pid, dir, name);
    else if (is_nameless_file(l, &st, path)) add_object(l, &st, MEMORY_FILE, pid, fd);
    if (l->objects.n == before) l->descriptors++;
}

static void add_descriptors(MemoryLook *l, pid_t pid) {
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    if (!dir) {
        l->closed = l->closed || errno == EACCES || errno == EPERM;
        return;
    }
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.') add_descriptor(l, pid, dirfd(dir), e->d_name);
    closedir(dir);
}

/* ---- System V objects ------------------------------------------------------------------------------------------- */

typedef void EachObject(MemoryLook *l, char **column, size_t n);

/* A table of /proc/sysvipc: a header, then lines of numbers. */
static void read_table(MemoryLook *l, const char *path, EachObject *each) {
    FILE *f = fopen(path, "re");
    char line[512], *column[20];
    for (bool head = true; f && fgets(line, sizeof line, f); head = false) {
        size_t n = 0;
        for (char *rest = line, *word; n < 20 && (word = strtok_r(rest, " \n", &rest));) column[n++] = word;
        if (!head) each(l, column, n);
    }
    if (f) fclose(f);
}

static uint64_t number(const char *text) { return strtoull(text, NULL, 10); }

/* Segments exist without attached processes: counts resident and swapped bytes. */
static void add_segment(MemoryLook *l, char **column, size_t n) {
    if (n < 16) return;
    VEC_PUSH(&l->objects, ((MemoryObject){ .device = memory_look_shared_device(), .inode = number(column[1]),
                                           .bytes = number(column[14]) + number(column[15]), .kind = MEMORY_FILE }));
}
static void add_messages(MemoryLook *l, char **column, size_t n) {
    if (n > 4) l->kernel += number(column[3]) + number(column[4]) * MESSAGE_BYTES;
}
static void add_semaphores(MemoryLook *l, char **column, size_t n) {
    if (n > 3) l->kernel += number(column[3]) * SEMAPHORE_BYTES;
}

static void add_ipc(MemoryLook *l) {
    read_table(l, "/proc/sysvipc/shm", add_segment);
    read_table(l, "/proc/sysvipc/msg", add_messages);
    read_table(l, "/proc/sysvipc/sem", add_semaphores);
}

/* ---- the private folder ----------------------------------------------------------------------------------------- */

static uint64_t scratch_used(int fd) {
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 ? (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize : 0;
}

/* Measured in processor time, so that a busy machine does not shorten the walk. */
static int64_t used_ns(void) {
    struct timespec t;
    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0 ? t.tv_sec * 1000 * MS + t.tv_nsec : clock_mono_ns();
}

/* False if a part is not visible: a folder that cannot be read, is too deep, or is too large. */
static bool add_folder(MemoryLook *l, int at, const char *name, int depth, int64_t until) {
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT || errno == ENOTDIR;
    DIR *dir = fdopendir(fd);
    if (!dir) return close(fd), false;
    bool ok = depth < DEPTH_MAX;
    for (struct dirent *e; ok && (e = readdir(dir));) {
        struct statx st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (used_ns() > until) ok = false;
        else if (statx(fd, e->d_name, AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_INO | STATX_BLOCKS, &st) < 0) ok = errno == ENOENT;
        else if (S_ISDIR(st.stx_mode)) ok = add_folder(l, fd, e->d_name, depth + 1, until);
        else if (S_ISREG(st.stx_mode)) add_object(l, &st, MEMORY_FILE, 0, -1);
    }
    closedir(dir);
    return ok;
}

static uint64_t seen_in_scratch(const Memory *m, const MemoryLook *l) {
    uint64_t sum = 0;
    for (size_t i = 0; i < l->objects.n; i++)
        if (l->objects.at[i].kind == MEMORY_FILE && l->objects.at[i].device == m->scratch_device) sum += l->objects.at[i].bytes;
    return sum;
}

/* Adds the files of the scratch folder to `l`. Returns the bytes that it could not attribute to a file, if the walk was incomplete: the growth of the
 * file system since the call began, minus the files found. */
static uint64_t look_at_scratch(Memory *m, MemoryLook *l) {
    uint64_t used = m->scratch < 0 ? 0 : scratch_used(m->scratch);
    if (used < m->scratch_least) m->scratch_least = used;
    if (m->scratch < 0 || add_folder(l, m->scratch, ".", 0, used_ns() + WALK_MS * MS)) return 0;
    memory_look_unique(l);                               /* a file with several names once */
    uint64_t grown = used - m->scratch_least, seen = seen_in_scratch(m, l);
    return grown > seen ? grown - seen : 0;
}

/* ---- the check -------------------------------------------------------------------------------------------------- */

/* An upper bound of the call's memory. Shared memory in `grown` that is not seen here counts only if the call has a place to hide it;
 * memory_look_closely() decides that. */
static uint64_t estimate(const Memory *m, const MemoryLook *l, const MemoryMachine *grown) {
    uint64_t sum = memory_look_kernel(l) + (m->scratch < 0 ? 0 : scratch_used(m->scratch)), seen = 0, sockets = 0;
    for (size_t i = 0; i < l->processes.n; i++) {
        const MemoryProcess *p = &l->processes.at[i];
        sum += p->own + p->shared + p->tables + p->mappings_most * MEMORY_MAPPING_BYTES;
        seen += p->shared;
    }
    for (size_t i = 0; i < l->objects.n; i++) {
        const MemoryObject *o = &l->objects.at[i];
        sum += o->kind == MEMORY_SOCKET ? m->socket_most : o->kind == MEMORY_PIPE ? MEMORY_PIPE_MOST : o->bytes;
        seen += o->kind == MEMORY_FILE ? o->bytes : 0;
        sockets += o->kind == MEMORY_SOCKET;
    }
    sum += memory_look_queued_most(l, m->socket_most);
    sum += grown->sockets > sockets ? (grown->sockets - sockets) * m->socket_most : 0;
    return sum + (grown->shared > seen ? grown->shared - seen : 0);
}

static void look(const Memory *m, MemoryLook *l) {
    pid_t *pids;
    size_t n = tree_list(m->tree, &pids);
    for (size_t i = 0; i < n; i++) {
        MemoryProcess p;
        if (!read_process(m, pids[i], &p)) continue;
        VEC_PUSH(&l->processes, p);
        add_descriptors(l, p.id);
        add_program(l, p.id);
    }
    free(pids);
    if (m->own_ipc) add_ipc(l);
    memory_look_unique(l);
    memory_look_queued(l);
}

static void set_next(Memory *m, int64_t began, uint64_t sum) {
    int64_t now = clock_mono_ns(), wait = (sum > m->limit / 2 ? NEAR_EVERY_MS : EVERY_MS) * MS, least = (now - began) * COST_FACTOR;
    if (wait < least) wait = least;
    m->check_at = now + (wait < LATEST_MS * MS ? wait : LATEST_MS * MS);
}

/* Read at the first check; a short call ends before that. */
static void read_settings(Memory *m) {
    m->socket_most = memory_look_socket_most();
    m->mappings_most = memory_machine_number("/proc/sys/vm/max_map_count");
    if (m->mappings_most < MAPPINGS_LEAST) m->mappings_most = MAPPINGS_LEAST;
    m->watches_most = memory_machine_number("/proc/sys/fs/epoll/max_user_watches") / 2;
    if (!m->watches_most) m->watches_most = UINT64_MAX - 1;              /* the limit of entries is unknown: only memory is limited */
}

bool memory_exceeded(Memory *m) {
    int64_t began = clock_mono_ns();
    MemoryMachine now, grown;
    if (!m->socket_most) read_settings(m);
    memory_machine_read(&now);
    grown = memory_machine_growth(&m->least, &now);
    MemoryLook l = { .limit = m->limit, .watches_most = m->watches_most, .scratch_device = m->scratch_device,
                     .kernel = m->network ? grown.network : 0 };
    look(m, &l);
    uint64_t sum = estimate(m, &l, &grown);
    if (sum > m->limit) {
        uint64_t unseen = look_at_scratch(m, &l);
        memory_look_unique(&l);
        sum = memory_look_closely(&l, &grown) + unseen;
    }
    bool exceeded = sum > m->limit || l.watches > m->watches_most;
    memory_look_clear(&l);
    set_next(m, began, sum);
    return exceeded;
}

void memory_start(Memory *m, const Tree *tree, uint64_t limit, int scratch, bool own_ipc, bool network) {
    struct statfs fs;
    struct stat st;
    bool in_memory = scratch >= 0 && fstatfs(scratch, &fs) == 0 && is_in_memory((long)fs.f_type);
    *m = (Memory){ .tree = tree, .limit = limit, .scratch = in_memory ? scratch : -1, .own_ipc = own_ipc, .network = network,
                   .check_at = clock_mono_ns() + EVERY_MS * MS };
    memory_machine_read(&m->least);
    if (in_memory) m->scratch_least = scratch_used(scratch);
    if (in_memory && fstat(scratch, &st) == 0) m->scratch_device = st.st_dev;
}
