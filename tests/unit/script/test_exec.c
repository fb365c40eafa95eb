/* exec.run in the real sandbox. */
#include <ftw.h>
#include <pthread.h>
#include "script_unit.h"
#include "sandbox/sandbox_unit.h"
#include "base/clock.h"

static const ScriptCase cases[] = {
    { "exec.run('echo', ['a b', '$HOME'])", "{\"stdout\": \"a b $HOME\\n\", \"stderr\": \"\", \"exit_code\": 0, \"timed_out\": False, \"truncated\": False}" },
    { "exec.run('sh', ['-c', 'echo e >&2; exit 3'])",
        "{\"stdout\": \"\", \"stderr\": \"e\\n\", \"exit_code\": 3, \"timed_out\": False, \"truncated\": False}" },
    { "exec.run('cat', stdin='in')['stdout']", "\"in\"" }, { "exec.run('cat', stdin=b'\\xffx')['stdout']", "\"�x\"" },
        { "exec.run('cat', ('a.txt',))['stdout']", "\"file\"" },
    { "exec.run('sh', ['-c', 'echo $A $SECRET'], env={'A': 'x y'})['stdout']", "\"x y s3cret\\n\"" },
        { "exec.run('sh', ['-c', 'echo $SECRET'], env={'SECRET': 'mine'})['stdout']", "\"mine\\n\"" },
    { "exec.run('pwd', cwd='sub')['stdout'].endswith('/ws/sub\\n')", "True" },
        { "exec.run('pwd', cwd='../out')", "error: exec.run: ../out: outside the workspace" },
    { "exec.run('pwd', cwd='a.txt')", "error: exec.run: a.txt: not a folder" }, { "exec.run('pwd', cwd='none')", "error: exec.run: none: no such file…" },
    { "exec.run('sleep', ['10'], timeout_ms=100)['timed_out']", "True" }, { "exec.run('head', ['-c', '3000000', '/dev/zero'])['truncated']", "True" },
    { "exec.run('no-such-program')", "error: exec.run: no-such-program: …" }, { "exec.run('')", "error: exec.run: for parameter cmd: is empty" },
    { "exec.run('echo', [1])", "error: exec.run: for parameter args: got int, want string" },
        { "exec.run('echo', 'a')", "error: exec.run: for parameter args: got string, want list or tuple" },
    { "exec.run('echo', ['a\\0b'])", "error: exec.run: for parameter args: contains a NUL character" },
        { "exec.run('echo', env={'A=B': 'c'})", "error: exec.run: for parameter env: not a name: \"A=B\"" },
    { "exec.run('echo', env={'A': 1})", "error: exec.run: for parameter env: got int, want string" },
        { "exec.run('echo', timeout_ms=-1)", "error: exec.run: for parameter timeout_ms: must be between 0 and …" },
    { "exec.run('sh', ['-c', 'cat ../out/secret; echo x > ../out/new'])['exit_code'] != 0", "True" },
};

static void *fire_later(void *cancel) {
    usleep(200000);
    cancel_fire(cancel);
    return NULL;
}

static void test_exec(void **state) {
    (void)state;
    Sandbox *sandbox = NULL;
    Error err = { 0 };
    ScriptUnit u;
    tree_make();
    tree_put("ws/a.txt", "file");
    tree_put("ws/sub/b", "b");
    tree_put("out/secret", "secret");
    if (!sandbox_start(&sandbox, &err)) fail_msg("%s", err.msg);
    script_begin(&u);
    SandboxRules rules = { .mode = SANDBOX_BEST_EFFORT, .workspace = tree_path("ws") };
    static const char *const child_env[] = { "SECRET=s3cret", NULL };
    u.host.sandbox = sandbox;
    u.host.rules = &rules;
    u.host.child_env = child_env;
    u.host.jail = tree_jail(false, &err);
    SCRIPT_CASES(&u, cases);
    assert_string_equal(tree_text("out/secret"), "secret");
    u.cancel = cancel_new(NULL, 0);
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, fire_later, u.cancel), 0);
    int64_t start = clock_mono_ns();
    assert_string_equal(script_run(&u, "exec.run('sleep', ['20'])"), "error: exec.run: cancelled");
    assert_true(clock_mono_ns() - start < INT64_C(10000000000));
    pthread_join(t, NULL);
    cancel_free(u.cancel);
    u.cancel = cancel_new(NULL, 100000000);
    assert_non_null(strstr(script_run(&u, "sleep(20)"), "sleep: timed out"));
    cancel_free(u.cancel);
    jail_free(u.host.jail);
    script_end(&u);
    sandbox_stop(sandbox);
    tree_remove();
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_exec) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
