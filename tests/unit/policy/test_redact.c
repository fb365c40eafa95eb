#include "sink_memory.h"
#include "unit.h"
#include <pthread.h>
#include "base/clock.h"
#include "event/event.h"
#include "policy/redact.h"

static Str redacted(Redactor *r, Str text, bool json, Buf *out) {
    buf_reset(out);
    buf_add(out, text);
    bool would = redact_would(r, text), did = json ? redact_json(r, out) : redact_text(r, out);
    if (!json) assert_int_equal(would, did);
    assert_int_equal(did, !str_eq(text, buf_str(out)));
    return buf_str(out);
}

static void test_values(void **state) {
    (void)state;
    static const struct { const char *secret, *text, *expected; } cases[] = {
        { "hunter2hunter2", "password: hunter2hunter2!", "password: [redacted]!" },
        { "hunter2hunter2", "nothing here", "nothing here" },
        { "hunter2hunter2", "hunter2hunter2hunter2hunter2", "[redacted]" },            /* also overlapping copies */
        { "short", "short is too short", "short is too short" },
        { "secret", "secret", "[redacted]" },
        { "        ", "        indented", "        indented" },
        { "token-with\"quote", "{\"a\":\"token-with\\\"quote\"}", "{\"a\":\"[redacted]\"}" },
        { "p\xc3\xa4ssword", "{\"a\":\"p\\u00e4ssword\"}", "{\"a\":\"[redacted]\"}" },
        { "p\xc3\xa4ssword", "{\"a\":\"p\\u00E4ssword\"}", "{\"a\":\"[redacted]\"}" },
        { "a/b/c/d", "a\\/b\\/c\\/d", "[redacted]" },
        { "k\xf0\x9f\x98\x80" "ey12", "k\\ud83d\\ude00ey12", "[redacted]" },
        { "p@ss w/rd", "?q=p%40ss%20w%2Frd&x", "?q=[redacted]&x" },
        { "p@ss w/rd", "?q=p%40ss%20w%2frd&x", "?q=[redacted]&x" },
        { "p@ss w/rd", "?q=p%40ss+w%2Frd&x", "?q=[redacted]&x" },
        { "p@ss w/rd", "/p%40ss%20w/rd", "/[redacted]" },
        { "secret\n", "a secret b", "a [redacted] b" },
        { "hunter2hunter2", "Basic dXNlcjpodW50ZXIyaHVudGVyMg==", "Basic dXNlcjp[redacted]g==" },   /* user:hunter2hunter2 */
        { "hunter2hunter2", "aHVudGVyMmh1bnRlcjI=", "[redacted]I=" },
        { "hunter2hunter2", "eGh1bnRlcjJodW50ZXIy", "eG[redacted]" },                 /* xhunter2hunter2 */
        { "\xff\xfe\xfd\xfc\xfb\xfa", "//79/Pv6 __79_Pv6", "[redacted] [redacted]" },
        { "hunter2hunter2", "68756e7465723268756e74657232", "[redacted]" },
        { "0123456789abcdef-line1\nfedcba9876543210-line2", " 1\t0123456789abcdef-line1\n 2\tfedcba9876543210-line2\n", " 1\t[redacted]\n 2\t[redacted]\n" },
        /* Not found, as docs/security.md says. */
        { "hunter2hunter2", "2retnuh2retnuh", "2retnuh2retnuh" },
        { "hunter2hunter2", "hunter2 hunter2", "hunter2 hunter2" },
        { "hunter2hunter2", "HUNTER2HUNTER2", "HUNTER2HUNTER2" },
        { "hunter2hunter2", "68 75 6e 74 65 72 32 68 75 6e 74 65 72 32", "68 75 6e 74 65 72 32 68 75 6e 74 65 72 32" },
        { "hunter2hunter2", "NB2W45DFOIZGQ5LOORSXEMQ=", "NB2W45DFOIZGQ5LOORSXEMQ=" },       /* base32 */
    };
    Buf out = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Redactor *r = redact_new();
        assert_true(redact_empty(r));
        redact_add_value(r, str_from(cases[i].secret));
        Str got = redacted(r, str_from(cases[i].text), false, &out);
        if (!str_eq(got, str_from(cases[i].expected)))
            fail_msg("%s in %s\n--- expected %s\n--- got %.*s", cases[i].secret, cases[i].text, cases[i].expected, STR_ARG(got));
        redact_free(r);
    }
    buf_clear(&out);
}

static const struct { const char *text, *shown; } streams[] = {   /* shown: what is released before more input arrives */
    { "nothing here.", "nothing here." },
    { "so hunter2", "so " },
    { "so hunter2hunter2", "so " },                        /* hunter2 may begin another copy */
    { "so hunter2hunter2!", "so [redacted]!" },
    { "hunter2 hunter2", "hunter2 " },
    { "abcdef", "" },                                      /* may become abcdefgh */
    { "abcdefg!", "[redacted]g!" },
    { "-abcdefghijkl.", "-[redacted]." },
    { "-abcdefghijk!", "-[redacted]ijk!" },
    { "\xc3\xa4 p\xc3\xa4ss", "\xc3\xa4 " },
    { "\xf0\x9f\x98\x80 p\xc3\xa4ssword \xc3", "\xf0\x9f\x98\x80 [redacted] \xc3" },
    { "huhunhuntehunter2hunter2hunter2x", "huhunhunte[redacted]x" },
    { "aHVudGVyMmh1bnRlcjI= 68756e7465723268756e74657232 dXNlcjpodW50ZXIyaHVudGVyMg==", "[redacted]I= [redacted] dXNlcjp[redacted]g==" },
};

static Redactor *stream_secrets(void) {
    Redactor *r = redact_new();
    redact_add_value(r, STR("hunter2hunter2"));
    redact_add_value(r, STR("abcdefgh"));
    redact_add_value(r, STR("efghijkl"));
    redact_add_value(r, STR("abcdef"));
    redact_add_value(r, STR("p\xc3\xa4ssword"));
    return r;
}

/* Feeds pieces of `size`, or two of which the first has `size`. The output must always be a prefix of the final
 * result. */
static void feed(Redactor *r, Str text, size_t size, bool twice, Str whole) {
    RedactFeed f = { .r = r };
    Buf out = { 0 };
    for (size_t at = 0, n = size; at < text.n; at += n, n = twice ? text.n : size) {
        redact_feed(&f, str_sub(text, at, at + n), &out);
        assert_true(str_starts(whole, buf_str(&out)));
    }
    redact_feed_end(&f, &out);
    assert_true(str_eq(buf_str(&out), whole));
    redact_feed_end(&f, &out);
    assert_true(str_eq(buf_str(&out), whole));
    buf_clear(&out);
}

static void test_pieces(void **state) {
    (void)state;
    Redactor *r = stream_secrets(), *none = redact_new();
    Buf whole = { 0 }, out = { 0 };
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        Str text = str_from(streams[i].text);
        redacted(r, text, false, &whole);
        for (size_t size = 1; size <= text.n; size++) {
            feed(r, text, size, false, buf_str(&whole));
            feed(r, text, size, true, buf_str(&whole));
            feed(none, text, size, false, text);
        }
        RedactFeed f = { .r = r };
        buf_reset(&out);
        redact_feed(&f, text, &out);
        if (!str_eq(buf_str(&out), str_from(streams[i].shown))) fail_msg("%s: shown %.*s", streams[i].text, STR_ARG(buf_str(&out)));
        redact_feed_end(&f, &out);
    }
    Error err = { 0 };
    assert_true(redact_add_pattern(r, STR("[0-9]{4}-[0-9]{4}"), &err));
    for (size_t size = 1; size < 40; size++) feed(r, STR("card 1234-5678, hunter2hunter2, 12"), size, false, STR("card [redacted], [redacted], 12"));
    buf_clear(&whole);
    buf_clear(&out);
    redact_free(r);
    redact_free(none);
}

static void test_overlap(void **state) {
    (void)state;
    Redactor *r = redact_new();
    Buf out = { 0 };
    redact_add_value(r, STR("abcdefgh"));
    redact_add_value(r, STR("efghijkl"));
    redact_add_value(r, STR("abcdef"));
    redact_add_value(r, STR("abcdef"));
    assert_str(redacted(r, STR("-abcdefghijkl-abcdef-xefghijkl"), false, &out), "-[redacted]-[redacted]-x[redacted]");
    buf_clear(&out);
    redact_free(r);
}

static void test_patterns(void **state) {
    (void)state;
    Redactor *r = redact_new();
    Buf out = { 0 };
    Error err = { 0 };
    assert_false(redact_add_pattern(r, STR("("), &err));
    assert_true(redact_empty(r));
    assert_true(redact_add_pattern(r, STR("sk-[a-z0-9]+"), &err));
    assert_true(redact_add_pattern(r, STR("\\b\\d{4}-\\d{4}\\b|x*"), &err));          /* an empty match does not count */
    assert_false(redact_empty(r));
    assert_str(redacted(r, STR("key sk-abc123, card 1234-5678, sk-"), false, &out), "key [redacted], card [redacted], sk-");
    assert_str(redacted(r, STR("\xff sk-abc \xfe"), false, &out), "\xef\xbf\xbd [redacted] \xef\xbf\xbd");
    assert_str(redacted(r, STR("\xff plain \xfe"), false, &out), "\xff plain \xfe");
    assert_str(redacted(r, STR(""), false, &out), "");
    buf_clear(&out);
    redact_free(r);
}

/* If a pattern search cannot be completed, the text must be withheld. */
static void test_fails_closed(void **state) {
    (void)state;
    Redactor *r = redact_new();
    Buf text = { 0 }, json = { 0 };
    assert_true(redact_add_pattern(r, STR("(a|aa|a?a)+(b|c)\\1$"), NULL));
    for (int i = 0; i < 5000; i++) buf_add_char(&text, 'a');
    buf_add_fmt(&json, "{\"x\":\"%s\",\"y\":1}", text.at);
    assert_true(redact_text(r, &text));
    assert_str(buf_str(&text), "[redacted]");
    assert_true(redact_json(r, &json));
    assert_null(memmem(json.at, json.n, "aaa", 3));
    buf_clear(&text);
    buf_clear(&json);
    redact_free(r);
}

static void test_json(void **state) {
    (void)state;
    static const struct { const char *text, *expected; } cases[] = {
        { "{\"a\":\"\\u0073ecret-1 \\n\"}", "{\"a\":\"[redacted] \\n\"}" },           /* escapes hide nothing */
        { "{\"secret-1\":[\"x\", \"y\"]}", "{\"[redacted]\":[\"x\", \"y\"]}" },
        { "{\"pin\":-1234567.0, \"n\":123}", "{\"pin\":\"-[redacted].0\", \"n\":123}" },
        { "[\"pw=abc\"]", "[\"[redacted]\"]" },
        { "{\"pw=\":\"abc\"}", "{\"pw=\":\"abc\"}" },
        { "{\"a\":{\"token\":\"t\"}}", "{\"a\":{[redacted]}}" },
        { "{\"odd", "{\"odd" },
        { "\"", "\"" },
        { "plain secret-1", "plain [redacted]" },
        { "{\"half\":\"secret-1", "\"[redacted]\"" },
    };
    Redactor *r = redact_new();
    Buf out = { 0 };
    redact_add_value(r, STR("secret-1"));
    redact_add_value(r, STR("1234567"));
    assert_true(redact_add_pattern(r, STR("pw=\\w+"), NULL));
    assert_true(redact_add_pattern(r, STR("\"token\":\"[^\"]*\""), NULL));           /* written for the JSON text itself */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Str got = redacted(r, str_from(cases[i].text), true, &out);
        Str expected = i == 5 ? STR("\"[redacted]\"") : str_from(cases[i].expected);     /* not JSON any more: the whole text is replaced */
        if (!str_eq(got, expected)) fail_msg("%s\n--- expected %.*s\n--- got %.*s", cases[i].text, STR_ARG(expected), STR_ARG(got));
    }
    buf_clear(&out);
    redact_free(r);
}

static void see(void *ctx, const Event *e) {
    buf_add(ctx, e->type);
    buf_add_char(ctx, ' ');
    buf_add(ctx, e->data);
    buf_add_char(ctx, '\n');
}

static void test_events(void **state) {
    (void)state;
    Redactor *r = redact_new();
    EventStream *s = event_stream_new(STR("r"));
    EventMemory *m = event_memory_new(1 << 16);
    Buf seen = { 0 };
    event_stream_add(s, event_sink_memory(m));
    event_stream_redact(s, redact_stream, r);
    EventPlace top = { 0 };
    assert_true(event_emit(s, top, EVENT_LOG, STR("{\"message\":\"secret-1\"}"), NULL));
    redact_add_value(r, STR("secret-1"));
    assert_true(event_emit(s, top, EVENT_LOG, STR("{\"message\":\"secret-1\"}"), NULL));
    assert_true(event_emit_custom(s, top, STR("custom.secret-1"), (Str){ 0 }, NULL));
    assert_true(redact_add_pattern(r, STR("\\{.*"), NULL));
    assert_true(event_emit(s, top, EVENT_LOG, STR("{\"message\":\"x\"}"), NULL));
    event_memory_each(m, see, &seen);
    assert_str(buf_str(&seen), "log {\"message\":\"secret-1\"}\nlog {\"message\":\"[redacted]\"}\ncustom.[redacted] {}\nlog {\"redacted\":true}\n");
    buf_clear(&seen);
    event_stream_free(s);
    event_memory_free(m);
    redact_free(r);
}

static void *use(void *arg) {
    Buf b = { 0 };
    for (int i = 0; i < 300; i++) {
        buf_reset(&b);
        buf_add(&b, STR("{\"a\":\"value-number-7 \\n\"}"));
        redact_json(arg, &b);
    }
    assert_null(strstr(b.at, "number-7"));
    buf_clear(&b);
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    Redactor *r = redact_new();
    pthread_t t[4];
    redact_add_value(r, STR("value-number-7"));
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, use, r);
    for (int i = 0; i < 50; i++) {
        char value[40];
        snprintf(value, sizeof value, "value-number-%d", i);
        redact_add_value(r, str_from(value));
        if (i % 10 == 0) redact_add_pattern(r, STR("[0-9]{12}"), NULL);
    }
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    redact_free(r);
}

static void test_cost(void **state) {
    (void)state;
    Redactor *r = redact_new();
    Buf b = { 0 };
    for (int i = 0; i < 20; i++) {
        char value[60];
        snprintf(value, sizeof value, "secret-%d-abcdefghijklmnop-%d", i, i * 7919);
        redact_add_value(r, str_from(value));
    }
    while (b.n < 1 << 20) buf_add(&b, STR("{\"path\":\"src/main.c\",\"line\":12,\"text\":\"int main(void) { return 0; }\"},"));
    int64_t start = clock_mono_ns();
    assert_false(redact_text(r, &b));
    int64_t ns = clock_mono_ns() - start;
    print_message("1 MiB against 20 secrets: %lld us\n", (long long)ns / 1000);
    buf_clear(&b);
    redact_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values), cmocka_unit_test(test_pieces), cmocka_unit_test(test_overlap), cmocka_unit_test(test_patterns),
            cmocka_unit_test(test_fails_closed),
        cmocka_unit_test(test_json), cmocka_unit_test(test_events), cmocka_unit_test(test_threads), cmocka_unit_test(test_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
