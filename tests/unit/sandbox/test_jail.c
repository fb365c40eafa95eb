#include "unit.h"
#include "base/arena.h"
#include "sandbox/jail.h"
#include "sandbox/sandbox_unit.h"

static Jail *jail;

static int setup(void **state) {
    (void)state;
    tree_make();
    tree_put("ws/a.txt", "hello");
    tree_put("ws/sub/b.txt", "b");
    tree_put("ws/.harness/tools/x.md", "tool");
    tree_put("ws/pkg/deep/harness.yaml", "y");
    tree_put("ws/state/db", "secret");
    tree_put("out/secret", "secret");
    tree_put("ro/r.txt", "r");
    tree_put("rw/w.txt", "w");
    Error err = { 0 };
    jail = tree_jail(false, &err);
    if (!jail) print_error("%s\n", err.msg);
    return jail ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    jail_free(jail);
    tree_remove();
    return 0;
}

static void reads_inside(void **state) {
    (void)state;
    Buf out = { 0 };
    Error err = { 0 };
    JailStat st;
    if (!jail_read(jail, STR("a.txt"), 100, &out, &st, &err)) fail_msg("%s", err.msg);
    assert_str(buf_str(&out), "hello");
    if (!jail_write(jail, STR("n/e/w.txt"), STR("new"), &(JailWrite){ .parents = true }, &st, &err)) fail_msg("%s", err.msg);
    if (!jail_read(jail, STR("n/e/w.txt"), 100, &out, &st, &err)) fail_msg("%s", err.msg);
    assert_str(buf_str(&out), "new");
    if (!jail_append(jail, STR("n/e/w.txt"), STR("er"), &err)) fail_msg("%s", err.msg);
    if (!jail_copy(jail, STR("n"), STR("m"), NULL, &err)) fail_msg("%s", err.msg);
    if (!jail_read(jail, str_from(tree_path("ws/m/e/w.txt")), 100, &out, &st, &err)) fail_msg("%s", err.msg);
    assert_str(buf_str(&out), "newer");
    if (!jail_move(jail, STR("m"), STR("k"), NULL, &err)) fail_msg("%s", err.msg);
    if (!jail_remove(jail, STR("k"), true, NULL, &err)) fail_msg("%s", err.msg);
    if (!jail_remove(jail, STR("n"), true, NULL, &err)) fail_msg("%s", err.msg);
    if (!jail_mkdir(jail, STR("d/e/f"), &err)) fail_msg("%s", err.msg);
    static const char *const bad[] = { "../out/secret", ".harness/q", "harness.yaml", "state/db", "pkg/deep/harness.yaml", "pkg/../.harness/tools/x.md" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(jail_write(jail, str_from(bad[i]), STR("x"), NULL, NULL, &err));
        print_message("%s\n", err.msg);
    }
    assert_false(jail_move(jail, STR("pkg"), STR("pkg2"), NULL, &err));
    print_message("%s\n", err.msg);
    assert_false(jail_read(jail, STR("state/db"), 100, &out, &st, &err));
    print_message("%s\n", err.msg);
    assert_false(jail_read(jail, STR("/etc/passwd"), 100, &out, &st, &err));
    print_message("%s\n", err.msg);
    buf_clear(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(reads_inside, setup, teardown) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
