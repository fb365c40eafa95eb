#include "starlark/front.h"

static void maps_positions(void **state) {
    (void)state;
    Source plain = { .file = STR("a.star") }, block = { .file = STR("tool.md"), .first_line = 7, .indent = 4 };
    SourcePlace p = source_place(&plain, (Pos){ 3, 5 });
    assert_int_equal(p.line, 3);
    assert_int_equal(p.column, 5);
    p = source_place(&block, (Pos){ 3, 5 });
    assert_int_equal(p.line, 9);
    assert_int_equal(p.column, 9);
    p = source_place(&block, (Pos){ 0, 0 });
    assert_int_equal(p.line, 0);
}

static void errors_point_into_the_file(void **state) {
    (void)state;
    Front f = front_open(STR("def f():\n  return 1 +\n"));
    f.source.file = STR("tool.md");
    f.source.first_line = 7;
    f.source.indent = 4;
    ParserInput in = front_input(&f);
    AstModule *m;
    Error err = { 0 };
    assert_false(parser_module(&in, &m, &err));
    char text[2000];
    error_format(&err, text, sizeof text);
    assert_string_equal(text, "tool.md:8:17: got newline, want primary expression");
    assert_int_equal(err.kind, ERR_PARSE);
    source_excerpt(&f.source, err.line, err.column, &f.out);
    front_expect(&f, "  return 1 +\n            ^\n");
}

static void shows_the_line(void **state) {
    (void)state;
    static const struct { const char *text; uint32_t line, column; const char *want; } cases[] = {
        { "abc", 1, 1, "abc\n^\n" },
        { "abc", 1, 3, "abc\n  ^\n" },
        { "abc", 1, 4, "abc\n   ^\n" },
        { "abc", 1, 99, "abc\n   ^\n" },
        { "abc", 1, 0, "abc\n^\n" },
        { "a\r\nbc\rd\n", 2, 2, "bc\n ^\n" },
        { "a\r\nbc\rd\n", 3, 1, "d\n^\n" },
        { "\tx\ty", 1, 4, "\tx\ty\n\t \t^\n" },
        { "é世x", 1, 3, "é世x\n  ^\n" },
        { "a\x01\x7f", 1, 2, "a??\n ^\n" },
        { "a\n", 9, 1, "" },
        { "a\n", 0, 1, "" },
        { "", 1, 1, "\n^\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Front f = front_open(str_from(cases[i].text));
        source_excerpt(&f.source, cases[i].line, cases[i].column, &f.out);
        front_expect(&f, cases[i].want);
    }
}

static void cuts_long_lines(void **state) {
    (void)state;
    char line[1001];
    memset(line, 'x', sizeof line);
    line[500] = 'Y';
    Front f = front_open((Str){ line, sizeof line });
    source_excerpt(&f.source, 1, 501, &f.out);
    Str out = buf_str(&f.out);
    ptrdiff_t y = str_find_char(out, 'Y'), caret = str_find_char(out, '^'), newline = str_find_char(out, '\n');
    assert_true(str_starts(out, STR("…x")) && y > 0 && caret > newline && out.n < 300);
    /* The ellipsis is three bytes but one column. */
    assert_int_equal(y - 2, caret - newline - 1);
    front_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_positions), cmocka_unit_test(errors_point_into_the_file),
        cmocka_unit_test(shows_the_line), cmocka_unit_test(cuts_long_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
