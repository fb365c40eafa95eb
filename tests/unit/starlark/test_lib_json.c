#include "calls.h"

static void check(const CallCase *t, size_t n) {
    Calls c;
    calls_begin(&c);
    calls_check(&c, t, n);
    calls_end(&c);
}

static void test_encode(void **state) {
    (void)state;
    static const CallCase t[] = {
        { "json.encode", "None", "\"null\"" }, { "json.encode", "True", "\"true\"" }, { "json.encode", "-123", "\"-123\"" },
        { "json.encode", "3539537889086624823140625", "\"3539537889086624823140625\"" }, { "json.encode", "1.5", "\"1.5\"" },
        { "json.encode", "1.0", "\"1.0\"" }, { "json.encode", "12.345e67", "\"1.2345e+68\"" }, { "json.encode", "'hello'", "\"\\\"hello\\\"\"" },
        { "json.encode", "[1, (2, 3), range(0, 3, 1)]", "\"[1,[2,3],[0,1,2]]\"" }, { "json.encode", "set[1, 2]", "\"[1,2]\"" },
            { "json.encode", "{}", "\"{}\"" },
        { "json.encode", "[]", "\"[]\"" }, { "json.encode", "{'y': 'two', 'x': 1, 'xx': [{}]}", "\"{\\\"x\\\":1,\\\"xx\\\":[{}],\\\"y\\\":\\\"two\\\"}\"" },
        { "json.encode", "nan", "error: json.encode: cannot encode non-finite float nan" },
        { "json.encode", "{1: 'two'}", "error: json.encode: dict has int key, want string" },
        { "json.encode", "len", "error: json.encode: cannot encode builtin_function_or_method as JSON" },
        { "json.encode", "[1, {'x': len}]", "error: json.encode: at list index 1: in dict key \"x\": cannot encode builtin_function_or_method as JSON" },
        { "json.encode", "(1, [b'x'])", "error: json.encode: at tuple index 1: at list index 0: cannot encode bytes as JSON" },
        { "json.encode", "json", "error: json.encode: in field .decode: cannot encode builtin_function_or_method as JSON" },
        { "json.encode", "", "error: json.encode: got 0 arguments, want 1" },
        { "json.encode_indent", "[1], 'bar'", "error: json.encode_indent: got 2 arguments, want 1" },
        { "json.encode_indent", "{'x': [1, []]}, indent='  '", "\"{\\n  \\\"x\\\": [\\n    1,\\n    []\\n  ]\\n}\"" },
        { "json.encode_indent", "[len]", "error: json.encode_indent: at list index 0: cannot encode builtin_function_or_method as JSON" },
    };
    check(t, CALLS_COUNT(t));
}

static void test_strings(void **state) {
    (void)state;
    static const struct { const char *text; const char *json; } t[] = {
        { "a\"b\\c/", "\"a\\\"b\\\\c/\"" }, { "<&>", "\"<&>\"" }, { "<\n>", "\"\\u003c\\n\\u003e\"" }, { "\x01\x1f\b\f\r\t", "\"\\u0001\\u001f\\b\\f\\r\\t\"" },
        { "é", "\"é\"" }, { "\xe2\x80\xa8", "\"\\u2028\"" }, { "\xff", "\"\\ufffd\"" }, { "0123456789abcde\x7f", "\"0123456789abcde\x7f\"" },
        { "01234567\"", "\"01234567\\\"\"" }, { "", "\"\"" },
    };
    Calls c;
    calls_begin(&c);
    for (size_t i = 0; i < CALLS_COUNT(t); i++) {
        Value v, s = value_from_object(string_new(c.heap, str_from(t[i].text), NULL));
        assert_true(calls_call(&c, calls_function(&c, "json.encode"), &s, 1, &v, NULL));
        assert_str(value_str(v), t[i].json);
    }
    calls_end(&c);
}

/* { text, result or error without "json.decode: " } */
static const struct { const char *text, *want; } decodes[] = {
    { "null", "None" }, { "true", "True" }, { "false", "False" }, { "-123", "-123" }, { "-0", "0" }, { "0e+1", "0.0" }, { "-0.0", "-0.0" },
    { "123456789012345", "123456789012345" }, { "3539537889086624823140625", "3539537889086624823140625" }, { "1.", "1.0" },
        { "1e400", "!at offset 5, invalid number: 1e400" },
    { "3.539537889086625e+24", "3.539537889086625e+24" }, { "[]", "[]" }, { " [ 1 , 2 ,3 ] ", "[1, 2, 3]" }, { "{}", "{}" },
    { "{\"one\": 1, \"two\": [{}], \"one\": 3}", "{\"one\": 3, \"two\": [{}]}" }, { "\"\\ud83d\\ude39\"", "\"😹\"" },
        { "\"\\u0123\"", "\"ģ\"" }, { "\"\\ud83d\"", "\"\xef\xbf\xbd\"" },
    { "\"\\ud83dx\"", "\"\xef\xbf\xbdx\"" }, { "\"\\/\\\\\\\"\\n\\b\"", "\"/\\\\\\\"\\n\\b\"" }, { "\"a\tb\"", "\"a\\tb\"" },
        { "\"12345678é\"", "\"12345678é\"" },
    { "\"12345678\xff\"", "\"12345678\xef\xbf\xbd\"" },
    { "truefalse", "!at offset 4, unexpected character 'f' after value" }, { "\"abc", "!at offset 0, unclosed string literal" },
        { "\"abc\\\"", "!at offset 0, unclosed string literal" },
    { "\"ab\\gc\"", "!at offset 7, invalid character 'g' in string escape code" },
        { "\"\\u12\"", "!at offset 6, invalid character '\"' in \\u hexadecimal character escape" },
    { "\"é\n\"", "!at offset 5, invalid character '\\n' in string literal" }, { "'abc'", "!at offset 0, unexpected character '\\''" },
        { "", "!at offset 0, unexpected end of file" },
    { "  ", "!at offset 2, unexpected end of file" }, { "nul", "!at offset 0, unexpected character 'n'" },
        { "1.2.3", "!at offset 5, invalid number: 1.2.3" }, { "+1", "!at offset 0, unexpected character '+'" },
    { "-abc", "!at offset 1, invalid number: -" }, { "-00", "!at offset 3, invalid number: -00" },
        { "--1", "!at offset 3, invalid number: --1" }, { "1e1e1", "!at offset 5, invalid number: 1e1e1" },
    { "0123", "!at offset 4, invalid number: 0123" }, { "0x123", "!at offset 1, unexpected character 'x' after value" },
        { "[1, 2 ", "!at offset 6, unexpected end of file" },
    { "[1, 2, ]", "!at offset 7, unexpected character ']'" }, { "[1, 2}", "!at offset 5, got '}', want ',' or ']'" },
        { "{\"one\": 1", "!at offset 9, unexpected end of file" },
    { "{\"one\" 1", "!at offset 7, after object key, got '1', want ':' " }, { "{\"one\": 1 \"two\": 2", "!at offset 10, in object, got '\"', want ',' or '}'" },
    { "{\"one\": 1, }", "!at offset 11, unexpected character '}'" },
        { "{\"one\": 1]", "!at offset 9, in object, got ']', want ',' or '}'" },
        { "{1: 2}", "!at offset 2, got int for object key, want string" },
    { "{[1]: 2}", "!at offset 4, got list for object key, want string" }, { "\xff", "!at offset 0, unexpected character 'ÿ'" },
        { "\x80", "!at offset 0, unexpected character '\\u0080'" },
    { "\x01", "!at offset 0, unexpected character '\\x01'" },
};

static void test_decode(void **state) {
    (void)state;
    Calls c;
    calls_begin(&c);
    Buf b = { 0 };
    size_t wrong = 0;
    for (size_t i = 0; i < CALLS_COUNT(decodes); i++) {
        Value v = VALUE_NONE, args[2] = { value_from_object(string_new(c.heap, str_from(decodes[i].text), NULL)), value_from_small(99) };
        dict_put_str(c.heap, c.kept, STR("args"), args[0], NULL);
        Error err = { 0 };
        bool ok = calls_call(&c, calls_function(&c, "json.decode"), args, 1, &v, &err);
        calls_show(&c, ok, v, &err, &b);
        Str got = buf_str(&b);
        char want[256];
        snprintf(want, sizeof want, "%s%s", decodes[i].want[0] == '!' ? "error: json.decode: " : "", decodes[i].want + (decodes[i].want[0] == '!'));
        if (!str_eq(got, str_from(want))) print_error("%s\n  got  %s\n  want %s\n", decodes[i].text, b.at, want), wrong++;
        assert_true(calls_call(&c, calls_function(&c, "json.decode"), args, 2, &v, &err));
        if (!ok) assert_int_equal(value_small(v), 99);
    }
    buf_clear(&b);
    calls_end(&c);
    assert_int_equal(wrong, 0);
}

static void test_decode_arguments(void **state) {
    (void)state;
    static const CallCase t[] = {
        { "json.decode", "'[1', default='d'", "\"d\"" }, { "json.decode", "'[1', None", "None" },
        { "json.decode", "x='1'", "error: json.decode: unexpected keyword argument x" },
        { "json.decode", "1", "error: json.decode: for parameter x: got int, want string" },
        { "json.decode", "", "error: json.decode: missing argument for x" },
    };
    check(t, CALLS_COUNT(t));
}

static void test_indent(void **state) {
    (void)state;
    static const struct { const char *text, *want; } t[] = {
        { "{\"x\":1,\"y\":[\"one\",{}]}", "{\n\t\"x\": 1,\n\t\"y\": [\n\t\t\"one\",\n\t\t{}\n\t]\n}" }, { " [ ] ", "[] " }, { "1e5", "1e5" },
        { "[ 1 ,\"a\\u00e9 <\" ]", "[\n\t1,\n\t\"a\\u00e9 <\"\n]" }, { "", "!unexpected end of JSON input" }, { "[1", "!unexpected end of JSON input" },
        { "!", "!invalid character '!' looking for beginning of value" }, { "[1,]", "!invalid character ']' looking for beginning of value" },
        { "{1", "!invalid character '1' looking for beginning of object key string" }, { "{\"a\" 1", "!invalid character '1' after object key" },
        { "{\"a\":1 2", "!invalid character '2' after object key:value pair" }, { "[1 2", "!invalid character '2' after array element" },
            { "1 2", "!invalid character '2' after top-level value" },
        { "01", "!invalid character '1' after top-level value" }, { "-x", "!invalid character 'x' in numeric literal" },
            { "1.x", "!invalid character 'x' after decimal point in numeric literal" },
        { "1ex", "!invalid character 'x' in exponent of numeric literal" }, { "nulx", "!invalid character 'x' in literal null (expecting 'l')" },
        { "\"\\x\"", "!invalid character 'x' in string escape code" }, { "\"\n\"", "!invalid character '\\n' in string literal" },
            { "\"\\u00g0\"", "!invalid character 'g' in \\u hexadecimal character escape" },
        { "{\"a\":1,}", "!invalid character '}' looking for beginning of object key string" },
    };
    Calls c;
    calls_begin(&c);
    for (size_t i = 0; i < CALLS_COUNT(t); i++) {
        Value v, s = value_from_object(string_new(c.heap, str_from(t[i].text), NULL));
        dict_put_str(c.heap, c.kept, STR("args"), s, NULL);
        Error err = { 0 };
        bool ok = calls_call(&c, calls_function(&c, "json.indent"), &s, 1, &v, &err);
        if (t[i].want[0] == '!') {
            assert_false(ok);
            assert_true(strncmp(err.msg, "json.indent: ", 13) == 0);
            assert_string_equal(err.msg + 13, t[i].want + 1);
        } else {
            assert_true(ok);
            assert_str(value_str(v), t[i].want);
        }
    }
    calls_end(&c);
}

/* ---- depth and cycles ---- */

static void test_cycles(void **state) {
    (void)state;
    Calls c;
    calls_begin(&c);
    Error err = { 0 };
    List *l = list_new(c.heap, 0, NULL);
    Value out, v = value_from_object(l), t;
    list_push(c.heap, l, v, NULL);
    dict_put_str(c.heap, c.kept, STR("l"), v, NULL);
    assert_false(calls_call(&c, calls_function(&c, "json.encode"), &v, 1, &out, &err));
    assert_string_equal(err.msg, "json.encode: at list index 0: cycle in JSON structure");
    assert_int_equal(l->busy, 0);

    t = calls_read(&c, "(1, 2, [])");
    dict_put_str(c.heap, c.kept, STR("l"), t, NULL);
    list_push(c.heap, value_list(value_tuple(t)->at[2]), t, NULL);
    assert_false(calls_call(&c, calls_function(&c, "json.encode"), &t, 1, &out, &err));
    assert_string_equal(err.msg, "json.encode: at tuple index 2: at list index 0: cycle in JSON structure");

    v = calls_read(&c, "{'r': 1}");
    dict_put_str(c.heap, c.kept, STR("l"), v, NULL);
    dict_put_str(c.heap, value_dict(v), STR("r"), v, NULL);
    assert_false(calls_call(&c, calls_function(&c, "json.encode_indent"), &v, 1, &out, &err));
    assert_string_equal(err.msg, "json.encode_indent: in dict key \"r\": cycle in JSON structure");
    calls_end(&c);
}

static void test_depth(void **state) {
    (void)state;
    Calls c;
    calls_begin(&c);
    for (int deep = 0; deep < 2; deep++) {
        size_t n = deep ? 100000 : 9999;
        Buf b = { 0 };
        for (size_t i = 0; i < n; i++) buf_add_char(&b, '[');
        for (size_t i = 0; i < n; i++) buf_add_char(&b, ']');
        Value s = value_from_object(string_new(c.heap, buf_str(&b), NULL)), v, back;
        dict_put_str(c.heap, c.kept, STR("s"), s, NULL);
        Error err = { 0 };
        bool ok = calls_call(&c, calls_function(&c, "json.decode"), &s, 1, &v, &err);
        assert_int_equal(ok, !deep);
        if (ok) dict_put_str(c.heap, c.kept, STR("v"), v, NULL);
        assert_int_equal(calls_call(&c, calls_function(&c, "json.indent"), (Value[]){ calls_read(&c, deep ? "'['" : "'[1]'") }, 1, &back, &err), !deep);
        if (ok) {
            assert_true(calls_call(&c, calls_function(&c, "json.encode"), &v, 1, &back, &err));
            assert_true(str_eq(value_str(back), buf_str(&b)));
            List *outer = list_from(c.heap, (Value[]){ v, v }, 2, NULL);
            List *more = list_from(c.heap, (Value[]){ value_from_object(outer) }, 1, NULL);
            v = value_from_object(more);
            dict_put_str(c.heap, c.kept, STR("v"), v, NULL);
            assert_false(calls_call(&c, calls_function(&c, "json.encode"), &v, 1, &back, &err));
        }
        buf_clear(&b);
    }
    calls_end(&c);
}

static void test_layout_limits(void **state) {
    (void)state;
    Calls c;
    calls_begin_with(&c, 4 << 20, NULL);
    Error err = { 0 };
    char *at;
    String *wide = string_room(c.heap, 1 << 20, &at, NULL);
    memset(at, ' ', 1 << 20);
    CallArgs a = calls_args(&c, "'[[[[[[[[1]]]]]]]]'");
    a.named[a.n_named++] = (NativeNamed){ string_new(c.heap, STR("indent"), NULL), value_from_object(wide) };
    Value v;
    assert_false(calls_do(&c, calls_function(&c, "json.indent"), &a, &v, &err));
    assert_int_equal(err.kind, ERR_LIMIT);
    calls_end(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encode), cmocka_unit_test(test_strings), cmocka_unit_test(test_decode), cmocka_unit_test(test_decode_arguments),
        cmocka_unit_test(test_indent), cmocka_unit_test(test_cycles), cmocka_unit_test(test_depth), cmocka_unit_test(test_layout_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
