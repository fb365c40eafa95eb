/* Links and folders change while the jail resolves paths; nothing outside is ever read or changed. */
#include <pthread.h>
#include <stdatomic.h>
#include "sandbox/jail.h"
#include "sandbox/sandbox_unit.h"

static Jail *jail;
static atomic_bool over;
static atomic_long leaks;

enum { FLIPS = 100000 / 6 };                           /* six renames each */

static int setup(void **state) {
    (void)state;
    tree_make();
    tree_put("ws/inside/file", "inside");
    tree_put("ws/inside/deep/file", "inside");
    tree_put("ws/swap/file", "inside");
    tree_put("ws/a/b/c/file", "inside");
    tree_put("ws/.harness/file", "protected");
    tree_put("ws/state/file", "OUTSIDE");              /* hidden */
    tree_put("out/file", "OUTSIDE");
    tree_put("out/deep/file", "OUTSIDE");
    tree_link("inside", "ws/link");
    tree_link("../out", "ws/bad");
    tree_link(tree_path("out"), "ws/bad2");
    tree_link("state", "ws/bad3");
    tree_link(".harness", "ws/bad4");
    Error err = { 0 };
    jail = tree_jail(false, &err);
    return jail ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    jail_free(jail);
    tree_remove();
    return 0;
}

/* "link" points in turn inside, outside, to a hidden and to a protected file; the folder "swap" is at times a link to
 * the outside; "a/b" is moved away and back, so that ".." changes. */
static void *flip(void *ctx) {
    (void)ctx;
    int ws = open(tree_path("ws"), O_RDONLY | O_DIRECTORY);
    static const char *const targets[] = { "bad", "bad2", "bad3", "bad4" };
    for (long i = 0; i < FLIPS; i++) {
        renameat2(ws, "link", ws, targets[i % 4], RENAME_EXCHANGE);
        renameat2(ws, "swap", ws, targets[(i + 1) % 4], RENAME_EXCHANGE);
        renameat(ws, "a/b", ws, "b");
        renameat2(ws, "swap", ws, targets[(i + 1) % 4], RENAME_EXCHANGE);
        renameat(ws, "b", ws, "a/b");
        renameat2(ws, "link", ws, targets[i % 4], RENAME_EXCHANGE);
    }
    close(ws);
    atomic_store(&over, true);
    return NULL;
}

static void look(const char *path) {
    Buf out = { 0 };
    if (jail_read(jail, str_from(path), 100, &out, NULL, NULL) && str_starts(buf_str(&out), STR("OUTSIDE")))
        atomic_fetch_add(&leaks, 1);
    buf_clear(&out);
}

static void *read_all(void *ctx) {
    (void)ctx;
    Error err;
    while (!atomic_load(&over)) {
        look("link/file");
        look("link/deep/file");
        look("swap/file");
        look("a/b/c/../../b/c/file");
        look("a/b/c/../../../link/file");
        int dir = jail_open_dir(jail, STR("swap"), &err);
        int fd = dir < 0 ? -1 : openat(dir, "file", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        char text[8] = "";
        if (fd >= 0 && read(fd, text, 7) == 7 && strcmp(text, "OUTSIDE") == 0) atomic_fetch_add(&leaks, 1);
        if (fd >= 0) close(fd);
        if (dir >= 0) close(dir);
    }
    return NULL;
}

static void *write_all(void *ctx) {
    (void)ctx;
    while (!atomic_load(&over)) {
        jail_write(jail, STR("link/new"), STR("evil"), NULL, NULL, NULL);
        jail_write(jail, STR("swap/sub/new"), STR("evil"), &(JailWrite){ .parents = true }, NULL, NULL);
        jail_write(jail, STR("link/file"), STR("evil"), NULL, NULL, NULL);
        jail_append(jail, STR("swap/file"), STR("evil"), NULL, NULL);
        jail_mkdir(jail, STR("link/made"), NULL, NULL);
        jail_remove(jail, STR("swap/sub"), true, NULL, NULL);
        jail_remove(jail, STR("link/deep/file"), false, NULL, NULL);
        jail_copy(jail, STR("link"), STR("copy"), NULL, NULL);
        jail_remove(jail, STR("copy"), true, NULL, NULL);
        jail_copy(jail, STR("a"), STR("link/copy"), NULL, NULL);
        jail_move(jail, STR("link/new"), STR("swap/moved"), NULL, NULL);
        jail_move(jail, STR("swap/moved"), STR("a/b/c/moved"), NULL, NULL);
        jail_remove(jail, STR("a/b/c/moved"), true, NULL, NULL);
        jail_remove(jail, STR("link/copy"), true, NULL, NULL);
    }
    return NULL;
}

static void nothing_outside_is_reached(void **state) {
    (void)state;
    pthread_t threads[3];
    atomic_store(&over, false);
    pthread_create(&threads[0], NULL, flip, NULL);
    pthread_create(&threads[1], NULL, read_all, NULL);
    pthread_create(&threads[2], NULL, write_all, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&leaks), 0);
    assert_string_equal(tree_text("out/file"), "OUTSIDE");
    assert_string_equal(tree_text("out/deep/file"), "OUTSIDE");
    assert_string_equal(tree_text("ws/state/file"), "OUTSIDE");
    assert_string_equal(tree_text("ws/.harness/file"), "protected");
    char command[400];
    snprintf(command, sizeof command, "cd %s && test \"$(find out ws/state ws/.harness | wc -l)\" = 8", tree_top);
    assert_int_equal(system(command), 0);
    assert_string_equal(tree_text("ws/a/b/c/file"), "inside");
}

/* Writers that each read, add one and write back: with `expect` no update is lost. */
enum { ROUNDS = 200 };
static void *count_up(void *ctx) {
    (void)ctx;
    for (int i = 0; i < ROUNDS; ) {
        Buf out = { 0 };
        JailStat st;
        Error err = { 0 };
        if (jail_read(jail, STR("count"), 100, &out, &st, &err)) {
            char text[20];
            snprintf(text, sizeof text, "%08d", atoi(out.at) + 1);
            i += jail_write(jail, STR("count"), str_from(text), &(JailWrite){ .expect = &st }, NULL, &err);
        }
        buf_clear(&out);
    }
    return NULL;
}

static void *append_lines(void *ctx) {
    (void)ctx;
    for (int i = 0; i < ROUNDS; i++) jail_append(jail, STR("lines"), STR("line\n"), NULL, NULL);
    return NULL;
}

static void no_write_is_lost(void **state) {
    (void)state;
    pthread_t threads[6];
    tree_put("ws/count", "00000000");
    for (int i = 0; i < 6; i++) pthread_create(&threads[i], NULL, i < 3 ? count_up : append_lines, NULL);
    for (int i = 0; i < 6; i++) pthread_join(threads[i], NULL);
    struct stat st;
    stat(tree_path("ws/lines"), &st);
    assert_int_equal(st.st_size, 3 * ROUNDS * 5);
    assert_int_equal(atoi(tree_text("ws/count")), 3 * ROUNDS);
    assert_false(tree_has_litter("ws"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_outside_is_reached, setup, teardown),
        cmocka_unit_test_setup_teardown(no_write_is_lost, setup, teardown),
    };
    return tree_run(tests);
}
