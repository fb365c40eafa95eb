/* Standard input and output: one message a line. The server's scheduler watches the input: the woken thread reads,
 * re-arms the watch, runs the last request itself and writes the response. The calling thread waits until the end. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/thread.h"
#include "mcp/host/host_private.h"
#include "mcp/host/output.h"

enum { READ_SIZE = 64 << 10, GRACE_MS = 10000 };

/* `lines`, `bytes` and `last` belong to the reading job, of which one runs at a time. */
typedef struct Stdio {
    McpLink link;                        /* for all output */
    ServeOutput *out;
    McpPeer *peer;
    int in;
    SchedulerWatch *watch;
    RpcLines lines;
    char *bytes;                         /* READ_SIZE bytes */
    Flight *last;                        /* not scheduled yet */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ended;                          /* end of input; guarded by the lock */
} Stdio;

static bool send_line(McpLink *l, Str message, bool last) {
    (void)last;
    return serve_output_add(((Stdio *)l)->out, message);
}

static void keep_link(McpLink *l) { (void)l; }               /* lives on the stack of the function that serves */

static void refuse(Stdio *io, const Error *err) {
    Buf out = { 0 };
    rpc_write_error(&out, VALUE_GONE, RPC_INVALID_REQUEST, str_from(err->msg), VALUE_GONE);
    serve_output_add(io->out, buf_str(&out));
    buf_clear(&out);
}

static void take_line(Stdio *io, Str line) {
    Flight *f = peer_begin(io->peer, line, MCP_NONE, &io->link);
    if (!f) return;
    if (io->last) peer_schedule(io->last);
    io->last = f;
    peer_wait_for_room(io->peer);
}

static void take_bytes(Stdio *io, Str bytes) {
    for (;;) {
        MEM_UNSET Error err;                                 /* used only for a bad line */
        Str line;
        Feed fed = rpc_lines(&io->lines, bytes, &line, &err);
        bytes = STR("");
        if (fed == FEED_READY) take_line(io, line);
        else if (fed == FEED_BAD) refuse(io, &err);
        else return;
    }
}

static void end(Stdio *io) {
    pthread_mutex_lock(&io->lock);
    io->ended = true;
    pthread_cond_broadcast(&io->changed);
    pthread_mutex_unlock(&io->lock);
}

/* A job of the scheduler: input is readable. An unterminated last line counts. */
static void read_input(void *arg) {
    Stdio *io = arg;
    ssize_t n = read(io->in, io->bytes, READ_SIZE);
    bool over = n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
    if (n > 0) take_bytes(io, (Str){ io->bytes, (size_t)n });
    else if (over && io->lines.held.n > io->lines.used) take_bytes(io, STR("\n"));
    Flight *last = io->last;
    io->last = NULL;
    if (over) end(io);
    else scheduler_watch_again(io->watch);                   /* from here on another thread may read */
    if (last) peer_schedule_last(last);
}

static void wait_for_end(Stdio *io, Cancel *stop) {
    bool ok = true;
    pthread_mutex_lock(&io->lock);
    while (ok && !io->ended) ok = cancel_wait(&io->changed, &io->lock, stop, INT64_MAX, NULL);
    pthread_mutex_unlock(&io->lock);
}

bool mcp_serve_stdio(McpHost *s, int in_fd, int out_fd, Cancel *stop, Error *err) {
    Stdio io = { .link = { .send = send_line, .free = keep_link, .holders = 1 }, .in = in_fd, .bytes = mem_alloc(READ_SIZE) };
    pthread_mutex_init(&io.lock, NULL);
    thread_cond_init(&io.changed);
    io.out = serve_output_new(out_fd, stop);
    io.peer = mcp_peer_new(s, &(McpPeerConfig){ .general = &io.link, .one_link = true }, err);
    bool ok = io.peer && scheduler_watch(s->scheduler, in_fd, read_input, &io, &io.watch, err);
    if (ok) wait_for_end(&io, stop);
    scheduler_unwatch(io.watch);
    mcp_peer_close(io.peer, cancel_expired(stop) || serve_output_gone(io.out) ? 0 : GRACE_MS);
    serve_output_free(io.out);
    rpc_lines_clear(&io.lines);
    pthread_mutex_destroy(&io.lock);
    pthread_cond_destroy(&io.changed);
    free(io.bytes);
    return ok;
}
