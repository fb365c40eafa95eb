#include "sandboxed.h"
#include <dirent.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static World world;

static int open_world(void **state) { (void)state; world_open(&world); return 0; }
static int close_world(void **state) { (void)state; world_close(&world); return 0; }

static void test_results(void **state) {
    (void)state;
    static const struct { const char *script, *out, *err; int code, signal; } rows[] = {
        { "echo out; echo err >&2", "out\n", "err\n", 0, 0 },
        { "exit 7", "", "", 7, 0 },
        { "kill -9 $$", "", "", 137, SIGKILL },
        { "kill -TERM $$", "", "", 143, SIGTERM },
        { "pwd | sed s/-ws-.*/-ws/", "/tmp/harness-ws\n", "", 0, 0 },
        { "cat", "", "", 0, 0 },                              /* stdin is empty, not inherited */
        { "echo $PATH", "/usr/local/bin:/usr/bin:/bin\n", "", 0, 0 },
        { "test \"$HOME\" = \"$TMPDIR\" && test -d $HOME && touch $HOME/x && stat -c %a $HOME", "700\n", "", 0, 0 },
        { "env | cut -d= -f1 | sort | tr '\\n' ' '", "HOME OUT PATH PWD TMPDIR ", "", 0, 0 },
        { "ls /proc/self/fd | wc -l", "4\n", "", 0, 0 },     /* three, and the folder itself */
        { "umask", "0022\n", "", 0, 0 },
        { "ulimit -n; ulimit -c; ulimit -t; ulimit -f; ulimit -v", "1024\n0\n600\n2097152\n4194304\n", "", 0, 0 },
        { "grep NoNewPrivs /proc/self/status", "NoNewPrivs:\t1\n", "", 0, 0 },
        { "grep -E '^(SigIgn|SigBlk)' /proc/self/status | cut -f2 | sort -u", "0000000000000000\n", "", 0, 0 },
        { "mkfifo f && (echo hi > f &) && cat f", "hi\n", "", 0, 0 },
        { "echo x > new && mv new old && ln old hard && ln -s old soft && cat hard soft && rm old hard soft", "x\nx\n", "", 0, 0 },
        { "cat /dev/null && echo x > /dev/null && head -c3 /dev/zero | wc -c", "3\n", "", 0, 0 },
        { "echo hi | (cat | cat) | tr a-z A-Z", "HI\n", "", 0, 0 },
        { "bash -c 'set -m; sleep 0.01 & fg >/dev/null; sleep 0.01 & jobs -p | wc -l; wait; echo $?' 2>/dev/null", "1\n0\n", "", 0, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        SandboxResult r;
        world_sh(&world, rows[i].script, &r);
        if (r.exit_code != rows[i].code || r.signal != rows[i].signal || !str_eq(buf_str(&r.out), str_from(rows[i].out))
            || !str_eq(buf_str(&r.err), str_from(rows[i].err)))
            fail_msg("%s: exit %d, signal %d, out \"%s\", err \"%s\"", rows[i].script, r.exit_code, r.signal, r.out.at ? r.out.at : "",
                     r.err.at ? r.err.at : "");
        assert_false(r.timed_out || r.process_limit || r.out_truncated || r.err_truncated);
        sandbox_result_clear(&r);
    }
}

/* The kernel's layout, by number: the C library refuses to change the signals that it uses itself (32 and 33). */
typedef struct Action { uintptr_t handler; unsigned long flags; void *restorer; uint64_t mask; } Action;
enum { SIGNALS = 64 };

/* Signals that harness ignores, for example because nohup started it, have their default effect in programs. */
static void test_signals(void **state) {
    (void)state;
    World w;
    SandboxResult r;
    Action ignore = { .handler = (uintptr_t)SIG_IGN }, before[SIGNALS + 1];
    for (int i = 1; i <= SIGNALS; i++)
        if (i != SIGCHLD) (void)syscall(SYS_rt_sigaction, i, &ignore, &before[i], sizeof ignore.mask);
    world_open(&w);
    for (int i = 1; i <= SIGNALS; i++)
        if (i != SIGCHLD) (void)syscall(SYS_rt_sigaction, i, &before[i], NULL, sizeof ignore.mask);
    world_sh(&w, "grep -E '^(SigIgn|SigBlk)' /proc/self/status | cut -f2 | sort -u", &r);
    assert_str(buf_str(&r.out), "0000000000000000\n");
    sandbox_result_clear(&r);
    world_close(&w);
}

/* Root keeps CAP_DAC_OVERRIDE and CAP_FOWNER; an ordinary user has none, and in a user namespace cannot get any either. */
static void test_capabilities(void **state) {
    (void)state;
    SandboxResult r;
    SandboxRules required = world.rules;
    Error err = { 0 };
    required.mounts = SANDBOX_MOUNTS_REQUIRED;
    bool bounded = geteuid() == 0 || sandbox_available(&required, &err);         /* else it may not change the bounding set */
    world_sh(&world, bounded ? "grep ^Cap /proc/self/status | cut -f2 | sort -u" : "grep -E '^Cap(Inh|Prm|Eff|Amb)' /proc/self/status | cut -f2 | sort -u", &r);
    assert_str(buf_str(&r.out), geteuid() == 0 ? "000000000000000a\n" : "0000000000000000\n");
    sandbox_result_clear(&r);
}

/* Open files of the first child of this process, the launcher of `world`. */
static int launcher_descriptors(void) {
    char path[80], text[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "re");
    if (f) {
        (void)!fgets(text, sizeof text, f);
        fclose(f);
    }
    snprintf(path, sizeof path, "/proc/%d/fd", atoi(text));
    DIR *dir = opendir(path);
    int n = 0;
    while (dir && readdir(dir)) n++;
    if (dir) closedir(dir);
    return n;
}

/* The launcher keeps no descriptor of a call that has ended. Only root can check: the launcher is not dumpable. */
static void test_launcher_descriptors(void **state) {
    enum { CALLS = 20, CHANGES = 10 };                   /* it also watches /etc, which other processes may change */
    (void)state;
    SandboxResult r;
    int before = 0;
    for (int i = 0; i < CALLS; i++) {
        world_sh(&world, "true", &r);
        sandbox_result_clear(&r);
        if (i == 1) before = launcher_descriptors();
    }
    assert_true(geteuid() != 0 || before > 0);
    for (int tries = 0; launcher_descriptors() > before + CHANGES && tries < 1000; tries++) usleep(10000);   /* it may still be closing the last call */
    assert_true(launcher_descriptors() <= before + CHANGES);
}

/* Each of these must fail, and leave everything outside unchanged. */
static void test_confined(void **state) {
    (void)state;
    static const char *const scripts[] = {
        "cat $OUT/secret", "echo x > $OUT/secret", "echo x > $OUT/new", "rm $OUT/secret", "mv $OUT/secret .", "ln $OUT/secret here",
        "ln -s $OUT/secret link; cat link", "mkdir $OUT/dir", "ls $OUT", "truncate -s0 $OUT/secret", "cp /bin/true $OUT/",
        "cat /proc/1/environ", "cat ../$(basename $OUT)/secret", "ls /home", "ls /", "ls /tmp", "touch /etc/x", "mkdir /usr/x",
        "mknod dev c 1 3", "mount -t tmpfs none .", "unshare -Ur true", "unshare -m true", "chroot . true",
        "exec 9>$OUT/secret", "cat /dev/kmsg", "cat /dev/mem", "ls /root", "cat /proc/kcore | head -c1 | grep .",
    };
    char secret[100], command[500];
    snprintf(secret, sizeof secret, "%s/secret", world.outside);
    snprintf(command, sizeof command, "echo secret > %s && chmod 600 %s", secret, secret);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        SandboxResult r;
        world_sh(&world, scripts[i], &r);
        if (r.exit_code == 0 || (r.out.at && strstr(r.out.at, "secret"))) fail_msg("%s: succeeded: %s", scripts[i], r.out.at ? r.out.at : "");
        sandbox_result_clear(&r);
    }
    snprintf(command, sizeof command, "test \"$(cat %s)\" = secret && test \"$(ls %s)\" = secret && test $(stat -c %%h%%a %s) = 1600", secret,
             world.outside, secret);
    assert_int_equal(system(command), 0);
}

static void test_roots(void **state) {
    (void)state;
    const char *const outside[] = { world.outside, NULL };
    char command[200];
    snprintf(command, sizeof command, "echo text > %s/file", world.outside);
    assert_int_equal(system(command), 0);
    SandboxResult r;
    world.rules.read_roots = outside;
    world_sh(&world, "cat $OUT/file; echo x > $OUT/file", &r);
    assert_str(buf_str(&r.out), "text\n");
    assert_int_not_equal(r.exit_code, 0);
    sandbox_result_clear(&r);
    world.rules.read_roots = NULL;
    world.rules.write_roots = outside;
    world_sh(&world, "echo more >> $OUT/file && mv $OUT/file moved && mv moved $OUT/file && cat $OUT/file && chmod 640 $OUT/file", &r);
    assert_str(buf_str(&r.out), "text\nmore\n");
    assert_int_equal(r.exit_code, 0);
    sandbox_result_clear(&r);
    world.rules.write_roots = NULL;
}

static void test_input_and_output(void **state) {
    (void)state;
    static const size_t sizes[] = { 1, 65536, 65537, 3 << 20 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *text = malloc(sizes[i]);
        memset(text, 'a', sizes[i]);
        Error err = { 0 };
        SandboxResult r = { 0 };
        SandboxCommand c = { .argv = (const char *const[]){ "cat", NULL }, .input = { text, sizes[i] }, .max_output = 2 << 20 };
        if (!sandbox_run(world.sandbox, &world.rules, &c, NULL, &r, &err)) fail_msg("%s", err.msg);
        assert_int_equal(r.exit_code, 0);
        assert_int_equal(r.out.n, sizes[i] > 2 << 20 ? 2 << 20 : sizes[i]);
        assert_int_equal(r.out_truncated, sizes[i] > 2 << 20);
        sandbox_result_clear(&r);
        free(text);
    }
    SandboxResult r;
    world_sh(&world, "head -c 10000000 /dev/zero; head -c 10000000 /dev/zero >&2; echo done > finished", &r);
    assert_int_equal(r.exit_code, 0);
    assert_true(r.out_truncated && r.err_truncated);
    assert_int_equal(r.out.n, 1 << 20);
    assert_int_equal(r.err.n, 1 << 20);
    sandbox_result_clear(&r);
    world_sh(&world, "cat finished", &r);
    assert_str(buf_str(&r.out), "done\n");
    sandbox_result_clear(&r);
}

static void test_long_request(void **state) {
    (void)state;
    size_t n = 120000;
    char *word = malloc(n + 1);
    memset(word, 'w', n);
    word[n] = 0;
    Error err = { 0 };
    SandboxResult r = { 0 };
    SandboxCommand c = { .argv = (const char *const[]){ "sh", "-c", "printf %s \"$1\" | wc -c", "sh", word, NULL } };
    if (!sandbox_run(world.sandbox, &world.rules, &c, NULL, &r, &err)) fail_msg("%s", err.msg);
    assert_str(buf_str(&r.out), "120000\n");
    sandbox_result_clear(&r);
    free(word);
}

static void test_errors(void **state) {
    (void)state;
    static const struct { const char *program, *cwd, *message; } rows[] = {
        { "no-such-program", NULL, "no-such-program: program not found in /usr/local/bin:/usr/bin:/bin" },
        { "./missing", NULL, "./missing: No such file or directory" },
        { "/etc/passwd", NULL, "/etc/passwd: Permission denied" },
        { "true", "/no/such/folder", "folder /no/such/folder: No such file or directory" },
        { "", NULL, "no program is given" },
    };
    enum { ROWS = sizeof rows / sizeof *rows, ROUNDS = 10 };         /* a late report still counts */
    for (size_t k = 0; k < ROWS * ROUNDS; k++) {
        size_t i = k % ROWS;
        Error err = { 0 };
        SandboxResult r = { 0 };
        SandboxCommand c = { .argv = (const char *const[]){ rows[i].program, NULL }, .cwd = rows[i].cwd };
        assert_false(sandbox_run(world.sandbox, &world.rules, &c, NULL, &r, &err));
        assert_string_equal(err.msg, rows[i].message);
    }
    SandboxRules rules = { .workspace = "/no/such/workspace" };
    SandboxCommand c = { .argv = (const char *const[]){ "true", NULL } };
    SandboxResult r = { 0 };
    Error err = { 0 };
    assert_false(sandbox_run(world.sandbox, &rules, &c, NULL, &r, &err));
}

static void test_environment(void **state) {
    (void)state;
    Error err = { 0 };
    SandboxResult r = { 0 };
    SandboxCommand c = { .argv = (const char *const[]){ "sh", "-c", "echo $A $HOME $PATH", NULL },
                         .env = (const char *const[]){ "A=1", "HOME=/h", "A=2", "=odd", "odd", "PATH=/bin:/usr/bin", NULL } };
    if (!sandbox_run(world.sandbox, &world.rules, &c, NULL, &r, &err)) fail_msg("%s", err.msg);
    assert_str(buf_str(&r.out), "2 /h /bin:/usr/bin\n");
    sandbox_result_clear(&r);
}

static void test_limits(void **state) {
    (void)state;
    SandboxRules plain = world.rules;
    SandboxResult r;
    world.rules.file_bytes = 1 << 20;
    world_sh(&world, "head -c 2000000 /dev/zero > big; stat -c %s big", &r);
    assert_str(buf_str(&r.out), "1048576\n");
    sandbox_result_clear(&r);
    world.rules = plain;
    world.rules.cpu_seconds = 1;
    world_sh(&world, "while :; do :; done", &r);
    assert_int_equal(r.signal, SIGXCPU);
    sandbox_result_clear(&r);
    world.rules = plain;
    world.rules.open_files = 20;
    world_sh(&world, "ulimit -n", &r);
    assert_str(buf_str(&r.out), "20\n");
    sandbox_result_clear(&r);
    world.rules = plain;
    world.rules.memory_bytes = 64 << 20;
    world_sh(&world, "head -c 200000000 /dev/zero | tail -c 190000000 | wc -c", &r);
    if (!r.memory_limit) assert_str(buf_str(&r.out), "0\n");        /* tail got no memory, or the supervisor was faster */
    sandbox_result_clear(&r);
    world.rules = plain;
}

/* Folders of calls whose launcher has ended: a running launcher keeps a lock on its own folder. Other processes have theirs. */
static bool is_abandoned(int dir, const char *name) {
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool yes = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0) close(fd);
    return yes;
}

static size_t private_folders(void) {
    size_t n = 0;
    char prefix[40];
    snprintf(prefix, sizeof prefix, "harness-calls-%u-", (unsigned)geteuid());
    DIR *dir = opendir("/tmp");
    for (struct dirent *e; (e = readdir(dir));)
        if (strncmp(e->d_name, prefix, strlen(prefix)) == 0 && is_abandoned(dirfd(dir), e->d_name)) n++;
    closedir(dir);
    return n;
}

/* The private folder is removed with the call: inaccessible folders, deep ones, links. */
static void test_private_folder(void **state) {
    (void)state;
    SandboxResult r;
    world_sh(&world, "cd $HOME && echo $HOME && mkdir -p a/b/c && touch a/b/c/f && ln -s / root && ln -s $OUT out && mkfifo p"
                     " && i=0 && while [ $i -lt 300 ]; do mkdir d && cd d && i=$((i+1)); done; touch end; cd $HOME; chmod 000 a/b a", &r);
    assert_int_equal(r.exit_code, 0);
    char path[200];
    snprintf(path, sizeof path, "%.*s", (int)r.out.n - 1, r.out.at);
    sandbox_result_clear(&r);
    struct stat st;
    for (int tries = 0; stat(path, &st) == 0 && tries < 1000; tries++) usleep(10000);
    assert_int_equal(stat(path, &st), -1);
    assert_int_equal(stat(world.outside, &st), 0);
}

/* Resources with one limit per user: a call gets at most half. */
static void test_shared_limits(void **state) {
    (void)state;
    SandboxResult r;
    char want[80];
    struct rlimit signals, queues;
    assert_int_equal(getrlimit(RLIMIT_SIGPENDING, &signals), 0);
    assert_int_equal(getrlimit(RLIMIT_MSGQUEUE, &queues), 0);
    if (signals.rlim_cur == RLIM_INFINITY || queues.rlim_cur == RLIM_INFINITY) skip();
    snprintf(want, sizeof want, "%llu\n%llu\n64\n", (unsigned long long)signals.rlim_cur / 2, (unsigned long long)queues.rlim_cur / 2);
    world_sh(&world, "exec bash -c 'ulimit -Hi; ulimit -Hq; ulimit -Hl'", &r);
    assert_string_equal(r.out.at, want);
    sandbox_result_clear(&r);
}

static int all_tests(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_limits), cmocka_unit_test(test_results), cmocka_unit_test(test_confined), cmocka_unit_test(test_roots),
        cmocka_unit_test(test_input_and_output), cmocka_unit_test(test_long_request), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_environment), cmocka_unit_test(test_limits), cmocka_unit_test(test_private_folder), cmocka_unit_test(test_signals),
        cmocka_unit_test(test_capabilities), cmocka_unit_test(test_launcher_descriptors),
    };
    size_t before = private_folders();
    int failed = cmocka_run_group_tests(tests, open_world, close_world);
    for (int i = 0; i < 300 && private_folders() > before; i++) usleep(100000);      /* the launcher ends a little later */
    return failed + (private_folders() > before);
}

int main(void) { return run_as_each(all_tests); }
