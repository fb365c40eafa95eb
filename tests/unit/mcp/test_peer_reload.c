/* The user's approvals after the project is reloaded. */
#include "mcp/peer_world.h"

static void load_anew(World *w) {
    Error err = { 0 };
    Problems problems = { 0 };
    Runtime *rt;
    Agents *agents;
    ServeProject *old = serve_project(w->server);
    if (!serve_project_open(&w->server->config, old->rt, &rt, &agents, &problems, &err)) fail_msg("%s", err.msg);
    serve_project_release(w->server, old);
    serve_project_set(w->server, rt, agents);
    problems_clear(&problems);
}

#define SURE "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"sure\"}}"

static void agreement_is_to_a_tool_as_it_is(void **state) {
    (void)state;
    World w;
    open_world(&w, "---\n---\n");
    shake_hands_with(&w, "2025-06-18", "{\"elicitation\":{}}");
    send_text(&w, SURE);
    expect_part(&w, "elicitation/create");
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"accept\",\"content\":{\"answer\":\"tool\"}}}");
    expect_part(&w, "\"text\":\"one\"");
    send_text(&w, SURE);
    expect_part(&w, "\"text\":\"one\"");                   /* from now on */

    tree_text(&w.tree, ".harness/tools/echo.md", nap);
    load_anew(&w);
    send_text(&w, SURE);
    expect_part(&w, "\"text\":\"one\"");                   /* another tool has changed */

    tree_text(&w.tree, ".harness/tools/sure.md", "---\nconfirm: true\nscript: |\n  def run(args):\n      return \"two\"\n---\nIs asked about.\n");
    load_anew(&w);
    send_text(&w, SURE);
    expect_part(&w, "elicitation/create");
    send_text(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"action\":\"decline\"}}");
    expect_part(&w, "\"isError\":true");
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(agreement_is_to_a_tool_as_it_is) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
