/* The envelope of a call as it is stored, and as the payload of a test. */
#include "unit.h"
#include "guard/kept.h"
#include "value/json.h"

#define CLAUDE "\"session_id\":\"s\",\"transcript_path\":\"/t\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\""

typedef struct Scene { Heap *heap; GuardEnvelope e; Redactor *redactor; Buf out; } Scene;

/* What is stored of an envelope; "": nothing. */
static Str keep(Scene *p, Vendor said, Str text) {
    Error err = { 0 };
    *p = (Scene){ .heap = heap_new(0), .redactor = redact_new() };
    redact_add_value(p->redactor, STR("known-secret"));
    if (!guard_envelope_read(text, said, STR(""), p->heap, &p->e, &err)) fail_msg("%s", err.msg);
    guard_kept_write(&p->e, p->redactor, &p->out);
    return buf_str(&p->out);
}

static Value read_back(Scene *p) {
    Value v = VALUE_GONE;
    assert_true(json_read(p->heap, buf_str(&p->out), NULL, &v, NULL));
    return v;
}

static void scene_clear(Scene *p) {
    buf_clear(&p->out);
    redact_free(p->redactor);
    heap_free(p->heap);
}

static void test_members(void **state) {
    (void)state;
    static const struct { Vendor vendor; const char *text, *kept; bool partial; } cases[] = {
        { VENDOR_CLAUDE, "{" CLAUDE ",\"tool_input\":{\"command\":\"ls\",\"n\":[1,2.5,true,null]},\"cwd\":\"/r\",\"user_email\":\"me@x\",\"prompt\":\"words\",\"permission_mode\":null}",
          "{" CLAUDE ",\"tool_input\":{\"command\":\"ls\",\"n\":[1,2.5,true,null]},\"cwd\":\"/r\"}", false },
        { VENDOR_COPILOT, "{\"sessionId\":\"s\",\"timestamp\":1,\"toolName\":\"bash\",\"toolArgs\":\"{\\\"command\\\":\\\"ls\\\"}\"}",
          "{\"sessionId\":\"s\",\"timestamp\":1,\"toolName\":\"bash\",\"toolArgs\":{\"command\":\"ls\"}}", false },
        { VENDOR_CURSOR, "{\"cursor_version\":\"2\",\"hook_event_name\":\"beforeReadFile\",\"file_path\":\"/r/a\",\"content\":\"of the file\",\"agent_message\":\"x\"}",
          "{\"cursor_version\":\"2\",\"hook_event_name\":\"beforeReadFile\",\"file_path\":\"/r/a\"}", false },
        { VENDOR_CLAUDE, "{" CLAUDE ",\"tool_input\":{\"command\":\"echo known-s\\u0065cret\"}}", "{" CLAUDE ",\"tool_input\":{\"command\":\"echo [redacted]\"}}", true },
        { VENDOR_CLAUDE, "{" CLAUDE ",\"tool_input\":{\"command\":\"curl -H \\\"X: Bearer abcd1234\\\" 'https://u:p@h/?token=1'\"}}",
          "{" CLAUDE ",\"tool_input\":{\"command\":\"curl -H \\\"X: Bearer [redacted]\\\" 'https://[redacted]@h/?token=[redacted]'\"}}", true },
        { VENDOR_CLAUDE, "{" CLAUDE ",\"tool_input\":{\"password\":\"p\",\"api_key\":\"${KEY}\",\"in\":[{\"authToken\":\"x\"}],\"argv\":[\"--token\",\"x\",\"y\"],\"token\":3}}",
          "{" CLAUDE ",\"tool_input\":{\"password\":\"[redacted]\",\"api_key\":\"${KEY}\",\"in\":[{\"authToken\":\"[redacted]\"}],\"argv\":[\"--token\",\"[redacted]\",\"y\"],\"token\":3}}", true },
        { VENDOR_CLAUDE, "{\"session_id\":\"s\",\"transcript_path\":\"/t\",\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":\"words\"}", "", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Scene p;
        assert_str(keep(&p, cases[i].vendor, str_from(cases[i].text)), cases[i].kept);
        if (p.out.n) assert_int_equal(guard_kept_partial(read_back(&p)), cases[i].partial);
        scene_clear(&p);
    }
}

/* `n` texts of `bytes` bytes each. */
static Str keep_large(Scene *p, size_t n, size_t bytes) {
    Buf text = { 0 };
    buf_add(&text, STR("{" CLAUDE ",\"tool_input\":{\"command\":\"ls\",\"l\":[\"\""));
    for (size_t i = 0; i < n; i++) {
        buf_add(&text, STR(",\""));
        for (size_t k = 0; k < bytes; k++) buf_add_char(&text, 'x');
        buf_add_char(&text, '"');
    }
    buf_add(&text, STR("]}}"));
    Str kept = keep(p, VENDOR_CLAUDE, buf_str(&text));
    buf_clear(&text);
    return kept;
}

static void test_bounds(void **state) {
    (void)state;
    Scene p;
    assert_true(keep_large(&p, 1, GUARD_KEPT_TEXT_MAX).n > GUARD_KEPT_TEXT_MAX);
    assert_false(guard_kept_partial(read_back(&p)));
    scene_clear(&p);
    assert_true(str_find(keep_large(&p, 1, GUARD_KEPT_TEXT_MAX + 1), STR("\"sha256:")) > 0);
    assert_true(str_find(buf_str(&p.out), STR(" (4097 bytes)\"")) > 0);
    assert_true(guard_kept_partial(read_back(&p)));
    scene_clear(&p);
    assert_true(keep_large(&p, 7, GUARD_KEPT_TEXT_MAX).n <= GUARD_KEPT_MAX && p.out.n > 0);
    scene_clear(&p);
    assert_int_equal(keep_large(&p, 8, GUARD_KEPT_TEXT_MAX).n, 0);
    scene_clear(&p);
}

static void test_portable(void **state) {
    (void)state;
    static const struct { const char *kept, *test; } cases[] = {
        { "{\"cwd\":\"/srv/p\",\"workspace_roots\":[\"/srv/p\"],\"tool_input\":{\"path\":\"/srv/p/a/b\",\"dir\":\"/srv/p\",\"other\":\"/srv/px/a\",\"rel\":\"c\"}}",
          "{\"tool_input\":{\"path\":\"a/b\",\"dir\":\".\",\"other\":\"/srv/px/a\",\"rel\":\"c\"}}" },
        { "{\"cwd\":\"/srv/p/x/y\",\"args\":{\"path\":\"/srv/p/a\",\"dir\":\"/srv/p\",\"rel\":\"c\"}}", "{\"cwd\":\"x/y\",\"args\":{\"path\":\"../../a\",\"dir\":\"../..\",\"rel\":\"c\"}}" },
        { "{\"cwd\":\"/tmp\",\"args\":{\"path\":\"/srv/p/a\"}}", "{\"cwd\":\"/tmp\",\"args\":{\"path\":\"/srv/p/a\"}}" },
        { "{\"args\":{\"path\":\"/srv/p/a\",\"command\":\"cat /srv/p/a\",\"content\":\"/srv/p/a\\nb\"}}", "{\"args\":{\"path\":\"a\",\"command\":\"cat /srv/p/a\",\"content\":\"/srv/p/a\\nb\"}}" },
        { "{}", "{}" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Heap *heap = heap_new(0);
        Buf out = { 0 };
        Value v = VALUE_GONE;
        assert_true(json_read(heap, str_from(cases[i].kept), NULL, &v, NULL));
        guard_kept_portable(v, STR("/srv/p"), &out);
        assert_str(buf_str(&out), cases[i].test);
        buf_clear(&out);
        heap_free(heap);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_members), cmocka_unit_test(test_bounds), cmocka_unit_test(test_portable) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
