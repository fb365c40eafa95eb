/* Looking for the next request before falling asleep: what it finds is what poll() finds, and it is given up where it does not help. */
#include "mcp/serve_poll.h"
#include <unistd.h>
#include "unit.h"

enum { FIRST = 16, MOST = 8192 };                            /* how many quick requests it takes at first, and at most */

static void ask(int fd) { assert_int_equal(write(fd, "x", 1), 1); }

static void answer(int fd) {
    char c;
    assert_int_equal(read(fd, &c, 1), 1);
}

static void test_finds(void **state) {
    (void)state;
    int in[2], stop[2];
    ServePoll w = { 0 };
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(stop), 0);
    for (int i = 0; i < 100; i++) {                          /* asleep at first, looking later: all the same */
        struct pollfd fds[] = { { in[0], POLLIN, 0 }, { stop[0], POLLIN, 0 } };
        if (i >= 50) w.quick = MOST;
        ask(in[1]);
        assert_int_equal(serve_poll(&w, fds, 2, 1000), 1);
        assert_int_equal(fds[0].revents, POLLIN);
        assert_int_equal(fds[1].revents, 0);
        answer(in[0]);
    }
    struct pollfd fds[] = { { in[0], POLLIN, 0 }, { stop[0], POLLIN, 0 } };
    ask(stop[1]);                                            /* who is to stop is heard while it looks */
    assert_int_equal(serve_poll(&w, fds, 2, -1), 1);
    assert_int_equal(fds[1].revents, POLLIN);
    answer(stop[0]);
    close(in[1]);                                            /* and so is the end */
    assert_int_equal(serve_poll(&w, fds, 2, -1), 1);
    assert_true(fds[0].revents & POLLHUP);
    close(in[0]);
    close(stop[0]);
    close(stop[1]);
}

static void test_gives_up(void **state) {
    (void)state;
    int in[2];
    ServePoll w = { 0 };
    assert_int_equal(pipe(in), 0);
    unsigned needed = FIRST;
    for (int round = 0; round < 12; round++) {
        struct pollfd fd = { in[0], POLLIN, 0 };
        w.quick = needed;                                    /* as if so many had come at once */
        assert_int_equal(serve_poll(&w, &fd, 1, 1), 0);
        needed = needed < MOST ? 2 * needed : MOST;
        assert_int_equal(w.needed, needed);
        assert_true(w.quick < needed);
    }
    struct pollfd fd = { in[0], POLLIN, 0 };
    w.quick = needed;
    ask(in[1]);
    assert_int_equal(serve_poll(&w, &fd, 1, 1), 1);          /* it helped: at once again */
    assert_int_equal(w.needed, FIRST);
    close(in[0]);
    close(in[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_finds), cmocka_unit_test(test_gives_up) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
