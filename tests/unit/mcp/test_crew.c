/* Who is worked for, and when. */
#include <pthread.h>
#include <time.h>
#include "mcp/crew.h"
#include "unit.h"

/* A door that jobs come to and wait at until it is opened. */
typedef struct Door { pthread_mutex_t lock; pthread_cond_t changed; size_t there, left; bool open; } Door;
typedef struct Visit { Crew *crew; Door *door; const void *owner; bool waits, refused; } Visit;

static Visit plain(Crew *c, Door *d, const void *owner) { return (Visit){ .crew = c, .door = d, .owner = owner }; }

static void door_init(Door *d) {
    *d = (Door){ 0 };
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->changed, NULL);
}

static void door_clear(Door *d) {
    pthread_mutex_destroy(&d->lock);
    pthread_cond_destroy(&d->changed);
}

static void visit(void *arg) {
    Visit *v = arg;
    v->refused = v->waits && !crew_wait(v->crew, v->owner);
    pthread_mutex_lock(&v->door->lock);
    v->door->there++;
    pthread_cond_broadcast(&v->door->changed);
    while (!v->door->open && !v->refused) pthread_cond_wait(&v->door->changed, &v->door->lock);
    pthread_mutex_unlock(&v->door->lock);
    if (v->waits && !v->refused) crew_go_on(v->crew, v->owner);
    pthread_mutex_lock(&v->door->lock);
    v->door->left++;
    pthread_cond_broadcast(&v->door->changed);
    pthread_mutex_unlock(&v->door->lock);
}

/* So many are there, or will be; false: not within a time in which they would have come. */
static bool come(Door *d, size_t n) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    pthread_mutex_lock(&d->lock);
    while (d->there < n && pthread_cond_timedwait(&d->changed, &d->lock, &until) == 0) {}
    bool all = d->there >= n;
    pthread_mutex_unlock(&d->lock);
    return all;
}

static void let_in(Door *d, size_t n) {
    pthread_mutex_lock(&d->lock);
    d->open = true;
    pthread_cond_broadcast(&d->changed);
    while (d->left < n) pthread_cond_wait(&d->changed, &d->lock);
    pthread_mutex_unlock(&d->lock);
}

static void two_jobs_wake_two_threads(void **state) {
    (void)state;
    int owner;
    for (int round = 0; round < 20; round++) {
        Door first, both;
        door_init(&first);
        door_init(&both);
        Crew *c = crew_new(4);
        Visit one = plain(c, &first, &owner), pair[] = { plain(c, &both, &owner), plain(c, &both, &owner) };
        crew_add(c, &owner, visit, &one);
        let_in(&first, 1);
        nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);          /* its thread looks for work now, most likely: that is the case that is meant */
        for (int i = 0; i < 2; i++) crew_add(c, &owner, visit, &pair[i]);
        assert_true(come(&both, 2));
        let_in(&both, 2);
        crew_free(c);
        door_clear(&first);
        door_clear(&both);
    }
}

static void one_owner_keeps_no_other_out(void **state) {
    (void)state;
    enum { GREEDY = 12 };
    int greedy, other;
    Door busy, quick;
    Visit all[GREEDY], one;
    door_init(&busy);
    door_init(&quick);
    Crew *c = crew_new(3);
    for (int i = 0; i < GREEDY; i++) {
        all[i] = plain(c, &busy, &greedy);
        crew_add(c, &greedy, visit, &all[i]);
    }
    assert_true(come(&busy, 3));
    one = plain(c, &quick, &other);
    crew_add(c, &other, visit, &one);
    assert_true(come(&quick, 1));
    assert_int_equal(busy.there, 3);                         /* and the greedy one got no more than there is */
    let_in(&quick, 1);
    let_in(&busy, GREEDY);
    crew_free(c);
    door_clear(&busy);
    door_clear(&quick);
}

static void not_all_the_world_may_wait(void **state) {
    (void)state;
    enum { ALL = CREW_WAITING_MAX + 3 };
    static Visit visits[ALL];
    int owner;
    size_t refused = 0;
    Door door;
    door_init(&door);
    Crew *c = crew_new(2);
    for (int i = 0; i < ALL; i++) {
        visits[i] = plain(c, &door, &owner);
        visits[i].waits = true;
        crew_add(c, &owner, visit, &visits[i]);
    }
    assert_true(come(&door, ALL));
    let_in(&door, ALL);
    for (int i = 0; i < ALL; i++) refused += visits[i].refused;
    assert_int_equal(refused, 3);
    crew_free(c);
    door_clear(&door);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_jobs_wake_two_threads), cmocka_unit_test(one_owner_keeps_no_other_out), cmocka_unit_test(not_all_the_world_may_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
