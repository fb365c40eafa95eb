/* Standard input and output: one message a line.
 *
 * The main thread reads a request and works on it at once, without waking anybody: that is the quickest way for one call after another. But
 * nobody reads meanwhile, and somebody must: to take a cancellation, to start what was sent behind it. So a second thread looks on. When
 * the main one has been at the same request for a few ticks, it takes over the reading and gives all that takes long to the crew; when the
 * main one is done, it gets the reading back. Answers are gathered while whole messages lie waiting, and written together. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "mcp/peer.h"
#include "mcp/serve_output.h"
#include "mcp/serve_poll.h"

enum { TICK_NS = 4000000, LONG_TICKS = 4, ASLEEP_AFTER = 25, READ_SIZE = 64 << 10, GRACE_MS = 10000 };

typedef struct Stdio {
    McpLink link;                        /* of everything that is said */
    ServeOutput *out;
    McpServer *server;
    McpPeer *peer;
    int in;
    Cancel *stop;
    RpcLines lines;                      /* of whoever reads */
    ServePoll wait;                      /* the same */
    char *bytes;                         /* READ_SIZE of them */
    bool ended;                          /* no more will be read; of whoever reads */

    _Atomic uint64_t works;              /* odd: the main thread is at a request; counts its beginnings and ends */
    _Atomic bool taken;                  /* the second thread reads; set with the lock held */
    _Atomic bool asleep;                 /* it waits without ticks; the same */
    pthread_mutex_t lock;                /* guards what follows */
    pthread_cond_t changed;
    bool over;                           /* the second thread is to end */
    bool watched;                        /* it runs; the main thread's */
    int wake;                            /* an eventfd: it is to stop reading */
    pthread_t watcher;
} Stdio;

/* ---- the link ---- */

static bool send_line(McpLink *l, Str message, bool last) {
    (void)last;
    return serve_output_add(((Stdio *)l)->out, message);
}

static void keep_link(McpLink *l) { (void)l; }               /* it ends with the function that has it */

static void refuse(Stdio *io, const Error *err) {
    Buf out = { 0 };
    rpc_write_error(&out, VALUE_GONE, RPC_INVALID_REQUEST, str_from(err->msg), VALUE_GONE);
    serve_output_add(io->out, buf_str(&out));
    buf_clear(&out);
}

/* ---- reading ---- */

typedef enum { READ_LINE, READ_END, READ_LEFT } ReadWhat;    /* READ_LEFT: the reading goes to the other thread */

/* Waits for bytes. False: there are none, *what says why. A last line without its end counts. */
static bool read_bytes(Stdio *io, bool second, Str *out, ReadWhat *what) {
    struct pollfd fds[] = { { io->in, POLLIN, 0 }, { cancel_fd(io->stop), POLLIN, 0 }, { second ? io->wake : -1, POLLIN, 0 } };
    ssize_t n = -1;
    *what = READ_END;
    if (serve_poll(&io->wait, fds, 3, cancel_poll_ms(io->stop)) < 0 && errno != EINTR) return false;
    if (cancel_expired(io->stop)) return false;
    if (fds[2].revents) return *what = READ_LEFT, false;
    if (!fds[0].revents) return *out = STR(""), true;
    n = read(io->in, io->bytes, READ_SIZE);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return *out = STR(""), true;
    if (n > 0) return *out = (Str){ io->bytes, (size_t)n }, true;
    if (io->lines.held.n == io->lines.used) return false;
    return *out = STR("\n"), true;
}

static ReadWhat next_line(Stdio *io, bool second, Str *line) {
    Str bytes = STR("");
    ReadWhat what;
    for (;;) {
        MEM_UNSET Error err;                                 /* only for a line that is bad */
        Feed fed = rpc_lines(&io->lines, bytes, line, &err);
        bytes = STR("");
        if (fed == FEED_READY) return READ_LINE;
        if (fed == FEED_BAD) {
            refuse(io, &err);
            continue;
        }
        serve_output_hold(io->out, false);                   /* nobody gathers while nobody works: others may answer meanwhile */
        if (!read_bytes(io, second, &bytes, &what)) return what;
        serve_output_hold(io->out, !second);
    }
}

/* ---- the second thread ---- */

static void read_on(Stdio *io) {
    Str line;
    ReadWhat what;
    serve_output_hold(io->out, false);
    while ((what = next_line(io, true, &line)) == READ_LINE) {
        Flight *f = peer_begin(io->peer, line, MCP_NONE, &io->link);
        if (!f) continue;
        peer_work_later(io->server, f);
        peer_wait_for_room(io->peer);
    }
    io->ended = what == READ_END;
    if (io->ended) peer_drain(io->peer, cancel_expired(io->stop) ? 0 : GRACE_MS);
}

/* The main thread says first that it is done and looks then whether it was taken over; here it is the other way round. So one of the two sees
 * the other. */
static void take_over(Stdio *io, uint64_t works) {
    uint64_t n;
    atomic_store(&io->taken, true);
    if (atomic_load(&io->works) == works) {
        pthread_mutex_unlock(&io->lock);
        read_on(io);
        pthread_mutex_lock(&io->lock);
        (void)!read(io->wake, &n, sizeof n);
    }
    atomic_store(&io->taken, false);
    pthread_cond_broadcast(&io->changed);
}

static void *watch(void *arg) {
    Stdio *io = arg;
    int quiet = 0, same = 0;                                 /* fewer than LONG_TICKS may be a busy machine, or a slow disk */
    pthread_mutex_lock(&io->lock);
    while (!io->over) {
        uint64_t seen = atomic_load(&io->works), now = seen;
        bool sleep = quiet > ASLEEP_AFTER && seen % 2 == 0;   /* at a request: somebody must look on */
        atomic_store(&io->asleep, sleep);
        if (sleep) now = atomic_load(&io->works);            /* who began before that wakes nobody */
        if (!sleep) thread_cond_wait(&io->changed, &io->lock, clock_mono_ns() + TICK_NS);
        else if (now == seen) pthread_cond_wait(&io->changed, &io->lock);
        atomic_store(&io->asleep, false);
        now = atomic_load(&io->works);
        quiet = now % 2 || now != seen ? 0 : quiet + 1;
        same = now % 2 && now == seen ? same + 1 : 0;
        if (same >= LONG_TICKS && !io->ended && !io->over) take_over(io, now), same = 0;
    }
    pthread_mutex_unlock(&io->lock);
    return NULL;
}

/* ---- the main thread ---- */

static void wake_watcher(Stdio *io) {
    pthread_mutex_lock(&io->lock);
    pthread_cond_broadcast(&io->changed);
    pthread_mutex_unlock(&io->lock);
}

static void take_back(Stdio *io) {
    pthread_mutex_lock(&io->lock);
    if (atomic_load(&io->taken)) (void)!write(io->wake, &(uint64_t){ 1 }, sizeof(uint64_t));
    while (atomic_load(&io->taken)) pthread_cond_wait(&io->changed, &io->lock);
    pthread_mutex_unlock(&io->lock);
}

/* Without a second thread nobody could cancel: the crew does it then. */
static void work(Stdio *io, Flight *f) {
    if (!io->watched) io->watched = thread_start(&io->watcher, watch, io) == 0;
    if (!io->watched) return peer_work_later(io->server, f);
    atomic_fetch_add(&io->works, 1);
    if (atomic_load(&io->asleep)) wake_watcher(io);
    peer_work(f);
    atomic_fetch_add(&io->works, 1);
    if (atomic_load(&io->taken)) take_back(io);
}

static void serve(Stdio *io) {
    Str line;
    while (!io->ended && next_line(io, false, &line) == READ_LINE) {
        Flight *f = peer_begin(io->peer, line, MCP_NONE, &io->link);
        if (f) work(io, f);
    }
    serve_output_hold(io->out, false);
}

static void end_watching(Stdio *io) {
    pthread_mutex_lock(&io->lock);
    io->over = true;
    pthread_cond_broadcast(&io->changed);
    pthread_mutex_unlock(&io->lock);
    if (io->watched) pthread_join(io->watcher, NULL);
}

bool mcp_serve_stdio(McpServer *s, int in_fd, int out_fd, Cancel *stop, Error *err) {
    Stdio io = { .link = { .send = send_line, .free = keep_link, .holders = 1 }, .server = s, .in = in_fd, .stop = stop, .bytes = mem_alloc(READ_SIZE) };
    pthread_mutex_init(&io.lock, NULL);
    thread_cond_init(&io.changed);
    io.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    io.out = serve_output_new(out_fd, stop);
    bool ok = io.wake >= 0 || error_set(err, ERR_IO, "eventfd: %m");
    if (ok) io.peer = mcp_peer_new(s, &(McpPeerConfig){ .general = &io.link, .one_link = true }, err);
    ok = io.peer != NULL;
    if (ok) serve(&io);
    end_watching(&io);
    mcp_peer_close(io.peer, cancel_expired(stop) || serve_output_gone(io.out) ? 0 : GRACE_MS);
    serve_output_free(io.out);
    if (io.wake >= 0) close(io.wake);
    rpc_lines_clear(&io.lines);
    pthread_mutex_destroy(&io.lock);
    pthread_cond_destroy(&io.changed);
    free(io.bytes);
    return ok;
}
