#include "unit.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/fault.h"
#include "base/scheduler.h"
#include "base/thread.h"

typedef struct { atomic_int count, running, most; } Shared;

static void count_job(void *arg) {
    Shared *s = arg;
    int now = atomic_fetch_add(&s->running, 1) + 1, most = atomic_load(&s->most);
    while (now > most && !atomic_compare_exchange_weak(&s->most, &most, now)) {}
    atomic_fetch_sub(&s->running, 1);
    atomic_fetch_add(&s->count, 1);
}

static void runs_every_job_before_it_is_freed(void **state) {
    (void)state;
    for (size_t max = 0; max <= 4; max++) {
        Shared s = { 0 };
        Scheduler *p = scheduler_new(max);
        for (int i = 0; i < 1000; i++) assert_true(scheduler_add(p, NULL, count_job, &s, NULL));
        scheduler_free(p);
        assert_int_equal(s.count, 1000);
        assert_true(s.most <= (int)(max ? max : 1));
    }
    scheduler_free(scheduler_new(8));
    scheduler_free(NULL);
}

static void meet(void *arg) { pthread_barrier_wait(arg); }

/* No job passes the barrier unless three run at once. */
static void uses_all_slots(void **state) {
    (void)state;
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 3);
    Scheduler *p = scheduler_new(3);
    for (int i = 0; i < 9; i++) scheduler_add(p, NULL, meet, &barrier, NULL);
    scheduler_free(p);
    pthread_barrier_destroy(&barrier);
}

typedef struct { atomic_int next; int at[500]; } Order;
typedef struct { Order *order; int number; } Numbered;

static void note_order(void *arg) {
    Numbered *n = arg;
    n->order->at[atomic_fetch_add(&n->order->next, 1)] = n->number;
}

static void jobs_of_one_owner_keep_their_order(void **state) {
    (void)state;
    static Order order;
    static Numbered jobs[500];
    Scheduler *p = scheduler_new(1);
    for (int i = 0; i < 500; i++) {
        jobs[i] = (Numbered){ &order, i };
        scheduler_add(p, NULL, note_order, &jobs[i], NULL);
    }
    scheduler_free(p);
    for (int i = 0; i < 500; i++) assert_int_equal(order.at[i], i);
}

/* ---- groups ---- */

static void groups_wait_for_their_own_jobs(void **state) {
    (void)state;
    Scheduler *p = scheduler_new(4);
    for (int round = 0; round < 20; round++) {
        Shared a = { 0 }, b = { 0 };
        SchedulerGroup *ga = scheduler_group_new(p), *gb = scheduler_group_new(p);
        for (int i = 0; i < 50; i++) {
            scheduler_group_add(ga, NULL, count_job, &a, NULL);
            scheduler_group_add(gb, &a, count_job, &b, NULL);
        }
        scheduler_group_wait(ga);
        assert_int_equal(a.count, 50);
        scheduler_group_wait(ga);                      /* nothing left: returns at once */
        scheduler_group_free(gb);
        assert_int_equal(b.count, 50);
        scheduler_group_free(ga);
    }
    scheduler_group_free(NULL);
    scheduler_free(p);
}

/* Each job adds two more, down to depth 0. */
typedef struct { Scheduler *scheduler; atomic_int *count; int depth; bool last; } Tree;

static void grow_tree(void *arg) {
    Tree *t = arg, *child = NULL;
    atomic_fetch_add(t->count, 1);
    for (int i = 0; i < 2 && t->depth > 0; i++) {
        child = malloc(sizeof *child);
        *child = (Tree){ t->scheduler, t->count, t->depth - 1, t->last };
        if (i == 1 && t->last) scheduler_add_last(t->scheduler, child, grow_tree, child);
        else scheduler_add(t->scheduler, NULL, grow_tree, child, NULL);
    }
    free(t);
}

static void jobs_add_jobs(void **state) {
    (void)state;
    for (int last = 0; last < 2; last++) {
        atomic_int count = 0;
        Scheduler *p = scheduler_new(3);
        Tree *t = malloc(sizeof *t);
        *t = (Tree){ p, &count, 9, last };
        scheduler_add(p, NULL, grow_tree, t, NULL);
        scheduler_free(p);
        assert_int_equal(count, 1023);
    }
}

/* Each job opens a group of two and waits for it: with one thread, only a waiter that runs jobs of its group can finish. */
static void wait_tree(void *arg) {
    Tree *t = arg, child = { t->scheduler, t->count, t->depth - 1, false };
    atomic_fetch_add(t->count, 1);
    if (t->depth == 0) return;
    SchedulerGroup *g = scheduler_group_new(t->scheduler);
    for (int i = 0; i < 2; i++) scheduler_group_add(g, i ? t : NULL, wait_tree, &child, NULL);
    scheduler_group_free(g);
}

static void nested_waits_do_not_deadlock(void **state) {
    (void)state;
    for (size_t max = 1; max <= 3; max++) {
        atomic_int count = 0;
        Scheduler *p = scheduler_new(max);
        Tree t = { p, &count, 6, false };
        scheduler_add(p, NULL, wait_tree, &t, NULL);
        scheduler_free(p);
        assert_int_equal(count, 127);
    }
}

/* ---- owners ---- */

/* Jobs arrive at a gate and block there until it opens. */
typedef struct Gate { pthread_mutex_t lock; pthread_cond_t changed; size_t there, left; bool open; } Gate;
typedef struct Visit { Scheduler *scheduler; Gate *gate; const void *owner; bool waits, refused; } Visit;

static void gate_init(Gate *g) {
    *g = (Gate){ 0 };
    pthread_mutex_init(&g->lock, NULL);
    thread_cond_init(&g->changed);
}

static void gate_clear(Gate *g) {
    pthread_mutex_destroy(&g->lock);
    pthread_cond_destroy(&g->changed);
}

static void visit(void *arg) {
    Visit *v = arg;
    Error err = { 0 };
    v->refused = v->waits && !scheduler_wait_begin(v->scheduler, v->owner, &err);
    pthread_mutex_lock(&v->gate->lock);
    v->gate->there++;
    pthread_cond_broadcast(&v->gate->changed);
    while (!v->gate->open && !v->refused) pthread_cond_wait(&v->gate->changed, &v->gate->lock);
    pthread_mutex_unlock(&v->gate->lock);
    if (v->waits && !v->refused) scheduler_wait_end(v->scheduler, v->owner);
    pthread_mutex_lock(&v->gate->lock);
    v->gate->left++;
    pthread_cond_broadcast(&v->gate->changed);
    pthread_mutex_unlock(&v->gate->lock);
}

static Visit *add_visit(Visit *v, Scheduler *s, Gate *g, const void *owner, bool waits) {
    *v = (Visit){ s, g, owner, waits, false };
    assert_true(scheduler_add(s, owner, visit, v, NULL));
    return v;
}

/* False: fewer than n jobs arrived within a generous time. */
static bool arrived(Gate *g, size_t n) {
    int64_t until = clock_mono_ns() + INT64_C(20000000000);
    pthread_mutex_lock(&g->lock);
    while (g->there < n && thread_cond_wait(&g->changed, &g->lock, until)) {}
    bool all = g->there >= n;
    pthread_mutex_unlock(&g->lock);
    return all;
}

static size_t there(Gate *g) {
    pthread_mutex_lock(&g->lock);
    size_t n = g->there;
    pthread_mutex_unlock(&g->lock);
    return n;
}

static void open_gate(Gate *g, size_t n) {
    pthread_mutex_lock(&g->lock);
    g->open = true;
    pthread_cond_broadcast(&g->changed);
    while (g->left < n) pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void two_jobs_wake_two_threads(void **state) {
    (void)state;
    int owner;
    for (int round = 0; round < 20; round++) {
        Gate first, both;
        Visit one, pair[2];
        gate_init(&first);
        gate_init(&both);
        Scheduler *s = scheduler_new(4);
        add_visit(&one, s, &first, &owner, false);
        open_gate(&first, 1);
        usleep(2000);                                  /* its thread is probably idle now, which is the case to test */
        for (int i = 0; i < 2; i++) add_visit(&pair[i], s, &both, &owner, false);
        assert_true(arrived(&both, 2));
        open_gate(&both, 2);
        scheduler_free(s);
        gate_clear(&first);
        gate_clear(&both);
    }
}

/* One owner with 1,000 blocking jobs fills the slots; the jobs of 4 others still run at once. */
static void one_owner_does_not_hold_up_others(void **state) {
    (void)state;
    enum { GREEDY = 1000, OTHERS = 4, MAX = 3 };
    static Visit all[GREEDY];
    int greedy;
    Gate busy, quick;
    Visit others[OTHERS];
    gate_init(&busy);
    gate_init(&quick);
    Scheduler *s = scheduler_new(MAX);
    for (int i = 0; i < GREEDY; i++) add_visit(&all[i], s, &busy, &greedy, false);
    assert_true(arrived(&busy, MAX));
    for (int i = 0; i < OTHERS; i++) add_visit(&others[i], s, &quick, &others[i], false);
    assert_true(arrived(&quick, OTHERS));
    assert_int_equal(there(&busy), MAX);               /* the greedy owner has all regular slots, but none of the extra ones */
    open_gate(&quick, OTHERS);
    open_gate(&busy, GREEDY);
    scheduler_free(s);
    gate_clear(&busy);
    gate_clear(&quick);
}

/* Two owners with queued jobs and one slot take turns, however unequal their queues are. */
static void owners_take_turns(void **state) {
    (void)state;
    static Order order;
    static Numbered jobs[60];
    int a, b, blocker;
    Gate gate;
    Visit first;
    gate_init(&gate);
    Scheduler *s = scheduler_new(1);
    Visit extra[3];
    add_visit(&first, s, &gate, &blocker, false);
    for (int i = 0; i < 3; i++) add_visit(&extra[i], s, &gate, &extra[i], false);     /* the extra slots for the first job of each owner */
    assert_true(arrived(&gate, 4));
    for (int i = 0; i < 60; i++) {
        jobs[i] = (Numbered){ &order, i < 50 ? 0 : 1 };
        scheduler_add(s, i < 50 ? &a : &b, note_order, &jobs[i], NULL);
    }
    open_gate(&gate, 4);
    scheduler_free(s);
    int of_b = 0;
    for (int i = 0; i < 30; i++) of_b += order.at[i];
    assert_int_equal(of_b, 10);                        /* all of b's ten jobs are among the first thirty */
    gate_clear(&gate);
}

static void a_waiting_job_frees_its_slot(void **state) {
    (void)state;
    int owner;
    Gate wait, run;
    Visit waits[3], runs;
    gate_init(&wait);
    gate_init(&run);
    Scheduler *s = scheduler_new(1);
    for (int i = 0; i < 3; i++) add_visit(&waits[i], s, &wait, &owner, true);
    assert_true(arrived(&wait, 3));
    add_visit(&runs, s, &run, &owner, false);
    assert_true(arrived(&run, 1));
    open_gate(&wait, 3);
    open_gate(&run, 1);
    scheduler_free(s);
    gate_clear(&wait);
    gate_clear(&run);
}

static void waiting_jobs_are_bounded(void **state) {
    (void)state;
    enum { ALL = SCHEDULER_WAITING_MAX + 3 };
    static Visit visits[ALL];
    int owner;
    size_t refused = 0;
    Gate gate;
    gate_init(&gate);
    Scheduler *s = scheduler_new(2);
    for (int i = 0; i < ALL; i++) add_visit(&visits[i], s, &gate, &owner, true);
    assert_true(arrived(&gate, ALL));
    open_gate(&gate, ALL);
    for (int i = 0; i < ALL; i++) refused += visits[i].refused;
    assert_int_equal(refused, 3);
    scheduler_free(s);
    gate_clear(&gate);
}

/* Freed while jobs are queued, running and waiting: all of them end first. */
static void *open_later(void *arg) {
    usleep(5000);
    open_gate(arg, 0);
    return NULL;
}

static void is_freed_in_every_state(void **state) {
    (void)state;
    for (int mask = 0; mask < 8; mask++) {
        Gate gate;
        Visit visits[12];
        size_t n = 0;
        pthread_t opener;
        gate_init(&gate);
        Scheduler *s = scheduler_new(2);
        for (int i = 0; i < 2 && mask & 1; i++, n++) add_visit(&visits[n], s, &gate, &mask, true);      /* waiting */
        for (int i = 0; i < 2 && mask & 2; i++, n++) add_visit(&visits[n], s, &gate, &mask, false);     /* running */
        assert_true(arrived(&gate, n));
        for (int i = 0; i < 8 && mask & 4; i++, n++) add_visit(&visits[n], s, &gate, &mask, false);     /* queued if both slots are taken */
        assert_int_equal(pthread_create(&opener, NULL, open_later, &gate), 0);
        scheduler_free(s);
        pthread_join(opener, NULL);
        assert_int_equal(gate.left, n);
        gate_clear(&gate);
    }
}

/* ---- descriptors ---- */

typedef struct { Scheduler *scheduler; SchedulerWatch *watch; int fd; atomic_int bytes, ends, jobs; Gate *gate; Visit *visits; } Reader;

/* Each byte read becomes a job that blocks at the gate; the last one is run by this thread. */
static void read_some(void *arg) {
    Reader *r = arg;
    char bytes[4];
    ssize_t n = read(r->fd, bytes, sizeof bytes);
    int first = r->bytes;
    if (n > 0) r->bytes += (int)n;
    if (n <= 0) atomic_fetch_add(&r->ends, 1);
    else scheduler_watch_again(r->watch);
    for (ssize_t i = 0; r->visits && i < n; i++) {
        Visit *v = &r->visits[first + i];
        *v = (Visit){ r->scheduler, r->gate, r, false, false };
        if (i + 1 < n) scheduler_add(r->scheduler, r, visit, v, NULL);
        else scheduler_add_last(r->scheduler, r, visit, v);
    }
}

static void until(atomic_int *what, int n) {
    for (int i = 0; i < 20000 && atomic_load(what) < n; i++) usleep(1000);
    assert_int_equal(atomic_load(what), n);
}

static void reads_what_comes(void **state) {
    (void)state;
    for (int file = 0; file < 2; file++) {
        int fds[2] = { -1, -1 };
        char name[] = "/tmp/harness-scheduler-XXXXXX";
        Scheduler *s = scheduler_new(2);
        Reader r = { .scheduler = s };
        if (file) {                                    /* not supported by epoll */
            int fd = mkstemp(name);
            assert_int_equal(pwrite(fd, "0123456789", 10, 0), 10);
            r.fd = fd;
            unlink(name);
        } else {
            assert_int_equal(pipe(fds), 0);
            r.fd = fds[0];
        }
        Shared before = { 0 };
        assert_true(scheduler_add(s, NULL, count_job, &before, NULL));     /* its thread sleeps in another place than
                                                                            * later ones */
        usleep(1000);
        assert_true(scheduler_watch(s, r.fd, read_some, &r, &r.watch, NULL));
        for (int i = 0; i < 10 && !file; i++) {
            assert_int_equal(write(fds[1], "x", 1), 1);
            if (i % 2) until(&r.bytes, i + 1);
        }
        if (!file) close(fds[1]);
        until(&r.ends, 1);
        assert_int_equal(r.bytes, 10);
        scheduler_unwatch(r.watch);
        scheduler_unwatch(NULL);
        scheduler_free(s);
        close(r.fd);
    }
}

/* The slots are full of blocking jobs: the descriptor is still read. */
static void reads_while_all_slots_are_taken(void **state) {
    (void)state;
    static Visit visits[64];
    int fds[2];
    Gate gate;
    gate_init(&gate);
    assert_int_equal(pipe(fds), 0);
    Scheduler *s = scheduler_new(2);
    Reader r = { .scheduler = s, .fd = fds[0], .gate = &gate, .visits = visits };
    assert_true(scheduler_watch(s, fds[0], read_some, &r, &r.watch, NULL));
    for (int i = 0; i < 40; i += 4) {
        assert_int_equal(write(fds[1], "1234", 4), 4);
        until(&r.bytes, i + 4);
    }
    assert_true(arrived(&gate, 2));
    assert_int_equal(there(&gate), 2);
    scheduler_unwatch(r.watch);
    assert_int_equal(write(fds[1], "late", 4), 4);     /* read by no thread */
    open_gate(&gate, 40);
    scheduler_free(s);
    assert_int_equal(r.bytes, 40);
    gate_clear(&gate);
    close(fds[0]);
    close(fds[1]);
}

typedef struct { Scheduler *scheduler; int fd; } Flood;

static void *write_flood(void *arg) {
    Flood *f = arg;
    for (int i = 0; i < 20000; i++) (void)!write(f->fd, "y", 1);
    return NULL;
}

/* Unwatching and events race in every order. */
static void is_unwatched_at_any_time(void **state) {
    (void)state;
    for (int round = 0; round < 30; round++) {
        int fds[2];
        pthread_t writer;
        assert_int_equal(pipe(fds), 0);
        Scheduler *s = scheduler_new(3);
        Reader *r = calloc(1, sizeof *r);
        *r = (Reader){ .scheduler = s, .fd = fds[0] };
        Flood flood = { s, fds[1] };
        assert_true(scheduler_watch(s, fds[0], read_some, r, &r->watch, NULL));
        assert_int_equal(pthread_create(&writer, NULL, write_flood, &flood), 0);
        usleep((useconds_t)round * 50);
        scheduler_unwatch(r->watch);
        free(r);                                       /* no job uses it any more */
        scheduler_free(s);
        pthread_join(writer, NULL);
        close(fds[0]);
        close(fds[1]);
    }
}

/* ---- no more threads ---- */

/* In a child that cannot start threads: 0 when the error says so. Root is not limited, so the child runs as another
 * user then. */
static int add_without_threads(void) {
    Error err = { 0 };
    Shared s = { 0 };
    if (geteuid() == 0 && setresuid(54321, 54321, 54321) != 0) return 77;
    if (setrlimit(RLIMIT_NPROC, &(struct rlimit){ 1, 1 }) != 0) return 77;
    Scheduler *p = scheduler_new(4);
    if (scheduler_add(p, NULL, count_job, &s, &err)) return 1;
    if (err.kind != ERR_IO || !strstr(err.msg, "cannot start a thread: ") || !strstr(err.msg, "ulimit -u")) return 2;
    scheduler_free(p);
    return s.count != 0;
}

static void says_when_the_system_refuses_a_thread(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) _exit(add_without_threads());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

#ifdef HARNESS_FAULTS
static void one_thread_is_enough(void **state) {
    (void)state;
    Error err = { 0 };
    Shared s = { 0 };
    Scheduler *p = scheduler_new(2);
    fault_arm(1);
    assert_false(scheduler_add(p, NULL, count_job, &s, &err));
    assert_true(fault_disarm());
    assert_int_equal(err.kind, ERR_IO);
    assert_non_null(strstr(err.msg, "cannot start a thread: "));
    Gate gate;
    Visit v;
    gate_init(&gate);
    add_visit(&v, p, &gate, NULL, false);
    assert_true(arrived(&gate, 1));
    fault_arm(1);
    assert_true(scheduler_add(p, NULL, count_job, &s, &err));  /* a second thread would run it now; the first one runs
                                                                * it later */
    assert_true(fault_disarm());
    open_gate(&gate, 1);
    scheduler_free(p);
    assert_int_equal(s.count, 1);
    gate_clear(&gate);
}

typedef struct { Scheduler *scheduler; Shared *shared; Error err; bool began; } LastThread;

/* The only thread would wait, a job is queued, and no other thread can be started. */
static void wait_as_the_last_thread(void *arg) {
    LastThread *t = arg;
    fault_arm(1);
    (void)scheduler_add(t->scheduler, NULL, count_job, t->shared, NULL);
    fault_disarm();
    fault_arm(1);
    t->began = scheduler_wait_begin(t->scheduler, NULL, &t->err);
    fault_disarm();
    if (t->began) scheduler_wait_end(t->scheduler, NULL);
}

static void the_last_thread_does_not_wait(void **state) {
    (void)state;
    Shared s = { 0 };
    Scheduler *p = scheduler_new(1);
    LastThread t = { .scheduler = p, .shared = &s };
    assert_true(scheduler_add(p, NULL, wait_as_the_last_thread, &t, NULL));
    scheduler_free(p);
    assert_false(t.began);
    assert_int_equal(t.err.kind, ERR_IO);
    assert_int_equal(s.count, 1);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_when_the_system_refuses_a_thread),
        cmocka_unit_test(runs_every_job_before_it_is_freed), cmocka_unit_test(uses_all_slots), cmocka_unit_test(jobs_of_one_owner_keep_their_order),
        cmocka_unit_test(groups_wait_for_their_own_jobs), cmocka_unit_test(jobs_add_jobs), cmocka_unit_test(nested_waits_do_not_deadlock),
        cmocka_unit_test(two_jobs_wake_two_threads), cmocka_unit_test(one_owner_does_not_hold_up_others), cmocka_unit_test(owners_take_turns),
        cmocka_unit_test(a_waiting_job_frees_its_slot), cmocka_unit_test(waiting_jobs_are_bounded), cmocka_unit_test(is_freed_in_every_state),
        cmocka_unit_test(reads_what_comes), cmocka_unit_test(reads_while_all_slots_are_taken), cmocka_unit_test(is_unwatched_at_any_time),
#ifdef HARNESS_FAULTS
        cmocka_unit_test(one_thread_is_enough), cmocka_unit_test(the_last_thread_does_not_wait),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
