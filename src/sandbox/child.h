/* From fork to exec. Everything is prepared before the fork; the child makes system calls from the plan in a fixed
 * order, and does not allocate, lock or call a library (a check reads the object file's symbols). */
#pragma once
#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

enum { CHILD_LIMITS_MAX = 12 };

typedef struct ChildPlan {
    int stream[3];
    int report;                         /* a socket: receives a ChildFailure, or the filter's listener */
    const char *cwd;
    const char *const *programs;        /* paths to try in order */
    char *const *argv, *const *env;
    struct { int what; struct rlimit to; } limit[CHILD_LIMITS_MAX];
    size_t n_limits;
    pid_t parent;                       /* as the child sees it */
    bool confine;                       /* no_new_privs, capabilities */
    bool may_drop;                      /* the bounding set can be changed */
    uint64_t keep;                      /* capabilities to keep */
    int ruleset;                        /* -1: none */
    uint32_t ruleset_flags;
    const struct sock_fprog *filter;    /* NULL: none */
    bool listener;
} ChildPlan;

typedef enum { CHILD_OK, CHILD_SESSION, CHILD_STREAMS, CHILD_CWD, CHILD_LIMIT, CHILD_CAPABILITIES, CHILD_PRIVILEGES, CHILD_LANDLOCK,
               CHILD_SECCOMP, CHILD_REPORT, CHILD_EXEC } ChildStep;
typedef struct ChildFailure { uint32_t step; int32_t number; } ChildFailure;

_Noreturn void child_start(const ChildPlan *plan);
