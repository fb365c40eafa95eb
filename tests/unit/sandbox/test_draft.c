#include "sandbox/draft.h"
#include "sandbox/sandbox_unit.h"
#include "sandbox/view.h"

static char root[600];

static int setup(void **state) {
    (void)state;
    tree_make();
    snprintf(root, sizeof root, "%s", tree_path("ws"));
    tree_put("ws/harness.md", "rules");
    tree_put("ws/.harness/hooks/h.md", "hook");
    tree_put("ws/.harness/tools/x.md", "tool x");
    return 0;
}

static int teardown(void **state) {
    (void)state;
    tree_remove();
    return 0;
}

/* A view with these drafts; ends the test if they cannot be taken. */
static View view_of(const Draft *at, size_t n) {
    View v = { 0 };
    Snapshot s;
    Error err = { 0 };
    if (!draft_take(root, at, n, &(View){ 0 }, &s, &err)) fail_msg("%s", err.msg);
    VEC_PUSH(&v, s);
    return v;
}

/* -1: not covered; the kind of what is there, or the errno. */
static int found(const View *v, const char *path) {
    ViewEntry e;
    return !view_find(v, root, str_from(path), &e) ? -1 : e.node ? e.node->kind : e.error;
}

static void expect_text(const View *v, const char *path, const char *text) {
    ViewEntry e;
    assert_true(view_find(v, root, str_from(path), &e));
    assert_non_null(e.node);
    assert_true(view_is_content(&e, str_from(text)));
    assert_int_equal(e.node->st.stx_uid, geteuid());
}

static void drafts_replace_add_and_remove(void **state) {
    (void)state;
    const Draft drafts[] = {
        { STR("harness.md"), STR("other rules"), false },
        { STR("AGENTS.md"), STR("notes"), false },
        { STR(".harness/hooks/h.md"), STR(""), true },
        { STR(".harness/hooks/new.md"), STR("new hook"), false },
        { STR(".harness/agents/deep/er/a.md"), STR("agent"), false },
    };
    View v = view_of(drafts, 5);
    expect_text(&v, "harness.md", "other rules");
    expect_text(&v, "AGENTS.md", "notes");
    expect_text(&v, ".harness/hooks/new.md", "new hook");
    expect_text(&v, ".harness/agents/deep/er/a.md", "agent");
    expect_text(&v, ".harness/tools/x.md", "tool x");
    assert_int_equal(found(&v, ".harness/hooks/h.md"), ENOENT);
    assert_int_equal(found(&v, ".harness/agents/deep"), 'd');
    assert_int_equal(found(&v, ".harness/nothing.md"), ENOENT);
    assert_int_equal(found(&v, "src/main.c"), -1);
    assert_string_equal(tree_text("ws/harness.md"), "rules");
    assert_string_equal(tree_text("ws/.harness/hooks/h.md"), "hook");
    assert_int_equal(access(tree_path("ws/AGENTS.md"), F_OK), -1);
    assert_int_equal(access(tree_path("ws/.harness/agents"), F_OK), -1);
    view_clear(&v);
}

static void a_project_without_rules_gets_them(void **state) {
    (void)state;
    snprintf(root, sizeof root, "%s", tree_path("out"));
    View v = view_of((const Draft[]){ { STR(".harness/hooks/h.md"), STR("x"), false } }, 1);
    expect_text(&v, ".harness/hooks/h.md", "x");
    assert_int_equal(found(&v, ".harness"), 'd');
    assert_int_equal(found(&v, "harness.md"), -1);
    view_clear(&v);
}

static void expect_refused(const char *path) {
    Snapshot s;
    Error err = { 0 };
    const Draft d = { str_from(path), STR("x"), false };
    assert_false(draft_take(root, &d, 1, &(View){ 0 }, &s, &err));
    assert_int_equal(err.kind, ERR_VALIDATION);
    assert_non_null(strstr(err.msg, path));
    snapshot_clear(&s);
}

static void folders_links_and_files_in_the_way_are_refused(void **state) {
    (void)state;
    tree_link("hooks", "ws/.harness/linked");
    tree_link("x.md", "ws/.harness/tools/l.md");
    tree_link("../out/tools.json", "ws/tools.json");
    expect_refused(".harness/hooks");
    expect_refused(".harness/hooks/h.md/x.md");
    expect_refused(".harness/linked/h.md");
    expect_refused(".harness/tools/l.md");
    expect_refused("tools.json");
}

/* A call that runs could have written the disk: its record counts, and the draft before both. */
static void what_calls_could_write_is_corrected(void **state) {
    (void)state;
    View marks = view_of(NULL, 0);
    tree_put("ws/.harness/tools/x.md", "spoilt");
    tree_put("ws/.harness/hooks/h.md", "spoilt");
    Snapshot s;
    Error err = { 0 };
    const Draft d = { STR(".harness/hooks/h.md"), STR("draft"), false };
    if (!draft_take(root, &d, 1, &marks, &s, &err)) fail_msg("%s", err.msg);
    View v = { 0 };
    VEC_PUSH(&v, s);
    expect_text(&v, ".harness/tools/x.md", "tool x");
    expect_text(&v, ".harness/hooks/h.md", "draft");
    view_clear(&v);
    view_clear(&marks);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(drafts_replace_add_and_remove, setup, teardown),
        cmocka_unit_test_setup_teardown(a_project_without_rules_gets_them, setup, teardown),
        cmocka_unit_test_setup_teardown(folders_links_and_files_in_the_way_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(what_calls_could_write_is_corrected, setup, teardown),
    };
    return tree_run(tests);
}
