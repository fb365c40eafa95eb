/* All processes below this one, wherever they have moved to: orphans come back to it, because it is their subreaper or the
 * first process of their namespace. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct Tree {
    bool own_namespace;                 /* this process is number 1: every process it can see belongs to it */
    const pid_t *skip;                  /* children that are not meant; NULL: none are left out */
    size_t n_skip;
} Tree;

size_t tree_count(const Tree *t, size_t most);         /* processes, without this one; may stop counting at `most` */
size_t tree_list(const Tree *t, pid_t **out);          /* the same processes, all of them; free(*out) */
size_t tree_count_threads(const Tree *t);              /* of all of them; an end of its own for bombs that never fork */
/* Sends to all. In a namespace of its own that is one step, which no fork can outrun; otherwise one after the other, with
 * their process groups: SIGKILL has to be repeated until nothing is left to wait for. */
void tree_signal(const Tree *t, int signal);
/* Is `pid` in the tree? For calls that ask. */
bool tree_has(const Tree *t, pid_t pid);
bool tree_has_group(const Tree *t, pid_t group);       /* is one of its processes in that process group? */
pid_t tree_process_of(pid_t thread);                   /* the process that a thread belongs to; 0: unknown */
