/* A server that is a program: messages are lines on its stdin and stdout. Its stderr goes to the log, up to a limit.
 * One thread reads both; a writer waits no longer than its deadline. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "mcp/remote/client_private.h"

enum { READ_BYTES = 64 << 10, LOG_LINE_MAX = 2000, LOG_BYTES_MAX = 256 << 10, END_MS = 500, GRACE_MS = 1000, TURN_MS = 20,
       LAST_LINES = 6, LAST_BYTES = 500, LAST_LINE_MAX = 200 };

typedef struct Stdio {
    SandboxProcess *process;
    int errors, stop;                    /* its stderr, and an eventfd that stops the thread */
    pthread_t reader;
    pthread_mutex_t writing;
    RpcLines lines;
    Buf line;                            /* of stderr, not complete yet */
    pthread_mutex_t telling;             /* guards `last` */
    Buf last;                            /* the last lines of stderr that are not empty, at most LAST_LINES and LAST_BYTES */
    size_t logged;
} Stdio;

/* ---- reading ---- */

/* Keeps the end of stderr: it usually says why a server failed. */
static void keep_line(Stdio *s, Str line) {
    Str rest;
    size_t lines = 1;
    pthread_mutex_lock(&s->telling);
    if (s->last.n) buf_add_char(&s->last, '\n');
    buf_add(&s->last, str_sub(line, 0, utf8_valid_prefix(str_sub(line, 0, line.n < LAST_LINE_MAX ? line.n : LAST_LINE_MAX))));
    for (size_t i = 0; i < s->last.n; i++) lines += s->last.at[i] == '\n';
    for (rest = buf_str(&s->last); lines > LAST_LINES || rest.n > LAST_BYTES; lines--) {
        ptrdiff_t end = str_find_char(rest, '\n');
        if (end < 0) break;
        rest = str_sub(rest, (size_t)end + 1, rest.n);
    }
    memmove(s->last.at, rest.at, rest.n);
    s->last.n = rest.n;
    pthread_mutex_unlock(&s->telling);
}

static void log_line(McpClient *c, Stdio *s) {
    if (c->config.redact && !redact_empty(c->config.redact)) redact_text(c->config.redact, &s->line);
    Str line = str_trim(buf_str(&s->line));
    if (line.n) keep_line(s, line);
    if (line.n && s->logged < LOG_BYTES_MAX)
        LOG_WRITE(c->config.log, LOG_DEBUG, "server " STR_FMT ": " STR_FMT "%s", STR_ARG(c->config.server->name), STR_ARG(line),
                  s->logged + line.n >= LOG_BYTES_MAX ? " (too much output: no more is shown)" : "");
    s->logged += line.n;
    buf_reset(&s->line);
}

static bool read_errors(McpClient *c, Stdio *s) {
    char bytes[4096];
    ssize_t n = read(s->errors, bytes, sizeof bytes);
    if (n <= 0) return n < 0 && (errno == EINTR || errno == EAGAIN);
    for (ssize_t i = 0; i < n; i++) {
        if (bytes[i] == '\n') log_line(c, s);
        else if (s->line.n < LOG_LINE_MAX) buf_add_char(&s->line, bytes[i]);
    }
    return true;
}

static void feed(McpClient *c, Stdio *s, Str bytes) {
    Str line;
    Error err;
    for (Feed fed = rpc_lines(&s->lines, bytes, &line, &err); fed != FEED_MORE; fed = rpc_lines(&s->lines, STR(""), &line, &err)) {
        if (fed == FEED_READY) client_take(c, line, NULL);
        else client_warn(c, "sent a line that cannot be read: %s", err.msg);
    }
}

static bool read_messages(McpClient *c, Stdio *s, char *bytes) {
    ssize_t n = read(sandbox_process_stdout(s->process), bytes, READ_BYTES);
    if (n <= 0) return n < 0 && (errno == EINTR || errno == EAGAIN);
    feed(c, s, (Str){ bytes, (size_t)n });
    return true;
}

/* Adds the last lines of stderr, if there are any, to a message. They are joined into one line, like all messages. */
static void add_last(Stdio *s, Error *err) {
    Buf text = { 0 };
    pthread_mutex_lock(&s->telling);
    for (Str rest = buf_str(&s->last), line; rest.n && str_next_line(&rest, &line);) {
        if (text.n) buf_add(&text, STR(" | "));
        buf_add(&text, line);
    }
    pthread_mutex_unlock(&s->telling);
    size_t used = strlen(err->msg);
    if (text.n) snprintf(err->msg + used, sizeof err->msg - used, "; its last lines: " STR_FMT, STR_ARG(buf_str(&text)));
    buf_clear(&text);
}

static void report_end(McpClient *c, Stdio *s) {
    Error err = { 0 };
    int code = 0;
    Cancel *soon = cancel_new(NULL, (int64_t)GRACE_MS * 1000000);
    bool ended = sandbox_process_wait(s->process, soon, &code, NULL);
    cancel_free(soon);
    while (poll(&(struct pollfd){ .fd = s->errors, .events = POLLIN }, 1, 0) > 0 && read_errors(c, s)) {}
    log_line(c, s);
    if (ended && sandbox_process_limit(s->process)) error_set(&err, ERR_IO, "server " STR_FMT " ended: %s", STR_ARG(c->config.server->name),
        sandbox_process_limit(s->process));
    else if (ended) error_set(&err, ERR_IO, "server " STR_FMT " exited with status %d", STR_ARG(c->config.server->name), code);
    else error_set(&err, ERR_IO, "server " STR_FMT " closed its stdout", STR_ARG(c->config.server->name));
    add_last(s, &err);
    client_died(c, &err);
}

static void *reader(void *arg) {
    McpClient *c = arg;
    Stdio *s = c->wire;
    char *bytes = mem_alloc(READ_BYTES);
    bool errors = true, open = true;
    while (open) {
        struct pollfd fds[] = { { .fd = sandbox_process_stdout(s->process), .events = POLLIN }, { .fd = errors ? s->errors : -1, .events = POLLIN },
                                { .fd = s->stop, .events = POLLIN } };
        if (poll(fds, 3, -1) < 0 && errno != EINTR) break;
        if (fds[2].revents) break;
        if (fds[1].revents && !read_errors(c, s)) errors = false;
        if (fds[0].revents && !read_messages(c, s, bytes)) open = false;
    }
    free(bytes);
    if (!open) report_end(c, s);
    return NULL;
}

/* ---- writing ---- */

/* Writes without SIGPIPE in this thread; a closed pipe is then an error of write(). */
static ssize_t write_quietly(int fd, Str text) {
    sigset_t pipe, before, waiting;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&waiting);
    bool was_waiting = sigismember(&waiting, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    ssize_t n = write(fd, text.at, text.n);
    int error = errno;
    if (n < 0 && error == EPIPE && !was_waiting) (void)sigtimedwait(&pipe, NULL, &(struct timespec){ 0 });
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return n;
}

static bool write_all(McpClient *c, Stdio *s, Str text, Cancel *cancel, bool *sent, Error *err) {
    int fd = sandbox_process_stdin(s->process);
    while (text.n) {
        ssize_t n = write_quietly(fd, text);
        if (n > 0) {
            *sent = true;
            text = str_sub(text, (size_t)n, text.n);
            continue;
        }
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return error_set(err, ERR_IO, "server " STR_FMT " ended, or does not read its input any more", STR_ARG(c->config.server->name));
        if (!cancel_check(cancel, err)) return false;
        struct pollfd fds[] = { { .fd = fd, .events = POLLOUT }, { .fd = cancel_fd(cancel), .events = POLLIN } };
        (void)poll(fds, 2, cancel_poll_ms(cancel));
    }
    return true;
}

/* Waits, up to the deadline, for another thread that writes to a server that does not read. */
static bool take_turn(Stdio *s, Cancel *cancel, Error *err) {
    for (;;) {
        if (!cancel_check(cancel, err)) return false;
        int64_t until = clock_wall_ns() + (int64_t)TURN_MS * 1000000;
        struct timespec t = { until / 1000000000, until % 1000000000 };
        if (pthread_mutex_timedlock(&s->writing, &t) == 0) return true;
    }
}

/* A partly written message cannot be undone, so the connection is closed then. */
static bool stdio_send(McpClient *c, const ClientMessage *m, Cancel *cancel, bool *sent, Error *err) {
    Stdio *s = c->wire;
    Buf line = { 0 };
    Error why = { 0 };
    buf_add(&line, m->text);
    buf_add_char(&line, '\n');
    *sent = false;
    bool turn = take_turn(s, cancel, &why), ok = turn && write_all(c, s, buf_str(&line), cancel, sent, &why);
    if (turn) pthread_mutex_unlock(&s->writing);
    if (!ok && *sent) client_died(c, &why);
    if (!ok && err) *err = why;
    buf_clear(&line);
    return ok;
}

/* ---- opening and closing ---- */

static void stdio_close(McpClient *c) {
    Stdio *s = c->wire;
    uint64_t one = 1;
    int code;
    Cancel *soon = cancel_new(NULL, (int64_t)END_MS * 1000000);
    pthread_mutex_lock(&s->writing);
    sandbox_process_close_stdin(s->process);
    pthread_mutex_unlock(&s->writing);
    (void)!write(s->stop, &one, sizeof one);
    pthread_join(s->reader, NULL);
    (void)sandbox_process_wait(s->process, soon, &code, NULL);       /* most servers exit when stdin closes */
    sandbox_process_end(s->process, GRACE_MS);
    cancel_free(soon);
    close(s->errors);
    close(s->stop);
    rpc_lines_clear(&s->lines);
    buf_clear(&s->line);
    buf_clear(&s->last);
    pthread_mutex_destroy(&s->telling);
    pthread_mutex_destroy(&s->writing);
    free(s);
}

static void stdio_ready(McpClient *c, Cancel *cancel) { (void)c, (void)cancel; }

static bool stdio_exposed(McpClient *c) { return sandbox_process_exposed(((const Stdio *)c->wire)->process); }

/* Returns why the program ended, if it has. Waits a little, because the reader thread may not have noticed yet. */
static bool wait_death(McpClient *c, Error *out) {
    bool dead = false;
    for (int waited = 0; !dead && waited < GRACE_MS; waited += TURN_MS) {
        pthread_mutex_lock(&c->lock);
        dead = c->dead;
        if (dead) *out = c->why;
        pthread_mutex_unlock(&c->lock);
        if (!dead) (void)poll(NULL, 0, TURN_MS);
    }
    return dead;
}

/* Explains a failure to open: for a program that was too slow, its stderr so far; for one that stopped reading, why it ended. */
static void stdio_explain(McpClient *c, Error *err) {
    Error why;
    if (err->kind == ERR_TIMEOUT) add_last(c->wire, err);
    else if (err->kind == ERR_IO && wait_death(c, &why)) *err = why;
}

static const ClientTransport stdio = { stdio_send, stdio_ready, stdio_close, stdio_exposed, stdio_explain };

static bool spawn(McpClient *c, Stdio *s, int errors, Error *err) {
    const ServerDef *def = c->config.server;
    Arena arena = { 0 };
    const char **argv = ARENA_ARRAY(&arena, const char *, def->args.n + 2);
    argv[0] = arena_str(&arena, def->command).at;
    for (size_t i = 0; i < def->args.n; i++) argv[i + 1] = arena_str(&arena, def->args.at[i]).at;
    SandboxCommand command = { .argv = argv, .env = c->config.env, .cwd = c->config.cwd, .err_fd = errors };
    bool ok = sandbox_spawn(c->config.sandbox, c->config.rules, &command, &s->process, err);
    if (!ok && argv[0][0] == '/' && access(argv[0], X_OK) == 0)
        error_hint(err, "the program exists, but the sandbox does not allow reading it: add its folder to read_roots (mcp add --read-root DIR)");
    arena_clear(&arena);
    return ok || error_wrap(err, "server " STR_FMT, STR_ARG(def->name));
}

bool client_stdio_open(McpClient *c, Error *err) {
    Stdio *s = mem_zero(1, sizeof *s);
    int pipe[2] = { -1, -1 };
    s->stop = eventfd(0, EFD_CLOEXEC);
    bool ok = s->stop >= 0 && pipe2(pipe, O_CLOEXEC) == 0;
    if (!ok) error_set(err, ERR_IO, "pipe: %m");
    ok = ok && spawn(c, s, pipe[1], err);
    if (pipe[1] >= 0) close(pipe[1]);
    s->errors = pipe[0];
    if (ok) {
        int in = sandbox_process_stdin(s->process);
        (void)fcntl(in, F_SETFL, fcntl(in, F_GETFL) | O_NONBLOCK);
        pthread_mutex_init(&s->writing, NULL);
        pthread_mutex_init(&s->telling, NULL);
        c->wire = s;
        c->transport = &stdio;
        ok = pthread_create(&s->reader, NULL, reader, c) == 0 || error_set(err, ERR_IO, "cannot start a thread");
        if (!ok) sandbox_process_end(s->process, 0), c->wire = NULL, pthread_mutex_destroy(&s->writing), pthread_mutex_destroy(&s->telling);
    }
    if (ok) return true;
    if (s->errors >= 0) close(s->errors);
    if (s->stop >= 0) close(s->stop);
    free(s);
    return false;
}
