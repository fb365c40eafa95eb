#include "artifact/archive.h"
#include "artifact/project.h"
#include "base/clock.h"
#include "policy/approval.h"
#include "policy/limits.h"
#include "policy/policy.h"

static Project *load(const char *settings, char **dir) {
    Project *p = NULL;
    Problems problems = { 0 };
    *dir = archive_folder();
    archive_write(*dir, STR("harness.md"), str_from(settings));
    bool ok = project_load(&(ProjectInput){ .dir = *dir }, &p, &problems);
    for (size_t i = 0; !ok && i < problems.n; i++) print_error(STR_FMT "\n", STR_ARG(problems.at[i].message));
    assert_true(ok);
    problems_clear(&problems);
    return p;
}

static void unload(Project *p, char *dir) {
    project_free(p);
    archive_remove(dir);
}

/* Settings, a tool with its alias and properties; expected: visibility, the denying rule, the reason for
 * confirmation. */
static void test_rules(void **state) {
    (void)state;
    static const Safety harmless = { .read_only = true }, netted = { .networked = true, .destructive = true },
                        careful = { .read_only = true, .requires_confirmation = true, .files = SAFETY_FILES_READ };
    static const struct { const char *settings, *tool, *alias; const Safety *safety; bool confirm, shown; const char *rule, *message, *why; } cases[] = {
        { "---\n---\n", "a", "", &harmless, false, true, "", "", "" },
        { "---\ntools_policy: { deny: [\"shell_*\", \"?x\"] }\n---\n", "shell_run", "", &harmless, false, false, "tools_policy.deny: shell_*",
          "tool \"shell_run\" is denied by tools_policy.deny: shell_*", "" },
        { "---\ntools_policy: { deny: [\"shell_*\"] }\n---\n", "run", "shell_run", &harmless, false, false, "tools_policy.deny: shell_*",
          "tool \"run\" is denied by tools_policy.deny: shell_*", "" },
        { "---\ntools_policy: { allow: [read] }\n---\n", "read", "", &harmless, false, true, "", "", "" },
        { "---\ntools_policy: { allow: [read] }\n---\n", "write", "", &harmless, false, false, "tools_policy.allow",
          "tool \"write\" is not in tools_policy.allow", "" },
        { "---\ntools_policy: { allow: [read] }\n---\n", "look", "read", &harmless, false, true, "", "", "" },
        { "---\ntools_policy: { allow: [\"*\"], deny: [read] }\n---\n", "read", "", &harmless, false, false, "tools_policy.deny: read",
          "tool \"read\" is denied by tools_policy.deny: read", "" },
        { "---\ntools_policy: { mode: denylist, deny: [read] }\n---\n", "write", "", &harmless, false, true, "", "", "" },
        { "---\ntools_policy: { mode: allowlist }\n---\n", "write", "", &harmless, false, false, "tools_policy.allow",
          "tool \"write\" is not in tools_policy.allow", "" },
        { "---\ntools_policy: { allow: [] }\n---\n", "write", "", &harmless, false, false, "tools_policy.allow",
          "tool \"write\" is not in tools_policy.allow", "" },
        { "---\nlimits: { deny: [spends_money, networked] }\n---\n", "a", "", &netted, false, true, "limits.deny: networked",
          "tool \"a\" is denied by limits.deny: networked", "" },
        { "---\nlimits: { deny: [mutating] }\n---\n", "a", "", &netted, false, true, "limits.deny: mutating",
          "tool \"a\" is denied by limits.deny: mutating", "" },
        { "---\nlimits: { deny: [filesystem] }\n---\n", "a", "", &careful, false, true, "limits.deny: filesystem",
          "tool \"a\" is denied by limits.deny: filesystem", "" },
        { "---\n---\n", "a", "", &careful, false, true, "", "", "safety.requires_confirmation" },
        { "---\ntools_policy: { deny: [a] }\n---\n", "a", "", &netted, true, false, "tools_policy.deny: a",
            "tool \"a\" is denied by tools_policy.deny: a", "" },
        { "---\nlimits: { deny: [mutating], confirm: [destructive] }\n---\n", "a", "", &harmless, false, true, "", "", "" },
        { "---\nlimits: { confirm: [networked, destructive] }\n---\n", "a", "", &netted, false, true, "", "", "limits.confirm: networked" },
        { "---\n---\n", "a", "", &netted, true, true, "", "", "confirm: true" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *dir;
        Error err = { 0 };
        Policy *policy;
        Str alias = str_from(cases[i].alias);
        Project *p = load(cases[i].settings, &dir);
        assert_true(policy_new(p, &policy, &err));
        unload(p, dir);                                   /* the policy has no pointers into the project */
        ToolDef t = { .name = str_from(cases[i].tool), .aliases = { &alias, alias.n ? 1 : 0 }, .confirm = cases[i].confirm };
        PolicyDecision d = policy_decide(policy, &t, cases[i].safety, false);
        bool denied = cases[i].rule[0], asks = cases[i].why[0];
        PolicyVerdict verdict = denied ? POLICY_DENY : asks ? POLICY_ASK : POLICY_ALLOW;
        if (d.verdict == POLICY_DENY) policy_explain(&d, t.name, &err);
        if (policy_shows(policy, &t) != cases[i].shown || d.verdict != verdict || !str_eq(d.rule, str_from(denied ? cases[i].rule : cases[i].why)) ||
            strcmp(err.msg, cases[i].message) != 0)
            fail_msg("case %zu: shown %d, verdict %d, rule \"%.*s\", message \"%s\"", i, policy_shows(policy, &t), d.verdict, STR_ARG(d.rule), err.msg);
        if (denied) assert_int_equal(err.kind, ERR_POLICY);
        d = policy_decide(policy, &t, cases[i].safety, true);             /* what changed since it was approved is denied, whatever the rules say */
        assert_int_equal(d.verdict, POLICY_DENY);
        assert_true(str_eq(d.rule, STR("mcp: changed")));
        policy_free(policy);
    }
}

static void test_globs(void **state) {
    (void)state;
    static const struct { const char *pattern, *name; bool matches; } cases[] = {
        { "", "", true }, { "", "a", false }, { "a", "", false }, { "*", "", true }, { "*", "abc", true }, { "**", "abc", true },
        { "?", "", false }, { "?", "a", true }, { "?", "\xc3\xa4", true }, { "??", "\xc3\xa4", false }, { "a*c", "abbc", true },
        { "a*c", "abbd", false }, { "*_run", "shell_run", true }, { "*a*b*", "xxaxxbxx", true }, { "*a*b*", "xxbxxaxx", false },
        { "[ab]c", "bc", true }, { "[ab]c", "cc", false }, { "[a-c]*", "bat", true }, { "[!a-c]*", "bat", false }, { "[^a-c]*", "dog", true },
        { "[]]", "]", true }, { "[", "[", true }, { "[a", "[a", true }, { "[a", "a", false }, { "a[", "a[", true }, { "[a-]", "-", true },
        { "read", "Read", false }, { "mcp__*__[rw]*", "mcp__git__read", true }, { "\xff*", "\xff", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (policy_name_matches(str_from(cases[i].pattern), str_from(cases[i].name)) != cases[i].matches)
            fail_msg("\"%s\" and \"%s\" should%s match", cases[i].pattern, cases[i].name, cases[i].matches ? "" : " not");
    Buf pattern = { 0 }, name = { 0 };
    for (int i = 0; i < 200; i++) buf_add(&pattern, STR("*a"));
    buf_add_char(&pattern, 'b');
    for (int i = 0; i < 5000; i++) buf_add_char(&name, 'a');
    assert_false(policy_name_matches(buf_str(&pattern), buf_str(&name)));
    buf_clear(&pattern);
    buf_clear(&name);
}

static void test_default_limits(void **state) {
    (void)state;
    char *dir;
    Limits l;
    Project *p = load("---\n---\n", &dir);
    limits_from(p, &l);
    int64_t got[] = { l.max_turns, l.max_tool_calls, l.max_tool_calls_per_turn, l.max_concurrency, l.max_tasks, l.max_tokens, l.wall_clock_ms,
                      l.model_result_bytes, l.artifact_bytes, l.script_heap_bytes, l.script_depth, l.tool_timeout_ms, l.repair.max_per_turn,
                      l.delegation.max_depth, l.delegation.max_concurrent, l.delegation.timeout_ms, (int64_t)l.delegation.n_iterations,
                      l.delegation.iterations[0], l.delegation.iterations[3], l.meta.max_tools, l.meta.max_hooks, l.meta.max_agents,
                      l.meta.max_call_depth, (int64_t)l.sandbox.memory_bytes, l.sandbox.cpu_seconds, (int64_t)l.sandbox.file_bytes,
                      l.sandbox.open_files, l.sandbox.processes, l.context.max_history, l.context.max_tokens };
    int64_t expected[] = { 100, 1000, 32, 4, 64, 0, 0, 16384, 104857600, 67108864, 200, 0, 3, 3, 4, 0, 4, 20, 3, 20, 20, 5, 2, 4294967296, 600,
                           1073741824, 1024, 256, 50, 128000 };
    assert_memory_equal(got, expected, sizeof expected);
    assert_true(l.repair.invalid_arguments && l.repair.unknown_tool && l.repair.refused && l.sandbox.mode == SANDBOX_STRICT);
    assert_false(l.meta.enabled || l.sandbox.network || l.sandbox.real_home || l.sandbox.allow_self_edit || l.has_domains);
    limits_clear(&l);
    unload(p, dir);
}

static void test_given_limits(void **state) {
    (void)state;
    char *dir;
    Limits l;
    Project *p = load("---\nlimits: { max_turns: 7, max_spend_usd: 1.5, repair: { refused: false, max_per_turn: 1 } }\n"
                      "delegation: { iterations_per_depth: [9, 8], max_depth: 1 }\nmeta: { enabled: true }\n"
                      "network: { allowed_domains: [a.test, \"*.b.test\"] }\n"
                      "sandbox: { mode: best-effort, home: real, read_roots: [/opt/x], env_allow: [A, B], processes: 99999999999 }\n---\n", &dir);
    limits_from(p, &l);
    assert_int_equal(l.max_turns, 7);
    assert_true(l.max_spend_usd == 1.5);
    assert_false(l.repair.refused);
    assert_int_equal(l.repair.max_per_turn, 1);
    assert_int_equal(l.delegation.n_iterations, 2);
    assert_int_equal(l.delegation.iterations[1], 8);
    assert_true(l.meta.enabled && l.has_domains && l.sandbox.real_home && l.sandbox.mode == SANDBOX_BEST_EFFORT);
    assert_int_equal(l.domains.n, 2);
    assert_str(l.domains.at[1], "*.b.test");
    assert_str(l.sandbox.read_roots.at[0], "/opt/x");
    assert_int_equal(l.sandbox.env_allow.n, 2);
    assert_int_equal(l.sandbox.processes, UINT32_MAX);
    limits_clear(&l);
    unload(p, dir);
}

static void test_approvals(void **state) {
    (void)state;
    Approvals *a = approval_list_new();
    assert_false(approval_given(a, STR("x"), STR("{}")));
    approval_add(a, STR("x"), STR("{\"a\":1}"));
    approval_add(a, STR("x"), STR("{\"a\":1}"));
    assert_true(approval_given(a, STR("x"), STR("{\"a\":1}")));
    assert_false(approval_given(a, STR("x"), STR("{\"a\":2}")));
    assert_false(approval_given(a, STR("xy"), STR("{\"a\":1}")));
    approval_add(a, STR("y"), (Str){ 0 });
    assert_true(approval_given(a, STR("y"), STR("{\"any\":1}")));
    assert_false(approval_given(a, STR("x"), (Str){ 0 }));
    approval_list_free(a);
}

static void test_sensitive(void **state) {
    (void)state;
    static const char *const yes[] = { ".env", "/a/.ENV.local", "credentials", "/x/Credentials.json/y", "server.PEM", "a/b.key",
        "/root/.ssh/id_rsa", ".envrc", ".env/x",
                                       "secrets.json", "a/Secrets.JSON", ".npmrc", "/home/u/.pypirc", ".NETRC", ".git-credentials",
                                           "x/.pgpass", ".aws/credentials" };
    static const char *const no[] = { "", "/", "env", "/a/b.c", "keyboard", "monkey", "kid_a", "pem", "my.env", "xcredentials",
        "secrets.json5", "mysecrets.json", "npmrc", ".npmrc.md", "netrc", ".pgpass2" };
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        if (!approval_sensitive(str_from(yes[i]))) fail_msg("%s is sensitive", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (approval_sensitive(str_from(no[i]))) fail_msg("%s is not sensitive", no[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules), cmocka_unit_test(test_globs), cmocka_unit_test(test_default_limits), cmocka_unit_test(test_given_limits),
        cmocka_unit_test(test_approvals), cmocka_unit_test(test_sensitive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
