#include "net/proxy_flow.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROUNDS = 8, SPLICE_FROM = 1 << 20, PIPE_BYTES = 1 << 20 };

void proxy_flow_start(ProxyFlow *f, ProxyBody *body) {
    *f = (ProxyFlow){ .pipe = { -1, -1 }, .body = body, .splice_from = SPLICE_FROM };
}

void proxy_flow_clear(ProxyFlow *f) {
    buf_clear(&f->pending);
    for (int i = 0; i < 2; i++)
        if (f->pipe[i] >= 0) close(f->pipe[i]);
    f->pipe[0] = f->pipe[1] = -1;
}

bool proxy_flow_has_pending(const ProxyFlow *f) { return f->at < f->pending.n || f->in_pipe > 0; }

/* Cuts *bytes to the part to forward; false if the input is malformed. */
static bool pass(ProxyFlow *f, Str *bytes) {
    size_t used = 0;
    if (!f->body) return true;
    if (f->body_done) return *bytes = STR(""), true;
    Feed fed = proxy_body_feed(f->body, *bytes, &used);
    if (fed == FEED_BAD) return false;
    f->body_done = fed == FEED_READY;
    *bytes = str_sub(*bytes, 0, used);
    return true;
}

bool proxy_flow_add(ProxyFlow *f, Str bytes) {
    if (!pass(f, &bytes)) return false;
    buf_add(&f->pending, bytes);
    return true;
}

static bool is_later(void) { return errno == EAGAIN || errno == EINTR; }

typedef enum { MOVED, BLOCKED, BROKEN } Moved;

static Moved flush_pending(ProxyFlow *f, int to) {
    while (f->at < f->pending.n) {
        ssize_t n = send(to, f->pending.at + f->at, f->pending.n - f->at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0) return is_later() ? BLOCKED : BROKEN;
        f->at += (size_t)n;
    }
    f->at = 0;
    if (f->pending.cap > PROXY_CHUNK / 4) buf_clear(&f->pending);
    else buf_reset(&f->pending);
    return MOVED;
}

static Moved flush_pipe(ProxyFlow *f, int to) {
    while (f->in_pipe) {
        ssize_t n = splice(f->pipe[0], NULL, to, NULL, f->in_pipe, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        if (n < 0) return is_later() ? BLOCKED : BROKEN;
        if (n == 0) return BROKEN;
        f->in_pipe -= (size_t)n;
    }
    return MOVED;
}

static void open_pipe(ProxyFlow *f) {
    if (f->pipe[0] >= 0 || f->body || f->carried < f->splice_from) return;
    f->splice_from += SPLICE_FROM;                     /* no descriptor left: try again later */
    if (pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK) < 0) f->pipe[0] = f->pipe[1] = -1;
    else fcntl(f->pipe[1], F_SETPIPE_SZ, PIPE_BYTES);  /* the default size will do */
}

static Moved read_pipe(ProxyFlow *f, int from) {
    ssize_t n = splice(from, NULL, f->pipe[1], NULL, PIPE_BYTES, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (n < 0) return is_later() ? BLOCKED : BROKEN;
    f->ended = n == 0;
    f->in_pipe = (size_t)n;
    f->carried += (size_t)n;
    return MOVED;
}

static Moved read_bytes(ProxyFlow *f, int from, int to, char *room) {
    ssize_t n = recv(from, room, PROXY_CHUNK, MSG_DONTWAIT);
    if (n < 0) return is_later() ? BLOCKED : BROKEN;
    f->ended = n == 0;
    if (f->ended && f->body && !f->body_done) return BROKEN;           /* closed in the middle of a request */
    f->carried += (size_t)n;
    f->more |= n > 0 && f->body_done;
    Str bytes = { room, (size_t)n };
    if (!pass(f, &bytes)) return BROKEN;
    if (bytes.n) {
        ssize_t sent = send(to, bytes.at, bytes.n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && !is_later()) return BROKEN;
        if (sent > 0) bytes = str_sub(bytes, (size_t)sent, bytes.n);
        buf_add(&f->pending, bytes);
    }
    return MOVED;
}

/* A plain request ends with its body, so the end of the client's input is not forwarded. */
static void forward_end(ProxyFlow *f, int to) {
    if (!f->body) shutdown(to, SHUT_WR);
    f->shut = true;
}

bool proxy_flow_pump(ProxyFlow *f, int from, int to, char *room) {
    for (int i = 0; i < ROUNDS && !f->shut; i++) {     /* bounded, so that other connections get their turn */
        Moved moved = flush_pending(f, to);
        if (moved == MOVED) moved = flush_pipe(f, to);
        if (moved == MOVED && f->ended) return forward_end(f, to), true;
        if (moved == MOVED) {
            open_pipe(f);
            moved = f->pipe[0] >= 0 ? read_pipe(f, from) : read_bytes(f, from, to, room);
        }
        if (moved != MOVED) return moved == BLOCKED;
    }
    if (f->ended && !f->shut && !proxy_flow_has_pending(f)) forward_end(f, to);     /* no further event would trigger
                                                                                  * this */
    return true;
}
