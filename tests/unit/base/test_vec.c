#include "unit.h"
#include "base/vec.h"

typedef struct { int x; const char *name; } Pair;

static void pushes_and_pops(void **state) {
    (void)state;
    VEC(int) numbers = { 0 };
    for (int i = 0; i < 1000; i++) VEC_PUSH(&numbers, i);
    assert_int_equal(numbers.n, 1000);
    assert_int_equal(VEC_LAST(&numbers), 999);
    for (int i = 999; i >= 0; i--) assert_int_equal(VEC_POP(&numbers), i);
    VEC_CLEAR(&numbers);
    assert_null(numbers.at);
    VEC(Pair) pairs = { 0 };
    VEC_PUSH(&pairs, (Pair){ 1, "a" });
    VEC_PUSH(&pairs, (Pair){ .x = 2, .name = "b" });
    assert_string_equal(pairs.at[1].name, "b");
    VEC_CLEAR(&pairs);
    VEC(const char *) names = { 0 };
    VEC_PUSH(&names, "x");
    assert_string_equal(VEC_LAST(&names), "x");
    VEC_CLEAR(&names);
}

static void says_when_there_are_too_many(void **state) {
    (void)state;
    Error err = { 0 };
    assert_true(vec_limit(9, 10, "tools", &err));
    assert_false(vec_limit(10, 10, "tools", &err));
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_string_equal(err.msg, "too many tools (limit 10)");
    assert_false(vec_limit(0, 0, "tools", NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushes_and_pops),
        cmocka_unit_test(says_when_there_are_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
