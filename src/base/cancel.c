#include "base/cancel.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/thread.h"

enum { FD_NONE = -1, FD_FAILED = -2, BLIND_POLL_MS = 50, RECHECK_MS = 100 };

/* A thread in cancel_wait; on its stack. */
typedef struct Waiter Waiter;
struct Waiter { pthread_cond_t *cond; Waiter *next, **at; };

/* The tokens of a tree share the root's lock, which guards the links and the creation of descriptors. `fired` and `fd`
 * are also read without it: the flag by polling code, both by the signal handler. Parents outlive their children, so
 * walking up needs no lock, and a check of a token checks its parents too. Only a token with a descriptor or a waiter
 * must be reachable from above: it and its parents are linked when it gets one. `deadline` is the token's own; the
 * earliest of the chain applies. While paused it is INT64_MAX, and `left` is the remaining time. */
struct Cancel {
    atomic_bool fired;
    atomic_int fd;
    bool linked;
    Cancel *parent, *root;
    Cancel *child, *next, *prev;                       /* first child; siblings; linked ones only */
    Waiter *waiters;
    atomic_llong deadline;
    int64_t timeout;
    bool pausable;
    int pauses;                                        /* like `left`, guarded by the lock */
    int64_t left;
    pthread_mutex_t lock;                              /* in the root only */
};

static int64_t deadline_after(int64_t ns) {
    int64_t deadline;
    return __builtin_add_overflow(clock_mono_ns(), ns, &deadline) ? INT64_MAX : deadline;
}

static void link_up(Cancel *c) {
    for (; c->parent && !c->linked; c = c->parent) {
        c->next = c->parent->child;
        if (c->next)
            c->next->prev = c;
        c->parent->child = c;
        c->linked = true;
    }
}

static void unlink_child(Cancel *c) {
    if (c->prev)
        c->prev->next = c->next;
    else
        c->parent->child = c->next;
    if (c->next)
        c->next->prev = c->prev;
}

Cancel *cancel_new(Cancel *parent, int64_t timeout_ns) {
    Cancel *c = mem_alloc(sizeof *c);                  /* faster than zeroed memory: every call creates one */
    atomic_init(&c->fired, false);
    atomic_init(&c->fd, FD_NONE);
    c->linked = false;
    c->parent = c->child = c->next = c->prev = NULL;
    c->waiters = NULL;
    atomic_init(&c->deadline, timeout_ns > 0 ? deadline_after(timeout_ns) : INT64_MAX);
    c->timeout = timeout_ns;
    c->pausable = false;
    c->pauses = 0;
    c->left = 0;
    c->root = c;
    if (parent == NULL) {
        pthread_mutex_init(&c->lock, NULL);
        return c;
    }
    c->parent = parent;
    c->root = parent->root;
    return c;
}

Cancel *cancel_new_pausable(Cancel *parent, int64_t timeout_ns) {
    Cancel *c = cancel_new(parent, timeout_ns);
    c->pausable = timeout_ns > 0;
    return c;
}

void cancel_pause(Cancel *c) {
    if (c == NULL)
        return;
    pthread_mutex_lock(&c->root->lock);
    for (Cancel *t = c; t; t = t->parent) {
        if (!t->pausable || t->pauses++ > 0)
            continue;
        t->left = atomic_load(&t->deadline) - clock_mono_ns();
        atomic_store(&t->deadline, INT64_MAX);
    }
    pthread_mutex_unlock(&c->root->lock);
}

void cancel_resume(Cancel *c) {
    if (c == NULL)
        return;
    pthread_mutex_lock(&c->root->lock);
    for (Cancel *t = c; t; t = t->parent)
        if (t->pausable && --t->pauses == 0)
            atomic_store(&t->deadline, deadline_after(t->left));
    pthread_mutex_unlock(&c->root->lock);
}

void cancel_free(Cancel *c) {
    if (c == NULL)
        return;
    if (c->linked) {                                   /* not in use, so no thread can link it meanwhile */
        pthread_mutex_lock(&c->root->lock);
        unlink_child(c);
        pthread_mutex_unlock(&c->root->lock);
    }
    int fd = atomic_load(&c->fd);
    if (fd >= 0)
        close(fd);
    if (c->root == c)
        pthread_mutex_destroy(&c->lock);
    free(c);
}

/* Sets the flag first, then looks for a descriptor; cancel_fd does the reverse. Whichever comes second sees the other,
 * so a waiter is always woken. Async-signal-safe. */
static void raise_flag(Cancel *c) {
    atomic_store(&c->fired, true);
    int fd = atomic_load(&c->fd);
    if (fd >= 0) {
        uint64_t one = 1;
        ssize_t n = write(fd, &one, sizeof one);
        (void)n;                                       /* full means already readable */
    }
}

/* The token after c in a preorder walk of top's tree; NULL at the end. */
static Cancel *next_in_tree(Cancel *c, const Cancel *top) {
    if (c->child)
        return c->child;
    while (c != top && c->next == NULL) c = c->parent;
    return c == top ? NULL : c->next;
}

void cancel_fire(Cancel *c) {
    if (c == NULL)
        return;
    pthread_mutex_lock(&c->root->lock);
    for (Cancel *t = c; t; t = next_in_tree(t, c)) {
        raise_flag(t);
        for (Waiter *w = t->waiters; w; w = w->next) pthread_cond_broadcast(w->cond);
    }
    pthread_mutex_unlock(&c->root->lock);
}

void cancel_fire_from_signal(Cancel *c) {
    int saved = errno;
    raise_flag(c);
    errno = saved;
}

bool cancel_fired(const Cancel *c) {
    for (; c; c = c->parent)
        if (atomic_load_explicit(&c->fired, memory_order_acquire))
            return true;
    return false;
}

static int64_t own_deadline(const Cancel *c) {
    return atomic_load_explicit(&c->deadline, memory_order_relaxed);
}

/* The token with the earliest deadline; NULL when there is none. */
static const Cancel *first_to_end(const Cancel *c) {
    const Cancel *first = NULL;
    for (; c; c = c->parent) {
        int64_t own = own_deadline(c);
        if (own != INT64_MAX && (first == NULL || own < own_deadline(first)))
            first = c;
    }
    return first;
}

static bool deadline_passed(const Cancel *c) {
    const Cancel *first = first_to_end(c);
    return first && clock_mono_ns() >= own_deadline(first);
}

bool cancel_expired(const Cancel *c) {
    return cancel_fired(c) || deadline_passed(c);
}

static bool timed_out(const Cancel *c, Error *err) {
    char text[NUMBER_TEXT_SIZE];
    int64_t ms = (c->timeout + 500000) / 1000000;        /* rounded */
    size_t n = number_write_double((double)ms / 1e3, text);
    Str seconds = { text, n };
    if (str_ends(seconds, STR(".0")))
        seconds.n -= 2;
    return error_set(err, ERR_TIMEOUT, "timed out after " STR_FMT " s", STR_ARG(seconds));
}

bool cancel_check(const Cancel *c, Error *err) {
    if (cancel_fired(c))
        return error_set(err, ERR_CANCELLED, "cancelled");
    const Cancel *first = first_to_end(c);
    if (first && clock_mono_ns() >= own_deadline(first))
        return timed_out(first, err);
    return true;
}

int cancel_fd(Cancel *c) {
    if (c == NULL)
        return -1;
    int fd = atomic_load(&c->fd);
    if (fd >= 0)
        return fd;
    pthread_mutex_lock(&c->root->lock);
    fd = atomic_load(&c->fd);
    if (fd < 0) {
        link_up(c);                                    /* first, so that a later fire finds it */
        fd = fault_hit() ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        atomic_store(&c->fd, fd < 0 ? FD_FAILED : fd);
        if (fd >= 0 && cancel_fired(c))                /* fired before the descriptor existed? */
            raise_flag(c);
    }
    pthread_mutex_unlock(&c->root->lock);
    return fd < 0 ? -1 : fd;
}

int cancel_poll_ms(const Cancel *c) {
    if (c == NULL)
        return -1;
    if (cancel_fired(c))
        return 0;
    int64_t ms = INT64_MAX;
    int64_t deadline = cancel_deadline_ns(c);
    if (deadline != INT64_MAX) {
        int64_t left = deadline - clock_mono_ns();
        ms = left <= 0 ? 0 : (left - 1) / 1000000 + 1;
    }
    if (ms > BLIND_POLL_MS && atomic_load(&c->fd) == FD_FAILED)
        return BLIND_POLL_MS;                          /* nothing will wake the poll: check again soon */
    if (ms == INT64_MAX)
        return -1;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

int64_t cancel_deadline_ns(const Cancel *c) {
    const Cancel *first = first_to_end(c);
    return first ? own_deadline(first) : INT64_MAX;
}

bool cancel_sleep(Cancel *c, int64_t ns, Error *err) {
    int64_t end = deadline_after(ns > 0 ? ns : 0);
    int fd = cancel_fd(c);
    for (;;) {
        if (!cancel_check(c, err))
            return false;
        int64_t left = end - clock_mono_ns(), to_deadline = cancel_deadline_ns(c);
        if (left <= 0)
            return true;
        if (to_deadline != INT64_MAX && to_deadline < end)
            left = to_deadline - clock_mono_ns();
        if (c && fd < 0 && left > BLIND_POLL_MS * 1000000ll)
            left = BLIND_POLL_MS * 1000000ll;
        if (left < 0)
            left = 0;
        struct timespec t = { (time_t)(left / 1000000000), (long)(left % 1000000000) };
        ppoll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, &t, NULL);
    }
}

static void add_waiter(Cancel *c, Waiter *w) {
    pthread_mutex_lock(&c->root->lock);
    link_up(c);
    w->next = c->waiters;
    w->at = &c->waiters;
    if (w->next) w->next->at = &w->next;
    c->waiters = w;
    pthread_mutex_unlock(&c->root->lock);
}

static void remove_waiter(Cancel *c, Waiter *w) {
    pthread_mutex_lock(&c->root->lock);
    *w->at = w->next;
    if (w->next) w->next->at = w->at;
    pthread_mutex_unlock(&c->root->lock);
}

/* cancel_fire cannot take the waiter's mutex, which its caller may hold. So a broadcast between the check and the sleep
 * is lost, and cancel_fire_from_signal sends none: both are noticed at the next periodic check. */
bool cancel_wait(pthread_cond_t *cond, pthread_mutex_t *held, Cancel *c, int64_t until_ns, Error *err) {
    Waiter w = { .cond = cond };
    if (c == NULL) {
        thread_cond_wait(cond, held, until_ns);
        return true;
    }
    add_waiter(c, &w);
    bool ok = cancel_check(c, err);
    int64_t deadline = cancel_deadline_ns(c), recheck = deadline_after(RECHECK_MS * INT64_C(1000000));
    if (deadline < until_ns)
        until_ns = deadline;
    if (ok)
        thread_cond_wait(cond, held, until_ns < recheck ? until_ns : recheck);
    remove_waiter(c, &w);
    return ok;
}
