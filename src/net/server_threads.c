/* The threads of a server. Whoever has nothing to do polls, one at a time, and works on what it finds at once, without waking anybody: that is
 * the quickest way for one request after another. But nobody polls meanwhile, and somebody must, when a request takes long. So one thread
 * stands by: when nobody has polled for a whole tick, or nobody took what is ready, it goes to work and another stands by. While requests
 * take long, whoever takes one has somebody poll, or take the next, right away. */
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/fault.h"
#include "base/thread.h"
#include "net/server_parts.h"

enum { TICK_NS = 4000000, ASLEEP_AFTER = 25, LONG_NS = 200000, LONG_ONES = 16 };

/* ---- with the server's lock held ---- */

static void *serve(void *arg);
static bool start_thread(Server *s) {
    ServerTeam *t = &s->team;
    pthread_t thread;
    if (t->over || t->threads.n > s->config.threads) return false;         /* one more than may work: it polls */
    bool ok = thread_start(&thread, serve, s) == 0;
    if (ok) VEC_PUSH(&t->threads, thread);
    return ok;
}

static void find_another(Server *s) {
    if (s->team.idle) pthread_cond_signal(&s->team.more);
    else start_thread(s);
}

static bool can_work(const Server *s) { return s->team.ready && s->team.working < s->config.threads; }

static void work_next(Server *s) {
    ServerTeam *t = &s->team;
    ServerRequest *q = t->ready;
    t->ready = q->next_ready;
    if (!t->ready) t->last = &t->ready;
    t->taken++;
    t->working++;
    bool help = t->long_ones && (!t->polling || (t->ready && t->working < t->processors));
    if (help || !t->standing) find_another(s);       /* what it finds to do it does; somebody stands by in the end */
    if (t->asleep) pthread_cond_signal(&t->stand);
    pthread_mutex_unlock(&s->lock);
    int64_t began = clock_mono_ns();
    s->config.handle(s->config.ctx, q);
    server_drop_body(q);
    server_release(q);
    bool took_long = clock_mono_ns() - began > LONG_NS;
    pthread_mutex_lock(&s->lock);
    t->working--;
    if (took_long) t->long_ones = LONG_ONES;
    else if (t->long_ones) t->long_ones--;
}

/* Either whoever polls sees `resumed`, or whoever resumes sees that somebody polls. */
void server_team_poke(Server *s) {
    atomic_store(&s->team.resumed, true);
    if (atomic_load(&s->team.polling)) (void)!write(s->team.poke, &(uint64_t){ 1 }, sizeof(uint64_t));
}

/* The library tells when it has more to do at once; it has no other timeouts. */
static void poll_once(Server *s) {
    ServerTeam *t = &s->team;
    uint64_t pokes;
    MHD_UNSIGNED_LONG_LONG ms;
    atomic_store(&t->polling, true);
    bool quiesce = s->stopping && !t->quiesced;
    t->quiesced |= quiesce;
    pthread_mutex_unlock(&s->lock);
    if (quiesce) s->mhd->MHD_quiesce_daemon(s->daemon);
    struct pollfd fds[] = { { t->epoll, POLLIN, 0 }, { t->poke, POLLIN, 0 } };
    int wait = s->mhd->MHD_get_timeout(s->daemon, &ms) == MHD_YES ? (ms > 1000 ? 1000 : (int)ms) : -1;
    if (wait != 0 && !atomic_exchange(&t->resumed, false)) poll(fds, 2, wait);
    if (fds[1].revents) (void)!read(t->poke, &pokes, sizeof pokes);
    s->mhd->MHD_run(s->daemon);
    pthread_mutex_lock(&s->lock);
    atomic_store(&t->polling, false);
    t->polls++;
}

static void stand_by(Server *s) {
    ServerTeam *t = &s->team;
    int quiet = 0;
    bool stuck = false;
    t->standing = true;
    while (!t->over && !stuck) {
        uint64_t polls = t->polls, taken = t->taken;
        bool polled = t->polling, ready = can_work(s);
        t->asleep = quiet > ASLEEP_AFTER;
        if (t->asleep) pthread_cond_wait(&t->stand, &s->lock);
        else thread_cond_wait(&t->stand, &s->lock, clock_mono_ns() + TICK_NS);
        quiet = t->asleep || !t->polling || t->ready || taken != t->taken ? 0 : quiet + 1;     /* who takes a request wakes it */
        t->asleep = false;
        stuck = (!polled && !t->polling && polls == t->polls) || (ready && can_work(s) && taken == t->taken);
    }
    t->standing = false;
    if (!t->over) find_another(s);
}

static void wait_for_turn(Server *s) {
    if (!s->team.standing) {
        stand_by(s);
        return;
    }
    s->team.idle++;
    pthread_cond_wait(&s->team.more, &s->lock);
    s->team.idle--;
}

static void *serve(void *arg) {
    Server *s = arg;
    pthread_mutex_lock(&s->lock);
    while (!s->team.over) {
        if (can_work(s)) work_next(s);
        else if (!s->team.polling) poll_once(s);
        else wait_for_turn(s);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

void server_team_add(Server *s, ServerRequest *q) {
    *s->team.last = q;
    s->team.last = &q->next_ready;
}

/* ---- start and stop ---- */

bool server_team_start(Server *s, Error *err) {
    ServerTeam *t = &s->team;
    pthread_cond_init(&t->more, NULL);
    thread_cond_init(&t->stand);
    t->made = true;
    t->last = &t->ready;
    t->processors = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    t->epoll = s->mhd->MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    t->poke = fault_hit() ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (t->poke < 0) return error_set(err, ERR_IO, "start the HTTP server: eventfd: %m");
    pthread_mutex_lock(&s->lock);
    bool ok = true;
    for (int i = 0; i < 2; i++) ok = ok && start_thread(s);  /* one polls, one stands by */
    pthread_mutex_unlock(&s->lock);
    return ok || error_set(err, ERR_IO, "start the HTTP server: no thread could be started");
}

static void cut_ready(Server *s) {
    for (;;) {
        pthread_mutex_lock(&s->lock);
        ServerRequest *q = s->team.ready;
        if (q) s->team.ready = q->next_ready;
        pthread_mutex_unlock(&s->lock);
        if (!q) return;
        server_cut(q);
        server_release(q);
    }
}

void server_team_stop(Server *s) {
    ServerTeam *t = &s->team;
    if (!t->made) return;
    pthread_mutex_lock(&s->lock);
    t->over = true;
    pthread_cond_broadcast(&t->more);
    pthread_cond_broadcast(&t->stand);
    pthread_mutex_unlock(&s->lock);
    server_team_poke(s);
    for (size_t i = 0; i < t->threads.n; i++) pthread_join(t->threads.at[i], NULL);      /* none is started any more */
    VEC_CLEAR(&t->threads);
    cut_ready(s);
    if (t->poke >= 0) close(t->poke);
    pthread_cond_destroy(&t->more);
    pthread_cond_destroy(&t->stand);
    t->made = false;
}
