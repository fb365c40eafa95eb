#include "sandbox/tree.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/vec.h"

enum { ROUNDS_MAX = 50 };
typedef VEC(pid_t) Pids;

static bool is_number(const char *s) { return *s >= '1' && *s <= '9'; }

/* Content of a small file of /proc, NUL-terminated; false if it does not exist. */
static bool read_small(const char *path, char *out, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, out, size - 1);
    close(fd);
    if (n < 0) return false;
    out[n] = 0;
    return true;
}

static bool is_skipped(const Tree *t, pid_t pid) {
    for (size_t i = 0; i < t->n_skip; i++)
        if (t->skip[i] == pid) return true;
    return false;
}

/* A list of children can be longer than any buffer: reads it in pieces; a number may be split. */
static void read_children(const Tree *t, const char *path, Pids *out) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    char piece[4096];
    long pid = 0;
    for (ssize_t n; (n = read(fd, piece, sizeof piece)) > 0;)
        for (ssize_t i = 0; i < n; i++) {
            if (piece[i] >= '0' && piece[i] <= '9') {
                pid = pid * 10 + (piece[i] - '0');
            } else {
                if (pid && !is_skipped(t, (pid_t)pid)) VEC_PUSH(out, (pid_t)pid);
                pid = 0;
            }
        }
    close(fd);
}

/* Each thread has its own children. */
static void add_children(const Tree *t, pid_t pid, Pids *out) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    if (!dir) return;
    for (struct dirent *e; (e = readdir(dir));) {
        if (!is_number(e->d_name)) continue;
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", (int)pid, e->d_name);
        read_children(t, path, out);
    }
    closedir(dir);
}

static pid_t parent_of(pid_t pid) {
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (!read_small(path, text, sizeof text)) return 0;
    const char *at = strrchr(text, ')');                 /* the name before it may contain anything */
    return at && strlen(at) > 4 ? (pid_t)strtol(at + 4, NULL, 10) : 0;   /* ") S 123" */
}

static void all_processes(Pids *out) {
    DIR *dir = opendir("/proc");
    if (!dir) return;
    pid_t self = getpid();
    for (struct dirent *e; (e = readdir(dir));) {
        pid_t pid = is_number(e->d_name) ? (pid_t)strtol(e->d_name, NULL, 10) : self;
        if (pid != self) VEC_PUSH(out, pid);
    }
    closedir(dir);
}

bool tree_has(const Tree *t, pid_t pid) {
    if (pid <= 0) return false;
    if (t->own_namespace) return pid != getpid();
    pid_t self = getpid();
    for (int steps = 0; pid > 1 && steps < 10000; steps++) {
        pid_t parent = parent_of(pid);
        if (parent == self) return !is_skipped(t, pid);
        pid = parent;
    }
    return false;
}

/* For kernels without lists of children: checks the ancestors of every process. */
static void descendants_by_parent(const Tree *t, Pids *out) {
    Pids all = { 0 };
    all_processes(&all);
    for (size_t i = 0; i < all.n; i++)
        if (tree_has(t, all.at[i])) VEC_PUSH(out, all.at[i]);
    VEC_CLEAR(&all);
}

/* A group of the tree contains no other process: a process can only join a group of its own session, and the sessions
 * were created inside. A group is signalled atomically. */
static void signal_with_group(pid_t pid, int signal, pid_t *last_group) {
    pid_t group = getpgid(pid);
    if (group > 1 && group != getpgrp()) {
        if (group != *last_group) (void)kill(-group, signal);
        *last_group = group;
    } else {
        (void)kill(pid, signal);
    }
}

/* Walks down from this process. Sends `signal` (0: none) to each process when it is found, not at the end: this slows
 * down a fork bomb. Stops at `most`. */
static void descendants(const Tree *t, int signal, size_t most, Pids *out) {
    char path[64];
    pid_t group = 0;
    size_t signalled = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    bool listed = access(path, F_OK) == 0;
    if (listed) add_children(t, getpid(), out);
    else descendants_by_parent(t, out);
    for (size_t i = 0; i < out->n && out->n < most; i++) {
        for (; signal && signalled < out->n; signalled++) signal_with_group(out->at[signalled], signal, &group);
        if (listed) add_children(&(Tree){ 0 }, out->at[i], out);
    }
    for (; signal && signalled < out->n; signalled++) signal_with_group(out->at[signalled], signal, &group);
}

static size_t sweep(const Tree *t, int signal, size_t most) {
    Pids pids = { 0 };
    if (t->own_namespace) all_processes(&pids);
    else descendants(t, signal, most, &pids);
    size_t n = pids.n;
    VEC_CLEAR(&pids);
    return n;
}

size_t tree_count(const Tree *t, size_t most) { return sweep(t, 0, most); }

size_t tree_list(const Tree *t, pid_t **out) {
    Pids pids = { 0 };
    if (t->own_namespace) all_processes(&pids);
    else descendants(t, 0, SIZE_MAX, &pids);
    *out = pids.at;
    return pids.n;
}

/* A folder's link count is its subfolders, "." and the entry in its parent: avoids reading the list. */
static size_t threads_of(pid_t pid) {
    char path[32];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    return stat(path, &st) < 0 || st.st_nlink < 2 ? 0 : (size_t)st.st_nlink - 2;
}

size_t tree_count_threads(const Tree *t) {
    Pids pids = { 0 };
    size_t n = 0;
    if (t->own_namespace) all_processes(&pids);
    else descendants(t, 0, SIZE_MAX, &pids);
    for (size_t i = 0; i < pids.n; i++) n += threads_of(pids.at[i]);
    VEC_CLEAR(&pids);
    return n;
}

/* Killing one of many forking processes only makes room for the next. Stops them first: the limit of tasks then ends
 * the growth, and when no new one is found all are killed. */
static void stop_growth(const Tree *t) {
    size_t last = 0;
    for (int round = 0; round < ROUNDS_MAX; round++) {
        size_t n = sweep(t, SIGSTOP, SIZE_MAX);
        if (n <= last) return;
        last = n;
    }
}

void tree_signal(const Tree *t, int signal) {
    if (t->own_namespace) {
        (void)kill(-1, signal);
        return;
    }
    if (signal == SIGKILL) stop_growth(t);
    (void)sweep(t, signal, SIZE_MAX);
}

bool tree_has_group(const Tree *t, pid_t group) {
    Pids pids = { 0 };
    if (t->own_namespace) all_processes(&pids);
    else descendants(t, 0, SIZE_MAX, &pids);
    bool found = false;
    for (size_t i = 0; i < pids.n && !found; i++) found = getpgid(pids.at[i]) == group;
    VEC_CLEAR(&pids);
    return found;
}

pid_t tree_process_of(pid_t thread) {
    char path[40], text[2048];
    snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
    if (!read_small(path, text, sizeof text)) return 0;
    const char *at = strstr(text, "\nTgid:");
    return at ? (pid_t)strtol(at + 6, NULL, 10) : 0;
}
