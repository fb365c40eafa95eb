/* Protected paths as read-only mounts, as root and as an ordinary user, and how harness checks them from outside. */
#include "sandboxed.h"

static void put(const World *w, const char *name, const char *text) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", w->workspace, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void shell(const World *w, const char *script) {
    char command[1000];
    snprintf(command, sizeof command, "cd %s && %s", w->workspace, script);
    assert_int_equal(system(command), 0);
}

static const char *in(const World *w, const char *name) {
    static char paths[16][200];
    static int next;
    char *path = paths[next++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", w->workspace, name);
    return path;
}

/* True if private mounts are available here. Otherwise these tests are skipped with a message. */
static bool has_mounts(const World *w) {
    SandboxRules required = w->rules;
    Error err = { 0 };
    required.mounts = SANDBOX_MOUNTS_REQUIRED;
    if (sandbox_available(&required, &err)) return true;
    fprintf(stderr, "left out: %s\n", err.msg);
    return false;
}

static void stops(World *w, const char *script) {
    SandboxResult r;
    world_sh(w, script, &r);
    if (r.exit_code == 0) fail_msg("%s: it worked: %s", script, buf_str(&r.out).at);
    sandbox_result_clear(&r);
}
static void works(World *w, const char *script) {
    SandboxResult r;
    world_sh(w, script, &r);
    if (r.exit_code != 0) fail_msg("%s: %s", script, buf_str(&r.err).at);
    sandbox_result_clear(&r);
}

static void test_shields(void **state) {
    (void)state;
    World w;
    world_open(&w);
    shell(&w, "mkdir -p a/b/c folder/below real && echo x > a/b/c/rule && echo x > top && echo x > folder/below/f && echo x > real/target && ln -s real/target link"
              " && ln -s nowhere dangling && ln -s real/.. around && mkdir sub && ln -s ../top sub/link");
    const char *protect[] = { in(&w, "a/b/c/rule"), in(&w, "top"), in(&w, "folder"), in(&w, "folder/below/f"), in(&w, "link"), in(&w, "missing"),
                              in(&w, "dangling"), in(&w, "around"), in(&w, "sub/link"), in(&w, "top/x"), "/etc/passwd", "/", w.workspace, NULL };
    w.rules.protect = protect;
    if (has_mounts(&w)) {
        static const char *const no[] = { "echo y > a/b/c/rule", "rm -f a/b/c/rule", "mv a/b/c/rule r", "mv a/b/c z", "mv a/b z", "mv a z",
            "echo y > top", "rm -f top",
                                          "echo y > folder/new", "echo y > folder/below/f", "mv folder f2", "rm -rf folder/below",
                                              "echo y > link", "echo y > real/target",
                                          "mv real r2", "mv sub s2", "ln top second", "ln a/b/c/rule second", "echo y > sub/link" };
        for (size_t i = 0; i < sizeof no / sizeof *no; i++) stops(&w, no[i]);
    }
    works(&w, "cat a/b/c/rule top folder/below/f link; echo y > a/b/c/other && mv a/b/c/other a/b/c/more && rm a/b/c/more && mkdir a/b/d && mv a/b/d a/b/e && rmdir a/b/e"
              " && echo y > free && mv free free2 && ln free2 free3 && rm free2 free3");
    shell(&w, "rm -rf a folder real link dangling around top sub");
    world_close(&w);
}

/* A long-running program is exposed when a protected file was replaced outside and so lost its mount. */
static void test_exposed(void **state) {
    (void)state;
    World w;
    Error err = { 0 };
    world_open(&w);
    put(&w, "rule", "one\n");
    const char *protect[] = { in(&w, "rule"), in(&w, "missing"), NULL };
    w.rules.protect = protect;
    SandboxCommand cat = { .argv = (const char *const[]){ "cat", NULL }, .err_fd = 2 };
    SandboxProcess *p = NULL;
    if (!sandbox_spawn(w.sandbox, &w.rules, &cat, &p, &err)) fail_msg("%s", err.msg);
    assert_false(sandbox_process_exposed(p));
    put(&w, "rule", "two\n");                                            /* in place: the mount stays */
    assert_false(sandbox_process_exposed(p));
    put(&w, "saved", "three\n");
    shell(&w, "mv saved rule");                                          /* as an editor saves */
    assert_int_equal(sandbox_process_exposed(p), has_mounts(&w));
    sandbox_process_end(p, 0);
    world_close(&w);
}

/* What only root may read is covered, in addition to Landlock, and once each. */
static void test_covers(void **state) {
    (void)state;
    static const char *const paths[] = { "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/security/opasswd", "/etc/ssl/private" };
    World w;
    world_open(&w);
    for (size_t i = 0; geteuid() == 0 && has_mounts(&w) && i < sizeof paths / sizeof *paths; i++) {
        char script[200];
        SandboxResult r;
        snprintf(script, sizeof script, "cut -d' ' -f5 /proc/self/mountinfo | grep -cFx %s", paths[i]);
        world_sh(&w, script, &r);
        if (!str_eq(buf_str(&r.out), str_from(access(paths[i], F_OK) == 0 ? "1\n" : "0\n"))) fail_msg("%s: covered %s", paths[i], buf_str(&r.out).at);
        sandbox_result_clear(&r);
    }
    world_close(&w);
}

static void test_off(void **state) {
    (void)state;
    World w;
    Error err = { 0 };
    SandboxResult r;
    world_open(&w);
    put(&w, "rule", "one\n");
    const char *protect[] = { in(&w, "rule"), NULL };
    w.rules.protect = protect;
    w.rules.mounts = SANDBOX_MOUNTS_OFF;
    works(&w, "echo two > rule");
    world_sh(&w, "grep -c harness-ws /proc/self/mountinfo; ls /proc | grep -c '^[0-9]'", &r);
    assert_int_equal(atoi(buf_str(&r.out).at), 0);
    sandbox_result_clear(&r);
    w.rules.mode = SANDBOX_OFF;
    w.rules.mounts = SANDBOX_MOUNTS_REQUIRED;
    assert_false(sandbox_available(&w.rules, &err));
    assert_non_null(strstr(err.msg, "sandbox.mounts is required, and there are no private mounts: sandbox.mode is off"));
    world_close(&w);
}

static int tests(void) {
    const struct CMUnitTest all[] = { cmocka_unit_test(test_shields), cmocka_unit_test(test_exposed), cmocka_unit_test(test_covers),
                                      cmocka_unit_test(test_off) };
    return cmocka_run_group_tests(all, NULL, NULL);
}

int main(void) { return run_as_each(tests); }
