/* Installs the guard into files with other content: nothing is lost, a second install changes nothing, and uninstalling restores the same
 * bytes. */
#include "unit.h"
#include "guard/guard.h"
#include "guard/install.h"
#include "guard/jsonc.h"
#include "value/json.h"

static const GuardInstall base = { .program = "/opt/my tools/harness", .project = "/src/it's", .home = "/home/u" };

static GuardInstall of(Vendor v, GuardScope s) {
    GuardInstall g = base;
    g.vendor = v;
    g.scope = s;
    return g;
}

static void install(const GuardInstall *g, Str before, Buf *after) {
    Error err = { 0 };
    if (!guard_install_text(g, before, after, &err)) fail_msg("%s: %s", vendor_name(g->vendor), err.msg);
}

static void uninstall(const GuardInstall *g, Str before, Buf *after) {
    Error err = { 0 };
    if (!guard_uninstall_text(g, before, after, &err)) fail_msg("%s: %s", vendor_name(g->vendor), err.msg);
}

static bool is_json_file(Vendor v) { return v != VENDOR_KIMI && v != VENDOR_OPENCODE; }

/* Files as users have them. */
static const char *const files[] = {
    "{}", "{ }\n", "{\n}\n", "{\"a\": 1}", "{\n  \"a\": 1\n}\n", "{\r\n\t\"a\": 1\r\n}\r\n", "{\n    \"a\": 1, // one\n    /* two */ \"b\": [1, 2,],\n}\n",
    "{\n  // only a comment\n}\n", "\xEF\xBB\xBF{ \"a\": \"\\u00e9 // no comment\" }\n",
    "{ \"hooks\": {} }\n", "{\n  \"hooks\": {\n  }\n}\n", "{ \"hooks\": { \"PreToolUse\": [] } }", "{\"hooks\":{\"preToolUse\":[],\"Other\":[]}}",
    ("{\n  \"version\": 1,\n  \"hooks\": {\n    \"PreToolUse\": [\n      { \"matcher\": \"Bash\", \"hooks\": [ { \"type\": \"command\", \"command\": \"./check.sh\" } ] }\n    ]\n  },\n"
    "  \"permissions\": { \"allow\": [] } // keep\n}\n"),
    "{\"hooks\":{\"PreToolUse\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"harness-lint guard claude-x\"}]}],\"preToolUse\":[{\"command\":\"a\"}],\"BeforeTool\":[{\"hooks\":[]}]}}\n",
    "{ \"a\": 1, \"a\": 2, \"x\": { \"hooks\": 5 } }\n",
};

static void test_round_trip(void **state) {
    (void)state;
    for (Vendor v = VENDOR_HARNESS + 1; v < VENDOR_COUNT; v++)
        for (GuardScope s = GUARD_SCOPE_PROJECT; s <= GUARD_SCOPE_USER && is_json_file(v); s++)
            for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
                GuardInstall g = of(v, s);
                Buf once = { 0 }, twice = { 0 }, back = { 0 }, again = { 0 };
                GuardInstalled now;
                install(&g, str_from(files[i]), &once);
                install(&g, buf_str(&once), &twice);
                if (!str_eq(buf_str(&once), buf_str(&twice))) fail_msg("%s %zu: installed twice:\n%s", vendor_name(v), i, twice.at);
                guard_installed_read(&g, buf_str(&once), &now);
                if (!now.parsed || !now.current || now.missing) fail_msg("%s %zu: not found in:\n%s", vendor_name(v), i, once.at);
                guard_installed_clear(&now);
                uninstall(&g, buf_str(&once), &back);
                install(&g, buf_str(&back), &again);
                guard_installed_read(&g, buf_str(&again), &now);
                if (!now.current) fail_msg("%s %zu: not installed again:\n%s", vendor_name(v), i, again.at);
                guard_installed_clear(&now);
                buf_clear(&once), buf_clear(&twice), buf_clear(&back), buf_clear(&again);
            }
}

/* The value of a member of a text, as text; "" if there is none. */
static Str member(Str text, const char *key, Arena *arena) {
    Error err = { 0 };
    const JsoncNode *root;
    if (!jsonc_read(text, arena, &root, &err)) fail_msg("%s in %.*s", err.msg, (int)text.n, text.at);
    const JsoncNode *n = jsonc_member(root, str_from(key));
    return n ? str_sub(text, n->from, n->to) : STR("");
}

static void test_keeps_the_rest(void **state) {
    (void)state;
    static const char *const keys[] = { "a", "b", "permissions", "x" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        GuardInstall g = of(VENDOR_CLAUDE, GUARD_SCOPE_PROJECT);
        Buf with = { 0 }, without = { 0 };
        Arena arena = { 0 };
        install(&g, str_from(files[i]), &with);
        uninstall(&g, buf_str(&with), &without);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            Str old = member(str_from(files[i]), keys[k], &arena);
            assert_true(str_eq(old, member(buf_str(&with), keys[k], &arena)));
            if (without.n) assert_true(str_eq(old, member(buf_str(&without), keys[k], &arena)));
        }
        for (Str rest = str_from(files[i]), line; str_next_line(&rest, &line);)            /* comments stay */
            for (const char *const *c = (const char *const[]){ "// one", "/* two */", "// only a comment", "// keep", NULL }; *c; c++)
                if (str_find(line, str_from(*c)) >= 0) assert_true(str_find(buf_str(&with), str_from(*c)) >= 0);
        arena_clear(&arena);
        buf_clear(&with), buf_clear(&without);
    }
}

static void test_texts(void **state) {
    (void)state;
    static const struct { Vendor v; GuardScope s; const char *before, *after; } cases[] = {
        { VENDOR_CURSOR, GUARD_SCOPE_USER, "",
          "{\n  \"version\": 1,\n  \"hooks\": {\n    \"preToolUse\": [\n      { \"command\": \"'/opt/my tools/harness' guard cursor\", \"timeout\": 30, \"failClosed\":true }\n    ]," },
        { VENDOR_CLAUDE, GUARD_SCOPE_PROJECT, "{\r\n\t\"a\": 1\r\n}\r\n",
          "{\r\n\t\"a\": 1,\r\n\t\"hooks\": {\r\n\t\t\"PreToolUse\": [\r\n\t\t\t{ \"hooks\": [{ \"type\": \"command\", \"command\": "
          "\"'/opt/my tools/harness' guard claude --project '/src/it'\\\\''s'\", \"timeout\": 30, \"onFailure\":\"block\" }] }\r\n\t\t]," },
        { VENDOR_GEMINI, GUARD_SCOPE_USER, "{\"a\":[]}", "{\"a\":[], \"hooks\": {" },
        { VENDOR_QWEN, GUARD_SCOPE_USER, "// mine\n{}\n", "// mine\n{\n  \"hooks\": {" },
        { VENDOR_KIMI, GUARD_SCOPE_USER, "model = \"k2\"",
            "model = \"k2\"\n\n# harness guard: begin (harness guard uninstall kimi removes this block)\n[[hooks]]\nevent = \"PreToolUse\"\n" },
        { VENDOR_CODEX, GUARD_SCOPE_MANAGED, "",
            "# harness guard: begin (harness guard uninstall codex removes this block)\n[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        GuardInstall g = of(cases[i].v, cases[i].s);
        Buf out = { 0 };
        install(&g, str_from(cases[i].before), &out);
        if (!str_starts(buf_str(&out), str_from(cases[i].after))) fail_msg("%s: %s", vendor_name(g.vendor), out.at);
        buf_clear(&out);
    }
}

/* A file that install created is removed; an older entry is replaced; one of another program stays. */
static void test_removal(void **state) {
    (void)state;
    GuardInstall g = of(VENDOR_CLAUDE, GUARD_SCOPE_USER);
    Buf a = { 0 }, b = { 0 };
    install(&g, STR(""), &a);
    uninstall(&g, buf_str(&a), &b);
    assert_int_equal(b.n, 0);
    buf_reset(&a), buf_reset(&b);
    Str mixed = STR("{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"X\",\"hooks\":[{\"type\":\"command\",\"command\":\"/old/harness guard claude\"},{\"type\":\"command\",\"command\":\"mine\"}]}]}}");
    uninstall(&g, mixed, &a);
    assert_string_equal(a.at, "{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"X\",\"hooks\":[{\"type\":\"command\",\"command\":\"mine\"}]}]}}");
    install(&g, mixed, &b);
    assert_true(str_find(buf_str(&b), STR("/old/harness")) < 0 && str_find(buf_str(&b), STR("\"mine\"")) >= 0);
    buf_clear(&a), buf_clear(&b);
}

static void test_refusals(void **state) {
    (void)state;
    static const struct { Vendor v; const char *text, *error; } cases[] = {
        { VENDOR_CLAUDE, "[]", "it does not contain an object" }, { VENDOR_CLAUDE, "{\"hooks\": 1}", "its \"hooks\" is not an object" },
        { VENDOR_CLAUDE, "{\"hooks\": {\"PreToolUse\": {}}}", "its hooks.PreToolUse is not a list" },
            { VENDOR_CLAUDE, "{\"a\" 1}", "expected : after the key" },
        { VENDOR_CLAUDE, "{\"a\": 1 \"b\": 2}", "expected , or the end of the list" }, { VENDOR_CLAUDE, "{\"a\": x1}", "expected a value" },
        { VENDOR_CLAUDE, "{} {}", "there is more text after the end of the value" }, { VENDOR_CLAUDE, "{ /* ", "a comment is not closed" },
        { VENDOR_CLAUDE, "{\"a", "a string is not closed" }, { VENDOR_CLAUDE, "{\"a\\q\": 1}", "a string is not valid JSON" },
            { VENDOR_CLAUDE, "{a: 1}", "expected a key in double quotes" },
        { VENDOR_CLAUDE, "\xff", "it is not UTF-8" }, { VENDOR_CLAUDE, "{", "expected a key in double quotes" },
        { VENDOR_KIMI, "hooks = []\n", "its hooks are written as hooks = […] (write them as [[hooks]] tables first)" },
        { VENDOR_KIMI, "# harness guard: begin\n",
            "the block that starts with \"# harness guard: begin\" has no line \"# harness guard: end\" (remove it by hand)" },
        { VENDOR_OPENCODE, "export const Mine = 1\n", "it is another plugin (rename it, or remove it)" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        GuardInstall g = of(cases[i].v, GUARD_SCOPE_USER);
        Buf out = { 0 };
        Error err = { 0 };
        if (guard_install_text(&g, str_from(cases[i].text), &out, &err)) fail_msg("%s: installed", cases[i].text);
        assert_string_equal(err.msg, cases[i].error);
        assert_int_equal(out.n, 0);
        buf_clear(&out);
    }
}

static void test_toml(void **state) {
    (void)state;
    static const char *const texts[] = { "", "a = 1\n", "a = 1", "[t]\nx = 2\n\n\n", "[[hooks]]\nevent = \"Stop\"\ncommand = \"mine\"\n" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        GuardInstall g = of(VENDOR_KIMI, GUARD_SCOPE_USER);
        Buf once = { 0 }, twice = { 0 }, back = { 0 };
        install(&g, str_from(texts[i]), &once);
        install(&g, buf_str(&once), &twice);
        assert_string_equal(once.at, twice.at);
        uninstall(&g, buf_str(&once), &back);
        Str want = str_from(texts[i]);
        assert_true(str_starts(buf_str(&back), want) && back.n <= want.n + 1);             /* a missing last newline is added */
        buf_clear(&once), buf_clear(&twice), buf_clear(&back);
    }
}

static void test_is_command(void **state) {
    (void)state;
    static const struct { const char *command; bool ours; } cases[] = {
        { "/usr/bin/harness guard claude", true }, { "harness guard claude --project /x", true }, { "'/a b/harness' guard claude", true },
        { "/opt/harness-1.2/bin/harness guard claude", true }, { "harness guard claudex", false }, { "harness guard cursor", false },
        { "echo guard claude", false }, { "/usr/bin/other guard claude", false }, { "", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_int_equal(guard_install_is_command(VENDOR_CLAUDE,
        str_from(cases[i].command)), cases[i].ours);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_keeps_the_rest), cmocka_unit_test(test_texts), cmocka_unit_test(test_removal),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_toml), cmocka_unit_test(test_is_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
