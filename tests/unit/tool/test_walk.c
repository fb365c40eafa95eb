#include "tool/tree.h"
#include <pthread.h>
#include <sys/time.h>
#include "base/clock.h"
#include "base/fault.h"
#include "base/vec.h"
#include "tool/builtin/glob_files.h"
#include "tool/builtin/walk.h"

/* ---- what a walk sees ---- */

typedef struct { pthread_mutex_t lock; VEC(char *) seen; size_t stop_after; Cancel *cancel; } Seen;

static WalkNext see(void *state, const WalkEntry *e) {
    Seen *s = state;
    struct stat st;
    assert_int_equal(fstatat(e->dir, e->name, &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(e->type != 'f' || S_ISREG(st.st_mode));
    pthread_mutex_lock(&s->lock);
    char *text = malloc(e->path.n + 3);
    sprintf(text, "%s%s", e->path.at, e->type == 'd' ? "/" : e->type == 'l' ? "@" : e->type == 'o' ? "=" : "");
    VEC_PUSH(&s->seen, text);
    size_t n = s->seen.n;
    pthread_mutex_unlock(&s->lock);
    if (s->cancel) cancel_fire(s->cancel);
    return s->stop_after && n >= s->stop_after ? WALK_STOP : WALK_ON;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static Str joined(Seen *s, Buf *out) {
    buf_reset(out);
    if (s->seen.n) qsort(s->seen.at, s->seen.n, sizeof *s->seen.at, by_text);
    for (size_t i = 0; i < s->seen.n; i++) {
        buf_add_fmt(out, "%s%s", i ? " " : "", s->seen.at[i]);
        free(s->seen.at[i]);
    }
    VEC_CLEAR(&s->seen);
    return buf_str(out);
}

static Tree sample(void) {
    Tree t = tree_new();
    static const char *const files[] = { "a.c", "b.o", ".hidden", "src/a.c", "src/x/deep.c", "src/x/skip.c", "build/out", ".git/config",
        ".dir/a", "src/.git/x", "node/m/a.js" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) tree_text(&t, files[i], "x");
    tree_text(&t, ".gitignore", "*.o\n/build/\n");
    tree_text(&t, "src/x/.ignore", "skip.c\n");
    tree_text(&t, ".git/info/exclude", "node\n");
    assert_int_equal(symlinkat("src", t.fd, "link"), 0);
    assert_int_equal(symlinkat("/etc", t.fd, "src/out"), 0);
    assert_int_equal(symlinkat("a.c", t.fd, "alias.c"), 0);
    assert_int_equal(mkfifoat(t.fd, "fifo", 0644), 0);
    return t;
}

static void sees_what_counts(void **state) {
    (void)state;
    Tree t = sample();
    static const struct { const char *start; bool hidden, no_ignore, folders; unsigned depth; const char *seen; } cases[] = {
        { "", false, false, false, 0, "a.c src/a.c src/x/deep.c" },
        { "", true, false, false, 0, ".dir/a .gitignore .hidden a.c src/a.c src/x/.ignore src/x/deep.c" },
        { "", false, true, false, 0, "a.c b.o build/out node/m/a.js src/a.c src/x/deep.c src/x/skip.c" },
        { "", false, false, true, 0, "a.c alias.c@ fifo= link@ src/ src/a.c src/out@ src/x/ src/x/deep.c" },
        { "", false, false, false, 1, "a.c" },
        { "", false, false, false, 2, "a.c src/a.c" },
        { "src", false, false, false, 0, "src/a.c src/x/deep.c" },
        { "src/x", false, false, false, 0, "src/x/deep.c" },
        { "build", false, false, false, 0, "build/out" },                    /* requested by name */
        { "node/m", false, false, false, 0, "node/m/a.js" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned threads = 1; threads <= 4; threads += 3) {
            Seen seen = { .lock = PTHREAD_MUTEX_INITIALIZER };
            WalkInput in = { .root = t.fd, .start = str_from(cases[i].start), .hidden = cases[i].hidden, .no_ignore = cases[i].no_ignore,
                             .folders = cases[i].folders, .max_depth = cases[i].depth, .threads = threads, .visit = see, .state = &seen };
            WalkReport report;
            Buf text = { 0 };
            assert_true(walk_tree(&in, NULL, &report, NULL));
            assert_str(joined(&seen, &text), cases[i].seen);
            assert_int_equal(report.unreadable, 0);
            buf_clear(&text);
        }
    tree_free(&t);
}

static void refuses_other_starts(void **state) {
    (void)state;
    Tree t = sample();
    static const char *const starts[] = { "absent", "link", "link/x", "src/out", "a.c", "..", "src/../..", "/etc", "fifo" };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        Seen seen = { .lock = PTHREAD_MUTEX_INITIALIZER };
        Error err = { 0 };
        WalkInput in = { .root = t.fd, .start = str_from(starts[i]), .visit = see, .state = &seen };
        assert_false(walk_tree(&in, NULL, NULL, &err));
        assert_int_equal(err.kind, ERR_IO);
        assert_int_equal(seen.seen.n, 0);
    }
    tree_free(&t);
}

static bool no_x(void *state, Str path, bool folder) {
    (void)state, (void)folder;
    return !str_eq(path, STR("src/x")) && !str_eq(path, STR("a.c"));
}

static void asks_what_may_be_seen(void **state) {
    (void)state;
    Tree t = sample();
    Seen seen = { .lock = PTHREAD_MUTEX_INITIALIZER };
    Buf text = { 0 };
    assert_true(walk_tree(&(WalkInput){ .root = t.fd, .visit = see, .may_see = no_x, .state = &seen }, NULL, NULL, NULL));
    assert_str(joined(&seen, &text), "src/a.c");
    buf_clear(&text);
    tree_free(&t);
}

static void ends_early(void **state) {
    (void)state;
    Tree t = tree_new();
    char path[64];
    for (int i = 0; i < 2000; i++) {
        snprintf(path, sizeof path, "d%d/f%d", i % 50, i);
        tree_text(&t, path, "");
    }
    size_t fds = tree_open_fds();
    Buf text = { 0 };
    Seen seen = { .lock = PTHREAD_MUTEX_INITIALIZER, .stop_after = 5 };
    assert_true(walk_tree(&(WalkInput){ .root = t.fd, .threads = 4, .visit = see, .state = &seen }, NULL, NULL, NULL));
    assert_true(seen.seen.n >= 5 && seen.seen.n < 100);
    joined(&seen, &text);
    Error err = { 0 };
    seen = (Seen){ .lock = PTHREAD_MUTEX_INITIALIZER, .cancel = cancel_new(NULL, 0) };
    assert_false(walk_tree(&(WalkInput){ .root = t.fd, .threads = 4, .visit = see, .state = &seen }, seen.cancel, NULL, &err));
    assert_int_equal(err.kind, ERR_CANCELLED);
    assert_true(seen.seen.n < 1000);
    cancel_free(seen.cancel);
    joined(&seen, &text);
    Cancel *late = cancel_new(NULL, 1);
    seen = (Seen){ .lock = PTHREAD_MUTEX_INITIALIZER };
    assert_false(walk_tree(&(WalkInput){ .root = t.fd, .visit = see, .state = &seen }, late, NULL, &err));
    assert_int_equal(err.kind, ERR_TIMEOUT);
    cancel_free(late);
    joined(&seen, &text);
    assert_int_equal(tree_open_fds(), fds);
    buf_clear(&text);
    tree_free(&t);
}

static void counts_what_is_too_deep(void **state) {
    (void)state;
    Tree t = tree_new();
    int dir = dup(t.fd);
    for (int i = 0; i < WALK_DEPTH_MAX + 10; i++) {
        assert_int_equal(mkdirat(dir, "d", 0755), 0);
        int next = openat(dir, "d", O_RDONLY | O_DIRECTORY);
        close(dir);
        dir = next;
    }
    close(dir);
    tree_text(&t, "d/d/file", "");
    Seen seen = { .lock = PTHREAD_MUTEX_INITIALIZER };
    WalkReport report;
    Buf text = { 0 };
    assert_true(walk_tree(&(WalkInput){ .root = t.fd, .visit = see, .state = &seen }, NULL, &report, NULL));
    assert_str(joined(&seen, &text), "d/d/file");
    assert_int_equal(report.unreadable, 1);
    buf_clear(&text);
    tree_free(&t);
}

/* ---- glob_files ---- */

static void set_time(const Tree *t, const char *path, long seconds) {
    struct timespec times[2] = { { .tv_sec = seconds }, { .tv_sec = seconds } };
    assert_int_equal(utimensat(t->fd, path, times, 0), 0);
}

static void finds_newest_first(void **state) {
    (void)state;
    Tree t = sample();
    set_time(&t, "a.c", 100);
    set_time(&t, "src/a.c", 300);
    set_time(&t, "src/x/deep.c", 200);
    static const struct { const char *start, *pattern; bool hidden; size_t limit; const char *files; bool truncated; } cases[] = {
        { "", "**/*.c", false, 0, "src/a.c src/x/deep.c a.c", false },
        { "", "*.c", false, 0, "a.c", false },
        { "", "**/*.c", false, 2, "src/a.c src/x/deep.c", true },
        { "", "**/*.c", false, 3, "src/a.c src/x/deep.c a.c", false },
        { "src", "*.c", false, 0, "src/a.c", false },
        { "src", "**", false, 0, "src/a.c src/x/deep.c", false },
        { "", "src/", false, 0, "src/a.c src/x/deep.c", false },
        { "", "{a,src/a}.c", false, 0, "src/a.c a.c", false },
        { "", "nothing", false, 0, "", false },
        { "", "src", false, 0, "", false },
        { "", "link/*.c", false, 0, "", false },
        { "", ".hidden", false, 0, ".hidden", false },
        { "", "*", true, 0, ".gitignore .hidden a.c", false },
        { "", ".git/**", true, 0, "", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena = { 0 };
        Buf text = { 0 };
        GlobFilesResult out;
        Error err = { 0 };
        if (i == 12) set_time(&t, ".gitignore", 900), set_time(&t, ".hidden", 800);
        GlobFilesInput in = { .root = t.fd, .start = str_from(cases[i].start), .pattern = str_from(cases[i].pattern), .hidden = cases[i].hidden,
                              .limit = cases[i].limit, .threads = 1 + (unsigned)i % 4 };
        if (!glob_files(&in, NULL, &arena, &out, &err)) fail_msg("%s: %s", cases[i].pattern, err.msg);
        for (size_t k = 0; k < out.n; k++) buf_add_fmt(&text, "%s" STR_FMT, k ? " " : "", STR_ARG(out.files[k].path));
        assert_str(buf_str(&text), cases[i].files);
        assert_int_equal(out.truncated, cases[i].truncated);
        buf_clear(&text);
        arena_clear(&arena);
    }
    tree_free(&t);
}

/* More files than the limit, on several threads: always the same ones. */
static void keeps_the_newest(void **state) {
    (void)state;
    Tree t = tree_new();
    char path[64];
    for (int i = 0; i < 600; i++) {
        snprintf(path, sizeof path, "d%d/f%03d", i % 7, i);
        tree_text(&t, path, "");
        set_time(&t, path, 1000 + i / 2);
    }
    for (unsigned threads = 1; threads <= 4; threads++) {
        Arena arena = { 0 };
        GlobFilesResult out;
        assert_true(glob_files(&(GlobFilesInput){ .root = t.fd, .pattern = STR("**"), .limit = 50, .threads = threads }, NULL, &arena, &out, NULL));
        assert_int_equal(out.n, 50);
        assert_true(out.truncated);
        for (size_t i = 0; i < out.n; i++) {
            assert_int_equal(out.files[i].modified_ns / 1000000000, 1000 + (599 - (int)i) / 2);
            if (i % 2) assert_true(str_cmp(out.files[i - 1].path, out.files[i].path) < 0);
        }
        arena_clear(&arena);
    }
    tree_free(&t);
}

static void refuses_bad_patterns(void **state) {
    (void)state;
    Tree t = tree_new();
    static const struct { const char *pattern, *message; } cases[] = {
        { "", "the pattern is empty" }, { "../x", "glob: at 1: .. is not allowed in a pattern" }, { "a/../b", "glob: at 3: .. is not allowed in a pattern" },
        { "{a,..}/b", "glob: at 4: .. is not allowed in a pattern" }, { "[x", "glob: at 1: [ is not closed" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena = { 0 };
        Error err = { 0 };
        GlobFilesResult out;
        assert_false(glob_files(&(GlobFilesInput){ .root = t.fd, .pattern = str_from(cases[i].pattern) }, NULL, &arena, &out, &err));
        assert_string_equal(err.msg, cases[i].message);
        arena_clear(&arena);
    }
    tree_free(&t);
}

/* Every step that can fail fails once: an error, or a folder that was skipped and counted; no descriptor leaks. */
static void survives_faults(void **state) {
    (void)state;
#ifdef HARNESS_FAULTS
    Tree t = sample();
    size_t fds = tree_open_fds();
    for (long nth = 1;; nth++) {
        Arena arena = { 0 };
        GlobFilesResult out = { 0 };
        Error err = { 0 };
        fault_arm(nth);
        bool ok = glob_files(&(GlobFilesInput){ .root = t.fd, .start = STR("src"), .pattern = STR("**"), .threads = 1 }, NULL, &arena, &out, &err);
        bool hit = fault_disarm();
        assert_int_equal(tree_open_fds(), fds);
        assert_true(ok || err.msg[0]);
        arena_clear(&arena);
        if (!hit) break;
        assert_true(nth < 1000);
    }
    tree_free(&t);
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sees_what_counts), cmocka_unit_test(refuses_other_starts), cmocka_unit_test(asks_what_may_be_seen),
        cmocka_unit_test(ends_early), cmocka_unit_test(counts_what_is_too_deep), cmocka_unit_test(finds_newest_first),
        cmocka_unit_test(keeps_the_newest), cmocka_unit_test(refuses_bad_patterns), cmocka_unit_test(survives_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
