/* The client with a transport of the test: records what is sent, and answers synchronously. */
#include "unit.h"
#include "base/mem.h"
#include "mcp/remote/client_private.h"

typedef struct Fake {
    const char *const *answers;          /* results as JSON, one per request, without %s; after the NULL at the end the server is silent */
    size_t next;
    Buf sent;                            /* lines */
    const char *before;                  /* sent before each response; may be NULL */
    int told, progress;
} Fake;

static void notified(void *ctx, Str method, Value params) {
    (void)method, (void)params;
    ((Fake *)ctx)->told++;
}

static void progress(void *ctx, void *caller, Value params) {
    (void)caller, (void)params;
    ((Fake *)ctx)->progress++;
}

static bool fake_send(McpClient *c, const ClientMessage *m, Cancel *cancel, bool *sent, Error *err) {
    Fake *f = c->wire;
    (void)cancel, (void)err;
    *sent = true;
    buf_add(&f->sent, m->text);
    buf_add_char(&f->sent, '\n');
    if (!m->pending || !f->answers[f->next]) return true;
    if (f->before) client_take(c, str_from(f->before), NULL);
    Buf text = { 0 };
    buf_add_fmt(&text, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":%s}", (unsigned long long)m->pending->id, f->answers[f->next++]);
    client_take(c, buf_str(&text), NULL);
    client_take(c, buf_str(&text), NULL);                 /* a second time: ignored */
    buf_clear(&text);
    return true;
}

static void fake_ready(McpClient *c, Cancel *cancel) { (void)c, (void)cancel; }
static void fake_close(McpClient *c) { (void)c; }
static const ClientTransport fake = { .send = fake_send, .ready = fake_ready, .close = fake_close };
static const ServerDef def = { .name = { "s", 1 } };
static const ServerDef remote = { .name = { "s", 1 }, .url = { "https://s.example/", 18 } };

static McpClient *open_fake(Fake *f, McpVersion version, const ServerDef *server) {
    McpClient *c = mem_zero(1, sizeof *c);
    c->config = (McpClientConfig){ .server = server, .program = "1", .answers = { .notified = notified, .progress = progress, .ctx = f } };
    c->version = version;
    c->heap = heap_new(0);
    c->stop = cancel_new(NULL, 0);
    c->next_id = 1;
    c->transport = &fake;
    c->wire = f;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    return c;
}

static void close_fake(McpClient *c, Fake *f) {
    mcp_client_close(c);
    buf_clear(&f->sent);
}

static size_t count(const Fake *f, const char *what) {
    size_t n = 0;
    for (const char *at = f->sent.at; at && (at = strstr(at, what)); at++) n++;
    return n;
}

/* ---- requests ---- */

static void test_answers_are_matched(void **state) {
    (void)state;
    Fake f = { .answers = (const char *const[]){ "{\"a\":1}", NULL } };
    static const char *const nonsense[] = { "{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}", "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}", "no json",
        "[]", "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"x\"}}", "{\"jsonrpc\":\"2.0\",\"id\":1e400,\"result\":{}}", "", "{}" };
    McpClient *c = open_fake(&f, MCP_2025_11_25, &def);
    Heap *h = heap_new(0);
    Value out;
    bool sent;
    Error err = { 0 };
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) client_take(c, str_from(nonsense[i]), NULL);
    assert_true(mcp_client_request(c, STR("x"), VALUE_GONE, NULL, NULL, h, &out, &sent, &err));
    assert_int_equal(value_small(value_member(out, "a")), 1);
    assert_true(sent);
    assert_null(c->pending);
    heap_free(h);
    close_fake(c, &f);
}

static void test_silence_ends_in_time(void **state) {
    (void)state;
    Fake f = { .answers = (const char *const[]){ NULL } };
    McpClient *c = open_fake(&f, MCP_2025_11_25, &def);
    Heap *h = heap_new(0);
    Value out;
    bool sent;
    Error err = { 0 };
    Cancel *soon = cancel_new(NULL, 20 * 1000000);
    assert_false(mcp_client_request(c, STR("tools/call"), VALUE_GONE, NULL, soon, h, &out, &sent, &err));
    assert_int_equal(err.kind, ERR_TIMEOUT);
    assert_true(sent);
    assert_int_equal(count(&f, "notifications/cancelled"), 1);
    Error why = { .kind = ERR_IO, .msg = "it is dead" };
    client_died(c, &why);
    assert_false(mcp_client_alive(c));
    assert_false(mcp_client_request(c, STR("x"), VALUE_GONE, NULL, NULL, h, &out, &sent, &err));
    assert_string_equal(err.msg, "it is dead");
    assert_false(sent);
    cancel_free(soon);
    heap_free(h);
    close_fake(c, &f);
}

static void test_progress_and_notifications(void **state) {
    (void)state;
    Fake f = { .answers = (const char *const[]){ "{}", NULL },
        .before = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1}}" };
    McpClient *c = open_fake(&f, MCP_2025_06_18, &def);
    Heap *h = heap_new(0);
    Value out;
    bool sent;
    Error err = { 0 };
    assert_true(mcp_client_request(c, STR("tools/call"), VALUE_GONE, NULL, NULL, h, &out, &sent, &err));
    client_take(c, str_from(f.before), NULL);             /* no longer expected */
    assert_int_equal(f.progress, 1);
    client_take(c, STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}"), NULL);
    assert_int_equal(f.told, 1);
    client_take(c, STR("[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]"), NULL);    /* no batches in this version */
    assert_int_equal(f.told, 1);
    c->version = MCP_2025_03_26;
    client_take(c, STR("[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"},7,[[]],{\"jsonrpc\":\"2.0\",\"method\":\"notifications/y\"}]"), NULL);
    assert_int_equal(f.told, 3);
    heap_free(h);
    close_fake(c, &f);
}

static void test_input_is_bounded(void **state) {
    (void)state;
    const char *answers[MCP_ROUNDS_MAX + 2] = { 0 };
    for (size_t i = 0; i < MCP_ROUNDS_MAX + 1; i++) answers[i] = "{\"resultType\":\"input_required\",\"requestState\":\"again\"}";
    Fake f = { .answers = answers };
    McpClient *c = open_fake(&f, MCP_2026_07_28, &def);
    Heap *h = heap_new(0);
    Value out;
    bool sent;
    Error err = { 0 };
    assert_false(mcp_client_request(c, STR("tools/call"), VALUE_GONE, NULL, NULL, h, &out, &sent, &err));
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_int_equal(count(&f, "\"requestState\":\"again\""), MCP_ROUNDS_MAX - 1);
    assert_int_equal(count(&f, "clientCapabilities"), MCP_ROUNDS_MAX);
    heap_free(h);
    close_fake(c, &f);
}

/* ---- lists ---- */

static void test_lists_are_kept(void **state) {
    (void)state;
    Fake f = { .answers = (const char *const[]){ "{\"tools\":[{\"name\":\"a\"}],\"ttlMs\":60000,\"nextCursor\":\"n\"}",
        "{\"tools\":[{\"name\":\"b\"}],\"ttlMs\":90000}",
        "{\"tools\":[]}", "{\"tools\":[]}", "{\"tools\":7}", NULL } };
    McpClient *c = open_fake(&f, MCP_2026_07_28, &def);
    Heap *h = heap_new(0);
    List *list;
    Error err = { 0 };
    for (int i = 0; i < 2; i++) {
        assert_true(mcp_client_list(c, STR("tools/list"), STR("tools"), NULL, h, &list, &err));
        assert_int_equal(list->n, 2);
        assert_int_equal(count(&f, "tools/list"), 2);     /* two pages, requested once */
    }
    assert_int_equal(count(&f, "\"cursor\":\"n\""), 1);
    client_take(c, STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}"), NULL);
    for (int i = 0; i < 2; i++) assert_true(mcp_client_list(c, STR("tools/list"), STR("tools"), NULL, h, &list, &err));
    assert_int_equal(count(&f, "tools/list"), 4);         /* without ttlMs nothing is cached */
    assert_false(mcp_client_list(c, STR("tools/list"), STR("tools"), NULL, h, &list, &err));
    heap_free(h);
    close_fake(c, &f);
}

/* ---- headers ---- */

static void test_header_values(void **state) {
    (void)state;
    static const struct { const char *text, *header; } rows[] = {
        { "us-west1", "us-west1" }, { "", "" }, { "a b", "a b" }, { " padded ", "=?base64?IHBhZGRlZCA=?=" }, { "Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?=" },
        { "line1\nline2", "=?base64?bGluZTEKbGluZTI=?=" }, { "=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=" }, { "a\tb", "=?base64?YQli?=" } };
    Arena arena = { 0 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Str got = client_header_value(&arena, str_from(rows[i].text));
        assert_string_equal(got.at, rows[i].header);
    }
    arena_clear(&arena);
}

static void test_header_rules(void **state) {
    (void)state;
    static const struct { const char *properties; bool kept; size_t sent; } rows[] = {
        { "{\"r\":{\"type\":\"string\",\"x-mcp-header\":\"R\"},\"n\":{\"type\":\"integer\",\"x-mcp-header\":\"N\"},\"b\":{\"type\":\"boolean\",\"x-mcp-header\":\"B\"}}", true, 3 },
        { "{\"o\":{\"type\":\"object\",\"properties\":{\"in\":{\"type\":\"string\",\"x-mcp-header\":\"In\"}}}}", true, 1 },
        { "{\"r\":{\"type\":\"string\",\"default\":{\"x-mcp-header\":\"\"}}}", true, 0 },
        { "{\"none\":{\"type\":\"string\",\"x-mcp-header\":\"X\"},\"nul\":{\"type\":\"string\",\"x-mcp-header\":\"Y\"}}", true, 0 },
        { "{\"r\":{\"type\":\"string\",\"x-mcp-header\":\"\"}}", false, 0 },
        { "{\"r\":{\"type\":\"string\",\"x-mcp-header\":7}}", false, 0 },
        { "{\"r\":{\"type\":\"string\",\"x-mcp-header\":\"a b\"}}", false, 0 },
        { "{\"r\":{\"type\":\"number\",\"x-mcp-header\":\"R\"}}", false, 0 },
        { "{\"r\":{\"type\":\"string\",\"x-mcp-header\":\"R\"},\"n\":{\"type\":\"string\",\"x-mcp-header\":\"r\"}}", false, 0 },
        { "{\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"x-mcp-header\":\"R\"}}}", false, 0 },
        { "{\"l\":{\"anyOf\":[{\"type\":\"string\",\"x-mcp-header\":\"R\"}]}}", false, 0 } };
    Fake f = { .answers = (const char *const[]){ NULL } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        McpClient *c = open_fake(&f, MCP_2026_07_28, &remote);
        Heap *h = heap_new(0);
        Arena arena = { 0 };
        Buf text = { 0 };
        Value tools, args;
        ClientHeader out[8];
        Error err = { 0 };
        buf_add_fmt(&text, "[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"properties\":%s}}]", rows[i].properties);
        assert_true(json_read(h, buf_str(&text), &(JsonRead){ 0 }, &tools, &err));
        assert_true(json_read(h, STR("{\"r\":\"x\",\"n\":42,\"b\":false,\"o\":{\"in\":\"y\"},\"nul\":null}"), &(JsonRead){ 0 }, &args, &err));
        assert_true(client_headers_note(c, value_list(tools), &err));
        assert_int_equal(value_list(tools)->n, rows[i].kept);
        assert_int_equal(client_headers_of(c, STR("t"), args, &arena, out, 8), rows[i].sent);
        assert_int_equal(client_headers_of(c, STR("other"), args, &arena, out, 8), 0);
        buf_clear(&text);
        arena_clear(&arena);
        heap_free(h);
        close_fake(c, &f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_are_matched), cmocka_unit_test(test_silence_ends_in_time), cmocka_unit_test(test_progress_and_notifications),
        cmocka_unit_test(test_input_is_bounded), cmocka_unit_test(test_lists_are_kept), cmocka_unit_test(test_header_values),
            cmocka_unit_test(test_header_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
