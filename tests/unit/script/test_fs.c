/* The module fs on a real folder, through a real jail. */
#include "script_unit.h"
#include "sandbox/sandbox_unit.h"
#include "sandbox/jail.h"

typedef struct { ScriptUnit u; Buf asked; bool refuse; } Files;

static bool confirm_write(Host *h, Str path, Error *err) {
    Files *f = h->call;
    buf_add_fmt(&f->asked, STR_FMT ";", STR_ARG(path));
    return !f->refuse || error_set(err, ERR_POLICY, STR_FMT ": not agreed to", STR_ARG(path));
}

static void files_begin(Files *f) {
    tree_make();
    tree_put("ws/a.txt", "one\ntwo\nthree\n");
    tree_put("ws/crlf.txt", "one\r\ntwo\r\n");
    tree_put("ws/open.txt", "one\ntwo");
    tree_put("ws/empty", "");
    tree_put("ws/bad", "ab\xff");
    tree_put("ws/.hidden", "h");
    tree_put("ws/src/x.c", "int x;\n");
    tree_put("ws/src/y.h", "int y;\n");
    tree_put("ws/src/deep/er/z.c", "z\n");
    tree_put("ws/.harness/tools/t.md", "tool");
    tree_put("ws/state/db", "secret");
    tree_put("ws/conf/.env", "KEY=1\n");
    tree_put("ws/conf/plain", "p\n");
    tree_put("out/secret", "secret");
    tree_link("../out/secret", "ws/leak");
    tree_link("conf/.env", "ws/innocent");
    tree_link("a.txt", "ws/link");
    memset(f, 0, sizeof *f);
    script_begin(&f->u);
    f->u.calls.confirm_write = confirm_write;
    f->u.host.call = f;
    f->u.host.workspace = str_from(tree_path("ws"));
    Error err = { 0 };
    f->u.host.jail = tree_jail(false, &err);
    if (!f->u.host.jail) fail_msg("%s", err.msg);
}

static void files_end(Files *f) {
    jail_free(f->u.host.jail);
    script_end(&f->u);
    buf_clear(&f->asked);
    assert_false(tree_has_litter("ws"));
    tree_remove();
}

static void files_check(const ScriptCase *t, size_t n) {
    Files f;
    files_begin(&f);
    script_check(&f.u, t, n);
    files_end(&f);
}

static const ScriptCase reading[] = {
    { "fs.read('a.txt')", "\"one\\ntwo\\nthree\\n\"" }, { "fs.read('link')", "\"one\\ntwo\\nthree\\n\"" }, { "fs.read('empty')", "\"\"" },
    { "fs.read('bad')", "error: fs.read: bad: not UTF-8 text (byte 3)" }, { "fs.read('nope')", "error: fs.read: nope: no such file…" },
    { "fs.read('../out/secret')", "error: fs.read: ../out/secret: outside the workspace" }, { "fs.read('leak')", "error: fs.read: leak: …" },
    { "fs.read('state/db')", "error: fs.read: state/db: …" }, { "fs.read('src')", "error: fs.read: src: …" }, { "fs.read('')", "error: fs.read: …" },
    { "fs.read('a\\0b')", "error: fs.read: …" }, { "fs.read('/etc/passwd')", "error: fs.read: /etc/passwd: outside the workspace" },
    { "[fs.exists(p) for p in ['a.txt', 'src', 'no', 'no/no']]", "[True, True, False, False]" },
        { "fs.exists('../out')", "error: fs.exists: ../out: outside the workspace" },
    { "s = fs.stat('src/x.c')\nreturn [s['name'], s['size'], s['is_dir'], s['modified'] > 1600000000]", "[\"x.c\", 7, False, True]" },
    { "fs.stat('src/')['name'], fs.stat('src')['is_dir']", "(\"src\", True)" }, { "fs.stat('no')", "error: fs.stat: no: no such file…" },
    { "[e['name'] for e in fs.list('src')]", "[\"deep\", \"x.c\", \"y.h\"]" }, { "fs.list('a.txt')", "error: fs.list: a.txt: …" },
        { "len(fs.list()) > 5", "True" },
    { "fs.glob('*.txt')", "[\"a.txt\", \"crlf.txt\", \"open.txt\"]" }, { "fs.glob('**/*.c')", "[\"src/deep/er/z.c\", \"src/x.c\"]" },
    { "fs.glob('src/*.{c,h}')", "[\"src/x.c\", \"src/y.h\"]" }, { "fs.glob('.hid*')", "[\".hidden\"]" }, { "fs.glob('src')", "[\"src\"]" },
    { "fs.glob('nope/*')", "[]" }, { "fs.glob('src/[')", "error: fs.glob: glob: …" },
        { "fs.glob('../out/*')", "error: fs.glob: ../out: outside the workspace" },
    { "fs.glob('/etc/*')", "error: fs.glob: /etc/*: the pattern must be relative to the workspace" }, { "fs.glob(os.cwd() + '/src/*.c')", "[\"src/x.c\"]" },
    { "fs.glob('state/*')", "error: fs.glob: state: outside the workspace" }, { "fs.glob('leak')", "[\"leak\"]" },
        { "fs.glob('leak/*')", "error: fs.glob: leak: outside the workspace" },
    { "fs.glob('stat*')", "[]" },
    { "fs.find('a.txt', 't[wh]')", "[{\"line\": 2, \"text\": \"two\"}, {\"line\": 3, \"text\": \"three\"}]" },
        { "fs.find('crlf.txt', 'o$')", "[{\"line\": 2, \"text\": \"two\"}]" },
    { "fs.find('a.txt', '(')", "error: fs.find: regular expression: …" },
        { "fs.find('bad', 'a')", "error: fs.find: bad: not UTF-8 text (byte 3)" }, { "fs.find('empty', '')", "[]" },
    { "fs.read_lines('a.txt')", "[\"one\", \"two\", \"three\"]" }, { "fs.read_lines('a.txt', 2)", "[\"two\", \"three\"]" },
        { "fs.read_lines('a.txt', 2, 2)", "[\"two\"]" },
    { "fs.read_lines('a.txt', start=9)", "[]" }, { "fs.read_lines('a.txt', 2, 1)", "[]" },
        { "fs.read_lines('open.txt', end=None)", "[\"one\", \"two\"]" }, { "fs.read_lines('crlf.txt')", "[\"one\", \"two\"]" },
    { "fs.read_lines('a.txt', 0)", "error: fs.read_lines: for parameter start: must be between 1 and …" }, { "fs.read_lines('empty')", "[]" },
    { "fs.diff('a.txt', 'open.txt')", "\"--- a.txt\\n+++ open.txt\\n@@ -1,3 +1,2 @@\\n one\\n-two\\n-three\\n+two\\n\\\\ No newline at end of file\\n\"" },
    { "fs.diff('a.txt', 'a.txt')", "\"\"" }, { "fs.diff('a.txt', 'no')", "error: fs.diff: no: no such file…" },
        { "fs.diff('bad', 'a.txt')", "error: fs.diff: bad: not UTF-8 text (byte 3)" },
    { "[fs.line_count(p) for p in ['a.txt', 'open.txt', 'empty', 'bad']]", "[3, 2, 0, 1]" },
};

static const ScriptCase changing[] = {
    { "fs.write('new/deep/n.txt', 'x')\nreturn fs.read('new/deep/n.txt')", "\"x\"" }, { "fs.write('a.txt', b'\\xff')\nreturn fs.stat('a.txt')['size']", "1" },
    { "fs.write('../out/x', '')", "error: fs.write: ../out/x: outside the workspace" },
        { "fs.write('.harness/tools/t.md', '')", "error: fs.write: .harness/tools/t.md: …" },
    { "fs.write('leak', 'x')", "error: fs.write: leak: …" }, { "fs.write('src', 'x')", "error: fs.write: src: …" },
        { "fs.write('a.txt', 1)", "error: fs.write: for parameter content: got int, want string or bytes" },
    { "fs.append('log', 'a')\nfs.append('log', 'b')\nreturn fs.read('log')", "\"ab\"" },
    { "fs.mkdir('m/n')\nfs.mkdir('m/n')\nreturn fs.stat('m/n')['is_dir']", "True" }, { "fs.mkdir('crlf.txt')", "error: fs.mkdir: crlf.txt: …" },
    { "fs.copy('src', 'copy')\nreturn fs.read('copy/deep/er/z.c')", "\"z\\n\"" }, { "fs.copy('src/x.c', 'c2')\nreturn fs.read('c2')", "\"int x;\\n\"" },
    { "fs.move('c2', 'c3')\nreturn [fs.exists('c2'), fs.read('c3')]", "[False, \"int x;\\n\"]" },
        { "fs.move('no', 'c4')", "error: fs.move: no: no such file…" },
    { "fs.copy('src', '../out/c')", "error: fs.copy: ../out/c: outside the workspace" }, { "fs.copy('leak', 'got')", "error: fs.copy: leak: …" },
    { "fs.remove('copy')", "error: fs.remove: copy: …" }, { "fs.remove('copy', recursive=True)\nreturn fs.exists('copy')", "False" },
        { "fs.remove('c3')\nreturn fs.exists('c3')", "False" },
    { "fs.remove('leak')\nreturn [e['name'] for e in fs.list() if e['name'] == 'leak']", "[]" },
        { "fs.remove('.')", "error: fs.remove: …" }, { "fs.remove('.harness', True)", "error: fs.remove: .harness: …" },
    { "fs.write('a.txt', 'one\\ntwo\\n')\nfs.insert_at('a.txt', 2, 'x')\nreturn fs.read('a.txt')", "\"one\\nx\\ntwo\\n\"" },
    { "fs.insert_at('a.txt', 4, 'end\\n')\nreturn fs.read('a.txt')", "\"one\\nx\\ntwo\\nend\\n\"" },
        { "fs.insert_at('a.txt', 6, 'x')", "error: fs.insert_at: a.txt: there is no line 6 (the file has 4)" },
    { "fs.insert_at('open.txt', 3, 'three')\nreturn fs.read('open.txt')", "\"one\\ntwo\\nthree\\n\"" },
        { "fs.insert_at('crlf.txt', 2, 'x')\nreturn fs.read('crlf.txt')", "\"one\\r\\nx\\r\\ntwo\\r\\n\"" },
    { "fs.insert_at('empty', 1, 'x')\nreturn fs.read('empty')", "\"x\\n\"" },
    { "fs.replace_lines('a.txt', 2, 3, 'y\\nz')\nreturn fs.read('a.txt')", "\"one\\ny\\nz\\nend\\n\"" },
        { "fs.delete_lines('a.txt', 1, 2)\nreturn fs.read('a.txt')", "\"z\\nend\\n\"" },
    { "fs.delete_lines('a.txt', 2, 3)", "error: fs.delete_lines: a.txt: there is no line 3 (the file has 2)" },
        { "fs.delete_lines('a.txt', 3, 3)", "error: fs.delete_lines: a.txt: there is no line 3 (the file has 2)" },
    { "fs.delete_lines('a.txt', 2, 1)", "error: fs.delete_lines: for parameter end: is less than start" },
        { "fs.replace_lines('a.txt', 1, 2, '')\nreturn fs.read('a.txt')", "\"\"" },
    { "fs.write('o', 'a\\nb')\nfs.replace_lines('o', 2, 2, 'c')\nreturn fs.read('o')", "\"a\\nc\"" },
    { "fs.write('r', 'a b a')\nfs.replace('r', 'b', 'c')\nreturn fs.read('r')", "\"a c a\"" },
        { "fs.replace('r', 'a', 'x')", "error: fs.replace: r: the text to replace occurs 2 times: …" },
    { "fs.replace('r', 'zz', 'x')", "error: fs.replace: r: the text to replace was not found" },
        { "fs.replace('r', '', 'x')", "error: fs.replace: for parameter old: is empty" },
    { "[fs.replace_all('r', 'a', 'aa'), fs.replace_all('r', 'q', ''), fs.read('r')]", "[2, 0, \"aa c aa\"]" },
    { "fs.write('big', 'a' * 100000)\nfs.replace_all('big', 'a', 'b' * 1000)", "error: fs.replace_all: big: would be larger than 52428800 bytes" },
    { "fs.stat('big')['size']", "100000" },
};

static void test_reading(void **state) { (void)state; files_check(reading, sizeof reading / sizeof *reading); }
static void test_changing(void **state) { (void)state; files_check(changing, sizeof changing / sizeof *changing); }

/* { statement, name that needs confirmation }. Without confirmation nothing changes. */
static const struct { const char *body, *asked; } sensitive[] = {
    { "fs.write('.env', 'x')", ".env;" }, { "fs.write('new/.ENV.local', 'x')", "new/.ENV.local;" }, { "fs.write('innocent', 'x')", "innocent;" },
    { "fs.append('conf/.env', 'x')", "conf/.env;" }, { "fs.copy('a.txt', 'server.pem')", "server.pem;" }, { "fs.copy('conf', 'conf2')", "conf2/.env;" },
    { "fs.move('a.txt', 'id_rsa')", "id_rsa;" }, { "fs.move('conf/.env', 'b')", "conf/.env;" }, { "fs.move('conf', 'conf3')", "conf3/.env;" },
    { "fs.remove('conf', recursive=True)", "conf/.env;" }, { "fs.remove('conf/.env')", "conf/.env;" }, { "fs.mkdir('credentials')", "credentials;" },
    { "fs.replace('conf/.env', 'KEY', 'x')", "conf/.env;" }, { "fs.insert_at('innocent', 1, 'x')", "innocent;" },
        { "fs.delete_lines('conf/.env', 1, 1)", "conf/.env;" },
};

static void test_sensitive(void **state) {
    (void)state;
    Files f;
    files_begin(&f);
    for (size_t i = 0; i < sizeof sensitive / sizeof *sensitive; i++) {
        f.refuse = true;
        buf_reset(&f.asked);
        const char *got = script_run(&f.u, sensitive[i].body);
        if (!strstr(got, "not agreed to")) fail_msg("%s: %s", sensitive[i].body, got);
        assert_str(buf_str(&f.asked), sensitive[i].asked);
        assert_int_equal(f.u.err.kind, ERR_POLICY);
    }
    assert_string_equal(tree_text("ws/conf/.env"), "KEY=1\n");
    assert_string_equal(script_run(&f.u, "len(fs.list('.')), fs.exists('conf2'), fs.exists('credentials')"), "(12, False, False)");
    f.u.calls.confirm_write = NULL;
    assert_string_equal(script_run(&f.u, "fs.write('.env', 'x')"),
        "error: fs.write: .env: writing this file needs a confirmation, and no user is present to give it");
    f.u.calls.confirm_write = confirm_write;
    f.refuse = false;
    assert_string_equal(script_run(&f.u, "fs.write('.env', 'x')\nreturn fs.read('.env')"), "\"x\"");
    files_end(&f);
}

/* Hooks may only read: write functions are undefined, and the jail is read-only too. */
static void test_hook(void **state) {
    (void)state;
    Files f;
    files_begin(&f);
    Jail *jail = f.u.host.jail;
    f.u.host.jail = tree_jail(true, NULL);
    assert_string_equal(script_run(&f.u, "fs.write('a.txt', 'x')"), "error: fs.write: a.txt: nothing may be written here");
    f.u.host.hook = true;
    assert_string_equal(script_run(&f.u, "fs.read('open.txt')"), "\"one\\ntwo\"");
    assert_non_null(strstr(script_run(&f.u, "fs.write('a.txt', 'x')"), "fs has no member write"));
    jail_free(f.u.host.jail);
    f.u.host.jail = NULL;
    assert_string_equal(script_run(&f.u, "fs.read('a.txt')"), "error: fs.read: not available here");
    f.u.host.jail = jail;
    f.u.host.hook = false;
    files_end(&f);
}

static void test_limits(void **state) {
    (void)state;
    Files f;
    files_begin(&f);
    FILE *big = fopen(tree_path("ws/huge"), "w");
    assert_int_equal(ftruncate(fileno(big), (off_t)JAIL_FILE_MAX + 1), 0);
    fclose(big);
    assert_string_equal(script_run(&f.u, "fs.read('huge')"), "error: fs.read: huge: file is larger than 52428800 bytes");
    assert_int_equal(truncate(tree_path("ws/huge"), 40 << 20), 0);
    assert_string_equal(script_run(&f.u, "[fs.read('huge'), fs.read('huge')]"), "error: fs.read: heap limit of 67108864 bytes reached");
    f.u.cancel = cancel_new(NULL, 1);
    assert_non_null(strstr(script_run(&f.u, "fs.read('huge')"), "timed out"));
    cancel_free(f.u.cancel);
    f.u.cancel = NULL;
    for (int i = 0; i < 10050; i++) {
        char name[40];
        snprintf(name, sizeof name, "ws/many/%d", i);
        if (i == 0) tree_put(name, "");
        else assert_int_equal(link(tree_path("ws/many/0"), tree_path(name)), 0);
    }
    assert_non_null(strstr(script_run(&f.u, "fs.glob('many/*')"), "matches"));
    files_end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading), cmocka_unit_test(test_changing), cmocka_unit_test(test_sensitive), cmocka_unit_test(test_hook),
        cmocka_unit_test(test_limits),
    };
    return tree_run(tests);
}
