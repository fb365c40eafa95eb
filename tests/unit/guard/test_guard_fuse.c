/* Whatever happens to the process, it answers with a refusal; and exactly once. Every case runs in a child. */
#include "unit.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "guard/guard.h"

typedef struct Outcome { char out[8192], err[8192]; int status, signal; } Outcome;

static void read_all(int fd, char *to, size_t size) {
    size_t n = 0;
    ssize_t got;
    while (n + 1 < size && (got = read(fd, to + n, size - n - 1)) > 0) n += (size_t)got;
    to[n] = 0;
    close(fd);
}

static void in_child(void (*what)(void), Outcome *o) {
    int out[2], err[2], status;
    assert_int_equal(pipe(out) | pipe(err), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit none = { 0 };
        setrlimit(RLIMIT_CORE, &none);
        dup2(out[1], 1);
        dup2(err[1], 2);
        close(out[0]), close(err[0]);
        what();
        _exit(99);
    }
    close(out[1]), close(err[1]);
    read_all(out[0], o->out, sizeof o->out);
    read_all(err[0], o->err, sizeof o->err);
    waitpid(pid, &status, 0);
    o->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    o->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static const char refusal[] = "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"harness guard %s\"}}\n";

static void expect(void (*what)(void), const char *how) {
    char want[512];
    Outcome o = { 0 };
    snprintf(want, sizeof want, refusal, how);
    in_child(what, &o);
    assert_string_equal(o.out, want);
    assert_int_equal(o.status, 2);
    assert_true(strstr(o.err, how) != NULL);
}

static void hang(void) { guard_fuse_arm(VENDOR_CLAUDE, 100); for (;;) pause(); }
static void spin(void) { guard_fuse_arm(VENDOR_CLAUDE, 100); for (volatile int i = 0;; i++) {} }
static void aborts(void) { guard_fuse_arm(VENDOR_CLAUDE, 20000); abort(); }
static void terminated(void) { guard_fuse_arm(VENDOR_CLAUDE, 20000); raise(SIGTERM); }
static void bus(void) { guard_fuse_arm(VENDOR_CLAUDE, 20000); raise(SIGBUS); }

static void blocked_signals(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    hang();
}

#if defined __has_feature
#if __has_feature(thread_sanitizer)
#define DELAYS_SIGNALS                   /* until the next call of a libc function; and a stack that overflows in its own code ends the process */
#endif
#endif

static void test_refuses(void **state) {
    (void)state;
    expect(hang, "did not decide in time");
#ifdef DELAYS_SIGNALS
    (void)spin;
#else
    expect(spin, "did not decide in time");
#endif
    expect(blocked_signals, "did not decide in time");
    expect(aborts, "ended unexpectedly");
    expect(terminated, "ended unexpectedly");
    expect(bus, "ended unexpectedly");
}

#ifndef __SANITIZE_ADDRESS__
/* volatile: the compiler must not know that nothing is mapped there. */
static volatile int *volatile unmapped = (volatile int *)(uintptr_t)8;
static void null_write(void) { guard_fuse_arm(VENDOR_CLAUDE, 20000); *unmapped = 1; }

static volatile int depth;
static int overflow(int n) { volatile char room[4096]; room[0] = (char)n; depth = n; return n < 0 ? 0 : overflow(n + 1) + room[0]; }
static void deep(void) { guard_fuse_arm(VENDOR_CLAUDE, 20000); overflow(0); }

static void test_crashes(void **state) {
    (void)state;
    expect(null_write, "ended unexpectedly");
#ifdef DELAYS_SIGNALS
    (void)deep;
#else
    expect(deep, "ended unexpectedly");
#endif
}
#endif

static GuardAnswer answer_of(const char *out, int status) {
    GuardAnswer a = { .status = status };
    buf_add(&a.out, str_from(out));
    return a;
}

/* After the answer was written, a crash keeps its exit status and adds nothing. */
static void late_crash(void) {
    GuardAnswer a = answer_of("{}\n", 0);
    guard_fuse_arm(VENDOR_CLAUDE, 20000);
    guard_fuse_write(&a);
    abort();
}

static void late_deadline(void) {
    GuardAnswer a = answer_of("", 2);
    guard_fuse_arm(VENDOR_CLAUDE, 100);
    guard_fuse_write(&a);
    for (;;) pause();
}

static void test_written(void **state) {
    (void)state;
    Outcome o = { 0 };
    in_child(late_crash, &o);
    assert_string_equal(o.out, "{}\n");
    assert_int_equal(o.status, 0);
    in_child(late_deadline, &o);
    assert_string_equal(o.out, "");
    assert_int_equal(o.status, 2);
}

/* A full pipe whose reader does not read: the deadline ends the write. */
static void stuck(void) {
    static char big[1 << 20];
    int p[2];
    memset(big, ' ', sizeof big - 1);
    GuardAnswer a = { 0 };
    buf_add(&a.out, (Str){ big, sizeof big });
    assert_int_equal(pipe(p), 0);
    dup2(p[1], 1);
    guard_fuse_arm(VENDOR_CLAUDE, 100);
    guard_fuse_write(&a);
}

static void test_stuck(void **state) {
    (void)state;
    Outcome o = { 0 };
    in_child(stuck, &o);
    assert_int_equal(o.status, 2);
}

/* A child of fork must not answer for us. */
static void forks(void) {
    guard_fuse_arm(VENDOR_CLAUDE, 20000);
    pid_t pid = fork();
    if (pid == 0) abort();
    waitpid(pid, NULL, 0);
    GuardAnswer a = answer_of("{}\n", 0);
    guard_fuse_write(&a);
    _exit(guard_fuse_status());
}

static void test_fork(void **state) {
    (void)state;
    Outcome o = { 0 };
    in_child(forks, &o);
    assert_string_equal(o.out, "{}\n");
    assert_int_equal(o.status, 0);
}

/* The prepared refusal is spelled for the envelope. */
static void spelled(void) {
    GuardEnvelope e = { .vendor = VENDOR_CURSOR, .event = GUARD_EVENT_PROMPT, .event_name = STR("beforeSubmitPrompt") };
    guard_fuse_arm(VENDOR_CLAUDE, 20000);
    guard_fuse_prepare(&e);
    abort();
}

static void unknown(void) { guard_fuse_arm(VENDOR_HARNESS, 20000); abort(); }

static void test_spelling(void **state) {
    (void)state;
    Outcome o = { 0 };
    in_child(spelled, &o);
    assert_string_equal(o.out, "{\"continue\":false,\"user_message\":\"harness guard ended unexpectedly\"}\n");
    assert_int_equal(o.status, 0);
    in_child(unknown, &o);
    assert_string_equal(o.out, "");
    assert_int_equal(o.status, 2);
    assert_string_equal(o.err, "harness guard: harness guard ended unexpectedly\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses),
#ifndef __SANITIZE_ADDRESS__
        cmocka_unit_test(test_crashes),
#endif
        cmocka_unit_test(test_written), cmocka_unit_test(test_stuck), cmocka_unit_test(test_fork), cmocka_unit_test(test_spelling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
