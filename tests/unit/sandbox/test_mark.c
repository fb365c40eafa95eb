#include "sandbox/mark.h"
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include "base/fault.h"
#include "sandbox/displaced.h"
#include "sandbox/protect.h"
#include "sandbox/sandbox_unit.h"
#include "sandbox/snapshot.h"
#include "sandbox/view.h"

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
    const char *paths[] = { tree_path("ws/.harness"), tree_path("ws/harness.md"), tree_path("ws/tools.json"),
        tree_path("ws/.git/worktrees/*/commondir"), NULL };
    Error err = { 0 };
    if (!protect_new(root, paths, NULL, &protect, &err)) fail_msg("%s", err.msg);
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

/* A process that dies while its mark is `busy`. */
static void die(bool busy) {
    pid_t pid = fork();
    if (pid == 0) {
        (void)make(busy);
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
}

static bool recover(Buf *told, Error *err) {
    return mark_look(&(MarkLook){ .folder = rules, .root = root, .workspace = root, .told = told }, err);
}

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
    assert_true(recover(&told, &err));
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
    Buf diff = { 0 };
    assert_true(mark_look(&(MarkLook){ .folder = rules, .root = root, .workspace = root, .purpose = MARK_READ, .told = &told, .diff = &diff }, &err));
    assert_non_null(strstr(told.at, "the project is shown as it was before"));
    assert_non_null(strstr(diff.at, "-tool x\n\\ No newline at end of file\n+evil\n"));
    assert_non_null(strstr(diff.at, ".harness/hooks/h.md: removed\n"));
    assert_string_equal(tree_text("ws/.harness/tools/x.md"), "evil\n");
    assert_int_equal(count("mark-"), 1);
    buf_clear(&diff);
    buf_clear(&told);
    if (!recover(&told, &err)) fail_msg("%s", err.msg);
    assert_non_null(strstr(told.at, "after a call that did not end properly: "));
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
    assert_true(recover(&told, &err));
    assert_int_equal(told.n, 0);
    assert_string_equal(tree_text("ws/.harness/tools/x.md"), "mine\n");
    assert_int_equal(count("mark-"), 0);
}

/* The lock lasts as long as any copy of the descriptor: a child that holds one counts as the process itself. */
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
    assert_true(recover(&told, &err));
    assert_non_null(strstr(told.at, "while another harness is running a call here: "));
    assert_good();
    assert_int_equal(count("mark-"), 1);
    kill(child, SIGKILL);
    for (int i = 0; i < 500 && count("mark-"); i++) {
        usleep(10000);
        assert_true(recover(&told, &err));
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
    assert_true(mark_look(&(MarkLook){ .folder = rules, .root = tree_path("out"), .workspace = root, .told = &told }, &err));
    assert_int_equal(told.n, 0);
    assert_int_equal(count("mark-"), 1);
    assert_string_equal(tree_text("ws/.harness/tools/x.md"), "evil\n");
}

/* ---- reading the record instead of the disk ---- */

static void look_live(MarkPurpose purpose, View *view, Buf *told) {
    Error err = { 0 };
    if (!mark_look(&(MarkLook){ .folder = rules, .root = root, .workspace = root, .purpose = purpose, .view = view, .told = told },
        &err)) fail_msg("%s", err.msg);
}

static int found(const View *v, const char *path) {
    ViewEntry e;
    return !view_find(v, root, str_from(path), &e) ? -1 : e.node ? e.node->kind : e.error;
}

static void the_view_speaks_for_what_is_protected(void **state) {
    (void)state;
    View view = { 0 };
    Buf told = { 0 };
    ViewEntry e;
    sh("ln -s x.md .harness/tools/l.md; ln -s ../../AGENTS.md .harness/tools/out.md; ln -s ../../../../etc/passwd .harness/tools/far.md; ln -s loop .harness/loop; echo notes > AGENTS.md");
    const char *paths[] = { tree_path("ws/.harness"), tree_path("ws/harness.md"), tree_path("ws/tools.json"), NULL };
    Error err = { 0 };
    protect_free(protect);
    assert_true(protect_new(root, paths, NULL, &protect, &err));
    Mark *m = make(true);
    sh(spoil);
    look_live(MARK_BEGIN, &view, &told);
    assert_int_equal(view.n, 1);
    assert_true(view_find(&view, root, STR(".harness/tools/x.md"), &e));
    assert_true(view_is_content(&e, STR("tool x")));
    assert_false(view_is_content(&e, STR("evil\n")));
    assert_int_equal(found(&view, ".harness/hooks/h.md"), 'f');
    assert_int_equal(found(&view, "./.harness//tools/../hooks/h.md"), 'f');
    assert_int_equal(found(&view, ".harness"), 'd');
    assert_int_equal(found(&view, "tools.json"), ENOENT);
    assert_int_equal(found(&view, ".harness/new"), ENOENT);
    assert_int_equal(found(&view, "harness.md/x"), ENOTDIR);
    assert_int_equal(found(&view, ".harness/tools/l.md"), 'f');
    assert_int_equal(found(&view, ".harness/tools/far.md"), EXDEV);
    assert_int_equal(found(&view, ".harness/loop"), ELOOP);
    assert_int_equal(found(&view, ".harness/tools/out.md"), -1);
    assert_int_equal(found(&view, "AGENTS.md"), -1);
    assert_int_equal(found(&view, ""), -1);
    assert_int_equal(found(&view, "../x"), -1);
    view_clear(&view);
    assert_false(protect_verify(protect, &err));
    assert_true(mark_set(m, false, &err));
    mark_free(m);
}

/* A snapshot taken while another call could write equals that call's mark. */
static void a_snapshot_beside_a_live_mark_agrees_with_it(void **state) {
    (void)state;
    View view = { 0 };
    Buf told = { 0 };
    Error err = { 0 };
    Mark *m = make(true);
    sh(spoil);
    sh("mkdir .harness/new; echo x > .harness/new/y; rm -r .harness/tools; ln -s / .harness/tools; mkdir -p other; echo mine > other/file; chmod 700 harness.md");
    look_live(MARK_BEGIN, &view, &told);
    const char *paths[] = { tree_path("ws/.harness/tools"), tree_path("ws/.harness/new"), tree_path("ws/other"), NULL };
    Protect *p;
    if (!protect_new(root, paths, &view, &p, &err)) fail_msg("%s", err.msg);
    view_clear(&view);
    sh("echo more > other/more");
    assert_false(protect_verify(p, &err));
    assert_good();
    assert_null(tree_text("ws/.harness/new/y"));
    assert_string_equal(tree_text("ws/other/file"), "mine\n");
    assert_null(tree_text("ws/other/more"));
    assert_true(protect_same(p, NULL));
    assert_true(protect_same(protect, NULL));
    protect_free(p);
    assert_true(mark_set(m, false, &err));
    mark_free(m);
}

static void a_moved_project_is_found(void **state) {
    (void)state;
    Error err = { 0 };
    Buf told = { 0 };
    die(true);
    sh(spoil);
    sh("mkdir -p ../deep/er && mv ../ws ../deep/er/new && mkdir ../ws");
    char now[700];
    snprintf(now, sizeof now, "%s", tree_path("deep/er/new"));
    if (!mark_look(&(MarkLook){ .folder = rules, .root = now, .workspace = now, .told = &told }, &err)) fail_msg("%s", err.msg);
    assert_non_null(strstr(told.at, "tools.json was made by the call and has been removed"));
    assert_string_equal(tree_text("deep/er/new/.harness/tools/x.md"), "tool x");
    assert_null(tree_text("deep/er/new/tools.json"));
    assert_null(tree_text("ws/harness.md"));
    assert_int_equal(count("mark-"), 0);
    buf_clear(&told);
}

static bool answer_keep(void *ctx, const MarkDifference *d) {
    assert_non_null(strstr(d->diff.at, "+evil\n"));
    sh("echo later > .harness/tools/x.md");               /* after it was shown: not what the user accepted */
    return *(bool *)ctx;
}

static void a_person_keeps_what_was_shown(void **state) {
    (void)state;
    Error err = { 0 };
    Buf told = { 0 };
    bool keep = true;
    MarkLook look = { .folder = rules, .root = root, .workspace = root, .told = &told, .ask = answer_keep, .ask_ctx = &keep };
    Mark *m = make(true);
    sh(spoil);
    if (!mark_look(&look, &err)) fail_msg("%s", err.msg);
    assert_string_equal(tree_text("ws/.harness/tools/x.md"), "evil\n");
    assert_null(tree_text("ws/.harness/hooks/h.md"));
    protect_follow(protect, m);
    assert_true(protect_verify(protect, &err) || !strstr(err.msg, "x.md"));
    assert_string_equal(tree_text("ws/.harness/tools/x.md"), "evil\n");
    assert_true(mark_set(m, false, &err));
    mark_free(m);
    buf_clear(&told);
}

static void while_loading_nothing_becomes_busy(void **state) {
    (void)state;
    Error err = { 0 };
    int first, second;
    assert_true(mark_hold(rules, root, MARK_SHARED, &first, &err));
    assert_int_equal(first, -1);                           /* no call was ever started */
    mark_free(make(false));
    assert_true(mark_hold(rules, root, MARK_ALONE, &first, &err));
    mark_release(first);
    assert_true(mark_hold(rules, root, MARK_SHARED, &first, &err));
    assert_true(mark_hold(rules, root, MARK_SHARED, &second, &err));
    mark_release(second);
    assert_true(mark_hold(rules, tree_path("out"), MARK_ALONE, &second, &err));      /* another project */
    mark_release(second);
    pid_t pid = fork();
    if (pid == 0) {
        close(first);                                      /* the parent still holds the lock */
        _exit(mark_hold(rules, root, MARK_ALONE, &second, &err) ? 0 : 1);
    }
    usleep(100000);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    mark_release(first);
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

/* Above 16 MiB only digests are stored: unchanged files pass, the user must resolve changes. */
static void a_large_snapshot_keeps_digests(void **state) {
    (void)state;
    Error err = { 0 };
    Buf told = { 0 };
    sh("head -c 17000000 /dev/urandom > .harness/big");
    protect_free(protect);
    const char *paths[] = { tree_path("ws/.harness"), tree_path("ws/tools.json"), NULL };
    assert_true(protect_new(root, paths, NULL, &protect, &err));
    die(true);
    sh("test $(cat ../state/rules/snapshot-* | wc -c) -lt 100000");
    if (!recover(&told, &err)) fail_msg("%s", err.msg);
    die(true);
    sh("printf x | dd of=.harness/big bs=1 seek=100 conv=notrunc; printf y | dd of=.harness/big bs=1 seek=101 conv=notrunc; echo {} > tools.json");
    for (int i = 0; i < 2; i++) {
        assert_false(recover(&told, &err));
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
    static const char *const how[] = { "truncate -s 100 ../state/rules/snapshot-*", "rm ../state/rules/snapshot-*",
        "printf x | dd of=$(echo ../state/rules/snapshot-*) bs=1 seek=900 conv=notrunc",
                                       "truncate -s 10 ../state/rules/mark-*", "chmod 0 ../state/rules/snapshot-*" };
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        if (geteuid() == 0 && strstr(how[i], "chmod")) continue;
        die(true);
        sh(how[i]);
        if (recover(&told, &err)) fail_msg("not seen: %s", how[i]);
        assert_non_null(strstr(err.msg, "did not end properly"));
        sh("rm -rf ../state/rules");
    }
}

/* Killed repeatedly at any point of restoring: the next start finishes. */
static void killed_while_putting_back(void **state) {
    (void)state;
    Error err = { 0 };
    Buf told = { 0 };
    for (int round = 0; round < 5; round++) {
        die(true);
        sh(spoil);
        for (int i = 0; i < 60; i++) {
            pid_t pid = fork();
            if (pid == 0) _exit(recover(&told, &err) ? 0 : 1);
            usleep((useconds_t)(i * 37));
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
        if (!recover(&told, &err)) fail_msg("%s", err.msg);
        assert_good();
        assert_int_equal(count("mark-"), 0);
        sh("rm -rf .git");
    }
    buf_clear(&told);
}

#ifdef HARNESS_FAULTS
/* The same, at each step instead of at random: the restoring process dies at its first step, then at its second, and so
 * on. Each time the next one finishes, or is killed at the same step in turn. */
static void killed_at_every_step_of_putting_back(void **state) {
    (void)state;
    bool survived = false;
    for (long nth = 1; !survived; nth++) {
        Error err = { 0 };
        Buf told = { 0 };
        die(true);
        sh(spoil);
        for (int again = 0; again < 2; again++) {
            pid_t pid = fork();
            int status = 0;
            if (pid == 0) {
                fault_arm_kill(nth);
                _exit(recover(&told, &err) ? 0 : 1);
            }
            waitpid(pid, &status, 0);
            survived = again == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
            if (survived) break;
        }
        if (!recover(&told, &err)) fail_msg("step %ld: %s", nth, err.msg);
        assert_good();
        assert_int_equal(count("mark-"), 0);
        buf_clear(&told);
        if (nth > 2000) fail_msg("it does not end");
    }
}

/* A process that dies at any step of making its mark busy leaves nothing, or a mark from which the next process recovers. */
static void killed_at_every_step_of_beginning(void **state) {
    (void)state;
    for (long nth = 1; ; nth++) {
        Error err = { 0 };
        Buf told = { 0 };
        pid_t pid = fork();
        int status = 0;
        if (pid == 0) {
            Mark *m = NULL;
            int lock;
            fault_arm_kill(nth);
            bool ok = mark_new(rules, root, &m, &err) && mark_hold(rules, root, MARK_ALONE, &lock, &err) && protect_record(protect, m, &err)
                && mark_set(m, true, &err);
            if (ok) sh(spoil);
            if (ok) (void)protect_verify(protect, &err);
            _exit(ok && protect_same(protect, NULL) && mark_set(m, false, &err) ? 0 : 1);
        }
        waitpid(pid, &status, 0);
        if (!recover(&told, &err)) fail_msg("step %ld: %s", nth, err.msg);
        assert_good();
        assert_int_equal(count("mark-"), 0);
        buf_clear(&told);
        if (WIFEXITED(status)) {
            assert_int_equal(WEXITSTATUS(status), 0);
            break;
        }
    }
}

/* If creating the mark fails at any step, no work starts; if examining it fails, nothing is loaded, or everything is
 * unchanged. */
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
        bool ok = recover(&told, &err);
        bool hit = fault_disarm();
        if (ok) assert_good();
        for (int i = 0; i < 3 && !ok; i++) ok = recover(&told, &err);
        if (!ok) fail_msg("fault %ld: %s", nth, err.msg);
        assert_good();
        buf_clear(&told);
        sh("rm -rf .git");
        if (!hit) break;
    }
}
#endif

static void count_one(void *ctx, const Displaced *d) {
    assert_true(d->when > 1600000000);
    assert_true(str_ends(d->path, STR(".md")));
    assert_true(str_eq(d->project, str_from(root)));
    ++*(int *)ctx;
}

static void displaced_versions_are_bounded(void **state) {
    (void)state;
    Error err = { 0 };
    int n = 0;
    protect_displaced(protect, rules, root);
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
        cmocka_unit_test_setup_teardown(the_view_speaks_for_what_is_protected, setup, teardown),
        cmocka_unit_test_setup_teardown(a_snapshot_beside_a_live_mark_agrees_with_it, setup, teardown),
        cmocka_unit_test_setup_teardown(a_moved_project_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(a_person_keeps_what_was_shown, setup, teardown),
        cmocka_unit_test_setup_teardown(while_loading_nothing_becomes_busy, setup, teardown),
        cmocka_unit_test_setup_teardown(a_large_snapshot_keeps_digests, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_stops, setup, teardown),
        cmocka_unit_test_setup_teardown(killed_while_putting_back, setup, teardown),
#ifdef HARNESS_FAULTS
        cmocka_unit_test_setup_teardown(killed_at_every_step_of_putting_back, setup, teardown),
        cmocka_unit_test_setup_teardown(killed_at_every_step_of_beginning, setup, teardown),
        cmocka_unit_test_setup_teardown(survives_every_fault, setup, teardown),
#endif
        cmocka_unit_test_setup_teardown(displaced_versions_are_bounded, setup, teardown),
    };
    return tree_run(tests);
}
