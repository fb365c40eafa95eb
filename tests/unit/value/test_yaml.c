#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "base/fault.h"
#include "base/number.h"
#include "value/dict.h"
#include "value/heap.h"
#include "value/int.h"
#include "value/list.h"
#include "value/yaml.h"

/* A value as text: strings in quotes, floats with a dot, None, True, False. */
static void render(Buf *out, Value v) {
    char number[NUMBER_TEXT_SIZE];
    if (value_is_none(v)) buf_add(out, STR("None"));
    else if (value_is_bool(v)) buf_add(out, value_bool(v) ? STR("True") : STR("False"));
    else if (value_is_int(v)) int_text(out, v, 10);
    else if (value_is_float(v)) buf_add(out, (Str){ number, number_write_double(value_float(v), number) });
    else if (value_is_string(v)) buf_add_fmt(out, "\"" STR_FMT "\"", STR_ARG(value_str(v)));
    else if (value_is_list(v)) {
        buf_add_char(out, '[');
        for (uint32_t i = 0; i < value_list(v)->n; i++) {
            if (i) buf_add(out, STR(", "));
            render(out, value_list(v)->at[i]);
        }
        buf_add_char(out, ']');
    } else {
        Entry *e;
        buf_add_char(out, '{');
        for (uint32_t i = 0, first = 1; dict_next(value_dict(v), &i, &e); first = 0) {
            if (!first) buf_add(out, STR(", "));
            render(out, e->key);
            buf_add(out, STR(": "));
            render(out, e->value);
        }
        buf_add_char(out, '}');
    }
}

static void check_with(Str text, const YamlRead *options, const char *want) {
    Heap *h = heap_new(0);
    Error err = { 0 };
    Value v;
    if (!yaml_read(h, text, options, &v, &err)) fail_msg("[" STR_FMT "]: %s", STR_ARG(text), err.msg);
    Buf got = { 0 };
    render(&got, v);
    if (strcmp(buf_str(&got).at, want) != 0)
        fail_msg("[" STR_FMT "]\n  read as %s\n  want    %s", STR_ARG(text), buf_str(&got).at, want);
    buf_clear(&got);
    heap_free(h);
}

typedef struct { const char *text, *want; } Good;
static void check_all(const Good *t, size_t n) {
    for (size_t i = 0; i < n; i++) check_with(str_from(t[i].text), NULL, t[i].want);
}
#define CHECK_ALL(t) check_all((t), sizeof(t) / sizeof *(t))

static void check_bad(Str text, const YamlRead *options, uint32_t line, uint32_t column, const char *want) {
    Heap *h = heap_new(0);
    Error err = { 0 };
    Value v;
    if (yaml_read(h, text, options, &v, &err)) fail_msg("[" STR_FMT "] was read; want: %s", STR_ARG(text), want);
    char full[ERROR_MSG_MAX];
    snprintf(full, sizeof full, "yaml: line %u: %s", (unsigned)line, want);
    if (strcmp(err.msg, full) != 0) fail_msg("[" STR_FMT "]\n  says %s\n  want %s", STR_ARG(text), err.msg, full);
    if (err.line != line || err.column != column)
        fail_msg("[" STR_FMT "]: at %u:%u, want %u:%u", STR_ARG(text), err.line, err.column, line, column);
    assert_true(err.kind == ERR_PARSE || err.kind == ERR_LIMIT);
    assert_false(yaml_read(h, text, options, &v, NULL));
    heap_free(h);
}

typedef struct { const char *text; uint32_t line, column; const char *want; } Bad;
static void check_bad_all(const Bad *t, size_t n) {
    for (size_t i = 0; i < n; i++) check_bad(str_from(t[i].text), NULL, t[i].line, t[i].column, t[i].want);
}
#define CHECK_BAD_ALL(t) check_bad_all((t), sizeof(t) / sizeof *(t))

static void test_core_schema(void **state) {
    (void)state;
    static const Good table[] = {
        { "", "None" }, { "# only a comment\n", "None" }, { "---\n", "None" }, { "--- a\n...\n", "\"a\"" },
        { "[null, Null, NULL, ~, nUll, None]", "[None, None, None, None, \"nUll\", \"None\"]" },
        { "[true, True, TRUE, false, False, FALSE, tRue]", "[True, True, True, False, False, False, \"tRue\"]" },
        { "[yes, no, on, off, y, N]", "[\"yes\", \"no\", \"on\", \"off\", \"y\", \"N\"]" },
        { "[0, 12, -12, +12, 007, -0, 08]", "[0, 12, -12, 12, 7, 0, 8]" },
        { "[0o17, 0o18, 0o, -0o17, 0O17]", "[15, \"0o18\", \"0o\", \"-0o17\", \"0O17\"]" },
        { "[0x1f, 0xFF, 0x, 0xg, +0x1]", "[31, 255, \"0x\", \"0xg\", \"+0x1\"]" },
        { "[0b11, 1_000, 1:30, 12e, 1.2.3, -, +, ., 1-2]",
          "[\"0b11\", \"1_000\", \"1:30\", \"12e\", \"1.2.3\", \"-\", \"+\", \".\", \"1-2\"]" },
        { "[1.5, -1.5, +1.5, .5, -.5, 5., +5.e2, 1e3, 1E-2, 1e+2, 01.50]",
          "[1.5, -1.5, 1.5, 0.5, -0.5, 5.0, 500.0, 1000.0, 0.01, 100.0, 1.5]" },
        { "[e3, .e3, 1e, -.e1, .iNf, inf, nan, .nAn]",
          "[\"e3\", \".e3\", \"1e\", \"-.e1\", \".iNf\", \"inf\", \"nan\", \".nAn\"]" },
        { "[-0.0, 1e-400]", "[-0.0, 0.0]" },
        { "[9223372036854775808, -123456789012345678901234567890, 0xffffffffffffffffff]",
          "[9223372036854775808, -123456789012345678901234567890, 4722366482869645213695]" },
        { "['12', \"true\", 'null', '', \"\"]", "[\"12\", \"true\", \"null\", \"\", \"\"]" },
        { "a: |\n  12\n", "{\"a\": \"12\n\"}" }, { "a: >-\n  12\n", "{\"a\": \"12\"}" },
        { "2001-12-14", "\"2001-12-14\"" }, { "=", "\"=\"" }, { "1 2", "\"1 2\"" }, { "1\n2", "\"1 2\"" },
    };
    CHECK_ALL(table);
}

static void test_structure(void **state) {
    (void)state;
    static const Good table[] = {
        { "a: 1\nb:\n  - x\n  - y: z\n", "{\"a\": 1, \"b\": [\"x\", {\"y\": \"z\"}]}" },
        { "{a: [1, {b: 2}], c: {}, d: []}", "{\"a\": [1, {\"b\": 2}], \"c\": {}, \"d\": []}" },
        { "a:\nb:\n- 1\n-\n- - 2\n", "{\"a\": None, \"b\": [1, None, [2]]}" },
        { "[a: b, c]", "[{\"a\": \"b\"}, \"c\"]" },
        { "{a, b: 1}", "{\"a\": None, \"b\": 1}" },
        { "? a\n: b\n? c\n", "{\"a\": \"b\", \"c\": None}" },
        { "a: |\n  x\n   y\n\n  z\nb: >\n  x\n  y\n\n  z\nc: |-\n  x\n\nd: |+\n  x\n\n",
          "{\"a\": \"x\n y\n\nz\n\", \"b\": \"x y\nz\n\", \"c\": \"x\", \"d\": \"x\n\n\"}" },
        { "a: \"x\\ty\\u00e9\\U0001F600\\x41\\/\"\nb: 'it''s'\n", "{\"a\": \"x\ty\xc3\xa9\xf0\x9f\x98\x80" "A/\", \"b\": \"it's\"}" },
        { "\"{\\\"json\\\": true}\"", "\"{\"json\": true}\"" },
        { "{\"a\":1,\"b\":[true,null]}", "{\"a\": 1, \"b\": [True, None]}" },
        { "a: 1\r\nb: |\r\n  x\r\n  y\r\n", "{\"a\": 1, \"b\": \"x\ny\n\"}" },
        { "\xef\xbb\xbf" "a: 1\n", "{\"a\": 1}" },
        { "\xef\xbb\xbf", "None" },
        { "a: b # comment\nc: d#e\n", "{\"a\": \"b\", \"c\": \"d#e\"}" },
        { "h\xc3\xa9: \xe2\x82\xac\n", "{\"h\xc3\xa9\": \"\xe2\x82\xac\"}" },
        { "url: http://x/y?a=b:c\n", "{\"url\": \"http://x/y?a=b:c\"}" },
    };
    CHECK_ALL(table);
}

static void test_keys_are_text(void **state) {
    (void)state;
    static const Good table[] = {
        { "1: a\n0x10: b\ntrue: c\nnull: d\n~: e\n1.0: f\n",
          "{\"1\": \"a\", \"0x10\": \"b\", \"true\": \"c\", \"null\": \"d\", \"~\": \"e\", \"1.0\": \"f\"}" },
        { "?\n: a\n", "{\"\": \"a\"}" }, { "'': a\n", "{\"\": \"a\"}" }, { "{? : a}", "{\"\": \"a\"}" },
        { ".inf: a\n", "{\".inf\": \"a\"}" },
        { "!!str 1: a\n!!int 2: b\n", "{\"1\": \"a\", \"2\": \"b\"}" },
        { "'<<': a\n", "{\"<<\": \"a\"}" }, { "a: <<\n", "{\"a\": \"<<\"}" }, { "!!str <<: a\n", "{\"<<\": \"a\"}" },
        { "&k 0x10: a\nb: *k\nc: {*k : d}\n", "{\"0x10\": \"a\", \"b\": 16, \"c\": {\"0x10\": \"d\"}}" },
        { "? |\n  x\n: a\n", "{\"x\n\": \"a\"}" },
    };
    CHECK_ALL(table);
}

static void test_tags(void **state) {
    (void)state;
    static const Good good[] = {
        { "[!!str 1, !!str true, !!str null]", "[\"1\", \"true\", \"null\"]" },
        { "- !!str\n- !!null\n", "[\"\", None]" },
        { "[!!int 1, !!int '2', !!int \"0x1f\"]", "[1, 2, 31]" },
        { "[!!float 1, !!float '2.5', !!float 1e3]", "[1.0, 2.5, 1000.0]" },
        { "[!!bool true, !!bool 'False', !!null null, !!null '']", "[True, False, None, None]" },
        { "[!!map {a: 1}, !!seq [b]]", "[{\"a\": 1}, [\"b\"]]" },
        { "!<tag:yaml.org,2002:str> 12", "\"12\"" },
        { "&a !!str 12", "\"12\"" }, { "!!str &a 12", "\"12\"" },
    };
    CHECK_ALL(good);

#define CORE "only the core tags are supported (!!str, !!int, !!float, !!bool, !!null, !!map, !!seq)"
    static const Bad bad[] = {
        { "a: !!int x\n", 1, 4, "the text does not fit its tag !!int" },
        { "!!int 1.5", 1, 1, "the text does not fit its tag !!int" },
        { "!!float x", 1, 1, "the text does not fit its tag !!float" },
        { "!!bool yes", 1, 1, "the text does not fit its tag !!bool" },
        { "!!null x", 1, 1, "the text does not fit its tag !!null" },
        { "!!map x", 1, 1, "the text does not fit its tag !!map" },
        { "!!seq .inf", 1, 1, "the text does not fit its tag !!seq" },
        { "!!int .inf", 1, 1, "the text does not fit its tag !!int" },
        { "!!float .inf", 1, 1, "infinity and NaN are not supported" },
        { "!!seq {a: 1}", 1, 1, "a map does not fit its tag !!seq" },
        { "!!map [a]", 1, 1, "a seq does not fit its tag !!map" },
        { "!!str [a]", 1, 1, "a seq does not fit its tag !!str" },
        { "!!int x: 1\n", 1, 1, "the text does not fit its tag !!int" },
        { "!!binary aGk=", 1, 1, CORE }, { "!mine x", 1, 1, CORE }, { "!mine [x]", 1, 1, CORE },
        { "a: !!set {b}\n", 1, 4, CORE }, { "! x", 1, 1, CORE }, { "&a ! x", 1, 1, CORE }, { "! [x]", 1, 1, CORE },
        { "a: 1\nb: ! 'x'\n", 2, 4, CORE }, { "!e!x y", 1, 1, "the tag's prefix is not known" },
    };
    CHECK_BAD_ALL(bad);
}

static void test_refused(void **state) {
    (void)state;
    static const Bad table[] = {
        { "[1, .inf]", 1, 5, "infinity and NaN are not supported" },
        { "-.Inf", 1, 1, "infinity and NaN are not supported" }, { "+.INF", 1, 1, "infinity and NaN are not supported" },
        { ".nan", 1, 1, "infinity and NaN are not supported" }, { ".NaN", 1, 1, "infinity and NaN are not supported" },
        { "a: 1e400\n", 1, 4, "number is too large for a float" },
        { "<<: {a: 1}\n", 1, 1, "merge keys are not supported" },
        { "a: &a {b: 1}\nc:\n  <<: *a\n", 3, 3, "merge keys are not supported" },
        { "a: 1\nb: 2\na: 3\n", 3, 1, "duplicate key \"a\" (first on line 1)" },
        { "x:\n  a: 1\n  b: {c: 1}\n  'a': 3\n", 4, 3, "duplicate key \"a\" (first on line 2)" },
        { "{1: a, '1': b}", 1, 8, "duplicate key \"1\" (first on line 1)" },
        { "?\n: a\n'': b\n", 3, 1, "duplicate key \"\" (first on line 1)" },
        { "\"a\\x01\\\"\\n\": 1\n\"a\\x01\\\"\\n\": 1\n", 2, 1, "duplicate key \"a\\u0001\\\"\\u000a\" (first on line 1)" },
        { "? [a]\n: b\n", 1, 3, "a key must be a scalar" }, { "{{a: 1}: b}", 1, 2, "a key must be a scalar" },
        { "a: &x [1]\n*x : 2\n", 2, 1, "a key must be a scalar" },
        { "%YAML 1.2\n---\na\n", 1, 1, "directives are not supported" },
        { "%TAG !e! tag:x\n---\na\n", 1, 1, "directives are not supported" },
        { "%FOO\n---\na\n", 1, 1, "directives are not supported" },
        { "%YAML x\n---\na\n", 1, 1, "directives are not supported" },
        { "a\n---\nb\n", 2, 1, "only one document is allowed" },
        { "---\na: 1\n...\n---\nb: 1\n", 4, 1, "only one document is allowed" },
        { "a: *x\n", 1, 4, "alias \"x\" has no anchor before it" },
        { "&x [*x]", 1, 5, "alias \"x\" refers to a value that contains it" },
        { "a: &x\n  b:\n    c: *x\n", 3, 8, "alias \"x\" refers to a value that contains it" },
    };
    CHECK_BAD_ALL(table);
}

static void test_syntax_errors(void **state) {
    (void)state;
    static const Bad table[] = {
        { "a:\n\tb: 1\n", 2, 1, "tabs may not be used for indentation" },
        { "a:\n  b: 1\n\tc: 2\n", 3, 1, "tabs may not be used for indentation" },
        { "\ta: 1\n", 1, 1, "tabs may not be used for indentation" },
        { "a: |\n\tb\n", 2, 1, "tabs may not be used for indentation" },
        { "a: \"x\nb: 1\n", 1, 4, "quoted text is not closed" },
        { "x: 1\na: 'x\n", 2, 4, "quoted text is not closed" },
        { "a: [1, 2\n", 2, 1, "expected ',' or ']', while parsing a flow sequence that starts on line 1" },
        { "a: {b: 1\n", 2, 1, "expected ',' or '}', while parsing a flow mapping that starts on line 1" },
        { "[a b: c", 1, 8, "expected ',' or ']'" },
        { "a: b: c\n", 1, 5, "a ':' is not allowed here (text with \": \" in it needs quotes, and keys of one map start in the same column)" },
        { "a: 1\n  b: 2\n", 2, 4, "a ':' is not allowed here (text with \": \" in it needs quotes, and keys of one map start in the same column)" },
        { "a: 1\nfoo\nb: 2\n", 2, 1, "expected ':' after this key" },
        { "a: - b\n", 1, 4, "a list item '-' is not allowed here" },
        { "a: @x\n", 1, 4, "this character cannot start a value; put the text in quotes" },
        { "a: `x`\n", 1, 4, "this character cannot start a value; put the text in quotes" },
        { "a: %x\n", 1, 4, "this character cannot start a value; put the text in quotes" },
        { "[a] b\n", 1, 5, "unexpected text after the end of the value" },
        { "- a\nb: 1\n", 2, 1, "expected a list item '-'; check the indentation, while parsing a block collection that starts on line 1" },
        { "a: 1\n- b\n", 2, 1, "expected a key; check the indentation, while parsing a block mapping that starts on line 1" },
        { "a: \"\\q\"\n", 1, 5, "unknown escape in quoted text" },
        { "a: \"\\ud800\"\n", 1, 7, "found invalid Unicode character escape code" },
        { "]", 1, 1, "expected a value" },
    };
    CHECK_BAD_ALL(table);
}

static void test_bad_bytes(void **state) {
    (void)state;
    check_bad(STR("a: 1\nb: \xff\n"), NULL, 2, 4, "invalid UTF-8");
    check_bad(STR("\xc3\xa9: \xed\xa0\x80\n"), NULL, 1, 4, "invalid UTF-8");
    check_bad(STR("a: \xe2\x82"), NULL, 1, 4, "invalid UTF-8");
    check_bad(STR("a: 1\n\0b: 2"), NULL, 2, 1, "control character U+0000 is not allowed");
    check_bad(STR("\0"), NULL, 1, 1, "control character U+0000 is not allowed");
    check_bad(STR("a\r\nb\rc: \x1b[0m"), NULL, 3, 4, "control character U+001B is not allowed");
    check_bad(STR("a: \x7f"), NULL, 1, 4, "control character U+007F is not allowed");
    check_bad(STR("a: \xc2\x9f"), NULL, 1, 4, "control character U+009F is not allowed");
    check_bad(STR("a: \xef\xbf\xbe"), NULL, 1, 4, "control character U+FFFE is not allowed");
    check_bad(STR("\xff\xfe" "a\0"), NULL, 1, 1, "invalid UTF-8");
    check_bad(STR("a\0:\0 \0b\0"), NULL, 1, 2, "control character U+0000 is not allowed");
    check_bad(STR("\xef\xbb\xbf\xff"), NULL, 1, 1, "invalid UTF-8");

    Heap *h = heap_new(0);   /* an escaped control character is allowed */
    Value v;
    assert_true(yaml_read(h, STR("\"a\\0\\x1b\""), NULL, &v, NULL));
    assert_true(str_eq(value_str(v), STR("a\0\x1b")));
    heap_free(h);
}

/* Line breaks of YAML 1.1 that are plain characters in 1.2. */
static void test_unicode_breaks(void **state) {
    (void)state;
    static const Good table[] = {
        { "a: x\xe2\x80\xa8y\xe2\x80\xa9z\xc2\x85w\nb: 1\n", "{\"a\": \"x\xe2\x80\xa8y\xe2\x80\xa9z\xc2\x85w\", \"b\": 1}" },
        { "a: \"x \xe2\x80\xa8 y\"\n", "{\"a\": \"x \xe2\x80\xa8 y\"}" },
        { "a: |\n  x\xc2\x85y\n", "{\"a\": \"x\xc2\x85y\n\"}" },
        { "k\xe2\x80\xa8k: \xee\x80\x80\xee\x80\x81\n", "{\"k\xe2\x80\xa8k\": \"\xee\x80\x80\xee\x80\x81\"}" },
        { "\"\\N\\L\\P\"", "\"\xc2\x85\xe2\x80\xa8\xe2\x80\xa9\"" },
    };
    CHECK_ALL(table);
    check_bad(STR("a: x\xe2\x80\xa8y\nb: .inf\n"), NULL, 2, 4, "infinity and NaN are not supported");
    check_bad(STR("\xe2\x80\xa8k: 1\n\xe2\x80\xa8k: 1"), NULL, 2, 1, "duplicate key \"\\u2028k\" (first on line 1)");
}

static void test_aliases(void **state) {
    (void)state;
    static const Good table[] = {
        { "a: &x 1\nb: *x\n", "{\"a\": 1, \"b\": 1}" },
        { "a: &x [1, {b: 2}]\nc: *x\n", "{\"a\": [1, {\"b\": 2}], \"c\": [1, {\"b\": 2}]}" },
        { "[&x a, *x, &x b, *x]", "[\"a\", \"a\", \"b\", \"b\"]" },
        { "- &x [&x a, *x]\n- *x\n", "[[\"a\", \"a\"], \"a\"]" },   /* the inner anchor came later */
        { "- &x\n- *x\n", "[None, None]" },
        { "&x a: *x\n", "{\"a\": \"a\"}" },
    };
    CHECK_ALL(table);

    Heap *h = heap_new(0);
    Value v;
    assert_true(yaml_read(h, STR("- &x {k: [1]}\n- *x\n"), NULL, &v, NULL));
    Value first = value_list(v)->at[0], second = value_list(v)->at[1];
    assert_false(value_same(first, second));
    assert_false(value_same(*dict_find_str(value_dict(first), STR("k")), *dict_find_str(value_dict(second), STR("k"))));
    heap_free(h);
}

static void test_bombs(void **state) {
    (void)state;
    Buf text = { 0 };
    buf_add(&text, STR("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"));
    for (int i = 1; i < 30; i++) {
        buf_add_fmt(&text, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++) buf_add_fmt(&text, "%s*a%d", k ? ", " : "", i - 1);
        buf_add(&text, STR("]\n"));
    }
    Heap *h = heap_new(16 << 20);
    Error err = { 0 };
    Value v;
    assert_false(yaml_read(h, buf_str(&text), NULL, &v, &err));
    assert_string_equal(err.msg, "yaml: line 5: more than 100000 nodes");
    assert_int_equal(err.kind, ERR_LIMIT);
    heap_free(h);
    buf_clear(&text);

    /* A long key with many aliases is one string. */
    buf_add(&text, STR("- &k "));
    for (int i = 0; i < 200000; i++) buf_add_char(&text, 'k');
    buf_add_char(&text, '\n');
    for (int i = 0; i < 30000; i++) buf_add(&text, STR("- {*k : *k}\n"));
    h = heap_new(16 << 20);
    if (!yaml_read(h, buf_str(&text), NULL, &v, &err)) fail_msg("%s", err.msg);
    assert_int_equal(value_list(v)->n, 30001);
    heap_free(h);
    buf_clear(&text);
}

static void test_limits(void **state) {
    (void)state;
    check_with(STR("[a, b]"), &(YamlRead){ .max_nodes = 3 }, "[\"a\", \"b\"]");
    check_bad(STR("[a, b, c]"), &(YamlRead){ .max_nodes = 3 }, 1, 8, "more than 3 nodes");
    check_bad(STR("a: 1\nb: 2\n"), &(YamlRead){ .max_nodes = 3 }, 2, 1, "more than 3 nodes");
    check_bad(STR("[&a [x], *a]"), &(YamlRead){ .max_nodes = 4 }, 1, 10, "more than 4 nodes");
    check_with(STR("[&a [x], *a]"), &(YamlRead){ .max_nodes = 5 }, "[[\"x\"], [\"x\"]]");
    check_with(STR("[[a]]"), &(YamlRead){ .max_depth = 2 }, "[[\"a\"]]");
    check_bad(STR("[[[a]]]"), &(YamlRead){ .max_depth = 2 }, 1, 3, "nested deeper than 2 levels");
    check_bad(STR("- &a [x]\n- [[*a]]\n"), &(YamlRead){ .max_depth = 3 }, 2, 5, "nested deeper than 3 levels");
    check_with(STR("- &a [x]\n- [*a]\n"), &(YamlRead){ .max_depth = 3 }, "[[\"x\"], [[\"x\"]]]");
    check_bad(STR("- &a [x]\n- &b [*a]\n- [*b]\n"), &(YamlRead){ .max_depth = 3 }, 3, 4, "nested deeper than 3 levels");
    check_bad(STR("abc"), &(YamlRead){ .max_bytes = 2 }, 1, 1, "text of 3 bytes is over the limit of 2");
    check_bad(STR("a:\n  - [b, .nan]\n"), &(YamlRead){ .first_line = 10 }, 11, 9, "infinity and NaN are not supported");
    check_bad(STR("a: 1\n\x01"), &(YamlRead){ .first_line = 10 }, 11, 1, "control character U+0001 is not allowed");
    check_bad(STR("a: 1\na: 1\n"), &(YamlRead){ .first_line = 10 }, 11, 1, "duplicate key \"a\" (first on line 10)");

    Buf deep = { 0 };
    for (int i = 0; i < 100; i++) buf_add_char(&deep, '[');
    for (int i = 0; i < 100; i++) buf_add_char(&deep, ']');
    Heap *h = heap_new(0);
    Error err = { 0 };
    Value v;
    assert_true(yaml_read(h, buf_str(&deep), NULL, &v, &err));
    buf_reset(&deep);
    for (int i = 0; i < 101; i++) buf_add_char(&deep, '[');
    assert_false(yaml_read(h, buf_str(&deep), NULL, &v, &err));
    assert_string_equal(err.msg, "yaml: line 1: nested deeper than 100 levels");
    heap_free(h);
    buf_clear(&deep);
}

static void test_expect_map(void **state) {
    (void)state;
    YamlRead o = { .expect_map = true, .first_line = 2 };
    check_with(STR(""), &o, "{}");
    check_with(STR("\n# c\n"), &o, "{}");
    check_with(STR("---\n"), &o, "{}");
    check_with(STR("{}"), &o, "{}");
    check_with(STR("a: 1"), &o, "{\"a\": 1}");
    check_bad(STR("\n- a\n"), &o, 3, 1, "expected a map");
    check_bad(STR("text\n"), &o, 2, 1, "expected a map");
    check_bad(STR("~\n"), &o, 2, 1, "expected a map");
    check_bad(STR("''\n"), &o, 2, 1, "expected a map");
    check_bad(STR("12\n"), &o, 2, 1, "expected a map");
}

static void test_big_ints(void **state) {
    (void)state;
    Buf text = { 0 };
    for (int i = 0; i < 100000; i++) buf_add_char(&text, (char)('1' + i % 9));
    check_with(buf_str(&text), NULL, buf_str(&text).at);
    for (int i = 0; i < 100000; i++) buf_add_char(&text, '7');
    Heap *h = heap_new(0);
    Error err = { 0 };
    Value v;
    assert_false(yaml_read(h, buf_str(&text), NULL, &v, &err));
    assert_string_equal(err.msg, "yaml: line 1: int too large");
    assert_int_equal(err.column, 1);
    heap_free(h);
    buf_clear(&text);
}

static void check_place(bool found, Place got, uint32_t line, uint32_t column) {
    assert_true(found);
    if (got.line != line || got.column != column)
        fail_msg("place is %u:%u, want %u:%u", got.line, got.column, line, column);
}

static void test_places(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Places *p = places_new();
    Error err = { 0 };
    Value v;
    Place at = { 0, 0 };
    Str text = STR("name: x\n\xc3\xa9: [a,  b]\nlist:\n  - k: &l {m: 1}\n  - *l\nnone:\n");
    if (!yaml_read(h, text, &(YamlRead){ .first_line = 3, .places = p }, &v, &err)) fail_msg("%s", err.msg);
    check_place(true, places_root(p), 3, 1);
    check_place(places_key(p, v, 0, &at), at, 3, 1);
    check_place(places_value(p, v, 0, &at), at, 3, 7);
    check_place(places_key(p, v, 1, &at), at, 4, 1);
    check_place(places_value(p, v, 1, &at), at, 4, 4);
    check_place(places_field(p, v, STR("list"), &at), at, 5, 1);
    Value flow = *dict_find_str(value_dict(v), STR("\xc3\xa9"));
    check_place(places_value(p, flow, 1, &at), at, 4, 9);
    Value list = *dict_find_str(value_dict(v), STR("list"));
    check_place(places_value(p, list, 0, &at), at, 6, 5);
    check_place(places_value(p, list, 1, &at), at, 7, 5);
    Value copy = value_list(list)->at[1];
    check_place(places_key(p, copy, 0, &at), at, 6, 12);   /* where it was written */
    check_place(places_value(p, copy, 0, &at), at, 6, 15);
    places_free(p);
    heap_free(h);
}

static const char sample[] =
    "a: &a [1, 2.5, text, {k: v}]\nb: *a\nc: 123456789012345678901234567890\nd: |\n  block\n  text\n"
    "&k 1: {x: y, z: [a, b, c, d, e, f, g, h, i, j, k]}\ne: {*k : *k}\n";

static bool read_sample(size_t limit) {
    Heap *h = heap_new(limit);
    Places *p = places_new();
    Error err = { 0 };
    Value v;
    bool ok = yaml_read(h, str_from(sample), &(YamlRead){ .expect_map = true, .places = p }, &v, &err);
    if (!ok) {
        assert_int_equal(err.kind, ERR_LIMIT);
        if (!strstr(err.msg, ": heap limit of") || !err.line) fail_msg("%s", err.msg);
    }
    places_free(p);
    heap_free(h);
    return ok;
}

/* Whatever the heap limit, and whichever allocation fails, reading returns a value or a limit error. */
static void test_heap_limits(void **state) {
    (void)state;
    for (size_t limit = 1; !read_sample(limit); limit += limit < 2048 ? 1 : 256) assert_true(limit < 1 << 20);
#ifdef HARNESS_FAULTS
    long nth = 0;
    for (bool reached = true; reached;) {
        fault_arm(++nth);
        bool ok = read_sample(0);
        reached = fault_disarm();
        assert_true(ok == !reached);
    }
    assert_true(nth > 1);
#endif
}

/* No input of a megabyte takes long: neither libyaml nor the reader is quadratic. */
static void test_hostile(void **state) {
    (void)state;
    static const struct { const char *head, *body; } table[] = {
        { "", "[" }, { "", "{" }, { "", "- " }, { "", "? " }, { "", "&a " }, { "", "!" }, { "", "! " }, { "", "\t" },
        { "", "\"" }, { "", "'" }, { "\"", "a" }, { "'", "\n" }, { "", "a" }, { "", "a " }, { "", "a\n" }, { "", "a: " },
        { "", ":" }, { "", ": " }, { "", "\n" }, { "", "#" }, { "", "#\n" }, { "", "*a " }, { "", "%" }, { "", "%a\n" },
        { "|\n", " " }, { "|\n", " \n" }, { ">\n", " a\n\n" }, { "[", "a," }, { "{", "a," }, { "[", "\"a\": b," },
        { "", "-\n" }, { "", "," }, { "", "[\n" }, { "!<", "a" }, { "!<", "%41" }, { "&", "a" }, { "\"", "\\x41" },
        { "", "\r" }, { "", "---\n" }, { "", "...\n" }, { "[&a x,", "*a," }, { "- &a x\n", "- {*a : *a}\n" },
        { "", "- |\n" }, { "", "- &a\n" }, { "", "? a\n" }, { "", " " }, { "[", "[]: a," }, { "", "\xef\xbb\xbf" },
        { "", "\xe2\x80\xa8" }, { "", "\xc2\x85 " }, { "", "\xff" }, { "", "1" }, { "", ".1" }, { "[", "1e9," }, { "0x", "f" },
        { "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "{a: b},\n" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Buf text = { .limit = 1 << 20 };
        buf_add(&text, str_from(table[i].head));
        Str body = str_from(table[i].body);
        while (text.n + body.n <= text.limit) buf_add(&text, body);
        Heap *h = heap_new(64 << 20);
        Error err = { 0 };
        Value v;
        struct timespec from, to;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
        bool ok = yaml_read(h, buf_str(&text), NULL, &v, &err);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
        double ms = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
        if (getenv("YAML_TIMES")) print_message("%8.1f ms [%s%s…] %s\n", ms, table[i].head, table[i].body, ok ? "" : err.msg);
        assert_true(ok || (err.msg[0] && err.line && err.column));
        heap_free(h);
        buf_clear(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_core_schema), cmocka_unit_test(test_structure), cmocka_unit_test(test_keys_are_text),
        cmocka_unit_test(test_tags), cmocka_unit_test(test_refused), cmocka_unit_test(test_syntax_errors),
        cmocka_unit_test(test_bad_bytes), cmocka_unit_test(test_unicode_breaks), cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_bombs), cmocka_unit_test(test_limits), cmocka_unit_test(test_expect_map),
        cmocka_unit_test(test_big_ints), cmocka_unit_test(test_places), cmocka_unit_test(test_heap_limits),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
