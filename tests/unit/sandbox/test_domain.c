#include "sandbox/domain.h"
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "base/fault.h"
#include "sandbox/jail.h"
#include "sandbox/sandbox_unit.h"

static int setup(void **state) { (void)state; tree_make(); tree_put("out/f", "f"); tree_put("ws/g", "g"); tree_put("ro/only", "o"); return 0; }
static int teardown(void **state) { (void)state; tree_remove(); return 0; }

static bool has_landlock(void) { return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) > 0; }

/* A domain cannot be left, so each test runs in its own process, whose exit status is the number of the line that
 * failed. */
#define NEED(what) do { if (!(what)) { fprintf(stderr, "line %d: %s: %s\n", __LINE__, #what, strerror(errno)); _exit(1); } } while (0)
static void in_child(void (*body)(void)) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        body();
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static bool can_write(const char *name) {
    int fd = open(tree_path(name), O_WRONLY | O_CREAT, 0644);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static void restrict_ws(void) {
    Error err = { 0 };
    const char *paths[] = { tree_path("ws"), tree_path("ro/only"), tree_path("missing"), NULL };
    if (!domain_restrict(paths, &err)) { fprintf(stderr, "%s\n", err.msg); _exit(2); }
}

static void writes_only_there(void) {
    int kept = open(tree_path("out/kept"), O_WRONLY | O_CREAT, 0644);
    restrict_ws();
    NEED(prctl(PR_GET_DUMPABLE) == 0);
    if (!has_landlock()) return;
    NEED(can_write("ws/new") && can_write("ws/g") && can_write("ro/only"));
    NEED(mkdir(tree_path("ws/d"), 0755) == 0 && rename(tree_path("ws/new"), tree_path("ws/d/new")) == 0);
    NEED(truncate(tree_path("ws/g"), 0) == 0 && unlink(tree_path("ws/g")) == 0);
    NEED(!can_write("out/f") && errno == EACCES);
    NEED(!can_write("out/new") && !can_write("ro/other"));
    NEED(mkdir(tree_path("out/d"), 0755) < 0 && unlink(tree_path("out/f")) < 0 && symlink("x", tree_path("out/l")) < 0);
    NEED(rename(tree_path("ws/d/new"), tree_path("out/new")) < 0 && link(tree_path("ws/d/new"), tree_path("out/new")) < 0);
    NEED(rename(tree_path("out/f"), tree_path("ws/f")) < 0);
    NEED(open(tree_path("out/f"), O_RDONLY) >= 0);             /* reading is not restricted */
    NEED(write(kept, "x", 1) == 1);                            /* nor are files opened before */
    NEED(open("/dev/null", O_WRONLY) >= 0);
    restrict_ws();                                             /* doing it again is harmless */
    NEED(can_write("ws/more") && !can_write("out/f"));
}

static void *write_outside(void *ctx) { (void)ctx; return can_write("out/f") ? (void *)1 : NULL; }

static void threads_started_later_are_in_it(void) {
    pthread_t t;
    void *wrote = NULL;
    restrict_ws();
    if (!has_landlock()) return;
    NEED(pthread_create(&t, NULL, write_outside, NULL) == 0 && pthread_join(t, &wrote) == 0 && !wrote);
}

static pthread_barrier_t barrier;
static void *wait_then_write(void *ctx) { pthread_barrier_wait(&barrier); return write_outside(ctx); }

/* Either the kernel includes existing threads, or it fails. */
static void threads_started_before_are_not_forgotten(void) {
    pthread_t t;
    void *wrote = NULL;
    Error err = { 0 };
    pthread_barrier_init(&barrier, NULL, 2);
    NEED(pthread_create(&t, NULL, wait_then_write, NULL) == 0);
    const char *paths[] = { tree_path("ws"), NULL };
    bool ok = domain_restrict(paths, &err);
    pthread_barrier_wait(&barrier);
    pthread_join(t, &wrote);
    if (has_landlock()) NEED(ok ? !wrote : strstr(err.msg, "before threads are started") != NULL);
}

/* Inside the domain, the jail's atomic replacements, exchanges and moves between folders work. */
static void the_jail_works_in_it(void) {
    Error err = { 0 };
    JailStat st;
    Jail *j = tree_jail(false, &err);
    NEED(j);
    restrict_ws();
    NEED(jail_write(j, STR("a/b"), STR("1"), &(JailWrite){ .parents = true }, &st, &err));
    NEED(jail_write(j, STR("a/b"), STR("2"), &(JailWrite){ .expect = &st }, &st, &err));
    NEED(jail_write(j, STR("a/n"), STR("2"), &(JailWrite){ .must_be_new = true }, NULL, &err));
    NEED(jail_append(j, STR("a/b"), STR("3"), NULL, &err) && jail_mkdir(j, STR("c"), NULL, &err));
    NEED(jail_move(j, STR("a/b"), STR("c/b"), NULL, &err) && jail_copy(j, STR("c"), STR("d"), NULL, &err));
    NEED(jail_remove(j, STR("c"), true, NULL, &err));
    NEED(strcmp(tree_text("ws/d/b"), "23") == 0);
    if (has_landlock()) NEED(!jail_write(j, str_from(tree_path("rw/w")), STR("x"), NULL, NULL, &err));
    jail_free(j);
}

#ifdef HARNESS_FAULTS
static void faults_are_errors(void) {
    for (long nth = 1; has_landlock(); nth++) {
        Error err = { 0 };
        const char *paths[] = { tree_path("ws"), NULL };
        int fds = tree_open_fds();
        fault_arm(nth);
        bool ok = domain_restrict(paths, &err);
        if (!fault_disarm()) { NEED(ok); return; }
        NEED(!ok && err.msg[0] && tree_open_fds() == fds);
    }
}
static void test_faults(void **state) { (void)state; in_child(faults_are_errors); }
#endif

static void test_writes(void **state) { (void)state; in_child(writes_only_there); }
static void test_threads_later(void **state) { (void)state; in_child(threads_started_later_are_in_it); }
static void test_threads_before(void **state) { (void)state; in_child(threads_started_before_are_not_forgotten); }
static void test_jail(void **state) { (void)state; in_child(the_jail_works_in_it); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_writes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads_later, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads_before, setup, teardown),
        cmocka_unit_test_setup_teardown(test_jail, setup, teardown),
#ifdef HARNESS_FAULTS
        cmocka_unit_test_setup_teardown(test_faults, setup, teardown),
#endif
    };
    return tree_run(tests);
}
