/* Starts `true` in the full sandbox, with plain posix_spawn and with bwrap in the closest configuration (own view of
 * the file system, processes and network). Alternates between them, so that load affects all; takes the best of many
 * runs. Then measures how many sandboxed starts per second one thread achieves, compared with the target. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "report.h"
#include "sandbox/sandbox.h"

enum { ROUNDS = 200, TARGET_PER_SECOND = 200 };

static double spawn_ms(const char *const *argv) {
    extern char **environ;
    pid_t pid;
    int status = 1;
    int64_t start = clock_mono_ns();
    if (posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ) != 0) return -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    return status == 0 ? (double)(clock_mono_ns() - start) / 1e6 : -1;
}

static double sandbox_ms(Sandbox *s, const char *workspace) {
    SandboxRules rules = { .workspace = workspace };
    SandboxCommand command = { .argv = (const char *const[]){ "true", NULL } };
    SandboxResult result = { 0 };
    Error err = { 0 };
    int64_t start = clock_mono_ns();
    if (!sandbox_run(s, &rules, &command, NULL, &result, &err)) {
        fprintf(stderr, "bench_sandbox: %s\n", err.msg);
        exit(1);
    }
    double ms = (double)(clock_mono_ns() - start) / 1e6;
    sandbox_result_clear(&result);
    return ms;
}

static double least(const double *v, size_t n) {
    double best = v[0];
    for (size_t i = 1; i < n; i++)
        if (v[i] < best) best = v[i];
    return best;
}

int main(void) {
    const char *plain[] = { "true", NULL };
    const char *bwrap[] = { "bwrap", "--ro-bind", "/", "/", "--bind", "/tmp", "/tmp", "--proc", "/proc", "--dev", "/dev",
                            "--unshare-pid", "--unshare-net", "--unshare-ipc", "--new-session", "--die-with-parent", "true", NULL };
    double ours[ROUNDS], spawn[ROUNDS], peer[ROUNDS];
    char workspace[] = "/tmp/harness-bench-XXXXXX";
    Sandbox *s;
    Error err = { 0 };
    if (!mkdtemp(workspace) || !sandbox_start(&s, &err)) return fprintf(stderr, "bench_sandbox: %s\n", err.msg), 1;
    sandbox_ms(s, workspace);                            /* warm-up: the filter is built once */
    bool has_peer = spawn_ms(bwrap) >= 0;
    for (int i = 0; i < ROUNDS; i++) {
        ours[i] = sandbox_ms(s, workspace);
        spawn[i] = spawn_ms(plain);
        peer[i] = has_peer ? spawn_ms(bwrap) : 0;
    }
    double a = least(ours, ROUNDS), b = least(spawn, ROUNDS), c = least(peer, ROUNDS);
    report_line("sandbox_true_vs_posix_spawn", a, b, "ms");
    report_line("sandbox_true_overhead", a - b > 0.01 ? a - b : 0.01, 1.5, "ms");
    report_line("sandbox_true_vs_bwrap", a, c, "ms");
    int64_t start = clock_mono_ns();
    for (int i = 0; i < ROUNDS; i++) sandbox_ms(s, workspace);
    double rate = ROUNDS / ((double)(clock_mono_ns() - start) / 1e9);
    report_line("sandbox_starts", rate, TARGET_PER_SECOND, "/s");
    sandbox_stop(s);
    rmdir(workspace);
    return 0;
}
