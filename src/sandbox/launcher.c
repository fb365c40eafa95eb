#include "sandbox/launcher.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "sandbox/prepare.h"
#include "sandbox/public.h"
#include "sandbox/scratch.h"
#include "sandbox/supervisor.h"
#include "sandbox/tree.h"

enum { SWEEP_MS = 1, SWEEP_MAX_MS = 10000, STOP_MAX_MS = 15000, NAME_SIZE = 24 };
#define MS 1000000ll

typedef struct Call { pid_t supervisor; int channel, status; bool dead; char scratch[NAME_SIZE]; } Call;

typedef struct Launcher {
    int socket, signals;
    VEC(Call) calls;
    VEC(int) held;                      /* files of marks (mark.h), kept open so that their locks last as long as this process */
    bool told_to_kill;                  /* harness waits until no call is left */
    char base[SCRATCH_PATH_MAX];
    int base_fd;                        /* -1: not created yet */
    unsigned long serial;
    Public open_to_all;                 /* computed when the first call needs it */
    char *message;                      /* REQUEST_MESSAGE_MAX bytes */
} Launcher;

static void answer_failure(int channel, const Error *err) {
    char text[sizeof(Reply) + ERROR_MSG_MAX];
    Reply r = { .kind = REPLY_FAILED, .error = (uint32_t)err->kind, .text = (uint32_t)strlen(err->msg) };
    memcpy(text, &r, sizeof r);
    memcpy(text + sizeof r, err->msg, r.text);
    (void)request_send(channel, (Str){ text, sizeof r + r.text }, NULL, 0);
}

/* ---- starting a call -------------------------------------------------------------------------------------------- */

static bool make_scratch(Launcher *l, char name[NAME_SIZE], char path[SCRATCH_PATH_MAX + NAME_SIZE], int *fd, Error *err) {
    if (l->base_fd < 0 && !scratch_base(l->base, &l->base_fd, err)) return false;
    snprintf(name, NAME_SIZE, "%lu", ++l->serial);
    snprintf(path, SCRATCH_PATH_MAX + NAME_SIZE, "%s/%s", l->base, name);
    if (mkdirat(l->base_fd, name, 0700) < 0) return error_set(err, ERR_SANDBOX, "make %s: %m", path);
    *fd = openat(l->base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return *fd >= 0 || error_set(err, ERR_SANDBOX, "open %s: %m", path);
}

/* By number: fork() would run the atfork handlers of libraries, and cannot create namespaces. */
static pid_t clone_supervisor(const SupervisorJob *job) {
    unsigned long flags = job->isolated ? CLONE_NEWNS | CLONE_NEWIPC : 0;
    if (job->own_processes) flags |= CLONE_NEWPID;
    if (job->maps) flags |= CLONE_NEWUSER;
    return (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
}

static void set_isolation(unsigned wanted, UsernsMaps *maps, SupervisorJob *job) {
    job->isolated = wanted & REQUEST_MOUNTS;
    job->own_processes = wanted & REQUEST_OWN_PROCESSES;
    if (!(wanted & REQUEST_USER_NAMESPACE)) return;
    userns_prepare(maps);
    job->maps = maps;
}

/* For root, starts the ruleset here, where the world-readable files are known. */
static bool make_ruleset(Launcher *l, const Request *r, SupervisorJob *job, Error *err) {
    job->ruleset = -1;
    if (!r->head.landlock_abi || !public_needed()) return true;
    (void)public_refresh(&l->open_to_all, l->serial > 1);
    job->open_to_all = &l->open_to_all;
    job->ruleset = prepare_ruleset(&r->head, &l->open_to_all, err);
    return job->ruleset >= 0;
}

static bool start_call(Launcher *l, const Request *r, const int *fds, Error *err) {
    Call call = { .channel = fds[0] };
    char path[SCRATCH_PATH_MAX + NAME_SIZE];
    int scratch = -1;
    if (!make_scratch(l, call.scratch, path, &scratch, err)) return false;
    SupervisorJob job = { .request = r, .channel = fds[0], .stream = { fds[1], fds[2], fds[3] }, .base = l->base_fd,
                          .held = l->held.at, .n_held = l->held.n, .scratch = scratch, .scratch_name = call.scratch, .scratch_path = path };
    UsernsMaps maps = { { 0 }, { 0 } };
    set_isolation(r->head.isolate, &maps, &job);
    if (!make_ruleset(l, r, &job, err)) return close(scratch), false;
    call.supervisor = clone_supervisor(&job);
    if (call.supervisor == 0) supervisor_run(&job);
    int problem = errno;
    close(scratch);
    if (job.ruleset >= 0) close(job.ruleset);
    errno = problem;
    if (call.supervisor < 0) return error_set(err, ERR_SANDBOX, "fork: %m");
    VEC_PUSH(&l->calls, call);
    return true;
}

static void take_request(Launcher *l, Str bytes, int *fds, size_t n_fds) {
    Request r = { 0 };
    Error err = { 0 };
    bool ok = n_fds >= 4 && request_read(bytes, &r);
    if (!ok) error_set(&err, ERR_INTERNAL, "sandbox: malformed request");
    ok = ok && start_call(l, &r, fds, &err);
    if (!ok && n_fds) answer_failure(fds[0], &err);
    for (size_t i = ok ? 1 : 0; i < n_fds; i++) close(fds[i]);           /* keeps the channel of a running call */
    request_clear(&r);
}

/* A long request is in a memory file. */
static void take_long_request(Launcher *l, int *fds) {
    struct stat st;
    void *at = MAP_FAILED;
    if (fstat(fds[4], &st) == 0 && st.st_size > 0 && st.st_size <= REQUEST_BYTES_MAX)
        at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fds[4], 0);
    Str bytes = { 0 };
    if (at != MAP_FAILED) bytes = (Str){ at, (size_t)st.st_size };
    take_request(l, bytes, fds, REQUEST_FDS);
    if (at != MAP_FAILED) munmap(at, bytes.n);
}

/* A mark is sent once to be held and again, after its removal, to be released. */
static void hold(Launcher *l, int fd) {
    struct stat st, other;
    bool there = fstat(fd, &st) == 0;
    for (size_t i = 0; there && i < l->held.n; i++)
        if (fstat(l->held.at[i], &other) == 0 && other.st_ino == st.st_ino && other.st_dev == st.st_dev) {
            close(l->held.at[i]);
            l->held.at[i] = l->held.at[--l->held.n];
            close(fd);
            return;
        }
    VEC_PUSH(&l->held, fd);
}

static void report_killed(Launcher *l) {
    if (!l->told_to_kill || l->calls.n) return;
    l->told_to_kill = false;
    (void)request_send(l->socket, STR("killed"), NULL, 0);
}

static void kill_calls(Launcher *l) {
    for (size_t i = 0; i < l->calls.n; i++) (void)kill(l->calls.at[i].supervisor, SIGQUIT);
    l->told_to_kill = true;
    report_killed(l);
}

static bool on_socket(Launcher *l) {
    int fds[REQUEST_FDS];
    size_t n_fds;
    ssize_t n = request_receive(l->socket, l->message, REQUEST_MESSAGE_MAX, fds, &n_fds, false);
    if (n < 0) return errno == EAGAIN;
    if (n == 0) return false;                            /* harness has exited */
    if (n_fds == 1) hold(l, fds[0]);
    else if (n_fds == 0 && str_eq((Str){ l->message, (size_t)n }, STR("kill"))) kill_calls(l);
    else if (n_fds == 0) (void)(public_needed() && public_refresh(&l->open_to_all, false));      /* "soon": see request.h */
    else if (n_fds == REQUEST_FDS) take_long_request(l, fds);
    else take_request(l, (Str){ l->message, (size_t)n }, fds, n_fds);
    return true;
}

/* ---- the end of a call ------------------------------------------------------------------------------------------ */

static void reap(Launcher *l) {
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0;)
        for (size_t i = 0; i < l->calls.n; i++)
            if (l->calls.at[i].supervisor == pid) l->calls.at[i].dead = true, l->calls.at[i].status = status;
}

/* Our children are supervisors. Any other process was left by a killed one: kills it, and repeats until none is
 * left. */
static void sweep_orphans(Launcher *l) {
    int64_t until = clock_mono_ns() + SWEEP_MAX_MS * MS;
    for (;;) {
        VEC(pid_t) live = { 0 };
        for (size_t i = 0; i < l->calls.n; i++)
            if (!l->calls.at[i].dead) VEC_PUSH(&live, l->calls.at[i].supervisor);
        Tree orphans = { .skip = live.at, .n_skip = live.n };
        tree_signal(&orphans, SIGKILL);
        reap(l);
        bool more = tree_count(&orphans, 1) > 0;
        VEC_CLEAR(&live);
        if (!more || clock_mono_ns() > until) return;
        usleep(SWEEP_MS * 1000);
    }
}

static void close_call(Launcher *l, Call *c) {
    bool gone = c->status == 0 && (unlinkat(l->base_fd, c->scratch, AT_REMOVEDIR) == 0 || errno == ENOENT);
    if (!gone) {                                         /* its supervisor did not finish */
        sweep_orphans(l);
        int fd = openat(l->base_fd, c->scratch, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0) {
            (void)scratch_empty(fd, clock_mono_ns() + 2000 * MS);
            close(fd);
        }
        (void)unlinkat(l->base_fd, c->scratch, AT_REMOVEDIR);
        Reply lost = { .kind = REPLY_LOST, .status = c->status };
        (void)request_send(c->channel, (Str){ (const char *)&lost, sizeof lost }, NULL, 0);
    }
    close(c->channel);
}

static void on_signals(Launcher *l) {
    struct signalfd_siginfo got[8];
    (void)!read(l->signals, got, sizeof got);
    reap(l);
    for (size_t i = l->calls.n; i-- > 0;) {
        if (!l->calls.at[i].dead) continue;
        Call c = l->calls.at[i];
        l->calls.at[i] = l->calls.at[--l->calls.n];
        close_call(l, &c);
    }
    report_killed(l);
}

/* ---- the process ------------------------------------------------------------------------------------------------ */

/* The supervisor of a call is process 1 of the call's namespace and a fork of this process: /proc/1/cmdline would show the command line
 * of harness, with prompts and tokens. The memory is this process's own copy. Fields 48 and 49 of /proc/self/stat say where it is. */
static void hide_arguments(void) {
    enum { FIRST_AFTER_NAME = 3, ARG_START = 48, ARG_END = 49 };
    uintptr_t from = 0, to = 0;
    Buf text = { 0 };
    char *at = file_read("/proc/self/stat", 1 << 12, &text, NULL) ? strrchr(text.at, ')') : NULL;
    at = at ? at + 1 : NULL;
    for (int field = FIRST_AFTER_NAME; at && field <= ARG_END; field++) {
        at = strchr(at, ' ');
        if (!at) break;
        at++;
        if (field == ARG_START) from = (uintptr_t)strtoull(at, NULL, 10);
        if (field == ARG_END) to = (uintptr_t)strtoull(at, NULL, 10);
    }
    buf_clear(&text);
    if (from && to > from) memset((void *)from, 0, to - from);
}

/* By number: signal() refuses those that the C library uses. Neither this process nor a supervisor sets a handler, so no call has to do this. */
static void reset_signals(void) {
    struct { void *handler; unsigned long flags; void *restorer; uint64_t mask; } plain = { 0 };         /* the kernel's layout */
    for (int number = 1; number <= 64; number++) (void)syscall(SYS_rt_sigaction, number, &plain, NULL, sizeof plain.mask);
}

/* Resets everything that calls inherit: default signal handlers, no open descriptors, no terminal, "/" as the current folder. */
static void settle(Launcher *l) {
    reset_signals();
    if (l->socket != 3) (void)dup3(l->socket, 3, O_CLOEXEC);
    l->socket = 3;
    (void)close_range(4, ~0u, 0);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++) (void)dup2(null, fd);
    if (null > 2) close(null);
    (void)setsid();
    (void)!chdir("/");
    hide_arguments();
    (void)prctl(PR_SET_NAME, "harness-launch");
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_SETMASK, &set, NULL);
    l->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    l->message = mem_alloc(REQUEST_MESSAGE_MAX);
}

static void stop_all(Launcher *l) {
    int64_t until = clock_mono_ns() + STOP_MAX_MS * MS;
    for (size_t i = 0; i < l->calls.n; i++) (void)kill(l->calls.at[i].supervisor, SIGTERM);
    while (l->calls.n && clock_mono_ns() < until) {
        (void)poll(&(struct pollfd){ .fd = l->signals, .events = POLLIN }, 1, 100);
        on_signals(l);
    }
    if (l->base_fd >= 0 && l->calls.n == 0) {
        (void)scratch_empty(l->base_fd, clock_mono_ns() + 2000 * MS);
        (void)rmdir(l->base);
    }
}

_Noreturn void launcher_run(int socket) {
    Launcher l = { .socket = socket, .base_fd = -1, .open_to_all = { .watches = -1 } };
    settle(&l);
    for (bool open = l.signals >= 0; open;) {
        struct pollfd wait[] = { { .fd = l.socket, .events = POLLIN }, { .fd = l.signals, .events = POLLIN } };
        (void)poll(wait, 2, -1);
        if (wait[1].revents) on_signals(&l);
        if (wait[0].revents) open = on_socket(&l);
    }
    close(l.socket);
    stop_all(&l);
    _exit(0);
}
