/* Requests of a client, without a transport: what is answered, what is not, and that nothing is left over. */
#include <pthread.h>
#include <time.h>
#include "mcp/peer.h"
#include "tool/tree.h"

/* Where the answers go: gathered in order, and waited for. */
typedef struct Box {
    McpLink link;
    pthread_mutex_t lock;
    pthread_cond_t more;
    Buf text;                            /* one line each; "!" behind those that were the last */
    size_t lines;
    bool freed;
} Box;

static bool box_send(McpLink *l, Str message, bool last) {
    Box *b = (Box *)l;
    pthread_mutex_lock(&b->lock);
    buf_add(&b->text, message);
    buf_add(&b->text, last ? STR("!\n") : STR("\n"));
    b->lines++;
    pthread_cond_broadcast(&b->more);
    pthread_mutex_unlock(&b->lock);
    return true;
}

static void box_free(McpLink *l) {
    Box *b = (Box *)l;
    pthread_mutex_lock(&b->lock);
    b->freed = true;
    pthread_cond_broadcast(&b->more);
    pthread_mutex_unlock(&b->lock);
}

static void box_init(Box *b) {
    *b = (Box){ .link = { .send = box_send, .free = box_free, .holders = 1 } };
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->more, NULL);
}

static void box_clear(Box *b) {
    buf_clear(&b->text);
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->more);
}

/* All that was said, once there are n lines; empties the box. The caller frees it. */
static char *box_take(Box *b, size_t n) {
    pthread_mutex_lock(&b->lock);
    while (b->lines < n) pthread_cond_wait(&b->more, &b->lock);
    assert_int_equal(b->lines, n);
    b->lines = 0;
    char *text = str_dup(buf_str(&b->text));
    buf_reset(&b->text);
    pthread_mutex_unlock(&b->lock);
    return text;
}

static void wait_until_freed(Box *b) {
    pthread_mutex_lock(&b->lock);
    while (!b->freed) pthread_cond_wait(&b->more, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

typedef struct World { Tree tree; McpServer *server; McpPeer *peer; Box box; } World;

static const char echo[] = "---\nparameters:\n  text: { type: string, required: true }\nscript: |\n  def run(args):\n      return args[\"text\"]\n---\nSays it again.\n";
static const char nap[] = "---\nscript: |\n  def run(args):\n      sleep(args.get(\"s\", 30))\n      return \"slept\"\n---\nSleeps.\n";
static const char loud[] = "---\nscript: |\n  def run(args):\n      log.debug(\"a\")\n      log.warn(\"b\")\n      return \"said\"\n---\nLogs.\n";

static void open_world(World *w, const char *settings) {
    Error err = { 0 };
    Problems problems = { 0 };
    w->tree = tree_new();
    tree_text(&w->tree, "harness.md", settings);
    tree_text(&w->tree, ".harness/tools/echo.md", echo);
    tree_text(&w->tree, ".harness/tools/nap.md", nap);
    tree_text(&w->tree, ".harness/tools/loud.md", loud);
    McpServerConfig config = { .runtime = { .dir = w->tree.path, .ephemeral = true }, .events = -1, .version = "1.2.3" };
    if (!mcp_server_new(&config, &w->server, &problems, &err)) fail_msg("%s %s", err.msg, problems.n ? str_dup(problems.at[0].message) : "");
    problems_clear(&problems);
    box_init(&w->box);
    w->peer = mcp_peer_new(w->server, &(McpPeerConfig){ .general = &w->box.link, .one_link = true }, &err);
    assert_non_null(w->peer);
}

static void close_world(World *w) {
    mcp_server_close(w->server, 0);
    assert_int_equal(w->box.link.holders, 1);                /* nobody keeps it */
    box_clear(&w->box);
    tree_free(&w->tree);
}

static void send_text(World *w, const char *text) { mcp_peer_take(w->peer, str_from(text), MCP_NONE, &w->box.link); }

static void expect(World *w, const char *answer) {
    char *text = box_take(&w->box, 1);
    if (strcmp(text, answer) != 0) fail_msg("got      %sexpected %s", text, answer);
    free(text);
}

static void expect_part(World *w, const char *part) {
    char *text = box_take(&w->box, 1);
    if (!strstr(text, part)) fail_msg("got %snot %s", text, part);
    free(text);
}

#define META "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"

static void shake_hands(World *w, const char *version) {
    char text[300];
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":{},"
                                "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}", version);
    send_text(w, text);
    expect_part(w, "\"serverInfo\":{\"name\":\"harness\",\"version\":\"1.2.3\"}");
    send_text(w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

/* ---- what is answered how ---- */

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
          "\"code\":-32022,\"message\":\"protocol version \\\"1999-01-01\\\" is not spoken without a handshake: see data.supported\",\"data\":{\"supported\":[\"2026-07-28\"" },
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
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"ecko\"}}", "\"code\":-32602,\"message\":\"unknown tool \\\"ecko\\\" (did you mean" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"artifact_read\"}}", "\"code\":-32602" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{}}", "\"code\":-32602,\"message\":\"params.name is missing\"" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"p7\"}}", "\"code\":-32602" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":5}}", "\"code\":-32602" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{\"progressToken\":[]}}}", "\"code\":-32602" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}", "\"code\":-32601" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META "}}", "\"resultType\":\"complete\",\"ttlMs\":60000,\"cacheScope\":\"private\"" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"loud\"}}", "\"code\":-32602" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{}}}", "\"code\":-32600" },
        { "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", "\"code\":-32600" },
        { "nonsense", "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700" },
    };
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) send_text(&w, after[i].send), expect_part(&w, after[i].answer);
    /* Nothing is said to these. */
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
    assert_ptr_equal(strchr(text, '!'), text + strlen(text) - 2);        /* only the last one is the last */
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
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"loud\"," META "}}");     /* without a session: only who asks */
    free(box_take(&w.box, 1));
    close_world(&w);
}

/* ---- under way ---- */

#define NAP(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"nap\"}}"

static void a_cancelled_request_is_not_answered(void **state) {
    (void)state;
    World w;
    open_world(&w, "---\n---\n");
    shake_hands(&w, "2025-11-25");
    send_text(&w, NAP("1"));
    send_text(&w, NAP("1"));                                 /* its id is in use */
    expect_part(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"the id of this request is still in use");
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"1\"}}");      /* another one */
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}");
    peer_drain(w.peer, 20000);                               /* waits for it: it ends now, not in 30 s */
    assert_int_equal(w.box.lines, 0);
    close_world(&w);
}

static void a_link_that_is_gone(void **state) {
    (void)state;
    World w;
    Box other;
    open_world(&w, "---\n---\n");
    box_init(&other);
    mcp_peer_take(w.peer, STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"nap\"," META "}}"), MCP_NONE, &other.link);
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
    expect_part(&w, "{\"jsonrpc\":\"2.0\",\"id\":\"one more\",\"error\":{\"code\":-32603,\"message\":\"too many requests under way");
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":0}}");
    for (int i = 1; i < MOST; i++) {
        snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%d}}", i);
        send_text(&w, text);
    }
    peer_drain(w.peer, 20000);
    assert_int_equal(w.box.lines, 0);
    close_world(&w);
}

/* Both what works and what waits for a thread ends with the server. */
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

/* Without turns there is nothing to count in; what the project says holds. */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_eras_at_once), cmocka_unit_test(unknown_versions_get_the_latest), cmocka_unit_test(batches_of_one_version),
        cmocka_unit_test(log_messages_by_level), cmocka_unit_test(a_cancelled_request_is_not_answered), cmocka_unit_test(a_link_that_is_gone),
        cmocka_unit_test(floods_are_refused), cmocka_unit_test(closing_ends_what_is_under_way), cmocka_unit_test(a_session_is_not_a_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
