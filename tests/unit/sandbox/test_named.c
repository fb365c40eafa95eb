/* Files that the user named for harness to write: which are opened, and which are refused. The stream names and FIFOs with readers are in the
 * end-to-end tests. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sandbox/named.h"
#include "unit.h"

static char base[] = "/tmp/harness-named-XXXXXX", workspace[64];

/* `path` is below the base folder; `ws` is the place that tools can write. */
static const struct { const char *path, *problem; } cases[] = {
    { "ws/new", NULL }, { "ws/sub/new", NULL }, { "ws/sub/../file", NULL }, { "ws//./file", NULL }, { "out/new", NULL },
        { "to-out/new2", NULL }, { "to-ws/new3", NULL },
    { "ws/link", "ws/link is a symbolic link in a place that tools can write" }, { "ws/dangling", "is a symbolic link in a place that tools can write" },
    { "ws/away/new", "ws/away is a symbolic link in a place" }, { "ws/away/../new", "ws/away is a symbolic link in a place" },
        { "ws/inner/new", "ws/inner is a symbolic link in a place" },
    { "to-ws/link", "ws/link is a symbolic link in a place" }, { "to-ws/away/new", "ws/away is a symbolic link in a place" },
    { "chain/new", "ws/away is a symbolic link in a place" }, { "ws/loop/x", "ws/loop is a symbolic link in a place" },
        { "loop/x", "Too many levels of symbolic links" },
    { "to-file", "is a symbolic link, and harness does not write through one" },
    { "ws/two", "another name elsewhere" }, { "out/two", NULL }, { "ws/fifo", "it is a FIFO" }, { "out/fifo", "a FIFO that no program reads" },
    { "ws/sub", "Is a directory" }, { "ws/none/new", "No such file" }, { "ws/file/new", "Not a directory" },
        { "ws/sub/", "not the name of a file" }, { "ws/sub/..", "directory" },
};

static void test_cases(void **state) {
    (void)state;
    const char *reach[] = { workspace, NULL };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[PATH_MAX];
        Error err = { 0 };
        snprintf(path, sizeof path, "%s/%s", base, cases[i].path);
        int fd = named_open(path, O_APPEND, 0600, reach, &err);
        if ((fd >= 0) != !cases[i].problem) fail_msg("%s: %s", path, fd >= 0 ? "opened" : err.msg);
        if (fd < 0 && !strstr(err.msg, cases[i].problem)) fail_msg("%s: %s", path, err.msg);
        if (fd >= 0) {
            assert_int_equal(fcntl(fd, F_GETFL) & (O_NONBLOCK | O_APPEND), O_APPEND);
            close(fd);
        }
    }
}

/* A file is emptied only when it may be written. */
static void test_truncate(void **state) {
    (void)state;
    const char *reach[] = { workspace, NULL };
    struct stat st;
    char path[PATH_MAX];
    Error err = { 0 };
    snprintf(path, sizeof path, "%s/ws/two", base);
    assert_int_equal(named_open(path, O_TRUNC, 0600, reach, &err), -1);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 4);
    snprintf(path, sizeof path, "%s/ws/full", base);
    int fd = named_open(path, O_TRUNC, 0600, reach, &err);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 0);
    assert_int_equal(named_open(path, O_EXCL, 0600, reach, &err), -1);
    assert_non_null(strstr(err.msg, "File exists"));
}

static void test_relative(void **state) {
    (void)state;
    const char *reach[] = { workspace, NULL };
    Error err = { 0 };
    assert_int_equal(chdir(workspace), 0);
    int fd = named_open("relative", 0, 0600, reach, &err);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(named_open("link", 0, 0600, reach, &err), -1);
    assert_int_equal(named_open("away/x", 0, 0600, reach, &err), -1);
    assert_int_equal(named_open("", 0, 0600, reach, &err), -1);
    fd = named_open("away/x", 0, 0600, NULL, &err);        /* tools can write nothing here: the link is the user's own */
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(chdir("/"), 0);
}

static int make(void **state) {
    (void)state;
    return !mkdtemp(base) || snprintf(workspace, sizeof workspace, "%s/ws", base) < 0 || chdir(base) != 0
           || system("mkdir -p ws/sub out && cd ws && echo abc > full && touch file && ln -s ../out/f link && ln -s ../out/none dangling && ln -s ../out away && ln -s sub inner && ln -s loop loop"
                     " && mkfifo fifo ../out/fifo && echo abc > ../out/two && ln ../out/two two && cd .. && ln -s out to-out && ln -s ws to-ws && ln -s ws/away chain && ln -s loop loop && ln -s out/f to-file") != 0;
}

static int drop(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", base);
    return chdir("/") != 0 || system(command) != 0;
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases), cmocka_unit_test(test_truncate), cmocka_unit_test(test_relative) };
    return cmocka_run_group_tests(tests, make, drop);
}
