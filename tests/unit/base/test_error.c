#include "unit.h"
#include <errno.h>
#include "base/error.h"
#include "base/utf8.h"

static void setting_returns_false_and_resets(void **state) {
    (void)state;
    Error err = { 0 };
    assert_false(error_set_at(&err, ERR_PARSE, 4, 2, "bad %s", "thing"));
    assert_false(error_place(&err, "a.md", 0, 9));     /* no line: keeps the parser's */
    assert_false(error_hint(&err, "did you mean \"%s\"?", "string"));
    char text[200];
    error_format(&err, text, sizeof text);
    assert_string_equal(text, "a.md:4:2: bad thing (did you mean \"string\"?)");
    assert_false(error_wrap(&err, "parse tool %s", "x.md"));
    assert_string_equal(err.msg, "parse tool x.md: bad thing");
    assert_int_equal(err.kind, ERR_PARSE);
    error_set(&err, ERR_IO, "again: %s", err.msg);     /* an argument inside the error itself */
    assert_string_equal(err.msg, "again: parse tool x.md: bad thing");
    error_format(&err, text, sizeof text);
    assert_string_equal(text, "again: parse tool x.md: bad thing");
}

static void formats_what_is_known(void **state) {
    (void)state;
    static const struct { const char *file; uint32_t line, column; const char *text; } cases[] = {
        { NULL, 0, 0, "m" }, { "f", 0, 0, "f: m" }, { "f", 3, 0, "f:3: m" }, { "f", 3, 4, "f:3:4: m" },
        { NULL, 3, 4, "3:4: m" }, { NULL, 4294967295u, 4294967295u, "4294967295:4294967295: m" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Error err = { 0 };
        char text[100];
        error_set(&err, ERR_CONFIG, "m");
        error_place(&err, cases[i].file, cases[i].line, cases[i].column);
        error_format(&err, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

static void nobody_needs_to_care(void **state) {
    (void)state;
    assert_false(error_set(NULL, ERR_IO, "x %d", 1));
    assert_false(error_set_at(NULL, ERR_IO, 1, 1, "x"));
    assert_false(error_wrap(NULL, "x"));
    assert_false(error_hint(NULL, "x"));
    assert_false(error_place(NULL, "f", 1, 1));
}

static void keeps_errno_for_percent_m(void **state) {
    (void)state;
    Error err = { 0 };
    errno = ENOENT;
    error_set(&err, ERR_IO, "open %s: %m", "x");
    assert_string_equal(err.msg, "open x: No such file or directory");
}

/* Characters of every width, shifted so that each lands on the cut in every phase. */
static void cuts_at_a_character(void **state) {
    (void)state;
    static const char *const chars[] = { "a", "é", "€", "😀" };
    for (int c = 0; c < 4; c++)
        for (int shift = 0; shift < 5; shift++) {
            Buf b = { 0 };
            for (int i = 0; i < shift; i++) buf_add_char(&b, '.');
            while (b.n < 3000) buf_add(&b, str_from(chars[c]));
            Error err = { 0 };
            error_set(&err, ERR_IO, "%s", b.at);
            error_place(&err, b.at, 1, 1);
            error_hint(&err, "%s", b.at);
            const char *const cut[] = { err.msg, err.file, err.hint };
            for (int i = 0; i < 3; i++) {
                assert_true(utf8_valid(str_from(cut[i])));
                assert_true(str_ends(str_from(cut[i]), STR("…")));
                assert_true(strlen(cut[i]) > ERROR_HINT_MAX - 8);
            }
            error_wrap(&err, "%s", b.at);
            assert_true(utf8_valid(str_from(err.msg)));
            for (size_t size = 1; size < 40; size++) {
                char text[40];
                error_format(&err, text, size);
                assert_true(strlen(text) < size);
                assert_true(utf8_valid(str_from(text)));
            }
            buf_clear(&b);
        }
}

static void kinds_have_names(void **state) {
    (void)state;
    assert_string_equal(error_kind_name(ERR_NONE), "none");
    assert_string_equal(error_kind_name(ERR_TIMEOUT), "timeout");
    assert_string_equal(error_kind_name(ERR_INTERNAL), "internal");
    assert_string_equal(error_kind_name((ErrorKind)99), "unknown");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(setting_returns_false_and_resets),
        cmocka_unit_test(formats_what_is_known),
        cmocka_unit_test(nobody_needs_to_care),
        cmocka_unit_test(keeps_errno_for_percent_m),
        cmocka_unit_test(cuts_at_a_character),
        cmocka_unit_test(kinds_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
