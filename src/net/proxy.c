#include "net/proxy.h"
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/thread.h"
#include "net/proxy_conn.h"

enum { EVENTS = 64, BACKLOG = 128, PAUSE_MS = 100, ACCEPTS = 16 };

/* `gone` holds connections closed during the current batch of events: later events may still point to them. */
struct Proxy {
    ProxyShared shared;
    int listener, stop;
    uint16_t port;
    bool listening;                      /* is the listener in the epoll set? */
    int64_t listen_again;                /* out of descriptors: when to accept again */
    ProxyConn *conns, *gone;
    size_t n;
    pthread_t thread;
};

/* ---- the listener ---- */

static void listen_if_room(Proxy *p, int64_t now) {
    bool listening = p->n < PROXY_CONNECTIONS_MAX && now >= p->listen_again;
    if (listening == p->listening) return;
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = &p->listener };
    if (epoll_ctl(p->shared.epoll, listening ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, p->listener, &event) == 0) p->listening = listening;
}

static void add_conn(Proxy *p, int fd) {
    ProxyConn *c = proxy_conn_new(&p->shared, fd);
    c->next = p->conns;
    if (c->next) c->next->prev = c;
    p->conns = c;
    p->n++;
}

static void accept_some(Proxy *p) {
    for (int i = 0; i < ACCEPTS && p->n < PROXY_CONNECTIONS_MAX; i++) {
        int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            add_conn(p, fd);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            p->listen_again = clock_mono_ns() + PAUSE_MS * (int64_t)1000000;
        return;
    }
}

/* ---- the loop ---- */

static void retire(Proxy *p, ProxyConn *c) {
    if (c->prev) c->prev->next = c->next;
    else p->conns = c->next;
    if (c->next) c->next->prev = c->prev;
    c->prev = NULL;
    c->next = p->gone;
    p->gone = c;
    p->n--;
}

static void free_gone(Proxy *p) {
    for (ProxyConn *c = p->gone, *next; c; c = next) {
        next = c->next;
        proxy_conn_free(c);
    }
    p->gone = NULL;
}

static void check_deadlines(Proxy *p, int64_t now) {
    if (now < p->shared.next_deadline) return;
    p->shared.next_deadline = INT64_MAX;
    for (ProxyConn *c = p->conns, *next; c; c = next) {
        next = c->next;
        proxy_conn_expire(c, now);
        if (c->state == PROXY_GONE) retire(p, c);
        else if (c->deadline < p->shared.next_deadline) p->shared.next_deadline = c->deadline;
    }
}

static int wait_ms(const Proxy *p, int64_t now) {
    int64_t until = p->shared.next_deadline;
    if (!p->listening && p->listen_again > now && p->listen_again < until) until = p->listen_again;
    if (p->conns == NULL && p->listening) return -1;
    int64_t ms = (until - now) / 1000000 + 1;
    return until <= now ? 0 : ms > 60000 ? 60000 : (int)ms;
}

static void on_end(Proxy *p, ProxyEnd *end, uint32_t events) {
    ProxyConn *c = end->conn;
    if (c->state == PROXY_GONE) return;
    proxy_conn_event(c, end->part, events);
    if (c->state == PROXY_GONE) retire(p, c);
}

static void *serve(void *arg) {
    Proxy *p = arg;
    for (;;) {
        struct epoll_event events[EVENTS];
        int64_t now = clock_mono_ns();
        check_deadlines(p, now);
        free_gone(p);
        listen_if_room(p, now);
        int n = epoll_wait(p->shared.epoll, events, EVENTS, wait_ms(p, now));
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr == &p->stop) return NULL;
            if (events[i].data.ptr == &p->listener) accept_some(p);
            else on_end(p, events[i].data.ptr, events[i].events);
        }
        free_gone(p);
    }
}

/* ---- start and stop ---- */

static bool listen_on_loopback(Proxy *p) {
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof here;
    p->listener = fault_hit() ? -1 : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (p->listener < 0 || bind(p->listener, (struct sockaddr *)&here, sizeof here) < 0 || listen(p->listener, BACKLOG) < 0
        || getsockname(p->listener, (struct sockaddr *)&here, &n) < 0)
        return false;
    p->port = ntohs(here.sin_port);
    return true;
}

static bool open_all(Proxy *p) {
    if (!listen_on_loopback(p)) return false;
    p->shared.epoll = fault_hit() ? -1 : epoll_create1(EPOLL_CLOEXEC);
    p->stop = fault_hit() ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = &p->stop };
    return p->shared.epoll >= 0 && p->stop >= 0 && epoll_ctl(p->shared.epoll, EPOLL_CTL_ADD, p->stop, &event) == 0;
}

static bool start_thread(Proxy *p) {
    errno = thread_start(&p->thread, serve, p);        /* with signals blocked, SIGPIPE above all: splice() raises it */
    return errno == 0;
}

static void clear(Proxy *p) {
    for (ProxyConn *c = p->conns, *next; c; c = next) {
        next = c->next;
        proxy_conn_free(c);
    }
    free_gone(p);
    if (p->listener >= 0) close(p->listener);
    if (p->stop >= 0) close(p->stop);
    if (p->shared.epoll >= 0) close(p->shared.epoll);
    resolver_free(p->shared.resolver);
    free(p->shared.room);
    free(p);
}

bool proxy_start(const Rules *rules, ProxyWatch *watch, void *ctx, Proxy **out, Error *err) {
    Proxy *p = mem_zero(1, sizeof *p);
    p->listener = p->stop = -1;
    p->shared = (ProxyShared){ .epoll = -1, .rules = rules, .watch = watch, .ctx = ctx, .resolver = resolver_new(),
                               .room = mem_alloc(PROXY_CHUNK), .next_deadline = INT64_MAX };
    if (!open_all(p) || !start_thread(p)) {
        error_set(err, ERR_IO, "start the network proxy: %m");
        clear(p);
        return false;
    }
    *out = p;
    return true;
}

uint16_t proxy_port(const Proxy *p) { return p->port; }
Resolver *proxy_resolver(Proxy *p) { return p->shared.resolver; }

void proxy_stop(Proxy *p) {
    if (!p) return;
    uint64_t one = 1;
    ssize_t n = write(p->stop, &one, sizeof one);
    (void)n;                                           /* cannot fail: the eventfd is at zero */
    pthread_join(p->thread, NULL);
    clear(p);
}
