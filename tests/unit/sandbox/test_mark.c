#include "sandbox/mark.h"
#include <signal.h>
#include <sys/wait.h>
#include "base/fault.h"
#include "sandbox/displaced.h"
#include "sandbox/protect.h"
#include "sandbox/sandbox_unit.h"
#include "sandbox/snapshot.h"

static Protect *protect;
static char rules[600], root[600];

static int setup(void **state) {
    (void)state;
    tree_make();
    snprintf(rules, sizeof rules, "%s", tree_path("state/rules"));
    snprintf(root, sizeof root, "%s", tree_path("ws"));
    tree_put("ws/.harness/tools/x.md", "tool x");
    tree_put("ws/.harness/hooks/h.md", "hook");
    tree_put("ws/harness.md", "rules");
    const char *paths[] = { tree_path("ws/.harness"), tree_path("ws/harness.md"), tree_path("ws/tools.json"), tree_path("ws/.git/worktrees/*/commondir"), NULL };
    Error err = { 0 };
    if (!protect_new(root, paths, &protect, &err)) fail_msg("%s", err.msg);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    protect_free(protect);
    protect = NULL;
    tree_remove();
    return 0;
}

static void sh(const char *script) {
    char command[5000];
    snprintf(command, sizeof command, "cd '%s' && (%s) 2>/dev/null", root, script);
    if (system(command) != 0) fail_msg("the test's own script failed: %s", script);
}

static Mark *make(bool busy) {
    Mark *m = NULL;
    Error err = { 0 };
    if (!mark_new(rules, root, &m, &err) || !protect_record(protect, m, &err) || !mark_set(m, busy, &err)) fail_msg("%s", err.msg);
    return m;
}

/* A process that dies while its mark says `busy`. */
static void die(bool busy) {
    pid_t pid = fork();
    if (pid == 0) {
        (void)make(busy);
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
}

static bool recover(bool look_only, Buf *told, Error *err) { return mark_recover(rules, root, root, look_only, told, err); }

static int count(const char *prefix) {
    SnapshotNames names = { 0 };
    int n = 0, dir = open(rules, O_RDONLY | O_DIRECTORY);
    assert_true(snapshot_list(dir, &names));
    for (size_t i = 0; i < names.n; i++) n += strncmp(names.at[i], prefix, strlen(prefix)) == 0;
    snapshot_names_clear(&names);
    close(dir);
    return n;
}

static const char spoil[] = "echo evil > .harness/tools/x.md; rm .harness/hooks/h.md; echo {} > tools.json; mkdir -p .git/worktrees/n; echo /x > .git/worktrees/n/commondir";

static void assert_good(void) {
    assert_string_equal(tree_text("ws/.harness/tools/x.md"), "tool x");
    assert_string_equal(tree_text("ws/.harness/hooks/h.md"), "hook");
    assert_null(tree_text("ws/tools.json"));
    assert_null(tree_text("ws/.git/worktrees/n/commondir"));
}

static void nothing_is_nothing(void **state) {
    (void)state;
    Error err = { 0 };
    Buf told = { 0 };
    assert_true(recover(false, &told, &err));
    mark_free(make(false));
    assert_int_equal(count("mark-"), 0);
    assert_int_equal(count("snapshot-"), 1);
    mark_free(make(false));
    assert_int_equal(count("snapshot-"), 1);
    assert_int_equal(told.n, 0);
}

static void a_dead_busy_one_is_put_back(void **state) {
    (void)state;
    Error err = { 0 };
    Buf told = { 0 };
    die(true);
    sh(spoil);
    assert_false(recover(true, &told, &err));
    if (!recover(false, &told, &err)) fail_msg("%s", err.msg);
    assert_non_null(strstr(told.at, "after a call that did not end in good order: "));
    assert_non_null(strstr(told.at, "tools.json was made by the call and has been removed"));
    assert_non_null(strstr(told.at, "displaced"));
    assert_good();
    assert_int_equal(count("mark-"), 0);
    buf_clear(&told);
}

static void a_dead_idle_one_is_forgotten(void **state) {
    (void)state;
    Error err = { 0 };
    Buf told = { 0 };
    die(false);
    sh("echo mine > .harness/tools/x.md");
    assert_true(recover(false, &told, &err));
    assert_int_equal(told.n, 0);
    assert_string_equal(tree_text("ws/.harness/tools/x.md"), "mine\n");
    assert_int_equal(count("mark-"), 0);
}

/* The lock lasts as long as any copy of the descriptor: a child that holds one is as good as the process itself. */
static void a_live_one_stays(void **state) {
    (void)state;
    Error err = { 0 };
    Buf told = { 0 };
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = 0, pid = fork();
    if (pid == 0) {
        (void)make(true);
        pid_t inner = fork();
        if (inner == 0) pause();
        (void)!write(ready[1], &inner, sizeof inner);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &child, sizeof child), sizeof child);
    waitpid(pid, NULL, 0);
    sh(spoil);
    assert_true(recover(false, &told, &err));
    assert_non_null(strstr(told.at, "while another harness is at work here: "));
    assert_good();
    assert_int_equal(count("mark-"), 1);
    kill(child, SIGKILL);
    for (int i = 0; i < 500 && count("mark-"); i++) {
        usleep(10000);
        assert_true(recover(false, &told, &err));
    }
    assert_int_equal(count("mark-"), 0);
    buf_clear(&told);
    close(ready[0]);
    close(ready[1]);
}

static void another_project_is_left_alone(void **state) {
    (void)state;
    Error err = { 0 };
    Buf told = { 0 };
    die(true);
    sh(spoil);
    assert_true(mark_recover(rules, tree_path("out"), root, false, &told, &err));
    assert_int_equal(told.n, 0);
    assert_int_equal(count("mark-"), 1);
    assert_string_equal(tree_text("ws/.harness/tools/x.md"), "evil\n");
}

/* Over 16 MiB only digests are kept: the same files pass, others wait for a person. */
static void a_large_snapshot_keeps_digests(void **state) {
    (void)state;
    Error err = { 0 };
    Buf told = { 0 };
    sh("head -c 17000000 /dev/urandom > .harness/big");
    protect_free(protect);
    const char *paths[] = { tree_path("ws/.harness"), tree_path("ws/tools.json"), NULL };
    assert_true(protect_new(root, paths, &protect, &err));
    die(true);
    sh("test $(cat ../state/rules/snapshot-* | wc -c) -lt 100000");
    if (!recover(false, &told, &err)) fail_msg("%s", err.msg);
    die(true);
    sh("printf x | dd of=.harness/big bs=1 seek=100 conv=notrunc; printf y | dd of=.harness/big bs=1 seek=101 conv=notrunc; echo {} > tools.json");
    for (int i = 0; i < 2; i++) {
        assert_false(recover(false, &told, &err));
        assert_non_null(strstr(err.msg, ".harness/big was changed by the call and could NOT be put back"));
        assert_non_null(strstr(err.hint, "remove "));
    }
    assert_null(tree_text("ws/tools.json"));
    assert_int_equal(count("mark-"), 1);
}

static void damage_stops(void **state) {
    (void)state;
    Error err = { 0 };
    Buf told = { 0 };
    static const char *const how[] = { "truncate -s 100 ../state/rules/snapshot-*", "rm ../state/rules/snapshot-*", "printf x | dd of=$(echo ../state/rules/snapshot-*) bs=1 seek=900 conv=notrunc",
                                       "truncate -s 10 ../state/rules/mark-*", "chmod 0 ../state/rules/snapshot-*" };
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        if (geteuid() == 0 && strstr(how[i], "chmod")) continue;
        die(true);
        sh(how[i]);
        if (recover(false, &told, &err)) fail_msg("not seen: %s", how[i]);
        assert_non_null(strstr(err.msg, "did not end in good order"));
        sh("rm -rf ../state/rules");
    }
}

/* Killed at any moment of putting back, as often as it likes: the next one finishes. */
static void killed_while_putting_back(void **state) {
    (void)state;
    Error err = { 0 };
    Buf told = { 0 };
    for (int round = 0; round < 5; round++) {
        die(true);
        sh(spoil);
        for (int i = 0; i < 60; i++) {
            pid_t pid = fork();
            if (pid == 0) _exit(recover(false, &told, &err) ? 0 : 1);
            usleep((useconds_t)(i * 37));
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
        if (!recover(false, &told, &err)) fail_msg("%s", err.msg);
        assert_good();
        assert_int_equal(count("mark-"), 0);
        sh("rm -rf .git");
    }
    buf_clear(&told);
}

#ifdef HARNESS_FAULTS
/* Whatever fails while the mark is made, nothing begins; whatever fails while it is looked at, nothing is loaded, or all is as it was. */
static void survives_every_fault(void **state) {
    (void)state;
    for (long nth = 1; ; nth++) {
        Error err = { 0 };
        Mark *m = NULL;
        int fds = tree_open_fds();
        fault_arm(nth);
        bool ok = mark_new(rules, root, &m, &err) && protect_record(protect, m, &err) && mark_set(m, true, &err) && mark_set(m, false, &err);
        bool hit = fault_disarm();
        assert_true(ok || err.msg[0]);
        if (m && !ok) (void)mark_set(m, false, NULL);
        mark_free(m);
        assert_int_equal(tree_open_fds(), fds);
        if (!hit) break;
    }
    for (long nth = 1; ; nth++) {
        Error err = { 0 };
        Buf told = { 0 };
        die(true);
        sh(spoil);
        fault_arm(nth);
        bool ok = recover(false, &told, &err);
        bool hit = fault_disarm();
        if (ok) assert_good();
        for (int i = 0; i < 3 && !ok; i++) ok = recover(false, &told, &err);
        if (!ok) fail_msg("fault %ld: %s", nth, err.msg);
        assert_good();
        buf_clear(&told);
        sh("rm -rf .git");
        if (!hit) break;
    }
}
#endif

static void count_one(void *ctx, int64_t when, Str path, const char *file) {
    (void)file;
    assert_true(when > 1600000000);
    assert_true(str_ends(path, STR(".md")));
    ++*(int *)ctx;
}

static void displaced_versions_are_bounded(void **state) {
    (void)state;
    Error err = { 0 };
    int n = 0;
    protect_displaced(protect, rules);
    sh("mkdir -p ../state/rules/displaced/1000-00000001; echo x > ../state/rules/displaced/1000-00000001/path; echo x > ../state/rules/displaced/1000-00000001/content");
    sh("i=0; while [ $i -lt 600 ]; do echo $i > .harness/tools/n$i.md; i=$((i+1)); done; truncate -s 2M .harness/tools/large.md");
    assert_false(protect_verify(protect, &err));
    displaced_list(rules, count_one, &n);
    assert_int_equal(n, DISPLACED_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_dead_busy_one_is_put_back, setup, teardown),
        cmocka_unit_test_setup_teardown(a_dead_idle_one_is_forgotten, setup, teardown),
        cmocka_unit_test_setup_teardown(a_live_one_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(another_project_is_left_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(a_large_snapshot_keeps_digests, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_stops, setup, teardown),
        cmocka_unit_test_setup_teardown(killed_while_putting_back, setup, teardown),
#ifdef HARNESS_FAULTS
        cmocka_unit_test_setup_teardown(survives_every_fault, setup, teardown),
#endif
        cmocka_unit_test_setup_teardown(displaced_versions_are_bounded, setup, teardown),
    };
    return tree_run(tests);
}
