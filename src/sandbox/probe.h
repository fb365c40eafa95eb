/* What this kernel offers, asked once per process. */
#pragma once
#include <stdbool.h>
#include "base/str.h"

enum { PROBE_LANDLOCK_MIN = 2 };        /* what 2 lacks beside 3 (truncate) the system call filter refuses */

typedef struct Probe {
    int landlock_abi;                   /* 0: none */
    bool seccomp, seccomp_notify, openat2, pidfd, close_range, no_new_privs;
    bool mount_namespace;               /* this user can have private mounts, with a process namespace and its /proc */
    bool landlock_audit;
} Probe;

const Probe *probe_kernel(void);        /* any thread */
/* Starts the part that takes long, and must be tried before the program restrains itself: whether private mounts are
 * possible. Does not wait. */
void probe_begin(void);

/* One line per capability for `harness doctor`. */
typedef void ProbeEach(void *ctx, const char *check, bool ok, const char *detail);
void probe_describe(ProbeEach *each, void *ctx);

/* For tests: HARNESS_TEST_LANDLOCK_ABI=N in the environment makes the probe report at most ABI N. It can only lower
 * what is reported, so that setting it never weakens a strict sandbox: what a lower ABI lacks is closed otherwise or refused. */
