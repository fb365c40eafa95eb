#include "sandbox/supervisor.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "sandbox/ask.h"
#include "sandbox/filter.h"
#include "sandbox/memory.h"
#include "sandbox/prepare.h"
#include "sandbox/sandbox.h"
#include "sandbox/scratch.h"
#include "sandbox/tree.h"

enum { COUNT_EVERY_MS = 20, KILL_EVERY_MS = 2, CLEAN_MS = 200, GIVE_UP_MS = 10000, THREADS_EACH = 16 };
enum { WAIT_CHANNEL, WAIT_SIGNALS, WAIT_REPORT, WAIT_ASK, WAIT_CONNECTS };
#define MS 1000000ll

/* `empty`: no process is left. `kill_at`: when SIGKILL follows; INT64_MAX while nothing is being ended. */
typedef struct Supervisor {
    const SupervisorJob *job;
    Tree tree;
    int channel, signals, report;       /* -1 when closed */
    Ask ask;
    Memory memory;
    pid_t child;
    bool child_done, empty, told;
    int status;
    int64_t kill_at, count_at;
    bool timed_out, process_limit, memory_limit, ended_early;
    ChildFailure failure;
} Supervisor;

static void reply_with(Supervisor *s, Reply r, Str text, const int *fds, size_t n_fds) {
    char message[sizeof r + REPLY_TEXT_MAX];
    if (s->channel < 0 || s->told) return;
    s->told = r.kind != REPLY_STARTED;
    r.text = (uint32_t)(text.n < REPLY_TEXT_MAX ? text.n : REPLY_TEXT_MAX);
    memcpy(message, &r, sizeof r);
    if (r.text) memcpy(message + sizeof r, text.at, r.text);
    (void)request_send(s->channel, (Str){ message, sizeof r + r.text }, fds, n_fds);    /* harness has exited: no reply needed */
}

static void reply(Supervisor *s, Reply r, Str text) { reply_with(s, r, text, NULL, 0); }

/* With private mounts, sends harness the root of this file system, by which it checks whether the mounts still
 * exist. */
static void reply_started(Supervisor *s) {
    int view = s->job->isolated ? open("/", O_PATH | O_CLOEXEC) : -1;
    reply_with(s, (Reply){ .kind = REPLY_STARTED }, (Str){ 0 }, &view, view >= 0 ? 1 : 0);
    if (view >= 0) close(view);
}

static void reply_error(Supervisor *s, const Error *err) {
    reply(s, (Reply){ .kind = REPLY_FAILED, .error = (uint32_t)err->kind }, str_from(err->msg));
}

/* ---- ending ----------------------------------------------------------------------------------------------------- */

static void begin_end(Supervisor *s, int64_t grace_ms) {
    int64_t at = clock_mono_ns() + grace_ms * MS;
    if (s->kill_at == INT64_MAX && grace_ms > 0) {
        tree_signal(&s->tree, SIGTERM);
        tree_signal(&s->tree, SIGCONT);
    }
    if (at < s->kill_at) s->kill_at = at;
}

static void reap(Supervisor *s) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
        if (pid == s->child) s->child_done = true, s->status = status;
    s->empty = pid < 0 && errno == ECHILD;
}

/* The private folder is usually empty. A large one is emptied after the reply to harness. If it is a mount point here,
 * the launcher removes the empty folder. True: it is empty. */
static bool clean(Supervisor *s, int64_t until) {
    if (!s->job->isolated && unlinkat(s->job->base, s->job->scratch_name, AT_REMOVEDIR) == 0) return true;
    bool empty = scratch_empty(s->job->scratch, until);
    if (empty && !s->job->isolated) (void)unlinkat(s->job->base, s->job->scratch_name, AT_REMOVEDIR);
    return empty;
}

static void describe_failure(const Supervisor *s, Error *err) {
    static const char *const steps[] = {
        [CHILD_SESSION] = "create a session", [CHILD_STREAMS] = "set up its streams", [CHILD_LIMIT] = "set limits",
        [CHILD_CAPABILITIES] = "drop capabilities", [CHILD_PRIVILEGES] = "drop privileges", [CHILD_LANDLOCK] = "enter landlock",
        [CHILD_SECCOMP] = "enter seccomp", [CHILD_REPORT] = "report",
    };
    const Request *r = s->job->request;
    const char *program = r->list[REQUEST_ARGV][0], *why = strerror(s->failure.number);
    if (s->failure.step == CHILD_CWD) error_set(err, ERR_IO, "folder %s: %s", r->cwd, why);
    else if (s->failure.step == CHILD_EXEC && s->failure.number == ENOENT && !strchr(program, '/'))
        error_set(err, ERR_IO, "%s: program not found in %s", program, prepare_path(r));
    else if (s->failure.step == CHILD_EXEC) error_set(err, ERR_IO, "%s: %s", program, why);
    else error_set(err, ERR_SANDBOX, "cannot %s for %s: %s", steps[s->failure.step], program, why);
}

static void finish(Supervisor *s) {
    Error err = { 0 };
    bool empty = clean(s, clock_mono_ns() + CLEAN_MS * MS);
    if (s->failure.step) {
        describe_failure(s, &err);
        reply_error(s, &err);
    } else {
        reply(s, (Reply){ .kind = REPLY_ENDED, .status = s->status, .timed_out = s->timed_out, .process_limit = s->process_limit,
                          .memory_limit = s->memory_limit, .ended_early = s->ended_early }, ask_denied(&s->ask));
    }
    if (!empty) (void)clean(s, INT64_MAX);
}

/* ---- the loop --------------------------------------------------------------------------------------------------- */

static void on_channel(Supervisor *s) {
    RequestEnd end;
    ssize_t n = recv(s->channel, &end, sizeof end, MSG_DONTWAIT);
    if (n == sizeof end) {
        s->ended_early = true;
        begin_end(s, end.grace_ms);
    } else if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {         /* harness has exited */
        close(s->channel);
        s->channel = -1;
        begin_end(s, SUPERVISOR_GRACE_MS);
    }
}

static void on_signals(Supervisor *s) {
    struct signalfd_siginfo got[8];
    ssize_t n = read(s->signals, got, sizeof got);
    for (ssize_t i = 0; i < n / (ssize_t)sizeof *got; i++)
        if (got[i].ssi_signo != SIGCHLD) begin_end(s, got[i].ssi_signo == SIGQUIT ? 0 : SUPERVISOR_GRACE_MS);
    reap(s);
}

/* The child's report: a failure, the filter's listener, or end of file, which means that the program runs. */
static void on_report(Supervisor *s) {
    ChildFailure f = { 0 };
    int fds[REQUEST_FDS];
    size_t n_fds;
    ssize_t n = request_receive(s->report, &f, sizeof f, fds, &n_fds, false);
    if (n < 0 && errno == EAGAIN) return;
    if (n == sizeof f) {
        s->failure = f;
    } else if (n > 0 && n_fds == 1) {
        ask_listen(&s->ask, fds[0]);
        return;
    } else if (!s->failure.step && s->job->request->head.tell_start) {
        reply_started(s);
    }
    close(s->report);
    s->report = -1;
}

/* Threads count too, but less: both use the machine's pids. */
static bool too_many(const Supervisor *s) {
    size_t most = s->job->request->head.processes;
    return tree_count(&s->tree, most + 1) > most || tree_count_threads(&s->tree) > most * THREADS_EACH;
}

static void on_time(Supervisor *s, int64_t now) {
    if (!s->timed_out && now >= s->job->request->head.deadline_ns && !s->child_done) {
        s->timed_out = true;
        begin_end(s, SUPERVISOR_GRACE_MS);
    }
    if (now >= s->count_at && !s->process_limit) {
        s->count_at = now + COUNT_EVERY_MS * MS;
        if (too_many(s)) {
            s->process_limit = true;
            s->kill_at = now;
        }
    }
    if (now >= s->memory.check_at && now < s->kill_at && memory_exceeded(&s->memory)) {
        s->memory_limit = true;
        s->kill_at = now;
    }
    if (now < s->kill_at) return;
    tree_signal(&s->tree, SIGKILL);
    if (now - s->kill_at > GIVE_UP_MS * MS && s->child_done)            /* stuck in the kernel: do not let harness wait
                                                                         * for it */
        reply(s, (Reply){ .kind = REPLY_ENDED, .status = s->status, .timed_out = s->timed_out, .memory_limit = s->memory_limit }, (Str){ 0 });
}

static int wait_ms(const Supervisor *s, int64_t now) {
    int64_t until = s->count_at;
    if (!s->timed_out && s->job->request->head.deadline_ns < until) until = s->job->request->head.deadline_ns;
    if (now >= s->kill_at) return KILL_EVERY_MS;
    if (s->kill_at < until) until = s->kill_at;
    return until <= now ? 0 : (int)((until - now) / MS + 1);
}

static void loop(Supervisor *s) {
    reap(s);
    while (!s->empty) {
        if (s->child_done && s->kill_at == INT64_MAX) begin_end(s, SUPERVISOR_GRACE_MS);      /* processes that it left running */
        struct pollfd wait[WAIT_CONNECTS + ASK_CONNECTS_MAX] = {
            [WAIT_CHANNEL] = { .fd = s->channel, .events = POLLIN }, [WAIT_SIGNALS] = { .fd = s->signals, .events = POLLIN },
            [WAIT_REPORT] = { .fd = s->report, .events = POLLIN }, [WAIT_ASK] = { .fd = s->ask.listener, .events = POLLIN } };
        size_t n = WAIT_CONNECTS + ask_waits(&s->ask, wait + WAIT_CONNECTS);
        (void)poll(wait, (nfds_t)n, wait_ms(s, clock_mono_ns()));
        if (wait[WAIT_REPORT].revents) on_report(s);
        if (wait[WAIT_ASK].revents & POLLIN) ask_answer(&s->ask);
        else if (wait[WAIT_ASK].revents) ask_listen(&s->ask, -1);        /* no process is left that could ask */
        ask_finish(&s->ask, wait + WAIT_CONNECTS, n - WAIT_CONNECTS);
        if (wait[WAIT_CHANNEL].revents) on_channel(s);
        if (wait[WAIT_SIGNALS].revents) on_signals(s);
        on_time(s, clock_mono_ns());
    }
    /* It failed and exited before its reports were read: the filter's listener, the failure, end of file. */
    for (int i = 0; i < 3 && s->report >= 0; i++) on_report(s);
}

/* ---- starting --------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Closes the channels of other calls and the launcher's socket. */
static void keep_only(int *fds, size_t n) {
    qsort(fds, n, sizeof *fds, compare);
    unsigned from = 3;
    for (size_t i = 0; i < n; i++) {
        if (fds[i] < 3) continue;
        if ((unsigned)fds[i] > from) (void)close_range(from, (unsigned)fds[i] - 1, 0);
        from = (unsigned)fds[i] + 1;
    }
    (void)close_range(from, ~0u, 0);
}

static void keep_needed(const SupervisorJob *job) {
    const int own[] = { job->channel, job->stream[0], job->stream[1], job->stream[2], job->base, job->scratch, job->ruleset };
    size_t n = sizeof own / sizeof *own;
    int *all = mem_alloc((n + job->n_held) * sizeof *all);
    memcpy(all, own, sizeof own);
    if (job->n_held) memcpy(all + n, job->held, job->n_held * sizeof *all);
    keep_only(all, n + job->n_held);
    free(all);
}

static int watch_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGQUIT);
    sigprocmask(SIG_SETMASK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* A fork bomb must not starve the supervisor. Root may raise its priority; others have a limit of tasks. */
static void set_urgent(bool urgent) {
    struct sched_param p = { .sched_priority = urgent ? 1 : 0 };
    (void)sched_setscheduler(0, urgent ? SCHED_RR | SCHED_RESET_ON_FORK : SCHED_OTHER, &p);
}

static bool start_child(Supervisor *s, ChildPlan *plan, Error *err) {
    int report[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report) < 0) return error_set(err, ERR_SANDBOX, "socketpair: %m");
    memcpy(plan->stream, s->job->stream, sizeof plan->stream);
    plan->report = report[1];
    s->child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (s->child == 0) child_start(plan);
    int problem = errno;
    set_urgent(true);
    close(report[1]);
    for (int i = 0; i < 3; i++) close(s->job->stream[i]);
    s->report = report[0];
    errno = problem;
    return s->child > 0 || error_set(err, ERR_SANDBOX, "fork: %m");
}

static bool start(Supervisor *s, Arena *arena, Error *err) {
    ChildPlan plan;
    if (s->job->maps && !userns_map(s->job->maps)) return error_set(err, ERR_SANDBOX, "map the user in its namespace: %m");
    bool ok = prepare_plan(s->job, arena, &plan, err) && start_child(s, &plan, err);
    if (plan.ruleset >= 0) close(plan.ruleset);
    if (ok && s->job->maps) (void)userns_drop();         /* perform the program's requests with the user's rights
                                                          * only */
    return ok;
}

_Noreturn void supervisor_run(const SupervisorJob *job) {
    Supervisor s = { .job = job, .tree = { .own_namespace = job->own_processes }, .channel = job->channel, .report = -1, .kill_at = INT64_MAX };
    keep_needed(job);
    (void)prctl(PR_SET_NAME, "harness-super");
    (void)setsid();                                      /* a CPU group of its own (autogroup), also beside a fork bomb */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);     /* without the launcher, no process would clean up if we were
                                                          * killed */
    s.signals = watch_signals();
    ask_init(&s.ask, &s.tree, job->request);
    if (job->request->head.filter_variant & FILTER_ASK_MODES) ask_roots(&s.ask, job->request, job->scratch_path);
    Arena arena = { 0 };
    Error err = { 0 };
    if (s.signals >= 0 && start(&s, &arena, &err)) {
        s.count_at = clock_mono_ns() + COUNT_EVERY_MS * MS;
        memory_start(&s.memory, &s.tree, job->request->head.memory_bytes, job->scratch, job->isolated,
                     job->request->head.net != SANDBOX_NET_NONE);
        loop(&s);
        set_urgent(false);                               /* removing files may take long */
        finish(&s);
    } else {
        if (s.signals < 0) error_set(&err, ERR_SANDBOX, "signalfd: %m");
        (void)clean(&s, INT64_MAX);
        reply_error(&s, &err);
    }
    _exit(0);
}
