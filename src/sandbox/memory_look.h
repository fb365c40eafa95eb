/* Private to memory.h: the findings of one check, and the closer look at them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/vec.h"
#include "sandbox/memory_machine.h"

typedef enum { MEMORY_FILE, MEMORY_PIPE, MEMORY_SOCKET } MemoryKind;

/* Memory used by a kernel object, rounded up. */
enum { MEMORY_THREAD_BYTES = 32 << 10, MEMORY_MAPPING_BYTES = 256, MEMORY_OBJECT_BYTES = 2 << 10, MEMORY_DESCRIPTOR_BYTES = 512,
       MEMORY_WATCH_BYTES = 200, MEMORY_PIPE_MOST = 1 << 20 };

/* `id`: its number in /proc. `own`: memory that is not shared on purpose: anonymous, swapped, huge pages. `tables`: page tables. */
typedef struct MemoryProcess { pid_t id; uint64_t size, own, shared, tables, threads, mappings_most; } MemoryProcess;
/* `bytes`: of a file, in memory and on swap. `pid`, `fd`: one of its descriptors; fd is -1 if it has none. `queued`: descriptors that wait in a
 * socket's queue and are in no process's list. */
typedef struct MemoryObject { uint64_t device, inode, bytes, queued; MemoryKind kind; pid_t pid; int fd; } MemoryObject;
typedef struct MemoryDevice { uint64_t device; bool in_memory; } MemoryDevice;

typedef struct MemoryLook {
    uint64_t limit;
    uint64_t kernel;                    /* System V messages and semaphores, the network */
    uint64_t descriptors;               /* open descriptors that are not among the objects */
    uint64_t watches, watches_most;     /* entries of epoll */
    uint64_t scratch_device;            /* of the private folder if it is in memory, else 0 */
    bool closed;                        /* descriptors of some process cannot be listed */
    VEC(MemoryProcess) processes;
    VEC(MemoryObject) objects;
    VEC(MemoryDevice) devices;
} MemoryLook;

void memory_look_unique(MemoryLook *l);                /* each object once, sorted */
void memory_look_queued(MemoryLook *l);                /* finds `queued` of each socket */
uint64_t memory_look_queued_most(const MemoryLook *l, uint64_t socket_most);    /* upper bound of what these can hold, if they are sockets or pipes */
/* The call's memory in bytes. `grown`: growth of the machine's shared memory and sockets; it is added if the call can hide memory that is not listed. */
uint64_t memory_look_closely(const MemoryLook *l, const MemoryMachine *grown);
/* Memory of kernel objects, which the estimate and the close look count the same way. */
uint64_t memory_look_kernel(const MemoryLook *l);
uint64_t memory_look_socket_most(void);
uint64_t memory_look_shared_device(void);              /* device of memory files and System V segments */
void memory_look_clear(MemoryLook *l);
