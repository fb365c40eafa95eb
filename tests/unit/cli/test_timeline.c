/* The timeline: what a call is about, what came of it, diffs, and texts that fit the terminal. */
#include "unit.h"
#include "cli/terminal/timeline.h"
#include "cli/terminal/width.h"
#include "value/json.h"

/* ---- a call in words ---- */

static const struct { const char *arguments, *about; } abouts[] = {
    { "{\"path\":\"src/sum.c\",\"old_string\":\"a\"}", "src/sum.c" },
    { "{\"content\":\"one\\ntwo\",\"path\":\"new.c\"}", "new.c" },
    { "{\"pattern\":\"assert_eq\",\"path\":\"src/\"}", "\"assert_eq\" src/" },
    { "{\"agent\":\"auditor\",\"task\":\"check the change\"}", "auditor \"check the change\"" },
    { "{\"timeout_ms\":5,\"command\":\"git push\\ndate\"}", "git push …" },
    { "{\"text\":\"hello\",\"n\":1}", "hello" },
    { "{\"path\":3,\"what\":\"else\"}", "else" },
    { "{\"path\":\"a\\u001b[31mb\"}", "a\\u{1b}[31mb" },
    { "{\"n\":1}", "" },
    { "[1]", "" },
    { "{", "" },
};

static void test_about(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof abouts / sizeof *abouts; i++) {
        Buf out = { 0 };
        timeline_about(&out, str_from(abouts[i].arguments));
        buf_add(&out, STR(""));
        assert_string_equal(out.at ? out.at : "", abouts[i].about);
        buf_clear(&out);
    }
}

static const struct { const char *result, *text; } outputs[] = {
    { "\"as it is\\n\"", "as it is\n" },
    { "null", "" },
    { "7", "7" },
    { "{\"stdout\":\"out\\n\",\"stderr\":\"err\\n\",\"exit_code\":1}", "out\nerr\n" },
    { "{\"matches\":[{\"path\":\"a.c\",\"line\":41,\"text\":\"  x\",\"before\":[]}],\"truncated\":false}", "a.c:41:  x\n" },
    { "{\"files\":[\"a\",\"b/\"],\"truncated\":false}", "a\nb/\n" },
    { "{\"entries\":[{\"path\":\"d\",\"type\":\"directory\"},{\"path\":\"f\",\"type\":\"file\"}]}", "d/\nf\n" },
    { "{\"agent\":\"a\",\"status\":\"completed\",\"response\":\"fine\",\"usage\":{\"usd\":0.25}}", "fine" },
    { "{\"path\":\"a.txt\",\"created\":true,\"bytes\":6}", "path: a.txt, created: true, bytes: 6" },
    { "{\"files\":[[1]],\"n\":1}", "{\"files\":[[1]],\"n\":1}" },
    { "{\"text\":\"a\\nb\"}", "{\"text\":\"a\\nb\"}" },
    { "[1,2]", "[1,2]" },
};

static void test_output(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        Heap *h = heap_new(0);
        Buf out = { 0 };
        Value v;
        Error err = { 0 };
        assert_true(json_read(h, str_from(outputs[i].result), NULL, &v, &err));
        timeline_output(&out, v);
        buf_add(&out, STR(""));
        assert_string_equal(out.at ? out.at : "", outputs[i].text);
        buf_clear(&out);
        heap_free(h);
    }
}

static void test_cost(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Value v;
    Error err = { 0 };
    assert_true(json_read(h, STR("{\"response\":\"fine\",\"usage\":{\"usd\":0.25}}"), NULL, &v, &err));
    assert_true(timeline_cost(v) > 0.24 && timeline_cost(v) < 0.26);
    assert_true(timeline_cost(VALUE_NONE) == 0);
    heap_free(h);
}

/* ---- diffs ---- */

static void check_diff(const char *diff, const char *shown) {
    Buf out = { 0 };
    TimelineCall call = { .name = STR("edit"), .about = STR("f"), .verdict = STR("allowed"), .diff = str_from(diff), .elapsed_ns = 1000000 };
    timeline_add_call(&out, &call, &(TimelineStyle){ .width = 40 });
    assert_string_equal(out.at, shown);
    buf_clear(&out);
}

static void test_diff(void **state) {
    (void)state;
    check_diff("--- f\n+++ f\n@@ -9,3 +9,3 @@\n nine\n-ten\n+TEN\n eleven\n", "● edit f\n  allowed · 1.0 ms\n   9  nine\n  10 -ten\n     +TEN\n  11  eleven\n");
    check_diff("--- /dev/null\n+++ f\n@@ -0,0 +1,2 @@\n+one\n+two\n", "● edit f\n  allowed · 1.0 ms\n  +one\n  +two\n");
    check_diff("--- f\n+++ f\n@@ -1,1 +1,1 @@\n-a\n+b\n@@ -7,1 +7,1 @@\n-c\n+d\n", "● edit f\n  allowed · 1.0 ms\n   1 -a\n     +b\n  …\n   7 -c\n     +d\n");
    check_diff("not a diff", "● edit f\n  allowed · 1.0 ms\n  not a diff\n");
    check_diff("@@ -99999999999999999999,1 @@\n-a\n", "● edit f\n  allowed · 1.0 ms\n   999999999 -a\n");
}

/* ---- verdicts ---- */

static void check_verdict(size_t width, const char *shown) {
    Buf out = { 0 };
    TimelineCall call = { .name = STR("bash"), .about = STR("git push"), .verdict = STR("blocked by guard_git"), .file = STR(".harness/hooks/git\033.md"), .failed = true };
    timeline_add_call(&out, &call, &(TimelineStyle){ .width = width });
    assert_string_equal(out.at, shown);
    buf_clear(&out);
}

static void test_file(void **state) {
    (void)state;
    check_verdict(120, "✗ bash git push                                                   blocked by guard_git (.harness/hooks/git\\u{1b}.md)\n");
    check_verdict(80, "✗ bash git push                             blocked by guard_git          0.0 ms\n");
    check_verdict(68, "✗ bash git push\n  blocked by guard_git (.harness/hooks/git\\u{1b}.md) · 0.0 ms\n");
    check_verdict(40, "✗ bash git push\n  blocked by guard_git · 0.0 ms\n");
}

/* ---- a run ---- */

static void take(Timeline *t, const char *type, const char *data) {
    static uint64_t seq;
    seq++;
    assert_true(timeline_take(t, &(Event){ .seq = seq, .time_ns = (int64_t)seq * 1000000, .run = STR("r"), .type = str_from(type), .data = str_from(data) }));
}

static const char long_prompt[] = "{\"text\":\"please tell me about the internationalization committees of this world\\nand 日本語の文章には空白がないので、どの文字の間でも改行できます。改行しても幅を超えません。\"}";
static const char long_answer[] = "{\"text\":\"The quick brown fox jumps over the lazy dog while committees deliberate about it.\\n\\n- an item of a list that goes on below\\n\","
                                  "\"usage\":{}}";

static Buf written(const TimelineStyle *style) {
    Timeline *t = timeline_new();
    Buf out = { 0 };
    take(t, "turn.started", long_prompt);
    take(t, "completion.started", "{\"model\":\"m\",\"context\":3,\"context_max\":100}");
    take(t, "completion.completed", long_answer);
    take(t, "turn.message", "{\"text\":\"a message of harness that is much too long for a narrow terminal\"}");
    timeline_write(t, &out, style);
    timeline_free(t);
    return out;
}

static void test_fits(void **state) {
    (void)state;
    for (size_t width = 20; width <= 130; width += 10)
        for (int color = 0; color < 2; color++) {
            Buf out = written(&(TimelineStyle){ .width = width, .color = color, .breaks = true });
            Str rest = buf_str(&out), line;
            while (str_next_line(&rest, &line)) {
                Buf plain = { 0 };
                for (size_t i = 0; i < line.n; i++) {
                    if (line.at[i] == 033) while (i < line.n && line.at[i] != 'm') i++;
                    else buf_add_char(&plain, line.at[i]);
                }
                assert_true(width_of(buf_str(&plain)) <= width);
                buf_clear(&plain);
            }
            buf_clear(&out);
        }
    Buf out = written(&(TimelineStyle){ .width = 40, .breaks = true });
    assert_non_null(strstr(out.at, "> please tell me about the\n  internationalization committees of\n  this world\n"));
    assert_non_null(strstr(out.at, "The quick brown fox jumps over the lazy\ndog while committees deliberate about\nit.\n\n- an item of a list that goes on below\n"));
    assert_non_null(strstr(out.at, "! a message of harness that is much too\n  long for a narrow terminal\n"));
    buf_clear(&out);
    out = written(&(TimelineStyle){ .width = 40 });          /* a pipe: texts stay as they are */
    assert_non_null(strstr(out.at, "The quick brown fox jumps over the lazy dog while committees deliberate about it.\n"));
    buf_clear(&out);
}

static void test_markdown(void **state) {
    (void)state;
    Timeline *t = timeline_new();
    Buf out = { 0 };
    take(t, "turn.started", "{\"text\":\"x\"}");
    take(t, "completion.completed", "{\"text\":\"**bold** \\u001b[31m\\n\\n| a | b |\\n|---|---|\\n| 1 | 2 |\\n\"}");
    timeline_write(t, &out, &(TimelineStyle){ .width = 40, .color = true, .breaks = true });
    assert_non_null(strstr(out.at, "1mbold"));
    assert_non_null(strstr(out.at, "│"));
    assert_null(strstr(out.at, "\033[31m"));
    timeline_free(t);
    buf_clear(&out);
}

static void test_open(void **state) {
    (void)state;
    Timeline *t = timeline_new();
    Buf out = { 0 };
    take(t, "turn.started", "{\"text\":\"go\"}");
    take(t, "completion.started", "{\"model\":\"m\",\"context\":3,\"context_max\":1000}");
    take(t, "tool.started", "{\"id\":\"1\",\"name\":\"edit\",\"args\":{\"path\":\"f\"}}");
    take(t, "approval.asked", "{\"id\":\"1\",\"name\":\"edit\",\"reason\":\"mutating\"}");
    timeline_write(t, &out, &(TimelineStyle){ .width = 80 });
    assert_string_equal(out.at, "> go                                                         m · <1 % of context\n… edit f                                    waits for an answer\n");
    out.n = 0;
    take(t, "tool.completed", "{\"id\":\"1\",\"name\":\"edit\",\"value\":\"ok\",\"elapsed_ms\":2.0}");
    timeline_write(t, &out, &(TimelineStyle){ .width = 40 });
    buf_add(&out, STR(""));
    assert_non_null(strstr(out.at, "● edit f\n  allowed · 2.0 ms\n  ok\n"));
    timeline_free(t);
    buf_clear(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_about), cmocka_unit_test(test_output), cmocka_unit_test(test_cost), cmocka_unit_test(test_diff),
                                        cmocka_unit_test(test_file),
                                        cmocka_unit_test(test_fits), cmocka_unit_test(test_markdown), cmocka_unit_test(test_open) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
