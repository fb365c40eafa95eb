#include "unit.h"
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include "base/fault.h"
#include "base/pool.h"

typedef struct { Pool *pool; atomic_int count, running, most; int depth; } Shared;

static void pause_ms(long ms) {
    struct timespec t = { 0, ms * 1000000 };
    nanosleep(&t, NULL);
}

static void count_job(void *arg) {
    Shared *s = arg;
    int now = atomic_fetch_add(&s->running, 1) + 1, most = atomic_load(&s->most);
    while (now > most && !atomic_compare_exchange_weak(&s->most, &most, now)) {}
    if (s->depth)
        pause_ms(s->depth);
    atomic_fetch_sub(&s->running, 1);
    atomic_fetch_add(&s->count, 1);
}

static void runs_everything_before_it_ends(void **state) {
    (void)state;
    for (size_t threads = 0; threads <= 4; threads++) {
        Shared s = { 0 };
        Pool *p = pool_new(threads);
        for (int i = 0; i < 1000; i++) assert_true(pool_add(p, count_job, &s, NULL));
        pool_free(p);
        assert_int_equal(s.count, 1000);
        assert_true(s.most <= (int)(threads ? threads : 1));
    }
    pool_free(pool_new(8));
    pool_free(NULL);
}

static void meet(void *arg) {
    pthread_barrier_wait(arg);
}

/* Nobody passes the barrier unless three jobs run at once. */
static void uses_all_its_threads(void **state) {
    (void)state;
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 3);
    Pool *p = pool_new(3);
    for (int i = 0; i < 9; i++) pool_add(p, meet, &barrier, NULL);
    pool_free(p);
    pthread_barrier_destroy(&barrier);
}

typedef struct { atomic_int next; int at[500]; } Order;
typedef struct { Order *order; int number; } Numbered;

static void note_order(void *arg) {
    Numbered *n = arg;
    n->order->at[atomic_fetch_add(&n->order->next, 1)] = n->number;
}

static void one_thread_keeps_the_order(void **state) {
    (void)state;
    static Order order;
    static Numbered jobs[500];
    Pool *p = pool_new(1);
    for (int i = 0; i < 500; i++) {
        jobs[i] = (Numbered){ &order, i };
        pool_add(p, note_order, &jobs[i], NULL);
    }
    pool_free(p);
    for (int i = 0; i < 500; i++) assert_int_equal(order.at[i], i);
}

static void groups_wait_for_their_own(void **state) {
    (void)state;
    Pool *p = pool_new(4);
    for (int round = 0; round < 20; round++) {
        Shared a = { 0 }, b = { 0 };
        PoolGroup *ga = pool_group_new(p), *gb = pool_group_new(p);
        for (int i = 0; i < 50; i++) {
            pool_group_add(ga, count_job, &a, NULL);
            pool_group_add(gb, count_job, &b, NULL);
        }
        pool_group_wait(ga);
        assert_int_equal(a.count, 50);
        pool_group_wait(ga);                           /* nothing left: returns at once */
        pool_group_free(gb);
        assert_int_equal(b.count, 50);
        pool_group_free(ga);
    }
    pool_group_free(NULL);
    pool_free(p);
}

/* Each job adds two more, down to depth 0. */
typedef struct { Pool *pool; atomic_int *count; int depth; } Tree;

static void grow_tree(void *arg) {
    Tree *t = arg;
    atomic_fetch_add(t->count, 1);
    for (int i = 0; i < 2 && t->depth > 0; i++) {
        Tree *child = malloc(sizeof *child);
        *child = (Tree){ t->pool, t->count, t->depth - 1 };
        pool_add(t->pool, grow_tree, child, NULL);
    }
    free(t);
}

static void jobs_add_jobs(void **state) {
    (void)state;
    atomic_int count = 0;
    Pool *p = pool_new(3);
    Tree *t = malloc(sizeof *t);
    *t = (Tree){ p, &count, 9 };
    pool_add(p, grow_tree, t, NULL);
    pool_free(p);
    assert_int_equal(count, 1023);
}

/* Each job opens a group of two and waits for it: with one thread only helping can finish. */
static void wait_tree(void *arg) {
    Tree *t = arg, child = { t->pool, t->count, t->depth - 1 };
    atomic_fetch_add(t->count, 1);
    if (t->depth == 0)
        return;
    PoolGroup *g = pool_group_new(t->pool);
    for (int i = 0; i < 2; i++) pool_group_add(g, wait_tree, &child, NULL);
    pool_group_free(g);
}

static void jobs_wait_for_jobs(void **state) {
    (void)state;
    for (size_t threads = 1; threads <= 3; threads++) {
        atomic_int count = 0;
        Pool *p = pool_new(threads);
        Tree t = { p, &count, 6 };
        pool_add(p, wait_tree, &t, NULL);
        pool_free(p);
        assert_int_equal(count, 127);
    }
}

#ifdef HARNESS_FAULTS
static void says_when_no_thread_starts(void **state) {
    (void)state;
    Error err = { 0 };
    Shared s = { .depth = 5 };
    Pool *p = pool_new(2);
    fault_arm(1);
    assert_false(pool_add(p, count_job, &s, &err));
    assert_true(fault_disarm());
    assert_int_equal(err.kind, ERR_IO);
    assert_non_null(strstr(err.msg, "start a thread: "));
    assert_true(pool_add(p, count_job, &s, &err));
    fault_arm(1);
    assert_true(pool_add(p, count_job, &s, &err));     /* one thread is enough */
    fault_disarm();
    pool_free(p);
    assert_int_equal(s.count, 2);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_everything_before_it_ends),
        cmocka_unit_test(uses_all_its_threads),
        cmocka_unit_test(one_thread_keeps_the_order),
        cmocka_unit_test(groups_wait_for_their_own),
        cmocka_unit_test(jobs_add_jobs),
        cmocka_unit_test(jobs_wait_for_jobs),
#ifdef HARNESS_FAULTS
        cmocka_unit_test(says_when_no_thread_starts),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
