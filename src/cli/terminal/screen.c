#include "cli/terminal/screen.h"
#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/file.h"
#include "base/thread.h"
#include "base/vec.h"

typedef struct Waiting { int fd; bool stream; size_t n; } Waiting;       /* n bytes of `text` */

/* Guarded by `lock`. `held` > 0: `holder` may write, others append to the queue. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t freed;
    unsigned held, wanted;               /* wanted: threads inside screen_hold */
    pthread_t holder;
    int wanted_fd;                       /* eventfd, readable while wanted > 0; -1: none yet */
    bool live, mid_line, abandoned;
    int live_fd;
    VEC(Waiting) queue;
    Buf text;
    size_t dropped;
} screen = { .lock = PTHREAD_MUTEX_INITIALIZER, .wanted_fd = -1 };

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start(void) {
    thread_cond_init(&screen.freed);
    screen.wanted_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

static void lock(void) {
    pthread_once(&once, start);
    pthread_mutex_lock(&screen.lock);
}

/* ---- output; with the lock held ---- */

static void erase_live(void) {
    if (screen.live) (void)file_write(screen.live_fd, STR("\r\033[K"));
    screen.live = false;
}

/* Colours do not move the cursor. */
static void note_line(Str text) {
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] == 033) {
            while (i < text.n && text.at[i] != 'm') i++;
        } else {
            screen.mid_line = text.at[i] != '\n';
        }
    }
}

static bool show(int fd, Str text, bool stream) {
    erase_live();
    if (stream) note_line(text);
    return file_write(fd, text);
}

static bool must_wait(bool stream) {
    if (screen.abandoned) return false;
    if (screen.held) return !pthread_equal(screen.holder, pthread_self());
    return screen.mid_line && !stream;
}

static void enqueue(int fd, Str text, bool stream) {
    if (screen.dropped || screen.text.n + text.n > SCREEN_QUEUE_MAX) {           /* once output was dropped, drops all that follows: no gaps */
        screen.dropped += text.n;
        return;
    }
    buf_add(&screen.text, text);
    VEC_PUSH(&screen.queue, ((Waiting){ fd, stream, text.n }));
}

static void show_dropped(void) {
    Buf line = { 0 };
    if (!screen.dropped) return;
    buf_add_fmt(&line, "harness: %zu bytes of output are not shown: too much arrived while a question was open\n", screen.dropped);
    (void)show(STDERR_FILENO, buf_str(&line), false);
    buf_clear(&line);
    screen.dropped = 0;
}

/* Writes the waiting output in order, unless a streamed line is open: then only the rest of that line is written first. */
static void flush(void) {
    size_t at = 0, n = 0;
    while (n < screen.queue.n && (!screen.mid_line || screen.queue.at[n].stream)) {
        Waiting w = screen.queue.at[n++];
        (void)show(w.fd, str_sub(buf_str(&screen.text), at, at + w.n), w.stream);
        at += w.n;
    }
    if (n == screen.queue.n) {
        show_dropped();
        screen.queue.n = 0;
        buf_clear(&screen.text);
        return;
    }
    memmove(screen.queue.at, screen.queue.at + n, (screen.queue.n - n) * sizeof *screen.queue.at);
    screen.queue.n -= n;
    memmove(screen.text.at, screen.text.at + at, screen.text.n - at);
    screen.text.n -= at;
}

static bool write_as(int fd, Str text, bool stream) {
    bool ok = true;
    lock();
    if (must_wait(stream)) {
        enqueue(fd, text, stream);
    } else {
        ok = show(fd, text, stream);
        if (!screen.held && !screen.mid_line && screen.queue.n) flush();
    }
    pthread_mutex_unlock(&screen.lock);
    return ok;
}

bool screen_write(int fd, Str text) { return write_as(fd, text, false); }
bool screen_stream(int fd, Str text) { return write_as(fd, text, true); }

/* ---- the live line ---- */

void screen_live(int fd, Str line) {
    lock();
    if (!screen.held && !screen.mid_line) {
        (void)file_write(fd, STR("\r\033[K"));
        (void)file_write(fd, line);
        screen.live = true;
        screen.live_fd = fd;
    }
    pthread_mutex_unlock(&screen.lock);
}

void screen_live_end(void) {
    lock();
    erase_live();
    pthread_mutex_unlock(&screen.lock);
}

/* ---- holding ---- */

static void want(bool on) {
    uint64_t one = 1;
    screen.wanted += on ? 1 : -1u;
    if (on) (void)!write(screen.wanted_fd, &one, sizeof one);
    else if (screen.wanted == 0) (void)!read(screen.wanted_fd, &one, sizeof one);
}

static void take(void) {
    screen.held = 1;
    screen.holder = pthread_self();
    erase_live();
    if (screen.mid_line) (void)file_write(STDERR_FILENO, STR("\n"));
    screen.mid_line = false;
}

bool screen_hold(Cancel *cancel) {
    Error ignored;
    bool ok = true;
    lock();
    if (screen.held && pthread_equal(screen.holder, pthread_self())) {
        screen.held++;
    } else {
        want(true);
        while (ok && screen.held) ok = cancel_wait(&screen.freed, &screen.lock, cancel, INT64_MAX, &ignored);
        want(false);
        if (ok) take();
        else pthread_cond_broadcast(&screen.freed);
    }
    pthread_mutex_unlock(&screen.lock);
    return ok;
}

static void release_all(void) {
    screen.held = 0;
    flush();
    pthread_cond_broadcast(&screen.freed);
}

void screen_release(void) {
    lock();
    if (screen.held == 1) release_all();
    else if (screen.held) screen.held--;
    pthread_mutex_unlock(&screen.lock);
}

int screen_wanted_fd(void) {
    pthread_once(&once, start);
    return screen.wanted_fd;
}

void screen_yield(void) {
    lock();
    unsigned held = screen.held;
    release_all();
    while (screen.held || screen.wanted) pthread_cond_wait(&screen.freed, &screen.lock);
    take();
    screen.held = held;
    pthread_mutex_unlock(&screen.lock);
}

void screen_abandon(void) {
    pthread_once(&once, start);
    if (pthread_mutex_trylock(&screen.lock) != 0) return;        /* a thread is blocked in a write: the terminal is stopped */
    erase_live();
    screen.abandoned = true;
    screen.mid_line = false;
    flush();
    pthread_mutex_unlock(&screen.lock);
}
