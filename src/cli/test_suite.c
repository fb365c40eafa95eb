#include "cli/test_suite.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "sandbox/scratch.h"
#include "value/json.h"
#include "value/list.h"

enum { AT_ONCE_MAX = 4, REPORT_MAX = 16 << 20 };
#define TEST_NS_MAX ((int64_t)300 * 1000000000)

typedef struct Running { TestSuite *s; const TestPlace *place; int signals; sigset_t before; size_t next, running; } Running;

void test_suite_fail(TestSuite *s, TestRun *r, const char *check, Str expected, Str got) {
    VEC_PUSH(&r->failures, ((TrialFailure){ arena_str(&s->arena, str_from(check)), arena_str(&s->arena, expected), arena_str(&s->arena, got) }));
}

static void fail_fmt(TestSuite *s, TestRun *r, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void fail_fmt(TestSuite *s, TestRun *r, const char *fmt, ...) {
    Buf text = { 0 };
    va_list ap;
    va_start(ap, fmt);
    buf_add_vfmt(&text, fmt, ap);
    va_end(ap);
    test_suite_fail(s, r, "test", STR(""), buf_str(&text));
    buf_clear(&text);
}

/* ---- one ---- */

static void remove_folder(TestRun *r) {
    if (!r->folder[0]) return;
    int fd = open(r->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        scratch_empty(fd, clock_mono_ns() + (int64_t)30 * 1000000000);
        close(fd);
    }
    rmdir(r->folder);
    r->folder[0] = 0;
}

static bool start_child(Running *run, TestRun *r, int out, int in) {
    r->pid = fork();
    if (r->pid != 0) return r->pid > 0;
    close(in);
    close(run->signals);
    pthread_sigmask(SIG_SETMASK, &run->before, NULL);
    test_suite_child(run->place, r, out);
}

static void start(Running *run, TestRun *r) {
    const char *tmp = getenv("TMPDIR");
    int ends[2] = { -1, -1 };
    r->start_ns = clock_mono_ns();
    snprintf(r->folder, sizeof r->folder, "%s/harness-trial-XXXXXX", tmp && tmp[0] == '/' && strlen(tmp) < 200 ? tmp : "/tmp");
    if (!mkdtemp(r->folder)) {
        fail_fmt(run->s, r, "create a temporary folder %s: %s", r->folder, strerror(errno));
        r->folder[0] = 0;
        return;
    }
    if (pipe2(ends, O_CLOEXEC) != 0 || !start_child(run, r, ends[1], ends[0])) {
        fail_fmt(run->s, r, "start a process: %s", strerror(errno));
        if (ends[0] >= 0) close(ends[0]);
        r->pid = 0;
        remove_folder(r);
    } else {
        r->pipe = ends[0];
        run->running++;
    }
    if (ends[1] >= 0) close(ends[1]);
}

static bool take_report(TestSuite *s, TestRun *r) {
    Heap *h = heap_new(0);
    Value list;
    Error ignored;
    bool ok = json_read(h, buf_str(&r->report), NULL, &list, &ignored) && value_is_list(list);
    for (uint32_t i = 0; ok && i < value_list(list)->n; i++) {
        Value item = value_list(list)->at[i];
        Str text[3] = { { 0 } };
        static const char *const keys[] = { "check", "expected", "got" };
        for (int k = 0; k < 3; k++) {
            Value *v = value_is_dict(item) ? dict_find_str(value_dict(item), str_from(keys[k])) : NULL;
            if (v && value_is_string(*v)) text[k] = value_str(*v);
        }
        VEC_PUSH(&r->failures, ((TrialFailure){ arena_str(&s->arena, text[0]), arena_str(&s->arena, text[1]), arena_str(&s->arena, text[2]) }));
    }
    heap_free(h);
    return ok;
}

static void finish(Running *run, TestRun *r, const char *why) {
    int status = 0;
    if (why) kill(r->pid, SIGKILL);
    while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR) continue;
    close(r->pipe);
    r->pid = 0;
    r->elapsed_ns = clock_mono_ns() - r->start_ns;
    run->running--;
    if (why) fail_fmt(run->s, r, "%s", why);
    else if (WIFSIGNALED(status)) fail_fmt(run->s, r, "the process of the test died of signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (!take_report(run->s, r)) fail_fmt(run->s, r, "the process of the test ended with status %d without output", WEXITSTATUS(status));
    else if (WEXITSTATUS(status) != 0) fail_fmt(run->s, r, "the process of the test ended with status %d", WEXITSTATUS(status));
    buf_clear(&r->report);
    remove_folder(r);
}

static void read_some(Running *run, TestRun *r) {
    char *room = buf_room(&r->report, 1 << 14);
    ssize_t n = room ? read(r->pipe, room, 1 << 14) : 0;
    if (n < 0 && errno == EINTR) return;
    if (n > 0) buf_commit(&r->report, (size_t)n);
    if (r->report.n > REPORT_MAX) finish(run, r, "its report is too long");
    else if (n <= 0) finish(run, r, NULL);
}

/* ---- all ---- */

static bool wait_for_some(Running *run) {
    TestSuite *s = run->s;
    struct pollfd fds[AT_ONCE_MAX + 1];
    TestRun *of[AT_ONCE_MAX + 1];
    nfds_t n = 1;
    fds[0] = (struct pollfd){ run->signals, POLLIN, 0 };
    for (size_t i = 0; i < s->n; i++)
        if (s->runs[i].pid > 0) of[n] = &s->runs[i], fds[n++] = (struct pollfd){ s->runs[i].pipe, POLLIN, 0 };
    poll(fds, n, 1000);
    if (fds[0].revents) return false;
    for (nfds_t i = 1; i < n; i++) {
        if (fds[i].revents) read_some(run, of[i]);
        else if (clock_mono_ns() - of[i]->start_ns > TEST_NS_MAX) finish(run, of[i], "it took more than 300 seconds and was ended");
    }
    return true;
}

static size_t at_once(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 2 ? 2 : cores > AT_ONCE_MAX ? AT_ONCE_MAX : (size_t)cores;
}

static void catch_signals(Running *run) {
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGALRM };
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction now;
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(&set, signals[i]);
    }
    pthread_sigmask(SIG_BLOCK, &set, &run->before);
    run->signals = signalfd(-1, &set, SFD_CLOEXEC);
}

bool test_suite_run(TestSuite *s, const TestPlace *place) {
    Running run = { .s = s, .place = place };
    size_t most = at_once();
    int64_t start_ns = clock_mono_ns();
    bool going = true;
    catch_signals(&run);
    while (going && (run.next < s->n || run.running)) {
        while (run.next < s->n && run.running < most) {
            TestRun *r = &s->runs[run.next++];
            if (r->failures.n == 0) start(&run, r);          /* otherwise the test file itself is reported as wrong */
        }
        if (run.running) going = wait_for_some(&run);
    }
    for (size_t i = 0; !going && i < s->n; i++)
        if (s->runs[i].pid > 0) finish(&run, &s->runs[i], "interrupted");
    for (size_t i = 0; i < s->n; i++) s->passed += s->runs[i].passed = s->runs[i].failures.n == 0;
    s->elapsed_ns = clock_mono_ns() - start_ns;
    if (run.signals >= 0) close(run.signals);
    pthread_sigmask(SIG_SETMASK, &run.before, NULL);
    return going;
}
