#include "unit.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include "base/cancel.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/thread.h"

enum { MS = 1000000 };

static bool readable(int fd) {
    return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0) == 1;
}

static void fresh_token_is_quiet(void **state) {
    (void)state;
    Error err = { 0 };
    Cancel *c = cancel_new(NULL, 0);
    assert_true(cancel_check(c, &err));
    assert_false(cancel_fired(c) || cancel_expired(c));
    assert_int_equal(cancel_poll_ms(c), -1);
    assert_int_equal(cancel_deadline_ns(c), INT64_MAX);
    assert_false(readable(cancel_fd(c)));
    assert_int_equal(cancel_fd(c), cancel_fd(c));
    cancel_free(c);
    cancel_free(NULL);
}

static void null_is_never_cancelled(void **state) {
    (void)state;
    assert_true(cancel_check(NULL, NULL));
    assert_false(cancel_fired(NULL) || cancel_expired(NULL));
    assert_int_equal(cancel_fd(NULL), -1);
    assert_int_equal(cancel_poll_ms(NULL), -1);
    assert_true(cancel_sleep(NULL, MS, NULL));
    cancel_fire(NULL);
}

/* root -> a -> b, root -> other */
static void firing_reaches_the_tree_below(void **state) {
    (void)state;
    Error err = { 0 };
    Cancel *root = cancel_new(NULL, 0), *a = cancel_new(root, 0), *b = cancel_new(a, 0), *other = cancel_new(root, 0);
    int early = cancel_fd(b);
    cancel_fire(a);
    cancel_fire(a);
    assert_true(readable(early));
    assert_true(readable(cancel_fd(a)));               /* created after firing */
    assert_true(cancel_fired(a) && cancel_fired(b) && !cancel_fired(root) && !cancel_fired(other));
    assert_false(cancel_check(b, &err));
    assert_int_equal(err.kind, ERR_CANCELLED);
    assert_string_equal(err.msg, "cancelled");
    assert_int_equal(cancel_poll_ms(b), 0);
    Cancel *late = cancel_new(b, 0);
    assert_true(cancel_fired(late) && readable(cancel_fd(late)));
    assert_false(readable(cancel_fd(other)));
    cancel_fire(root);
    assert_true(readable(cancel_fd(other)));
    cancel_free(late);
    cancel_free(b);
    cancel_free(other);
    cancel_free(a);
    cancel_free(root);
}

static void deadlines_are_inherited(void **state) {
    (void)state;
    Error err = { 0 };
    Cancel *root = cancel_new(NULL, 1500 * MS), *loose = cancel_new(root, 3600000ll * MS), *tight = cancel_new(root, MS);
    Cancel *forever = cancel_new(NULL, INT64_MAX);
    assert_int_equal(cancel_deadline_ns(loose), cancel_deadline_ns(root));
    assert_true(cancel_deadline_ns(tight) < cancel_deadline_ns(root));
    assert_in_range(cancel_poll_ms(loose), 1, 1500);
    assert_int_equal(cancel_deadline_ns(forever), INT64_MAX);
    assert_false(cancel_sleep(tight, 10000ll * MS, &err));
    assert_int_equal(err.kind, ERR_TIMEOUT);
    assert_string_equal(err.msg, "timed out after 0.001 s");
    assert_true(cancel_expired(tight) && !cancel_fired(tight));
    assert_int_equal(cancel_poll_ms(tight), 0);
    assert_true(cancel_check(root, NULL));
    cancel_free(forever);
    cancel_free(tight);
    cancel_free(loose);
    cancel_free(root);
}

static void sleeps_as_long_as_told(void **state) {
    (void)state;
    Cancel *c = cancel_new(NULL, 0);
    int64_t start = clock_mono_ns();
    assert_true(cancel_sleep(c, 20 * MS, NULL));
    assert_true(clock_mono_ns() - start >= 20 * MS);
    assert_true(cancel_sleep(c, 0, NULL));
    assert_true(cancel_sleep(c, -5, NULL));
    cancel_free(c);
}

static void *fire_soon(void *arg) {
    struct timespec t = { 0, 10 * MS };
    nanosleep(&t, NULL);
    cancel_fire(arg);
    return NULL;
}

static void firing_ends_a_sleep(void **state) {
    (void)state;
    Error err = { 0 };
    Cancel *root = cancel_new(NULL, 0), *c = cancel_new(root, 0);
    pthread_t t;
    pthread_create(&t, NULL, fire_soon, root);
    int64_t start = clock_mono_ns();
    assert_false(cancel_sleep(c, 60000ll * MS, &err));
    assert_true(clock_mono_ns() - start < 10000ll * MS);
    assert_int_equal(err.kind, ERR_CANCELLED);
    pthread_join(t, NULL);
    cancel_free(c);
    cancel_free(root);
}

static Cancel *signal_token;
static void on_signal(int number) {
    (void)number;
    cancel_fire_from_signal(signal_token);
}

static void a_signal_handler_can_fire(void **state) {
    (void)state;
    Cancel *child;
    for (int with_fd = 0; with_fd < 2; with_fd++) {
        signal_token = cancel_new(NULL, 0);
        child = cancel_new(signal_token, 0);
        if (with_fd)
            cancel_fd(signal_token);
        signal(SIGUSR1, on_signal);
        errno = EDOM;
        raise(SIGUSR1);
        assert_int_equal(errno, EDOM);
        assert_true(cancel_fired(signal_token) && readable(cancel_fd(signal_token)));
        assert_true(cancel_fired(child) && !cancel_check(child, NULL) && readable(cancel_fd(child)));
        cancel_free(child);
        cancel_free(signal_token);
    }
    signal(SIGUSR1, SIG_DFL);
}

/* Threads create, use and free children while another fires the root. */
static void *churn(void *arg) {
    for (int i = 0; i < 300; i++) {
        Cancel *a = cancel_new(arg, 1000ll * MS), *b = cancel_new(a, 0);
        if (i % 2)
            cancel_fd(b);
        cancel_check(b, NULL);
        if (i % 7 == 0)
            cancel_fire(a);
        cancel_free(b);
        cancel_free(a);
    }
    return NULL;
}

static void threads_share_a_tree(void **state) {
    (void)state;
    Cancel *root = cancel_new(NULL, 0);
    pthread_t t[4], firing;
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, churn, root);
    pthread_create(&firing, NULL, fire_soon, root);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    pthread_join(firing, NULL);
    assert_true(cancel_fired(root));
    cancel_free(root);
}

#ifdef HARNESS_FAULTS
/* Out of descriptors: polls use a short timeout instead of missing the event. */
static void works_without_a_descriptor(void **state) {
    (void)state;
    Cancel *c = cancel_new(NULL, 0);
    fault_arm(1);
    assert_int_equal(cancel_fd(c), -1);
    assert_true(fault_disarm());
    assert_in_range(cancel_poll_ms(c), 1, 100);
    pthread_t t;
    pthread_create(&t, NULL, fire_soon, c);
    fault_arm(1);
    assert_false(cancel_sleep(c, 60000ll * MS, NULL));
    fault_disarm();
    pthread_join(t, NULL);
    assert_true(readable(cancel_fd(c)));               /* retried, successfully */
    cancel_free(c);
}
#endif

/* A paused deadline neither passes nor shrinks; other deadlines continue. */
static void pausable_deadlines_stand_still(void **state) {
    (void)state;
    Error err = { 0 };
    Cancel *run = cancel_new(NULL, 3600ll * 1000 * MS), *outer = cancel_new_pausable(run, 20ll * MS), *inner = cancel_new_pausable(outer, 10ll * MS);
    cancel_pause(inner);
    cancel_pause(inner);                               /* calls nest */
    assert_true(cancel_sleep(inner, 60ll * MS, &err));
    assert_int_equal(cancel_deadline_ns(inner), cancel_deadline_ns(run));
    cancel_resume(inner);
    assert_true(cancel_check(inner, &err));
    cancel_resume(inner);
    assert_in_range(cancel_deadline_ns(inner), 0, clock_mono_ns() + 10ll * MS);
    assert_in_range(cancel_deadline_ns(outer), 0, clock_mono_ns() + 20ll * MS);
    assert_false(cancel_sleep(inner, 3600ll * 1000 * MS, &err));
    assert_string_equal(err.msg, "timed out after 0.01 s");
    cancel_free(inner);
    cancel_free(outer);
    Cancel *fixed = cancel_new(run, 1);
    cancel_pause(fixed);
    cancel_sleep(NULL, 1 * MS, NULL);
    assert_false(cancel_check(fixed, &err));
    cancel_resume(fixed);
    cancel_free(fixed);
    cancel_free(run);
    cancel_pause(NULL);
    cancel_resume(NULL);
}

/* ---- cancel_wait ---- */

typedef struct { pthread_mutex_t lock; pthread_cond_t changed; Cancel *cancel; bool ready, waits, ok; Error err; } Wait;

static void wait_init(Wait *w, Cancel *c) {
    *w = (Wait){ .cancel = c };
    pthread_mutex_init(&w->lock, NULL);
    thread_cond_init(&w->changed);
}

static void wait_clear(Wait *w) {
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
}

static void *wait_until_ready(void *arg) {
    Wait *w = arg;
    bool ok = true;
    pthread_mutex_lock(&w->lock);
    w->waits = true;
    while (ok && !w->ready) ok = cancel_wait(&w->changed, &w->lock, w->cancel, INT64_MAX, &w->err);
    w->ok = ok;
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void until_it_waits(Wait *w) {
    for (bool waits = false; !waits; usleep(100)) {
        pthread_mutex_lock(&w->lock);
        waits = w->waits;
        pthread_mutex_unlock(&w->lock);
    }
}

static void waiting_ends_with_the_condition(void **state) {
    (void)state;
    Cancel *c = cancel_new(NULL, 0);
    for (int with = 0; with < 2; with++) {
        Wait w;
        pthread_t thread;
        wait_init(&w, with ? c : NULL);
        assert_int_equal(pthread_create(&thread, NULL, wait_until_ready, &w), 0);
        until_it_waits(&w);
        pthread_mutex_lock(&w.lock);
        w.ready = true;
        pthread_cond_broadcast(&w.changed);
        pthread_mutex_unlock(&w.lock);
        pthread_join(thread, NULL);
        assert_true(w.ok);
        wait_clear(&w);
    }
    cancel_free(c);
}

/* Fired through a parent, by a thread that holds the mutex, and from a signal handler: each ends the wait. */
static void firing_ends_waiting(void **state) {
    (void)state;
    for (int how = 0; how < 3; how++) {
        Cancel *root = cancel_new(NULL, 0), *middle = cancel_new(root, 0), *c = cancel_new(middle, 0);
        Wait w[3];
        pthread_t thread[3];
        for (int i = 0; i < 3; i++) {
            wait_init(&w[i], i == 2 ? middle : c);
            assert_int_equal(pthread_create(&thread[i], NULL, wait_until_ready, &w[i]), 0);
            until_it_waits(&w[i]);
        }
        if (how == 1) pthread_mutex_lock(&w[0].lock);
        if (how == 2) cancel_fire_from_signal(root);
        else cancel_fire(root);
        if (how == 1) pthread_mutex_unlock(&w[0].lock);
        for (int i = 0; i < 3; i++) {
            pthread_join(thread[i], NULL);
            assert_false(w[i].ok);
            assert_int_equal(w[i].err.kind, ERR_CANCELLED);
            wait_clear(&w[i]);
        }
        cancel_free(c);
        cancel_free(middle);
        cancel_free(root);
    }
}

static void waiting_has_deadlines(void **state) {
    (void)state;
    Error err = { 0 };
    Wait w;
    Cancel *c = cancel_new(NULL, 20 * MS), *none = cancel_new(NULL, 0);
    wait_init(&w, c);
    pthread_mutex_lock(&w.lock);
    int64_t start = clock_mono_ns();
    while (cancel_wait(&w.changed, &w.lock, c, INT64_MAX, &err)) {}
    assert_int_equal(err.kind, ERR_TIMEOUT);
    assert_true(clock_mono_ns() - start >= 20 * MS);
    int64_t end = clock_mono_ns() + 20 * MS;
    while (clock_mono_ns() < end) assert_true(cancel_wait(&w.changed, &w.lock, none, end, &err));
    cancel_fire(none);
    assert_false(cancel_wait(&w.changed, &w.lock, none, INT64_MAX, &err));       /* at once */
    pthread_mutex_unlock(&w.lock);
    wait_clear(&w);
    cancel_free(c);
    cancel_free(none);
}

/* Firing and waiting race at every point: no wait hangs. */
static void *fire(void *arg) {
    cancel_fire(arg);
    return NULL;
}

static void firing_and_waiting_race(void **state) {
    (void)state;
    for (int round = 0; round < 300; round++) {
        Cancel *root = cancel_new(NULL, 0), *c = cancel_new(root, 0);
        Wait w;
        pthread_t waiter, firer;
        wait_init(&w, c);
        assert_int_equal(pthread_create(&waiter, NULL, wait_until_ready, &w), 0);
        assert_int_equal(pthread_create(&firer, NULL, fire, root), 0);
        pthread_join(waiter, NULL);
        pthread_join(firer, NULL);
        assert_false(w.ok);
        wait_clear(&w);
        cancel_free(c);
        cancel_free(root);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_ends_with_the_condition), cmocka_unit_test(firing_ends_waiting), cmocka_unit_test(waiting_has_deadlines),
        cmocka_unit_test(firing_and_waiting_race),
        cmocka_unit_test(fresh_token_is_quiet),
        cmocka_unit_test(null_is_never_cancelled),
        cmocka_unit_test(firing_reaches_the_tree_below),
        cmocka_unit_test(deadlines_are_inherited),
        cmocka_unit_test(pausable_deadlines_stand_still),
        cmocka_unit_test(sleeps_as_long_as_told),
        cmocka_unit_test(firing_ends_a_sleep),
        cmocka_unit_test(a_signal_handler_can_fire),
        cmocka_unit_test(threads_share_a_tree),
#ifdef HARNESS_FAULTS
        cmocka_unit_test(works_without_a_descriptor),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
