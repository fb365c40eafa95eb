/* Breaking text at words, tables of Markdown and of listings, and the order of output on the screen. */
#include "unit.h"
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#include "base/random.h"
#include "base/utf8.h"
#include "cli/terminal/markdown.h"
#include "cli/terminal/screen.h"
#include "cli/terminal/table.h"
#include "cli/terminal/width.h"

static void wrap_pieces(Str text, size_t width, bool hard, size_t piece, Buf *out) {
    Wrap w = { .width = width, .hard = hard };
    for (size_t i = 0, n; i < text.n; i += n) {
        n = piece;
        while (i + n < text.n && ((unsigned char)text.at[i + n] & 0xc0) == 0x80) n++;
        wrap_text(&w, str_sub(text, i, i + n), out);
    }
    wrap_flush(&w, out);
    wrap_clear(&w);
    buf_add(out, STR(""));
}

static const struct { size_t width; bool hard; const char *text, *lines; } wrapped[] = {
    { 0, false, "as  it is ", "as  it is " },
    { 10, false, "one two three four", "one two\nthree four" },
    { 7, false, "one two three", "one two\nthree" },
    { 10, false, "a\n\nb\n", "a\n\nb\n" },
    { 14, false, "    indented text", "    indented\n    text" },
    { 12, false, "  in text more", "  in text\n  more" },
    { 12, false, "• item that hangs", "• item that\n  hangs" },
    { 12, false, "12. item that hangs", "12. item\n    that\n    hangs" },
    { 10, false, "│ said in a quote", "│ said in\n│ a quote" },
    { 8, false, "unbreakable", "unbreakable" },
    { 8, false, "x unbreakable y", "x\nunbreakable y" },
    { 8, true, "unbreakable", "unbreaka\nble" },
    { 8, true, "ab unbreakable", "ab\nunbreaka\nble" },
    { 6, false, "日本語文", "日本語\n文" },
    { 5, false, "日本語文", "日本\n語文" },
    { 6, false, "ab日本語", "ab日本\n語" },
    { 9, false, "⚠️ ⚠️ ⚠️", "⚠️ ⚠️ ⚠️" },
    { 6, false, "⚠️ ⚠️ ⚠️", "⚠️ ⚠️\n⚠️" },
};

static void test_wrap(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof wrapped / sizeof *wrapped; i++)
        for (size_t piece = 1; piece < 30; piece++) {
            Buf out = { 0 };
            wrap_pieces(str_from(wrapped[i].text), wrapped[i].width, wrapped[i].hard, piece, &out);
            assert_string_equal(out.at, wrapped[i].lines);
            buf_clear(&out);
        }
}

/* No line is wider than the screen, whatever the text is. */
static void test_hard(void **state) {
    (void)state;
    static const char *const bits[] = { "a", "word", " ", "  ", "日本", "\n", "🎉", "unbreakablylong", "-", "\t", "é", "• " };
    for (int round = 0; round < 2000; round++) {
        Buf text = { 0 }, out = { 0 };
        size_t width = 2 + (size_t)random_below(40);
        for (uint64_t n = random_below(40); n--;) buf_add(&text, str_from(bits[random_below(sizeof bits / sizeof *bits)]));
        wrap_pieces(buf_str(&text), width, true, 3, &out);
        for (Str rest = buf_str(&out), line; str_next_line(&rest, &line);)
            if (width_of(line) > width) fail_msg("%zu columns in \"%.*s\" of \"%s\"", width, STR_ARG(line), text.at ? text.at : "");
        buf_clear(&text);
        buf_clear(&out);
    }
}

static void render(Str text, size_t width, size_t piece, Buf *out) {
    Markdown m = { .wrap = { .width = width } };
    Buf raw = { 0 };
    for (size_t i = 0; i < text.n; i += piece) markdown_feed(&m, str_sub(text, i, i + piece), &raw);
    markdown_end(&m, &raw);
    markdown_clear(&m);
    for (size_t i = 0; i < raw.n; i++) {
        if (raw.at[i] == 033) while (raw.at[i] != 'm') i++;
        else buf_add_char(out, raw.at[i]);
    }
    buf_clear(&raw);
    buf_add(out, STR(""));
}

static const struct { size_t width; const char *text, *shown; } tables[] = {
    { 40, "| a | b |\n|---|---|\n| 1 | 2 |\n", "a │ b\n──┼──\n1 │ 2\n" },
    { 40, "| a | b |\n|---|--:|\n| 1 | 22 |\ntext\n", "a │  b\n──┼───\n1 │ 22\ntext\n" },
    { 40, "| a |\n|:-:|\n| middle |\n", "  a\n──────\nmiddle\n" },
    { 40, "| a | b |\n|---|---|\n| only |\n| x \\| y | `z` | more |", "a     │ b\n──────┼──\nonly  │ \nx | y │ z\n" },
    { 12, "| key | value |\n|---|---|\n| k | some long words |\n", "key │ value\n────┼───────\nk   │ some\n    │ long\n    │ words\n" },
    { 10, "| key | value |\n|---|---|\n| k | unbreakablevalue |\n", "key: k\n  value:\n  unbreaka\n  blevalue\n" },
    { 40, "| no table |\nafter\n", "| no table |\nafter\n" },
    { 40, "| a | b |\n| - |\n", "| a | b |\n| - |\n" },
    { 40, "```\n| a |\n|---|\n```\n", "  | a |\n  |---|\n" },
};

static void test_tables(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (size_t piece = 1; piece < 60; piece += 7) {
            Buf out = { 0 };
            render(str_from(tables[i].text), tables[i].width, piece, &out);
            assert_string_equal(out.at, tables[i].shown);
            buf_clear(&out);
        }
}

static void list(size_t fit, const char *shown) {
    Table t = { .columns = 3 };
    Buf out = { 0 };
    static const char *const cells[] = { "read", "builtin", "reads a file, or a part of it", "名前", "x", "short" };
    for (size_t i = 0; i < 6; i++) table_add(&t, str_from(cells[i]));
    table_write_fit(&t, &out, 1, false, fit);
    assert_string_equal(out.at, shown);
    buf_clear(&out);
}

static void test_listing(void **state) {
    (void)state;
    list(0, " read  builtin  reads a file, or a part of it\n 名前  x        short\n");
    list(44, " read  builtin  reads a file, or a part of\n                it\n 名前  x        short\n");
    list(30, " read  builtin\n     reads a file, or a part\n     of it\n 名前  x\n     short\n");
    list(12, " read\n     builtin\n     reads a\n     file,\n     or a\n     part of\n     it\n 名前  x\n     short\n");
}

/* ---- the screen ---- */

static int ends[2];

static void *write_elsewhere(void *text) {
    (void)screen_write(ends[1], str_from(text));
    return NULL;
}

static void elsewhere(const char *text) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, write_elsewhere, (void *)(uintptr_t)text), 0);
    pthread_join(thread, NULL);
}

static void expect(const char *text) {
    char got[256];
    ssize_t n = read(ends[0], got, sizeof got);
    assert_str(((Str){ got, n > 0 ? (size_t)n : 0 }), text);
}

static void test_screen(void **state) {
    (void)state;
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    elsewhere("plain\n");
    expect("plain\n");
    assert_true(screen_hold(NULL));
    assert_true(screen_hold(NULL));                          /* nests */
    elsewhere("waits 1\n");
    elsewhere("waits 2\n");
    (void)screen_write(ends[1], STR("question> "));
    expect("question> ");
    screen_release();
    expect("");
    screen_release();
    expect("waits 1\nwaits 2\n");
    (void)screen_stream(ends[1], STR("half a "));
    elsewhere("message\n");
    expect("half a ");
    (void)screen_stream(ends[1], STR("line\n"));
    expect("line\nmessage\n");
    screen_live(ends[1], STR("live"));
    elsewhere("below\n");
    expect("\r\033[Klive\r\033[Kbelow\n");
    Cancel *cancel = cancel_new(NULL, 0);
    cancel_fire(cancel);
    assert_true(screen_hold(cancel));                        /* no other thread holds it */
    screen_release();
    cancel_free(cancel);
    close(ends[0]);
    close(ends[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_wrap), cmocka_unit_test(test_hard), cmocka_unit_test(test_tables), cmocka_unit_test(test_listing),
                                        cmocka_unit_test(test_screen) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
