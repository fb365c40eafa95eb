#include "unit.h"
#include "sandbox/git_steps.h"

static void test_names(void **state) {
    (void)state;
    assert_true(git_steps_is("rebase-merge", "git-rebase-todo"));
    assert_true(git_steps_is_path("/a/.git/worktrees/x/rebase-merge/git-rebase-todo"));
    assert_true(git_steps_is_path("/a/.git/sequencer/opts"));
    static const char *const no[] = { "", "/", "git-rebase-todo", "/a/.git/rebase-merge", "/a/rebase-merge/git-rebase-todo/x",
        "/a/sequencer/strategy", "/a/opts" };
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) assert_false(git_steps_is_path(no[i]));
}

static void test_lines(void **state) {
    (void)state;
    static const struct { const char *folder, *name, *before, *now; bool allowed; } cases[] = {
        { "rebase-merge", "git-rebase-todo", "", "", true },
        { "rebase-merge", "git-rebase-todo", "", "pick 1 exec x\n# exec\nfixup 2\n", true },
        { "rebase-merge", "git-rebase-todo", "", "pick 1\nexec true\n", false },
        { "rebase-merge", "git-rebase-todo", "", "\t x true", false },
        { "rebase-merge", "git-rebase-todo", "", "x\ttrue", false },
        { "rebase-merge", "git-rebase-todo", "", "x\r\n", false },
        { "rebase-merge", "git-rebase-todo", "", "x", false },
        { "rebase-merge", "git-rebase-todo", "", "xx true\nexecute y\n", true },
        { "rebase-merge", "git-rebase-todo", "pick 1\nexec true\npick 2\nexec true\n", "pick 2\nexec true\n", true },
        { "rebase-merge", "git-rebase-todo", "exec true\n", "exec true \n", false },
        { "rebase-merge", "git-rebase-todo", "exec true; false\n", "exec true\n", false },
        { "rebase-merge", "strategy", "", "ort\n", true },
        { "rebase-merge", "strategy", "ort\n", "x/evil\n", false },
        { "sequencer", "opts", "", "[options]\n\tstrategy-option = ours\n", true },
        { "sequencer", "opts", "", "[options]\n\tstrategy = x\\\n/evil\n", false },
        { "rebase-apply", "apply-opt", "", " '--whitespace=fix' '-p2'", true },
        { "rebase-apply", "apply-opt", "", " '--build=x'", false },
        { "rebase-apply", "other", "", "", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(git_steps_allow(cases[i].folder, cases[i].name, str_from(cases[i].before), str_from(cases[i].now)), cases[i].allowed);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_names), cmocka_unit_test(test_lines) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
