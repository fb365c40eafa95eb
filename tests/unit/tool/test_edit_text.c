#include "unit.h"
#include "base/utf8.h"
#include "tool/builtin/edit_text.h"

static void replaces(void **state) {
    (void)state;
    static const struct { const char *text, *old, *new; bool all; const char *result; size_t count; } cases[] = {
        { "a b c", "b", "x", false, "a x c", 1 }, { "b", "b", "", false, "", 1 }, { "aXbXc", "X", "--", true, "a--b--c", 2 },
        { "aaaa", "aa", "b", true, "bb", 2 }, { "a\nb\nc\n", "a\nb\n", "b\n", false, "b\nc\n", 1 }, { "é", "é", "e", false, "e", 1 },
        { "a\r\nb", "\r\n", "\n", false, "a\nb", 1 }, { "abab", "ab", "abab", true, "abababab", 2 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Buf out = { 0 };
        size_t count = 0;
        EditText edit = { str_from(cases[i].old), str_from(cases[i].new), cases[i].all };
        assert_true(edit_text_replace(str_from(cases[i].text), &edit, &out, &count, NULL));
        assert_str(buf_str(&out), cases[i].result);
        assert_int_equal(count, cases[i].count);
        buf_clear(&out);
    }
}

static void keeps_bytes(void **state) {
    (void)state;
    Buf out = { 0 };
    size_t count;
    EditText edit = { STR("x"), STR("\0y"), false };
    assert_true(edit_text_replace(STR("\xff\0x\xfe"), &edit, &out, &count, NULL));
    assert_int_equal(out.n, 5);
    assert_memory_equal(out.at, "\xff\0\0y\xfe", 5);
    buf_clear(&out);
}

static void explains_failures(void **state) {
    (void)state;
    static const struct { const char *text, *old, *new, *message, *hint; } cases[] = {
        { "a", "", "b", "old_string is empty", "" },
        { "a", "a", "a", "old_string and new_string are the same", "" },
        { "", "a", "b", "old_string was not found, nor anything like it", "" },
        { "one\ntwo\n", "zzzzzz", "b", "old_string was not found, nor anything like it", "" },
        { "x x x", "x", "y", "old_string is ambiguous: it occurs 3 times, at lines 1, 1 and 1", "give more of the text around it, or set replace_all" },
        { "a\nx\nb\nx\n", "x", "y", "old_string is ambiguous: it occurs 2 times, at lines 2 and 4", "give more of the text around it, or set replace_all" },
        { "int main(void) {\n    return 0;\n}\n", "int main(void) {\n  return 0;\n}", "",
          "old_string was not found; the nearest text is at lines 1-3:\n1: int main(void) {\n2:     return 0;\n3: }", "" },
        { "first\nthe quick brown fox\nlast\n", "the quick brwn fox", "",
            "old_string was not found; the nearest text is at line 2:\n2: the quick brown fox", "" },
        { "\tvalue = 1\n", "value  = 1", "", "old_string was not found; the nearest text is at line 1:\n1: \\tvalue = 1", "" },
        { "a\r\nb\r\n", "a\nb\n", "", "old_string was not found; the nearest text is at lines 1-2:\n1: a\n2: b", "the file's lines end in \\r\\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Buf out = { 0 };
        Error err = { 0 };
        size_t count = 99;
        EditText edit = { str_from(cases[i].old), str_from(cases[i].new), false };
        assert_false(edit_text_replace(str_from(cases[i].text), &edit, &out, &count, &err));
        assert_string_equal(err.msg, cases[i].message);
        assert_string_equal(err.hint, cases[i].hint);
        assert_int_equal(err.kind, ERR_VALIDATION);
        assert_int_equal(count, 99);
        assert_null(out.at);
    }
}

static void lists_only_so_many_lines(void **state) {
    (void)state;
    Buf text = { 0 }, out = { 0 };
    Error err = { 0 };
    size_t count;
    for (int i = 0; i < 1000; i++) buf_add(&text, STR("x\n"));
    EditText edit = { STR("x"), STR("y"), false };
    assert_false(edit_text_replace(buf_str(&text), &edit, &out, &count, &err));
    assert_string_equal(err.msg, "old_string is ambiguous: it occurs 1000 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, …");
    buf_clear(&text);
}

/* Large texts, long lines and invalid UTF-8 give an error in valid UTF-8, without delay. */
static void copes_with_odd_texts(void **state) {
    (void)state;
    Buf text = { 0 }, out = { 0 };
    for (int i = 0; i < 200000; i++) buf_add_fmt(&text, "some line of text number %d \xff\xfe\n", i);
    for (int i = 0; i < 100000; i++) buf_add(&text, STR("long é "));
    static const char *const olds[] = { "some line of text\n", "lng é lng é", "\xff\xff\xff", "\n\n\n", "some line of text number 7 \xfe" };
    for (size_t i = 0; i < sizeof olds / sizeof *olds; i++) {
        Error err = { 0 };
        size_t count;
        EditText edit = { str_from(olds[i]), STR("y"), false };
        assert_false(edit_text_replace(buf_str(&text), &edit, &out, &count, &err));
        assert_true(utf8_valid(str_from(err.msg)));
        assert_int_equal(strncmp(err.msg, "old_string was not found", 24), 0);
    }
    buf_clear(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replaces), cmocka_unit_test(keeps_bytes), cmocka_unit_test(explains_failures),
        cmocka_unit_test(lists_only_so_many_lines), cmocka_unit_test(copes_with_odd_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
