#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/clock.h"
#include "sandbox/call.h"

enum { OUTPUT_MAX = 1 << 20, PIECE = 64 << 10, PIPE_HOLDS = 64 << 10, GRACE_MS = 2000 };
enum { WAIT_CHANNEL, WAIT_CANCEL, WAIT_OUT, WAIT_ERR, WAITS };
#define MS 1000000ll

/* Descriptors are -1 when closed. `far` are the program's ends. */
typedef struct Run {
    const SandboxCommand *command;
    SandboxResult *result;
    int channel, out, err, far[3];
    bool cancelled;
} Run;

static void close_fd(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* ---- streams ---------------------------------------------------------------------------------------------------- */

static bool write_all(int fd, Str s) {
    while (s.n) {
        ssize_t n = write(fd, s.at, s.n);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        s = (Str){ s.at + n, s.n - (size_t)n };
    }
    return true;
}

/* Input that fits into a pipe is written before the program starts; more goes into a memory file. */
static bool open_input(Str input, int *fd, Error *err) {
    if (input.n == 0) {
        *fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return *fd >= 0 || error_set(err, ERR_IO, "open /dev/null: %m");
    }
    int pair[2];
    if (input.n > PIPE_HOLDS) {
        *fd = memfd_create("input", MFD_CLOEXEC);
        return (*fd >= 0 && write_all(*fd, input) && lseek(*fd, 0, SEEK_SET) == 0) || error_set(err, ERR_IO, "store the input: %m");
    }
    if (pipe2(pair, O_CLOEXEC) < 0) return error_set(err, ERR_IO, "pipe: %m");
    *fd = pair[0];
    bool ok = write_all(pair[1], input) || error_set(err, ERR_IO, "write the input: %m");
    close(pair[1]);
    return ok;
}

static bool open_output(int *near, int *far, Error *err) {
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) < 0) return error_set(err, ERR_IO, "pipe: %m");
    *near = pair[0];
    *far = pair[1];
    return fcntl(*near, F_SETFL, O_NONBLOCK) == 0 || error_set(err, ERR_IO, "fcntl: %m");
}

static bool open_streams(Run *r, Error *err) {
    const SandboxCommand *c = r->command;
    if (!c->pass_streams)
        return open_input(c->input, &r->far[0], err) && open_output(&r->out, &r->far[1], err) && open_output(&r->err, &r->far[2], err);
    const int passed[3] = { c->in_fd, c->out_fd, c->err_fd };
    for (int i = 0; i < 3; i++) {
        r->far[i] = fcntl(passed[i], F_DUPFD_CLOEXEC, 3);
        if (r->far[i] < 0) return error_set(err, ERR_IO, "descriptor %d: %m", passed[i]);
    }
    return true;
}

static void keep(const Run *r, Buf *to, bool *truncated, Str piece) {
    size_t most = r->command->max_output ? r->command->max_output : OUTPUT_MAX, room = most - to->n;
    if (piece.n > room) *truncated = true;
    buf_add(to, str_sub(piece, 0, room));
}

/* Reads available output; closes at end of file. Drops what exceeds the limit, so that the program never blocks on
 * us. */
static void take_output(const Run *r, int *fd, Buf *to, bool *truncated) {
    char piece[PIECE];
    while (*fd >= 0) {
        ssize_t n = read(*fd, piece, sizeof piece);
        if (n > 0) keep(r, to, truncated, (Str){ piece, (size_t)n });
        else if (n < 0 && errno == EINTR) continue;
        else if (n < 0 && errno == EAGAIN) return;
        else close_fd(fd);
    }
}

/* ---- waiting ---------------------------------------------------------------------------------------------------- */

static bool finished(Run *r, const Reply *reply, const char *text, Error *err) {
    if (reply->kind != REPLY_ENDED) return call_failed(reply, text, err);
    r->result->exit_code = call_exit_code(reply->status, &r->result->signal);
    r->result->timed_out = reply->timed_out;
    r->result->process_limit = reply->process_limit;
    r->result->memory_limit = reply->memory_limit;
    buf_add(&r->result->denied, (Str){ text, reply->text });
    return !r->cancelled || error_set(err, ERR_CANCELLED, "cancelled");
}

static void check_cancel(Run *r, const Cancel *cancel) {
    if (r->cancelled || !cancel_fired(cancel)) return;
    r->cancelled = true;
    (void)call_end(r->channel, GRACE_MS);
}

/* The supervisor replies when all processes have ended: the pipes then contain all output. */
static bool wait_for_end(Run *r, Cancel *cancel, Error *err) {
    SandboxResult *out = r->result;
    Reply reply;
    char text[REPLY_TEXT_MAX];
    int got = 0;
    while (got == 0) {
        struct pollfd wait[WAITS] = {
            [WAIT_CHANNEL] = { .fd = r->channel, .events = POLLIN },
            [WAIT_CANCEL] = { .fd = r->cancelled ? -1 : cancel_fd(cancel), .events = POLLIN },
            [WAIT_OUT] = { .fd = r->out, .events = POLLIN }, [WAIT_ERR] = { .fd = r->err, .events = POLLIN } };
        int ms = r->cancelled || cancel_deadline_ns(cancel) != INT64_MAX ? -1 : cancel_poll_ms(cancel);
        (void)poll(wait, WAITS, ms);
        if (wait[WAIT_OUT].revents) take_output(r, &r->out, &out->out, &out->out_truncated);
        if (wait[WAIT_ERR].revents) take_output(r, &r->err, &out->err, &out->err_truncated);
        check_cancel(r, cancel);
        if (wait[WAIT_CHANNEL].revents) got = call_receive(r->channel, &reply, text, NULL);
    }
    take_output(r, &r->out, &out->out, &out->out_truncated);
    take_output(r, &r->err, &out->err, &out->err_truncated);
    if (got < 0) return error_set(err, ERR_SANDBOX, "the sandbox's processes were killed");
    return finished(r, &reply, text, err);
}

static int64_t deadline(const SandboxCommand *c, const Cancel *cancel) {
    int64_t at = cancel_deadline_ns(cancel), own;
    if (c->timeout_ms <= 0 || c->timeout_ms > INT64_MAX / MS) return at;
    if (__builtin_add_overflow(clock_mono_ns(), c->timeout_ms * MS, &own)) return at;
    return own < at ? own : at;
}

bool sandbox_run(Sandbox *s, const SandboxRules *rules, const SandboxCommand *command, Cancel *cancel, SandboxResult *out,
                 Error *err) {
    Run r = { .command = command, .result = out, .channel = -1, .out = -1, .err = -1, .far = { -1, -1, -1 } };
    if (!cancel_check(cancel, err)) return false;
    bool ok = open_streams(&r, err) && call_send(s, rules, command, r.far, false, deadline(command, cancel), &r.channel, err);
    for (int i = 0; i < 3; i++) close_fd(&r.far[i]);
    ok = ok && wait_for_end(&r, cancel, err);
    close_fd(&r.channel);
    close_fd(&r.out);
    close_fd(&r.err);
    if (!ok) sandbox_result_clear(out);
    return ok;
}

void sandbox_result_clear(SandboxResult *r) {
    buf_clear(&r->out);
    buf_clear(&r->err);
    buf_clear(&r->denied);
    *r = (SandboxResult){ 0 };
}

const char *sandbox_result_limit(const SandboxResult *r) {
    return r->memory_limit ? "the memory limit of the call was reached (sandbox.memory_bytes): the whole tree was ended"
         : r->process_limit ? "too many processes (sandbox.processes): the whole tree was ended" : NULL;
}
