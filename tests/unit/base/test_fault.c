#include "unit.h"
#include <pthread.h>
#include "base/fault.h"

#ifdef HARNESS_FAULTS
static void the_nth_step_fails_once(void **state) {
    (void)state;
    for (long nth = 1; nth <= 5; nth++) {
        fault_arm(nth);
        for (long step = 1; step <= 8; step++) assert_int_equal(fault_hit(), step == nth);
        assert_true(fault_disarm());
    }
    fault_arm(9);
    assert_false(fault_hit());
    assert_false(fault_disarm());
    for (int i = 0; i < 20; i++) assert_false(fault_hit());
}

static void *hit_elsewhere(void *arg) {
    return fault_hit() ? arg : NULL;
}

static void other_threads_are_spared(void **state) {
    (void)state;
    pthread_t t;
    int mark;
    void *hit = NULL;
    fault_arm(1);
    pthread_create(&t, NULL, hit_elsewhere, &mark);
    pthread_join(t, &hit);
    assert_null(hit);
    assert_true(fault_hit());
    assert_true(fault_disarm());
}
#else
static void never_hits(void **state) {
    (void)state;
    for (int i = 0; i < 10; i++) assert_false(fault_hit());
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
#ifdef HARNESS_FAULTS
        cmocka_unit_test(the_nth_step_fails_once),
        cmocka_unit_test(other_threads_are_spared),
#else
        cmocka_unit_test(never_hits),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
