/* Parses streamed replies: the result must not depend on how the stream is split. */
#include "model/fake_client.h"
#include "unit.h"
#include "value/json.h"

#define D(json) "data: " json "\n\n"
#define TEXT(t) D("{\"choices\":[{\"delta\":{\"content\":\"" t "\"}}]}")
#define CALL(i, rest) D("{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":" #i "," rest "}]}}]}")
#define END(why) D("{\"choices\":[{\"delta\":{},\"finish_reason\":\"" why "\"}]}") D("[DONE]")
#define START(i, block) "event: content_block_start\n" D("{\"type\":\"content_block_start\",\"index\":" #i ",\"content_block\":" block "}")
#define DELTA(i, delta) D("{\"type\":\"content_block_delta\",\"index\":" #i ",\"delta\":" delta "}")
#define STOP(why) D("{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" why "\"}}") D("{\"type\":\"message_stop\"}")

#define EVENT(type, rest) D("{\"type\":\"response." type "\"," rest "}")
#define COMPLETED EVENT("completed", "\"response\":{\"status\":\"completed\"}")

/* expected: TEXT | FINISH | name arguments; … — or ! and part of the error. Ids of calls are checked separately. */
static const struct { const char *provider, *stream, *expected; } cases[] = {
    { "openai", TEXT("a") TEXT("b") END("stop"), "ab|stop|" },
    { "openai", TEXT("caf\xc3\xa9 \xf0\x9f\x8e\x89") END("stop"), "caf\xc3\xa9 \xf0\x9f\x8e\x89|stop|" },
    { "openai", TEXT("\\ud83c") TEXT("\\udf89") END("stop"), "\xf0\x9f\x8e\x89|stop|" },
    { "openai", TEXT("\\udf89x\\\\ud83c") END("stop"), "\xef\xbf\xbdx\\ud83c|stop|" },
    { "openai", TEXT("a") END("length"), "a|length|" },
    { "openai", CALL(0, "\"id\":\"i\",\"function\":{\"name\":\"t\",\"arguments\":\"{}\"}") END("tool_calls"), "|tool_calls|t {};" },
    { "openai", CALL(0, "\"function\":{\"name\":\"t\"}") END("tool_calls"), "|tool_calls|t ;" },
    { "openai", CALL(0, "\"function\":{\"name\":\"t\",\"arguments\":{}}") END("tool_calls"), "|tool_calls|t {};" },
    { "openai", CALL(0, "\"function\":{\"name\":\"t\"}") END("length"), "|length|t {;" },
    { "openai", CALL(1, "\"function\":{\"name\":\"b\",\"arguments\":\"1\"}") CALL(0, "\"function\":{\"name\":\"a\"}") CALL(1,
        "\"function\":{\"arguments\":\"2\"}") END("function_call"), "|tool_calls|b 12;a ;" },
    { "openai", CALL(0, "\"function\":{\"arguments\":\"1\"}") END("tool_calls"), "!the reply has a tool call without a name" },
    { "openai", "{\"choices\":[{\"message\":{\"content\":\"whole\"},\"finish_reason\":\"stop\"}]}", "whole|stop|" },
    { "openai", " \n {\"choices\":[{\"message\":{\"content\":\"whole\"},\"finish_reason\":\"stop\"}]}", "whole|stop|" },
    { "openai", "\f\f\f\f{\"choices\":[{\"message\":{\"content\":\"whole\"},\"finish_reason\":\"stop\"}]}", "whole|stop|" },
    { "openai", "          " TEXT("a") TEXT("b") END("stop"), "ab|stop|" },
    { "openai", "\n\r\n\xEF\xBB\xBF" TEXT("a") TEXT("b") END("stop"), "ab|stop|" },
    { "openai", "", "!openai: the stream ended" },
    { "openai", TEXT("a"), "!openai: the stream ended" },
    { "openai", "data: nonsense\n\n", "!openai sent data that is not a JSON object: nonsense" },
    { "openai", "data: [1]\n\n", "!openai sent data that is not a JSON object" },
    { "openai", TEXT("a") D("{\"error\":{\"message\":\"sorry\"}}"), "!openai: sorry" },
    { "openai", TEXT("a") D("{\"error\":\"sorry\"}"), "!openai: sorry" },
    { "openai", TEXT("a") END("content_filter"), "!the provider's content filter" },
    { "responses", EVENT("output_text.delta", "\"delta\":\"a\"") EVENT("output_text.delta", "\"delta\":\"b\"") COMPLETED, "ab|stop|" },
    { "responses", EVENT("output_item.added", "\"output_index\":0,\"item\":{\"type\":\"function_call\",\"call_id\":\"i\",\"name\":\"t\"}")
          EVENT("function_call_arguments.delta", "\"output_index\":0,\"delta\":\"{\"") EVENT("function_call_arguments.delta",
              "\"output_index\":0,\"delta\":\"}\"") COMPLETED,
      "|tool_calls|t {};" },
    { "responses", EVENT("output_item.done",
        "\"output_index\":0,\"item\":{\"type\":\"function_call\",\"call_id\":\"i\",\"name\":\"t\",\"arguments\":\"{}\"}") COMPLETED,
      "|tool_calls|t {};" },
    { "responses", EVENT("output_text.delta", "\"delta\":\"a\""), "!openai: the stream ended" },
    { "responses", EVENT("failed", "\"response\":{\"status\":\"failed\",\"error\":{\"message\":\"sorry\"}}"), "!openai: sorry" },
    { "responses", D("{\"type\":\"error\",\"message\":\"sorry\"}"), "!openai: sorry" },
    { "responses", "{\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"whole\"}]}]}", "whole|stop|" },
    { "anthropic", START(0, "{\"type\":\"text\",\"text\":\"a\"}") DELTA(0, "{\"type\":\"text_delta\",\"text\":\"b\"}") STOP("end_turn"), "ab|stop|" },
    { "anthropic", START(0, "{\"type\":\"tool_use\",\"id\":\"i\",\"name\":\"t\",\"input\":{}}") DELTA(0,
        "{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":\"}")
                   DELTA(0, "{\"type\":\"input_json_delta\",\"partial_json\":\"1}\"}") STOP("tool_use"), "|tool_calls|t {\"a\":1};" },
    { "anthropic", START(0, "{\"type\":\"tool_use\",\"id\":\"i\",\"name\":\"t\",\"input\":{}}") STOP("tool_use"), "|tool_calls|t {};" },
    { "anthropic", START(0, "{\"type\":\"tool_use\",\"id\":\"i\",\"name\":\"t\"}") STOP("tool_use"), "|tool_calls|t ;" },
    { "anthropic", START(0, "{\"type\":\"tool_use\",\"id\":\"i\",\"name\":\"t\",\"input\":{\"a\":1}}") STOP("tool_use"), "|tool_calls|t {\"a\":1};" },
    { "anthropic", DELTA(3, "{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}") STOP("tool_use"), "!the reply has a tool call without a name" },
    { "anthropic", D("{\"type\":\"ping\"}") D("{\"type\":\"from_the_future\"}") STOP("pause"), "|pause|" },
    { "anthropic", D("{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}"), "!anthropic: busy" },
    { "anthropic", START(0, "{\"type\":\"text\",\"text\":\"a\"}"), "!anthropic: the stream ended" },
    { "anthropic", STOP("refusal"), "!the provider's content filter" },
    { "anthropic", "{\"type\":\"message\",\"content\":[{\"type\":\"text\",\"text\":\"whole\"}],\"stop_reason\":\"end_turn\"}", "whole|stop|" },
};

static void describe(const ModelReply *r, Buf *out) {
    const List *calls = value_list(r->tool_calls);
    buf_add_fmt(out, STR_FMT "|%s|", STR_ARG(buf_str(&r->text)), r->finish_reason);
    for (uint32_t i = 0; i < calls->n; i++) {
        Dict *d = value_dict(calls->at[i]);
        buf_add_fmt(out, STR_FMT " " STR_FMT ";", STR_ARG(value_str(*dict_find_str(d, STR("name")))), STR_ARG(value_str(*dict_find_str(d, STR("arguments")))));
        assert_true(value_str(*dict_find_str(d, STR("id"))).n > 0);
    }
}

static void check(size_t i, size_t piece) {
    Heap *h = heap_new(0);
    ModelReply reply = { 0 };
    Error err = { 0 };
    Buf got = { 0 };
    if (fake_complete(str_from(cases[i].provider), str_from(cases[i].stream), piece, h, &reply, &err)) describe(&reply, &got);
    else buf_add_fmt(&got, "!%s", err.msg);
    const char *expected = cases[i].expected;
    bool same = expected[0] == '!' ? str_starts(buf_str(&got), str_from(expected)) : str_eq(buf_str(&got), str_from(expected));
    if (!same) fail_msg("case %zu in pieces of %zu: \"" STR_FMT "\", expected \"%s\"", i, piece, STR_ARG(buf_str(&got)), expected);
    if (expected[0] == '!') assert_int_equal(err.kind, ERR_PROVIDER);
    buf_clear(&got);
    model_reply_clear(&reply);
    heap_free(h);
}

static void test_streams(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece < 40; piece++) check(i, piece);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(i, 1 << 20);
}

static void test_ids(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    ModelReply reply = { 0 };
    Error err = { 0 };
    assert_true(fake_complete(STR("openai"),
        STR(CALL(0, "\"id\":\"same\",\"function\":{\"name\":\"t\"}") CALL(1, "\"id\":\"same\",\"function\":{\"name\":\"t\"}")
                                                     CALL(2, "\"function\":{\"name\":\"t\"}") END("tool_calls")), 1 << 20, h, &reply, &err));
    const List *calls = value_list(reply.tool_calls);
    assert_int_equal(calls->n, 3);
    Str ids[3];
    for (uint32_t i = 0; i < 3; i++) ids[i] = value_str(*dict_find_str(value_dict(calls->at[i]), STR("id")));
    assert_str(ids[0], "same");
    assert_false(str_eq(ids[0], ids[1]) || str_eq(ids[1], ids[2]) || str_eq(ids[0], ids[2]));
    model_reply_clear(&reply);
    heap_free(h);
}

/* A connection lost before the first token may be retried; after it, never. */
static void test_retry(void **state) {
    (void)state;
    static const struct { const char *stream; int status, asked; } rows[] = {
        { "", 0, 3 }, { ": nothing yet\n\n", 0, 3 }, { TEXT("a"), 0, 1 }, { CALL(0, "\"function\":{\"name\":\"t\"}"), 0, 1 },
        { "{}", 500, 3 }, { "{}", 503, 3 }, { "{}", 429, 3 }, { "{}", 408, 3 }, { "{}", 401, 1 }, { "{}", 403, 1 }, { "{}", 404, 1 },
            { "{}", 400, 1 }, { "{}", 302, 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Heap *h = heap_new(0);
        Model *m;
        ModelDef def = { .provider = PROVIDER_OPENAI, .name = STR("m"), .base_url = STR("http://local"), .temperature = VALUE_GONE, .top_p = VALUE_GONE,
                         .headers = VALUE_GONE, .price = VALUE_GONE };
        assert_true(json_read(h, STR("{\"max_attempts\":3,\"initial_backoff_ms\":0}"), NULL, &def.retry, NULL));
        assert_true(model_open(NULL, &def, &(ModelEnv){ 0 }, &m, NULL));
        List *none = list_new(h, 0, NULL);
        ModelReply reply = { 0 };
        Error err = { 0 };
        fake.bytes = str_from(rows[i].stream);
        fake.piece = 100;
        fake.status = rows[i].status;
        fake.lost = true;
        fake.asked = 0;
        assert_false(model_complete(m, &(ModelRequest){ .messages = value_from_object(none), .tools = value_from_object(none) }, NULL, &reply, &err));
        if (fake.asked != rows[i].asked) fail_msg("case %zu: asked %d times, expected %d: %s", i, fake.asked, rows[i].asked, err.msg);
        model_free(m);
        heap_free(h);
    }
    fake.status = 0;
    fake.lost = false;
}

static int clear(void **state) {
    (void)state;
    buf_clear(&fake.request);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_streams), cmocka_unit_test(test_ids), cmocka_unit_test(test_retry) };
    return cmocka_run_group_tests(tests, NULL, clear);
}
