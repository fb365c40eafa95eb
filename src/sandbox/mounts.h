/* One more layer where the kernel gives it, to root or through a user namespace: a private view of the file system in which everything is
 * read-only but the places that may be written, and, where that can be had too, a /proc that shows the call's own processes alone. It
 * also closes what Landlock leaves open: the mode, owner, times and attributes of files outside. */
#pragma once
#include "base/arena.h"
#include "base/error.h"

typedef struct MountsPlan {
    const char *const *write;           /* paths that stay as they are, with all mounted below them; ones that do not exist are left out */
    const char *const *protect;         /* paths that become read-only whatever is around them: see shield.h */
    bool user_namespace;                /* this process got its rights by a user namespace */
    bool own_processes;                 /* it is alone in a new process namespace too, and gets a /proc of its own */
} MountsPlan;

/* For a process that is alone in a new mount namespace. */
bool mounts_enter(const MountsPlan *plan, Arena *arena, Error *err);

/* The steps that a probe takes, in this order. */
typedef enum {
    MOUNTS_DONE, MOUNTS_RIGHTS, MOUNTS_USER, MOUNTS_MAP, MOUNTS_NAMESPACE, MOUNTS_IPC, MOUNTS_PROPAGATION, MOUNTS_READ_ONLY, MOUNTS_BIND,
    MOUNTS_COVER, MOUNTS_PROCESSES, MOUNTS_PROC, MOUNTS_PIPE
} MountsStep;
/* Could mounts_enter() do its work in this new mount namespace? The step that failed, with errno. For the probe: only system calls. */
MountsStep mounts_try(bool user_namespace);
bool mounts_try_proc(void);
