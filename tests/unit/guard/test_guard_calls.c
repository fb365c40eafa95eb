/* Reading envelopes and patches, and translating calls into our names. */
#include "unit.h"
#include <stdio.h>
#include <stdlib.h>
#include "guard/guard.h"
#include "value/json.h"
#include "value/list.h"

typedef struct Scene { Heap *heap; Arena arena; GuardEnvelope e; GuardCalls calls; Error err; } Scene;

static void scene_clear(Scene *p) {
    heap_free(p->heap);
    arena_clear(&p->arena);
}

static bool read_text(Scene *p, Vendor said, const char *text) {
    *p = (Scene){ .heap = heap_new(0) };
    return guard_envelope_read(str_from(text), said, STR(""), p->heap, &p->e, &p->err);
}

static bool calls_of(Scene *p, Vendor said, const char *text) {
    return read_text(p, said, text) && guard_calls(&p->e, STR("/nonexistent/root"), p->heap, &p->arena, &p->calls, &p->err);
}

/* ---- vendors ---- */

static void test_auto(void **state) {
    (void)state;
    static const struct { Vendor vendor; const char *text; } cases[] = {
        { VENDOR_CLAUDE, "{\"session_id\":\"s\",\"transcript_path\":\"/t\",\"cwd\":\"/r\",\"permission_mode\":\"auto\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{}}" },
        { VENDOR_CODEX, "{\"session_id\":\"s\",\"turn_id\":\"t\",\"model\":\"m\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{}}" },
        { VENDOR_CURSOR, "{\"cursor_version\":\"2\",\"hook_event_name\":\"preToolUse\",\"tool_name\":\"Shell\",\"tool_input\":{}}" },
        { VENDOR_COPILOT, "{\"sessionId\":\"s\",\"timestamp\":1,\"cwd\":\"/r\",\"toolName\":\"bash\",\"toolArgs\":\"{}\"}" },
        { VENDOR_COPILOT, "{\"session_id\":\"s\",\"timestamp\":\"x\",\"cwd\":\"/r\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{}}" },
        { VENDOR_VSCODE, "{\"session_id\":\"s\",\"timestamp\":\"x\",\"transcript_path\":\"/t\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"run_in_terminal\",\"tool_input\":{},\"tool_use_id\":\"u\"}" },
        { VENDOR_GEMINI, "{\"session_id\":\"s\",\"timestamp\":\"x\",\"hook_event_name\":\"BeforeTool\",\"tool_name\":\"run_shell_command\",\"tool_input\":{}}" },
        { VENDOR_QWEN, "{\"session_id\":\"s\",\"timestamp\":\"x\",\"permission_mode\":\"default\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"edit\",\"tool_input\":{}}" },
        { VENDOR_KIMI, "{\"session_id\":\"s\",\"cwd\":\"/r\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Shell\",\"tool_input\":{},\"tool_call_id\":\"u\"}" },
        { VENDOR_OPENCODE, "{\"hook_event_name\":\"tool.execute.before\",\"tool\":\"bash\",\"sessionID\":\"s\",\"callID\":\"c\",\"args\":{}}" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Scene p;
        assert_true(read_text(&p, VENDOR_HARNESS, cases[i].text));
        assert_int_equal(p.e.vendor, cases[i].vendor);
        assert_false(p.e.mismatch);
        scene_clear(&p);
        for (int said = VENDOR_HARNESS + 1; said < VENDOR_COUNT; said++) {
            (void)read_text(&p, (Vendor)said, cases[i].text);
            if ((Vendor)said == cases[i].vendor) assert_false(p.e.mismatch);
            else if (!p.e.mismatch) assert_true(p.e.vendor == (Vendor)said);    /* the envelope matches both vendors */
            scene_clear(&p);
        }
    }
}

static void test_refused_envelopes(void **state) {
    (void)state;
    static const char *const cases[] = { "", " \n", "null", "[]", "3", "{", "{}", "{\"hook_event_name\":\"PreToolUse\"}",
        "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":3}",
        "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"\"}", "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":[1]}",
        "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":\"{\"}",
            "{\"hook_event_name\":\"Nonsense\",\"tool_name\":\"Bash\"}", "{\"hook_event_name\":[\"PreToolUse\"]}",
        "{\"toolCall\":{\"name\":\"x\"}}", "{\"clineVersion\":\"1\"}", "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\"} {}",
            "{\"tool_name\":\"\\ud800\"}" };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Scene p;
        if (read_text(&p, VENDOR_CLAUDE, cases[i])) fail_msg("accepted: %s", cases[i]);
        assert_true(p.err.msg[0]);
        scene_clear(&p);
    }
}

/* ---- calls ---- */

static void test_calls(void **state) {
    (void)state;
    static const struct { Vendor vendor; const char *tool, *input, *ours; CallKind kind; const char *path; } cases[] = {
        { VENDOR_CLAUDE, "Edit", "{\"file_path\":\"/nonexistent/root/a/../b.c\",\"old_string\":\"x\"}", "edit", CALL_FILE_EDIT, "b.c" },
        { VENDOR_CLAUDE, "Write", "{\"file_path\":\"/elsewhere/b.c\"}", "write", CALL_FILE_WRITE, "/elsewhere/b.c" },
        { VENDOR_CLAUDE, "NotebookEdit", "{\"notebook_path\":\"n.ipynb\",\"new_source\":\"x\"}", "edit", CALL_FILE_EDIT, "n.ipynb" },
        { VENDOR_CLAUDE, "Read", "{\"filePath\":\"b.c\"}", "read", CALL_FILE_READ, "b.c" },
        { VENDOR_CLAUDE, "Grep", "{\"pattern\":\"x\"}", "grep", CALL_SEARCH, "." },
        { VENDOR_CLAUDE, "Agent", "{\"prompt\":\"x\"}", "delegate", CALL_AGENT, "" },
        { VENDOR_CLAUDE, "mcp__a__b", "{}", "mcp:a:b", CALL_MCP, "" },
        { VENDOR_CURSOR, "Delete", "{\"path\":\"b.c\"}", "delete", CALL_FILE_DELETE, "b.c" },
        { VENDOR_CURSOR, "MCP:x", "{}", "mcp:?:x", CALL_MCP, "" },
        { VENDOR_OPENCODE, "read", "{\"filePath\":\"b.c\"}", "read", CALL_FILE_READ, "b.c" },
        { VENDOR_OPENCODE, "srv_tool", "{}", "mcp:srv:tool", CALL_MCP, "" },
        { VENDOR_COPILOT, "srv-tool", "{}", "mcp:srv:tool", CALL_MCP, "" },
        { VENDOR_GEMINI, "mcp_srv_tool", "{}", "mcp:srv:tool", CALL_MCP, "" },
        { VENDOR_GEMINI, "replace", "{\"file_path\":\"b.c\"}", "edit", CALL_FILE_EDIT, "b.c" },
        { VENDOR_QWEN, "list_directory", "{\"path\":\"d\"}", "listdir", CALL_SEARCH, "d" },
        { VENDOR_KIMI, "StrReplaceFile", "{\"path\":\"b.c\",\"edit\":{\"old\":\"x\"}}", "edit", CALL_FILE_EDIT, "b.c" },
        { VENDOR_VSCODE, "create_file", "{\"filePath\":\"/nonexistent/root/b.c\"}", "write", CALL_FILE_WRITE, "b.c" },
        { VENDOR_CODEX, "spawn_agent", "{\"message\":\"x\"}", "delegate", CALL_AGENT, "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Scene p = { .heap = heap_new(0) };
        GuardEnvelope e = { .vendor = cases[i].vendor, .event = GUARD_EVENT_CALL, .tool = str_from(cases[i].tool), .camel = true,
                            .roots = VALUE_GONE, .result = VALUE_GONE };
        assert_true(json_read(p.heap, str_from(cases[i].input), &(JsonRead){ 0 }, &e.input, &p.err));
        if (!guard_calls(&e, STR("/nonexistent/root"), p.heap, &p.arena, &p.calls, &p.err)) fail_msg("%s: %s", cases[i].tool, p.err.msg);
        assert_int_equal(p.calls.n, 1);
        assert_true(str_eq(p.calls.at[0].tool, str_from(cases[i].ours)));
        assert_int_equal(p.calls.at[0].kind, cases[i].kind);
        assert_true(str_eq(p.calls.at[0].path, str_from(cases[i].path)));
        if (p.calls.at[0].path.n && cases[i].kind != CALL_SEARCH) assert_true(str_eq(value_member_text(p.calls.at[0].args, "path"), p.calls.at[0].path));
        scene_clear(&p);
    }
}

static void test_readings(void **state) {
    (void)state;
    Scene p;
    assert_true(calls_of(&p, VENDOR_CLAUDE, "{\"hook_event_name\":\"PreToolUse\",\"transcript_path\":\"/t\",\"tool_name\":\"mcp__a__b__c\",\"tool_input\":{}}"));
    assert_int_equal(p.calls.n, 2);
    assert_true(str_eq(p.calls.at[0].tool, STR("mcp:a:b__c")) && str_eq(p.calls.at[1].tool, STR("mcp:a__b:c")));
    scene_clear(&p);
    assert_true(calls_of(&p, VENDOR_CLAUDE, "{\"hook_event_name\":\"PreToolUse\",\"transcript_path\":\"/t\",\"tool_name\":\"mcp__a__b__c\",\"tool_input\":{},\"mcp_server\":\"a__b\"}"));
    assert_int_equal(p.calls.n, 1);
    assert_true(str_eq(p.calls.at[0].tool, STR("mcp:a__b:c")));
    scene_clear(&p);
    assert_true(calls_of(&p, VENDOR_OPENCODE, "{\"hook_event_name\":\"tool.execute.before\",\"tool\":\"new_tool\",\"args\":{}}"));
    assert_true(p.calls.n == 1 && p.calls.at[0].unknown);
    scene_clear(&p);
}

static void test_refused_calls(void **state) {
    (void)state;
    static const char *const inputs[][2] = {
        { "Bash", "{}" }, { "Bash", "{\"command\":3}" }, { "Bash", "{\"command\":[1]}" }, { "Bash", "{\"command\":[]}" },
            { "Bash", "{\"command\":\"a\\u0000b\"}" },
        { "Bash", "{\"command\":\"ls\",\"cmd\":\"rm\"}" }, { "Read", "{}" }, { "Read", "{\"file_path\":\"\"}" },
            { "Read", "{\"file_path\":3}" }, { "Read", "{\"file_path\":null}" },
        { "Read", "{\"file_path\":\"a\",\"path\":\"b\"}" }, { "Read", "{\"file_path\":\"a\\u0000\"}" }, { "Edit", "{\"files\":[3]}" },
            { "Grep", "{\"path\":3}" },
        { "NotebookEdit", "{\"notebook_path\":\"a\",\"new_source\":\"x\",\"new_string\":\"y\"}" },
    };
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        Scene p;
        char text[512];
        snprintf(text, sizeof text, "{\"hook_event_name\":\"PreToolUse\",\"transcript_path\":\"/t\",\"tool_name\":\"%s\",\"tool_input\":%s}", inputs[i][0], inputs[i][1]);
        if (calls_of(&p, VENDOR_CLAUDE, text)) fail_msg("accepted: %s", text);
        assert_true(p.err.msg[0]);
        scene_clear(&p);
    }
}

static void test_input_back(void **state) {
    (void)state;
    Scene p;
    Value now, out;
    assert_true(calls_of(&p, VENDOR_OPENCODE,
        "{\"hook_event_name\":\"tool.execute.before\",\"tool\":\"edit\",\"args\":{\"filePath\":\"/nonexistent/root/b.c\",\"oldString\":\"x\",\"more\":1}}"));
    assert_true(json_read(p.heap, STR("{\"path\":\"b.c\",\"old_string\":\"y\",\"more\":1}"), &(JsonRead){ 0 }, &now, &p.err));
    assert_true(guard_calls_input(&p.e, &p.calls.at[0], now, STR("/nonexistent/root"), p.heap, &out, &p.err));
    Buf text = { 0 };
    assert_true(json_write(&text, out, &(JsonWrite){ 0 }, &p.err));
    assert_string_equal(text.at, "{\"filePath\":\"/nonexistent/root/b.c\",\"oldString\":\"y\",\"more\":1}");
    assert_true(json_read(p.heap, STR("{\"path\":\"c.c\",\"old_string\":\"y\",\"more\":1}"), &(JsonRead){ 0 }, &now, &p.err));
    assert_true(guard_calls_input(&p.e, &p.calls.at[0], now, STR("/nonexistent/root"), p.heap, &out, &p.err));
    assert_true(str_eq(value_member_text(out, "filePath"), STR("/nonexistent/root/c.c")));
    assert_true(json_read(p.heap, STR("{\"path\":\"c.c\"}"), &(JsonRead){ 0 }, &now, &p.err));
    assert_false(guard_calls_input(&p.e, &p.calls.at[0], now, STR("/nonexistent/root"), p.heap, &out, &p.err));
    buf_clear(&text);
    scene_clear(&p);
}

/* ---- patches ---- */

static void test_patch(void **state) {
    (void)state;
    Arena arena = { 0 };
    GuardPatch patch = { 0 };
    Error err = { 0 };
    Str text = STR("*** Begin Patch\n*** Add File: a b.c\n+x\n+y\n*** Update File: c.c\n*** Move to: d.c\n@@ fn\n-x\n+y\n ctx\n*** End of File\n*** Delete File: e.c\n*** End Patch\n");
    assert_true(guard_patch_read(text, &arena, &patch, &err));
    assert_int_equal(patch.n, 3);
    assert_true(patch.at[0].kind == GUARD_PATCH_ADD && str_eq(patch.at[0].path, STR("a b.c")) && str_eq(patch.at[0].added, STR("+x\n+y")));
    assert_true(patch.at[1].kind == GUARD_PATCH_UPDATE && str_eq(patch.at[1].path, STR("c.c")) && str_eq(patch.at[1].to, STR("d.c")));
    assert_true(patch.at[2].kind == GUARD_PATCH_DELETE && str_eq(patch.at[2].path, STR("e.c")));
    static const char *const bad[] = { "", "x", "*** Begin Patch", "*** Begin Patch\n*** End Patch", "*** Begin Patch\n*** Add File: \n+x\n*** End Patch",
        "*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "*** Begin Patch\n*** Add File: a\n*** Move to: b\n*** End Patch",
            "*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** Move to: c\n*** End Patch",
        "*** Begin Patch\n*** Delete File: a\n+x\n*** End Patch", "*** Begin Patch\n*** Rename File: a\n*** End Patch",
            "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n*** Add File: b\n+y",
        "cat <<X\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nX", "*** Begin Patch\n*** Update File: a\n@@\njunk\n*** End Patch",
            "*** Begin Patch\n*** Add File: a\tb\x01\n+x\n*** End Patch" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (guard_patch_read(str_from(bad[i]), &arena, &patch, &err)) fail_msg("accepted: %s", bad[i]);
    arena_clear(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_auto), cmocka_unit_test(test_refused_envelopes), cmocka_unit_test(test_calls), cmocka_unit_test(test_readings),
        cmocka_unit_test(test_refused_calls), cmocka_unit_test(test_input_back), cmocka_unit_test(test_patch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
