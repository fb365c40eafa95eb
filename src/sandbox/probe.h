/* What this kernel offers, asked once per process. */
#pragma once
#include <stdbool.h>
#include "base/str.h"

enum { PROBE_LANDLOCK_MIN = 2 };        /* what 2 lacks beside 3 (truncate) the system call filter refuses */

typedef struct Probe {
    int landlock_abi;                   /* 0: none */
    bool seccomp, seccomp_notify, openat2, pidfd, close_range, no_new_privs;
    bool mount_namespace;               /* this user can have private mounts, with objects of IPC of their own */
    bool user_namespace;                /* through a user namespace */
    bool process_namespace;             /* with private mounts: a process namespace and its /proc too */
    bool landlock_audit;
} Probe;

const Probe *probe_kernel(void);        /* any thread */
/* Starts the part that takes long, and must be tried before the program restrains itself: whether private mounts are
 * possible. Does not wait. */
void probe_begin(void);

/* Why there are no private mounts: the step that failed, why, and what that means. Static text, "" when there are. */
const char *probe_mounts_problem(void);

/* One line per capability for `harness doctor`. */
typedef void ProbeEach(void *ctx, const char *check, bool ok, const char *detail);
void probe_describe(ProbeEach *each, void *ctx);

/* For tests: HARNESS_TEST_LANDLOCK_ABI=N in the environment makes the probe report at most ABI N. It can only lower
 * what is reported, so that setting it never weakens a strict sandbox: what a lower ABI lacks is closed otherwise or refused. */
