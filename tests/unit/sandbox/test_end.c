/* The end of a call: timeouts, cancelling, processes left behind, and killing each process involved. */
#include "sandboxed.h"
#include <dirent.h>
#include <pthread.h>
#include <sys/file.h>
#include "base/cancel.h"
#include "sandbox/call.h"

enum { WHY_MAX = 512 };
static World world;

static int open_world(void **state) { (void)state; world_open(&world); return 0; }
static int close_world(void **state) { (void)state; world_close(&world); return 0; }

/* A word that is on no other process's command line, so that survivors can be found. */
static void make_mark(char mark[40]) {
    static int serial;
    snprintf(mark, 40, "31%d%d", (int)getpid(), ++serial);
}

static size_t alive(const char *mark) {
    size_t n = 0;
    DIR *dir = opendir("/proc");
    for (struct dirent *e; (e = readdir(dir));) {
        char path[300], text[4096];
        if (e->d_name[0] < '1' || e->d_name[0] > '9') continue;
        snprintf(path, sizeof path, "/proc/%s/cmdline", e->d_name);
        int fd = open(path, O_RDONLY);
        ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text);
        if (fd >= 0) close(fd);
        if (got > 0 && memmem(text, (size_t)got, mark, strlen(mark))) n++;
    }
    closedir(dir);
    return n;
}

static bool wait_alive(const char *mark, bool wanted, int ms) {
    for (; ms > 0; ms -= 10) {
        if ((alive(mark) > 0) == wanted) return true;
        usleep(10000);
    }
    return false;
}

#define IGNORES_ALL "python3 -c 'import os,signal,time\nfor s in range(1,32):\n  if s not in (9,17,19): signal.signal(s, signal.SIG_IGN)\n" \
    "for i in range(3):\n  if os.fork() == 0: os.setsid()\ntime.sleep(1000)' %s"

/* Processes that try to outlive the call in every way; %s is the mark. */
static const char *const stayers[] = {
    "sleep %s", "sleep %s & wait", "setsid sleep %s & wait", "(setsid sh -c 'sleep %s' &) ; sleep 99",
    "trap '' TERM INT HUP; sleep %s; sleep 1; sleep 99%s",
    IGNORES_ALL,
};
enum { STAYERS = sizeof stayers / sizeof *stayers };

/* Puts the mark in place of each %s. */
static void fill(char *out, size_t size, const char *script, const char *mark) {
    Buf text = { 0 };
    for (const char *c = script; *c; c++) {
        if (c[0] == '%' && c[1] == 's') buf_add(&text, str_from(mark)), c++;
        else buf_add_char(&text, *c);
    }
    snprintf(out, size, "%s", text.at);
    buf_clear(&text);
}

static bool start_and_wait(const char *script, int64_t timeout_ms, Cancel *cancel, SandboxResult *r, Error *err) {
    SandboxCommand c = { .argv = (const char *const[]){ "sh", "-c", script, NULL }, .timeout_ms = timeout_ms };
    return sandbox_run(world.sandbox, &world.rules, &c, cancel, r, err);
}

static void test_timeout(void **state) {
    (void)state;
    for (size_t i = 0; i < STAYERS; i++) {
        char mark[40], script[600];
        make_mark(mark);
        fill(script, sizeof script, stayers[i], mark);
        SandboxResult r = { 0 };
        Error err = { 0 };
        int64_t start = clock_mono_ns();
        if (!start_and_wait(script, 300, NULL, &r, &err)) fail_msg("%s: %s", script, err.msg);
        assert_true(r.timed_out);
        assert_true(r.signal == SIGTERM || r.signal == SIGKILL || r.exit_code > 0);
        if (alive(mark)) fail_msg("%s: alive after its timeout", script);
        assert_in_range((clock_mono_ns() - start) / 1000000, 290, 10000);
        sandbox_result_clear(&r);
    }
}

static void test_token_deadline(void **state) {
    (void)state;
    Cancel *cancel = cancel_new(NULL, 200000000);
    SandboxResult r = { 0 };
    Error err = { 0 };
    if (!start_and_wait("sleep 50", 0, cancel, &r, &err)) fail_msg("%s", err.msg);
    assert_true(r.timed_out);
    sandbox_result_clear(&r);
    cancel_free(cancel);
}

static void *fire_soon(void *cancel) { usleep(200000); cancel_fire(cancel); return NULL; }

static void test_cancel(void **state) {
    (void)state;
    for (size_t i = 0; i < STAYERS; i++) {
        char mark[40], script[600];
        make_mark(mark);
        fill(script, sizeof script, stayers[i], mark);
        SandboxResult r = { 0 };
        Error err = { 0 };
        Cancel *cancel = cancel_new(NULL, 0);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, fire_soon, cancel), 0);
        assert_false(start_and_wait(script, 0, cancel, &r, &err));
        assert_int_equal(err.kind, ERR_CANCELLED);
        if (alive(mark)) fail_msg("%s: alive after it was cancelled", script);
        pthread_join(thread, NULL);
        assert_false(start_and_wait(script, 0, cancel, &r, &err));       /* already fired: nothing is started */
        cancel_free(cancel);
    }
}

static void test_left_behind(void **state) {
    (void)state;
    static const char *const scripts[] = { "sleep %s & exit 5", "(setsid sleep %s &); exit 5", "nohup setsid sleep %s >/dev/null 2>&1 & exit 5" };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        char mark[40], script[200];
        make_mark(mark);
        fill(script, sizeof script, scripts[i], mark);
        SandboxResult r;
        world_sh(&world, script, &r);
        assert_int_equal(r.exit_code, 5);
        assert_false(r.timed_out);
        if (alive(mark)) fail_msg("%s: left something alive", script);
        sandbox_result_clear(&r);
    }
}

#define SESSIONS "python3 -c 'import os,signal\nsignal.signal(15, signal.SIG_IGN)\nwhile True:\n  try:\n    if os.fork() == 0: os.setsid()\n" \
    "  except OSError: pass' %s"

static void test_bombs(void **state) {
    (void)state;
    static const char *const scripts[] = {
        "bash -c ':(){ :|:& };:; wait; sleep 5 # %s'",
        "python3 -c 'import os\nwhile True:\n  try: os.fork()\n  except OSError: pass' %s",
        SESSIONS,
    };
    int turn = open("/tmp/harness-test-bombs", O_RDWR | O_CREAT | O_CLOEXEC, 0666);       /* only one fork bomb at a time on a machine */
    if (turn >= 0) (void)flock(turn, LOCK_EX);
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        char mark[40], script[400];
        make_mark(mark);
        fill(script, sizeof script, scripts[i], mark);
        SandboxResult r;
        world_sh(&world, script, &r);
        if (!r.process_limit && i > 0) fail_msg("%s: not noticed (exit %d%s)", script, r.exit_code,
            r.timed_out ? ", timed out" : r.memory_limit ? ", memory" : "");
        if (alive(mark)) fail_msg("%s: alive", script);
        sandbox_result_clear(&r);
    }
    if (turn >= 0) close(turn);
    SandboxResult r;
    world.rules.processes = 3;
    world_sh(&world, "sleep 5 & sleep 5 & sleep 5 & sleep 5 & wait", &r);
    assert_true(r.process_limit);
    sandbox_result_clear(&r);
    world_sh(&world, "sleep 0.1 & sleep 0.1 & wait", &r);
    assert_false(r.process_limit);
    sandbox_result_clear(&r);
    world.rules.processes = 0;
}

/* ---- kills ------------------------------------------------------------------------------------------------------ */

static pid_t parent_of(pid_t pid) {
    char path[40], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    int parent = 0;
    const char *at = strrchr(text, ')');
    return at && sscanf(at + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

/* Children of `pid` by name of their program; 0: none. */
static pid_t child_named(pid_t pid, const char *name) {
    pid_t found = 0;
    DIR *dir = opendir("/proc");
    for (struct dirent *e; (e = readdir(dir));) {
        char path[300], comm[64] = "";
        pid_t p = (pid_t)atol(e->d_name);
        if (p <= 0 || parent_of(p) != pid) continue;
        snprintf(path, sizeof path, "/proc/%d/comm", (int)p);
        FILE *f = fopen(path, "r");
        if (f && fgets(comm, sizeof comm, f) && strncmp(comm, name, strlen(name)) == 0) found = p;
        if (f) fclose(f);
    }
    closedir(dir);
    return found;
}

/* A process like harness: a launcher and one long call. */
static pid_t start_harness(const char *script) {
    pid_t pid = fork();
    if (pid != 0) return pid;
    Sandbox *own;
    SandboxResult r = { 0 };
    Error err = { 0 };
    SandboxCommand c = { .argv = (const char *const[]){ "sh", "-c", script, NULL } };
    bool ok = sandbox_start(&own, &err) && sandbox_run(own, &world.rules, &c, NULL, &r, &err);
    sandbox_result_clear(&r);
    sandbox_stop(own);
    _exit(ok ? 0 : err.kind == ERR_SANDBOX ? 44 : 1);
}

typedef enum { KILL_HARNESS, KILL_LAUNCHER, KILL_SUPERVISOR, KILL_LAUNCHER_AND_HARNESS } Victim;

static void kill_one(Victim victim, const char *stayer) {
    char mark[40], script[600];
    make_mark(mark);
    fill(script, sizeof script, stayer, mark);
    pid_t harness = start_harness(script);
    if (!wait_alive(mark, true, 10000)) fail_msg("%s: did not start", script);
    usleep(100000);
    pid_t launcher = child_named(harness, "harness-launch"), supervisor = child_named(launcher, "harness-super");
    assert_true(launcher > 0 && supervisor > 0);
    if (victim == KILL_SUPERVISOR) kill(supervisor, SIGKILL);
    if (victim == KILL_LAUNCHER || victim == KILL_LAUNCHER_AND_HARNESS) kill(launcher, SIGKILL);
    if (victim == KILL_HARNESS || victim == KILL_LAUNCHER_AND_HARNESS || victim == KILL_LAUNCHER) kill(harness, SIGKILL);
    if (!wait_alive(mark, false, 8000)) fail_msg("%s: alive after a death (%d)", script, victim);
    int status;
    waitpid(harness, &status, 0);
    if (victim == KILL_SUPERVISOR) assert_int_equal(WEXITSTATUS(status), 44);
    for (int i = 0; i < 500 && (kill(launcher, 0) == 0 || kill(supervisor, 0) == 0); i++) usleep(10000);
    assert_int_equal(kill(supervisor, 0), -1);
}

static void test_deaths(void **state) {
    (void)state;
    static const size_t which[] = { 3, 5 };
    for (Victim victim = KILL_HARNESS; victim <= KILL_LAUNCHER_AND_HARNESS; victim++)
        for (size_t i = 0; i < sizeof which / sizeof *which; i++) kill_one(victim, stayers[which[i]]);
}

/* The end of the launcher is an error for the next call, not a hang. */
static void test_launcher_gone(void **state) {
    (void)state;
    World w;
    world_open(&w);
    SandboxResult r;
    world_sh(&w, "true", &r);
    sandbox_result_clear(&r);
    kill(w.sandbox->launcher, SIGKILL);
    usleep(50000);
    Error err = { 0 };
    SandboxCommand c = { .argv = (const char *const[]){ "true", NULL } };
    r = (SandboxResult){ 0 };
    assert_false(sandbox_run(w.sandbox, &w.rules, &c, NULL, &r, &err));
    assert_int_equal(err.kind, ERR_SANDBOX);
    world_close(&w);
}

static void test_stop_ends_calls(void **state) {
    (void)state;
    World w;
    world_open(&w);
    char mark[40];
    make_mark(mark);
    SandboxCommand c = { .argv = (const char *const[]){ "sleep", mark, NULL }, .err_fd = 2 };
    SandboxProcess *p;
    Error err = { 0 };
    if (!sandbox_spawn(w.sandbox, &w.rules, &c, &p, &err)) fail_msg("%s", err.msg);
    assert_true(alive(mark) > 0);
    world_close(&w);
    assert_int_equal(alive(mark), 0);
    sandbox_process_end(p, 100);
}

/* ---- long-lived programs ---------------------------------------------------------------------------------------- */

static void test_spawn(void **state) {
    (void)state;
    SandboxCommand c = { .argv = (const char *const[]){ "sh", "-c", "while read x; do echo \"got $x\"; done; exit 9", NULL }, .err_fd = 2 };
    SandboxProcess *p;
    Error err = { 0 };
    int code;
    char line[32];
    if (!sandbox_spawn(world.sandbox, &world.rules, &c, &p, &err)) fail_msg("%s", err.msg);
    assert_int_equal(write(sandbox_process_stdin(p), "one\n", 4), 4);
    assert_int_equal(read(sandbox_process_stdout(p), line, sizeof line), 8);
    assert_memory_equal(line, "got one\n", 8);
    Cancel *soon = cancel_new(NULL, 50000000);
    assert_false(sandbox_process_wait(p, soon, &code, &err));
    assert_int_equal(err.kind, ERR_TIMEOUT);
    cancel_free(soon);
    sandbox_process_close_stdin(p);
    assert_true(sandbox_process_wait(p, NULL, &code, &err));
    assert_int_equal(code, 9);
    assert_true(sandbox_process_wait(p, NULL, &code, &err));
    sandbox_process_end(p, 0);
    SandboxCommand bad = { .argv = (const char *const[]){ "no-such-program", NULL }, .err_fd = 2 };
    assert_false(sandbox_spawn(world.sandbox, &world.rules, &bad, &p, &err));
    assert_string_equal(err.msg, "no-such-program: program not found in /usr/local/bin:/usr/bin:/bin");
}

static void test_spawn_end(void **state) {
    (void)state;
    for (size_t i = 0; i < STAYERS; i++) {
        char mark[40], script[600];
        make_mark(mark);
        fill(script, sizeof script, stayers[i], mark);
        SandboxCommand c = { .argv = (const char *const[]){ "sh", "-c", script, NULL }, .err_fd = 2 };
        SandboxProcess *p;
        Error err = { 0 };
        if (!sandbox_spawn(world.sandbox, &world.rules, &c, &p, &err)) fail_msg("%s", err.msg);
        usleep(50000);
        sandbox_process_end(p, i % 2 ? 200 : 0);
        if (alive(mark)) fail_msg("%s: alive", script);
    }
}

/* Reports errors in `why`: another thread cannot fail the test. */
static void *many_calls(void *why) {
    for (int i = 0; i < 15; i++) {
        SandboxResult r = { 0 };
        Error err = { 0 };
        SandboxCommand c = { .argv = (const char *const[]){ "sh", "-c", "echo $$ | cat", NULL }, .timeout_ms = 20000 };
        if (!sandbox_run(world.sandbox, &world.rules, &c, NULL, &r, &err)) snprintf(why, WHY_MAX, "call %d: %.200s", i, err.msg);
        else if (r.exit_code != 0 || r.out.n < 2)
            snprintf(why, WHY_MAX, "call %d: status %d, signal %d,%s%s output \"%.60s\", errors \"%.200s\", denied \"%.100s\"", i, r.exit_code, r.signal,
                     r.timed_out ? " timed out," : "", r.process_limit ? " too many processes," : "", buf_str(&r.out).at,
                         buf_str(&r.err).at, buf_str(&r.denied).at);
        sandbox_result_clear(&r);
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    pthread_t threads[6];
    char why[6][WHY_MAX] = { { 0 } };
    for (int i = 0; i < 6; i++) assert_int_equal(pthread_create(&threads[i], NULL, many_calls, why[i]), 0);
    for (int i = 0; i < 6; i++) pthread_join(threads[i], NULL);              /* all of them: what they use is closed next */
    for (int i = 0; i < 6; i++) assert_string_equal(why[i], "");
}

static int all_tests(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timeout), cmocka_unit_test(test_token_deadline), cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_left_behind), cmocka_unit_test(test_bombs), cmocka_unit_test(test_deaths),
        cmocka_unit_test(test_launcher_gone), cmocka_unit_test(test_stop_ends_calls), cmocka_unit_test(test_spawn),
        cmocka_unit_test(test_spawn_end), cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, open_world, close_world);
}

int main(void) { return run_as_each(all_tests); }
