/* A user namespace, through which an ordinary user gets private mounts. It maps one user and one group, those of this
 * process, to themselves. setgroups() is denied in it, and no further user namespace can be created in it. */
#pragma once
#include <stdbool.h>

/* The content of uid_map and gid_map. Computed before the namespace is created: inside it the ids are unknown until the
 * maps are written. */
typedef struct UsernsMaps { char uid[40], gid[40]; } UsernsMaps;

typedef enum {
    USERNS_NOT_NEEDED,                  /* has CAP_SYS_ADMIN: can mount without it */
    USERNS_NEEDED,
    USERNS_LOSES,                       /* needed, but it would remove this process's rights to other users' files */
} UsernsNeed;

UsernsNeed userns_need(void);
void userns_prepare(UsernsMaps *out);
/* In the new namespace. False with errno. The process is dumpable meanwhile: the kernel assigns the maps of a
 * non-dumpable one to root. Makes system calls only. */
bool userns_map(const UsernsMaps *maps);
bool userns_drop(void);                 /* drops all capabilities of the namespace */
