#include "artifact/trial.h"

static void load(Trial *t, const char *json) {
    trial_forget(t);
    trial_put(t, "tools.json", str_from(json));
    load_manifest(&t->l, STR("tools.json"));
}

/* The example of the manifest's reference page. */
static void loads_the_reference_example(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    load(&t, "{\n  \"tools\": [\n    {\n      \"name\": \"get_time\",\n"
             "      \"description\": \"Get current time for an IANA timezone\",\n"
             "      \"schema\": {\"type\": \"object\", \"properties\": {\"timezone\": {\"type\": \"string\"}, \"tz\": {\"type\": \"string\"}},\n"
             "        \"required\": [\"timezone\"], \"additionalProperties\": false},\n"
             "      \"command\": [\"./tools/bin/get_time\"], \"timeoutSec\": 5, \"envPassthrough\": [\"TZ\", \"oai_http_timeout\", \"tz\"]}]}");
    trial_expect(&t, "");
    const ToolDef *tool = trial_tool(&t, "get_time");
    assert_str(tool->description, "Get current time for an IANA timezone");
    assert_int_equal(tool->kind, TOOL_ARGV);
    assert_int_equal(tool->timeout_ms, 5000);
    assert_int_equal(tool->argv.n, 1);
    assert_str(tool->argv.at[0], "./tools/bin/get_time");
    assert_str(tool->folder, ".");
    assert_int_equal(tool->env_passthrough.n, 2);
    assert_str(tool->env_passthrough.at[0], "TZ");
    assert_str(tool->env_passthrough.at[1], "OAI_HTTP_TIMEOUT");
    assert_json(&t, tool->parameters, "{\"type\":\"object\",\"properties\":{\"timezone\":{\"type\":\"string\"},\"tz\":{\"type\":\"string\"}},"
                                      "\"required\":[\"timezone\"],\"additionalProperties\":false}");
    assert_str(tool->origin.file, "tools.json");
    assert_int_equal(tool->origin.line, 4);
    assert_int_equal(tool->origin.column, 7);
    assert_int_equal(tool->origin.source, SOURCE_MANIFEST);
    assert_str(t.l.looked_at.at[0], "tools.json");
    assert_str(t.l.looked_at.at[1], "tools/bin/get_time");
    trial_close(&t);
}

static void fills_in_defaults(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    trial_put(&t, "sub/tools.json", STR("{\"tools\":[{\"name\":\"a\",\"command\":[\"./tools/bin/x/../a\",\"-v\"],\"schema\":null,\"timeoutSec\":null},"
                                        "{\"name\":\"b\",\"command\":[\"/bin/true\"]}]}"));
    load_manifest(&t.l, STR("sub/tools.json"));
    trial_expect(&t, "");
    const ToolDef *a = trial_tool(&t, "a");
    assert_str(a->description, "a");
    assert_int_equal(a->timeout_ms, -1);
    assert_json(&t, a->parameters, "{\"type\":\"object\",\"properties\":{}}");
    assert_str(a->argv.at[0], "./tools/bin/a");
    assert_str(a->argv.at[1], "-v");
    assert_str(a->folder, "sub");
    assert_str(t.l.looked_at.at[1], "sub/tools/bin/a");
    assert_str(trial_tool(&t, "b")->argv.at[0], "/bin/true");
    trial_close(&t);
}

#define TOOL(rest) "{\"tools\":[{\"name\":\"t\"," rest "}]}"
#define RUN "\"command\":[\"./tools/bin/t\"]"
static const struct { const char *json, *expected; } cases[] = {
    /* the messages on the reference page */
    { "{\"tools\":[{" RUN "}]}", "tools.json:1:11: tool[0]: name is required\n" },
    { "{\"tools\":[{\"name\":\"\"," RUN "}]}", "tools.json:1:12: tool[0]: name is required\n" },
    { "{\"tools\":[{\"name\":null," RUN "}]}", "tools.json:1:12: tool[0]: name is required\n" },
    { "{\"tools\":[{\"name\":\"a\"," RUN "},\n{\"name\":\"a\"," RUN "}]}", "tools.json:2:2: tool[1] \"a\": duplicate name\n" },
    { TOOL("\"command\":[]"), "tools.json:1:23: tool[0] \"t\": command must have at least program name\n" },
    { TOOL("\"description\":\"d\""), "tools.json:1:12: tool[0] \"t\": command must have at least program name\n" },
    { TOOL("\"command\":[\"get_time\"]"), "tools.json:1:23: tool[0] \"t\": relative command[0] must start with ./tools/bin/ (give an absolute path (/usr/bin/python3) or a file below ./tools/bin/)\n" },
    { TOOL("\"command\":[\"tools/bin/x\"]"),
        "tools.json:1:23: tool[0] \"t\": relative command[0] must start with ./tools/bin/ (give an absolute path (/usr/bin/python3) or a file below ./tools/bin/)\n" },
    { TOOL("\"command\":[\"\"]"), "tools.json:1:23: tool[0] \"t\": relative command[0] must start with ./tools/bin/ (give an absolute path (/usr/bin/python3) or a file below ./tools/bin/)\n" },
    { TOOL("\"command\":[\"./tools/bin/../hack\"]"),
      "tools.json:1:23: tool[0] \"t\": command[0] escapes ./tools/bin after normalization (got \"./tools/bin/../hack\" -> \"./tools/hack\")\n" },
    { TOOL("\"command\":[\"./tools/bin/../../../x\"]"),
      "tools.json:1:23: tool[0] \"t\": command[0] escapes ./tools/bin after normalization (got \"./tools/bin/../../../x\" -> \"../x\")\n" },
    { TOOL("\"command\":[\"./tools/bin/\"]"),
      "tools.json:1:23: tool[0] \"t\": command[0] escapes ./tools/bin after normalization (got \"./tools/bin/\" -> \"./tools/bin\")\n" },
    { TOOL("\"command\":[\"./tools/bin/../binx/a\"]"),
      "tools.json:1:23: tool[0] \"t\": command[0] escapes ./tools/bin after normalization (got \"./tools/bin/../binx/a\" -> \"./tools/binx/a\")\n" },
    { TOOL(RUN ",\"envPassthrough\":[\"TZ\",\"OAI-API-KEY\",\"1BAD\",\"\",\"\xc3\xa9\"]"),
      "tools.json:1:51: tool[0] \"t\": envPassthrough[1]: invalid name \"OAI-API-KEY\" (must match [A-Z_][A-Z0-9_]*)\n"
      "tools.json:1:51: tool[0] \"t\": envPassthrough[2]: invalid name \"1BAD\" (must match [A-Z_][A-Z0-9_]*)\n"
      "tools.json:1:51: tool[0] \"t\": envPassthrough[3]: invalid name \"\" (must match [A-Z_][A-Z0-9_]*)\n"
      "tools.json:1:51: tool[0] \"t\": envPassthrough[4]: invalid name \"\xc3\xa9\" (must match [A-Z_][A-Z0-9_]*)\n" },
    { TOOL(RUN ",\"timeoutSec\":0"), "" },
    { TOOL(RUN ",\"timeoutSec\":-5"), "tools.json:1:51: tool[0] \"t\": timeoutSec must be >= 1\n" },
    { TOOL(RUN ",\"timeoutSec\":9223372036854775807"), "tools.json:1:51: tool[0] \"t\": timeoutSec is too large\n" },
    { TOOL(RUN ",\"timeoutSec\":92233720368547758070"), "tools.json:1:51: tools[0].timeoutSec: number is out of range\n" },

    /* names */
    { "{\"tools\":[{\"name\":\"a b\"," RUN "}]}", "tools.json:1:12: tool \"a b\": name must match [A-Za-z0-9_-]{1,64}\n" },
    { "{\"tools\":[{\"name\":\"mcp:a:b\"," RUN "}]}", "tools.json:1:12: tool \"mcp:a:b\": name must match [A-Za-z0-9_-]{1,64}\n" },

    /* types */
    { "{\"tools\":[{\"name\":7," RUN "}]}", "tools.json:1:12: tools[0].name: expected string, got int\n" },
    { TOOL(RUN ",\"description\":[]"), "tools.json:1:51: tools[0].description: expected string, got list\n" },
    { TOOL(RUN ",\"schema\":true"), "tools.json:1:51: tools[0].schema: expected map, got bool\n" },
    { TOOL("\"command\":\"./tools/bin/t\""),
        "tools.json:1:23: tools[0].command: expected list, got string (write [one, two], or one item per line after \"- \")\n" },
    { TOOL("\"command\":[\"./tools/bin/t\",1]"), "tools.json:1:50: tools[0].command[1]: expected string, got int\n" },
    { TOOL(RUN ",\"timeoutSec\":\"5\""), "tools.json:1:51: tools[0].timeoutSec: expected int, got string (write the number alone, without quotes and units)\n" },
    { TOOL(RUN ",\"timeoutSec\":5.5"), "tools.json:1:51: tools[0].timeoutSec: expected int, got number\n" },
    { TOOL(RUN ",\"envPassthrough\":\"TZ\""),
        "tools.json:1:51: tools[0].envPassthrough: expected list, got string (write [one, two], or one item per line after \"- \")\n" },
    { TOOL(RUN ",\"envPassthrough\":[null]"), "tools.json:1:69: tools[0].envPassthrough[0]: expected string, got null\n" },
    { TOOL("\"command\":[\"./tools/bin/t\\u0000x\"]"), "tools.json:1:23: tool[0] \"t\": command[0] must not contain NUL\n" },
    { TOOL(RUN ",\"timeout\":5"), "tools.json:1:51: tools[0]: unknown key \"timeout\" (a time limit is \"timeout_ms\" of a tool, \"timeoutSec\" in tools.json, \"timeout\" in a space)\n" },
    { TOOL(RUN ",\"timeoutsec\":5"), "tools.json:1:51: tools[0]: unknown key \"timeoutsec\" (did you mean \"timeoutSec\"?)\n" },
    { TOOL(RUN ",\"envPassthrough\":[\"openai_api_key\"]"),
      "warning: tools.json:1:51: tool[0] \"t\": envPassthrough[0]: OPENAI_API_KEY is a key or token and is withheld from the tool (sandbox.env_allow of harness.md can name it)\n" },
    { "{\"tools\":[7,\"x\"]}", "tools.json:1:11: tools[0]: expected map, got int\ntools.json:1:13: tools[1]: expected map, got string\n" },
    { "{}", "tools.json:1:1: tools is required\n" },
    { "{\"tools\":{}}", "tools.json:1:2: tools: expected list, got map\n" },
    { "[]", "tools.json:1:1: parse manifest tools.json: json: line 1: expected a map\n" },
    { "{\"tools\":[]}", "" },

    /* several independent errors at once */
    { "{\"tools\":[{\"command\":[]},\n{\"name\":\"b\",\"command\":[\"x\"],\"timeoutSec\":-1,\"envPassthrough\":[\"a-b\"]}]}",
      "tools.json:1:11: tool[0]: name is required\n"
      "tools.json:1:12: tool[0]: command must have at least program name\n"
      "tools.json:2:13: tool[1] \"b\": relative command[0] must start with ./tools/bin/ (give an absolute path (/usr/bin/python3) or a file below ./tools/bin/)\n"
      "tools.json:2:29: tool[1] \"b\": timeoutSec must be >= 1\n"
      "tools.json:2:45: tool[1] \"b\": envPassthrough[0]: invalid name \"a-b\" (must match [A-Z_][A-Z0-9_]*)\n" },
};

static void reports_what_is_wrong(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        load(&t, cases[i].json);
        trial_compare(&t, cases[i].expected, cases[i].json, __FILE__, __LINE__);
    }
    trial_close(&t);
}

static void reports_bad_schemas_and_bad_json(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    load(&t, TOOL(RUN ",\"schema\":{\"type\":\"strng\"}"));
    assert_int_equal(t.problems.errors, 1);
    assert_non_null(strstr(trial_problems(&t), "tools[0].schema.type: unknown type \"strng\""));
    load(&t, "{\"tools\":[\n,]}");
    assert_int_equal(t.problems.errors, 1);
    assert_non_null(strstr(trial_problems(&t), "tools.json:2:1: parse manifest tools.json: json: line 2: "));
    load(&t, "{\"tools\":[],\"tools\":[]}");
    assert_int_equal(t.problems.errors, 1);
    trial_forget(&t);
    load_manifest(&t.l, STR("none.json"));
    trial_expect(&t, "none.json:1:1: parse manifest none.json: no such file or directory\n");
    trial_forget(&t);
    load_manifest(&t.l, STR("../tools.json"));
    assert_int_equal(t.problems.errors, 1);
    trial_close(&t);
}

static void lenient_leaves_bad_entries_out(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    t.in.lenient = true;
    load(&t, "{\"tools\":[{\"name\":\"a\",\"command\":[]},{\"name\":\"b\"," RUN "}]}");
    trial_expect(&t, "warning: tools.json:1:23: tool[0] \"a\": command must have at least program name\n");
    assert_int_equal(t.l.tools.n, 1);
    assert_str(t.l.tools.at[0].name, "b");
    trial_close(&t);
}

/* The name of an invalid tool stays known, so that references to it are not reported. */
static void keeps_names_of_bad_entries(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    load(&t, TOOL("\"command\":[]"));
    assert_int_equal(t.l.tools.n, 1);
    trial_close(&t);
}

static void many_entries_are_fast(void **state) {
    (void)state;
    Trial t;
    Buf text = { 0 };
    trial_open(&t);
    buf_add(&text, STR("{\"tools\":["));
    for (int i = 0; i < 10000; i++) buf_add_fmt(&text, "%s{\"name\":\"t%d\",\"command\":[\"./tools/bin/x\"]}", i ? "," : "", i);
    buf_add(&text, STR("]}"));
    load(&t, text.at);
    trial_expect(&t, "");
    assert_int_equal(t.l.tools.n, 10000);
    buf_clear(&text);
    trial_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_the_reference_example), cmocka_unit_test(fills_in_defaults), cmocka_unit_test(reports_what_is_wrong),
        cmocka_unit_test(reports_bad_schemas_and_bad_json), cmocka_unit_test(lenient_leaves_bad_entries_out),
        cmocka_unit_test(keeps_names_of_bad_entries), cmocka_unit_test(many_entries_are_fast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
