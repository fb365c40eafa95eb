/* Path strings on a prepared tree: reads must stay inside, and writes must not change the canaries. The first byte
 * chooses the call; the rest is the path, in which '@' means the tree's absolute path. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sandbox/jail.h"

static char top[40];
static Jail *jail;

static void check(bool ok, const char *what, Str path) {
    if (ok) return;
    fprintf(stderr, "jail_path: %s: " STR_FMT "\n", what, STR_ARG(path));
    abort();
}

static const char *in_top(const char *name) {
    static char path[16][200];
    static int next;
    char *p = path[next = (next + 1) % 16];
    snprintf(p, sizeof path[0], "%s/%s", top, name);
    return p;
}

static void put(const char *name, const char *text) {
    FILE *f = fopen(in_top(name), "w");
    if (!f) abort();
    fputs(text, f);
    fclose(f);
}

static void make_tree(void) {
    static const char *const folders[] = { "w", "w/a", "w/a/b", "w/.h", "w/s", "o", "o/d", "r", "x" };
    snprintf(top, sizeof top, "%s/harness-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(top)) abort();
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) mkdir(in_top(folders[i]), 0755);
    put("w/f", "in"), put("w/a/f", "in"), put("w/a/b/f", "in"), put("r/f", "in"), put("x/f", "in");
    put("w/.h/f", "locked"), put("w/s/f", "CANARY"), put("o/f", "CANARY"), put("o/d/f", "CANARY");
    static const char *const links[][2] = { { "a", "w/l" }, { "../o", "w/m" }, { "../../o/f", "w/a/n" }, { "/", "w/p" }, { "q", "w/q" },
                                            { ".h", "w/t" }, { "s", "w/u" }, { "l/b/../../m", "w/v" } };
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (symlink(links[i][0], in_top(links[i][1])) < 0) abort();
    if (symlink(in_top("w/a"), in_top("w/i")) < 0 || symlink(in_top("o"), in_top("w/j")) < 0) abort();
    const char *ro[] = { in_top("r"), NULL }, *rw[] = { in_top("x"), NULL };
    const char *protect[] = { in_top("w/.h"), in_top("w/new/k"), NULL }, *hidden[] = { in_top("w/s"), NULL };
    Error err = { 0 };
    JailInput in = { .workspace = in_top("w"), .read_roots = ro, .write_roots = rw, .protect = protect, .hidden = hidden };
    check(jail_new(&in, &jail, &err), "the test's own jail", str_from(err.msg));
}

static void same(const char *name, const char *text) {
    char now[20] = "";
    FILE *f = fopen(in_top(name), "r");
    if (f) {
        now[fread(now, 1, sizeof now - 1, f)] = 0;
        fclose(f);
    }
    check(strcmp(now, text) == 0, "a canary changed", str_from(name));
}

static void try_call(uint8_t which, Str path) {
    Buf out = { 0 };
    Arena arena = { 0 };
    Error err = { 0 };
    JailStat st;
    JailEntry *list;
    JailPlace place;
    size_t n;
    bool there, ok = true;
    switch (which % 10) {
    case 0:
        ok = jail_read(jail, path, 1000, &out, &st, &err);
        check(!ok || str_find(buf_str(&out), STR("CANARY")) < 0, "read from outside", path);
        break;
    case 1: ok = jail_write(jail, path, STR("in"), &(JailWrite){ .parents = which & 128 }, NULL, &err); break;
    case 2: ok = jail_append(jail, path, STR("in"), NULL, &err); break;
    case 3: ok = jail_mkdir(jail, path, NULL, &err); break;
    case 4: ok = jail_remove(jail, path, which & 128, NULL, &err); break;
    case 5: ok = jail_copy(jail, STR("f"), path, NULL, &err); break;
    case 6: ok = jail_move(jail, STR("f"), path, NULL, &err); break;
    case 7: ok = jail_copy(jail, path, STR("c"), NULL, &err); break;
    case 8: ok = jail_list(jail, path, &arena, &list, &n, &err); break;
    default:
        ok = jail_exists(jail, path, &there, &err);
        if (jail_place(jail, path, true, &arena, &place, NULL)) {
            check(!memmem(place.path.at, place.path.n, "..", 2) || memmem(path.at, path.n, "..", 2), "a place has no ..", path);
            check(access(place.absolute.at, F_OK) < 0 || place.exists, "a place is where it says", path);
        }
    }
    check(ok || err.msg[0], "an error has words", path);
    check(ok || err.kind == ERR_SANDBOX || err.kind == ERR_IO || err.kind == ERR_LIMIT, "and a kind", path);
    buf_clear(&out);
    arena_clear(&arena);
}

static void remove_tree(void) {
    char command[100];
    if (!jail) return;
    jail_free(jail);
    jail = NULL;
    snprintf(command, sizeof command, "rm -rf '%s'", top);
    if (system(command) != 0) abort();
}

static void put_right(void) {
    jail_remove(jail, STR("c"), true, NULL, NULL);
    jail_remove(jail, STR("f"), true, NULL, NULL);
    put("w/f", "in");
    same("o/f", "CANARY"), same("o/d/f", "CANARY"), same("w/s/f", "CANARY"), same("w/.h/f", "locked");
    check(access(in_top("w/new/k"), F_OK) < 0, "a protected file was made", STR("new/k"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static unsigned long calls;
    Buf path = { 0 };
    if (!jail && calls == 0) atexit(remove_tree);
    if (!jail) make_tree();
    if (size == 0 || size > 512) return 0;
    for (size_t i = 1; i < size; i++) {
        if (data[i] == '@') buf_add(&path, str_from(top));
        else buf_add_char(&path, (char)data[i]);
    }
    try_call(data[0], buf_str(&path));
    put_right();
    buf_clear(&path);
    if (++calls % 2000 == 0) remove_tree();           /* created files accumulate: start over */
    return 0;
}
