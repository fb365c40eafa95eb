#include "mcp/host/output.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"

enum { KEEP_MAX = 1 << 20, QUEUE_MAX = 1 << 20, PIECE = 4096, LAST_WORDS_MS = 1000 };

/* A write must not block in a way that `stop` cannot interrupt. Sockets use MSG_DONTWAIT. A pipe is reopened as
 * non-blocking, so that other users of the descriptor are not affected; if that fails, each write is small enough to
 * fit after poll(). */
struct ServeOutput {
    int fd;
    bool own, socket, small;
    Cancel *stop;
    pthread_mutex_t lock;
    pthread_cond_t written;              /* the queue is empty again */
    Buf queue;                           /* whole lines that no thread writes yet; guarded by the lock */
    bool writing;                        /* a thread writes `text`, without the lock; guarded by the lock */
    Buf text;
    _Atomic bool gone;
};

ServeOutput *serve_output_new(int fd, Cancel *stop) {
    ServeOutput *o = mem_zero(1, sizeof *o);
    struct stat st;
    pthread_mutex_init(&o->lock, NULL);
    pthread_cond_init(&o->written, NULL);
    o->fd = fd;
    o->stop = stop;
    if (fstat(fd, &st) != 0) return o;
    o->socket = S_ISSOCK(st.st_mode);
    if (S_ISFIFO(st.st_mode)) {
        char path[32];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        int again = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        o->own = again >= 0;
        o->small = !o->own;
        if (o->own) o->fd = again;
    }
    return o;
}

static ssize_t write_some(ServeOutput *o, Str s) {
    if (o->socket) return send(o->fd, s.at, s.n, MSG_DONTWAIT | MSG_NOSIGNAL);
    return write(o->fd, s.at, o->small && s.n > PIECE ? PIECE : s.n);
}

/* False: it will never be ready. */
static bool wait_until_ready(ServeOutput *o) {
    bool stopping = cancel_expired(o->stop);
    struct pollfd fds[] = { { o->fd, POLLOUT, 0 }, { stopping ? -1 : cancel_fd(o->stop), POLLIN, 0 } };
    int n = poll(fds, 2, stopping ? LAST_WORDS_MS : cancel_poll_ms(o->stop));
    return (n < 0 && errno == EINTR) || !stopping || n > 0;
}

static void write_text(ServeOutput *o) {
    Str rest = buf_str(&o->text);
    while (rest.n && !o->gone) {
        if (o->small && !wait_until_ready(o)) o->gone = true;
        ssize_t n = o->gone ? -1 : write_some(o, rest);
        if (n > 0) rest = str_sub(rest, (size_t)n, rest.n);
        else if (o->gone || (errno != EAGAIN && errno != EINTR)) o->gone = true;
        else if (errno == EAGAIN && !wait_until_ready(o)) o->gone = true;
    }
    if (o->text.cap > KEEP_MAX) buf_clear(&o->text);
    else buf_reset(&o->text);
}

/* One write takes all lines that other threads queued during the one before. */
static void write_queue(ServeOutput *o) {
    o->writing = true;
    while (o->queue.n) {
        Buf empty = o->text;
        o->text = o->queue;
        o->queue = empty;
        pthread_cond_broadcast(&o->written);
        pthread_mutex_unlock(&o->lock);
        write_text(o);
        pthread_mutex_lock(&o->lock);
    }
    o->writing = false;
}

bool serve_output_add(ServeOutput *o, Str line) {
    if (o->gone) return false;
    pthread_mutex_lock(&o->lock);
    while (o->queue.n > QUEUE_MAX) pthread_cond_wait(&o->written, &o->lock);     /* the client reads slowly */
    buf_add(&o->queue, line);
    buf_add_char(&o->queue, '\n');
    if (!o->writing) write_queue(o);
    pthread_mutex_unlock(&o->lock);
    return !o->gone;
}

bool serve_output_gone(ServeOutput *o) {
    struct pollfd fd = { o->fd, 0, 0 };
    return o->gone || (poll(&fd, 1, 0) > 0 && (fd.revents & (POLLERR | POLLHUP)));
}

void serve_output_free(ServeOutput *o) {
    if (o->own) close(o->fd);
    buf_clear(&o->text);
    buf_clear(&o->queue);
    pthread_mutex_destroy(&o->lock);
    pthread_cond_destroy(&o->written);
    free(o);
}
