/* Where the record of running calls is: the folder in /tmp, which a tool may be able to make, counts only when there is no better place. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tool/protect/record.h"
#include "unit.h"

static char home[] = "/tmp/harness-record-XXXXXX";

static void check(const char *first, bool second) {
    RecordPlaces p;
    record_places(NULL, &p);
    if (first) assert_non_null(strstr(p.at[0], first));
    else assert_null(p.at[0]);
    if (second) assert_non_null(strstr(p.at[1], "/tmp/harness-"));
    else assert_null(p.at[1]);
    record_places_clear(&p);
}

static void test_places(void **state) {
    char path[PATH_MAX];
    (void)state;
    unsetenv("HARNESS_STATE");
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", home, 1);
    check("/.local/state/harness/rules", false);
    snprintf(path, sizeof path, "%s/none/state.db", home);
    setenv("HARNESS_STATE", path, 1);
    check("/none/state.db-rules", false);
    snprintf(path, sizeof path, "%s/file/state.db", home);
    setenv("HARNESS_STATE", path, 1);
    check("/file/state.db-rules", true);
    unsetenv("HARNESS_STATE");
    setenv("HOME", "/nonexistent", 1);
    check(NULL, true);
    setenv("XDG_STATE_HOME", home, 1);
    check("/harness/rules", false);
}

static int make(void **state) {
    char path[PATH_MAX];
    (void)state;
    if (!mkdtemp(home)) return 1;
    snprintf(path, sizeof path, "%s/file", home);
    FILE *f = fopen(path, "w");
    return !f || fclose(f) != 0;
}

static int drop(void **state) {
    char path[PATH_MAX];
    (void)state;
    snprintf(path, sizeof path, "%s/file", home);
    return unlink(path) != 0 || rmdir(home) != 0;
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_places) };
    return cmocka_run_group_tests(tests, make, drop);
}
