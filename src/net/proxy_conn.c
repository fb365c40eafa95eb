#include "net/proxy_conn.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"

#define SECONDS(n) ((n) * (int64_t)1000000000)
static const int64_t HEAD_TIME = SECONDS(30), LOOKUP_TIME = SECONDS(30), CONNECT_TIME = SECONDS(30), CONNECT_FIRST_TIME = SECONDS(3),
                     IDLE_TIME = SECONDS(3600), HALF_TIME = SECONDS(120), REFUSE_TIME = SECONDS(2);

/* ---- descriptors and deadlines ---- */

static void want(ProxyConn *c, ProxyPart part, uint32_t events) {
    ProxyEnd *e = &c->end[part];
    if (e->fd < 0 || e->events == events) return;
    int how = e->events == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    struct epoll_event event = { .events = events, .data.ptr = e };
    if (epoll_ctl(c->shared->epoll, how, e->fd, &event) == 0) e->events = events;
    else c->state = PROXY_GONE;                        /* out of kernel memory */
}

static void set_end(ProxyConn *c, ProxyPart part, int fd) { c->end[part] = (ProxyEnd){ c, part, fd, 0 }; }

static void close_end(ProxyConn *c, ProxyPart part) {
    want(c, part, 0);
    if (c->end[part].fd >= 0 && part != PROXY_LOOKUP) close(c->end[part].fd);
    c->end[part].fd = -1;
}

static void allow_time(ProxyConn *c, int64_t ns) {
    c->deadline = clock_mono_ns() + ns;
    if (c->deadline < c->shared->next_deadline) c->shared->next_deadline = c->deadline;
}

ProxyConn *proxy_conn_new(ProxyShared *s, int client) {
    ProxyConn *c = mem_zero(1, sizeof *c);
    c->shared = s;
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
    set_end(c, PROXY_CLIENT, client);
    set_end(c, PROXY_SERVER, -1);
    set_end(c, PROXY_LOOKUP, -1);
    proxy_flow_start(&c->up, NULL);
    proxy_flow_start(&c->down, NULL);
    allow_time(c, HEAD_TIME);
    want(c, PROXY_CLIENT, EPOLLIN);
    return c;
}

static void drop_lookup(ProxyConn *c) {
    close_end(c, PROXY_LOOKUP);
    lookup_drop(c->lookup);
    c->lookup = NULL;
}

void proxy_conn_free(ProxyConn *c) {
    drop_lookup(c);
    close_end(c, PROXY_CLIENT);
    close_end(c, PROXY_SERVER);
    proxy_flow_clear(&c->up);
    proxy_flow_clear(&c->down);
    proxy_head_clear(&c->head);
    free(c);
}

/* ---- refusing ---- */

static void go_on_refusing(ProxyConn *c) {
    enum { ROUNDS = 16 };                              /* bounded, so that other connections get their turn */
    ssize_t n = 1;
    if (!c->down.shut && !proxy_flow_has_pending(&c->down)) {
        shutdown(c->end[PROXY_CLIENT].fd, SHUT_WR);
        c->down.shut = true;
    }
    if (proxy_flow_has_pending(&c->down)) {
        want(c, PROXY_CLIENT, EPOLLOUT);
        return;
    }
    /* Drain what the client still sends: closing with unread bytes would reset the connection before it reads the
     * response. */
    for (int i = 0; n > 0 && i < ROUNDS; i++) n = recv(c->end[PROXY_CLIENT].fd, c->shared->room, PROXY_CHUNK, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) c->state = PROXY_GONE;
    else want(c, PROXY_CLIENT, EPOLLIN);
}

static void send_refusal(ProxyConn *c) {
    Buf *b = &c->down.pending;
    while (c->down.at < b->n) {
        ssize_t n = send(c->end[PROXY_CLIENT].fd, b->at + c->down.at, b->n - c->down.at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR) c->state = PROXY_GONE;
        if (n < 0) break;
        c->down.at += (size_t)n;
    }
    if (c->state == PROXY_REFUSE) go_on_refusing(c);
}

static void refuse(ProxyConn *c, const char *status, const char *why) {
    drop_lookup(c);
    close_end(c, PROXY_SERVER);
    c->state = PROXY_REFUSE;
    allow_time(c, REFUSE_TIME);
    buf_reset(&c->down.pending);
    c->down.at = 0;
    buf_add_fmt(&c->down.pending, "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\nConnection: close\r\n\r\nharness: %s\n",
                status, strlen(why) + sizeof "harness: \n" - 1, why);
    send_refusal(c);
}

static void decide(const ProxyConn *c, bool allowed, const char *why) {
    const Target *t = &c->head.target;
    if (c->shared->watch) c->shared->watch(c->shared->ctx, str_from(t->host), t->port, allowed, why);
}

static void forbid(ProxyConn *c, const Error *err) {
    decide(c, false, err->msg);
    refuse(c, "403 Forbidden", err->msg);
}

/* ---- relaying ---- */

static uint32_t reads(const ProxyFlow *f) { return !f->ended && !proxy_flow_has_pending(f) ? EPOLLIN : 0; }
static uint32_t writes(const ProxyFlow *f) { return proxy_flow_has_pending(f) ? EPOLLOUT : 0; }

static void relay(ProxyConn *c) {
    int client = c->end[PROXY_CLIENT].fd, server = c->end[PROXY_SERVER].fd;
    bool answered = c->down.carried > 0;
    bool ok = proxy_flow_pump(&c->up, client, server, c->shared->room) && !(answered && c->up.more)   /* a second request? */
              && proxy_flow_pump(&c->down, server, client, c->shared->room);
    c->up.more = false;
    bool over = c->down.shut && (c->up.shut || c->up.body);            /* a plain request ends with its response */
    if (!ok || over) {
        c->state = PROXY_GONE;
        return;
    }
    allow_time(c, c->up.shut || c->down.shut ? HALF_TIME : IDLE_TIME);
    want(c, PROXY_CLIENT, reads(&c->up) | writes(&c->down));
    want(c, PROXY_SERVER, reads(&c->down) | writes(&c->up));
}

static void start_relay(ProxyConn *c) {
    bool ok = true;
    c->state = PROXY_RELAY;
    if (c->head.connect) {
        buf_add(&c->down.pending, STR("HTTP/1.1 200 Connection established\r\n\r\n"));
    } else {
        buf_add(&c->up.pending, buf_str(&c->head.forward));
        proxy_body_start(&c->body, &c->head);
        c->up.body = &c->body;
    }
    ok = proxy_flow_add(&c->up, c->head.rest);
    buf_clear(&c->head.bytes);
    buf_clear(&c->head.forward);
    if (ok) relay(c);
    else refuse(c, "400 Bad Request", "malformed chunked body");
}

/* ---- connecting ---- */

static void cannot_connect(ProxyConn *c) {
    Error err = { 0 };
    Buf where = { 0 };
    char reason[100];
    target_authority(&c->head.target, 0, &where);
    error_set(&err, ERR_IO, "connect to %s: %s", where.at, strerror_r(c->last_errno, reason, sizeof reason));
    refuse(c, c->last_errno == ETIMEDOUT ? "504 Gateway Timeout" : "502 Bad Gateway", err.msg);
    buf_clear(&where);
}

/* Starts connecting to the next address that accepts. */
static void try_next(ProxyConn *c) {
    close_end(c, PROXY_SERVER);
    while (c->next_address < c->found.n) {
        const Address *a = &c->found.at[c->next_address++];
        struct sockaddr_storage to;
        socklen_t n = address_to_socket(a, c->head.target.port, &to);
        int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0) {
            c->last_errno = errno;
            continue;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
        if (connect(fd, (struct sockaddr *)&to, n) == 0 || errno == EINPROGRESS) {
            set_end(c, PROXY_SERVER, fd);
            allow_time(c, c->next_address < c->found.n ? CONNECT_FIRST_TIME : CONNECT_TIME);
            want(c, PROXY_SERVER, EPOLLOUT);
            return;
        }
        c->last_errno = errno;
        close(fd);
    }
    cannot_connect(c);
}

static void on_connected(ProxyConn *c) {
    int problem = 0;
    socklen_t n = sizeof problem;
    if (getsockopt(c->end[PROXY_SERVER].fd, SOL_SOCKET, SO_ERROR, &problem, &n) < 0) problem = errno;
    if (problem == 0) {
        start_relay(c);
        return;
    }
    c->last_errno = problem;
    try_next(c);
}

/* ---- deciding ---- */

static void on_found(ProxyConn *c) {
    Error err = { 0 };
    Addresses found;
    Lookup *lookup = c->lookup;
    close_end(c, PROXY_LOOKUP);
    c->lookup = NULL;
    if (!lookup_end(lookup, &found, &err)) {
        refuse(c, "502 Bad Gateway", err.msg);
        return;
    }
    c->found.n = 0;
    for (size_t i = 0; i < found.n; i++)
        if (rule_allows_address(c->shared->rules, &c->head.target, &found.at[i], &err)) c->found.at[c->found.n++] = found.at[i];
    if (c->found.n == 0) {
        forbid(c, &err);
        return;
    }
    decide(c, true, NULL);
    c->state = PROXY_CONNECT;
    try_next(c);
}

static void on_request(ProxyConn *c) {
    Error err = { 0 };
    want(c, PROXY_CLIENT, 0);
    if (!rule_allows_target(c->shared->rules, &c->head.target, &err)) {
        forbid(c, &err);
        return;
    }
    c->lookup = lookup_start(c->shared->resolver, &c->head.target, &err);
    if (!c->lookup) {
        refuse(c, "503 Service Unavailable", err.msg);
        return;
    }
    c->state = PROXY_LOOKING;
    allow_time(c, LOOKUP_TIME);
    set_end(c, PROXY_LOOKUP, lookup_fd(c->lookup));
    want(c, PROXY_LOOKUP, EPOLLIN);
}

static void on_head(ProxyConn *c) {
    enum { PIECE = 16 << 10 };
    Error err = { 0 };
    ssize_t n = recv(c->end[PROXY_CLIENT].fd, c->shared->room, PIECE, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        c->state = PROXY_GONE;
        return;
    }
    switch (proxy_head_feed(&c->head, (Str){ c->shared->room, (size_t)n }, &err)) {
    case FEED_MORE: break;
    case FEED_READY: on_request(c); break;
    case FEED_BAD: refuse(c, err.kind == ERR_LIMIT ? "431 Request Header Fields Too Large" : "400 Bad Request", err.msg); break;
    }
}

void proxy_conn_event(ProxyConn *c, ProxyPart part, uint32_t events) {
    if (c->state == PROXY_GONE || c->end[part].events == 0) return;    /* a stale event, from before its state
                                                                        * changed */
    if (c->state == PROXY_RELAY && (events & EPOLLERR)) {
        c->state = PROXY_GONE;
        return;
    }
    switch (c->state) {
    case PROXY_HEAD: on_head(c); break;
    case PROXY_LOOKING: on_found(c); break;
    case PROXY_CONNECT: on_connected(c); break;
    case PROXY_RELAY: relay(c); break;
    case PROXY_REFUSE: send_refusal(c); break;
    case PROXY_GONE: break;
    }
}

void proxy_conn_expire(ProxyConn *c, int64_t now) {
    if (now < c->deadline) return;
    switch (c->state) {
    case PROXY_HEAD: refuse(c, "408 Request Timeout", "the request head was not received in time"); break;
    case PROXY_LOOKING: refuse(c, "504 Gateway Timeout", "the name server did not answer in time"); break;
    case PROXY_CONNECT:
        c->last_errno = ETIMEDOUT;
        try_next(c);
        break;
    default: c->state = PROXY_GONE; break;
    }
}
