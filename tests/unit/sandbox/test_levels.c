/* Older kernels: another layer replaces what a lower Landlock ABI lacks, or the call is refused. */
#include "sandboxed.h"
#include "sandbox/probe.h"

static World world;

static int open_world(void **state) { (void)state; world_open(&world); return 0; }
static int close_world(void **state) { (void)state; world_close(&world); return 0; }

static void write_secret(void) {
    char command[200];
    snprintf(command, sizeof command, "echo secret > %s/secret && echo mine > %s/mine", world.outside, world.workspace);
    assert_int_equal(system(command), 0);
}

static bool too_old(void) { return probe_kernel()->landlock_abi < PROBE_LANDLOCK_MIN; }

static void test_too_old(void **state) {
    (void)state;
    if (!too_old()) return;
    Error err = { 0 };
    SandboxResult r = { 0 };
    SandboxCommand c = { .argv = (const char *const[]){ "true", NULL } };
    assert_false(sandbox_run(world.sandbox, &world.rules, &c, NULL, &r, &err));
    assert_int_equal(err.kind, ERR_SANDBOX);
    assert_non_null(strstr(err.msg, "Landlock"));
    assert_non_null(strstr(err.hint, "best-effort"));
    world.rules.mode = SANDBOX_BEST_EFFORT;
    world_sh(&world, "echo ran", &r);
    assert_str(buf_str(&r.out), "ran\n");
    sandbox_result_clear(&r);
    world.rules.mode = SANDBOX_STRICT;
}

/* Must fail at every level. $PARENT is the process of the test, which has the same user. */
static const char *const forbidden[] = {
    "cat $OUT/secret", "echo x > $OUT/secret", "truncate -s0 $OUT/secret", "rm $OUT/secret", "mv $OUT/secret .", "mv mine $OUT/",
    "chmod 777 $OUT/secret", "touch -d 2001-01-01 $OUT/secret", "cd $OUT && chmod 777 secret", "ln -sf $OUT/secret l && chmod 777 l",
    "python3 -c 'import os; f = os.open(os.environ[\"OUT\"], os.O_PATH); os.chmod(\"secret\", 0o777, dir_fd=f)'",
    "chmod 700 $OUT", "chmod 777 /proc/self/fd/0", "chgrp 0 $OUT/secret && false", "setfattr -n user.x -v 1 $OUT/secret",
    "ln mine $OUT/mine", "ln $OUT/secret here", "touch $OUT/new",
    "python3 -c 'import os; os.open(os.environ[\"OUT\"] + \"/secret\", os.O_RDONLY | os.O_TRUNC)'",
    "python3 -c 'import os; os.open(os.environ[\"OUT\"] + \"/secret\", 3 | os.O_TRUNC)'",
    "python3 -c 'import os; os.truncate(os.environ[\"OUT\"] + \"/secret\", 0)'",
    "kill -0 $PARENT", "kill -USR1 $PARENT", "kill -0 -$GROUP",
    "python3 -c 'import os, signal; signal.pthread_kill; os.kill(int(os.environ[\"PARENT\"]), 0)'",
    "python3 -c 'import ctypes, os; p = int(os.environ[\"PARENT\"]); c = ctypes.CDLL(None, use_errno=True); exit(c.syscall(200, p, 10) != 0)'",
    "python3 -c 'import ctypes, os; p = int(os.environ[\"PARENT\"]); c = ctypes.CDLL(None, use_errno=True); exit(c.syscall(234, p, p, 10) != 0)'",
    "python3 -c 'import ctypes, os; p = int(os.environ[\"PARENT\"]); f = os.pidfd_open(p); import signal; signal.pidfd_send_signal(f, 10)'",
    "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(chr(0) + \"x\")'",
    "python3 -c 'import socket; socket.socket()'",
    "python3 -c 'import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)'",
};

/* Must work at every level. */
static const struct { const char *script, *out; } allowed[] = {
    { "cat mine && echo more >> mine && cat mine", "mine\nmine\nmore\n" },
    { "mkdir -p a b && echo x > a/f && mv a/f b/g && cat b/g && ln b/g a/h && cat a/h", "x\nx\n" },
    { "chmod 750 mine && stat -c %a mine && touch -d @5 mine && stat -c %Y mine && mkdir d && cd d && chmod 600 ../mine && stat -c %a ../mine"
      " && python3 -c 'import os; f = open(\"x\", \"w\"); os.fchmod(f.fileno(), 0o604); os.utime(f.fileno(), (7, 7))' && stat -c %a%Y x"
      " && ln -s ../mine l && touch -h -d @9 l && stat -c %Y l && chmod 705 l && stat -c %a ../mine && mkdir g && chmod 2755 g && stat -c %a g", "750\n5\n600\n6047\n9\n705\n2755\n" },
    { "touch $HOME/t && chmod 700 $HOME/t && cp -a $HOME/t . && stat -c %a t && tar cf a.tar t && rm t && tar xf a.tar && stat -c %a t", "700\n700\n" },
    { "echo long > f && : > f && wc -c < f", "0\n" },
    { "sleep 9 & kill $! && wait $!; echo $?", "143\n" },
    { "kill -0 $$ && echo yes", "yes\n" },
    { "trap 'echo caught' USR1; kill -USR1 $$; echo on", "caught\non\n" },
    { "trap 'echo caught' USR1; kill -USR1 0; echo on", "caught\non\n" },
    { "bash -c 'set -m; sleep 9 & kill -TERM -$! && wait $! 2>/dev/null; echo $?' 2>/dev/null", "143\n" },
    { "python3 -c 'import os, signal, threading\nsignal.signal(10, lambda *a: print(\"got\"))\n"
      "signal.pthread_kill(threading.get_ident(), 10)'", "got\n" },
    { "sh -c 'kill -ABRT $$'; echo $?", "134\n" },
    { "python3 -c 'import socket; a, b = socket.socketpair(); a.send(b\"hi\"); print(b.recv(9))'", "b'hi'\n" },
};

static void usr1(int number) { (void)number; _exit(77); }

static void test_level(void **state) {
    (void)state;
    if (too_old()) return;
    write_secret();
    signal(SIGUSR1, usr1);
    char parent[32], group[32], outside[80];
    snprintf(parent, sizeof parent, "PARENT=%d", (int)getpid());
    snprintf(group, sizeof group, "GROUP=%d", (int)getpgrp());
    snprintf(outside, sizeof outside, "OUT=%s", world.outside);
    const char *const env[] = { parent, group, outside, NULL };
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++) {
        SandboxResult r = { 0 };
        Error err = { 0 };
        SandboxCommand c = { .argv = (const char *const[]){ "sh", "-c", forbidden[i], NULL }, .env = env };
        if (!sandbox_run(world.sandbox, &world.rules, &c, NULL, &r, &err)) fail_msg("%s: %s", forbidden[i], err.msg);
        if (r.exit_code == 0) fail_msg("ABI %d: %s: succeeded", probe_kernel()->landlock_abi, forbidden[i]);
        sandbox_result_clear(&r);
    }
    char command[300];
    snprintf(command, sizeof command, "test \"$(cat %s/secret)\" = secret && test \"$(ls %s)\" = secret && test $(stat -c %%a%%Y %s/secret) -gt 6441000000000", world.outside,
             world.outside, world.outside);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        SandboxResult r;
        world_sh(&world, allowed[i].script, &r);
        if (r.exit_code != 0 || !str_eq(buf_str(&r.out), str_from(allowed[i].out)))
            fail_msg("ABI %d: %s: exit %d: %s%s", probe_kernel()->landlock_abi, allowed[i].script, r.exit_code, r.out.at ? r.out.at : "",
                     r.err.at ? r.err.at : "");
        sandbox_result_clear(&r);
    }
}

static void test_layers(void **state) {
    (void)state;
    Buf text = { 0 };
    sandbox_layers(&world.rules, &text);
    char line[40];
    snprintf(line, sizeof line, "landlock\tABI %d", probe_kernel()->landlock_abi);
    assert_true((str_find(buf_str(&text), str_from(line)) >= 0) == (probe_kernel()->landlock_abi > 0));
    buf_clear(&text);
}

static int all_tests(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_too_old), cmocka_unit_test(test_level), cmocka_unit_test(test_layers) };
    return cmocka_run_group_tests(tests, open_world, close_world);
}

int main(void) {
    int failed = 0;
    for (const char *abi = "0\0" "1\0" "2\0" "3\0" "4\0" "5\0" "6\0" "7\0"; *abi; abi += 2) failed += run_as_each_with(all_tests, abi);
    return failed;
}
