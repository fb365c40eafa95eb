/* Markdown in a terminal: the rendering of each construct; splitting does not matter, and nothing is lost. */
#include "unit.h"
#include "base/random.h"
#include "cli/terminal/markdown.h"

/* Styles as <b>, <i> …, to make expectations readable. */
static char *plain(const Buf *b, bool tags) {
    Buf out = { 0 };
    for (size_t i = 0; i < b->n; i++) {
        if (b->at[i] != 033) {
            buf_add_char(&out, b->at[i]);
            continue;
        }
        size_t end = i;
        while (b->at[end] != 'm') end++;
        if (tags) buf_add_fmt(&out, "<%.*s>", (int)(end - i - 3), b->at + i + 3);
        i = end;
    }
    buf_add(&out, STR(""));
    return buf_take(&out);
}

static void render(Str text, size_t piece, Buf *out) {
    Markdown m = { 0 };
    for (size_t i = 0; i < text.n; i += piece) markdown_feed(&m, str_sub(text, i, i + piece), out);
    markdown_end(&m, out);
    markdown_clear(&m);
    buf_add(out, STR(""));
}

static const struct { const char *text, *shown; } cases[] = {
    { "plain text\n", "plain text\n" },
    { "no newline", "no newline" },
    { "a **bold** b", "a <;1>bold<> b" },
    { "a *it* and _it_", "a <;3>it<> and <;3>it<>" },
    { "***both***", "<;1;3>both<>" },
    { "**bold *it* bold**", "<;1>bold <;1;3>it<;1> bold<>" },
    { "*it **b** it*", "<;3>it <;1;3>b<;3> it<>" },
    { "`code` x", "<;36>code<> x" },
    { "``a ` b``", "<;36>a ` b<>" },
    { "`` ` ``", "<;36>`<>" },
    { "**a `*` b**", "<;1>a <;1;36>*<;1> b<>" },
    { "~~gone~~", "<;9>gone<>" },
    { "[text](https://x.org) y", "<;4>text<;2> (https://x.org)<> y" },
    { "[https://x.org](https://x.org)", "<;4>https://x.org<>" },
    { "[**b**](u \"title\")", "<;1;4>b<;2> (u)<>" },
    { "[f](a(b)c)", "<;4>f<;2> (a(b)c)<>" },
    { "# Title\ntext", "<;1;4>Title<>\ntext" },
    { "### Small *it*\n", "<;1>Small <;1;3>it<>\n" },
    { "#hash", "#hash" },
    { "####### seven", "####### seven" },
    { "- one\n* two\n  + three\n", "• one\n• two\n  • three\n" },
    { "- **b** c\n", "• <;1>b<> c\n" },
    { "1. one\n2) two\n", "1. one\n2) two\n" },
    { "> said\n", "<;2>│ said<>\n" },
    { ">said", "<;2>│ said<>" },
    { "---\n", "<;2>────────────────────<>\n" },
    { "* * *\n", "<;2>────────────────────<>\n" },
    { "--\n", "--\n" },
    { "```c\nint *a; /* **x** */\n```\nout *i*\n", "  <;36>int *a; /* **x** */<>\nout <;3>i<>\n" },
    { "~~~\n```\n~~~~\nx", "  <;36>```<>\nx" },
    { "````\n```\n````\n", "  <;36>```<>\n" },
    { "```\nopen", "  <;36>open<>" },
    { "```\n\na\n```", "  \n  <;36>a<>\n" },
    { "``` a`b\nx", "``` a`b\nx" },
    /* not marks */
    { "2 * 3 * 4", "2 * 3 * 4" },
    { "*.c and *.h", "*.c and *.h" },
    { "snake_case_name _x", "snake_case_name _x" },
    { "a ** b", "a ** b" },
    { "**open", "**open" },
    { "`open", "`open" },
    { "[x] [y]: z", "[x] [y]: z" },
    { "[x](open", "[x](open" },
    { "a~b ~~ c", "a~b ~~ c" },
    { "*a\nb*", "*a\nb*" },
    { "\\*not\\* \\_ \\q \\", "*not* _ \\q \\" },
    { "****x****", "****x****" },
    { "", "" },
    { "\n\n", "\n\n" },
    { "a\r\nb", "a\nb" },
    /* what would move the cursor */
    { "\033[2Jx\007", "\\u{1b}[2Jx\\u{7}" },
    { "a\xe2\x80\xae" "b\xe2\x80\x8b" "c\xc2\x9b" "d", "a\\u{202e}b\\u{200b}c\\u{9b}d" },
    { "**\033**", "<;1>\\u{1b}<>" },
    { "\302\233m", "\\u{9b}m" },
    { "é **ü** 🎉", "é <;1>ü<> 🎉" },
};

static void test_cases(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Buf out = { 0 };
        render(str_from(cases[i].text), 1000, &out);
        char *got = plain(&out, true);
        if (strcmp(got, cases[i].shown) != 0) fail_msg("\"%s\"\nexpected: %s\ngot:      %s", cases[i].text, cases[i].shown, got);
        free(got);
        buf_clear(&out);
    }
}

/* Every split of every case, and of all of them in a row. */
static void test_pieces(void **state) {
    (void)state;
    Buf all = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) buf_add_fmt(&all, "%s\n", cases[i].text);
    for (size_t i = 0; i <= sizeof cases / sizeof *cases; i++) {
        Str text = i < sizeof cases / sizeof *cases ? str_from(cases[i].text) : buf_str(&all);
        Buf whole = { 0 };
        render(text, text.n + 1, &whole);
        for (size_t piece = 1; piece <= 17 && piece <= text.n; piece++) {
            Buf cut = { 0 };
            render(text, piece, &cut);
            if (!str_eq(buf_str(&whole), buf_str(&cut))) fail_msg("pieces of %zu bytes: \"%.*s\"", piece, STR_ARG(text));
            buf_clear(&cut);
        }
        buf_clear(&whole);
    }
    buf_clear(&all);
}

/* Random texts of marks: same output for any split, no endless loop, every letter is kept, and styles end. */
static void test_random(void **state) {
    (void)state;
    static const char marks[] = "**__``~~[]()# -+>\\kb\n\n 1.\r\033\xc3\xa9\xf0";
    uint64_t seed = 7;
    for (int round = 0; round < 3000; round++) {
        Buf text = { 0 }, whole = { 0 }, cut = { 0 };
        size_t n = 1 + (size_t)(round % 60), letters = 0, shown = 0;
        for (size_t i = 0; i < n; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            char c = marks[(seed >> 33) % (sizeof marks - 1)];
            letters += c == 'k';
            buf_add_char(&text, c);
        }
        bool fenced = str_find(buf_str(&text), STR("```")) >= 0 || str_find(buf_str(&text), STR("~~~")) >= 0;
        render(buf_str(&text), n, &whole);
        render(buf_str(&text), 1, &cut);
        char *bare = plain(&whole, false);
        for (const char *c = bare; *c; c++) shown += *c == 'k';         /* a letter of no escape */
        if (!str_eq(buf_str(&whole), buf_str(&cut))) fail_msg("round %d: \"%s\"", round, text.at);
        bool linked = str_find(buf_str(&text), STR("](")) >= 0;          /* a link with a title, or one equal to its
                                                                          * text, is shown in part */
        if (!fenced && !linked && shown != letters) fail_msg("round %d: %zu of %zu letters: \"%s\"", round, shown, letters, text.at);
        free(bare);
        buf_clear(&text);
        buf_clear(&whole);
        buf_clear(&cut);
    }
}

/* A mark without an end holds back a limited amount of text. */
static void test_hold(void **state) {
    (void)state;
    Markdown m = { 0 };
    Buf out = { 0 };
    markdown_feed(&m, STR("**"), &out);
    for (int i = 0; i < 3 * MARKDOWN_HOLD; i++) markdown_feed(&m, STR("x"), &out);
    assert_true(out.n > 2 * MARKDOWN_HOLD);
    assert_memory_equal(out.at, "**xx", 4);
    markdown_end(&m, &out);
    assert_int_equal(out.n, 3 * MARKDOWN_HOLD + 2);
    markdown_clear(&m);
    buf_clear(&out);
}

/* Text that needs no decision is written at once. */
static void test_at_once(void **state) {
    (void)state;
    Markdown m = { 0 };
    Buf out = { 0 };
    markdown_feed(&m, STR("hello wor"), &out);
    assert_string_equal(out.at, "hello wor");
    markdown_feed(&m, STR(" **b"), &out);
    assert_string_equal(out.at, "hello wor ");
    markdown_feed(&m, STR("** x"), &out);
    assert_string_equal(out.at, "hello wor \033[0;1mb\033[0m x");
    markdown_end(&m, &out);
    markdown_clear(&m);
    buf_clear(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases), cmocka_unit_test(test_pieces), cmocka_unit_test(test_random),
                                        cmocka_unit_test(test_hold), cmocka_unit_test(test_at_once) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
