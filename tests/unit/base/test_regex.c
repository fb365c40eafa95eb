#include "unit.h"
#include <pthread.h>
#include "base/regex.h"
#include "base/regex_ecma.h"

static bool found(const char *pattern, unsigned flags, Str text) {
    Error err = { 0 };
    bool out = false;
    Regex *re = regex_new(str_from(pattern), flags, &err);
    if (!re) fail_msg("%s: %s", pattern, err.msg);
    if (!regex_test(re, text, &out, &err)) fail_msg("%s: %s", pattern, err.msg);
    regex_free(re);
    return out;
}

static void test_plain(void **state) {
    (void)state;
    static const struct { const char *pattern; unsigned flags; const char *text; bool found; } rows[] = {
        { "a+b", 0, "xaab", true }, { "^b", 0, "ab", false }, { "", 0, "", true }, { "^a$", 0, "a\n", false },
        { "é", 0, "café", true }, { "^.$", 0, "é", true }, { "A", REGEX_IGNORE_CASE, "a", true }, { "a.b", 0, "a\nb", false },
        { "a.b", REGEX_DOTALL, "a\nb", true }, { "^b$", REGEX_MULTILINE, "a\nb\nc", true }, { "(?<=a)b", 0, "ab", true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (found(rows[i].pattern, rows[i].flags, str_from(rows[i].text)) != rows[i].found)
            fail_msg("/%s/ on \"%s\": expected %d", rows[i].pattern, rows[i].text, rows[i].found);
}

static void test_spans(void **state) {
    (void)state;
    Error err = { 0 };
    RegexSpan at[20];
    bool hit;
    Regex *re = regex_new(STR("(\\w+)(x)?@(\\w+)"), 0, &err);
    assert_int_equal(regex_groups(re), 3);
    Str text = STR("é to me@home, you@work");
    assert_true(regex_find(re, text, 0, at, 20, NULL, &hit, &err) && hit);
    assert_str(str_sub(text, at[0].from, at[0].to), "me@home");
    assert_str(str_sub(text, at[1].from, at[1].to), "me");
    assert_true(at[2].from == REGEX_UNSET && at[2].to == REGEX_UNSET);
    assert_true(at[19].from == REGEX_UNSET);
    assert_true(regex_find(re, text, at[0].to, at, 1, NULL, &hit, &err) && hit);
    assert_str(str_sub(text, at[0].from, at[0].to), "you@work");
    assert_true(regex_find(re, text, text.n, at, 1, NULL, &hit, &err) && !hit);
    assert_true(regex_find(re, text, text.n + 1, at, 1, NULL, &hit, &err) && !hit);
    regex_free(re);
}

/* Long texts are searched in sections of starting positions; a match is found wherever a section ends. */
static void test_long_text(void **state) {
    (void)state;
    enum { N = 3000 };
    Error err = { 0 };
    Regex *re = regex_new(STR("b|éb?$"), 0, &err);
    Buf text = { 0 };
    for (int i = 0; i < N; i++) buf_add(&text, i % 3 ? STR("a") : STR("漢"));
    bool hit;
    assert_true(regex_test(re, buf_str(&text), &hit, &err) && !hit);
    for (size_t at = 0; at < text.n; at += 97) {
        while (((unsigned char)text.at[at] & 0xC0) == 0x80 || (unsigned char)text.at[at] >= 0x80) at++;
        text.at[at] = 'b';
        RegexSpan span;
        assert_true(regex_find(re, buf_str(&text), 0, &span, 1, NULL, &hit, &err) && hit);
        assert_int_equal(span.from, at);
        text.at[at] = 'a';
    }
    regex_free(re);
    buf_clear(&text);
}

static void test_bad_patterns(void **state) {
    (void)state;
    static const struct { const char *pattern; unsigned flags; const char *message; } rows[] = {
        { "(a", 0, "regular expression: at 3: missing closing parenthesis" },
        { "é[a", 0, "regular expression: at 4: missing terminating ] for character class" },
        { "(a", REGEX_ECMA, "regular expression: at 3: a group is not closed" },
        { "é)", REGEX_ECMA, "regular expression: at 2: there is no group to close" },
        { "a**", REGEX_ECMA, "regular expression: at 3: there is nothing to repeat" },
        { "a++", REGEX_ECMA, "regular expression: at 3: there is nothing to repeat" },
        { "(*ACCEPT)", REGEX_ECMA, "regular expression: at 2: there is nothing to repeat" },
        { "\\a", REGEX_ECMA, "regular expression: at 1: unknown escape" },
        { "a\\", REGEX_ECMA, "regular expression: at 2: a backslash at the end" },
        { "[b-a]", REGEX_ECMA, "regular expression: at 3: the range is out of order" },
        { "[a", REGEX_ECMA, "regular expression: at 1: the class is not closed" },
        { "(?i)a", REGEX_ECMA, "regular expression: at 1: unknown kind of group" },
        { "(?#x)", REGEX_ECMA, "regular expression: at 1: unknown kind of group" },
        { "(?P<a>x)", REGEX_ECMA, "regular expression: at 1: unknown kind of group" },
        { "\\1", REGEX_ECMA, "regular expression: at 1: no group has that number" },
        { "\\k<a>", REGEX_ECMA, "regular expression: at 1: \\k needs the name of a group" },
        { "(?<a>x)(?<a>y)", REGEX_ECMA, "regular expression: at 8: a group's name is used twice" },
        { "(?<1>x)", REGEX_ECMA, "regular expression: at 1: a group's name is not valid" },
        { "\\u12", REGEX_ECMA, "regular expression: at 1: \\u needs four digits" },
        { "\\u{110000}", REGEX_ECMA, "regular expression: at 1: \\u{…} is not a code point" },
        { "\\x1", REGEX_ECMA, "regular expression: at 1: \\x needs two digits" },
        { "\\c1", REGEX_ECMA, "regular expression: at 1: \\c needs a letter" },
        { "\\pL", REGEX_ECMA, "regular expression: at 1: \\p needs a property in braces" },
        { "\\p{Nonsense}", REGEX_ECMA, "regular expression: unknown property after \\P or \\p" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Error err = { 0 };
        Regex *re = regex_new(str_from(rows[i].pattern), rows[i].flags, &err);
        if (re) fail_msg("%s: was not refused", rows[i].pattern);
        assert_string_equal(err.msg, rows[i].message);
        assert_int_equal(err.kind, ERR_PARSE);
    }
    Error err = { 0 };
    assert_null(regex_new(STR("a\xff"), 0, &err));
    assert_string_equal(err.msg, "regular expression: at 2: is not valid UTF-8");
    assert_null(regex_new(STR("(a"), REGEX_ECMA, NULL));
}

static void test_limits(void **state) {
    (void)state;
    Error err = { 0 };
    Buf b = { 0 };
    for (int i = 0; i <= REGEX_PATTERN_MAX; i++) buf_add_char(&b, 'a');
    assert_null(regex_new(buf_str(&b), 0, &err));
    assert_int_equal(err.kind, ERR_LIMIT);
    buf_reset(&b);
    for (int i = 0; i <= REGEX_GROUPS_MAX; i++) buf_add(&b, STR("()"));
    assert_null(regex_new(buf_str(&b), 0, &err));
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_null(regex_new(buf_str(&b), REGEX_ECMA, &err));
    assert_int_equal(err.kind, ERR_LIMIT);
    buf_reset(&b);
    for (int i = 0; i < 300; i++) buf_add_char(&b, '(');
    assert_null(regex_new(buf_str(&b), REGEX_ECMA, &err));
    buf_clear(&b);
}

/* Patterns with exponential backtracking end in ERR_LIMIT quickly. */
static void test_catastrophes(void **state) {
    (void)state;
    static const char *const patterns[] = { "(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(.*)*x$y", "^(([a-z])+.)+[A-Z]$" };
    Buf text = { 0 };
    for (int i = 0; i < 60; i++) buf_add_char(&text, 'a');
    buf_add_char(&text, '!');
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        for (unsigned flags = 0; flags <= REGEX_ECMA; flags += REGEX_ECMA) {
            Error err = { 0 };
            bool hit = false;
            Regex *re = regex_new(str_from(patterns[i]), flags, &err);
            assert_non_null(re);
            if (regex_test(re, buf_str(&text), &hit, &err)) assert_false(hit);
            else assert_int_equal(err.kind, ERR_LIMIT);
            regex_free(re);
        }
    Error err = { 0 };
    bool hit;
    Regex *re = regex_new(STR("^(a|a)*$"), 0, &err);
    assert_false(regex_test(re, buf_str(&text), &hit, &err));
    assert_string_equal(err.msg, "regular expression: too many steps");
    regex_free(re);
    buf_clear(&text);
}

static void test_cancel(void **state) {
    (void)state;
    Error err = { 0 };
    bool hit;
    Buf text = { 0 };
    for (int i = 0; i < 100000; i++) buf_add_char(&text, 'a');
    Regex *re = regex_new(STR("b"), 0, &err);
    Cancel *cancel = cancel_new(NULL, 0);
    assert_true(regex_find(re, buf_str(&text), 0, NULL, 0, cancel, &hit, &err) && !hit);
    cancel_fire(cancel);
    assert_false(regex_find(re, buf_str(&text), 0, NULL, 0, cancel, &hit, &err));
    assert_int_equal(err.kind, ERR_CANCELLED);
    cancel_free(cancel);
    regex_free(re);
    buf_clear(&text);
}

static void test_bad_text(void **state) {
    (void)state;
    Error err = { 0 };
    bool hit;
    Regex *re = regex_new(STR("a"), 0, &err);
    assert_false(regex_test(re, STR("a\xc3"), &hit, &err));
    assert_int_equal(err.kind, ERR_VALIDATION);
    regex_free(re);
}

static void test_ecma(void **state) {
    (void)state;
    static const struct { const char *pattern, *text; bool found; } rows[] = {
        { "^\\d$", "٣", false }, { "^\\w$", "é", false }, { "^\\W$", "é", true }, { "^\\s$", "\u00a0", true },
        { "^\\s$", "\ufeff", true }, { "^\\S$", "\u2003", false }, { "^[\\s]$", "\u2003", true }, { "^[\\S]$", "\u2003", false },
        { "^[\\S]$", "x", true }, { "^[^\\s]$", "\u3000", false }, { "^.$", "\n", false }, { "^.$", "\u2028", false },
        { "^.$", "😀", true }, { "^a$", "a\n", false }, { "[]", "a", false }, { "^[^]$", "\n", true }, { "^\\cA$", "\x01", true },
        { "^\\u0041$", "A", true }, { "^\\u{1F600}$", "😀", true }, { "^\\ud83d\\ude00$", "😀", true }, { "\\ud83d", "😀", false },
        { "^[\\ud83d\\ude00-\\ud83d\\ude0f]$", "😁", true }, { "^\\p{L}+$", "éЖ", true }, { "^\\p{Letter}+$", "é1", false },
        { "^\\P{L}$", "1", true }, { "^\\p{Script=Greek}+$", "αβ", true }, { "^\\p{sc=Greek}+$", "ab", false },
        { "^\\p{gc=Lu}$", "A", true }, { "^\\p{General_Category=Decimal_Number}$", "٣", true }, { "^\\p{Assigned}$", "a", true },
        { "^(?<x>a)\\k<x>$", "aa", true }, { "^\\k<x>(?<x>a)$", "a", true }, { "^(a)|\\1b$", "b", true }, { "^(?:a|b)c$", "bc", true },
        { "(?<!x)a", "xa", false }, { "(?<=x)a", "xa", true }, { "a(?=b)", "ab", true }, { "^[[]$", "[", true }, { "^[[:alpha:]]$", "a]", true },
        { "^a{2}$", "aa", true }, { "^a{,2}$", "a{,2}", true }, { "^x{$", "x{", true }, { "^\\/$", "/", true }, { "^\\-$", "-", true },
        { "^[a\\-z]$", "-", true }, { "^[a-]$", "-", true }, { "^[\\w-]+$", "a-b", true }, { "^[+-]$", "-", true }, { "^[\\b]$", "\b", true },
        { "^(?i:A)b$", "ab", true }, { "a+?b", "aab", true }, { "^\\0$", "", false }, { "\\bfoo\\b", "a foo b", true }, { "^[a-\\d]+$", "a-3", true },
        { "^[\\d-x]+$", "3-x", true }, { "a|", "", true }, { "^\\x41$", "A", true }, { "^#a b$", "#a b", true }, { "^[^a]$", "é", true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (found(rows[i].pattern, REGEX_ECMA, str_from(rows[i].text)) != rows[i].found)
            fail_msg("/%s/u on \"%s\": expected %d", rows[i].pattern, rows[i].text, rows[i].found);
    assert_true(found("^\\0$", REGEX_ECMA, (Str){ "\0", 1 }));
    assert_true(regex_ecma_translate(STR("(?<=a+)b"), NULL, NULL));   /* valid JavaScript, though PCRE2 does not support
                                                                       * it */
}

static void *search_often(void *arg) {
    const Regex *re = arg;
    for (int i = 0; i < 1000; i++) {
        char text[32];
        int n = snprintf(text, sizeof text, "id-%d", i);
        RegexSpan span[2];
        bool hit;
        if (!regex_find(re, (Str){ text, (size_t)n }, 0, span, 2, NULL, &hit, NULL) || !hit || span[1].to != (size_t)n) return arg;
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    Regex *re = regex_new(STR("^id-(\\d+)$"), 0, NULL);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&thread[i], NULL, search_often, re), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        assert_null(failed);
    }
    regex_free(re);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain), cmocka_unit_test(test_spans), cmocka_unit_test(test_long_text), cmocka_unit_test(test_bad_patterns),
        cmocka_unit_test(test_limits), cmocka_unit_test(test_catastrophes), cmocka_unit_test(test_cancel), cmocka_unit_test(test_bad_text),
        cmocka_unit_test(test_ecma), cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
