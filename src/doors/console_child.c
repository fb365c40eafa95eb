/* Other processes of this program. */
#include "doors/console_private.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"

enum { CHUNK = 16 << 10, END_MS = 2000 };

/* ---- starting ---- */

typedef struct Pipes { int in[2], out[2], err[2]; } Pipes;

static void close_pair(int ends[2]) {
    if (ends[0] >= 0) close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
}

static void close_pipes(Pipes *p) {
    close_pair(p->in);
    close_pair(p->out);
    close_pair(p->err);
}

static bool make_pipes(Pipes *p, Error *err) {
    *p = (Pipes){ { -1, -1 }, { -1, -1 }, { -1, -1 } };
    if (pipe2(p->in, O_CLOEXEC) == 0 && pipe2(p->out, O_CLOEXEC) == 0 && pipe2(p->err, O_CLOEXEC) == 0) return true;
    error_set(err, ERR_IO, "start a process: %m");
    return close_pipes(p), false;
}

/* In a process group of its own, with the default signals. */
static int spawn(const Pipes *p, char *const *argv, pid_t *pid) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&how);
    posix_spawn_file_actions_adddup2(&files, p->in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, p->out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, p->err[1], STDERR_FILENO);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &all);
    int problem = posix_spawn(pid, "/proc/self/exe", &files, &how, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return problem;
}

bool console_child_start(Console *console, const char *const *argv, int *pid, int *in, int *out, int *err_fd, Error *err) {
    char *all[48] = { 0 }, *root = str_dup(console->config->root);
    const char *start[] = { "harness", "-C", root, console->config->config ? "-c" : NULL, console->config->config };
    size_t n = 0;
    Pipes p;
    pid_t started;
    for (size_t i = 0; i < 5; i++)
        if (start[i]) all[n++] = str_dup(str_from(start[i]));
    for (size_t i = 0; argv[i] && n < 47; i++) all[n++] = str_dup(str_from(argv[i]));
    bool ok = make_pipes(&p, err);
    if (ok) {
        int problem = spawn(&p, all, &started);
        if (problem) {
            close_pipes(&p);
            ok = error_set(err, ERR_IO, "start a process: %s", strerror(problem));
        }
    }
    for (size_t i = 0; i < n; i++) free(all[i]);
    free(root);
    if (!ok) return false;
    close(p.in[0]);
    close(p.out[1]);
    close(p.err[1]);
    *pid = (int)started;
    *in = p.in[1];
    *out = p.out[0];
    *err_fd = p.err[0];
    return true;
}

void console_child_kill(int pid) { kill(-pid, SIGKILL); }

/* ---- waiting ---- */

typedef struct Waiting { ConsoleChild *child; int pid, in, out, err; size_t written; Cancel *cancel; } Waiting;

static void close_end(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static void write_some(Waiting *w) {
    Str rest = str_sub(w->child->input, w->written, w->child->input.n);
    ssize_t n = rest.n ? write(w->in, rest.at, rest.n) : 0;
    if (n > 0) w->written += (size_t)n;
    if ((n < 0 && errno != EAGAIN && errno != EINTR) || w->written == w->child->input.n) close_end(&w->in);
}

static bool read_some(int *fd, Buf *out, Error *err) {
    char *room = buf_room(out, CHUNK);
    ssize_t n = room ? read(*fd, room, CHUNK) : -1;
    if (!room) return error_set(err, ERR_LIMIT, "the process wrote more than %d bytes", CONSOLE_OUTPUT_MAX);
    if (n > 0) buf_commit(out, (size_t)n);
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) close_end(fd);
    return true;
}

static bool exchange(Waiting *w, Error *err) {
    while (w->out >= 0 || w->err >= 0) {
        struct pollfd p[] = { { w->in, POLLOUT, 0 }, { w->out, POLLIN, 0 }, { w->err, POLLIN, 0 }, { cancel_fd(w->cancel), POLLIN, 0 } };
        if (!cancel_check(w->cancel, err)) return false;
        poll(p, 4, cancel_poll_ms(w->cancel));
        if (w->in >= 0 && p[0].revents) write_some(w);
        if (w->out >= 0 && p[1].revents && !read_some(&w->out, &w->child->out, err)) return false;
        if (w->err >= 0 && p[2].revents && !read_some(&w->err, &w->child->err, err)) return false;
    }
    return true;
}

bool console_child_ended(int pid) {
    siginfo_t info = { 0 };
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Kills the group before waitpid gives its number free for another one. */
int console_child_reap(int pid) {
    int status = 0;
    console_child_kill(pid);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void on_gone(void *ctx, HttpServerRequest *q) {
    (void)q;
    cancel_fire(ctx);
}

static bool run(ConsoleCall *c, ConsoleChild *child, Cancel *cancel, Error *err) {
    Waiting w = { .child = child, .cancel = cancel };
    if (!console_child_start(c->console, child->argv, &w.pid, &w.in, &w.out, &w.err, err)) return false;
    fcntl(w.in, F_SETFL, O_NONBLOCK);
    child->out.limit = child->err.limit = CONSOLE_OUTPUT_MAX;
    bool ok = exchange(&w, err);
    close_end(&w.in);
    close_end(&w.out);
    close_end(&w.err);
    for (int64_t until = clock_mono_ns() + (int64_t)END_MS * 1000000; ok && !console_child_ended(w.pid) && clock_mono_ns() < until;) poll(NULL, 0, 2);
    child->status = console_child_reap(w.pid);
    return ok;
}

bool console_child_run(ConsoleCall *c, ConsoleChild *child, Error *err) {
    if (atomic_fetch_add(&c->console->children, 1) >= CONSOLE_CHILDREN_MAX) {
        atomic_fetch_sub(&c->console->children, 1);
        return error_set(err, ERR_LIMIT, "the console waits for %d processes already: try again later", CONSOLE_CHILDREN_MAX);
    }
    Cancel *cancel = cancel_new(c->console->stop, child->timeout_ms * 1000000);
    http_server_on_gone(c->q, on_gone, cancel);
    bool ok = run(c, child, cancel, err);
    http_server_on_gone(c->q, NULL, NULL);
    cancel_free(cancel);
    atomic_fetch_sub(&c->console->children, 1);
    return ok;
}

void console_child_clear(ConsoleChild *child) {
    buf_clear(&child->out);
    buf_clear(&child->err);
}

/* ---- what it said ---- */

static const char *const kinds[] = {
#define X(kind, name) [kind] = name,
    ERROR_KINDS(X)
#undef X
};

bool console_child_error(ConsoleCall *c, const ConsoleChild *child, Error *err) {
    Value root, e;
    if (!json_read(c->heap, buf_str(&child->out), NULL, &root, NULL) || !value_is_dict(e = value_member(root, "error"))) return false;
    if (!value_is_gone(value_member(root, "tool_call_id"))) return false;       /* the result of a call, which may be an error */
    Str kind = value_member_text(e, "kind"), message = value_member_text(e, "message"), hint = value_member_text(e, "hint");
    ErrorKind k = ERR_INTERNAL;
    for (int i = 0; i < (int)(sizeof kinds / sizeof *kinds); i++)
        if (str_eq(kind, str_from(kinds[i]))) k = (ErrorKind)i;
    error_set(err, k, STR_FMT, STR_ARG(message));
    if (hint.n) error_hint(err, STR_FMT, STR_ARG(hint));
    return true;
}

bool console_child_explain(const ConsoleChild *child, Error *err) {
    Str said = str_trim(buf_str(&child->err));
    if (said.n > 500) said = str_sub(said, said.n - 500, said.n);
    return error_set(err, ERR_INTERNAL, "the process ended with status %d: " STR_FMT, child->status, STR_ARG(said));
}
