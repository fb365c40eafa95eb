/* All descendants of this process: orphans are reparented to it, because it is their subreaper or the init of their
 * namespace. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct Tree {
    bool own_namespace;                 /* this process is pid 1: every process it can see belongs to it */
    const pid_t *skip;                  /* children to skip; may be NULL */
    size_t n_skip;
} Tree;

size_t tree_count(const Tree *t, size_t most);         /* processes, without this one; may stop counting at `most` */
size_t tree_list(const Tree *t, pid_t **out);          /* the same processes, all of them; free(*out) */
size_t tree_count_threads(const Tree *t);              /* threads of all of them: catches bombs that never fork */
/* Signals all processes. In its own namespace that is one atomic step; otherwise one after the other, with their
 * process groups: repeat SIGKILL until none is left. */
void tree_signal(const Tree *t, int signal);
/* True if `pid` is in the tree. For filtered calls. */
bool tree_has(const Tree *t, pid_t pid);
bool tree_has_group(const Tree *t, pid_t group);       /* true if one of its processes is in that process group */
pid_t tree_process_of(pid_t thread);                   /* the process that a thread belongs to; 0: unknown */
