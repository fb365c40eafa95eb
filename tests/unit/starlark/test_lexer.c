#include "starlark/front.h"

static void add_value(Buf *out, const Lexeme *t) {
    if (t->kind == TOKEN_INT) int_text(out, t->value, 10);
    else if (t->kind == TOKEN_FLOAT) buf_add_fmt(out, "%.17g", value_float(t->value));
    else {
        Str s = value_str(t->value);
        buf_add_fmt(out, "%s\"", t->kind == TOKEN_BYTES ? "b" : "");
        for (size_t i = 0; i < s.n; i++) {
            unsigned char c = (unsigned char)s.at[i];
            if (c < 0x20 || c >= 0x7f) buf_add_fmt(out, "\\x%02x", c);
            else buf_add_char(out, (char)c);
        }
        buf_add_char(out, '"');
    }
}

/* Writes tokens separated by blanks; stops at an error. */
static void scan(Front *f) {
    Lexer lx;
    Lexeme t = { 0 };
    Error err = { 0 };
    bool ok = lexer_init(&lx, &f->source, f->heap, f->names, &err);
    while (ok && t.kind != TOKEN_EOF && (ok = lexer_next(&lx, &t, &err))) {
        if (f->out.n) buf_add_char(&f->out, ' ');
        if (t.kind == TOKEN_IDENT) buf_add(&f->out, value_str(t.value));
        else if (t.kind == TOKEN_EOF) buf_add(&f->out, STR("EOF"));
        else if (t.kind >= TOKEN_INT && t.kind <= TOKEN_BYTES) add_value(&f->out, &t);
        else buf_add(&f->out, str_from(token_text(t.kind)));
    }
    lexer_clear(&lx);
    if (ok) return;
    buf_reset(&f->out);
    front_add_error(f, &err);
}

typedef struct { const char *source, *want; } Case;

static void check(const Case *cases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        Front f = front_open(str_from(cases[i].source));
        scan(&f);
        front_expect(&f, cases[i].want);
    }
}
#define CHECK(cases) check(cases, sizeof(cases) / sizeof *(cases))

static void operators_and_words(void **state) {
    (void)state;
    static const Case cases[] = {
        { "", "EOF" },
        { "+ - * / // % & | ^ << >> ~ . , = ; : ( ) [ ] { }", "+ - * / // % & | ^ << >> ~ . , = ; : ( ) [ ] { } EOF" },
        { "< > >= <= == != ** += -= *= /= //= %= &= |= ^= <<= >>=",
          "< > >= <= == != ** += -= *= /= //= %= &= |= ^= <<= >>= EOF" },
        { "and break continue def elif else for if in lambda load not or pass return while",
          "and break continue def elif else for if in lambda load not or pass return while EOF" },
        { "as class del except finally from global import is nonlocal raise try with yield",
          "as class del except finally from global import is nonlocal raise try with yield EOF" },
        { "assert async await", "assert async await EOF" },
        { "print(x)", "print ( x ) EOF" },
        { "a<<=b<<c", "a <<= b << c EOF" },
        { "~= ~= 5", "~ = ~ = 5 EOF" },
        { "0in 6or", "0 in 6 or EOF" },
        { "_a1 é 世界 x９", "1:11: unexpected input character '９'" },
        { "_a1 é 世界", "_a1 é 世界 EOF" },
        { "x ! 0", "1:3: unexpected input character '!'" },
        { "x $", "1:3: unexpected input character '$'" },
        { "x = `", "1:5: unexpected input character '`'" },
        { "\xef\xbb\xbfx", "1:1: unexpected input character '\\ufeff'" },
        { "é ?", "1:3: unexpected input character '?'" },
        { "x \x01", "1:3: unexpected input character '\\x01'" },
        { "a)", "1:2: unexpected ')'" },
        { "(a))", "1:4: unexpected ')'" },
        { "x # comment", "x EOF" },
        { "# comment\nx # c\n# d", "x newline EOF" },
        { "a \\\n b", "a b EOF" },
        { "a \\\r\n b", "a b EOF" },
        { "a \\ b", "1:4: stray backslash in program" },
        { "a \\", "1:4: stray backslash in program" },
    };
    CHECK(cases);
}

static void lines_and_indentation(void **state) {
    (void)state;
    static const Case cases[] = {
        { "a\nb", "a newline b EOF" },
        { "a\r\nb\rc\n", "a newline b newline c newline EOF" },
        { "\n\n  \n # c\nx\n\n", "x newline EOF" },
        { "(\na\n,\n  b)\nc", "( a , b ) newline c EOF" },
        { "if x:\n  y\nz", "if x : newline indent y newline outdent z EOF" },
        { "def f():\n  if x:\n    pass\n  ", "def f ( ) : newline indent if x : newline indent pass newline outdent outdent EOF" },
        { "if x:\n  y", "if x : newline indent y newline outdent EOF" },
        { "if x:\n  y\n\n# c\n   # d\n  z", "if x : newline indent y newline z newline outdent EOF" },
        { "if x:\n\ty\n        z", "if x : newline indent y newline z newline outdent EOF" },
        { "if x:\n  \ty\n        z", "if x : newline indent y newline z newline outdent EOF" },
        { "if x:\n    y\n  z", "3:3: unindent does not match any outer indentation level" },
        { "  x", "indent x newline outdent EOF" },
    };
    CHECK(cases);
}

static void strings(void **state) {
    (void)state;
    static const Case cases[] = {
        { "'a' \"b\" '' \"\"", "\"a\" \"b\" \"\" \"\" EOF" },
        { "'''a'b\n\"c''' \"\"\"d\"\"\"", "\"a'b\\x0a\"c\" \"d\" EOF" },
        { "\"\"\"\\\"\"\"\"", "\"\"\" EOF" },
        { "r'\\n' r\"\\\"\" r'''\\'''", "1:13: unexpected EOF in string" },
        { "r'\\n' r\"\\\"\"", "\"\\n\" \"\\\"\" EOF" },
        { "b'a\\xff' rb'\\x' br'\\x' b\"\"\"q\"\"\"", "b\"a\\xff\" b\"\\x\" b\"\\x\" b\"q\" EOF" },
        { "rr'x'", "rr \"x\" EOF" },
        { "'\\a\\b\\f\\n\\r\\t\\v\\\\\\'\\\"'", "\"\\x07\\x08\\x0c\\x0a\\x0d\\x09\\x0b\\'\"\" EOF" },
        { "'a\\\nb' 'a\\\r\nb'", "\"ab\" \"ab\" EOF" },
        { "'''a\r\nb\rc'''", "\"a\\x0ab\\x0ac\" EOF" },
        { "r'''a\r\nb\\\rc'''", "\"a\\x0ab\\\\x0ac\" EOF" },
        { "'\\0\\12\\1234'", "\"\\x00\\x0aS4\" EOF" },
        { "'\\x41\\u0400\\U0001F63F'", "\"A\\xd0\\x80\\xf0\\x9f\\x98\\xbf\" EOF" },
        { "b'\\u0400\\377'", "b\"\\xd0\\x80\\xff\" EOF" },
        { "'é'", "\"\\xc3\\xa9\" EOF" },
        { "'a", "1:1: unexpected EOF in string" },
        { "'a\nb'", "1:1: unexpected newline in string" },
        { "x = r'a\nb'", "1:5: unexpected newline in string" },
        { "x = '''a\n", "1:5: unexpected EOF in string" },
        { "'a\\", "1:1: unexpected EOF in string" },
        { "'\\200'", "1:1: non-ASCII octal escape \\200 (use \\u0080 for the UTF-8 encoding of U+0080)" },
        { "b'\\400'", "1:2: invalid escape sequence \\400" },
        { "'\\x80'", "1:1: non-ASCII hex escape \\x80 (use \\u0080 for the UTF-8 encoding of U+0080)" },
        { "'\\xF'", "1:1: truncated escape sequence \\xF" },
        { "'\\x-0'", "1:1: invalid escape sequence \\x-0" },
        { "'\\u12'", "1:1: truncated escape sequence \\u12" },
        { "'\\u100g'", "1:1: invalid escape sequence \\u100g" },
        { "'\\udc00'", "1:1: invalid Unicode code point U+DC00" },
        { "'\\U00110000'", "1:1: code point out of range: \\U00110000 (max \\U0010ffff)" },
        { "'\\w'", "1:1: invalid escape sequence \\w" },
        { "'\\é'", "1:1: invalid escape sequence \\é" },
        { "'\\xé'", "1:1: invalid escape sequence \\xé" },
    };
    CHECK(cases);
}

static void numbers(void **state) {
    (void)state;
    static const Case cases[] = {
        { "0 00 7 123", "0 0 7 123 EOF" },
        { "0x1F 0XaB 0o17 0O7 0b101 0B1", "31 171 15 7 5 1 EOF" },
        { "12345678901234567890 562949953421312", "12345678901234567890 562949953421312 EOF" },
        { "0x12345678deadbeef12345678", "5634002672576678570168178296 EOF" },
        { "0o7777777777777777777777777", "37778931862957161709567 EOF" },
        { "1. .5 1.5 1e3 1E+3 2e-2 1.e1 0.e1 0123. 012e1", "1 0.5 1.5 1000 1000 0.02 10 0 123 120 EOF" },
        { "1.real", "1 real EOF" },
        { "x.5", "x 0.5 EOF" },
        { "a.b", "a . b EOF" },
        { "0x", "1:1: invalid hex literal" },
        { "0o8", "1:3: invalid octal literal" },
        { "0b2", "1:3: invalid binary literal" },
        { "0123", "1:5: obsolete form of octal literal; use 0o123" },
        { "089", "1:1: invalid int literal" },
        { "1e", "1:3: invalid float literal" },
        { "1e+", "1:4: invalid float literal" },
        { "1e999", "1:6: invalid float literal" },
    };
    CHECK(cases);
}

static void rejects_bad_bytes(void **state) {
    (void)state;
    static const struct { Str source; const char *want; } cases[] = {
        { STR("x = '\xff'"), "1:6: invalid UTF-8 in source" },
        { STR("é\nab\xc3"), "2:3: invalid UTF-8 in source" },
        { STR("'\xed\xa0\x80'"), "1:2: invalid UTF-8 in source" },
        { STR("a\0b"), "1:2: unexpected input character '\\x00'" },
        { STR("'a\0b'"), "\"a\\x00b\" EOF" },
        { STR("# \0\nx"), "x EOF" },
        { { NULL, 0 }, "EOF" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Front f = front_open(cases[i].source);
        scan(&f);
        front_expect(&f, cases[i].want);
    }
}

static void has_limits(void **state) {
    (void)state;
    Buf b = { 0 };
    for (int i = 0; i < 200000; i++) buf_add_char(&b, '9');
    Front f = front_open(buf_str(&b));
    scan(&f);
    front_expect(&f, "1:1: int too large");
    buf_clear(&b);

    for (int i = 0; i < LEXER_INDENT_MAX + 1; i++) {
        for (int j = 0; j < i; j++) buf_add_char(&b, ' ');
        buf_add(&b, STR("x\n"));
    }
    f = front_open(buf_str(&b));
    scan(&f);
    front_expect(&f, "257:257: nested too deeply");
    buf_clear(&b);

    size_t n = (size_t)LEXER_TEXT_MAX + 1;
    memset(buf_room(&b, n), ' ', n);
    buf_commit(&b, n);
    f = front_open(buf_str(&b));
    scan(&f);
    front_expect(&f, "1:1: source is too long (limit 8388608 bytes)");
    buf_clear(&b);
}

static void says_where_the_heap_was_full(void **state) {
    (void)state;
    Buf b = { 0 };
    buf_add(&b, STR("x\n '"));
    size_t n = 4 << 20;
    memset(buf_room(&b, n), 'a', n);
    buf_commit(&b, n);
    buf_add(&b, STR("'"));
    Front f = front_open(buf_str(&b));
    heap_set_limit(f.heap, 1 << 20);
    scan(&f);
    assert_true(str_starts(buf_str(&f.out), STR("2:2: heap limit")));
    front_close(&f);
    buf_clear(&b);
}

static void equal_names_are_one_string(void **state) {
    (void)state;
    Front f = front_open(STR("abc 'abc' abc"));
    Lexer lx;
    Lexeme t[3];
    assert_true(lexer_init(&lx, &f.source, f.heap, f.names, NULL));
    for (int i = 0; i < 3; i++) assert_true(lexer_next(&lx, &t[i], NULL));
    assert_true(value_same(t[0].value, t[1].value) && value_same(t[0].value, t[2].value));
    lexer_clear(&lx);
    front_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_and_words), cmocka_unit_test(lines_and_indentation), cmocka_unit_test(strings),
        cmocka_unit_test(numbers), cmocka_unit_test(rejects_bad_bytes), cmocka_unit_test(has_limits),
        cmocka_unit_test(says_where_the_heap_was_full), cmocka_unit_test(equal_names_are_one_string),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
