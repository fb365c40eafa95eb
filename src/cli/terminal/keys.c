#include "cli/terminal/keys.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>
#include "base/thread.h"

typedef enum { MODE_BEFORE, MODE_QUIET, MODE_EDITING } Mode;

enum { BACKGROUND_MS = 200 };

/* Read by signal handlers; written only while `mode` is MODE_BEFORE, except for the atomic members. */
static struct { int fd; struct termios before, quiet; atomic_int mode, paste, continued; } tty = { .fd = -1 };

/* Guarded by `lock`. */
static struct {
    pthread_mutex_t lock;
    unsigned users, keepers, asking;
    bool wanted, running;                /* wanted: keys_collect(true); running: the thread */
    pthread_t thread;
    int stop;
    Buf typed;
    size_t taken;                        /* of `typed` */
} keys = { .lock = PTHREAD_MUTEX_INITIALIZER, .stop = -1 };

/* ---- modes; everything here is async-signal-safe ---- */

static void ask_for_paste(bool on) {
    (void)!write(STDERR_FILENO, on ? "\033[?2004h" : "\033[?2004l", 8);
}

static bool in_foreground(void) { return tcgetpgrp(tty.fd) == getpgrp(); }

static void set_before(void) {
    if (atomic_load(&tty.mode) == MODE_BEFORE) return;
    if (atomic_load(&tty.paste)) ask_for_paste(false);
    tcsetattr(tty.fd, TCSANOW, &tty.before);
}

static void set_quiet(void) {
    tcsetattr(tty.fd, TCSANOW, &tty.quiet);
}

/* ---- signals ---- */

static void on_stop(int number) {
    int kept = errno;
    sigset_t one;
    struct sigaction fallback = { .sa_handler = SIG_DFL }, own;
    if (in_foreground()) {
        if (atomic_load(&tty.mode) == MODE_EDITING) (void)!write(STDERR_FILENO, "\033[J", 3);     /* the rest of a long line */
        set_before();
    }
    sigemptyset(&fallback.sa_mask);
    sigaction(number, &fallback, &own);
    sigemptyset(&one);
    sigaddset(&one, number);
    raise(number);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);            /* stops here */
    pthread_sigmask(SIG_BLOCK, &one, NULL);
    sigaction(number, &own, NULL);
    errno = kept;
}

static void on_continue(int number) {
    int kept = errno;
    (void)number;
    if (atomic_load(&tty.mode) != MODE_BEFORE && in_foreground()) {      /* otherwise setting the modes would stop the process again */
        set_quiet();
        if (atomic_load(&tty.paste)) ask_for_paste(true);
        if (atomic_load(&tty.mode) == MODE_EDITING) atomic_store(&tty.continued, 1);
    }
    errno = kept;
}

static void on_end(int number) {
    set_before();
    signal(number, SIG_DFL);
    raise(number);
}

static const struct { int number; void (*handler)(int); } handlers[] = {
    { SIGTSTP, on_stop }, { SIGCONT, on_continue }, { SIGINT, on_end }, { SIGTERM, on_end }, { SIGHUP, on_end }, { SIGQUIT, on_end },
    { SIGSEGV, on_end }, { SIGBUS, on_end }, { SIGFPE, on_end }, { SIGILL, on_end }, { SIGABRT, on_end },
};
enum { HANDLERS = sizeof handlers / sizeof *handlers };

/* Signals that are ignored (nohup) or already handled stay as they are. */
static void handle_signals(bool on) {
    for (size_t i = 0; i < HANDLERS; i++) {
        struct sigaction now, set = { .sa_handler = on ? handlers[i].handler : SIG_DFL };
        sigemptyset(&set.sa_mask);
        set.sa_flags = SA_RESTART;
        if (sigaction(handlers[i].number, NULL, &now) != 0 || now.sa_handler != (on ? SIG_DFL : handlers[i].handler)) continue;
        sigaction(handlers[i].number, &set, NULL);
    }
}

/* ---- the buffer; with the lock held ---- */

static void keep(Str typed) {
    if (keys.taken == keys.typed.n) {
        buf_clear(&keys.typed);
        keys.taken = 0;
    }
    if (keys.typed.n + typed.n <= KEYS_TYPED_MAX) buf_add(&keys.typed, typed);
}

static void drain(int fd) {
    char c[4096];
    if (!keys.keepers) {
        tcflush(fd, TCIFLUSH);
        return;
    }
    for (ssize_t n = 1; n > 0 && poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0) > 0;) {
        n = read(fd, c, sizeof c);
        if (n > 0) keep((Str){ c, (size_t)n });
    }
}

/* ---- the thread ---- */

/* False: the terminal is gone. */
static bool collect(void) {
    char c[4096];
    ssize_t n = read(tty.fd, c, sizeof c);
    if (n < 0 && errno == EIO && !in_foreground()) return poll(NULL, 0, BACKGROUND_MS) == 0;       /* stopped, then continued by bg */
    if (n <= 0) return n < 0 && errno == EINTR;
    pthread_mutex_lock(&keys.lock);
    keep((Str){ c, (size_t)n });
    pthread_mutex_unlock(&keys.lock);
    return true;
}

static void *collect_all(void *arg) {
    int stop = (int)(intptr_t)arg;
    for (;;) {
        struct pollfd fds[] = { { tty.fd, POLLIN, 0 }, { stop, POLLIN, 0 } };
        if (poll(fds, 2, -1) < 0) continue;
        if (fds[1].revents || !collect()) return NULL;
    }
}

static void start_thread(void) {
    if (keys.running || !keys.wanted || !keys.keepers || keys.asking) return;
    keys.stop = eventfd(0, EFD_CLOEXEC);
    keys.running = keys.stop >= 0 && thread_start(&keys.thread, collect_all, (void *)(intptr_t)keys.stop) == 0;
}

/* Releases the lock while it waits for the thread. Only the thread that has set keys.running to false joins. */
static void stop_thread(void) {
    uint64_t one = 1;
    if (!keys.running) return;
    keys.running = false;
    pthread_t thread = keys.thread;
    int stop = keys.stop;
    (void)!write(stop, &one, sizeof one);
    pthread_mutex_unlock(&keys.lock);
    pthread_join(thread, NULL);
    close(stop);
    pthread_mutex_lock(&keys.lock);
}

/* ---- interface ---- */

static bool enter(int fd) {
    tty.fd = fd;
    if (tcgetattr(fd, &tty.before) != 0) return false;
    tty.quiet = tty.before;
    tty.quiet.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    tty.quiet.c_lflag |= ISIG;
    tty.quiet.c_iflag |= ICRNL;
    tty.quiet.c_cc[VMIN] = 1;
    tty.quiet.c_cc[VTIME] = 0;
    atomic_store(&tty.mode, MODE_QUIET);
    handle_signals(true);
    if (in_foreground()) set_quiet();
    return true;
}

static void leave(void) {
    set_before();
    atomic_store(&tty.mode, MODE_BEFORE);
    handle_signals(false);
}

static void update_paste(void) {
    bool on = keys.users && (keys.keepers || keys.asking);
    if (on != atomic_exchange(&tty.paste, on)) ask_for_paste(on);
}

bool keys_open(int fd, bool keep_typed) {
    pthread_mutex_lock(&keys.lock);
    bool ok = keys.users > 0 || enter(fd);
    if (ok) {
        keys.users++;
        keys.keepers += keep_typed;
        update_paste();
    }
    pthread_mutex_unlock(&keys.lock);
    return ok;
}

void keys_close(bool keep_typed) {
    pthread_mutex_lock(&keys.lock);
    keys.users--;
    keys.keepers -= keep_typed;
    if (!keys.keepers) buf_clear(&keys.typed), keys.taken = 0;
    update_paste();
    if (keys.users == 0) leave();
    pthread_mutex_unlock(&keys.lock);
}

void keys_collect(bool on) {
    pthread_mutex_lock(&keys.lock);
    keys.wanted = on;
    if (on) start_thread();
    else stop_thread();
    pthread_mutex_unlock(&keys.lock);
}

void keys_ask(int fd) {
    pthread_mutex_lock(&keys.lock);
    keys.asking++;
    stop_thread();
    drain(fd);
    update_paste();
    pthread_mutex_unlock(&keys.lock);
}

void keys_answered(void) {
    pthread_mutex_lock(&keys.lock);
    keys.asking--;
    update_paste();
    start_thread();
    pthread_mutex_unlock(&keys.lock);
}

void keys_editing(bool on) {
    pthread_mutex_lock(&keys.lock);
    if (keys.users) {
        atomic_store(&tty.continued, 0);
        atomic_store(&tty.mode, on ? MODE_EDITING : MODE_QUIET);
        if (!on && in_foreground()) set_quiet();
    }
    pthread_mutex_unlock(&keys.lock);
}

bool keys_continued(void) { return atomic_exchange(&tty.continued, 0) != 0; }

size_t keys_take(char *out, size_t n) {
    pthread_mutex_lock(&keys.lock);
    size_t left = keys.typed.n - keys.taken;
    if (n > left) n = left;
    if (n) memcpy(out, keys.typed.at + keys.taken, n);
    keys.taken += n;
    pthread_mutex_unlock(&keys.lock);
    return n;
}

void keys_drain(int fd) {
    pthread_mutex_lock(&keys.lock);
    drain(fd);
    pthread_mutex_unlock(&keys.lock);
}

void keys_restore(void) { set_before(); }
