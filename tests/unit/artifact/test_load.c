/* The contents of a loaded project: schemas as models get them, descriptions, prompts, order, lookups. */
#include "artifact/archive.h"
#include "artifact/project.h"
#include "value/json.h"

typedef struct { const char *path, *text; } File;

static Project *load(const File *files, size_t n) {
    char *dir = archive_folder();
    for (size_t i = 0; i < n; i++) archive_write(dir, str_from(files[i].path), str_from(files[i].text));
    Problems problems = { 0 };
    Project *p;
    if (!project_load(&(ProjectInput){ .dir = dir }, &p, &problems)) {
        Buf text = { 0 };
        for (size_t i = 0; i < problems.n; i++) problem_format(&problems.at[i], &text), buf_add_char(&text, '\n');
        fail_msg("does not load:\n%s", text.at);
    }
    problems_clear(&problems);
    archive_remove(dir);
    return p;
}
#define LOAD(...) load((const File[]){ __VA_ARGS__ }, sizeof((const File[]){ __VA_ARGS__ }) / sizeof(File))

static void assert_json(Value v, const char *expected) {
    Buf out = { 0 };
    Error err = { 0 };
    if (!json_write(&out, v, NULL, &err)) fail_msg("%s", err.msg);
    assert_str(buf_str(&out), expected);
    buf_clear(&out);
}

static void test_tool(void **state) {
    (void)state;
    Project *p = LOAD({ ".harness/tools/read_file.md",
                        "---\nparameters:\n  path:\n    type: string\n    description: Where, below the workspace.\n    required: true\n"
                        "  encoding:\n    required: false\n    type: string\n  max_bytes: { type: number, required: true }\n"
                        "  n: { maximum: 9, type: int, minimum: 1, default: 3, enum: [3, 4], description: d }\n"
                        "  flag: { type: bool }\n---\n\n# read_file\n\nReads.\n\n" },
                      { ".harness/tools/bare.md", "---\n---\n \n" });
    const ToolDef *t = project_tool(p, STR("read_file")), *bare = project_tool(p, STR("bare"));
    assert_json(t->parameters,
                "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\",\"description\":\"Where, below the workspace.\"},"
                "\"encoding\":{\"type\":\"string\"},\"max_bytes\":{\"type\":\"number\"},"
                "\"n\":{\"type\":\"integer\",\"description\":\"d\",\"enum\":[3,4],\"default\":3,\"minimum\":1,\"maximum\":9},"
                "\"flag\":{\"type\":\"boolean\"}},\"required\":[\"path\",\"max_bytes\"]}");
    assert_str(t->description, "# read_file\n\nReads.");
    assert_int_equal(t->timeout_ms, -1);
    assert_non_null(t->schema);
    assert_null(t->script);
    assert_str(t->origin.file, ".harness/tools/read_file.md");
    assert_json(bare->parameters, "{\"type\":\"object\",\"properties\":{},\"required\":[]}");
    assert_str(bare->description, "bare");
    assert_string_equal(tool_kind_name(bare->kind), "starlark");
    assert_null(project_tool(p, STR("none")));
    project_free(p);
}

/* The first page of the reference: a shell command with its own timeout. */
static void test_run_command(void **state) {
    (void)state;
    Project *p = LOAD({ ".harness/tools/run_command.md",
                        "---\nparameters:\n  command: { type: string, required: true }\n  timeout_ms: { type: number, required: false }\n"
                        "script: |\n  def run(args):\n      return exec.run(\"bash\", [\"-lc\", args[\"command\"]], 15000)\ntimeout_ms: 30000\n---\n"
                        "# run_command\n\nRuns a command in a shell. This text is what the model reads.\n" });
    const ToolDef *t = project_tool(p, STR("run_command"));
    assert_json(t->parameters, "{\"type\":\"object\",\"properties\":{\"command\":{\"type\":\"string\"},\"timeout_ms\":{\"type\":\"number\"}},"
                               "\"required\":[\"command\"]}");
    assert_int_equal(t->timeout_ms, 30000);
    assert_non_null(t->script);
    assert_str(t->description, "# run_command\n\nRuns a command in a shell. This text is what the model reads.");
    Source s = *module_source(t->script);
    assert_int_equal(s.first_line, 6);
    assert_int_equal(s.indent, 2);
    project_free(p);
}

static void test_agent(void **state) {
    (void)state;
    Project *p = LOAD({ ".harness/agents/researcher.md",
                        "---\nmodel: gpt-4o-mini\ndescription: Finds things\ntools:\n  - name: fetch_url\n    parameters:\n"
                        "      url: { type: string, required: true }\n    script: |\n      def run(args):\n          return http.get(args[\"url\"], {}, 30)\n"
                        "  - search_text # from the project\nhooks:\n  - researcher_guard\n  - event: tool.pre\n    script: |\n      def handle(event, payload):\n          return allow()\n---\n# Researcher\n\n  Verbatim.\n" },
                      { ".harness/tools/search_text.md", "---\n---\n" },
                      { ".harness/hooks/researcher_guard.md", "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      return allow()\n---\n" });
    const AgentDef *a = project_agent(p, STR("researcher"));
    assert_str(a->prompt, "# Researcher\n\n  Verbatim.\n");
    assert_str(a->model, "gpt-4o-mini");
    assert_int_equal(a->tools.n, 2);
    assert_str(a->tools.at[0], "fetch_url");
    assert_str(a->tools.at[1], "search_text");
    assert_int_equal(a->hooks.n, 2);
    assert_str(a->hooks.at[1], "researcher.hooks[1]");
    assert_null(project_tool(p, STR("fetch_url")));      /* private */
    assert_int_equal(p->n_tools, 2);
    project_free(p);
}

static void test_override_takes_the_place(void **state) {
    (void)state;
    Project *p = LOAD({ ".harness/tools/a.md", "---\n---\nold\n" }, { ".harness/tools/b.md", "---\n---\n" },
                      { ".harness/overrides/o.md", "---\ntools: [{ name: a, description: new }]\n---\n" });
    assert_int_equal(p->n_tools, 2);
    assert_str(p->tools[0].name, "a");
    assert_str(p->tools[0].description, "new");
    assert_true(p->tools[0].overriding);
    project_free(p);
}

/* A loaded script runs, and so do a condition and a filter. */
static void test_scripts_run(void **state) {
    (void)state;
    Project *p = LOAD({ ".harness/tools/double.md", "---\nscript: |\n  def run(args):\n      return {\"n\": args[\"n\"] * 2}\n---\n" },
                      { ".harness/hooks/h.md", "---\nevent: log\nwhen: payload[\"n\"] > 3 and event == \"log\"\nscript: |\n  def handle(event, payload):\n      return allow()\n---\n" });
    Heap *heap = heap_new(0);
    Vm *vm = vm_new(heap, &(VmConfig){ 0 });
    Error err = { 0 };
    Value args, out, event = value_from_object(string_new(heap, STR("log"), &err));
    assert_true(json_read(heap, STR("{\"n\": 21}"), NULL, &args, &err));
    Value both[] = { args, event };
    size_t pin = heap_pin(heap, both, 2);                 /* a call may collect */
    if (!module_call(vm, p->tools[0].script, STR("run"), &args, 1, &out, &err)) fail_msg("%s", err.msg);
    assert_json(out, "{\"n\":42}");
    if (!module_call_expression(vm, p->hooks[0].when, both, 2, &out, &err)) fail_msg("%s", err.msg);
    assert_true(value_is_bool(out) && value_bool(out));
    heap_unpin(heap, pin);
    vm_free(vm);
    heap_free(heap);
    project_free(p);
}

static void test_config_file(void **state) {
    (void)state;
    char *dir = archive_folder(), path[4096];
    archive_write(dir, STR("sub/other.md"), STR("---\nmodel: m\n---\nHello.\n"));
    archive_write(dir, STR("sub/harness.yaml"), STR("model: n\n"));
    archive_write(dir, STR("sub/.harness/tools/t.md"), STR("---\n---\n"));
    archive_write(dir, STR("in/.harness/harness.md"), STR("---\n---\n"));
    archive_write(dir, STR("in/.harness/tools/t.md"), STR("---\n---\n"));
    Problems problems = { 0 };
    Project *p;
    assert_true(project_load(&(ProjectInput){ .dir = dir, .config = "sub/other.md" }, &p, &problems));
    assert_str(p->settings.model, "m");
    assert_str(p->settings.prompt, "Hello.\n");
    assert_non_null(project_tool(p, STR("t")));
    project_free(p);
    snprintf(path, sizeof path, "%s/in/.harness/harness.md", dir);
    assert_true(project_load(&(ProjectInput){ .config = path }, &p, &problems));
    assert_non_null(project_tool(p, STR("t")));
    assert_str(p->settings.file, ".harness/harness.md");
    project_free(p);
    assert_false(project_load(&(ProjectInput){ .dir = dir, .config = "none.md" }, &p, &problems));
    assert_null(p);
    assert_false(project_load(&(ProjectInput){ .dir = "/no/such/folder" }, &p, &problems));
    assert_false(project_load(&(ProjectInput){ .dir = dir, .config = "no/such/x.md" }, &p, &problems));
    problems_clear(&problems);
    archive_remove(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tool),          cmocka_unit_test(test_run_command), cmocka_unit_test(test_agent),
        cmocka_unit_test(test_scripts_run),   cmocka_unit_test(test_config_file), cmocka_unit_test(test_override_takes_the_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
