#include "unit.h"
#include "base/mem.h"

static void compares_by_bytes(void **state) {
    (void)state;
    static const struct { const char *a, *b; int order; } cases[] = {
        { "", "", 0 }, { "", "a", -1 }, { "a", "", 1 }, { "a", "b", -1 }, { "ab", "a", 1 },
        { "abc", "abc", 0 }, { "é", "z", 1 }, { "a", "aa", -1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int order = str_cmp(str_from(cases[i].a), str_from(cases[i].b));
        assert_int_equal((order > 0) - (order < 0), cases[i].order);
        assert_int_equal(str_eq(str_from(cases[i].a), str_from(cases[i].b)), cases[i].order == 0);
    }
    assert_int_equal(str_cmp((Str){ NULL, 0 }, STR("")), 0);
    assert_true(str_cmp(STR("a\0b"), STR("a\0c")) < 0);
}

static void finds_and_cuts(void **state) {
    (void)state;
    Str s = STR("hello, hello");
    assert_true(str_starts(s, STR("hell")) && str_starts(s, STR("")) && !str_starts(STR("he"), STR("hel")));
    const Str list[] = { STR("a"), STR(""), STR("bc") };
    assert_true(str_among(STR("bc"), list, 3) && str_among(STR(""), list, 3) && !str_among(STR("b"), list, 3)
        && !str_among(STR("bc"), list, 2) && !str_among(s, NULL, 0));
    assert_true(str_ends(s, STR("llo")) && str_ends(s, STR("")) && !str_ends(STR("lo"), STR("llo")));
    assert_int_equal(str_find(s, STR("llo")), 2);
    assert_int_equal(str_find(s, STR("xyz")), -1);
    assert_int_equal(str_find(s, STR("")), 0);
    assert_int_equal(str_find(STR(""), STR("a")), -1);
    assert_int_equal(str_find_char(s, ','), 5);
    assert_int_equal(str_find_char((Str){ NULL, 0 }, ','), -1);
    assert_str(str_sub(s, 7, 100), "hello");
    assert_str(str_sub(s, 100, 200), "");
    assert_str(str_sub(s, 5, 2), "");
    assert_str(str_sub((Str){ NULL, 0 }, 0, 9), "");
    assert_str(str_trim(STR(" \t\r\n\v\f a b \n")), "a b");
    assert_str(str_trim(STR("  ")), "");
    char *copy = str_dup(STR("a\0b"));
    assert_memory_equal(copy, "a\0b", 4);
    free(copy);
}

static void cuts_lines(void **state) {
    (void)state;
    static const struct { const char *text, *lines; } cases[] = {   /* lines joined with '|' */
        { "", "" }, { "a", "a|" }, { "a\n", "a|" }, { "\n", "|" }, { "a\nb", "a|b|" }, { "a\r\nb\r\n", "a|b|" },
        { "\r\n\r\n", "||" }, { "a\rb\n", "a\rb|" }, { "a\r", "a\r|" }, { "a\n\nb", "a||b|" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Buf got = { 0 };
        Str rest = str_from(cases[i].text), line;
        while (str_next_line(&rest, &line)) buf_add(&got, line), buf_add_char(&got, '|');
        assert_str(buf_str(&got), cases[i].lines);
        buf_clear(&got);
    }
}

static void suggests_the_nearest_word(void **state) {
    (void)state;
    static const Str words[] = { { "string", 6 }, { "integer", 7 }, { "number", 6 }, { "boolean", 7 }, { "x", 1 }, { "", 0 } };
    static const struct { const char *word, *nearest; } cases[] = {
        { "strng", "string" }, { "stirng", "string" }, { "string", "string" }, { "nubmer", "number" },
        { "bool", "" }, { "boolen", "boolean" }, { "bolean", "boolean" }, { "y", "" }, { "xy", "x" }, { "", "" },
        { "intger", "integer" }, { "itnegre", "integer" }, { "itnegrx", "" }, { "umbern", "number" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Str got = str_nearest(str_from(cases[i].word), words, sizeof words / sizeof *words);
        if (!str_eq(got, str_from(cases[i].nearest)))
            fail_msg("%s: got \"%.*s\", not \"%s\"", cases[i].word, STR_ARG(got), cases[i].nearest);
    }
    char big[5000];
    memset(big, 'a', sizeof big);
    Str huge = { big, sizeof big };
    assert_str(str_nearest(huge, &huge, 1), "");
    assert_str(str_nearest(STR("a"), &huge, 1), "");
    assert_true(str_within(STR("confirm"), STR("confrim"), 1));          /* a swap is one edit */
    assert_true(str_within(STR("deny"), STR("dny"), 1));
    assert_true(str_within(STR(""), STR("ab"), 2));
    assert_false(str_within(STR(""), STR("abc"), 2));
    assert_false(str_within(STR("hooks"), STR("docs"), 2));
    assert_false(str_within(huge, huge, 2));
    Str full = { big, 96 }, near = { big, 95 };
    assert_int_equal(str_nearest(full, &near, 1).n, 95);
}

static void buffer_grows_and_formats(void **state) {
    (void)state;
    Buf b = { 0 };
    assert_str(buf_str(&b), "");
    buf_add(&b, (Str){ NULL, 0 });
    for (int i = 0; i < 1000; i++) buf_add_fmt(&b, "%d,", i);
    assert_int_equal(b.n, 10 * 2 + 90 * 3 + 900 * 4);
    assert_int_equal(b.at[b.n], 0);
    buf_reset(&b);
    assert_str(buf_str(&b), "");
    buf_add_fmt(&b, "%0600d|", 5);                     /* longer than the first try */
    assert_int_equal(b.n, 601);
    assert_string_equal(b.at + 598, "05|");
    buf_reset(&b);
    static const uint32_t points[] = { 0x41, 0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF };
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) buf_add_utf8(&b, points[i]);
    assert_str(buf_str(&b), "A\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF");
    char *text = buf_take(&b);
    assert_null(b.at);
    assert_int_equal(b.n, 0);
    free(text);
    text = buf_take(&b);
    assert_string_equal(text, "");
    free(text);
}

static void buffer_stops_at_its_limit(void **state) {
    (void)state;
    Buf b = { .limit = 10 };
    buf_add(&b, STR("12345"));
    assert_false(b.full);
    buf_add(&b, STR("67890"));
    assert_false(b.full);
    buf_add_char(&b, 'x');
    assert_true(b.full);
    assert_str(buf_str(&b), "1234567890");
    assert_true(b.cap <= 11);
    buf_reset(&b);
    assert_false(b.full);
    buf_add_fmt(&b, "%s", "12345678901");
    assert_true(b.full);
    buf_add_char(&b, 'x');                             /* no gaps: later pieces are dropped too */
    assert_str(buf_str(&b), "");
    assert_null(buf_room(&b, 1));
    buf_clear(&b);
    assert_int_equal(b.limit, 10);
    buf_add_fmt(&b, "%500d", 1);
    assert_true(b.full);
    buf_clear(&b);
    char *room = buf_room(&b, 10);
    memcpy(room, "abcdefghij", 10);
    buf_commit(&b, 3);
    assert_str(buf_str(&b), "abc");
    buf_clear(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compares_by_bytes),
        cmocka_unit_test(finds_and_cuts),
        cmocka_unit_test(cuts_lines),
        cmocka_unit_test(suggests_the_nearest_word),
        cmocka_unit_test(buffer_grows_and_formats),
        cmocka_unit_test(buffer_stops_at_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
