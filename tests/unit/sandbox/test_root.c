/* Folders named by flags and settings: links that lead out of the workspace are not followed. */
#include <sys/stat.h>
#include <unistd.h>
#include "sandbox/sandbox.h"
#include "unit.h"

static char base[] = "/tmp/harness-root-XXXXXX", workspace[PATH_MAX];

static const struct { const char *path, *real, *problem; } cases[] = {
    { "", "/ws", NULL }, { ".", "/ws", NULL }, { "./", "/ws", NULL }, { "a", "/ws/a", NULL }, { "a//b/", "/ws/a/b", NULL },
    { "..", "", NULL }, { "../out", "/out", NULL }, { "a/../..", "", NULL }, { "a/inner", "/ws/a/b", NULL }, { "up", "/ws", NULL },
    { "link", NULL, "a link leads from the workspace to" }, { "./link", NULL, "a link leads" }, { "link/sub", NULL, "a link leads" },
    { "a/link", NULL, "a link leads" }, { "a/../link", NULL, "a link leads" }, { "up/link", NULL, "a link leads" },
    { "link/../ws", NULL, "a link leads" }, { "missing", NULL, "missing: No such file" }, { "file/x", NULL, "Not a directory" },
};

static void test_cases(void **state) {
    (void)state;
    for (int absolute = 0; absolute < 2; absolute++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            char path[PATH_MAX], want[PATH_MAX], real[PATH_MAX];
            Error err = { 0 };
            snprintf(path, sizeof path, absolute ? "%s/ws/%s" : "%.0s%s", base, cases[i].path);
            bool ok = sandbox_root(workspace, path, real, &err);
            if (ok != !cases[i].problem) fail_msg("%s: %s", path, ok ? real : err.msg);
            if (!ok && !strstr(err.msg, cases[i].problem)) fail_msg("%s: %s", path, err.msg);
            if (ok) {
                snprintf(want, sizeof want, "%s%s", base, cases[i].real);
                assert_string_equal(real, want);
            }
        }
}

/* A link outside is allowed, even one that leads to the workspace. */
static void test_outside(void **state) {
    (void)state;
    char path[PATH_MAX], real[PATH_MAX];
    Error err = { 0 };
    snprintf(path, sizeof path, "%s/to-out", base);
    assert_true(sandbox_root(workspace, path, real, &err));
    snprintf(path, sizeof path, "%s/to-ws/a", base);
    assert_true(sandbox_root(workspace, path, real, &err));
    snprintf(path, sizeof path, "%s/to-ws/link", base);
    assert_false(sandbox_root(workspace, path, real, &err));
    assert_true(sandbox_root("/", "usr", real, &err));
    assert_string_equal(real, "/usr");
}

static int make(void **state) {
    (void)state;
    char command[1000];
    assert_non_null(mkdtemp(base));
    snprintf(workspace, sizeof workspace, "%s/ws", base);
    snprintf(command, sizeof command, "cd %s && mkdir -p ws/a/b out/sub && touch ws/file && ln -s %s/out ws/link && ln -s ../../out ws/a/link && ln -s b ws/a/inner"
             " && ln -s . ws/up && ln -s out to-out && ln -s ws to-ws", base, base);
    return system(command);
}
static int sweep(void **state) {
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", base);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases), cmocka_unit_test(test_outside) };
    return cmocka_run_group_tests(tests, make, sweep);
}
