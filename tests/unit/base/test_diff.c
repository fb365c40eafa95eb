#include "unit.h"
#include <unistd.h>
#include "base/diff.h"

static void shows_changes(void **state) {
    (void)state;
    static const struct { const char *a, *b, *diff; } cases[] = {
        { "", "", "" },
        { "a\n", "a\n", "" },
        { "", "a\n", "@@ -0,0 +1 @@\n+a\n" },
        { "a\n", "", "@@ -1 +0,0 @@\n-a\n" },
        { "a\nb\n", "a\nc\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n" },
        { "a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n" },
        { "a\nb", "a\nc", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n" },
        { "x\na", "y\na", "@@ -1,2 +1,2 @@\n-x\n+y\n a\n\\ No newline at end of file\n" },
        { "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n" },
        { "a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n", "@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n" },
        { "a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n", "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n" },
        { "a\r\nb\n", "a\nb\n", "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Buf out = { 0 };
        diff_unified(str_from(cases[i].a), str_from(cases[i].b), NULL, &out);
        assert_str(buf_str(&out), cases[i].diff);
        buf_clear(&out);
    }
}

static void has_style(void **state) {
    (void)state;
    Buf out = { 0 };
    diff_unified(STR("a\nb\nc\n"), STR("a\nB\nc\n"), &(DiffStyle){ "old", "new", 0 }, &out);
    assert_str(buf_str(&out), "--- old\n+++ new\n@@ -2 +2 @@\n-b\n+B\n");
    buf_clear(&out);
    diff_unified((Str){ NULL, 0 }, STR("a"), &(DiffStyle){ "old", "new", 9 }, &out);
    assert_str(buf_str(&out), "--- old\n+++ new\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n");
    buf_clear(&out);
}

/* ---- random texts: the diff turns a into b ---- */

static uint32_t next_random(uint32_t *seed) { return *seed = *seed * 1664525u + 1013904223u, *seed >> 8; }

static void add_random_line(Buf *b, uint32_t *seed, uint32_t kinds) { buf_add_fmt(b, "line %u\n", next_random(seed) % kinds); }

static void change(Str a, Buf *b, uint32_t *seed, uint32_t kinds, uint32_t rate) {
    Str line;
    while (str_next_line(&a, &line)) {
        uint32_t what = next_random(seed) % rate;
        if (what == 0) continue;
        if (what == 1) add_random_line(b, seed, kinds);
        buf_add(b, line);
        buf_add_char(b, '\n');
    }
    if (b->n && next_random(seed) % 3 == 0) b->n--;
}

static Str take_line(Str *rest) {
    const char *end = rest->n ? memchr(rest->at, '\n', rest->n) : NULL;
    Str line = str_sub(*rest, 0, end ? (size_t)(end - rest->at) + 1 : rest->n);
    *rest = str_sub(*rest, line.n, rest->n);
    return line;
}

/* Applies a diff like patch, strictly: every line it names must match. */
static void apply(Str a, Str diff, Buf *out) {
    size_t at = 0;
    while (diff.n) {
        Str head = take_line(&diff);
        size_t from = 0, count = 1, used = 0;
        char *text = str_dup(head);
        assert_int_equal(strncmp(text, "@@ -", 4), 0);
        char *next;
        from = strtoul(text + 4, &next, 10);
        if (*next == ',') count = strtoul(next + 1, NULL, 10);
        free(text);
        size_t goal = count ? from - 1 : from;
        for (; at < goal; at++) buf_add(out, take_line(&a));
        while (diff.n && diff.at[0] != '@') {
            Str line = take_line(&diff);
            if (str_starts(diff, STR("\\"))) take_line(&diff), line.n--;
            if (line.at[0] != '+') {
                Str there = take_line(&a);
                assert_true(str_eq(there, str_sub(line, 1, line.n)));
                at++, used++;
            }
            if (line.at[0] != '-') buf_add(out, str_sub(line, 1, line.n));
        }
        assert_int_equal(used, count);
    }
    buf_add(out, a);
}

static void check(Str a, Str b) {
    Buf diff = { 0 }, got = { 0 };
    diff_unified(a, b, NULL, &diff);
    apply(a, buf_str(&diff), &got);
    assert_true(str_eq(buf_str(&got), b));
    buf_clear(&diff);
    buf_clear(&got);
}

static void turns_one_into_the_other(void **state) {
    (void)state;
    uint32_t seed = 7;
    for (int round = 0; round < 400; round++) {
        Buf a = { 0 }, b = { 0 };
        uint32_t kinds = 1 + next_random(&seed) % 60;
        for (uint32_t n = next_random(&seed) % 120; n > 0; n--) add_random_line(&a, &seed, kinds);
        if (a.n && next_random(&seed) % 3 == 0) a.n--;
        change(buf_str(&a), &b, &seed, kinds, 2 + next_random(&seed) % 20);
        check(buf_str(&a), buf_str(&b));
        buf_clear(&a);
        buf_clear(&b);
    }
}

/* More changes than the search limit: split at unique lines, or replaced as a whole. */
static void copes_with_large_texts(void **state) {
    (void)state;
    uint32_t seed = 3;
    for (uint32_t kinds = 2; kinds <= 2000000; kinds *= 1000) {
        Buf a = { 0 }, b = { 0 };
        for (uint32_t n = 20000; n > 0; n--) add_random_line(&a, &seed, kinds);
        change(buf_str(&a), &b, &seed, kinds, 4);
        check(buf_str(&a), buf_str(&b));
        buf_clear(&a);
        buf_clear(&b);
    }
}

/* As many changed lines as diff(1) finds with --minimal, on small texts. */
static size_t count_changes(Str diff) {
    size_t n = 0;
    while (diff.n) {
        Str line = take_line(&diff);
        n += (line.at[0] == '+' || line.at[0] == '-') && !str_starts(line, STR("+++ ")) && !str_starts(line, STR("--- "));
    }
    return n;
}

static void is_as_short_as_the_peer(void **state) {
    (void)state;
#ifndef HARNESS_HOSTILE
    uint32_t seed = 11;
    char dir[] = "/tmp/test-diff-XXXXXX", command[256], path[64];
    assert_non_null(mkdtemp(dir));
    for (int round = 0; round < 40; round++) {
        Buf text[2] = { 0 }, ours = { 0 }, peer = { 0 };
        for (uint32_t n = next_random(&seed) % 60; n > 0; n--) add_random_line(&text[0], &seed, 20);
        change(buf_str(&text[0]), &text[1], &seed, 20, 6);
        for (int i = 0; i < 2; i++) {
            snprintf(path, sizeof path, "%s/%d", dir, i);
            FILE *f = fopen(path, "w");
            fwrite(buf_str(&text[i]).at, 1, text[i].n, f);
            fclose(f);
        }
        snprintf(command, sizeof command, "diff --minimal -u %s/0 %s/1", dir, dir);
        FILE *f = popen(command, "r");
        assert_non_null(f);
        for (size_t n; (n = fread(buf_room(&peer, 4096), 1, 4096, f)) > 0;) buf_commit(&peer, n);
        pclose(f);
        diff_unified(buf_str(&text[0]), buf_str(&text[1]), NULL, &ours);
        assert_int_equal(count_changes(buf_str(&ours)), count_changes(buf_str(&peer)));
        for (int i = 0; i < 2; i++) buf_clear(&text[i]);
        buf_clear(&ours);
        buf_clear(&peer);
    }
    for (int i = 0; i < 2; i++) snprintf(path, sizeof path, "%s/%d", dir, i), unlink(path);
    rmdir(dir);
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_changes), cmocka_unit_test(has_style), cmocka_unit_test(turns_one_into_the_other),
        cmocka_unit_test(copes_with_large_texts), cmocka_unit_test(is_as_short_as_the_peer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
