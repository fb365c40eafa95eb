#include "unit.h"
#include <math.h>
#include "base/library.h"

static struct { __typeof__(cos) *cos; __typeof__(sin) *sin; } api;

static void fills_functions(void **state) {
    (void)state;
    Library lib = { .what = "mathematics", .file = "libm.so.6" };
    library_load(&lib, (const LibraryFunction[]){ { "cos", (void **)&api.cos }, { "sin", (void **)&api.sin } }, 2);
    assert_true(lib.ok);
    assert_true(api.cos(0) > 0.99 && api.sin(0) < 0.01);
}

static void says_what_is_missing(void **state) {
    (void)state;
    Library lib = { .what = "mathematics", .file = "libm.so.6" }, none = { .what = "nothing", .file = "libnothing-of-the-kind.so.7" };
    library_load(&lib, (const LibraryFunction[]){ { "cos", (void **)&api.cos }, { "cos_of_nothing", (void **)&api.sin } }, 2);
    assert_false(lib.ok);
    assert_string_equal(lib.problem, "cannot load mathematics: libm.so.6 lacks cos_of_nothing");
    library_load(&none, NULL, 0);
    assert_false(none.ok);
    assert_ptr_equal(strstr(none.problem, "cannot load nothing: libnothing-of-the-kind.so.7"), none.problem);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(fills_functions), cmocka_unit_test(says_what_is_missing) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
