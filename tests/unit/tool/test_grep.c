#include "tool/tree.h"
#include "base/fault.h"
#include "base/utf8.h"
#include "base/regex.h"
#include "tool/grep.h"

/* PATH:LINE:TEXT for each match, one per line. */
static Str show(const GrepResult *r, Buf *out) {
    buf_reset(out);
    for (size_t i = 0; i < r->n; i++) {
        const GrepMatch *m = &r->matches[i];
        for (size_t k = 0; k < m->before_n; k++) buf_add_fmt(out, "-" STR_FMT "\n", STR_ARG(m->before[k]));
        buf_add_fmt(out, STR_FMT ":%u:%u:" STR_FMT "\n", STR_ARG(m->path), (unsigned)m->line, (unsigned)m->column, STR_ARG(m->text));
        for (size_t k = 0; k < m->after_n; k++) buf_add_fmt(out, "+" STR_FMT "\n", STR_ARG(m->after[k]));
    }
    return buf_str(out);
}

static void check(const GrepInput *in, const char *expected) {
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        Arena arena = { 0 };
        Buf text = { 0 };
        Error err = { 0 };
        GrepResult out;
        GrepInput copy = *in;
        copy.threads = threads;
        if (!grep_files(&copy, NULL, &arena, &out, &err)) fail_msg(STR_FMT ": %s", STR_ARG(in->pattern), err.msg);
        Str got = show(&out, &text);
        if (!str_eq(got, str_from(expected))) print_error("pattern " STR_FMT "\n", STR_ARG(in->pattern));
        assert_str(got, expected);
        buf_clear(&text);
        arena_clear(&arena);
    }
}

static void finds_lines(void **state) {
    (void)state;
    Tree t = tree_new();
    tree_text(&t, "a.txt", "one foo\ntwo\nfoo three foo\n\nlast foo");
    tree_text(&t, "b/c.txt", "food\nbar\r\nfoo\r\n");
    tree_text(&t, "b/latin.txt", "caf\xe9 foo \xff\nok\n");
    tree_put(&t, "bin", "foo\0bar\n", 8);
    tree_text(&t, "empty", "");
    static const struct { const char *pattern, *found; } cases[] = {
        { "foo", "a.txt:1:5:one foo\na.txt:3:1:foo three foo\na.txt:5:6:last foo\nb/c.txt:1:1:food\nb/c.txt:3:1:foo\nb/latin.txt:1:6:caf\uFFFD foo \uFFFD\n" },
        { "^foo", "a.txt:3:1:foo three foo\nb/c.txt:1:1:food\nb/c.txt:3:1:foo\n" },
        { "foo$", "a.txt:1:5:one foo\na.txt:3:11:foo three foo\na.txt:5:6:last foo\nb/c.txt:3:1:foo\n" },
        { "^foo$", "b/c.txt:3:1:foo\n" },
        { "\\bfoo\\b.*foo", "a.txt:3:1:foo three foo\n" },
        { "^$", "a.txt:4:1:\n" },
        { "^\\s*$", "a.txt:4:1:\n" },
        { "o\\s+\\w", "a.txt:3:3:foo three foo\n" },
        { "two\\s+foo", "" },
        { "[^x]*three", "a.txt:3:1:foo three foo\n" },
        { "t[^z]*o", "a.txt:2:1:two\na.txt:3:5:foo three foo\na.txt:5:4:last foo\n" },
        { "(?i)FOOD|LAST", "a.txt:5:1:last foo\nb/c.txt:1:1:food\n" },
        { "(?<!e )foo", "a.txt:3:1:foo three foo\na.txt:5:6:last foo\nb/c.txt:1:1:food\nb/c.txt:3:1:foo\nb/latin.txt:1:6:caf\uFFFD foo \uFFFD\n" },
        { "\\Afoo\\z", "b/c.txt:3:1:foo\n" },
        { "o{2}d?$", "a.txt:1:6:one foo\na.txt:3:12:foo three foo\na.txt:5:7:last foo\nb/c.txt:1:2:food\nb/c.txt:3:2:foo\n" },
        { "a.t", "a.txt:5:2:last foo\n" },
        { "fo+?d", "b/c.txt:1:1:food\n" },
        { "thre{1,3}e", "a.txt:3:5:foo three foo\n" },
        { "three|absent", "a.txt:3:5:foo three foo\n" },
        { "(one|two) fo", "a.txt:1:1:one foo\n" },
        { "\\Qfood\\E", "b/c.txt:1:1:food\n" },
        { "x?", "a.txt:1:1:one foo\na.txt:2:1:two\na.txt:3:1:foo three foo\na.txt:4:1:\na.txt:5:1:last foo\nb/c.txt:1:1:food\nb/c.txt:2:1:bar\nb/c.txt:3:1:foo\n"
                "b/latin.txt:1:1:caf\uFFFD foo \uFFFD\nb/latin.txt:2:1:ok\n" },
        { "$", "a.txt:1:8:one foo\na.txt:2:4:two\na.txt:3:14:foo three foo\na.txt:4:1:\na.txt:5:9:last foo\nb/c.txt:1:5:food\nb/c.txt:2:4:bar\nb/c.txt:3:4:foo\n"
               "b/latin.txt:1:11:caf\uFFFD foo \uFFFD\nb/latin.txt:2:3:ok\n" },
        { "absent", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(&(GrepInput){ .root = t.fd, .pattern = str_from(cases[i].pattern) }, cases[i].found);
    check(&(GrepInput){ .root = t.fd, .pattern = STR("FOOD"), .ignore_case = true }, "b/c.txt:1:1:food\n");
    tree_free(&t);
}

static void gives_context(void **state) {
    (void)state;
    Tree t = tree_new();
    tree_text(&t, "f", "1\n2\nhit\n4\nhit\n6\n7\n");
    check(&(GrepInput){ .root = t.fd, .pattern = STR("hit"), .context = 1 }, "-2\nf:3:1:hit\n+4\n-4\nf:5:1:hit\n+6\n");
    check(&(GrepInput){ .root = t.fd, .pattern = STR("hit"), .context = 9, .limit = 1 }, "-1\n-2\nf:3:1:hit\n+4\n+hit\n+6\n+7\n");
    check(&(GrepInput){ .root = t.fd, .pattern = STR("^7"), .context = 2 }, "-hit\n-6\nf:7:1:7\n");
    tree_free(&t);
}

static void chooses_files(void **state) {
    (void)state;
    Tree t = tree_new();
    static const char *const files[] = { "a.js", "b.ts", "c.tsx", "d.py", "Makefile", "x.foo", "src/a.js", "src/deep/b.ts", ".hid.js", "skip.js" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) tree_text(&t, files[i], "x\n");
    tree_text(&t, ".gitignore", "skip.*\n");
    static const struct { const char *start, *type, *glob; bool hidden, no_ignore; const char *found; } cases[] = {
        { "", "js", "", false, false, "a.js:1:1:x\nsrc/a.js:1:1:x\n" },
        { "", "ts", "", false, false, "b.ts:1:1:x\nc.tsx:1:1:x\nsrc/deep/b.ts:1:1:x\n" },
        { "", "make", "", false, false, "Makefile:1:1:x\n" },
        { "", "tsx", "", false, false, "c.tsx:1:1:x\n" },
        { "", ".foo", "", false, false, "x.foo:1:1:x\n" },
        { "", "*.foo", "", false, false, "x.foo:1:1:x\n" },
        { "", "js", "", true, true, ".hid.js:1:1:x\na.js:1:1:x\nskip.js:1:1:x\nsrc/a.js:1:1:x\n" },
        { "", "", "*.ts", false, false, "b.ts:1:1:x\nsrc/deep/b.ts:1:1:x\n" },
        { "", "", "src/*", false, false, "src/a.js:1:1:x\n" },
        { "src", "", "deep/*", false, false, "src/deep/b.ts:1:1:x\n" },
        { "src", "", "", false, false, "src/a.js:1:1:x\nsrc/deep/b.ts:1:1:x\n" },
        { "src/deep/b.ts", "", "", false, false, "src/deep/b.ts:1:1:x\n" },
        { "skip.js", "", "", false, false, "skip.js:1:1:x\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&(GrepInput){ .root = t.fd, .start = str_from(cases[i].start), .pattern = STR("x"), .type = str_from(cases[i].type),
                            .glob = str_from(cases[i].glob), .hidden = cases[i].hidden, .no_ignore = cases[i].no_ignore }, cases[i].found);
    tree_free(&t);
}

/* The first matches by path, whatever the number of threads, and the flag says whether there were more. */
static void keeps_the_first(void **state) {
    (void)state;
    Tree t = tree_new();
    char path[64];
    for (int i = 0; i < 300; i++) {
        snprintf(path, sizeof path, "d%d/f%03d", i % 3, i);
        tree_text(&t, path, "hit\nhit\nmiss\n");
    }
    static const struct { size_t limit, n; bool truncated; } cases[] = { { 7, 7, true }, { 599, 599, true }, { 600, 600, false }, { 601, 600, false }, { 0, 600, false }, { 1, 1, true } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned threads = 1; threads <= 4; threads++) {
            Arena arena = { 0 };
            GrepResult out;
            assert_true(grep_files(&(GrepInput){ .root = t.fd, .pattern = STR("hit"), .limit = cases[i].limit, .threads = threads }, NULL, &arena, &out, NULL));
            assert_int_equal(out.n, cases[i].n);
            assert_int_equal(out.truncated, cases[i].truncated);
            for (size_t k = 0; k < out.n; k++) {
                int number = (int)(k / 2 % 100) * 3 + (int)(k / 200);
                snprintf(path, sizeof path, "d%d/f%03d", number % 3, number);
                assert_str(out.matches[k].path, path);
                assert_int_equal(out.matches[k].line, 1 + k % 2);
            }
            arena_clear(&arena);
        }
    tree_free(&t);
}

static void cuts_long_lines(void **state) {
    (void)state;
    Tree t = tree_new();
    Buf text = { 0 };
    for (int i = 0; i < 20000; i++) buf_add(&text, STR("é"));
    buf_add(&text, STR("needle"));
    for (int i = 0; i < 20000; i++) buf_add(&text, STR("ü"));
    tree_put(&t, "f", text.at, text.n);
    Arena arena = { 0 };
    GrepResult out;
    assert_true(grep_files(&(GrepInput){ .root = t.fd, .pattern = STR("needle") }, NULL, &arena, &out, NULL));
    assert_int_equal(out.n, 1);
    Str line = out.matches[0].text;
    assert_int_equal(out.matches[0].column, 40001);
    assert_true(line.n <= GREP_TEXT_MAX + 6 && line.n > GREP_TEXT_MAX - 6 && utf8_valid(line));
    assert_true(str_find(line, STR("needle")) > 0 && str_starts(line, STR("…")) && str_ends(line, STR("…")));
    assert_true(grep_files(&(GrepInput){ .root = t.fd, .pattern = STR("^é") }, NULL, &arena, &out, NULL));
    assert_true(str_starts(out.matches[0].text, STR("é")) && str_ends(out.matches[0].text, STR("é…")));
    buf_clear(&text);
    arena_clear(&arena);
    tree_free(&t);
}

static void passes_over_binary_files(void **state) {
    (void)state;
    Tree t = tree_new();
    Buf text = { 0 };
    for (int i = 0; i < 10000; i++) buf_add(&text, STR("x\n"));
    buf_add(&text, STR("early\n"));
    buf_add_char(&text, 0);
    buf_add(&text, STR("\nlate\n"));
    tree_put(&t, "f", text.at, text.n);
    check(&(GrepInput){ .root = t.fd, .pattern = STR("early") }, "f:10001:1:early\n");
    check(&(GrepInput){ .root = t.fd, .pattern = STR("late") }, "");
    check(&(GrepInput){ .root = t.fd, .pattern = STR("early|late") }, "");
    buf_clear(&text);
    tree_free(&t);
}

static void never_leaves_the_root(void **state) {
    (void)state;
    Tree t = tree_new();
    assert_int_equal(symlinkat("/etc", t.fd, "etc"), 0);
    assert_int_equal(symlinkat("/etc/passwd", t.fd, "passwd"), 0);
    assert_int_equal(mkfifoat(t.fd, "fifo", 0644), 0);
    check(&(GrepInput){ .root = t.fd, .pattern = STR("root"), .hidden = true, .no_ignore = true }, "");
    static const char *const starts[] = { "etc", "etc/passwd", "passwd", "../etc/passwd", "/etc/passwd", "fifo", "absent", "..", "absent/x" };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        Arena arena = { 0 };
        Error err = { 0 };
        GrepResult out;
        if (grep_files(&(GrepInput){ .root = t.fd, .start = str_from(starts[i]), .pattern = STR("root") }, NULL, &arena, &out, &err)) fail_msg("%s", starts[i]);
        assert_int_equal(err.kind, ERR_IO);
        arena_clear(&arena);
    }
    tree_free(&t);
}

static void explains_failures(void **state) {
    (void)state;
    Tree t = tree_new();
    tree_text(&t, "a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\n");
    static const struct { const char *pattern, *type, *glob, *message; ErrorKind kind; } cases[] = {
        { "", "", "", "the pattern is empty", ERR_VALIDATION },
        { "(a", "", "", "regular expression: at 3: missing closing parenthesis", ERR_PARSE },
        { "a\\nb", "", "", "the pattern asks for a line break: a match lies within one line", ERR_VALIDATION },
        { "a\nb", "", "", "the pattern asks for a line break: a match lies within one line", ERR_VALIDATION },
        { "a", "a/b", "", "type: expected a name such as js, py, rust, or a file extension", ERR_VALIDATION },
        { "a", "", "[x", "glob: at 1: [ is not closed", ERR_PARSE },
        { "(a+)+$", "", "", "a: regular expression: too many steps", ERR_LIMIT },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena = { 0 };
        Error err = { 0 };
        GrepResult out;
        GrepInput in = { .root = t.fd, .pattern = str_from(cases[i].pattern), .type = str_from(cases[i].type), .glob = str_from(cases[i].glob) };
        assert_false(grep_files(&in, NULL, &arena, &out, &err));
        assert_string_equal(err.msg, cases[i].message);
        assert_int_equal(err.kind, cases[i].kind);
        arena_clear(&arena);
    }
    Arena arena = { 0 };
    Error err = { 0 };
    GrepResult out;
    Cancel *late = cancel_new(NULL, 1);
    assert_false(grep_files(&(GrepInput){ .root = t.fd, .pattern = STR("a") }, late, &arena, &out, &err));
    assert_int_equal(err.kind, ERR_TIMEOUT);
    cancel_free(late);
    check(&(GrepInput){ .root = t.fd, .pattern = STR("[^\\n]b$") }, "a:1:45:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\n");
    arena_clear(&arena);
    tree_free(&t);
}

/* The plain way as the peer: each line alone, each pattern. What is prefiltered or searched at once must agree. */
static void agrees_with_line_by_line(void **state) {
    (void)state;
    static const char *const patterns[] = { "ab", "a.*b", "a\\s*b", "[^c]b", "b?ab", "(ab|ba)c", "^a|b$", "a{2,}", "\\w+\\s\\w+", "(?:a|b)+c", "a+?b*", "c$", "^\\W", "\\S\\s\\S", "\r", "b\r", "a[\\s\\S]b" };
    uint32_t seed = 5;
    Tree t = tree_new();
    for (int round = 0; round < 20; round++) {
        Buf text = { 0 };
        for (int i = 0; i < 60; i++) {
            seed = seed * 1664525u + 1013904223u;
            buf_add_char(&text, "aabbc \n\n\t\r"[(seed >> 12) % 10]);
        }
        tree_put(&t, "f", text.at, text.n);
        for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
            Arena arena = { 0 };
            GrepResult out;
            assert_true(grep_files(&(GrepInput){ .root = t.fd, .pattern = str_from(patterns[p]) }, NULL, &arena, &out, NULL));
            Regex *re = regex_new(str_from(patterns[p]), 0, NULL);
            Str rest = buf_str(&text), line;
            size_t n = 0;
            for (uint64_t number = 1; str_next_line(&rest, &line); number++) {
                bool found;
                if (rest.n == 0 && line.n && line.at[line.n - 1] == '\r') line.n--;   /* a \r at the very end counts as a line's end */
                assert_true(regex_test(re, line, &found, NULL));
                if (!found) continue;
                if (n >= out.n || out.matches[n].line != number) fail_msg("%s: line %u is missing", patterns[p], (unsigned)number);
                n++;
            }
            assert_int_equal(n, out.n);
            regex_free(re);
            arena_clear(&arena);
        }
        buf_clear(&text);
    }
    tree_free(&t);
}

static void survives_faults(void **state) {
    (void)state;
#ifdef HARNESS_FAULTS
    Tree t = tree_new();
    tree_text(&t, "a", "hit\n");
    tree_text(&t, "b/c", "hit\n");
    tree_text(&t, "b/.gitignore", "x\n");
    size_t fds = tree_open_fds();
    for (long nth = 1;; nth++) {
        Arena arena = { 0 };
        GrepResult out = { 0 };
        Error err = { 0 };
        fault_arm(nth);
        bool ok = grep_files(&(GrepInput){ .root = t.fd, .pattern = STR("hit"), .threads = 1 }, NULL, &arena, &out, &err);
        bool hit = fault_disarm();
        assert_int_equal(tree_open_fds(), fds);
        if (!ok) assert_true(err.msg[0]);
        else assert_true(out.n == 2 || out.unreadable > 0 || hit);
        arena_clear(&arena);
        if (!hit) break;
        assert_true(nth < 1000);
    }
    tree_free(&t);
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_lines), cmocka_unit_test(gives_context), cmocka_unit_test(chooses_files), cmocka_unit_test(keeps_the_first),
        cmocka_unit_test(cuts_long_lines), cmocka_unit_test(passes_over_binary_files), cmocka_unit_test(never_leaves_the_root),
        cmocka_unit_test(explains_failures), cmocka_unit_test(agrees_with_line_by_line), cmocka_unit_test(survives_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
