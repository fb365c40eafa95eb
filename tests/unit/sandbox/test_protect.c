#include "sandbox/protect.h"
#include <sys/mman.h>
#include <time.h>
#include "base/fault.h"
#include "sandbox/sandbox_unit.h"

static Protect *protect;

static Protect *take(void) {
    Protect *p = NULL;
    Error err = { 0 };
    const char *paths[] = { tree_path("ws/.harness"), tree_path("ws/harness.yaml"), tree_path("ws/pkg/deep/harness.yaml"),
                            tree_path("ws/later/on/harness.yaml"), tree_path("ws/via/link.md"), tree_path("ws/missing.md"), NULL };
    if (!protect_new(tree_path("ws"), paths, NULL, &p, &err)) fail_msg("%s", err.msg);
    return p;
}

static int setup(void **state) {
    (void)state;
    tree_make();
    tree_put("ws/.harness/tools/x.md", "tool x");
    tree_put("ws/.harness/tools/y.md", "tool y");
    tree_put("ws/.harness/hooks/h.md", "hook");
    tree_put("ws/.harness/run.sh", "#!/bin/sh\n");
    chmod(tree_path("ws/.harness/run.sh"), 0755);
    tree_link("tools/x.md", "ws/.harness/latest");
    tree_put("ws/harness.yaml", "name: n");
    tree_put("ws/pkg/deep/harness.yaml", "deep");
    tree_put("ws/pkg/code.c", "code");
    tree_put("ws/real/link.md", "linked");
    tree_link("real", "ws/via");
    tree_put("out/other", "other");
    protect = take();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    protect_free(protect);
    tree_remove();
    return 0;
}

static void sh(const char *script) {
    char command[5000];
    snprintf(command, sizeof command, "cd '%s' && (%s) 2>/dev/null", tree_path("ws"), script);
    if (system(command) != 0) fail_msg("the test's own script failed: %s", script);
}

/* What the call does, and the report: every word of `says` in that order. */
static const struct { const char *script, *says; } cases[] = {
    { "echo evil > .harness/tools/x.md", ".harness/tools/x.md was changed by the call and has been put back" },
    { "printf 'TOOL X' > .harness/tools/x.md", ".harness/tools/x.md was changed" },
    { "printf 'TOOL X' > .harness/tools/x.md; touch -d @1000000000 .harness/tools/x.md", ".harness/tools/x.md was changed" },
    { "touch -r .harness/tools/x.md ../ref; printf 'TOOL X' > .harness/tools/x.md; touch -r ../ref .harness/tools/x.md", "x.md was changed" },
    { "printf 'TOOL X' | dd of=.harness/tools/x.md conv=notrunc", ".harness/tools/x.md was changed" },
    { "rm .harness/tools/x.md", ".harness/tools/x.md was removed by the call and has been put back" },
    { "mv .harness/tools/x.md moved", ".harness/tools/x.md was removed" },
    { "mv .harness/tools/x.md t; mv .harness/tools/y.md .harness/tools/x.md; mv t .harness/tools/y.md", "x.md was changed" },
    { "rm .harness/tools/x.md; ln -s ../../../out/other .harness/tools/x.md", "x.md was replaced" },
    { "rm .harness/tools/x.md; mkdir -p .harness/tools/x.md/sub/sub; touch .harness/tools/x.md/sub/f", "x.md was replaced" },
    { "rm .harness/tools/x.md; mkfifo .harness/tools/x.md", "x.md was replaced" },
    { "ln .harness/tools/x.md alias; echo more >> alias", ".harness/tools/x.md was changed" },
    { "echo new > .harness/tools/z.md", ".harness/tools/z.md was made by the call and has been removed" },
    { "mkdir -p .harness/a/b/c; touch .harness/a/b/c/d; chmod 0 .harness/a/b/c .harness/a", ".harness/a was made" },
    { "ln -s /etc/passwd .harness/p", ".harness/p was made" },
    { "mkfifo .harness/fifo", ".harness/fifo was made" },
    { "chmod 777 .harness/run.sh", ".harness/run.sh was changed" },
    { "chmod 0 .harness/run.sh", ".harness/run.sh was changed" },
    { "chmod 0 .harness/tools; chmod 0 .harness", ".harness/tools was changed" },
    { "chmod 777 .harness", ".harness was changed" },
    { "mv .harness gone", ".harness was removed" },
    { "rm -rf .harness", ".harness was removed" },
    { "mv .harness gone; ln -s gone .harness", ".harness was replaced" },
    { "mv .harness gone; ln -s ../out .harness", ".harness was replaced" },
    { "mv .harness gone; echo x > .harness", ".harness was replaced" },
    { "mv .harness gone; mkdir .harness", ".harness/hooks was removed" },
    { "cp -a .harness gone; mv .harness x; mv gone .harness; echo 1 >> .harness/hooks/h.md", "h.md was changed" },
    { "mv .harness/tools .harness/hooks/tools", "/hooks/tools was made" },
    { "rm .harness/latest; ln -s tools/y.md .harness/latest", ".harness/latest was changed" },
    { "rm .harness/latest; cp .harness/tools/x.md .harness/latest", ".harness/latest was replaced" },
    { "echo evil > harness.yaml", "harness.yaml was changed" },
    { "mv harness.yaml old.yaml; ln -s old.yaml harness.yaml", "harness.yaml was replaced" },
    { "echo evil > missing.md", "missing.md was made by the call and has been removed" },
    { "mkdir missing.md; touch missing.md/x", "missing.md was made" },
    { "ln -s real/link.md missing.md", "missing.md was made" },
    { "ln -s nowhere missing.md", "missing.md was made" },
    { "mkdir -p later/on; echo x > later/on/harness.yaml", "later/on/harness.yaml was made" },
    { "mkdir -p there/on; echo x > there/on/harness.yaml; ln -s there later", "later was made" },
    { "mkdir -p later there; echo x > there/harness.yaml; ln -s ../there later/on", "later/on was made" },
    { "mv pkg pkg2", "pkg was removed" },
    { "mv pkg pkg2; ln -s pkg2 pkg", "pkg was replaced" },
    { "mv pkg pkg2; echo file > pkg", "pkg was replaced" },
    { "mv pkg/deep pkg/deeper; mkdir pkg/deep; echo x > pkg/deep/harness.yaml", "pkg/deep/harness.yaml was changed" },
    { "rm -r pkg", "pkg was removed" },
    { "echo evil > pkg/deep/harness.yaml; chmod 0 pkg", "pkg was made inaccessible by the call and has been made accessible again" },
    { "chmod 100 pkg/deep", "pkg/deep was made inaccessible" },
    { "rm via; ln -s pkg via", "via was changed" },
    { "rm via", "via was removed" },
    { "rm via; mkdir via; echo evil > via/link.md", "via was replaced" },
    { "echo evil > real/link.md", "real/link.md was changed" },
};

static void assert_as_it_was(const char *script) {
    static const struct { const char *path, *text; } files[] = {
        { "ws/.harness/tools/x.md", "tool x" }, { "ws/.harness/tools/y.md", "tool y" }, { "ws/.harness/hooks/h.md", "hook" },
        { "ws/.harness/run.sh", "#!/bin/sh\n" }, { "ws/.harness/latest", "tool x" }, { "ws/harness.yaml", "name: n" },
        { "ws/pkg/deep/harness.yaml", "deep" }, { "ws/via/link.md", "linked" }, { "out/other", "other" },
        { "ws/missing.md", NULL }, { "ws/later/on/harness.yaml", NULL }, { "ws/.harness/p", NULL },
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *text = tree_text(files[i].path);
        if (!files[i].text ? text != NULL : !text || strcmp(text, files[i].text) != 0)
            fail_msg("%s: %s is \"%s\"", script, files[i].path, text ? text : "(missing)");
    }
    struct stat st;
    stat(tree_path("ws/.harness/run.sh"), &st);
    assert_int_equal(st.st_mode & 07777, 0755);
    stat(tree_path("ws/.harness"), &st);
    assert_int_equal(st.st_mode & 07777, 0755);
    lstat(tree_path("ws/.harness/latest"), &st);
    assert_true(S_ISLNK(st.st_mode));
    lstat(tree_path("ws/via"), &st);
    assert_true(S_ISLNK(st.st_mode));
    sh("test \"$(ls .harness .harness/tools | tr '\\n' ' ')\" = '.harness: hooks latest run.sh tools  .harness/tools: x.md y.md '");
}

static void puts_back_whatever_a_call_did(void **state) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Error err = { 0 };
        if (!protect_verify(protect, &err)) fail_msg("before %s: %s", cases[i].script, err.msg);
        sh(cases[i].script);
        if (protect_same(protect, NULL)) fail_msg("not seen: %s", cases[i].script);
        if (protect_verify(protect, &err)) fail_msg("not seen: %s", cases[i].script);
        if (!strstr(err.msg, cases[i].says) || strstr(err.msg, "NOT")) fail_msg("%s: %s", cases[i].script, err.msg);
        assert_int_equal(err.kind, ERR_SANDBOX);
        assert_true(str_starts(str_from(err.msg), STR("sandbox.tampered: ")));
        assert_as_it_was(cases[i].script);
        if (!protect_verify(protect, &err)) fail_msg("after %s: %s", cases[i].script, err.msg);
        assert_false(tree_has_litter("ws"));
        teardown(state);
        setup(state);
    }
}

static void leaves_the_rest_alone(void **state) {
    (void)state;
    static const char *const scripts[] = {
        "true", "echo x > new; mkdir -p later/on other; echo y > pkg/deep/more; echo z > pkg/code.c", "ln -s pkg later2",
        "touch .harness/tools/x.md",
        "cp -p .harness/tools/x.md t; mv t .harness/tools/x.md",    /* the same content in another file */
        "cat .harness/tools/x.md > ../t; cat ../t > .harness/tools/x.md", "mkdir deep; mv pkg/code.c deep",
        "rm -r later; ln -s nowhere later", "rm later; echo file > later", "mv real/link.md t; mv t real/link.md",
    };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        Error err = { 0 };
        sh(scripts[i]);
        if (!protect_verify(protect, &err)) fail_msg("%s: %s", scripts[i], err.msg);
    }
    assert_string_equal(tree_text("ws/new"), "x\n");
}

/* Files that the call moved away or put in the place of others are not lost. */
static void loses_no_other_files(void **state) {
    (void)state;
    sh("mv pkg pkg2; echo precious > pkg");
    assert_false(protect_verify(protect, NULL));
    sh("grep -q precious pkg.displaced-*");
    assert_string_equal(tree_text("ws/pkg2/code.c"), "code");
}

static void keeps_files_that_cannot_be_read(void **state) {
    (void)state;
    if (geteuid() == 0) return;
    sh("chmod 0 .harness/tools/x.md");
    Protect *p = take();
    Error err = { 0 };
    assert_true(protect_verify(p, &err));
    sh("chmod 600 .harness/tools/x.md; echo evil > .harness/tools/x.md; chmod 0 .harness/tools/x.md");
    assert_false(protect_verify(p, &err));
    assert_non_null(strstr(err.msg, "could NOT be put back"));
    protect_free(p);
}

static char *map_shared(const char *path) {
    int fd = open(tree_path(path), O_RDWR);
    char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    assert_ptr_not_equal(at, MAP_FAILED);
    return at;
}

/* A page that is already dirty accepts further stores without a new time. */
static void sees_a_store_through_a_mapping(void **state) {
    (void)state;
    Error err = { 0 };
    char *at = map_shared("ws/.harness/tools/x.md");
    at[0] = *(volatile char *)at;
    Protect *p = take();
    sh("sleep 0.1");
    assert_true(protect_verify(p, &err));
    at[0] = 'T';
    assert_false(protect_same(p, NULL));
    assert_false(protect_verify(p, &err));
    assert_non_null(strstr(err.msg, ".harness/tools/x.md was changed by the call and has been put back"));
    assert_string_equal(tree_text("ws/.harness/tools/x.md"), "tool x");
    protect_free(p);
    munmap(at, 4096);
}

/* A touched file gets a new inode: descriptors and mappings no longer refer to it, even without a further
 * comparison. */
static void leaves_no_way_to_a_touched_file(void **state) {
    (void)state;
    Error err = { 0 };
    char *at = map_shared("ws/.harness/tools/x.md");
    int fd = open(tree_path("ws/harness.yaml"), O_WRONLY);
    sh("sleep 0.1");
    at[0] = *(volatile char *)at;
    assert_int_equal(pwrite(fd, "n", 1, 0), 1);
    for (int i = 0; i < 2; i++) {
        if (!protect_verify(protect, &err)) fail_msg("%s", err.msg);
        sh("sleep 0.1");
    }
    assert_int_equal(pwrite(fd, "evil", 4, 0), 4);
    assert_string_equal(tree_text("ws/harness.yaml"), "name: n");
    memcpy(at, "TOOL", 4);                             /* on tmpfs the earlier store did not change the time, so
                                                        * that the file is still mapped and this is restored */
    protect_verify(protect, &err);
    memcpy(at, "LOOT", 4);
    assert_string_equal(tree_text("ws/.harness/tools/x.md"), "tool x");
    assert_true(protect_verify(protect, &err));
    assert_false(tree_has_litter("ws"));
    munmap(at, 4096);
    close(fd);
}

static void has_limits(void **state) {
    (void)state;
    Error err = { 0 };
    Protect *p = NULL;
    sh("truncate -s 300M .harness/big");
    const char *paths[] = { tree_path("ws/.harness"), NULL };
    assert_false(protect_new(NULL, paths, NULL, &p, &err));
    assert_int_equal(err.kind, ERR_LIMIT);
    sh("rm .harness/big; d=.harness; i=0; while [ $i -lt 250 ]; do d=$d/d; i=$((i+1)); done; mkdir -p $d");
    assert_false(protect_new(NULL, paths, NULL, &p, &err));
    assert_int_equal(err.kind, ERR_LIMIT);
    sh("rm -r .harness/d");
    assert_true(protect_new(NULL, NULL, NULL, &p, &err));
    assert_true(protect_verify(p, &err));
    protect_free(p);
}

/* A tree deeper than the number of descriptors, and a wide one, created in a protected folder. */
static void removes_large_plants(void **state) {
    (void)state;
    int fd = open(tree_path("ws/.harness"), O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(mkdirat(fd, "d", 0755), 0);
        int next = openat(fd, "d", O_RDONLY | O_DIRECTORY);
        close(fd);
        fd = next;
    }
    close(fd);
    sh("mkdir .harness/w; cd .harness/w; i=0; while [ $i -lt 300 ]; do mkdir $i; : > $i/f; i=$((i+1)); done");
    Error err = { 0 };
    assert_false(protect_verify(protect, &err));
    assert_null(strstr(err.msg, "NOT"));
    assert_as_it_was("deep and wide");
}

#ifdef HARNESS_FAULTS
/* Whichever step fails, it is reported, and the next verification finishes the work. */
static void survives_every_fault(void **state) {
    static const char *const scripts[] = { "echo evil > .harness/tools/x.md; mv pkg pkg2; rm via; ln -s x via; echo > missing.md; chmod 777 .harness",
                                           "rm -r .harness; mkdir -p missing.md/a/b" };
    for (size_t k = 0; k < 2; k++) {
        for (long nth = 1; ; nth++) {
            Error err = { 0 };
            sh(scripts[k]);
            int fds = tree_open_fds();
            fault_arm(nth);
            bool same = protect_verify(protect, &err);
            bool hit = fault_disarm();
            assert_false(same);
            assert_true(err.msg[0]);
            assert_int_equal(tree_open_fds(), fds);
            for (int i = 0; i < 3 && !protect_same(protect, NULL); i++) protect_verify(protect, &err);
            assert_as_it_was("after a fault");
            teardown(state);
            setup(state);
            if (!hit) break;
        }
    }
    for (long nth = 1; ; nth++) {
        Error err = { 0 };
        Protect *p = NULL;
        const char *paths[] = { tree_path("ws/.harness"), tree_path("ws/via/link.md"), NULL };
        int fds = tree_open_fds();
        fault_arm(nth);
        bool ok = protect_new(NULL, paths, NULL, &p, &err);
        if (!fault_disarm()) { assert_true(ok); protect_free(p); break; }
        if (ok) protect_free(p);                       /* a path that could not be followed is fenced by its name */
        assert_int_equal(tree_open_fds(), fds);
    }
}
#endif

static void is_quick_when_nothing_changed(void **state) {
    (void)state;
    sh("mkdir .harness/many; cd .harness/many; i=0; while [ $i -lt 22 ]; do mkdir $i; for j in 0 1 2 3 4; do for k in 0 1 2 3 4 5 6 7 8 9; do echo tool > $i/$j$k.md; done; done; i=$((i+1)); done; sleep 0.1");
    Protect *p = take();
    int64_t best = INT64_MAX;
    for (int i = 0; i < 20; i++) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        assert_true(protect_verify(p, NULL));
        clock_gettime(CLOCK_MONOTONIC, &b);
        int64_t ns = (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec;
        if (ns < best) best = ns;
    }
    print_message("1,100 files compared in %lld us\n", (long long)best / 1000);
    protect_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(puts_back_whatever_a_call_did, setup, teardown),
        cmocka_unit_test_setup_teardown(leaves_the_rest_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(loses_no_other_files, setup, teardown),
        cmocka_unit_test_setup_teardown(keeps_files_that_cannot_be_read, setup, teardown),
        cmocka_unit_test_setup_teardown(sees_a_store_through_a_mapping, setup, teardown),
        cmocka_unit_test_setup_teardown(leaves_no_way_to_a_touched_file, setup, teardown),
        cmocka_unit_test_setup_teardown(has_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(removes_large_plants, setup, teardown),
#ifdef HARNESS_FAULTS
        cmocka_unit_test_setup_teardown(survives_every_fault, setup, teardown),
#endif
        cmocka_unit_test_setup_teardown(is_quick_when_nothing_changed, setup, teardown),
    };
    return tree_run(tests);
}
