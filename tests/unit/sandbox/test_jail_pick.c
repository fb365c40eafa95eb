/* Files outside the roots that the user picked: what a view of a jail may read, and what not. */
#include "sandbox/jail.h"
#include <limits.h>
#include "sandbox/sandbox_unit.h"

static Jail *jail, *view;
static Arena arena;

static int setup(void **state) {
    (void)state;
    Error err = { 0 };
    tree_make();
    tree_put("ws/a.txt", "a");
    tree_put("ws/.harness/tools/x.md", "tool");
    tree_put("ws/state/db", "hidden");
    tree_put("out/report.txt", "report");
    tree_put("out/other.txt", "other");
    tree_put("out/folder/x", "x");
    tree_put("ro/r.txt", "r");
    tree_put("rw/w.txt", "w");
    tree_put("ws/pkg/deep/harness.yaml", "y");
    tree_link("report.txt", "out/link");
    tree_link(tree_path("ws/state/db"), "out/to_db");
    tree_link(tree_path("ws/.harness/tools/x.md"), "out/to_tool");
    tree_link("/proc/self/status", "out/to_proc");
    assert_int_equal(mkfifo(tree_path("out/fifo"), 0666), 0);
    jail = tree_jail(false, &err);
    if (!jail) print_error("%s\n", err.msg);
    view = jail ? jail_view(jail) : NULL;
    return view ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    jail_free(view);
    jail_free(jail);
    arena_clear(&arena);
    tree_remove();
    return 0;
}

static bool readable(const Jail *j, const char *path) {
    Buf text = { 0 };
    Error err = { 0 };
    bool ok = jail_read(j, str_from(path), 100, &text, NULL, &err);
    if (!ok) assert_int_equal(err.kind, ERR_SANDBOX);
    buf_clear(&text);
    return ok;
}

static void pick(const char *path) {
    Error err = { 0 };
    JailPick p;
    assert_true(jail_pick_look(view, str_from(path), &arena, &p, &err));
    assert_true(jail_pick_add(view, &p, &err));
}

static void test_one_file(void **state) {
    (void)state;
    char report[PATH_MAX], other[PATH_MAX];
    snprintf(report, sizeof report, "%s", tree_path("out/report.txt"));
    snprintf(other, sizeof other, "%s", tree_path("out/other.txt"));
    assert_false(readable(view, report));
    Error err = { 0 };
    JailPick p;
    assert_true(jail_pick_look(view, str_from(tree_path("out/link")), &arena, &p, &err));
    assert_string_equal(p.absolute.at, report);          /* links are resolved */
    assert_false(readable(view, report));                /* looking grants nothing */
    assert_true(jail_pick_add(view, &p, &err));
    assert_true(readable(view, report));
    assert_false(readable(view, other));
    assert_false(readable(jail, report));                /* nor is it granted to others */
    Jail *second = jail_view(jail);
    assert_false(readable(second, report));
    jail_free(second);
}

static void test_only_reading(void **state) {
    (void)state;
    char report[PATH_MAX];
    Error err = { 0 };
    JailPlace place;
    JailStat st;
    snprintf(report, sizeof report, "%s", tree_path("out/report.txt"));
    pick(report);
    Str path = str_from(report);
    assert_false(jail_may_write(view, path, &err));
    assert_false(jail_write(view, path, STR("x"), NULL, NULL, &err));
    assert_false(jail_append(view, path, STR("x"), NULL, &err));
    assert_false(jail_remove(view, path, false, NULL, &err));
    assert_false(jail_move(view, path, STR("b.txt"), NULL, &err));
    assert_true(jail_stat(view, path, &st, &err));
    assert_int_equal(st.size, 6);
    assert_true(jail_place(view, path, false, &arena, &place, &err));
    assert_true(place.picked);
    assert_string_equal(place.absolute.at, report);
    assert_true(jail_place(view, STR("a.txt"), false, &arena, &place, &err));
    assert_false(place.picked);
    assert_int_equal(jail_open_dir(view, str_from(tree_path("out")), &err), -1);
}

/* The grant is for the file, not for its name. */
static void test_replaced(void **state) {
    (void)state;
    char report[PATH_MAX], other[PATH_MAX];
    snprintf(report, sizeof report, "%s", tree_path("out/report.txt"));
    snprintf(other, sizeof other, "%s", tree_path("out/other.txt"));
    pick(report);
    assert_true(readable(view, report));
    assert_int_equal(rename(other, report), 0);
    assert_false(readable(view, report));
    assert_int_equal(unlink(report), 0);
    assert_int_equal(symlink("/etc/passwd", report), 0);
    assert_false(readable(view, report));
}

static void test_refused(void **state) {
    (void)state;
    static const struct { const char *path, *why; } cases[] = {
        { "out/to_db", "belongs to harness" }, { "out/to_tool", "is protected" }, { "out/fifo", "not a regular file" }, { "out/folder", "is a folder" },
        { "out/missing", "no such file" }, { "out/to_proc", "process file system" },
    };
    Error err = { 0 };
    JailPick p;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err = (Error){ 0 };
        if (jail_pick_look(view, str_from(tree_path(cases[i].path)), &arena, &p, &err)) fail_msg("%s was picked", cases[i].path);
        if (!strstr(err.msg, cases[i].why)) fail_msg("%s: %s", cases[i].path, err.msg);
    }
    assert_false(jail_pick_look(view, STR("../out/report.txt"), &arena, &p, &err));
    assert_false(jail_pick_look(view, STR(""), &arena, &p, &err));
    assert_false(jail_pick_look(view, (Str){ "/etc/pass\0wd", 12 }, &arena, &p, &err));
    assert_false(jail_pick_look(jail, str_from(tree_path("out/report.txt")), &arena, &p, &err));      /* not a view */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_file, setup, teardown), cmocka_unit_test_setup_teardown(test_only_reading, setup, teardown),
        cmocka_unit_test_setup_teardown(test_replaced, setup, teardown), cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
