/* The arguments of a call in a question: texts of several lines are lines. */
#include "unit.h"
#include "tool/laid_out.h"
#include "value/json.h"

static const struct { const char *args, *shown; } rows[] = {
    { "{\"what\":\"everything\"}", "{\n  \"what\": \"everything\"\n}" },
    { "{\"text\":\"one\\ntwo\"}", "{\n  \"text\":\n    │ one\n    │ two\n}" },
    { "{\"path\":\"f\",\"text\":\"a\\n\\nb\\n\",\"n\":{\"x\":[1]}}",
      "{\n  \"path\": \"f\",\n  \"text\":\n    │ a\n    │ \n    │ b\n    │ \n  \"n\": {\n    \"x\": [\n      1\n    ]\n  }\n}" },
    { "{}", "{}" },
    { "[\"a\\nb\"]", "[\n  \"a\\nb\"\n]" },
};

static void test_layout(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Heap *h = heap_new(0);
        Buf out = { 0 };
        Value v;
        Error err = { 0 };
        assert_true(json_read(h, str_from(rows[i].args), NULL, &v, &err));
        laid_out_add(&out, v);
        assert_string_equal(out.at, rows[i].shown);
        buf_clear(&out);
        heap_free(h);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_layout) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
