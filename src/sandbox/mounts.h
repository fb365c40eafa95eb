/* An additional layer where the kernel supports it, for root or through a user namespace: a private view of the file
 * system in which everything is read-only except the writable places, and, if possible, a /proc that shows only the
 * call's own processes. It also restricts what Landlock does not: mode, owner, times and attributes of files
 * outside. */
#pragma once
#include "base/arena.h"
#include "base/error.h"

typedef struct MountsPlan {
    const char *const *write;           /* paths that stay writable, with everything mounted below them; missing ones
                                         * are skipped */
    const char *const *protect;         /* paths that become read-only in any case: see shield.h */
    bool user_namespace;                /* this process has its rights from a user namespace */
    bool own_processes;                 /* also in a new process namespace, with its own /proc */
} MountsPlan;

/* For a single-threaded process in a new mount namespace. */
bool mounts_enter(const MountsPlan *plan, Arena *arena, Error *err);

/* The steps of a probe, in this order. */
typedef enum {
    MOUNTS_DONE, MOUNTS_RIGHTS, MOUNTS_USER, MOUNTS_MAP, MOUNTS_NAMESPACE, MOUNTS_IPC, MOUNTS_PROPAGATION, MOUNTS_READ_ONLY, MOUNTS_BIND,
    MOUNTS_COVER, MOUNTS_PROCESSES, MOUNTS_PROC, MOUNTS_PIPE
} MountsStep;
/* Tests whether mounts_enter() would work in this new mount namespace. Returns the step that failed, with errno. For
 * the probe: makes system calls only. */
MountsStep mounts_try(bool user_namespace);
bool mounts_try_proc(void);
