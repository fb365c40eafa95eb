/* Behind memory.h: what was found at one check, and the closer look at it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/vec.h"

typedef enum { MEMORY_FILE, MEMORY_PIPE, MEMORY_SOCKET } MemoryKind;

/* `id`: the number under which /proc shows it. `own`: not shared by intention: anonymous, swapped, huge pages. */
typedef struct MemoryProcess { pid_t id; uint64_t size, own, shared; } MemoryProcess;
/* `bytes` of a file, in memory and on swap. `pid`, `fd`: one descriptor of it; fd is -1 when it has none. */
typedef struct MemoryObject { uint64_t device, inode, bytes; MemoryKind kind; pid_t pid; int fd; } MemoryObject;
typedef struct MemoryDevice { uint64_t device; bool in_memory; } MemoryDevice;

typedef struct MemoryLook {
    uint64_t limit;
    uint64_t kernel;                    /* System V messages and semaphores */
    bool closed;                        /* descriptors of some process cannot be listed */
    VEC(MemoryProcess) processes;
    VEC(MemoryObject) objects;
    VEC(MemoryDevice) devices;
} MemoryLook;

void memory_look_unique(MemoryLook *l);                /* each object once, sorted */
/* The sum in bytes. `grown`: by how much the machine's shared memory has grown; counts where the call can hide some. */
uint64_t memory_look_closely(const MemoryLook *l, uint64_t grown);
uint64_t memory_look_socket_most(void);
uint64_t memory_look_shared_device(void);              /* of memory files and System V segments */
void memory_look_clear(MemoryLook *l);
