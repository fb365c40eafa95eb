/* The memory of a call and the private files of the system, in cases that end-to-end tests cannot reach: a private
 * folder in memory, and files that change between two calls of one launcher. */
#include <sys/mman.h>
#include "sandbox/call.h"
#include "sandbox/memory.h"
#include "sandbox/public.h"
#include "sandbox/reach.h"
#include "sandboxed.h"

enum { MIB = 1 << 20 };
static World world;

static int open_world(void **state) { (void)state; world_open(&world); return 0; }
static int close_world(void **state) { (void)state; world_close(&world); return 0; }

static void write_mib(int dir, const char *name, int mib) {
    static char block[MIB];
    int fd = openat(dir, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    memset(block, 'x', sizeof block);
    for (int i = 0; i < mib; i++) assert_int_equal(write(fd, block, sizeof block), sizeof block);
    close(fd);
}

/* Files in a folder in memory count, also if subfolders are inaccessible or too deep. */
static void test_scratch(void **state) {
    (void)state;
    char path[] = "/dev/shm/harness-limits-XXXXXX", command[80];
    if (!mkdtemp(path)) skip();
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    Tree tree = { .skip = &world.sandbox->launcher, .n_skip = 1 };       /* only the launcher, which does not count */
    Memory m;
    memory_start(&m, &tree, 24 * MIB, dir, false, false);
    for (int i = 0; i < 500 && memory_exceeded(&m); i++) usleep(10000);      /* a child of the test before may still be ending */
    assert_false(memory_exceeded(&m));
    write_mib(dir, "a", 16);
    assert_int_equal(linkat(dir, "a", dir, "b", 0), 0);  /* two names, one file */
    assert_false(memory_exceeded(&m));
    assert_int_equal(mkdirat(dir, "d", 0700), 0);
    write_mib(dir, "d/c", 16);
    assert_true(memory_exceeded(&m));
    assert_int_equal(fchmodat(dir, "d", 0, 0), 0);
    assert_true(memory_exceeded(&m));
    assert_int_equal(fchmodat(dir, "d", 0700, 0), 0);
    close(dir);
    snprintf(command, sizeof command, "rm -rf %s", path);
    assert_int_equal(system(command), 0);
}

/* Visible files do not count twice when a folder next to them is not readable. */
static void test_scratch_closed(void **state) {
    (void)state;
    char path[] = "/dev/shm/harness-limits-XXXXXX", command[80];
    if (geteuid() == 0 || !mkdtemp(path)) skip();        /* root can read every folder */
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    Tree tree = { .skip = &world.sandbox->launcher, .n_skip = 1 };
    Memory m;
    memory_start(&m, &tree, 160 * MIB, dir, false, false);
    assert_int_equal(mkdirat(dir, "d", 0700), 0);
    write_mib(dir, "d/c", 4);
    assert_int_equal(fchmodat(dir, "d", 0, 0), 0);
    write_mib(dir, "a", 96);                             /* the newest is listed first */
    bool exceeded = memory_exceeded(&m);
    assert_int_equal(fchmodat(dir, "d", 0700, 0), 0);
    close(dir);
    snprintf(command, sizeof command, "rm -rf %s", path);
    assert_int_equal(system(command), 0);
    assert_false(exceeded);
}

/* A file system on disk is not memory. */
static void test_disk(void **state) {
    (void)state;
    int dir = open(world.outside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    Tree tree = { .skip = &world.sandbox->launcher, .n_skip = 1 };
    Memory m;
    memory_start(&m, &tree, MIB, dir, false, false);
    bool in_memory = m.scratch >= 0;
    write_mib(dir, "a", 4);
    assert_int_equal(memory_exceeded(&m), in_memory);
    close(dir);
}

static bool can_read(const char *path) {
    SandboxResult r;
    char script[200];
    snprintf(script, sizeof script, "cat %s", path);
    world_sh(&world, script, &r);
    bool yes = r.out.n > 0;
    sandbox_result_clear(&r);
    return yes;
}

static void put(const char *path, mode_t mode) {
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs("text\n", f);
    fclose(f);
    assert_int_equal(chmod(path, mode), 0);
}

static void test_private_later(void **state) {
    (void)state;
    char dir[] = "/etc/harness-limits-XXXXXX", one[60], two[60], deep[60];
    if (geteuid() != 0 || !mkdtemp(dir)) skip();
    assert_int_equal(chmod(dir, 0755), 0);
    snprintf(one, sizeof one, "%s/one", dir);
    snprintf(two, sizeof two, "%s/two", dir);
    snprintf(deep, sizeof deep, "%s/deep", dir);
    put(one, 0644);
    assert_true(can_read(one));
    put(two, 0600);                                      /* new, in a folder that was allowed as a whole */
    assert_false(can_read(two));
    assert_true(can_read(one));
    assert_int_equal(chmod(one, 0640), 0);
    assert_false(can_read(one));
    assert_int_equal(chmod(one, 0644), 0);
    assert_true(can_read(one));
    assert_int_equal(rename(two, one), 0);               /* replaced by a private one */
    assert_false(can_read(one));
    assert_int_equal(mkdir(deep, 0755), 0);
    snprintf(two, sizeof two, "%s/deep/two", dir);
    put(two, 0644);
    assert_true(can_read(two));
    assert_int_equal(chmod(deep, 0700), 0);
    assert_false(can_read(two));
    unlink(two);
    rmdir(deep);
    unlink(one);
    assert_int_equal(rmdir(dir), 0);
}

static void test_public_walk(void **state) {
    (void)state;
    static Public p = { .watches = -1 };
    assert_false(public_refresh(&p, true));
    assert_true(p.entries.n > 0);
    if (p.watches >= 0 && public_refresh(&p, true)) assert_true(p.known);      /* another test may change /etc meanwhile */
    for (size_t i = 0; i < p.entries.n; i++) assert_string_not_equal(p.entries.at[i].path, "/etc/shadow");
}

static void test_resolve(void **state) {
    (void)state;
    char out[PATH_MAX], path[200], want[200];
    assert_true(reach_resolve("/none/at/all", out));
    assert_string_equal(out, "/none/at/all");
    snprintf(path, sizeof path, "%s/link", world.outside);
    assert_int_equal(symlink(world.workspace, path), 0);
    snprintf(path, sizeof path, "%s/link/new/file", world.outside);
    snprintf(want, sizeof want, "%s/new/file", world.workspace);
    assert_true(reach_resolve(path, out));
    assert_string_equal(out, want);
    assert_true(reach_is_below("/a/b", "/a") && reach_is_below("/a", "/a") && reach_is_below("/a", "/"));
    assert_false(reach_is_below("/ab", "/a"));
}

static void test_reach(void **state) {
    (void)state;
    Error err = { 0 };
    char inside[120], db[120];
    snprintf(inside, sizeof inside, "%s/kept", world.workspace);
    snprintf(db, sizeof db, "%s/harness.db", world.outside);
    SandboxRules r = { .workspace = world.workspace, .hidden = (const char *const[]){ inside, NULL } };
    assert_false(sandbox_reach(&r, &err));
    assert_non_null(strstr(err.msg, inside));
    assert_non_null(strstr(err.msg, "is inside the workspace"));
    r = (SandboxRules){ .workspace = inside, .hidden = (const char *const[]){ world.workspace, NULL } };
    assert_false(sandbox_reach(&r, &err));
    assert_non_null(strstr(err.msg, "where harness keeps its own files"));
    r = (SandboxRules){ .workspace = world.workspace, .state = db };
    assert_true(sandbox_reach(&r, &err));
    r.read_roots = (const char *const[]){ world.outside, NULL };
    assert_false(sandbox_reach(&r, &err));
    assert_non_null(strstr(err.msg, "is inside the read root"));
}

static int all_tests(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scratch), cmocka_unit_test(test_scratch_closed), cmocka_unit_test(test_disk),
            cmocka_unit_test(test_private_later), cmocka_unit_test(test_public_walk),
        cmocka_unit_test(test_resolve), cmocka_unit_test(test_reach),
    };
    return cmocka_run_group_tests(tests, open_world, close_world);
}

/* Sequentially: both runs fill /dev/shm, and memory freed by one hides what the other uses. */
int main(void) {
    int failed = wait_apart(start_apart(all_tests, false, NULL));
    return geteuid() == 0 ? failed + wait_apart(start_apart(all_tests, true, NULL)) : failed;
}
