/* Command hooks: the input of the program, and the meaning of its exit code and output. */
#include "desk.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define CALL "{\"id\":\"c1\",\"name\":\"fs_write\",\"arguments\":\"{}\",\"args\":{\"path\":\"a\"},\"agent\":\"main\",\"depth\":0}"
#define POST "{\"call_id\":\"c7\",\"name\":\"fs_write\",\"args\":{\"path\":\"a\"},\"content\":\"1\",\"result\":1,\"is_error\":false}"
#define CHANGED(x) "modify {\"id\":\"c1\",\"name\":\"fs_write\",\"arguments\":\"{\\\"path\\\":\\\"" x "\\\"}\",\"args\":{\"path\":\"" x "\"},\"agent\":\"main\",\"depth\":0}"

static Sandbox *sandbox;                 /* started before any thread */
static char folder[64];
static SandboxRules rules;

static int start(void **state) {
    (void)state;
    Error err = { 0 };
    snprintf(folder, sizeof folder, "/tmp/harness-hook-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    char path[128];
    snprintf(path, sizeof path, "%s/plain.sh", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, "exit 0\n", 7) != 7) return -1;
    close(fd);
    rules = (SandboxRules){ .mode = SANDBOX_OFF, .workspace = folder };
    return sandbox_start(&sandbox, &err) ? 0 : -1;
}

static int stop(void **state) {
    (void)state;
    char path[128];
    sandbox_stop(sandbox);
    snprintf(path, sizeof path, "%s/plain.sh", folder);
    unlink(path);
    return rmdir(folder);
}

static void open_here(Desk *k) {
    desk_open(k);
    k->project.root = str_from(folder);
    k->host = (Host){ .hook = true, .sandbox = sandbox, .rules = &rules };
}

static void add(Desk *k, const char *name, const char *command, bool post, bool blocking, const Str *tools, size_t n) {
    Error err = { 0 };
    HookDef *def = &k->defs[k->n_defs++];
    static Str globs[4];
    if (n) memcpy(globs, tools, n * sizeof *tools);
    *def = (HookDef){ .name = str_from(name), .event = post ? STR("tool.post") : STR("tool.pre"), .kind = HOOK_COMMAND, .command = str_from(command),
                      .timeout_ms = 1500, .blocking = blocking, .allow_on_error = !blocking, .post = post, .tools = { globs, n } };
    if (!hook_list_add(k->hooks, def, &err)) fail_msg("%s", err.msg);
}

typedef struct { const char *command, *want; } CommandCase;

static void check(const char *event, const char *payload, bool blocking, const CommandCase *t, size_t n) {
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        Desk k;
        open_here(&k);
        add(&k, "h", t[i].command, strcmp(event, "tool.post") == 0, blocking, NULL, 0);
        const char *got = desk_ask_with(&k, (HookDispatch){ .session = STR("s1") }, event, payload);
        if (strncmp(got, t[i].want, strlen(t[i].want)) != 0) print_error("%s\n  got  %s\n  want %s\n", t[i].command, got, t[i].want), wrong++;
        assert_int_equal(k.last.commands, 1);
        desk_close(&k);
    }
    assert_int_equal(wrong, 0);
}

static void test_answers(void **state) {
    (void)state;
    static const CommandCase cases[] = {
        { "exit 0", "allow" },
        { "cat >/dev/null; echo; echo ' '", "allow" },
        { "exit 1", "block h: blocked by hook h" },
        { "echo no >&2; exit 1", "block h: no" },
        { "echo no; exit 1", "block h: no" },
        { "echo '{\"message\": \"no\"}'; exit 1", "block h: no" },
        { "echo '{\"block\": true, \"message\": \"why\"}'", "block h: why" },
        { "echo '{\"block\": true}'", "block h: blocked by hook h" },
        { "echo '{\"block\": false, \"message\": \"fine\"}'", "allow" },
        { "echo '{}'", "allow" },
        { "cat", "allow" },
        { "echo '{\"modified_input\": {\"path\": \"b\"}}'", CHANGED("b") },
        { "sed 's/\"a\"/\"c\"/'", CHANGED("c") },
        { "echo '{\"input\": {\"path\": \"b\"}, \"modified_input\": {\"path\": \"b\"}}'", CHANGED("b") },
        { "echo '{\"input\": {\"path\": \"a\"}, \"modified_input\": {\"path\": \"b\"}}'", CHANGED("b") },
    };
    check("tool.pre", CALL, true, cases, COUNT(cases));
}

static const CommandCase broken[] = {
    { "exit 2", "failed h: hook h failed: exit code 2" },
    { "echo why >&2; exit 3", "failed h: hook h failed: exit code 3: why" },
    { "/no/such/program", "failed h: hook h failed: exit code 127" },
    { "./plain.sh", "failed h: hook h failed: exit code 126" },
    { "kill -9 $$", "failed h: hook h failed: killed by signal 9" },
    { "sleep 20", "failed h: hook h failed: timed out after 1500 ms" },
    { "echo garbage", "failed h: hook h failed: stdout: json: " },
    { "printf '{\"block\": tru'", "failed h: hook h failed: stdout: json: " },
    { "echo '{} {}'", "failed h: hook h failed: stdout: json: " },
    { "echo '{\"block\": false, \"block\": true}'", "failed h: hook h failed: stdout: json: " },
    { "echo '[1]'", "failed h: hook h failed: stdout: expected a JSON object, got list" },
    { "echo '{\"block\": \"true\"}'", "failed h: hook h failed: stdout: block must be true or false, not string" },
    { "echo '{\"block\": 1}'", "failed h: hook h failed: stdout: block must be true or false, not int" },
    { "echo '{\"modified_input\": [1]}'", "failed h: hook h failed: stdout: the input must be an object, not list" },
    { "echo '{\"input\": 3}'", "failed h: hook h failed: stdout: the input must be an object, not int" },
    { "echo '{\"input\": {\"path\": \"b\"}, \"modified_input\": {\"path\": \"c\"}}'", "failed h: hook h failed: stdout: modified_input and input disagree" },
    { "head -c 2000000 /dev/zero | tr '\\0' ' '; head -c 10 /dev/zero | tr '\\0' x", "failed h: hook h failed: stdout: too much output" },
};

static void test_fails_closed(void **state) {
    (void)state;
    check("tool.pre", CALL, true, broken, COUNT(broken));
}

/* blocking: false ignores failures, but not decisions. */
static void test_not_blocking(void **state) {
    (void)state;
    CommandCase pass[COUNT(broken)];
    for (size_t i = 0; i < COUNT(broken); i++) pass[i] = (CommandCase){ broken[i].command, "allow" };
    static const CommandCase decided[] = { { "exit 1", "block h" }, { "echo '{\"block\": true}'", "block h" } };
    check("tool.pre", CALL, false, pass, 5);
    check("tool.pre", CALL, false, decided, COUNT(decided));
}

#define LATE "failed h: hook h failed: stdout: modified_input needs a pre_tool hook: the call has been made"
#define FOREIGN(key) "failed h: hook h failed: stdout: \"" key "\" is not understood here: write {\"block\": true, \"message\": \"…\"} to block, or {} to continue"

/* A refusal in the format of another program must not count as an answer without a decision. */
static void test_other_terms(void **state) {
    (void)state;
    static const CommandCase cases[] = {
        { "echo '{\"action\": \"block\"}'", FOREIGN("action") },
        { "echo '{\"decision\": \"block\", \"reason\": \"no\"}'", FOREIGN("decision") },
        { "echo '{\"decision\": \"deny\"}'", FOREIGN("decision") },
        { "echo '{\"decision\": \"ask\"}'", FOREIGN("decision") },
        { "echo '{\"decision\": null}'", FOREIGN("decision") },
        { "echo '{\"decision\": {\"allow\": false}}'", FOREIGN("decision") },
        { "echo '{\"Decision\": \"Deny\"}'", FOREIGN("Decision") },
        { "echo '{\"allow\": false}'", FOREIGN("allow") },
        { "echo '{\"allow\": \"no\"}'", FOREIGN("allow") },
        { "echo '{\"allowed\": false}'", FOREIGN("allowed") },
        { "echo '{\"approved\": null}'", FOREIGN("approved") },
        { "echo '{\"deny\": true}'", FOREIGN("deny") },
        { "echo '{\"deny\": \"because\"}'", FOREIGN("deny") },
        { "echo '{\"continue\": false, \"stopReason\": \"no\"}'", FOREIGN("continue") },
        { "echo '{\"permissionDecision\": \"deny\"}'", FOREIGN("permissionDecision") },
        { "echo '{\"permission_decision\": \"deny\"}'", FOREIGN("permission_decision") },
        { "echo '{\"hookSpecificOutput\": {\"permissionDecision\": \"deny\"}}'", FOREIGN("hookSpecificOutput") },
        { "echo '{\"status\": \"denied\"}'", FOREIGN("status") },
        { "echo '{\"block\": false, \"deny\": true}'", FOREIGN("deny") },
        { "echo '{\"block\": null}'", "failed h: hook h failed: stdout: block must be true or false, not null" },
    };
    static const CommandCase pre[] = {
        { "echo '{\"modified_input\": null}'", "failed h: hook h failed: stdout: the input must be an object, not null" },
        { "echo '{\"input\": null}'", "failed h: hook h failed: stdout: the input must be an object, not null" },
    };
    static const CommandCase fine[] = {
        { "echo '{\"status\": \"ok\", \"took\": 3, \"log\": [\"deny\"]}'", "allow" },
        { "echo '{\"allow\": true, \"deny\": false, \"continue\": true}'", "allow" },
        { "echo '{\"decision\": \"approve\", \"message\": \"block\"}'", "allow" },
        { "echo '{\"block\": true, \"decision\": \"block\", \"message\": \"no\"}'", "block h: no" },
        { "echo '{\"decision\": \"block\"}'; exit 1", "block h" },
    };
    check("tool.pre", CALL, true, cases, COUNT(cases));
    check("tool.post", POST, true, cases, COUNT(cases));
    check("tool.pre", CALL, true, pre, COUNT(pre));
    check("tool.pre", CALL, true, fine, COUNT(fine));
    check("tool.post", POST, true, fine, COUNT(fine));
}

static void test_what_it_is_told(void **state) {
    (void)state;
    static const CommandCase pre[] = {
        { "cat >&2; exit 1", "block h: {\"tool\":\"fs_write\",\"input\":{\"path\":\"a\"}}" },
        { "printf %s \"$TOOL_INPUT\" >&2; exit 1", "block h: {\"tool\":\"fs_write\",\"input\":{\"path\":\"a\"}}" },
        { "echo $TOOL_NAME $TOOL_ID $AGENT_ID $SESSION_ID >&2; exit 1", "block h: fs_write c1 main s1" },
        { "test -f plain.sh && echo here >&2; exit 1", "block h: here" },
    };
    static const CommandCase post[] = {
        { "cat >&2; exit 1", "block h: {\"tool\":\"fs_write\",\"input\":{\"path\":\"a\"},\"output\":1,\"result\":1,\"is_error\":false}" },
        { "echo $TOOL_ID >&2; exit 1", "block h: c7" },
        { "echo '{\"modified_input\": {}}'", LATE },
        { "echo '{\"modified_input\": {\"path\": \"a\"}}'", LATE },
        { "echo '{\"modified_input\": null}'", LATE },
        { "echo '{\"input\": {}}'", "failed h: hook h failed: modify may not change payload[\"args\"]" },
        { "exit 0", "allow" },
        { "exit 9", "failed h: " },
    };
    check("tool.pre", CALL, true, pre, COUNT(pre));
    check("tool.post", POST, true, post, COUNT(post));
}

#define FILTERED(content, result, is_error) "modify {\"call_id\":\"c7\",\"name\":\"fs_write\",\"args\":{\"path\":\"a\"},\"content\":\"" content \
    "\",\"result\":" result ",\"is_error\":" is_error "}"

/* modified_output replaces the result; `content` is its text. */
static void test_filters(void **state) {
    (void)state;
    static const CommandCase cases[] = {
        { "echo '{\"modified_output\": 2}'", FILTERED("2", "2", "false") },
        { "echo '{\"modified_output\": {\"a\": [1]}}'", FILTERED("{\\\"a\\\":[1]}", "{\"a\":[1]}", "false") },
        { "echo '{\"modified_output\": null}'", FILTERED("null", "null", "false") },
        { "echo '{\"modified_output\": 1}'", "allow" },
        { "echo '{\"block\": false, \"modified_output\": 2}'", FILTERED("2", "2", "false") },
        { "echo '{\"modified_output\": 2, \"is_error\": true}'", FILTERED("2", "2", "true") },
        { "sed 's/\"output\":1/\"output\":3/'", FILTERED("3", "3", "false") },
        { "sed 's/\"result\":1/\"result\":3/'", FILTERED("3", "3", "false") },
        { "sed 's/\"output\":1/\"output\":null/'", FILTERED("null", "null", "false") },
        { "printf '{\\n  \"modified_output\": 2\\n}\\n'", FILTERED("2", "2", "false") },
        { "cat", "allow" },
        { "echo '{\"status\": \"ok\", \"took\": 3, \"reason\": \"none\"}'", "allow" },
        { "echo '{\"block\": true, \"message\": \"no\", \"modified_output\": 2}'", "block h: no" },
        { "echo '{\"modified_output\": 2}'; exit 1", "block h: blocked by hook h" },
    };
    check("tool.post", POST, true, cases, COUNT(cases));
}

#define UNKNOWN(key) "failed h: hook h failed: stdout: unknown key \"" key "\": did you mean \""

static void test_filters_fail_closed(void **state) {
    (void)state;
    static const CommandCase post[] = {
        { "echo '{\"modified_output\": 2'", "failed h: hook h failed: stdout: json: " },
        { "echo '{\"modified_output\": 2, \"modified_output\": 1}'", "failed h: hook h failed: stdout: json: " },
        { "echo '{\"modified_output\": NaN}'", "failed h: hook h failed: stdout: json: " },
        { "echo '{\"modified_output\": 2} {\"modified_output\": 1}'", "failed h: hook h failed: stdout: json: " },
        { "echo '{\"modified_output\": 2}'; exit 2", "failed h: hook h failed: exit code 2" },
        { "echo '{\"modified_output\": 2}'; sleep 20", "failed h: hook h failed: timed out" },
        { "echo '{\"modified_output\": 2, \"output\": 3}'", "failed h: hook h failed: stdout: modified_output, output and result disagree" },
        { "echo '{\"output\": 2, \"result\": 3}'", "failed h: hook h failed: stdout: modified_output, output and result disagree" },
        { "echo '{\"is_error\": \"no\"}'", "failed h: hook h failed: payload[\"is_error\"] must be a bool" },
        { "echo '{\"modified_output\": 2, \"modified_input\": {}}'", LATE },
        { "echo '{\"block\": \"yes\", \"modified_output\": 2}'", "failed h: hook h failed: stdout: block must be true or false" },
        { "echo '{\"modifiedOutput\": 2}'", UNKNOWN("modifiedOutput") "modified_output\"?" },
        { "echo '{\"Modified_Output\": 2}'", UNKNOWN("Modified_Output") "modified_output\"?" },
        { "echo '{\"modified-output\": 2}'", UNKNOWN("modified-output") },
        { "echo '{\"modify_output\": 2}'", UNKNOWN("modify_output") },
        { "echo '{\"modifed_output\": 2}'", UNKNOWN("modifed_output") },
        { "echo '{\"modified_result\": 2}'", UNKNOWN("modified_result") },
        { "echo '{\"modified\": 2}'", UNKNOWN("modified") },
        { "echo '{\"filtered_output\": 2}'", UNKNOWN("filtered_output") },
        { "echo '{\"OUTPUT\": 2}'", UNKNOWN("OUTPUT") },
        { "echo '{\"outptu\": 2}'", UNKNOWN("outptu") "output\"?" },
        { "echo '{\"blocked\": true}'", UNKNOWN("blocked") "block\"?" },
        { "echo '{\"Block\": true}'", UNKNOWN("Block") "block\"?" },
        { "printf '{\"modified_output\": \"'; head -c 2000000 /dev/zero | tr '\\0' x; printf '\"}'", "failed h: hook h failed: stdout: too much output" },
    };
    static const CommandCase pre[] = {
        { "echo '{\"modified_output\": 2}'", "failed h: hook h failed: stdout: modified_output needs a post_tool hook" },
        { "echo '{\"modifiedInput\": {}}'", UNKNOWN("modifiedInput") "modified_input\"?" },
        { "echo '{\"blocked\": true}'", UNKNOWN("blocked") },
    };
    check("tool.post", POST, true, post, COUNT(post));
    check("tool.pre", CALL, true, pre, COUNT(pre));
}

/* A guard that passed also sees the filtered result; a filter that runs again may not change it again. */
static void test_filter_asked_again(void **state) {
    (void)state;
    Desk k;
    open_here(&k);
    desk_add(&k, &(DeskHook){ .name = "guard", .event = "tool.post", .priority = -1, .when = "payload[\"result\"] == 2", .body = "return block(\"two\")" });
    add(&k, "h", "echo '{\"modified_output\": 2}'", true, true, NULL, 0);
    assert_string_equal(desk_ask(&k, "tool.post", POST), "block guard: two");
    assert_string_equal(k.traced.at, "h=modify guard(again)=block");
    desk_close(&k);
    open_here(&k);
    add(&k, "h", "echo '{\"modified_output\": 2}'", true, true, NULL, 0);
    desk_add(&k, &(DeskHook){ .name = "late", .event = "tool.post", .priority = 5, .body = "payload[\"result\"] = 7; return modify(payload)" });
    assert_string_equal(desk_ask(&k, "tool.post", POST),
        "failed h: hook h failed: another hook changed the payload, so this hook ran again: it may then only allow or block, not modify");
    desk_close(&k);
}

static void test_large_input(void **state) {
    (void)state;
    Desk k;
    Buf b = { 0 };
    buf_add(&b, STR("{\"name\":\"t\",\"args\":{\"x\":\""));
    for (int i = 0; i < 300000; i++) buf_add_char(&b, 'x');
    buf_add(&b, STR("\"}}"));
    open_here(&k);
    add(&k, "h", "echo ${TOOL_INPUT-unset} $(wc -c) >&2; exit 1", false, true, NULL, 0);
    assert_string_equal(desk_ask(&k, "tool.pre", b.at), "block h: unset 300029");
    buf_clear(&b);
    desk_close(&k);
}

static void test_tools(void **state) {
    (void)state;
    static const Str yes[] = { STR("shell_*"), STR("fs_*") }, no[] = { STR("fs_read"), STR("write") };
    Desk k;
    open_here(&k);
    add(&k, "h", "exit 1", false, true, no, 2);
    assert_string_equal(desk_ask(&k, "tool.pre", CALL), "allow");
    assert_int_equal(k.last.commands, 0);
    desk_close(&k);
    open_here(&k);
    add(&k, "h", "exit 1", false, true, yes, 2);
    assert_string_equal(desk_ask(&k, "tool.pre", CALL), "block h: blocked by hook h");
    desk_close(&k);
}

/* After a program's change, guards that had passed run again, and so do programs. */
static void test_asked_again(void **state) {
    (void)state;
    Desk k;
    open_here(&k);
    desk_add(&k, &(DeskHook){ .name = "guard", .priority = -1, .when = "payload[\"args\"][\"path\"] == \"b\"", .body = "return block(\"b\")" });
    add(&k, "h", "echo '{\"modified_input\": {\"path\": \"b\"}}'", false, true, NULL, 0);
    assert_string_equal(desk_ask(&k, "tool.pre", CALL), "block guard: b");
    assert_string_equal(k.traced.at, "h=modify guard(again)=block");
    desk_close(&k);
    open_here(&k);
    add(&k, "h", "grep -q '\"b\"' && exit 1; exit 0", false, true, NULL, 0);
    desk_add(&k, &(DeskHook){ .name = "late", .priority = 5, .body = "payload[\"args\"][\"path\"] = \"b\"; return modify(payload)" });
    assert_string_equal(desk_ask(&k, "tool.pre", CALL), "block h: blocked by hook h");
    assert_string_equal(k.traced.at, "h=allow late=modify h(again)=block");
    assert_int_equal(k.last.commands, 2);
    desk_close(&k);
}

static void test_no_sandbox(void **state) {
    (void)state;
    Desk k;
    desk_open(&k);
    add(&k, "h", "exit 0", false, true, NULL, 0);
    assert_string_equal(desk_ask(&k, "tool.pre", CALL), "failed h: hook h failed: no programs can be started here");
    desk_close(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers), cmocka_unit_test(test_fails_closed), cmocka_unit_test(test_not_blocking),
            cmocka_unit_test(test_other_terms), cmocka_unit_test(test_what_it_is_told),
        cmocka_unit_test(test_filters), cmocka_unit_test(test_filters_fail_closed), cmocka_unit_test(test_filter_asked_again),
        cmocka_unit_test(test_large_input), cmocka_unit_test(test_tools), cmocka_unit_test(test_asked_again), cmocka_unit_test(test_no_sandbox),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
