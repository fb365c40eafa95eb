/* The watching thread. The library ignores a suspended connection and counts a byte a minute as activity, so this
 * thread enforces all deadlines and detects peers that leave. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/fault.h"
#include "base/thread.h"
#include "net/http_server_private.h"

enum { EVENTS = 64, TICK_MS = 100, HALF_MS = 1000, MS = 1000000 };

static void wake(HttpServer *s) {
    uint64_t one = 1;
    ssize_t n = write(s->wake, &one, sizeof one);
    (void)n;                                           /* full: the thread wakes anyway */
}

/* ---- called by other threads ---- */

/* Edge-triggered, for hang-up only: incoming data raises no event here. */
void http_server_watch_conn(HttpServerConn *c) {
    HttpServer *s = c->server;
    struct epoll_event event = { .events = EPOLLRDHUP | EPOLLET, .data.ptr = c };
    epoll_ctl(s->epoll, EPOLL_CTL_ADD, c->fd, &event); /* if this fails, a peer that left is noticed at the next send */
    pthread_mutex_lock(&s->lock);
    bool first = !s->conns;
    c->next = s->conns;
    if (c->next) c->next->prev = c;
    s->conns = c;
    pthread_mutex_unlock(&s->lock);
    if (first) wake(s);                                /* the thread may wait without a deadline */
}

/* Called before the struct may be freed: the descriptor is closed later and would raise events until then. */
void http_server_watch_forget(HttpServerConn *c) { epoll_ctl(c->server->epoll, EPOLL_CTL_DEL, c->fd, NULL); }

/* The peer has shut down its sending side, so it cannot finish a request. The library reads pending bytes soon, but
 * does not always notice the end. The caller holds the lock. */
static void hurry(HttpServerConn *c) {
    int64_t soon = clock_mono_ns() + (int64_t)HALF_MS * MS;
    if (c->half && (c->phase == CONN_IDLE || c->phase == CONN_READING) && soon < c->deadline) c->deadline = soon;
}

void http_server_watch_phase(HttpServerConn *c, HttpServerPhase phase, int64_t timeout_ms, HttpServerRequest *q) {
    HttpServer *s = c->server;
    pthread_mutex_lock(&s->lock);
    c->phase = phase;
    c->deadline = timeout_ms ? clock_mono_ns() + timeout_ms * MS : INT64_MAX;
    c->now = q;
    hurry(c);
    pthread_mutex_unlock(&s->lock);
}

void http_server_watch_gone(HttpServerRequest *q) {
    HttpServer *s = q->server;
    http_server_keep(q);
    pthread_mutex_lock(&s->lock);
    q->next_gone = s->gone;
    s->gone = q;
    pthread_mutex_unlock(&s->lock);
    wake(s);
}

/* ---- the thread ---- */

static void notify_gone(HttpServer *s) {
    for (;;) {
        pthread_mutex_lock(&s->lock);
        HttpServerRequest *q = s->gone;
        if (q) s->gone = q->next_gone;
        s->telling = q;
        pthread_mutex_unlock(&s->lock);
        if (!q) return;
        pthread_mutex_lock(&q->lock);
        void (*gone)(void *, HttpServerRequest *) = q->on_gone;
        void *ctx = q->on_gone_ctx;
        pthread_mutex_unlock(&q->lock);
        if (gone) gone(ctx, q);
        pthread_mutex_lock(&s->lock);
        s->telling = NULL;
        pthread_cond_broadcast(&s->told);
        pthread_mutex_unlock(&s->lock);
        http_server_release(q);
    }
}

static void peer_ended(HttpServerConn *c) {
    HttpServer *s = c->server;
    pthread_mutex_lock(&s->lock);
    HttpServerRequest *q = c->closed ? NULL : c->now;
    c->half = true;
    hurry(c);
    if (q) http_server_keep(q);
    pthread_mutex_unlock(&s->lock);
    if (!q) return;
    http_server_request_left(q);
    http_server_release(q);
}

/* Shuts down both directions of the socket; the library notices and closes it. */
static void close_late(HttpServer *s) {
    int64_t now = clock_mono_ns();
    pthread_mutex_lock(&s->lock);
    for (HttpServerConn *c = s->conns; c; c = c->next) {
        if (now < c->deadline) continue;
        c->deadline = INT64_MAX;
        shutdown(c->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&s->lock);
}

static void free_dead(HttpServer *s) {
    pthread_mutex_lock(&s->lock);
    HttpServerConn *c = s->dead;
    s->dead = NULL;
    pthread_mutex_unlock(&s->lock);
    for (HttpServerConn *next; c; c = next) {
        next = c->next;
        free(c);
    }
}

static bool is_watching(HttpServer *s) {
    pthread_mutex_lock(&s->lock);
    bool watching = s->watching;
    pthread_mutex_unlock(&s->lock);
    return watching;
}

/* Without connections and without `tick` there is nothing to do until one is made. */
static int wait_ms(HttpServer *s) {
    pthread_mutex_lock(&s->lock);
    bool idle = !s->conns && !s->dead && !s->config.tick;
    pthread_mutex_unlock(&s->lock);
    return idle ? -1 : TICK_MS;
}

static void *watch(void *arg) {
    HttpServer *s = arg;
    int64_t next = 0;
    while (is_watching(s)) {
        struct epoll_event events[EVENTS];
        free_dead(s);                                  /* no event of an earlier batch refers to them */
        int n = epoll_wait(s->epoll, events, EVENTS, wait_ms(s));
        for (int i = 0; i < n; i++) {
            uint64_t count;
            if (events[i].data.ptr != s) peer_ended(events[i].data.ptr);
            else if (read(s->wake, &count, sizeof count) < 0) continue;
        }
        notify_gone(s);
        int64_t now = clock_mono_ns();
        if (now < next) continue;
        next = now + TICK_MS * MS;
        close_late(s);
        if (s->config.tick) s->config.tick(s->config.ctx);
    }
    notify_gone(s);
    free_dead(s);
    return NULL;
}

bool http_server_watch_start(HttpServer *s, Error *err) {
    s->epoll = fault_hit() ? -1 : epoll_create1(EPOLL_CLOEXEC);
    s->wake = fault_hit() ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = s };
    if (s->epoll < 0 || s->wake < 0 || epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->wake, &event) < 0)
        return error_set(err, ERR_IO, "start the HTTP server: %m");
    s->watching = true;
    errno = thread_start(&s->watcher, watch, s);
    if (errno == 0) return true;
    s->watching = false;
    return error_set(err, ERR_IO, "start the HTTP server: %m");
}

void http_server_watch_stop(HttpServer *s) {
    if (is_watching(s)) {
        pthread_mutex_lock(&s->lock);
        s->watching = false;
        pthread_mutex_unlock(&s->lock);
        wake(s);
        pthread_join(s->watcher, NULL);
    }
    if (s->epoll >= 0) close(s->epoll);
    if (s->wake >= 0) close(s->wake);
}
