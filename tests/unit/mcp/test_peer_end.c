/* Tasks and questions of a client that leaves, or exceeds its limits. Sanitizers detect leaks and use after free. */
#include "mcp/peer_world.h"

#define TASKS "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":" \
              "{\"elicitation\":{},\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}}"

static void a_task_outlives_no_peer(void **state) {
    (void)state;
    World w;
    open_world(&w, "---\n---\n");
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"job\"," TASKS "}}");
    expect_part(&w, "\"status\":\"working\"");
    close_world(&w);
}

static void a_question_of_a_task_outlives_no_peer(void **state) {
    (void)state;
    World w;
    open_world(&w, "---\n---\n");
    shake_hands_with(&w, "2025-11-25", "{\"elicitation\":{}}");
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"wish\",\"task\":{\"ttl\":1}}}");
    free(box_take_with(&w.box, "elicitation/create"));
    close_world(&w);
}

/* A server that drops idle clients must not end their work. */
static void a_peer_with_a_task_is_not_idle(void **state) {
    (void)state;
    World w;
    open_world(&w, "---\n---\n");
    assert_true(mcp_peer_idle(w.peer));
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"job\"," TASKS "}}");
    char *text = box_take(&w.box, 1), *id = strstr(text, "\"taskId\":\""), cancel[600];
    assert_non_null(id);
    snprintf(cancel, sizeof cancel, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tasks/cancel\",\"params\":{\"taskId\":\"%.32s\"," TASKS "}}", id + 10);
    free(text);
    pthread_mutex_lock(&w.peer->lock);
    while (w.peer->n_flights) pthread_cond_wait(&w.peer->changed, &w.peer->lock);
    pthread_mutex_unlock(&w.peer->lock);
    assert_false(mcp_peer_idle(w.peer));
    send_text(&w, cancel);
    free(box_take(&w.box, 1));
    while (!mcp_peer_idle(w.peer)) nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    close_world(&w);
}

static void questions_are_bounded(void **state) {
    (void)state;
    World w;
    char text[200];
    open_world(&w, "---\n---\n");
    shake_hands_with(&w, "2025-06-18", "{\"elicitation\":{}}");
    for (int i = 1; i <= MCP_PARKED_MAX; i++) {
        snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"wish\"}}", i);
        send_text(&w, text);
    }
    free(box_take(&w.box, MCP_PARKED_MAX));
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"id\":\"more\",\"method\":\"tools/call\",\"params\":{\"name\":\"wish\"}}");
    expect_part(&w, "already wait for answers");
    close_world(&w);
}

/* A call that sleeps, with that many unused bytes. */
static void send_large(McpPeer *p, McpLink *link, size_t n) {
    Buf text = { 0 };
    buf_add(&text, STR("{\"jsonrpc\":\"2.0\",\"id\":\"large\",\"method\":\"tools/call\",\"params\":{\"name\":\"nap\"," META ",\"more\":\""));
    for (size_t i = 0; i < n; i++) buf_add_char(&text, 'x');
    buf_add(&text, STR("\"}}"));
    peer_take(p, buf_str(&text), link);
    buf_clear(&text);
}

static void large_requests_keep_no_small_ones_out(void **state) {
    (void)state;
    World w;
    Error err = { 0 };
    open_world_with(&w, "---\n---\n", 300 << 10);
    McpPeer *other = mcp_peer_new(w.server, &(McpPeerConfig){ .general = &w.box.link, .one_link = true }, &err);
    assert_non_null(other);
    send_large(w.peer, &w.box.link, 200 << 10);
    send_large(other, &w.box.link, 200 << 10);
    expect_part(&w, "busy with large requests of other clients");
    peer_take(other, STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"small\"}," META "}}"), &w.box.link);
    expect_part(&w, "\"text\":\"small\"");
    mcp_peer_close(w.peer, 0);
    free(box_take(&w.box, 1));
    send_large(other, &w.box.link, 200 << 10);               /* there is space again */
    peer_take(other, STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"large\"}}"), NULL);
    peer_drain(other, 20000);
    assert_int_equal(w.box.lines, 0);
    close_world(&w);
}

static void results_of_tasks_are_bounded(void **state) {
    (void)state;
    World w;
    bool refused = false;
    open_world(&w, "---\nlimits: { max_tool_calls: 1000 }\n---\n");
    for (int i = 0; i < 30 && !refused; i++) {
        send_text(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"heap\"," TASKS "}}");
        char *text = box_take(&w.box, 1);
        refused = strstr(text, "MiB of results");
        if (!refused && !strstr(text, "\"resultType\":\"task\"")) fail_msg("%s", text);
        free(text);
        while (!mcp_peer_idle(w.peer)) nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    assert_true(refused);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_outlives_no_peer), cmocka_unit_test(a_question_of_a_task_outlives_no_peer), cmocka_unit_test(a_peer_with_a_task_is_not_idle),
        cmocka_unit_test(questions_are_bounded), cmocka_unit_test(large_requests_keep_no_small_ones_out), cmocka_unit_test(results_of_tasks_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
