#include "unit.h"
#include "value/dict.h"
#include "value/list.h"
#include "value/places.h"

static void check_place(bool known, Place got, uint32_t line, uint32_t column) {
    assert_true(known);
    assert_int_equal(got.line, line);
    assert_int_equal(got.column, column);
}

static void test_empty(void **state) {
    (void)state;
    Places *p = places_new();
    Heap *h = heap_new(0);
    Value list = value_from_object(list_new(h, 0, NULL));
    Place at = { 7, 7 };
    assert_false(places_key(p, list, 0, &at));
    assert_false(places_value(p, list, 0, &at));
    assert_false(places_field(p, list, STR("x"), &at));
    check_place(true, at, 7, 7);
    check_place(true, places_root(p), 0, 0);
    places_free(p);
    places_free(NULL);
    heap_free(h);
}

static void test_put(void **state) {
    (void)state;
    Places *p = places_new();
    Heap *h = heap_new(0);
    Dict *d = dict_new(h, 0, NULL);
    assert_true(dict_put_str(h, d, STR("a"), VALUE_TRUE, NULL) && dict_put_str(h, d, STR("b"), VALUE_TRUE, NULL));
    Value dict = value_from_object(d), list = value_from_object(list_new(h, 0, NULL));
    Place at;
    places_put_root(p, (Place){ 1, 2 });
    places_put(p, dict, 0, (Place){ 3, 4 }, (Place){ 5, 6 });
    places_put(p, dict, 1, (Place){ 7, 8 }, (Place){ 9, 10 });
    places_put(p, list, 0, (Place){ 0, 0 }, (Place){ 11, 12 });
    check_place(true, places_root(p), 1, 2);
    check_place(places_key(p, dict, 0, &at), at, 3, 4);
    check_place(places_value(p, dict, 0, &at), at, 5, 6);
    check_place(places_field(p, dict, STR("b"), &at), at, 7, 8);
    check_place(places_value(p, list, 0, &at), at, 11, 12);
    assert_false(places_key(p, list, 0, &at));
    assert_false(places_value(p, list, 1, &at));
    assert_false(places_field(p, dict, STR("c"), &at));
    places_put(p, dict, 0, (Place){ 13, 14 }, (Place){ 15, 16 });
    check_place(places_key(p, dict, 0, &at), at, 13, 14);
    places_free(p);
    heap_free(h);
}

static void test_many(void **state) {
    (void)state;
    enum { LISTS = 100, ITEMS = 100 };
    Places *p = places_new();
    Heap *h = heap_new(0);
    Value list[LISTS];
    for (uint32_t i = 0; i < LISTS; i++) {
        list[i] = value_from_object(list_new(h, 0, NULL));
        for (uint32_t k = 0; k < ITEMS; k++) places_put(p, list[i], k, (Place){ 0, 0 }, (Place){ i + 1, k + 1 });
    }
    for (uint32_t i = 0; i < LISTS; i++)
        for (uint32_t k = 0; k < ITEMS; k++) {
            Place at;
            check_place(places_value(p, list[i], k, &at), at, i + 1, k + 1);
        }
    places_free(p);
    heap_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_empty), cmocka_unit_test(test_put), cmocka_unit_test(test_many) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
