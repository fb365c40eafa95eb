/* For tests of the sandbox: a workspace, a launcher, and running the same tests as this user and as an ordinary one. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "sandbox/sandbox.h"
#include "unit.h"

enum { NOBODY = 65534 };

typedef struct World { Sandbox *sandbox; char workspace[64], outside[64]; SandboxRules rules; } World;

static inline void world_open(World *w) {
    Error err = { 0 };
    *w = (World){ .workspace = "/tmp/harness-ws-XXXXXX", .outside = "/tmp/harness-out-XXXXXX" };
    assert_non_null(mkdtemp(w->workspace));
    assert_non_null(mkdtemp(w->outside));
    w->rules = (SandboxRules){ .workspace = w->workspace };
    if (!sandbox_start(&w->sandbox, &err)) fail_msg("%s", err.msg);
}

static inline void world_close(World *w) {
    char command[160];
    sandbox_stop(w->sandbox);
    snprintf(command, sizeof command, "rm -rf %s %s", w->workspace, w->outside);
    assert_int_equal(system(command), 0);
}

/* Runs `sh -c script` with $OUT set to a folder outside; shows the error when it could not be run. */
static inline void world_sh(World *w, const char *script, SandboxResult *out) {
    Error err = { 0 };
    char outside[80];
    snprintf(outside, sizeof outside, "OUT=%s", w->outside);
    SandboxCommand c = { .argv = (const char *const[]){ "sh", "-c", script, NULL }, .timeout_ms = 20000,
                         .env = (const char *const[]){ outside, NULL } };
    *out = (SandboxResult){ 0 };
    if (!sandbox_run(w->sandbox, &w->rules, &c, NULL, out, &err)) fail_msg("%s: %s", script, err.msg);
}

static inline void become_nobody(void) {
    if (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0) _exit(99);
}

/* Starts `tests` in a separate process, in which the kernel is probed again; abi: NULL or the highest to use. */
static inline pid_t start_apart(int (*tests)(void), bool as_nobody, const char *abi) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid != 0) return pid;
    if (as_nobody) become_nobody();
    if (abi) setenv("HARNESS_TEST_LANDLOCK_ABI", abi, 1);
    fprintf(stderr, "-- as %s%s%s\n", geteuid() ? "an ordinary user" : "root", abi ? ", Landlock ABI at most " : "", abi ? abi : "");
    exit(tests());
}

static inline int wait_apart(pid_t pid) {
    int status = 1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* As this user and, concurrently, as an ordinary one. */
static inline int run_as_each_with(int (*tests)(void), const char *abi) {
    pid_t one = start_apart(tests, false, abi), other = geteuid() == 0 ? start_apart(tests, true, abi) : 0;
    int failed = wait_apart(one);
    return other ? failed + wait_apart(other) : failed;
}
static inline int run_as_each(int (*tests)(void)) { return run_as_each_with(tests, NULL); }
