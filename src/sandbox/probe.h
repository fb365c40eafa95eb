/* Features of this kernel, probed once per process. */
#pragma once
#include <stdbool.h>
#include "base/str.h"

enum { PROBE_LANDLOCK_MIN = 2 };        /* minimum; the filter refuses truncation, which ABI 2 cannot restrict and ABI 3 can */

typedef struct Probe {
    int landlock_abi;                   /* 0: none */
    bool seccomp, seccomp_notify, openat2, pidfd, close_range, no_new_privs;
    bool mount_namespace;               /* this user can have private mounts, with private IPC objects */
    bool user_namespace;                /* through a user namespace */
    bool process_namespace;             /* with private mounts: also a process namespace and its /proc */
    bool landlock_audit;
} Probe;

const Probe *probe_kernel(void);        /* thread-safe */
/* Starts the slow part, which must run before the program restricts itself: whether private mounts are possible. Does
 * not wait. */
void probe_begin(void);

/* Why there are no private mounts: the failed step, the reason, and the consequence. Static text, "" if there are. */
const char *probe_mounts_problem(void);

/* One line per capability for `harness doctor`. */
typedef void ProbeEach(void *ctx, const char *check, bool ok, const char *detail);
void probe_describe(ProbeEach *each, void *ctx);

/* For tests: HARNESS_TEST_LANDLOCK_ABI=N in the environment makes the probe report at most ABI N. It can only lower the
 * reported version, so it never weakens a strict sandbox: what a lower ABI lacks is restricted otherwise, or the call
 * is refused. */
