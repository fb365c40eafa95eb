/* Total memory of the processes of a call, summed up by its supervisor from /proc.
 *
 * A check has two steps. The first computes a cheap upper bound: pages that forks share are counted for each of them. If that is
 * above the limit, the second step counts precisely: shared pages in proportion (PSS), each memory file once, and the actual content
 * of pipes and sockets. Kernel memory counts by size or by number: page tables, mappings, threads, descriptors, entries of epoll.
 * Best effort: between two checks a call can hold more. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "sandbox/memory_machine.h"
#include "sandbox/tree.h"

typedef struct Memory {
    const Tree *tree;
    uint64_t limit;
    int scratch;                        /* the call's private folder; -1: it is not on an in-memory file system */
    bool own_ipc;                       /* System V segments of this namespace are the call's */
    bool network;                       /* the call may have internet sockets */
    MemoryMachine least;                /* smallest counters of the whole machine since the call began */
    uint64_t scratch_device;            /* 0: not in memory */
    uint64_t scratch_least;             /* smallest use of the scratch folder's file system since the call began */
    uint64_t socket_most;               /* capacity of a socket's queue; 0: not known yet */
    uint64_t watches_most;              /* limit of epoll entries for the call: half of the user's */
    uint64_t mappings_most;             /* number of mappings that a process can have */
    int64_t check_at;                   /* monotonic */
} Memory;

void memory_start(Memory *m, const Tree *tree, uint64_t limit, int scratch, bool own_ipc, bool network);
bool memory_exceeded(Memory *m);        /* makes a check and sets the time of the next one */
