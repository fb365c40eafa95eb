#include "unit.h"
#include "mcp/wire/era.h"
#include "mcp/wire/rpc.h"

/* Classification of a message: the kind, or the code and the id to respond to. */
static const struct { const char *text, *is; } cases[] = {
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "request 1 ping" },
    { "{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"b\",\"method\":\"x\",\"params\":{\"a\":[1]}}", "request \"a\\\"b\" x {\"a\":[1]}" },
    { "{\"jsonrpc\":\"2.0\",\"id\":123456789012345678901234567890,\"method\":\"x\",\"params\":null}", "request 123456789012345678901234567890 x" },
    { "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{}}", "notification n {}" },
    { "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"ok\":true}}", "result 7 {\"ok\":true}" },
    { "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-1,\"message\":\"no\",\"data\":3}}", "error 7 -1 no 3" },
    { "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"\"}}", "error - -32700 " },
    { "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"m\"}}", "error - 1 m" },

    { "", "-32700 -" }, { "{", "-32700 -" }, { "nul", "-32700 -" }, { "{\"a\":1}{\"a\":1}", "-32700 -" }, { "\"\xff\"", "-32700 -" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"x\"}", "-32700 -" },                  /* two parsers could pick different ones */
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"a\":1,\"a\":2}}", "-32700 -" },
    { "1", "-32600 -" }, { "\"x\"", "-32600 -" }, { "null", "-32600 -" }, { "[]", "-32600 -" }, { "{}", "-32600 -" },
    { "{\"id\":1,\"method\":\"x\"}", "-32600 1" },
    { "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"x\"}", "-32600 1" },
    { "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"x\"}", "-32600 1" },
    { "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}", "-32600 -" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}", "-32600 -" },
    { "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}", "-32600 -" },
    { "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"x\"}", "-32600 -" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", "-32600 1" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[1]}", "-32600 1" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":\"\"}", "-32600 1" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1}", "-32600 1" },
    { "{\"jsonrpc\":\"2.0\",\"result\":{}}", "-32600 -" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}", "-32600 1" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{\"code\":1,\"message\":\"\"}}", "-32600 1" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":1}", "-32600 1" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":\"1\",\"message\":\"\"}}", "-32600 1" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":99999999999999999999,\"message\":\"\"}}", "-32600 1" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1}}", "-32600 1" },
};

static void add_value(Buf *out, const char *before, Value v) {
    Error err;
    if (value_is_gone(v)) return;
    buf_add(out, str_from(before));
    assert_true(json_write(out, v, &(JsonWrite){ 0 }, &err));
}

static void add_id(Buf *out, Value id) {
    if (value_is_gone(id)) buf_add(out, STR(" -"));
    else add_value(out, " ", id);
}

static void describe(Str text, Buf *out) {
    static const char *const kinds[] = { "request", "notification", "result", "error" };
    Heap *h = heap_new(0);
    RpcMessage m;
    Error err = { 0 };
    int code = 0;
    buf_reset(out);
    if (rpc_read(h, text, &m, &code, &err)) {
        buf_add(out, str_from(kinds[m.kind]));
        if (m.kind != RPC_NOTIFICATION) add_id(out, m.id);
        if (m.kind == RPC_ERROR) buf_add_fmt(out, " %lld " STR_FMT, (long long)m.code, STR_ARG(m.message));
        else if (m.kind != RPC_RESULT) buf_add_fmt(out, " " STR_FMT, STR_ARG(m.method));
        add_value(out, " ", m.kind == RPC_ERROR ? m.data : m.kind == RPC_RESULT ? m.result : m.params);
    } else {
        assert_true(err.msg[0]);
        buf_add_fmt(out, "%d", code);
        add_id(out, m.id);
    }
    heap_free(h);
}

static void messages_are_told_apart(void **state) {
    (void)state;
    Buf out = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        describe(str_from(cases[i].text), &out);
        assert_str(buf_str(&out), cases[i].is);
    }
    buf_clear(&out);
}

static void nesting_has_an_end(void **state) {
    (void)state;
    Buf text = { 0 }, out = { 0 };
    buf_add(&text, STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"a\":"));
    for (int i = 0; i < 100000; i++) buf_add_char(&text, '[');
    describe(buf_str(&text), &out);
    assert_str(buf_str(&out), "-32700 -");
    buf_clear(&text);
    buf_clear(&out);
}

static void what_is_written_can_be_read(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Error err;
    Buf out = { 0 }, is = { 0 };
    Dict *d = dict_new(h, 1, &err);
    assert_true(dict_put_text(h, d, "k", STR("line\nbreak \xc3\xbc"), &err));
    Value params = value_from_object(d), id = value_from_object(string_new(h, STR("i"), &err));
    struct { const char *is; int what; } each[] = {
        { "request \"i\" m {\"k\":\"line\\nbreak \xc3\xbc\"}", 0 }, { "notification m", 1 }, { "result \"i\" {}", 2 },
            { "result \"i\" {\"k\":\"line\\nbreak \xc3\xbc\"}", 3 },
        { "error \"i\" -5 why {\"k\":\"line\\nbreak \xc3\xbc\"}", 4 }, { "error - -5 why", 5 },
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        buf_reset(&out);
        switch (each[i].what) {
        case 0: rpc_write_request(&out, id, STR("m"), params); break;
        case 1: rpc_write_notification(&out, STR("m"), VALUE_GONE); break;
        case 2: rpc_write_result(&out, id, VALUE_GONE); break;
        case 3: rpc_write_result(&out, id, params); break;
        case 4: rpc_write_error(&out, id, -5, STR("why"), params); break;
        default: rpc_write_error(&out, VALUE_GONE, -5, STR("why"), VALUE_GONE); break;
        }
        assert_null(memchr(out.at, '\n', out.n));
        describe(buf_str(&out), &is);
        assert_str(buf_str(&is), each[i].is);
    }
    buf_clear(&out);
    buf_clear(&is);
    heap_free(h);
}

static void versions(void **state) {
    (void)state;
    for (McpVersion v = 0; v < MCP_NONE; v++) assert_int_equal(mcp_version(mcp_version_date(v)), v);
    assert_int_equal(mcp_version(STR("2025-11-2")), MCP_NONE);
    assert_int_equal(mcp_version(STR("")), MCP_NONE);
    assert_str(mcp_version_date(MCP_NONE), "");
}

/* ---- lines ---- */

static void take(RpcLines *l, Str bytes, Buf *out) {
    Str line;
    Error err = { 0 };
    Feed fed = rpc_lines(l, bytes, &line, &err);
    for (; fed != FEED_MORE; fed = rpc_lines(l, STR(""), &line, &err)) {
        if (fed == FEED_READY) buf_add_fmt(out, STR_FMT "|", STR_ARG(line));
        else buf_add_fmt(out, "!%s|", error_kind_name(err.kind));
    }
}

static void lines_however_they_are_cut(void **state) {
    (void)state;
    static const struct { const char *stream, *lines; } all[] = {
        { "a\nbc\n", "a|bc|" }, { "a\r\n\n \t\n\r\nb\n", "a|b|" }, { "unfinished", "" }, { "a\nrest", "a|" }, { "\n\n", "" }, { "", "" },
    };
    Buf out = { 0 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        Str s = str_from(all[i].stream);
        for (size_t a = 0; a <= s.n; a++)
            for (size_t b = a; b <= s.n; b++) {
                RpcLines l = { 0 };
                buf_reset(&out);
                take(&l, str_sub(s, 0, a), &out);
                take(&l, str_sub(s, a, b), &out);
                take(&l, str_sub(s, b, s.n), &out);
                assert_str(buf_str(&out), all[i].lines);
                rpc_lines_clear(&l);
            }
    }
    buf_clear(&out);
}

/* 64 MiB without a line break, in pieces: reported once, and never buffered. */
static void a_line_without_end(void **state) {
    (void)state;
    RpcLines l = { 0 };
    Buf out = { 0 };
    size_t n = 1 << 20;
    char *piece = malloc(n);
    memset(piece, 'x', n);
    take(&l, STR("before\n"), &out);
    for (int i = 0; i < 64; i++) {
        take(&l, (Str){ piece, n }, &out);
        assert_true(l.held.cap < ((size_t)RPC_MESSAGE_MAX + 2 * n) * 2);
    }
    take(&l, STR("end\nafter\n"), &out);
    assert_str(buf_str(&out), "before|!limit|after|");
    assert_true(l.held.cap <= (size_t)RPC_MESSAGE_MAX);      /* memory released */
    free(piece);
    buf_clear(&out);
    rpc_lines_clear(&l);
}

/* A line whose end is in the piece that makes it too long, and one that just fits. */
static void the_longest_line(void **state) {
    (void)state;
    for (size_t over = 0; over < 2; over++) {
        RpcLines l = { 0 };
        size_t n = (size_t)RPC_MESSAGE_MAX + over;
        char *text = malloc(n + 2);
        memset(text, 'x', n);
        memcpy(text + n, "\na", 2);
        Str line;
        Error err = { 0 };
        Feed fed = rpc_lines(&l, (Str){ text, n + 2 }, &line, &err);
        assert_int_equal(fed, over ? FEED_BAD : FEED_READY);
        assert_int_equal(rpc_lines(&l, STR("\n"), &line, &err), FEED_READY);
        assert_str(line, "a");
        free(text);
        rpc_lines_clear(&l);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_told_apart), cmocka_unit_test(nesting_has_an_end), cmocka_unit_test(what_is_written_can_be_read),
        cmocka_unit_test(versions), cmocka_unit_test(lines_however_they_are_cut), cmocka_unit_test(a_line_without_end), cmocka_unit_test(the_longest_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
