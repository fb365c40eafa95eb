/* What scripts can reach, the safety metadata that follows from it, and conflicting declarations. */
#include "artifact/archive.h"
#include "artifact/builtin_names.h"
#include "artifact/project.h"
#include "policy/safety.h"
#include "value/json.h"

typedef struct { char *dir; Project *p; Problems problems; Arena arena; Buf text; } Fixture;

static void load(Fixture *f, Str path, const char *tool) {
    *f = (Fixture){ .dir = archive_folder() };
    archive_write(f->dir, path, str_from(tool));
    if (!project_load(&(ProjectInput){ .dir = f->dir }, &f->p, &f->problems)) {
        for (size_t i = 0; i < f->problems.n; i++) print_error(STR_FMT "\n", STR_ARG(f->problems.at[i].message));
        fail_msg("does not load:\n%s", tool);
    }
}

static void unload(Fixture *f) {
    project_free(f->p);
    problems_clear(&f->problems);
    arena_clear(&f->arena);
    buf_clear(&f->text);
    archive_remove(f->dir);
}

static void add_word(Buf *b, const Safety *s, const char *word) {
    if (safety_has(s, str_from(word))) buf_add_fmt(b, "%s%s", b->n ? " " : "", word);
}

static Str words(Buf *b, const Safety *s) {
    static const char *const all[] = { "read_only", "destructive", "idempotent", "networked", "process", "spends_money",
                                       "requires_confirmation", "parallel_safe", "mutating" };
    static const char *const files[] = { "", "reads", "writes" };
    buf_reset(b);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) add_word(b, s, all[i]);
    if (s->files) buf_add_fmt(b, "%s%s", b->n ? " " : "", files[s->files]);
    assert_int_equal(safety_has(s, STR("filesystem")), s->files != SAFETY_FILES_NONE);
    assert_false(safety_has(s, STR("nonsense")));
    return buf_str(b);
}

#define HARMLESS "read_only idempotent parallel_safe"

static void test_reach(void **state) {
    (void)state;
    static const struct { const char *script, *expected; } cases[] = {
        { "def run(args):\n    return 1", HARMLESS },
        { "def run(args):\n    return json.encode(re.findall('a', 'b'))", HARMLESS },
        { "def run(args):\n    return fs.read('x')", HARMLESS " reads" },
        { "def run(args):\n    return fs.read(path='x')", HARMLESS " reads" },
        { "def run(args):\n    return fs.read(*['x'])", HARMLESS " reads" },
        { "def run(args):\n    return fs.write('x', 'y')", "mutating writes" },
        { "def run(args):\n    return fs.write(path='x', content='y')", "mutating writes" },
        { "f = fs.write\ndef run(args):\n    return f('x', 'y')", "mutating writes" },
        { "x = fs\ndef run(args):\n    return x.read('x')", "destructive mutating writes" },
        { "def run(args):\n    x = [1, 2, 3, fs]\n    return x", "destructive mutating writes" },
        { "def run(args):\n    return getattr(fs, 'wri' + 'te')('x', 'y')", "destructive mutating writes" },
        { "t = {'w': (fs.read, (fs.write, 1))}\ndef run(args):\n    return t", "mutating writes" },
        { "def run(args):\n    return [f('x', 'y') for f in [fs.append]]", "mutating writes" },
        { "def run(args):\n    def g():\n        return lambda: fs.mkdir('x')\n    return g", "mutating writes" },
        { "def run(args, f=fs.copy):\n    return f('a', 'b')", "mutating writes" },
        { "def run(args):\n    return fs.remove('x')", "destructive mutating writes" },
        { "def helper():\n    exec.run(['ls'])\ndef run(args):\n    return 1", "process mutating writes" },
        { "def run(args):\n    return http.get('http://x')", "read_only idempotent networked parallel_safe" },
        { "def run(args):\n    return http.post('http://x')", "networked mutating" },
        { "def run(args):\n    return http", "networked mutating" },
        { "def run(args):\n    return meta.call_tool('x', {})", "networked mutating" },
        { "def run(args):\n    return meta.list_tools()", HARMLESS },
        { "def run(args):\n    return delegate(agent='a', task='t')", "networked spends_money mutating" },
        { "def run(args):\n    return complete('hello')", "read_only networked spends_money parallel_safe" },
        { "def run(args):\n    fs = struct_of(args)\n    return fs.write\ndef struct_of(x):\n    return x", HARMLESS },   /* a local variable fs */
        { "def run(args):\n    log('x')\n    cache.set('a', 1)\n    return hash('x')", HARMLESS },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Fixture f;
        Safety s;
        Buf tool = { 0 }, indented = { 0 };
        Str rest = str_from(cases[i].script), line;
        while (str_next_line(&rest, &line)) buf_add_fmt(&indented, "  " STR_FMT "\n", STR_ARG(line));
        buf_add_fmt(&tool, "---\nscript: |\n%s---\nA tool.\n", indented.at);
        load(&f, STR(".harness/tools/x.md"), tool.at);
        safety_detect(&f.p->tools[0], &s);
        Str got = words(&f.text, &s);
        if (!str_eq(got, str_from(cases[i].expected)))
            fail_msg("%s\n--- expected %s\n--- got %.*s", cases[i].script, cases[i].expected, STR_ARG(got));
        unload(&f);
        buf_clear(&tool);
        buf_clear(&indented);
    }
}

#define WRITES "script: |\n  def run(args):\n      return fs.write('a', 'b')\n"
#define POSTS "script: |\n  def run(args):\n      return http.post('http://x')\n"
#define ASKS "script: |\n  def run(args):\n      return 1\n"

#define DELEGATES "script: |\n  def run(args):\n      return delegate(agent='a', task='t')\n"
#define REGISTERS "script: |\n  def run(args):\n      return meta.tool_register('a', 'b', {}, 'c')\n"

/* What may run in plan mode: a declaration does not replace what the script shows. */
static void test_only_reads(void **state) {
    (void)state;
    static const struct { const char *head; bool reads; } cases[] = {
        { ASKS, true }, { ASKS "safety: { read_only: true }", true }, { ASKS "safety: { read_only: false }", false },
            { ASKS "safety: { destructive: true }", false },
        { WRITES, false }, { POSTS, false }, { POSTS "safety: { read_only: true }", false }, { DELEGATES, false }, { REGISTERS, false },
        { "command: echo hi\n", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Fixture f;
        Safety s;
        Buf tool = { 0 };
        buf_add_fmt(&tool, "---\n%s\n---\nA tool.\n", cases[i].head);
        load(&f, STR(".harness/tools/x.md"), tool.at);
        assert_true(safety_of(&f.p->tools[0], &f.arena, &s, &f.problems));
        if (safety_only_reads(&f.p->tools[0], &s) != cases[i].reads) fail_msg("%s", cases[i].head);
        unload(&f);
        buf_clear(&tool);
    }
}

static void test_declarations(void **state) {
    (void)state;
    static const struct { const char *head, *problem, *result; } cases[] = {
        { WRITES "safety: { read_only: true }", "5:11: tool \"x\": safety.read_only: true, but the script can reach fs.write", "mutating writes" },
        { WRITES "safety:\n  destructive: true\n  filesystem: read\n",
          "7:3: tool \"x\": safety.filesystem: read, but the script can reach fs.write", "destructive mutating writes" },
        { WRITES "safety: { idempotent: true }",
          "5:11: tool \"x\": safety.idempotent: true, but the script can reach fs.write (when calling it twice is as good as once, say "
          "idempotency: idempotent)", "mutating writes" },
        { WRITES "idempotency: idempotent\nsafety: { idempotent: true }", "", "idempotent mutating writes" },
        { WRITES "idempotency: key", "", "idempotent mutating writes" },
        { WRITES "safety: { parallel_safe: true, read_only: false, filesystem: write, networked: true }", "", "networked parallel_safe mutating writes" },
        { POSTS "safety: { networked: false }", "5:11: tool \"x\": safety.networked: false, but the script can reach http.post", "networked mutating" },
        { POSTS "safety: { read_only: true }", "", "read_only idempotent networked parallel_safe" },
        { ASKS "safety: { destructive: true }", "", "destructive mutating" },
        { ASKS "safety: { destructive: true, parallel_safe: true }", "", "destructive parallel_safe mutating" },
        { ASKS "safety: { destructive: true, idempotent: true }", "", "destructive idempotent mutating" },
        { ASKS "idempotency: idempotent\nsafety: { destructive: true }", "", "destructive idempotent mutating" },
        { ASKS "safety: { read_only: false }", "", "mutating" },
        { ASKS "idempotency: key\nsafety: { read_only: false }", "", "idempotent mutating" },
        { ASKS "idempotency: none", "", "read_only parallel_safe" },
        { ASKS "idempotency: none\nsafety: { idempotent: true }", "", HARMLESS },
        { ASKS "safety: { idempotent: false }", "", "read_only parallel_safe" },
        { ASKS "idempotency: key\nsafety: { idempotent: false }", "", HARMLESS },
        { ASKS "idempotency: idempotent\nsafety: { idempotent: false }",
          "6:11: tool \"x\": safety.idempotent: false contradicts idempotency: idempotent (remove one of the two)", HARMLESS },
        { ASKS "safety: { spends_money: true }", "", "read_only spends_money parallel_safe" },
        { ASKS "idempotency: idempotent\nsafety: { spends_money: true }", "", "read_only idempotent spends_money parallel_safe" },
        { ASKS "safety: { filesystem: write, read_only: true }", "", "mutating writes" },
        { ASKS "safety: { requires_confirmation: true, spends_money: true }", "",
          "read_only spends_money requires_confirmation parallel_safe" },
        { ASKS "confirm: true", "", "read_only idempotent requires_confirmation parallel_safe" },
        { ASKS "confirm: true\nsafety: { requires_confirmation: false }", "", "read_only idempotent requires_confirmation parallel_safe" },
        { ASKS "safety: { workspace_root: src }", "", HARMLESS },
        { ASKS "safety: { workspace_root: '' }", "5:11: tool \"x\": safety.workspace_root must name a folder", HARMLESS },
        { DELEGATES "safety: { workspace_root: src }",
          "5:11: tool \"x\": safety.workspace_root cannot be enforced for a script that can reach delegate", "networked spends_money mutating" },
        { REGISTERS "safety: { workspace_root: src }",
          "5:11: tool \"x\": safety.workspace_root cannot be enforced for a script that can reach meta.tool_register", "mutating" },
        { ASKS "safety: { networked: false, process: false, filesystem: none }", "", HARMLESS },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Fixture f;
        Safety s;
        Buf tool = { 0 }, got = { 0 };
        buf_add_fmt(&tool, "---\n%s\n---\nA tool.\n", cases[i].head);
        load(&f, STR(".harness/tools/x.md"), tool.at);
        bool ok = safety_of(&f.p->tools[0], &f.arena, &s, &f.problems);
        assert_int_equal(ok, safety_check(f.p, NULL));
        for (size_t k = 0; k < f.problems.n; k++) problem_format(&f.problems.at[k], &got);
        Str text = buf_str(&got);
        if (str_starts(text, STR(".harness/tools/x.md:"))) text = str_sub(text, 20, text.n);
        if (!str_eq(text, str_from(cases[i].problem)) || ok != (text.n == 0))
            fail_msg("%s\n--- expected %s\n--- got %.*s", cases[i].head, cases[i].problem, STR_ARG(text));
        Str result = words(&f.text, &s);
        if (!str_eq(result, str_from(cases[i].result)))
            fail_msg("%s\n--- expected %s\n--- got %.*s", cases[i].head, cases[i].result, STR_ARG(result));
        unload(&f);
        buf_clear(&tool);
        buf_clear(&got);
    }
}

static void test_kinds(void **state) {
    (void)state;
    static const struct { ToolKind kind; const char *name, *expected; } cases[] = {
        { TOOL_COMMAND, "x", "process mutating writes" },
        { TOOL_ARGV, "x", "process mutating writes" },
        { TOOL_MCP, "x", "networked mutating" },
        { TOOL_NATIVE, "x", "mutating" },
        { TOOL_DELEGATE, "x", "networked spends_money mutating" },
        { TOOL_STARLARK, "x", "mutating" },               /* implemented by a program */
        { TOOL_BUILTIN, "bash", "destructive process mutating writes" },
        { TOOL_BUILTIN, "read", HARMLESS " reads" },
        { TOOL_BUILTIN, "write", "destructive idempotent mutating writes" },
        { TOOL_BUILTIN, "edit", "destructive mutating writes" },
        { TOOL_BUILTIN, "task_poll", HARMLESS },
        { TOOL_BUILTIN, "who_knows", "destructive networked process spends_money mutating writes" },
    };
    Buf text = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ToolDef def = { .name = str_from(cases[i].name), .kind = cases[i].kind, .safety = VALUE_GONE };
        Safety s;
        safety_detect(&def, &s);
        assert_str(words(&text, &s), cases[i].expected);
    }
    buf_clear(&text);
}

/* Every built-in tool and every name that a script can use has a row, and every row belongs to one. */
static void test_tables(void **state) {
    (void)state;
    static const char *const builtins[] = {
#define BUILTIN(name) #name,
#define BRIDGE(name) #name,
#define SERVICE(name) #name,
#include "artifact/builtin_names.def"
#undef BUILTIN
#undef BRIDGE
#undef SERVICE
    };
    static const char *const rows[] = {
#define SAFETY(tool, effects) tool,
#include "policy/safety_builtin.def"
#undef SAFETY
    };
    assert_int_equal(sizeof rows, sizeof builtins);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) assert_string_equal(rows[i], builtins[i]);
    static const struct { const char *module, *member; } known[] = {
#define REACH(module, member, effects) { module, member },
#include "policy/safety_host.def"
#undef REACH
    };
    static const struct { const char *module, *member; } host[] = {
#define VALUE(name) { #name, "" },
#define MODULE(module, who) { #module, "*" },
#define MEMBER(module, name, who) { #module, #name },
#define FLAT(name, who) { #name, "" },
#define CALLABLE(module)
#define VALUE(name) { #name, "" },
#include "artifact/host_names.def"
#undef VALUE
#undef MODULE
#undef MEMBER
#undef FLAT
#undef CALLABLE
#undef VALUE
    };
    for (size_t i = 0; i < sizeof host / sizeof *host; i++) {
        bool found = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (strcmp(known[k].module, host[i].module) == 0) found = true;
        if (!found) fail_msg("safety_host.def says nothing of %s", host[i].module);
    }
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        bool found = strcmp(known[k].module, "json") == 0 || strcmp(known[k].module, "math") == 0;
        for (size_t i = 0; i < sizeof host / sizeof *host; i++)
            if (strcmp(known[k].module, host[i].module) == 0 && strcmp(known[k].member, host[i].member) == 0) found = true;
        if (!found) fail_msg("safety_host.def has a row for %s.%s, which is not there", known[k].module, known[k].member);
    }
}

static void test_believed(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Arena arena = { 0 };
    Buf text = { 0 };
    Safety s;
    Error err = { 0 };
    ToolDef def = { .name = STR("x"), .kind = TOOL_MCP };
    assert_true(json_read(h, STR("{\"read_only\":true,\"networked\":false,\"workspace_root\":\"src\",\"redact\":[\"a+\"]}"), &(JsonRead){ 0 },
                          &def.safety, &err));
    Problems problems = { 0 };
    assert_false(safety_of(&def, &arena, &s, &problems));
    assert_int_equal(problems.errors, 3);
    assert_str(problems.at[2].message, "tool \"x\": safety.workspace_root cannot be enforced for a tool of kind mcp");
    assert_str(problems.at[0].message, "tool \"x\": safety.read_only: true, but a tool of kind mcp can do more than that");
    assert_str(words(&text, &s), "networked mutating");
    safety_trusted(&def, &arena, &s);
    assert_str(words(&text, &s), HARMLESS);
    def.kind = TOOL_NATIVE;
    problems_clear(&problems);
    assert_false(safety_of(&def, &arena, &s, &problems));
    assert_str(problems.at[0].message, "tool \"x\": safety.workspace_root cannot be enforced for a native tool");
    Value v = safety_value(&s, h, &err);
    buf_reset(&text);
    assert_true(json_write(&text, v, &(JsonWrite){ 0 }, &err));
    assert_str(buf_str(&text), "{\"read_only\":true,\"destructive\":false,\"idempotent\":true,\"networked\":false,\"process\":false,"
                               "\"spends_money\":false,\"requires_confirmation\":false,\"parallel_safe\":true,\"filesystem\":\"none\","
                               "\"workspace_root\":\"src\",\"redact\":[\"a+\"]}");
    problems_clear(&problems);
    buf_clear(&text);
    arena_clear(&arena);
    heap_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reach), cmocka_unit_test(test_only_reads),
        cmocka_unit_test(test_declarations), cmocka_unit_test(test_kinds), cmocka_unit_test(test_tables),
        cmocka_unit_test(test_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
