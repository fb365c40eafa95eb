/* Each step of each call fails once: the call reports it, nothing is half done, no descriptor and no file is left. */
#include "base/fault.h"
#include "sandbox/jail.h"
#include "sandbox/sandbox_unit.h"

#ifdef HARNESS_FAULTS
static Jail *jail;
static JailStat seen;

static void make(void) {
    Error err = { 0 };
    tree_make();
    tree_put("ws/a.txt", "old");
    tree_put("ws/d/e/f", "f");
    tree_put("ws/d/g", "g");
    tree_link("../a.txt", "ws/d/l");
    jail = tree_jail(false, &err);
    assert_non_null(jail);
    assert_true(jail_stat(jail, STR("a.txt"), &seen, &err));
}

static void drop(void) {
    jail_free(jail);
    tree_remove();
}

static bool do_read(Error *err) {
    Buf out = { 0 };
    bool ok = jail_read(jail, STR("d/l"), 100, &out, NULL, err);
    buf_clear(&out);
    return ok;
}
static bool do_list(Error *err) {
    Arena a = { 0 };
    JailEntry *list;
    size_t n;
    bool ok = jail_list(jail, STR("d/../d"), &a, &list, &n, err);
    arena_clear(&a);
    return ok;
}
static bool do_new(Error *err) {
    Jail *j = tree_jail(false, err);
    jail_free(j);
    return j != NULL;
}
static bool do_write(Error *err) { return jail_write(jail, STR("a.txt"), STR("new"), NULL, NULL, err); }
static bool do_expect(Error *err) { return jail_write(jail, STR("d/l"), STR("new"), &(JailWrite){ .expect = &seen }, NULL, err); }
static bool do_fresh(Error *err) { return jail_write(jail, STR("p/q/a"), STR("new"), &(JailWrite){ .parents = true, .must_be_new = true }, NULL, err); }
static bool do_append(Error *err) { return jail_append(jail, STR("a.txt"), STR("er"), NULL, err); }
static bool do_append_new(Error *err) { return jail_append(jail, STR("log"), STR("new"), NULL, err); }
static bool do_mkdir(Error *err) { return jail_mkdir(jail, STR("p/q/r"), NULL, err); }
static bool do_copy(Error *err) { return jail_copy(jail, STR("d/g"), STR("a.txt"), NULL, err); }
static bool do_copy_tree(Error *err) { return jail_copy(jail, STR("d"), STR("d2"), NULL, err); }
static bool do_move(Error *err) { return jail_move(jail, STR("d"), STR("d2"), NULL, err); }
static bool do_remove(Error *err) { return jail_remove(jail, STR("d"), true, NULL, err); }

/* old: content of a.txt when the step failed before the change, and what it may also be when one failed after it. */
static const struct { const char *name; bool (*call)(Error *err); const char *also; } calls[] = {
    { "read", do_read, "old" }, { "list", do_list, "old" }, { "new", do_new, "old" }, { "write", do_write, "new" },
    { "write expected", do_expect, "new" }, { "write fresh", do_fresh, "old" }, { "append", do_append, "older" },
    { "append to new", do_append_new, "old" }, { "mkdir", do_mkdir, "old" }, { "copy", do_copy, "g" },
    { "copy tree", do_copy_tree, "old" }, { "move", do_move, "old" }, { "remove", do_remove, "old" },
};

static void every_step_fails_once(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (long nth = 1; nth < 1000; nth++) {
            Error err = { 0 };
            make();
            int fds = tree_open_fds();
            fault_arm(nth);
            bool ok = calls[i].call(&err), hit = fault_disarm();
            if (!hit && !ok) fail_msg("%s: %s", calls[i].name, err.msg);
            if (!ok && !err.msg[0]) fail_msg("%s: step %ld failed without a word", calls[i].name, nth);
            if (tree_open_fds() != fds) fail_msg("%s: step %ld left a descriptor", calls[i].name, nth);
            if (tree_has_litter("ws")) fail_msg("%s: step %ld left a file (%s)", calls[i].name, nth, err.msg);
            const char *text = tree_text("ws/a.txt");
            if (!text || (strcmp(text, "old") != 0 && strcmp(text, calls[i].also) != 0))
                fail_msg("%s: step %ld left \"%s\"", calls[i].name, nth, text ? text : "nothing");
            if (ok && calls[i].call != do_read && calls[i].call != do_list && calls[i].call != do_new && strcmp(calls[i].also, "old") != 0)
                assert_string_equal(text, calls[i].also);
            bool moved = access(tree_path("ws/d2"), F_OK) == 0;
            if (moved && access(tree_path("ws/d2/e/f"), F_OK) != 0) fail_msg("%s: step %ld left half a folder", calls[i].name, nth);
            drop();
            if (!hit) break;
        }
    }
}
#endif

static void nothing_to_do(void **state) { (void)state; }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_to_do),
#ifdef HARNESS_FAULTS
        cmocka_unit_test(every_step_fails_once),
#endif
    };
    return tree_run(tests);
}
