/* From fork to exec. Everything is prepared before the fork; what runs here are system calls on the plan, in a fixed order,
 * and nothing allocates, takes a lock or calls into a library (a check reads the object file's symbols). */
#pragma once
#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

enum { CHILD_LIMITS_MAX = 12 };

typedef struct ChildPlan {
    int stream[3];
    int report;                         /* a socket: a failure goes there as ChildFailure, then the listener of the filter */
    const char *cwd;
    const char *const *programs;        /* paths to try in turn */
    char *const *argv, *const *env;
    struct { int what; struct rlimit to; } limit[CHILD_LIMITS_MAX];
    size_t n_limits;
    pid_t parent;                       /* as the child sees it */
    bool confine;                       /* no_new_privs, capabilities */
    bool may_drop;                      /* the bounding set can be changed */
    uint64_t keep;                      /* capabilities that stay */
    int last_capability;
    int ruleset;                        /* -1: none */
    uint32_t ruleset_flags;
    const struct sock_fprog *filter;    /* NULL: none */
    bool listener;
} ChildPlan;

typedef enum { CHILD_OK, CHILD_SESSION, CHILD_STREAMS, CHILD_CWD, CHILD_LIMIT, CHILD_CAPABILITIES, CHILD_PRIVILEGES, CHILD_LANDLOCK,
               CHILD_SECCOMP, CHILD_REPORT, CHILD_EXEC } ChildStep;
typedef struct ChildFailure { uint32_t step; int32_t number; } ChildFailure;

_Noreturn void child_start(const ChildPlan *plan);
