#include "unit.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/mem.h"

static void sizes_of_zero_are_fine(void **state) {
    (void)state;
    void *p = mem_alloc(0), *q = mem_zero(0, 8);
    assert_non_null(p);
    assert_non_null(q);
    p = mem_resize(p, 0, 4);
    assert_non_null(p);
    free(p);
    free(q);
}

static void zeroes_and_copies(void **state) {
    (void)state;
    unsigned char *z = mem_zero(100, 3);
    for (int i = 0; i < 300; i++) assert_int_equal(z[i], 0);
    memset(z, 7, 300);
    z = mem_resize(z, 1000, 3);
    for (int i = 0; i < 300; i++) assert_int_equal(z[i], 7);
    free(z);
    char *copy = mem_dup("a\0bcd", 4);
    assert_memory_equal(copy, "a\0bc", 5);
    free(copy);
    copy = mem_dup(NULL, 0);
    assert_string_equal(copy, "");
    free(copy);
}

static void zero_too_much(void) { free(mem_zero(SIZE_MAX / 2, 3)); }
static void alloc_too_much(void) { free(mem_alloc(SIZE_MAX)); }
static void resize_too_much(void) { free(mem_resize(NULL, SIZE_MAX / 8, 16)); }
static void dup_too_much(void) { free(mem_dup("", SIZE_MAX)); }
static void arena_too_much(void) { arena_zero(&(Arena){ 0 }, SIZE_MAX / 2, 4); }
static void buffer_too_much(void) { buf_room(&(Buf){ 0 }, SIZE_MAX - 1); }

/* Exhaustion must end the process: runs it in a child and checks how it ended. */
static void exhaustion_aborts(void **state) {
    (void)state;
    static void (*const cases[])(void) = { zero_too_much, alloc_too_much, resize_too_much, dup_too_much,
                                           arena_too_much, buffer_too_much };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            signal(SIGABRT, SIG_DFL);
            fclose(stderr);
            cases[i]();
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
            fail_msg("case %zu ended with status %x", i, status);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_of_zero_are_fine),
        cmocka_unit_test(zeroes_and_copies),
        cmocka_unit_test(exhaustion_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
