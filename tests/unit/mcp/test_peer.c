/* Requests of a client, without a transport: responses, ignored messages, and no leaks. */
#include "mcp/peer_world.h"

/* ---- responses ---- */

static void both_eras_at_once(void **state) {
    (void)state;
    World w;
    open_world(&w, "---\n---\n");
    static const struct { const char *send, *answer; } before[] = {
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}!\n" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", "\"code\":-32602" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}", "\"code\":-32602" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}", "\"code\":-32602" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":5,\"capabilities\":{}}}", "\"code\":-32602" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META "}}", "\"supportedVersions\":[\"2026-07-28\"," },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{" META "}}", "\"code\":-32601" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{" META "}}", "\"code\":-32601" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\",\"params\":{" META "}}", "\"code\":-32601" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":7}}", "\"code\":-32602" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}", "\"code\":-32602" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"1999-01-01\"}}}",
          "\"code\":-32022,\"message\":\"protocol version \\\"1999-01-01\\\" is not supported without a handshake: see data.supported\",\"data\":{\"supported\":[\"2026-07-28\"" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"}," META "}}",
          "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"isError\":false,\"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\"" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"requestState\":\"forged\"," META "}}", "\"code\":-32602" },
    };
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) send_text(&w, before[i].send), expect_part(&w, before[i].answer);
    shake_hands(&w, "2025-06-18");
    assert_int_equal(mcp_peer_version(w.peer), MCP_2025_06_18);
    static const struct { const char *send, *answer; } after[] = {
        { "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"}}}",
          "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"isError\":false}}!\n" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{}}}", "\"isError\":true}}!\n" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":[]}}", "\"code\":-32602" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"ecko\"}}",
            "\"code\":-32602,\"message\":\"unknown tool \\\"ecko\\\" (did you mean" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"artifact_read\"}}", "\"code\":-32602" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{}}", "\"code\":-32602,\"message\":\"params.name is missing\"" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"p7\"}}", "\"code\":-32602" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":5}}", "\"code\":-32602" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{\"progressToken\":[]}}}", "\"code\":-32602" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}", "\"code\":-32601" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META "}}",
            "\"resultType\":\"complete\",\"ttlMs\":60000,\"cacheScope\":\"private\"" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"loud\"}}", "\"code\":-32602" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{}}}", "\"code\":-32600" },
        { "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", "\"code\":-32600" },
        { "nonsense", "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700" },
    };
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) send_text(&w, after[i].send), expect_part(&w, after[i].answer);
    /* These get no response. */
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}");
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"id\":9,\"error\":{\"code\":1,\"message\":\"m\"}}");
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}");
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":77}}");
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":{}}}");
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}");
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    expect(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}!\n");
    close_world(&w);
}

static void unknown_versions_get_the_latest(void **state) {
    (void)state;
    static const struct { const char *asked; McpVersion got; } each[] = {
        { "2024-11-05", MCP_2024_11_05 }, { "2025-11-25", MCP_2025_11_25 }, { "2026-07-28", MCP_2025_11_25 }, { "1.0", MCP_2025_11_25 },
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        World w;
        open_world(&w, "---\n---\n");
        shake_hands(&w, each[i].asked);
        assert_int_equal(mcp_peer_version(w.peer), each[i].got);
        close_world(&w);
    }
}

static void batches_of_one_version(void **state) {
    (void)state;
    World w;
    open_world(&w, "---\n---\n");
    shake_hands(&w, "2025-03-26");
    send_text(&w, "[]");
    expect_part(&w, "\"code\":-32600");
    send_text(&w, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"method\":\"n\"},5,"
                  "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"x\"}}}]");
    char *text = box_take(&w.box, 3);
    assert_non_null(strstr(text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"));
    assert_non_null(strstr(text, "\"code\":-32600"));
    assert_non_null(strstr(text, "\"text\":\"x\""));
    assert_ptr_equal(strchr(text, '!'), text + strlen(text) - 2);        /* only the last message is marked as last */
    free(text);
    close_world(&w);
}

static void log_messages_by_level(void **state) {
    (void)state;
    World w;
    char *text;
    open_world(&w, "---\n---\n");
    shake_hands(&w, "2025-11-25");
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"loud\"}}");
    text = box_take(&w.box, 2);
    assert_ptr_equal(strstr(text, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"warning\",\"logger\":\"loud\",\"data\":\"b\"}}\n"), text);
    free(text);
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"debug\"}}");
    free(box_take(&w.box, 1));
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"loud\"}}");
    free(box_take(&w.box, 3));
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"loud\"," META "}}");     /* stateless: only on request */
    free(box_take(&w.box, 1));
    close_world(&w);
}

/* ---- in flight ---- */

#define NAP(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"nap\"}}"

static void a_cancelled_request_is_not_answered(void **state) {
    (void)state;
    World w;
    open_world(&w, "---\n---\n");
    shake_hands(&w, "2025-11-25");
    send_text(&w, NAP("1"));
    send_text(&w, NAP("1"));                                 /* its id is in use */
    expect_part(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"the id of this request is still in use");
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"1\"}}");      /* another id */
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}");
    peer_drain(w.peer, 20000);                               /* waits for it: it ends now, not after 30 s */
    assert_int_equal(w.box.lines, 0);
    close_world(&w);
}

static void a_link_that_is_gone(void **state) {
    (void)state;
    World w;
    Box other;
    open_world(&w, "---\n---\n");
    box_init(&other);
    peer_take(w.peer, STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"nap\"," META "}}"), &other.link);
    mcp_peer_link_gone(w.peer, &other.link);
    mcp_link_release(&other.link);
    wait_until_freed(&other);
    assert_int_equal(other.lines, 0);
    box_clear(&other);
    close_world(&w);
}

static void floods_are_refused(void **state) {
    (void)state;
    World w;
    enum { MOST = MCP_REQUESTS_MAX + MCP_PARKED_MAX };
    char text[200];
    open_world(&w, "---\n---\n");
    shake_hands(&w, "2025-11-25");
    for (int i = 0; i < MOST; i++) {
        snprintf(text, sizeof text, NAP("%d"), i);
        send_text(&w, text);
    }
    send_text(&w, NAP("\"one more\""));
    expect_part(&w, "{\"jsonrpc\":\"2.0\",\"id\":\"one more\",\"error\":{\"code\":-32603,\"message\":\"too many requests in flight");
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":0}}");
    for (int i = 1; i < MOST; i++) {
        snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%d}}", i);
        send_text(&w, text);
    }
    peer_drain(w.peer, 20000);
    assert_int_equal(w.box.lines, 0);
    close_world(&w);
}

/* Running requests and queued ones end with the server. */
static void closing_ends_what_is_under_way(void **state) {
    (void)state;
    World w;
    char text[200];
    open_world(&w, "---\n---\n");
    shake_hands(&w, "2025-11-25");
    for (int i = 0; i < 60; i++) {
        snprintf(text, sizeof text, NAP("%d"), i);
        send_text(&w, text);
    }
    close_world(&w);
}

/* Without turns there is no per-turn limit; the project's own limit applies. */
static void a_session_is_not_a_turn(void **state) {
    (void)state;
    for (int limited = 0; limited < 2; limited++) {
        World w;
        open_world(&w, limited ? "---\nlimits: { max_tool_calls: 210 }\n---\n" : "---\n---\n");
        shake_hands(&w, "2025-11-25");
        for (int i = 0; i < 215; i++) {
            send_text(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"x\"}}}");
            expect_part(&w, limited && i >= 210 ? "limits.max_tool_calls of 210 is reached" : "\"isError\":false");
        }
        close_world(&w);
    }
}

/* Two calls of one request wait for the user at the same time: the request's thread counts once. */
typedef struct TwoWaits { Flight flight; atomic_bool waits, go_on; bool ok; } TwoWaits;

static void wait_twice(void *arg) {
    TwoWaits *t = arg;
    Error err = { 0 };
    t->ok = serve_wait(&t->flight.q, &err) && serve_wait(&t->flight.q, &err);
    atomic_store(&t->waits, true);
    while (!atomic_load(&t->go_on)) nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    serve_go_on(&t->flight.q);
    serve_go_on(&t->flight.q);
}

static void two_waits_of_one_request(void **state) {
    (void)state;
    World w;
    open_world(&w, "---\n---\n");
    shake_hands(&w, "2025-11-25");
    TwoWaits two = { .flight = { .q = { .server = w.server, .peer = w.peer }, .scheduled = true } };
    SchedulerGroup *group = scheduler_group_new(w.server->scheduler);
    assert_true(scheduler_group_add(group, w.peer, wait_twice, &two, NULL));
    while (!atomic_load(&two.waits)) nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    assert_true(two.ok);
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"x\"}}}");
    expect_part(&w, "\"isError\":false");                    /* served in the meantime */
    atomic_store(&two.go_on, true);
    scheduler_group_free(group);                             /* the peer does not know this request: it must end first */
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_eras_at_once), cmocka_unit_test(unknown_versions_get_the_latest), cmocka_unit_test(batches_of_one_version),
        cmocka_unit_test(log_messages_by_level), cmocka_unit_test(a_cancelled_request_is_not_answered), cmocka_unit_test(a_link_that_is_gone),
        cmocka_unit_test(floods_are_refused), cmocka_unit_test(closing_ends_what_is_under_way), cmocka_unit_test(a_session_is_not_a_turn),
        cmocka_unit_test(two_waits_of_one_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
