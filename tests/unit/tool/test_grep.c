#include "tool/tree.h"
#include <sys/mman.h>
#include "base/fault.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/regex.h"
#include "tool/builtin/grep_search.h"

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

/* \S, \D and \W match characters beyond ASCII, in files that are UTF-8 and in files that are not. */
static void finds_other_characters(void **state) {
    (void)state;
    Tree t = tree_new();
    tree_text(&t, "a", "日本\nпривет мир\n");
    tree_text(&t, "b", "\xff\n1😀\n1€\n1é\n1\xe9\n12\n");
    static const struct { const char *pattern, *found; } cases[] = {
        { "^\\S+$", "a:1:1:日本\nb:2:1:1😀\nb:3:1:1€\nb:4:1:1é\nb:6:1:12\n" },
        { "\\S+ \\S+", "a:2:1:привет мир\n" },
        { "\\S{3}", "a:2:1:привет мир\n" },
        { "1\\D", "b:2:1:1😀\nb:3:1:1€\nb:4:1:1é\n" },
        { "1\\W", "b:2:1:1😀\nb:3:1:1€\nb:4:1:1é\n" },
        { "1\\S", "b:2:1:1😀\nb:3:1:1€\nb:4:1:1é\nb:6:1:12\n" },
        { "1[^2]", "b:2:1:1😀\nb:3:1:1€\nb:4:1:1é\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(&(GrepInput){ .root = t.fd, .pattern = str_from(cases[i].pattern) }, cases[i].found);
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

/* The first matches by path, whatever the number of threads, and the flag tells whether there were more. */
static void keeps_the_first(void **state) {
    (void)state;
    Tree t = tree_new();
    char path[64];
    for (int i = 0; i < 300; i++) {
        snprintf(path, sizeof path, "d%d/f%03d", i % 3, i);
        tree_text(&t, path, "hit\nhit\nmiss\n");
    }
    static const struct { size_t limit, n; bool truncated; } cases[] = { { 7, 7, true }, { 599, 599, true }, { 600, 600, false },
        { 601, 600, false }, { 0, 600, false }, { 1, 1, true } };
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
    check(&(GrepInput){ .root = t.fd, .pattern = STR("early|late"), .context = 1 }, "-x\nf:10001:1:early\n");
    tree_put(&t, "f", "one\ntwo\nthr\0ee\n", 15);
    check(&(GrepInput){ .root = t.fd, .pattern = STR("two") }, "");      /* a NUL at the start of a file makes all of it
                                                                          * binary */
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
        { "a\\nb", "", "", "the pattern contains a line break, but a match is within one line", ERR_VALIDATION },
        { "a\nb", "", "", "the pattern contains a line break, but a match is within one line", ERR_VALIDATION },
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

/* ---- pieces, compared with a simple implementation ---- */

typedef struct { Str line[4096]; size_t n; } Lines;

static void split(Str text, Lines *out) {
    out->n = 0;
    while (text.n) {
        ptrdiff_t end = str_find_char(text, '\n');
        Str line = str_sub(text, 0, end < 0 ? text.n : (size_t)end);
        text = str_sub(text, line.n + 1, text.n);
        if (line.n && line.at[line.n - 1] == '\r') line.n--;
        assert_true(out->n < sizeof out->line / sizeof *out->line);
        out->line[out->n++] = line;
    }
}

static void add_line(Buf *out, Str line) {
    for (size_t n; (n = utf8_valid_prefix(line)) < line.n; line = str_sub(line, n + 1, line.n)) {
        buf_add(out, str_sub(line, 0, n));
        buf_add(out, STR("\uFFFD"));
    }
    buf_add(out, line);
    buf_add_char(out, '\n');
}

/* The expected result, computed line by line. A line of UTF-8 is searched with `utf8`, other lines with `any`. */
static void expect(const Lines *l, const Regex *utf8, const Regex *any, size_t context, Buf *out) {
    buf_reset(out);
    for (size_t i = 0; i < l->n; i++) {
        RegexSpan span;
        bool found;
        assert_true(regex_find(utf8_valid(l->line[i]) ? utf8 : any, l->line[i], 0, &span, 1, NULL, &found, NULL));
        if (!found) continue;
        for (size_t k = i < context ? 0 : i - context; k < i; k++) buf_add_char(out, '-'), add_line(out, l->line[k]);
        buf_add_fmt(out, ":%zu:%zu:", i + 1, span.from + 1);
        add_line(out, l->line[i]);
        for (size_t k = i + 1; k < l->n && k <= i + context; k++) buf_add_char(out, '+'), add_line(out, l->line[k]);
    }
}

static void search_in_pieces(const GrepPattern *p, int fd, size_t piece, size_t line_max, size_t context, Buf *out) {
    GrepFile found = { 0 };
    Buf text = { 0 };
    Error err = { 0 };
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    GrepSearch how = { .pattern = p, .fd = fd, .context = context, .limit = 1000, .piece = piece, .line_max = line_max, .text = &text };
    if (!grep_search(&how, NULL, &found, &err)) fail_msg("%s", err.msg);
    show(&(GrepResult){ .matches = found.match, .n = found.n }, out);
    buf_clear(&text);
    arena_clear(&found.arena);
}

static int text_file(Str text) {
    int fd = memfd_create("text", MFD_CLOEXEC);
    assert_int_equal(write(fd, text.at, text.n), (ssize_t)text.n);
    return fd;
}

static const Str patterns[] = {
    { "ab", 2 }, { "a.*b", 4 }, { "a\\s*b", 5 }, { "[^c]b", 5 }, { "b?ab", 4 }, { "(ab|ba)c", 8 }, { "^a|b$", 5 }, { "a{2,}", 5 }, { "\\w+\\s\\w+", 8 },
    { "(?:a|b)+c", 9 }, { "a+?b*", 5 }, { "c$", 2 }, { "^\\W", 3 }, { "\\S\\s\\S", 6 }, { "\r", 1 }, { "b\r", 2 }, { "a[\\s\\S]b", 8 },
    { "a[[\0\0]|", 7 }, { "b\0?", 3 }, { "a\0|b", 4 }, { "a{1}+b", 6 }, { "[[:alpha:]]b", 12 }, { "[][]b", 5 }, { "[^]]b", 5 },
    { "[\\]c]a", 6 }, { "(?i)AB", 6 }, { "(?i)A|C$", 8 }, { "a(?i)B", 6 }, { "(?=ab)a", 7 }, { "(?!ab)a", 7 }, { "(?<=a)b", 7 }, { "(?<!a)b", 7 },
    { "(?>a*)b", 7 }, { "a*+\\s", 5 }, { "(?<x>a)b", 8 }, { "(a)b\\1", 6 }, { "\\Aa", 3 }, { "b\\z", 3 }, { "\\x61b", 5 }, { "\\Qa\\Eb", 6 },
    { "\\S+", 3 }, { "^\\S+$", 5 }, { "\\S+ \\S+", 7 }, { "a\\D", 3 }, { "b\\W", 3 }, { "\\N", 2 }, { ".", 1 }, { "[^a]", 4 }, { "\\X", 2 },
        { "\\H\\h", 4 }, { "^.$", 3 },
    { "[\\W]a", 5 }, { "[^\\s]\\W", 7 }, { "\\D{3}", 5 }, { "\\W*?a", 5 }, { "(?<=\\W)a", 8 }, { "(?!\\S)b", 7 }, { "\\P{L}", 5 },
        { "é\\S", 4 }, { "[^é]$", 6 },
    { "(?x) a b", 8 }, { "a(?#b)b", 7 }, { "a(|b)c", 6 }, { "a{,2}b", 6 }, { "a{1", 3 }, { "a|{b", 4 }, { "\\ba", 3 }, { "b\\B", 3 }, { "a\\Kb", 4 },
};

/* Whatever was derived from the pattern, and wherever a piece ends, the result is the same. */
static void agrees_with_line_by_line(void **state) {
    (void)state;
    Lines *lines = mem_alloc(sizeof *lines);
    Buf expected = { 0 }, got = { 0 };
    uint32_t seed = 5;
    static const char *const atoms[] = { "a", "a", "b", "b", "c", " ", "\n", "\n", "\t", "\r", "é", "日", "😀", "\u00A0", "\xff", "\xe6\x97" };
    for (int round = 0; round < 60; round++) {
        Buf text = { 0 };
        for (int i = 0; i < 20 + round % 40 * 5; i++) {
            seed = seed * 1664525u + 1013904223u;      /* ASCII, then also other characters, then also bytes that are not UTF-8 */
            buf_add(&text, str_from(atoms[(seed >> 12) % (round % 3 == 0 ? 10 : round % 3 == 1 ? 14 : 16)]));
        }
        split(buf_str(&text), lines);
        int fd = text_file(buf_str(&text));
        for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
            Arena arena = { 0 };
            GrepPattern p;
            Regex *utf8 = regex_new(patterns[i], REGEX_MULTILINE, NULL), *any = regex_new(patterns[i], REGEX_MULTILINE | REGEX_ANY_TEXT, NULL);
            if (!grep_pattern_init(&p, patterns[i], false, &arena, NULL)) fail_msg(STR_FMT, STR_ARG(patterns[i]));
            for (size_t context = 0; context <= 8; context = context * 3 + 1) {
                expect(lines, utf8, any, context, &expected);
                for (size_t piece = 0; piece < 40; piece = piece * 2 + 1) {
                    search_in_pieces(&p, fd, piece, 0, context, &got);
                    if (!str_eq(buf_str(&got), buf_str(&expected)))
                        fail_msg(STR_FMT ", pieces of %zu bytes, context %zu:\n%s", STR_ARG(patterns[i]), piece, context, got.at);
                }
            }
            regex_free(utf8);
            regex_free(any);
            grep_pattern_clear(&p);
            arena_clear(&arena);
        }
        close(fd);
        buf_clear(&text);
    }
    buf_clear(&expected);
    buf_clear(&got);
    free(lines);
}

/* A line that is too long for memory is searched in parts, under the one number. */
static void searches_long_lines_in_parts(void **state) {
    (void)state;
    Arena arena = { 0 };
    GrepPattern p;
    Buf got = { 0 };
    int fd = text_file(STR("one\nabcdefghé hit klm hit xy\nend hit\n"));
    assert_true(grep_pattern_init(&p, STR("hit"), false, &arena, NULL));
    for (size_t piece = 1; piece < 12; piece++) {
        search_in_pieces(&p, fd, piece, 9, 0, &got);
        assert_str(buf_str(&got), ":2:12:\xc3\xa9 hit k\n:2:20:lm hit x\n:3:5:end hit\n");
    }
    search_in_pieces(&p, fd, 4, 9, 1, &got);
    assert_str(buf_str(&got), "-abcdefgh\n:2:12:\xc3\xa9 hit k\n+lm hit x\n-\xc3\xa9 hit k\n:2:20:lm hit x\n+y\n-y\n:3:5:end hit\n");
    close(fd);
    grep_pattern_clear(&p);
    buf_clear(&got);

    Tree t = tree_new();
    Buf text = { 0 };
    size_t n = 5 * (size_t)GREP_LINE_MAX;
    memset(buf_room(&text, n), 'x', n);
    buf_commit(&text, n);
    memcpy(text.at + n - 100, "needle", 6);
    buf_add(&text, STR("\nneedle\n"));
    tree_put(&t, "f", text.at, text.n);
    GrepResult out;
    assert_true(grep_files(&(GrepInput){ .root = t.fd, .pattern = STR("needle") }, NULL, &arena, &out, NULL));
    assert_int_equal(out.n, 2);
    assert_int_equal(out.matches[0].line, 1);
    assert_int_equal(out.matches[0].column, n - 99);
    assert_int_equal(out.matches[1].line, 2);
    buf_clear(&text);
    arena_clear(&arena);
    tree_free(&t);
}

/* A NUL byte at the start of a file counts even if there are enough matches before it. */
static void full_is_not_text_yet(void **state) {
    (void)state;
    Arena arena = { 0 };
    GrepPattern p;
    Buf work = { 0 };
    GrepFile found = { 0 };
    int fd = text_file(STR("hit\nhit\nhit\n\0\n"));
    assert_true(grep_pattern_init(&p, STR("hit"), false, &arena, NULL));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_true(grep_search(&(GrepSearch){ .pattern = &p, .fd = fd, .limit = 1, .piece = 4, .text = &work }, NULL, &found, NULL));
    assert_int_equal(found.n, 0);
    close(fd);
    grep_pattern_clear(&p);
    arena_clear(&found.arena);
    arena_clear(&arena);
    buf_clear(&work);
}

/* The buffer does not grow with the file. */
static void memory_is_bounded(void **state) {
    (void)state;
    Arena arena = { 0 };
    GrepPattern p;
    Buf text = { 0 }, work = { 0 };
    for (int i = 0; i < 100000; i++) buf_add(&text, STR("some words in a line\n"));
    buf_add(&text, STR("needle"));
    int fd = text_file(buf_str(&text));
    GrepFile found = { 0 };
    assert_true(grep_pattern_init(&p, STR("needle"), false, &arena, NULL));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_true(grep_search(&(GrepSearch){ .pattern = &p, .fd = fd, .context = 2, .limit = 2, .text = &work }, NULL, &found, NULL));
    assert_int_equal(found.n, 1);
    assert_int_equal(found.match[0].line, 100001);
    assert_int_equal(found.match[0].before_n, 2);
    assert_true(work.cap < text.n / 8);
    close(fd);
    arena_clear(&found.arena);
    arena_clear(&arena);
    grep_pattern_clear(&p);
    buf_clear(&work);
    buf_clear(&text);
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
        cmocka_unit_test(finds_lines), cmocka_unit_test(finds_other_characters), cmocka_unit_test(gives_context),
            cmocka_unit_test(chooses_files), cmocka_unit_test(keeps_the_first),
        cmocka_unit_test(cuts_long_lines), cmocka_unit_test(passes_over_binary_files), cmocka_unit_test(never_leaves_the_root),
        cmocka_unit_test(explains_failures), cmocka_unit_test(agrees_with_line_by_line), cmocka_unit_test(searches_long_lines_in_parts),
        cmocka_unit_test(memory_is_bounded), cmocka_unit_test(full_is_not_text_yet), cmocka_unit_test(survives_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
