#include "unit.h"
#include "mcp/host/input.h"
#include "mcp/host/input_state.h"
#include "value/json.h"

static Value read(Heap *h, const char *text) {
    Value v;
    Error err = { 0 };
    assert_true(json_read(h, str_from(text), &(JsonRead){ 0 }, &v, &err));
    return v;
}

/* ---- requestState ---- */

static const uint8_t key[INPUT_KEY_BYTES] = "one key", other[INPUT_KEY_BYTES] = "another key";

static bool opens(const uint8_t *with, Str state, const char *method, Value params) {
    InputId id;
    Error err = { 0 };
    bool ok = input_state_read(with, state, str_from(method), params, &id, &err);
    assert_int_equal(err.kind, ERR_NONE);
    return ok;
}

static void test_state(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Error err = { 0 };
    Buf text = { 0 };
    InputId id = { "sixteen bytes.." }, back;
    Value params = read(h, "{\"name\":\"x\",\"arguments\":{\"a\":1,\"b\":2}}");
    assert_true(input_state_write(key, &id, STR("tools/call"), params, &text, &err));
    Str sealed = buf_str(&text);
    assert_true(input_state_read(key, sealed, STR("tools/call"), params, &back, &err));
    assert_memory_equal(&id, &back, sizeof id);
    /* Members added by a retry are not part of it, nor is the order of members. */
    assert_true(opens(key, sealed, "tools/call",
        read(h, "{\"_meta\":{\"x\":1},\"arguments\":{\"b\":2,\"a\":1},\"name\":\"x\",\"inputResponses\":{},\"requestState\":\"s\"}")));
    assert_false(opens(key, sealed, "tools/call", read(h, "{\"name\":\"x\",\"arguments\":{\"a\":1,\"b\":3}}")));
    assert_false(opens(key, sealed, "tools/call", read(h, "{\"name\":\"x\",\"arguments\":{\"a\":1,\"b\":2},\"more\":1}")));
    assert_false(opens(key, sealed, "prompts/get", params));
    assert_false(opens(other, sealed, "tools/call", params));
    assert_false(opens(key, STR(""), "tools/call", params));
    assert_false(opens(key, str_sub(sealed, 0, sealed.n - 1), "tools/call", params));
    for (size_t i = 0; i < sealed.n; i++) {              /* no character of it can be changed */
        text.at[i] ^= 1;
        assert_false(opens(key, sealed, "tools/call", params));
        text.at[i] ^= 1;
    }
    buf_add(&text, STR("-TAMPERED"));
    assert_false(opens(key, buf_str(&text), "tools/call", params));
    buf_clear(&text);
    heap_free(h);
}

/* ---- answers ---- */

#define FORM "{\"message\":\"?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}}"
static const struct { InputKind kind; const char *answer, *why; } answers[] = {
    { INPUT_ELICIT, "{\"action\":\"accept\",\"content\":{\"n\":1}}", "" },
    { INPUT_ELICIT, "{\"action\":\"accept\",\"content\":{\"n\":1,\"more\":2},\"_meta\":{}}", "" },
    { INPUT_ELICIT, "{\"action\":\"decline\"}", "" },
    { INPUT_ELICIT, "{\"action\":\"cancel\",\"content\":{\"n\":\"x\"}}", "" },
    { INPUT_ELICIT, "{\"action\":\"accept\"}", "content must be an object when the action is accept" },
    { INPUT_ELICIT, "{\"action\":\"accept\",\"content\":{}}", "content: " },
    { INPUT_ELICIT, "{\"action\":\"accept\",\"content\":{\"n\":\"1\"}}", "content/n: " },
    { INPUT_ELICIT, "{\"action\":\"yes\"}", "action must be accept, decline or cancel" },
    { INPUT_ELICIT, "{}", "action must be accept, decline or cancel" },
    { INPUT_ELICIT, "12345", "an answer must be an object" },
    { INPUT_SAMPLE, "{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"hi\"},\"model\":\"m\"}", "" },
    { INPUT_SAMPLE, "{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}", "" },
    { INPUT_SAMPLE, "{\"content\":{\"type\":\"image\",\"data\":\"\"}}", "content must be a string" },
    { INPUT_SAMPLE, "{\"content\":[]}", "content must be a string" },
    { INPUT_ROOTS, "{\"roots\":[]}", "" },
    { INPUT_ROOTS, "{\"roots\":[{\"uri\":\"file:///a\"}]}", "" },
    { INPUT_ROOTS, "{\"roots\":[{\"name\":\"a\"}]}", "roots[0] must have a uri" },
    { INPUT_ROOTS, "{\"roots\":{}}", "roots must be a list" },
};

static void test_answers(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        Heap *h = heap_new(0);
        Error err = { 0 };
        InputAsk ask = { .kind = answers[i].kind, .params = read(h, answers[i].kind == INPUT_ELICIT ? FORM : "{}") };
        bool ok = input_fits(&ask, read(h, answers[i].answer), &err);
        assert_int_equal(ok, answers[i].why[0] == 0);
        if (!ok) assert_non_null(strstr(err.msg, answers[i].why));
        if (!ok) assert_int_equal(err.kind, ERR_PROTOCOL);
        heap_free(h);
    }
}

static const struct { const char *client; McpVersion version; InputKind kind; bool offered; } offers[] = {
    { "{}", MCP_2026_07_28, INPUT_ELICIT, false },
    { "{\"elicitation\":{}}", MCP_2026_07_28, INPUT_ELICIT, true },
    { "{\"elicitation\":{}}", MCP_2025_03_26, INPUT_ELICIT, false },
    { "{\"elicitation\":{\"form\":{},\"url\":{}}}", MCP_2025_11_25, INPUT_ELICIT, true },
    { "{\"elicitation\":{\"url\":{}}}", MCP_2025_11_25, INPUT_ELICIT, false },
    { "{\"elicitation\":true}", MCP_2025_11_25, INPUT_ELICIT, false },
    { "{\"sampling\":{}}", MCP_2024_11_05, INPUT_SAMPLE, true },
    { "{\"roots\":{\"listChanged\":true}}", MCP_2024_11_05, INPUT_ROOTS, true },
    { "{\"sampling\":{}}", MCP_2024_11_05, INPUT_ROOTS, false },
};

static void test_offers(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    for (size_t i = 0; i < sizeof offers / sizeof *offers; i++)
        assert_int_equal(input_offered(read(h, offers[i].client), offers[i].version, offers[i].kind), offers[i].offered);
    heap_free(h);
}

static void test_names(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Error err = { 0 };
    unsigned counter = 0;
    InputAsk asks[] = { { .key = STR("input-1") }, { 0 }, { .key = STR("x") }, { 0 } };
    assert_true(input_name(h, asks, 4, &counter, &err));
    assert_true(str_eq(asks[1].key, STR("input-2")) && str_eq(asks[3].key, STR("input-3")) && str_eq(asks[0].key, STR("input-1")));
    heap_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_state), cmocka_unit_test(test_answers), cmocka_unit_test(test_offers),
        cmocka_unit_test(test_names) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
