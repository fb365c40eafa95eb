#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/mem.h"
#include "sandbox/call.h"
#include "sandbox/shield.h"

/* `exit_code` and `end` are valid when `ended`. `view`: the root of its file system, -1 without private mounts.
 * `shielded`: the protected paths that were mounted read-only at its start; NULL-terminated. */
struct SandboxProcess { int channel, in, out, view; bool ended; int exit_code; SandboxResult end; char **shielded; };

static void close_fd(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static bool open_pipes(int near[2], int far[3], const SandboxCommand *c, Error *err) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) < 0) return error_set(err, ERR_IO, "pipe: %m");
    far[0] = in[0], near[0] = in[1];
    if (pipe2(out, O_CLOEXEC) < 0) return error_set(err, ERR_IO, "pipe: %m");
    near[1] = out[0], far[1] = out[1];
    far[2] = fcntl(c->err_fd, F_DUPFD_CLOEXEC, 3);
    return far[2] >= 0 || error_set(err, ERR_IO, "descriptor %d: %m", c->err_fd);
}

/* Waits until the program runs, or failed to start. */
static bool wait_started(int channel, int *view, Error *err) {
    Reply reply;
    char text[REPLY_TEXT_MAX];
    int got;
    while ((got = call_receive(channel, &reply, text, view)) == 0) (void)poll(&(struct pollfd){ .fd = channel, .events = POLLIN }, 1, -1);
    if (got < 0) return error_set(err, ERR_SANDBOX, "the sandbox's processes were killed");
    return reply.kind == REPLY_STARTED || call_failed(&reply, text, err);
}

static char **shielded(int view, const char *const *protect) {
    size_t n = 0, kept = 0;
    while (protect && protect[n]) n++;
    char **out = mem_zero(n + 1, sizeof *out);
    for (size_t i = 0; i < n; i++)
        if (view >= 0 && shield_stands(view, protect[i])) out[kept++] = mem_dup(protect[i], strlen(protect[i]));
    return out;
}

bool sandbox_spawn(Sandbox *s, const SandboxRules *rules, const SandboxCommand *command, SandboxProcess **out, Error *err) {
    int near[2] = { -1, -1 }, far[3] = { -1, -1, -1 }, channel = -1, view = -1;
    bool ok = open_pipes(near, far, command, err) && call_send(s, rules, command, far, true, INT64_MAX, &channel, err);
    for (int i = 0; i < 3; i++) close_fd(&far[i]);
    ok = ok && wait_started(channel, &view, err);
    if (!ok) {
        close_fd(&near[0]);
        close_fd(&near[1]);
        close_fd(&channel);
        close_fd(&view);
        return false;
    }
    SandboxProcess *p = mem_zero(1, sizeof *p);
    *p = (SandboxProcess){ .channel = channel, .in = near[0], .out = near[1], .view = view, .shielded = shielded(view, rules->protect) };
    *out = p;
    return true;
}

int sandbox_process_stdin(SandboxProcess *p) { return p->in; }
int sandbox_process_stdout(SandboxProcess *p) { return p->out; }
void sandbox_process_close_stdin(SandboxProcess *p) { close_fd(&p->in); }

bool sandbox_process_wait(SandboxProcess *p, Cancel *cancel, int *exit_code, Error *err) {
    Reply reply;
    char text[REPLY_TEXT_MAX];
    int signal;
    while (!p->ended) {
        int got = call_receive(p->channel, &reply, text, NULL);
        if (got < 0) return error_set(err, ERR_SANDBOX, "the sandbox's processes were killed");
        if (got > 0 && reply.kind != REPLY_ENDED) return call_failed(&reply, text, err);
        if (got > 0) {
            p->ended = true;
            p->exit_code = call_exit_code(reply.status, &signal);
            p->end = (SandboxResult){ .process_limit = reply.process_limit, .memory_limit = reply.memory_limit };
            break;
        }
        if (!cancel_check(cancel, err)) return false;
        struct pollfd wait[] = { { .fd = p->channel, .events = POLLIN }, { .fd = cancel_fd(cancel), .events = POLLIN } };
        (void)poll(wait, 2, cancel_poll_ms(cancel));
    }
    *exit_code = p->exit_code;
    return true;
}

const char *sandbox_process_limit(const SandboxProcess *p) { return sandbox_result_limit(&p->end); }

bool sandbox_process_exposed(const SandboxProcess *p) {
    for (size_t i = 0; p->shielded[i]; i++)
        if (!shield_stands(p->view, p->shielded[i])) return true;
    return false;
}

void sandbox_process_end(SandboxProcess *p, int64_t grace_ms) {
    if (!p) return;
    int code;
    close_fd(&p->in);
    if (!p->ended && call_end(p->channel, grace_ms > 0 ? grace_ms : 0)) (void)sandbox_process_wait(p, NULL, &code, NULL);
    for (size_t i = 0; p->shielded[i]; i++) free(p->shielded[i]);
    free(p->shielded);
    close_fd(&p->out);
    close_fd(&p->view);
    close_fd(&p->channel);
    free(p);
}
