#include "sandbox/jail.h"
#include <pthread.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include "base/arena.h"
#include "sandbox/sandbox_unit.h"

static Jail *jail;
static Error err;

static int setup(void **state) {
    (void)state;
    tree_make();
    tree_put("ws/a.txt", "hello");
    tree_put("ws/sub/b.txt", "b");
    tree_put("ws/.harness/tools/x.md", "tool");
    tree_put("ws/pkg/deep/harness.yaml", "y");
    tree_put("ws/pkg/code.c", "code");
    tree_put("ws/state/db", "hidden");
    tree_put("out/secret", "secret");
    tree_put("out/dir/secret", "secret");
    tree_put("ro/r.txt", "r");
    tree_put("rw/w.txt", "w");
    tree_link("sub/b.txt", "ws/to_b");
    tree_link("to_b", "ws/to_to_b");
    tree_link("sub", "ws/to_sub");
    tree_link(tree_path("ws/sub"), "ws/abs_sub");
    tree_link(tree_path("ro/r.txt"), "ws/abs_ro");
    tree_link("../ro/r.txt", "ws/rel_ro");
    tree_link("../out/secret", "ws/rel_out");
    tree_link(tree_path("out/secret"), "ws/abs_out");
    tree_link(tree_path("out"), "ws/abs_out_dir");
    tree_link("/", "ws/slash");
    tree_link("loop", "ws/loop");
    tree_link("nowhere", "ws/dangling");
    tree_link("../out/nowhere", "ws/dangling_out");
    tree_link("/proc/self/root", "ws/proc_root");
    tree_link("/proc/self/cwd", "ws/proc_cwd");
    tree_link(".harness/tools", "ws/to_tools");
    tree_link("state/db", "ws/to_db");
    tree_link("../..", "ws/sub/up");
    tree_link(tree_path("ws"), "out/to_ws");
    assert_int_equal(link(tree_path("ws/.harness/tools/x.md"), tree_path("ws/alias")), 0);
    assert_int_equal(link(tree_path("ws/pkg/deep/harness.yaml"), tree_path("ws/alias2")), 0);
    assert_int_equal(link(tree_path("out/secret"), tree_path("ws/outer")), 0);
    assert_int_equal(mkfifo(tree_path("ws/fifo"), 0666), 0);
    err = (Error){ 0 };
    jail = tree_jail(false, &err);
    if (!jail) print_error("%s\n", err.msg);
    return jail ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    jail_free(jail);
    tree_remove();
    return 0;
}

#define OK(call) do { err = (Error){ 0 }; if (!(call)) fail_msg("%s: %s", #call, err.msg); } while (0)
#define NO(call, text) do { err = (Error){ 0 }; if (call) fail_msg("%s went well", #call); \
                            if (!strstr(err.msg, text)) fail_msg("%s: %s", #call, err.msg); } while (0)

static const char *at(const char *path) {              /* '@' stands for the tree */
    static char text[6000];
    if (path[0] != '@') return path;
    snprintf(text, sizeof text, "%s%s", tree_top, path + 1);
    return text;
}

static bool reads(const char *path, const char *expected) {
    Buf out = { 0 };
    bool ok = jail_read(jail, str_from(at(path)), 100000, &out, NULL, &err);
    if (ok) assert_str(buf_str(&out), expected);
    buf_clear(&out);
    return ok;
}

static bool writes(const char *path, const char *text) {
    return jail_write(jail, str_from(at(path)), str_from(text), NULL, NULL, &err);
}

/* ---- path resolution ---- */

static const struct { const char *path, *content, *error; } reading[] = {
    { "a.txt", "hello", NULL }, { "./a.txt", "hello", NULL }, { ".//.//a.txt", "hello", NULL }, { "sub/../a.txt", "hello", NULL },
    { "sub/./../sub/b.txt", "b", NULL }, { "@/ws/a.txt", "hello", NULL }, { "@/ws/sub/../a.txt", "hello", NULL }, { "@/out/../ws/a.txt", "hello", NULL },
    { "@/out/to_ws/a.txt", "hello", NULL }, { "/../..@", NULL, "outside" }, { "@/ro/r.txt", "r", NULL }, { "@/rw/w.txt", "w", NULL },
    { "to_b", "b", NULL }, { "to_to_b", "b", NULL }, { "to_sub/b.txt", "b", NULL }, { "to_sub/../a.txt", "hello", NULL },
        { "abs_sub/b.txt", "b", NULL }, { "abs_ro", "r", NULL },
    { "outer", "secret", NULL },                             /* a hard link counts as a file of the workspace: it cannot
                                                              * be distinguished */
    { "alias", "tool", NULL }, { ".harness/tools/x.md", "tool", NULL }, { "to_tools/x.md", "tool", NULL },
    { "", NULL, "the path is empty" }, { "..", NULL, "outside" }, { "../", NULL, "outside" }, { "../ws/a.txt", NULL, "outside" },
    { "../out/secret", NULL, "outside" }, { "sub/../../out/secret", NULL, "outside" }, { "@/out/secret", NULL, "outside" },
    { "@/ws/../out/secret", NULL, "outside" }, { "/etc/passwd", NULL, "outside" }, { "/etc/no-such-file", NULL, "outside" },
    { "/", NULL, "outside" }, { "//etc/passwd", NULL, "outside" }, { "@", NULL, "outside" }, { "@/wsx", NULL, "outside" },
    { "rel_out", NULL, "outside" }, { "abs_out", NULL, "outside" }, { "abs_out_dir/secret", NULL, "outside" },
    { "rel_ro", NULL, "outside" },                     /* leaves the workspace by "..": refused, though it would end in
                                                        * a root */
    { "slash/etc/passwd", NULL, "outside" }, { "sub/up/out/secret", NULL, "outside" }, { "dangling_out", NULL, "outside" },
    { "proc_root/etc/passwd", NULL, "outside" }, { "proc_cwd/README.md", NULL, "outside" }, { "/proc/self/environ", NULL, "outside" },
    { "/proc/self/fd/0", NULL, "outside" }, { "/proc/self/cwd/a.txt", NULL, "outside" },
    { "state/db", NULL, "outside" }, { "to_db", NULL, "outside" }, { "state/none", NULL, "outside" }, { "@/ws/state/db", NULL, "outside" },
    { "loop", NULL, "too many links" }, { "loop/x", NULL, "too many links" }, { "dangling", NULL, "no such file" },
    { "none", NULL, "none: no such file" }, { "none/none", NULL, "no such file" }, { "none/../a.txt", NULL, "no such file" },
    { "a.txt/", NULL, "not a folder" }, { "a.txt/x", NULL, "not a folder" }, { "a.txt/..", NULL, "not a folder" }, { "to_b/", NULL, "not a folder" },
    { "sub", NULL, "is a folder" }, { ".", NULL, "is a folder" }, { "fifo", NULL, "not a regular file" }, { "@/ws", NULL, "is a folder" },
};

static void follows_paths_inside_and_no_others(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof reading / sizeof *reading; i++) {
        err = (Error){ 0 };
        bool ok = reads(reading[i].path, reading[i].content ? reading[i].content : "");
        if (ok != !reading[i].error) fail_msg("%s: %s", reading[i].path, ok ? "was read" : err.msg);
        if (ok) continue;
        if (!strstr(err.msg, reading[i].error)) fail_msg("%s: %s", reading[i].path, err.msg);
        assert_int_equal(err.kind, strcmp(reading[i].error, "outside") == 0 ? ERR_SANDBOX : ERR_IO);
    }
    char name[300], deep[6000] = "";
    memset(name, 'n', 299), name[299] = 0;
    NO(reads(name, ""), "name too long");
    for (int i = 0; i < 2000; i++) strcat(deep, "./");
    NO(reads(deep, ""), "is a folder");
    for (int i = 0; i < 100; i++) strcat(deep, "./");
    NO(reads(deep, ""), "name too long");
    assert_true(strlen(err.msg) < 400);
    NO(jail_exists(jail, (Str){ "a\0b", 3 }, &(bool){ 0 }, &err), "NUL byte");
    NO(reads("a\nb\033", ""), "a\\u{a}b\\u{1b}: no such file");
}

static void says_where_a_path_leads(void **state) {
    (void)state;
    static const struct { const char *path; uint32_t root; const char *below, *absolute; bool exists; } places[] = {
        { "a.txt", 0, "a.txt", "@/ws/a.txt", true }, { "to_to_b", 0, "sub/b.txt", "@/ws/sub/b.txt", true },
        { "abs_sub/../x/y/z", 0, "x/y/z", "@/ws/x/y/z", false }, { ".", 0, ".", "@/ws", true }, { "@/ws", 0, ".", "@/ws", true },
        { "sub/..", 0, ".", "@/ws", true }, { "sub/.", 0, "sub", "@/ws/sub", true }, { "abs_ro", 1, "r.txt", "@/ro/r.txt", true },
        { "@/rw/new", 2, "new", "@/rw/new", false }, { "dangling", 0, "nowhere", "@/ws/nowhere", false }, { "@/ro", 1, ".", "@/ro", true },
        { "@/out/to_ws/sub/new", 0, "sub/new", "@/ws/sub/new", false }, { "sub/new/./x", 0, "sub/new/x", "@/ws/sub/new/x", false },
    };
    Arena arena = { 0 };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        JailPlace p;
        OK(jail_place(jail, str_from(at(places[i].path)), true, &arena, &p, &err));
        if (p.root != places[i].root || p.exists != places[i].exists) fail_msg("%s: root %u", places[i].path, p.root);
        assert_str(p.path, places[i].below);
        assert_str(p.absolute, at(places[i].absolute));
    }
    JailPlace p;
    NO(jail_place(jail, STR("new"), false, &arena, &p, &err), "no such file");
    NO(jail_place(jail, STR("new/../../x"), true, &arena, &p, &err), "no such file");
    arena_clear(&arena);
}

static void looks_and_lists(void **state) {
    (void)state;
    bool there = false;
    JailStat st;
    OK(jail_exists(jail, STR("a.txt"), &there, &err));
    assert_true(there);
    OK(jail_exists(jail, STR("none/x"), &there, &err));
    assert_false(there);
    OK(jail_exists(jail, STR("a.txt/x"), &there, &err));
    assert_false(there);
    OK(jail_exists(jail, STR("none/../x"), &there, &err));
    assert_false(there);
    NO(jail_exists(jail, STR(""), &there, &err), "empty");
    NO(jail_exists(jail, STR("loop"), &there, &err), "too many links");
    OK(jail_exists(jail, STR("dangling"), &there, &err));
    assert_false(there);
    NO(jail_exists(jail, STR("rel_out"), &there, &err), "outside");
    OK(jail_stat(jail, STR("to_b"), &st, &err));
    assert_true(st.type == 'f' && st.size == 1 && st.mode == 0644 && st.modified_ns > 1000000000);
    OK(jail_stat(jail, STR("fifo"), &st, &err));
    assert_int_equal(st.type, 'o');
    Arena arena = { 0 };
    JailEntry *list;
    size_t n;
    OK(jail_list(jail, STR("."), &arena, &list, &n, &err));
    for (size_t i = 0; i < n; i++) {
        if (i) assert_true(str_cmp(list[i - 1].name, list[i].name) < 0);
        assert_false(str_eq(list[i].name, STR("state")));      /* hidden */
        if (str_eq(list[i].name, STR("abs_out"))) assert_int_equal(list[i].stat.type, 'l');
    }
    assert_true(n > 20);
    OK(jail_list(jail, STR("to_sub"), &arena, &list, &n, &err));
    assert_int_equal(n, 2);
    NO(jail_list(jail, STR("a.txt"), &arena, &list, &n, &err), "not a folder");
    NO(jail_list(jail, STR("state"), &arena, &list, &n, &err), "outside");
    NO(jail_list(jail, STR("abs_out_dir"), &arena, &list, &n, &err), "outside");
    arena_clear(&arena);
}

/* ---- writing ---- */

static void replaces_files_whole(void **state) {
    (void)state;
    JailStat st, old;
    chmod(tree_path("ws/a.txt"), 0751);
    OK(jail_stat(jail, STR("a.txt"), &old, &err));
    OK(jail_write(jail, STR("a.txt"), STR("new"), NULL, &st, &err));
    assert_string_equal(tree_text("ws/a.txt"), "new");
    assert_true(st.mode == 0751 && st.size == 3 && st.inode != old.inode);
    JailStat again;
    OK(jail_stat(jail, STR("a.txt"), &again, &err));
    assert_true(again.inode == st.inode && again.modified_ns == st.modified_ns && again.device == st.device);
    chmod(tree_path("ws/a.txt"), 06755);               /* as with any write: no longer setuid */
    OK(writes("a.txt", ""));
    OK(jail_stat(jail, STR("a.txt"), &st, &err));
    assert_true(st.mode == 0755 && st.size == 0);
    umask(027);
    OK(writes("fresh", "x"));
    umask(022);
    OK(jail_stat(jail, STR("fresh"), &st, &err));
    assert_int_equal(st.mode, 0640);
    OK(writes("to_to_b", "through links"));
    assert_string_equal(tree_text("ws/sub/b.txt"), "through links");
    OK(writes("dangling", "made"));
    assert_string_equal(tree_text("ws/nowhere"), "made");
    OK(writes("@/rw/w.txt", "w2"));
    NO(writes("none/x", "x"), "no such file");
    NO(writes("sub", "x"), "is a folder");
    NO(writes("sub/", "x"), "is a folder");
    NO(writes("new/", "x"), "is a folder");
    NO(writes("fifo", "x"), "not a regular file");
    NO(jail_write(jail, STR("a.txt"), STR("x"), &(JailWrite){ .must_be_new = true }, NULL, &err), "already exists");
    OK(jail_write(jail, STR("p/q/r"), STR("x"), &(JailWrite){ .parents = true, .must_be_new = true }, NULL, &err));
    NO(jail_write(jail, STR("a.txt/q/r"), STR("x"), &(JailWrite){ .parents = true }, NULL, &err), "not a folder");
    NO(jail_write(jail, STR("t"), (Str){ "", (size_t)JAIL_FILE_MAX + 1 }, NULL, NULL, &err), "more than");
    assert_false(tree_has_litter("ws"));
    OK(writes("outer", "mine"));                       /* the name gets a separate file */
    assert_string_equal(tree_text("out/secret"), "secret");
    if (geteuid() != 0) {
        chmod(tree_path("ws/a.txt"), 0444);
        NO(writes("a.txt", "x"), "permission denied");
        chmod(tree_path("ws/sub"), 0555);
        NO(writes("sub/new", "x"), "permission denied");
        NO(jail_may_write(jail, STR("sub/new"), &err), "permission denied");
        chmod(tree_path("ws/sub"), 0755);
    } else {
        assert_int_equal(chown(tree_path("ws/sub/b.txt"), 1234, 4321), 0);
        OK(writes("sub/b.txt", "owner stays"));
        struct stat now;
        stat(tree_path("ws/sub/b.txt"), &now);
        assert_true(now.st_uid == 1234 && now.st_gid == 4321);
    }
}

static void notices_what_others_wrote(void **state) {
    (void)state;
    JailStat st;
    Buf out = { 0 };
    OK(jail_read(jail, STR("a.txt"), 100, &out, &st, &err));
    JailWrite how = { .expect = &st };
    OK(jail_write(jail, STR("a.txt"), STR("1"), &how, &st, &err));
    OK(jail_write(jail, STR("a.txt"), STR("2"), &how, &st, &err));
    tree_put("ws/a.txt", "theirs");
    NO(jail_write(jail, STR("a.txt"), STR("3"), &how, NULL, &err), "a.txt: changed since it was read");
    assert_string_equal(tree_text("ws/a.txt"), "theirs");
    OK(jail_read(jail, STR("a.txt"), 100, &out, &st, &err));
    unlink(tree_path("ws/a.txt"));
    NO(jail_write(jail, STR("a.txt"), STR("3"), &how, NULL, &err), "changed since it was read");
    tree_put("ws/a.txt", "theirs");
    NO(jail_write(jail, STR("a.txt"), STR("3"), &how, NULL, &err), "changed since it was read");
    assert_false(tree_has_litter("ws"));
    buf_clear(&out);
}

static void appends(void **state) {
    (void)state;
    OK(jail_append(jail, STR("log"), STR("one\n"), NULL, &err));
    struct stat before, after;
    stat(tree_path("ws/log"), &before);
    OK(jail_append(jail, STR("log"), STR("two\n"), NULL, &err));
    stat(tree_path("ws/log"), &after);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_string_equal(tree_text("ws/log"), "one\ntwo\n");
    OK(jail_append(jail, STR("outer"), STR(" and mine"), NULL, &err));   /* another name of a file outside */
    assert_string_equal(tree_text("ws/outer"), "secret and mine");
    assert_string_equal(tree_text("out/secret"), "secret");
    OK(jail_append(jail, STR("alias"), STR(" and mine"), NULL, &err));   /* another name of a file in a protected folder */
    assert_string_equal(tree_text("ws/.harness/tools/x.md"), "tool");
    NO(jail_append(jail, STR("alias2"), STR("x"), NULL, &err), "protected");
    NO(jail_append(jail, STR("fifo"), STR("x"), NULL, &err), "not a regular file");
    NO(jail_append(jail, STR("none/x"), STR("x"), NULL, &err), "no such file");
    NO(jail_append(jail, STR("rel_out"), STR("x"), NULL, &err), "outside");
    NO(jail_append(jail, STR(".harness/tools/x.md"), STR("x"), NULL, &err), "protected");
    NO(jail_append(jail, str_from(at("@/ro/r.txt")), STR("x"), NULL, &err), "may only be read");
}

static void makes_copies_moves_and_removes(void **state) {
    (void)state;
    OK(jail_mkdir(jail, STR("d/e/f"), NULL, &err));
    OK(jail_mkdir(jail, STR("d/e/f/"), NULL, &err));
    NO(jail_mkdir(jail, STR("a.txt"), NULL, &err), "already exists");
    OK(jail_copy(jail, STR("a.txt"), STR("d/copy"), NULL, &err));
    assert_string_equal(tree_text("ws/d/copy"), "hello");
    OK(jail_copy(jail, str_from(at("@/ro/r.txt")), STR("d/copy"), NULL, &err));
    assert_string_equal(tree_text("ws/d/copy"), "r");
    NO(jail_copy(jail, STR("a.txt"), STR("a.txt"), NULL, &err), "same file");
    NO(jail_copy(jail, STR("a.txt"), STR("d"), NULL, &err), "is a folder");
    NO(jail_copy(jail, STR("fifo"), STR("g"), NULL, &err), "not a regular file");
    NO(jail_copy(jail, STR("rel_out"), STR("g"), NULL, &err), "outside");
    NO(jail_copy(jail, STR("state"), STR("g"), NULL, &err), "outside");
    NO(jail_copy(jail, STR("d"), STR("d/e/d"), NULL, &err), "into itself");
    NO(jail_copy(jail, STR("."), STR("d/all"), NULL, &err), "into itself");
    tree_link("../../out/secret", "ws/d/e/out");
    chmod(tree_path("ws/d/e/f"), 0500);
    OK(jail_copy(jail, STR("d"), STR("d2"), NULL, &err));
    assert_string_equal(tree_text("ws/d2/copy"), "r");
    struct stat st;
    lstat(tree_path("ws/d2/e/out"), &st);
    assert_true(S_ISLNK(st.st_mode));
    stat(tree_path("ws/d2/e/f"), &st);
    assert_int_equal(st.st_mode & 0777, 0500);
    NO(jail_copy(jail, STR("d"), STR("d2"), NULL, &err), "already exists");
    mkfifo(tree_path("ws/d/e/pipe"), 0600);
    NO(jail_copy(jail, STR("d"), STR("d3"), NULL, &err), "not a regular file");
    assert_int_not_equal(access(tree_path("ws/d3"), F_OK), 0);
    assert_false(tree_has_litter("ws"));
    OK(jail_move(jail, STR("d2"), STR("sub/d2"), NULL, &err));
    OK(jail_move(jail, STR("a.txt"), STR("sub/b.txt"), NULL, &err));
    assert_string_equal(tree_text("ws/sub/b.txt"), "hello");
    NO(jail_move(jail, STR("sub"), STR("sub/d2/x"), NULL, &err), "into itself");
    NO(jail_move(jail, STR("none"), STR("x"), NULL, &err), "none: no such file");
    NO(jail_move(jail, STR("sub"), STR("../out/sub"), NULL, &err), "outside");
    NO(jail_move(jail, str_from(at("@/ro/r.txt")), STR("x"), NULL, &err), "may only be read");
    OK(jail_move(jail, STR("rel_out"), STR("moved_link"), NULL, &err));    /* moves a link, not its target */
    assert_string_equal(tree_text("out/secret"), "secret");
    NO(jail_remove(jail, STR("sub"), false, NULL, &err), "not empty");
    OK(jail_remove(jail, STR("abs_out_dir"), true, NULL, &err));
    OK(jail_remove(jail, STR("slash/"), true, NULL, &err));
    OK(jail_remove(jail, STR("sub"), true, NULL, &err));
    OK(jail_remove(jail, STR("fifo"), false, NULL, &err));
    assert_string_equal(tree_text("out/dir/secret"), "secret");
    NO(jail_remove(jail, STR("sub"), true, NULL, &err), "no such file");
    static const char *const roots[] = { ".", "d/..", "@/ws", "@/rw", "@/rw/", "@/ws/d/.." };
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) NO(jail_remove(jail, str_from(at(roots[i])), true, NULL, &err), "root");
    Cancel *cancel = cancel_new(NULL, 0);
    cancel_fire(cancel);
    NO(jail_remove(jail, STR("d"), true, cancel, &err), "cancelled");
    NO(jail_copy(jail, STR("pkg"), STR("d9"), cancel, &err), "cancelled");
    assert_int_not_equal(access(tree_path("ws/d9"), F_OK), 0);
    cancel_free(cancel);
}

/* Deeper than the number of available descriptors, with names that look like options of rm. */
static void handles_deep_trees(void **state) {
    (void)state;
    int fd = open(tree_path("ws"), O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 1500; i++) {
        assert_int_equal(mkdirat(fd, i ? "d" : "deep", 0755), 0);
        int next = openat(fd, i ? "d" : "deep", O_RDONLY | O_DIRECTORY);
        close(openat(next, "-rf *", O_CREAT | O_WRONLY, 0644));
        close(fd);
        fd = next;
    }
    close(fd);
    struct rlimit old, few = { 40, 40 };
    getrlimit(RLIMIT_NOFILE, &old);
    few.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_NOFILE, &few);
    OK(jail_copy(jail, STR("deep"), STR("deep2"), NULL, &err));
    OK(jail_remove(jail, STR("deep"), true, NULL, &err));
    OK(jail_remove(jail, STR("deep2"), true, NULL, &err));
    setrlimit(RLIMIT_NOFILE, &old);
}

/* ---- protected, hidden, read-only ---- */

static void keeps_protected_files(void **state) {
    (void)state;
    static const char *const locked[] = {
        ".harness/tools/x.md", ".harness/new", ".harness/new/sub/x", ".harness", "to_tools/x.md", "to_tools/new", "sub/../.harness/new",
        "@/ws/.harness/new", "@/out/to_ws/.harness/new", "harness.yaml", "pkg/deep/harness.yaml", "later/on/harness.yaml", "alias2",
        "harness.yaml/x", "HARNESS.yaml", "Harness.YAML", "harne\xc5\xbf\xc5\xbf.yaml", "har\xe2\x80\x8bness.yaml", "harne\xc3\x9f.yaml",
        "later/on/HARNESS.YAML", "later/ON/harness.yaml",
    };
    JailWrite how = { .parents = true };
    for (size_t i = 0; i < sizeof locked / sizeof *locked; i++) {
        Str path = str_from(at(locked[i]));
        NO(jail_write(jail, path, STR("evil"), &how, NULL, &err), "protected");
        NO(jail_may_write(jail, path, &err), "protected");
        NO(jail_append(jail, path, STR("evil"), NULL, &err), "");
        NO(jail_copy(jail, STR("a.txt"), path, NULL, &err), "");
        NO(jail_move(jail, STR("a.txt"), path, NULL, &err), "");
        NO(jail_remove(jail, path, true, NULL, &err), "");
    }
    NO(jail_mkdir(jail, STR("harness.yaml"), NULL, &err), "protected");
    NO(jail_mkdir(jail, STR(".harness/d"), NULL, &err), "protected");
    static const char *const on_the_way[] = { "pkg", "pkg/deep", "later", "later/on" };
    OK(jail_mkdir(jail, STR("later/on/other"), NULL, &err));
    for (size_t i = 0; i < 4; i++) {
        NO(jail_move(jail, str_from(on_the_way[i]), STR("elsewhere"), NULL, &err), "protected");
        NO(jail_remove(jail, str_from(on_the_way[i]), true, NULL, &err), "protected");
        NO(jail_move(jail, STR("sub"), str_from(on_the_way[i]), NULL, &err), "protected");
    }
    OK(jail_mkdir(jail, STR("fake/on"), NULL, &err));
    OK(writes("fake/on/harness.yaml", "evil"));
    OK(jail_remove(jail, STR("later2"), true, NULL, &err) || true);
    rename(tree_path("ws/later"), tree_path("ws/later.old"));      /* another process may */
    NO(jail_copy(jail, STR("fake"), STR("later"), NULL, &err), "would create a protected file");
    assert_false(tree_has_litter("ws"));
    NO(jail_move(jail, STR("fake"), STR("later"), NULL, &err), "protected");
    OK(writes("pkg/deep/other.yaml", "fine"));
    OK(writes("pkg/code.c", "fine"));
    OK(jail_copy(jail, STR(".harness"), STR("harness.copy"), NULL, &err));
    assert_string_equal(tree_text("ws/.harness/tools/x.md"), "tool");
    assert_string_equal(tree_text("ws/pkg/deep/harness.yaml"), "y");
}

/* Files and folders replaced since the jail was created are still recognized by their path; a file that reuses an inode
 * number is not mistaken for the old one. */
static void knows_replaced_files_by_name(void **state) {
    (void)state;
    unlink(tree_path("ws/alias2"));
    unlink(tree_path("ws/pkg/deep/harness.yaml"));
    for (int i = 0; i < 50; i++) {
        char name[20];
        snprintf(name, sizeof name, "n%d", i);
        OK(writes(name, "1"));
        OK(writes(name, "2"));
    }
    tree_put("ws/pkg/deep/harness.yaml", "edited");
    NO(writes("pkg/deep/harness.yaml", "x"), "protected");
    rename(tree_path("ws/pkg"), tree_path("ws/pkg.old"));
    tree_put("ws/pkg/deep/harness.yaml", "again");
    NO(writes("pkg/deep/harness.yaml", "x"), "protected");
    NO(jail_remove(jail, STR("pkg/deep"), true, NULL, &err), "protected");
}

static void refuses_every_change(void) {
    OK(reads("a.txt", "hello"));
    NO(writes("a.txt", "x"), "nothing may be written here");
    NO(jail_mkdir(jail, STR("d"), NULL, &err), "nothing may be written");
    NO(jail_remove(jail, STR("a.txt"), false, NULL, &err), "nothing may be written");
    NO(jail_append(jail, str_from(at("@/rw/w.txt")), STR("x"), NULL, &err), "nothing may be written");
    NO(reads("state/db", ""), "outside");
}

static void read_only_jails_and_roots(void **state) {
    (void)state;
    Jail *all = jail, *ro = tree_jail(true, &err), *view = jail_view_read_only(all);
    jail = ro;
    refuses_every_change();
    jail = view;
    refuses_every_change();
    jail_free(view);
    jail = all;
    jail_free(ro);
    NO(writes("@/ro/r.txt", "x"), "may only be read");
    NO(writes("@/ro/new", "x"), "may only be read");
    NO(writes("abs_ro", "x"), "may only be read");
    NO(jail_copy(jail, STR("a.txt"), str_from(at("@/ro/new")), NULL, &err), "may only be read");
}

static void roots_must_exist_and_may_nest(void **state) {
    (void)state;
    Jail *j = NULL;
    const char *none[] = { tree_path("none"), NULL }, *file[] = { tree_path("ws/a.txt"), NULL }, *relative[] = { "ws", NULL };
    NO(jail_new(&(JailInput){ .workspace = tree_path("none") }, &j, &err), "workspace: ");
    NO(jail_new(&(JailInput){ .workspace = tree_path("ws"), .read_roots = none }, &j, &err), "/none: no such file");
    NO(jail_new(&(JailInput){ .workspace = tree_path("ws"), .write_roots = file }, &j, &err), "a.txt: not a folder");
    NO(jail_new(&(JailInput){ .workspace = tree_path("ws"), .write_roots = relative }, &j, &err), "not an absolute path");
    const char *all[] = { "/", "/proc", NULL }, *inner[] = { tree_path("ws/sub"), NULL }, *above[] = { tree_path("ws"), NULL };
    Jail *old = jail;
    OK(jail_new(&(JailInput){ .workspace = tree_path("ws"), .read_roots = all, .write_roots = inner }, &jail, &err));
    OK(reads("@/out/secret", "secret"));
    OK(reads("slash/../..@/out/secret", "") || true);
    OK(writes("sub/b.txt", "x"));
    OK(writes("@/ws/a.txt", "x"));
    NO(writes("@/out/secret", "x"), "may only be read");
    NO(reads("/proc/self/environ", ""), "process file system");
    NO(reads("/proc/1/root/etc/passwd", ""), "process file system");
    jail_free(jail);
    OK(jail_new(&(JailInput){ .workspace = tree_path("ws/sub"), .protect = above }, &jail, &err));
    NO(writes("b.txt", "x"), "protected");
    NO(writes("@/ws/sub/new", "x"), "protected");
    jail_free(jail);
    OK(jail_new(&(JailInput){ .workspace = tree_path("out/to_ws") }, &jail, &err));    /* given through a link */
    OK(writes("@/ws/sub/new", "x"));
    jail_free(jail);
    jail = old;
    jail_free(NULL);
}

/* ---- devices, full disks ---- */

static void never_blocks(void **state) {
    (void)state;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s", tree_path("ws/socket"));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    NO(reads("socket", ""), "not a regular file");
    NO(writes("socket", "x"), "not a regular file");
    close(fd);
    if (geteuid() == 0 && mknod(tree_path("ws/zero"), S_IFCHR | 0666, makedev(1, 5)) == 0) {
        NO(reads("zero", ""), "not a regular file");
        NO(writes("zero", "x"), "not a regular file");
        NO(jail_append(jail, STR("zero"), STR("x"), NULL, &err), "not a regular file");
        OK(jail_remove(jail, STR("zero"), false, NULL, &err));
    }
    tree_put("ws/long", "0123456789");
    Buf out = { 0 };
    NO(jail_read(jail, STR("long"), 9, &out, NULL, &err), "larger than 9 bytes");
    assert_int_equal(err.kind, ERR_LIMIT);
    OK(jail_read(jail, STR("long"), 10, &out, NULL, &err));
    buf_clear(&out);
}

static void check_full_disk(const char *big) {
    Buf text = { 0 };
    for (int i = 0; i < 300000; i++) buf_add(&text, STR("0123456789"));
    OK(writes("sub/log", "start"));
    static const char *const paths[] = { "a.txt", "sub/new" };
    for (size_t i = 0; i < 2; i++) {
        err = (Error){ 0 };
        assert_false(jail_write(jail, str_from(paths[i]), buf_str(&text), NULL, NULL, &err));
        if (!strstr(err.msg, big)) fail_msg("%s", err.msg);
    }
    NO(jail_append(jail, STR("sub/log"), buf_str(&text), NULL, &err), big);
    assert_string_equal(tree_text("ws/sub/log"), "start");
    assert_string_equal(tree_text("ws/a.txt"), "hello");
    assert_null(tree_text("ws/sub/new"));
    assert_false(tree_has_litter("ws"));
    buf_clear(&text);
}

static void leaves_no_trace_on_a_full_disk(void **state) {
    (void)state;
    struct rlimit old, small = { 1 << 20, 0 };
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    check_full_disk("File too large");
    setrlimit(RLIMIT_FSIZE, &old);
    if (geteuid() != 0 || mount("none", tree_path("ws"), "tmpfs", 0, "size=1m") < 0) return;
    tree_put("ws/a.txt", "hello");
    tree_put("ws/sub/x", "x");
    Jail *other = jail;
    jail = tree_jail(false, &err);
    check_full_disk("no space left on the disk");
    /* Another file system: a move is a copy and a removal. */
    tree_put("ws/t/u/v", "deep");
    tree_link("u/v", "ws/t/l");
    OK(jail_move(jail, STR("t"), str_from(at("@/rw/t")), NULL, &err));
    assert_string_equal(tree_text("rw/t/l"), "deep");
    assert_int_not_equal(access(tree_path("ws/t"), F_OK), 0);
    OK(jail_move(jail, str_from(at("@/rw/t/u/v")), STR("a.txt"), NULL, &err));
    assert_string_equal(tree_text("ws/a.txt"), "deep");
    OK(jail_move(jail, str_from(at("@/rw/t/l")), STR("l"), NULL, &err));
    NO(jail_move(jail, str_from(at("@/rw/t")), STR("sub"), NULL, &err), "already exists");
    jail_free(jail);
    jail = other;
    umount2(tree_path("ws"), MNT_DETACH);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(follows_paths_inside_and_no_others, setup, teardown),
        cmocka_unit_test_setup_teardown(says_where_a_path_leads, setup, teardown),
        cmocka_unit_test_setup_teardown(looks_and_lists, setup, teardown),
        cmocka_unit_test_setup_teardown(replaces_files_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(notices_what_others_wrote, setup, teardown),
        cmocka_unit_test_setup_teardown(appends, setup, teardown),
        cmocka_unit_test_setup_teardown(makes_copies_moves_and_removes, setup, teardown),
        cmocka_unit_test_setup_teardown(handles_deep_trees, setup, teardown),
        cmocka_unit_test_setup_teardown(keeps_protected_files, setup, teardown),
        cmocka_unit_test_setup_teardown(knows_replaced_files_by_name, setup, teardown),
        cmocka_unit_test_setup_teardown(read_only_jails_and_roots, setup, teardown),
        cmocka_unit_test_setup_teardown(roots_must_exist_and_may_nest, setup, teardown),
        cmocka_unit_test_setup_teardown(never_blocks, setup, teardown),
        cmocka_unit_test_setup_teardown(leaves_no_trace_on_a_full_disk, setup, teardown),
    };
    return tree_run(tests);
}
