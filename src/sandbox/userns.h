/* A user namespace, through which an ordinary user gets private mounts. It holds one user and one group, those of this process, mapped
 * to themselves. setgroups() is denied in it, and no further user namespace can be made in it. */
#pragma once
#include <stdbool.h>

/* The content of uid_map and gid_map. It is made before the namespace: inside it the numbers are unknown until the maps are written. */
typedef struct UsernsMaps { char uid[40], gid[40]; } UsernsMaps;

typedef enum {
    USERNS_NOT_NEEDED,                  /* CAP_SYS_ADMIN is there: mounts can be made without */
    USERNS_NEEDED,
    USERNS_LOSES,                       /* needed, but it would take away this process's rights to files of other users */
} UsernsNeed;

UsernsNeed userns_need(void);
void userns_prepare(UsernsMaps *out);
/* In the new namespace. False with errno. The process is dumpable only meanwhile: the kernel gives the maps of one that is not to root.
 * Makes system calls only. */
bool userns_map(const UsernsMaps *maps);
bool userns_drop(void);                 /* this process keeps no capability of the namespace */
