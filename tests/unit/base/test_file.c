#include "unit.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/file.h"

static char dir[] = "/tmp/harness-file-XXXXXX";

static const char *in_dir(const char *name) {
    static char path[100];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void put(const char *name, const char *text, size_t n) {
    FILE *f = fopen(in_dir(name), "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    fclose(f);
}

#ifdef HARNESS_FAULTS
static int open_fds(void) {
    DIR *d = opendir("/proc/self/fd");
    int n = 0;
    while (readdir(d)) n++;
    closedir(d);
    return n;
}
#endif

static void reads_whole_files(void **state) {
    (void)state;
    static char big[100000];
    memset(big, 'x', sizeof big);
    static const size_t sizes[] = { 0, 1, 4, 5, 6, 63, 64, 65, 16383, 16384, 16385, sizeof big };
    Buf out = { .limit = 3 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        put("f", big, sizes[i]);
        assert_true(file_read(in_dir("f"), sizes[i], &out, NULL));
        assert_int_equal(out.n, sizes[i]);
        assert_memory_equal(out.at, big, sizes[i]);
        assert_int_equal(out.at[out.n], 0);
    }
    put("f", "a\0b", 3);
    assert_true(file_read(in_dir("f"), 100, &out, NULL));
    assert_memory_equal(out.at, "a\0b", 4);
    assert_true(file_read("/proc/self/status", 1 << 20, &out, NULL));   /* its reported size is 0 */
    assert_true(str_starts(buf_str(&out), STR("Name:")));
    buf_clear(&out);
}

static void says_when_a_file_is_too_large(void **state) {
    (void)state;
    Error err = { 0 };
    Buf out = { 0 };
    buf_add(&out, STR("kept"));
    put("f", "12345678901", 11);
    assert_true(file_read(in_dir("f"), 11, &out, &err));
    assert_false(file_read(in_dir("f"), 10, &out, &err));
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_true(str_ends(str_from(err.msg), STR("/f: file is larger than 10 bytes")));
    assert_str(buf_str(&out), "12345678901");
    assert_false(file_read("/proc/self/status", 10, &out, &err));       /* detected while reading */
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_str(buf_str(&out), "12345678901");
    assert_false(file_read(in_dir("f"), 0, &out, &err));
    buf_clear(&out);
}

static void only_regular_files_will_do(void **state) {
    (void)state;
    assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s", in_dir("socket"));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    char pipe_path[100], socket_path[100];
    snprintf(pipe_path, sizeof pipe_path, "%s", in_dir("pipe"));
    snprintf(socket_path, sizeof socket_path, "%s", in_dir("socket"));
    const struct { const char *path, *end; } cases[] = {
        { dir, ": it is a directory" }, { pipe_path, ": it is a pipe" }, { socket_path, ": it is a socket" },
        { "/dev/null", ": it is a device" }, { "/dev/zero", ": it is a device" },
        { "/proc/nonexistent/x", ": No such file or directory" }, { "", ": No such file or directory" },
        { "-", "open -: No such file or directory" },
    };
    Buf out = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Error err = { 0 };
        assert_false(file_read(cases[i].path, 1000, &out, &err));
        assert_int_equal(err.kind, ERR_IO);
        if (!str_ends(str_from(err.msg), str_from(cases[i].end)))
            fail_msg("%s", err.msg);
        assert_null(out.at);
    }
    close(fd);
    unlink(pipe_path);
    unlink(socket_path);
}

#ifdef HARNESS_FAULTS
static void every_step_may_fail(void **state) {
    (void)state;
    put("f", "hello", 5);
    int fds = open_fds();
    for (long nth = 1;; nth++) {
        Error err = { 0 };
        Buf out = { 0 };
        fault_arm(nth);
        bool ok = file_read(in_dir("f"), 100, &out, &err);
        assert_int_equal(open_fds(), fds);
        if (!fault_disarm()) {                         /* no step left to fail */
            assert_true(ok);
            assert_str(buf_str(&out), "hello");
            buf_clear(&out);
            assert_true(nth > 4);                      /* open, stat and two reads */
            break;
        }
        assert_false(ok);
        assert_int_equal(err.kind, ERR_IO);
        assert_true(err.msg[0]);
        assert_null(out.at);
    }
}
#endif

static int make_dir(void **state) {
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state) {
    (void)state;
    unlink(in_dir("f"));
    return rmdir(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_whole_files),
        cmocka_unit_test(says_when_a_file_is_too_large),
        cmocka_unit_test(only_regular_files_will_do),
#ifdef HARNESS_FAULTS
        cmocka_unit_test(every_step_may_fail),
#endif
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
