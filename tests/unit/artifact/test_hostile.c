/* Projects that try to hang, escape or exhaust resources: loading them must end soon with problems. */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include "artifact/archive.h"
#include "artifact/project.h"
#include "base/fault.h"

static size_t loaded;                    /* tools and hooks of the last project */

static bool load(const char *dir, Buf *out) {
    Problems problems = { 0 };
    Project *p;
    bool ok = project_load(&(ProjectInput){ .dir = dir }, &p, &problems);
    for (size_t i = 0; i < problems.n; i++) {
        problem_format(&problems.at[i], out);
        buf_add_char(out, '\n');
    }
    buf_add(out, STR(""));
    assert_true(ok == (p != NULL));
    assert_true(ok || problems.errors > 0);
    loaded = ok ? p->n_tools + p->n_hooks : 0;
    problems_clear(&problems);
    project_free(p);
    return ok;
}

static void expect(const char *dir, const char *wanted) {
    Buf out = { 0 };
    load(dir, &out);
    if (!out.at || !strstr(out.at, wanted)) fail_msg("no \"%s\" in:\n%s", wanted, out.at ? out.at : "");
    buf_clear(&out);
}

static char *in(const char *dir, const char *name) {
    static char path[2][4096];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
    return path[turn];
}

static void test_strange_files(void **state) {
    (void)state;
    char *dir = archive_folder(), *outside = archive_folder();
    archive_write(outside, STR("secret.md"), STR("---\n---\nsecret\n"));
    archive_write(dir, STR(".harness/tools/ok.md"), STR("---\nscript: |\n  def run(args):\n      return 1\n---\n"));
    assert_int_equal(mkfifo(in(dir, ".harness/tools/pipe.md"), 0600), 0);
    assert_int_equal(symlink("loop.md", in(dir, ".harness/tools/loop.md")), 0);
    assert_int_equal(symlink("/dev/zero", in(dir, ".harness/tools/zero.md")), 0);
    assert_int_equal(symlink("gone.md", in(dir, ".harness/tools/dangling.md")), 0);
    assert_int_equal(symlink("ok.md", in(dir, ".harness/tools/inside.md")), 0);
    assert_int_equal(symlink(in(outside, "secret.md"), in(dir, ".harness/tools/out.md")), 0);
    assert_int_equal(symlink("..", in(dir, ".harness/tools/folder.md")), 0);
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    snprintf(at.sun_path, sizeof at.sun_path, "%s/.harness/tools/sock.md", dir);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    close(fd);
    expect(dir, "parse tool pipe.md: it is a pipe");
    expect(dir, "parse tool loop.md: too many symbolic links");
    expect(dir, "parse tool zero.md: it leads out of the project");
    expect(dir, "parse tool out.md: it leads out of the project");
    expect(dir, "parse tool dangling.md: no such file or directory");
    expect(dir, "parse tool folder.md: it is a directory");
    expect(dir, "parse tool sock.md: it is a socket");
    Buf out = { 0 };
    load(dir, &out);
    assert_null(strstr(out.at, "inside.md"));
    buf_clear(&out);
    archive_remove(dir);
    archive_remove(outside);
}

static void test_folders_that_lead_out(void **state) {
    (void)state;
    char *dir = archive_folder(), *outside = archive_folder();
    archive_write(outside, STR("tools/secret.md"), STR("---\n---\n"));
    assert_int_equal(symlink(outside, in(dir, ".harness")), 0);
    expect(dir, ".harness/tools: read folder: it leads out of the project");
    unlink(in(dir, ".harness"));
    assert_int_equal(symlink(".harness", in(dir, ".harness")), 0);
    expect(dir, ".harness/tools: read folder: too many symbolic links");
    unlink(in(dir, ".harness"));
    archive_write(dir, STR(".harness/tools"), STR("a file"));
    expect(dir, ".harness/tools: read folder: not a directory");
    archive_remove(dir);
    archive_remove(outside);
}

/* Root can read everything, so this temporarily becomes another user. */
static void test_unreadable(void **state) {
    (void)state;
    char *dir = archive_folder();
    bool root = geteuid() == 0;
    archive_write(dir, STR(".harness/tools/x.md"), STR("---\n---\n"));
    chmod(dir, 0755);
    chmod(in(dir, ".harness/tools/x.md"), 0);
    if (root) assert_int_equal(seteuid(65534), 0);
    expect(dir, "parse tool x.md: permission denied");
    if (root) assert_int_equal(seteuid(0), 0);
    chmod(in(dir, ".harness/tools"), 0);
    if (root) assert_int_equal(seteuid(65534), 0);
    expect(dir, ".harness/tools: read folder: permission denied");
    if (root) assert_int_equal(seteuid(0), 0);
    chmod(in(dir, ".harness/tools"), 0700);
    archive_remove(dir);
}

static Str repeated(Buf *out, const char *head, const char *piece, size_t n, const char *tail) {
    buf_reset(out);
    buf_add(out, str_from(head));
    while (out->n + strlen(piece) + strlen(tail) <= n) buf_add(out, str_from(piece));
    buf_add(out, str_from(tail));
    return buf_str(out);
}

static void test_large(void **state) {
    (void)state;
    enum { MIB = 1 << 20 };
    char *dir = archive_folder();
    Buf text = { 0 };
    archive_write(dir, STR(".harness/tools/big.md"), repeated(&text, "---\n---\n", "x", MIB + 1, ""));
    archive_write(dir, STR(".harness/tools/full.md"), repeated(&text, "---\n---\n", "x", MIB, ""));
    archive_write(dir, STR(".harness/tools/line.md"), repeated(&text, "---\ntitle: ", "x", MIB, "\n---\n"));
    archive_write(dir, STR(".harness/tools/script.md"), repeated(&text, "---\nscript: \"", "1 + ", MIB, "1\"\n---\n"));
    archive_write(dir, STR(".harness/tools/deep.md"), repeated(&text, "---\nx: ", "[", 5000, "\n---\n"));
    archive_write(dir, STR(".harness/tools/keys.md"), repeated(&text, "---\nparameters:\n", "  ? a\n", 5000, "\n---\n"));
    archive_write(dir, STR(".harness/tools/inline.md"), repeated(&text, "---\naliases: [", "a,", 100000, "b]\n---\n"));
    archive_write(dir, STR(".harness/plugins/many.md"), repeated(&text, "---\ntools:\n", " - {name: a, script: \"x = y\"}\n", MIB, "---\n"));
    expect(dir, "parse tool big.md: it is larger than 1048576 bytes");
    buf_clear(&text);
    archive_remove(dir);
}

static void test_alias_bomb(void **state) {
    (void)state;
    char *dir = archive_folder();
    archive_write(dir, STR(".harness/tools/x.md"),
                  STR("---\na: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
                      "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n---\n"));
    expect(dir, "parse tool x.md: yaml: line 6:");
    archive_remove(dir);
}

static void test_ten_thousand_files(void **state) {
    (void)state;
    char *dir = archive_folder(), name[64];
#ifdef HARNESS_HOSTILE
    enum { FILES = 500 };
#else
    enum { FILES = 10000 };
#endif
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, ".harness/tools/t%d.md", i);
        archive_write(dir, str_from(name), i % 2 ? STR("---\n---\n") : STR("no"));
    }
    expect(dir, "parse tool t0.md: missing frontmatter delimiter");
    archive_remove(dir);
}

static size_t open_files(void) {
    size_t n = 0;
    for (int fd = 0; fd < 256; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static char *small_project(void) {
    char *dir = archive_folder();
    archive_write(dir, STR("harness.md"), STR("---\nmodel: m\n---\n"));
    archive_write(dir, STR(".harness/tools/a.md"), STR("---\nscript: \"def run(args): return 1\"\n---\n"));
    archive_write(dir, STR(".harness/hooks/b.md"), STR("---\nevent: log\nscript: |\n  def handle(event, payload):\n      return allow()\n---\n"));
    return dir;
}

/* Too few file descriptors, one more each time until there are enough: each attempt fails with a message and leaks
 * nothing. Runs in every build. */
static void test_few_descriptors(void **state) {
    (void)state;
    char *dir = small_project();
    struct rlimit old;
    size_t before = open_files(), failed = 0;
    bool ok = false;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    for (rlim_t n = 3; !ok && n < 256; n++) {
        Buf out = { 0 };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ n, old.rlim_max }), 0);
        ok = load(dir, &out);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
        if (!ok && !(out.at && strstr(out.at, "oo many open files"))) fail_msg("%llu descriptors: %s", (unsigned long long)n, out.at);
        failed += !ok;
        buf_clear(&out);
        assert_int_equal(open_files(), before);
    }
    assert_true(ok);
    assert_true(failed > 0);
    archive_remove(dir);
}

#ifdef HARNESS_FAULTS
/* Every step that can fail for external reasons: no leak, and either a message or a complete result after a retry. */
static void test_faults(void **state) {
    (void)state;
    char *dir = small_project();
    size_t before = open_files();
    bool reached = true;
    long nth = 0;
    while (reached && ++nth < 5000) {
        Buf out = { 0 };
        fault_arm(nth);
        bool ok = load(dir, &out);
        reached = fault_disarm();
        if (!ok && (!reached || !out.n)) fail_msg("step %ld: failed without a reason: %s", nth, out.at ? out.at : "");
        if (ok && loaded != 2) fail_msg("step %ld: %zu definitions instead of 2 without a problem", nth, loaded);
        buf_clear(&out);
        assert_int_equal(open_files(), before);
    }
    assert_true(nth > 3 && nth < 5000);                  /* some steps failed, and all were covered */
    archive_remove(dir);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strange_files), cmocka_unit_test(test_folders_that_lead_out), cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_large),         cmocka_unit_test(test_alias_bomb),            cmocka_unit_test(test_ten_thousand_files),
        cmocka_unit_test(test_few_descriptors),
#ifdef HARNESS_FAULTS
        cmocka_unit_test(test_faults),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
