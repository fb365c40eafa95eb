/* Resolution of model names, cost, and the comparable form of recorded requests. */
#include "artifact/archive.h"
#include "model/provider.h"
#include "model/tape.h"
#include "unit.h"
#include "value/json.h"

static const char *const variables[] = { "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OAI_API_KEY", "OAI_BASE_URL", "OAI_MODEL" };

static void environment(const char *given) {
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        unsetenv(variables[i]);
        if (strstr(given, variables[i])) setenv(variables[i], strcmp(variables[i], "OAI_BASE_URL") == 0 ? "http://local/v1" : "value", 1);
    }
}

typedef struct { char *dir; Project *p; Problems problems; } Fixture;

static void load(Fixture *f, const char *settings) {
    Buf text = { 0 };
    *f = (Fixture){ .dir = archive_folder() };
    buf_add_fmt(&text, "---\n%s---\nPrompt.\n", settings);
    archive_write(f->dir, STR("harness.md"), buf_str(&text));
    assert_true(project_load(&(ProjectInput){ .dir = f->dir }, &f->p, &f->problems));
    buf_clear(&text);
}

static void unload(Fixture *f) {
    project_free(f->p);
    problems_clear(&f->problems);
    archive_remove(f->dir);
}

#define PROFILES "model: big\nmodels:\n  - { provider: openai, name: big, base_url: http://b }\n  - { provider: anthropic, name: far }\n  - { name: claude-9 }\n  - { provider: script, name: play, script: x.star }\n"

/* parent: NULL, or a profile's name. expected: "provider name base_url api_key_env", or part of the error. */
static const struct { const char *settings, *environment, *name, *parent, *expected; } cases[] = {
    { "", "", "", NULL, "!no model: harness.md names none" },
    { "", "OPENAI_API_KEY", "", NULL, "openai gpt-5-mini  " },
    { "", "ANTHROPIC_API_KEY", "", NULL, "anthropic claude-sonnet-4-5  " },
    { "", "OPENAI_API_KEY ANTHROPIC_API_KEY", "", NULL, "openai gpt-5-mini  " },
    { "", "OAI_API_KEY OAI_BASE_URL OAI_MODEL", "", NULL, "openai value http://local/v1 OAI_API_KEY" },
    { "", "", "gpt-4o", NULL, "openai gpt-4o  " },
    { "", "OAI_BASE_URL", "gpt-4o", NULL, "openai gpt-4o http://local/v1 " },
    { "", "", "o3-mini", NULL, "openai o3-mini  " },
    { "", "", "claude-x", NULL, "anthropic claude-x  " },
    { "", "", "mistral", NULL, "!model \"mistral\" is not a profile" },
    { "", "", "o", NULL, "!model \"o\"" },
    { "", "", "oops", NULL, "!model \"oops\"" },
    { "model: { provider: openai, name: local, base_url: http://h }\n", "", "", NULL, "openai local http://h " },
    { "model: { provider: openai, name: local, base_url: http://h, api_key_env: K }\n", "OAI_BASE_URL OAI_API_KEY", "", NULL, "openai local http://h K" },
    { PROFILES, "", "", NULL, "openai big http://b " },
    { PROFILES, "", "far", NULL, "anthropic far  " },
    { PROFILES, "", "claude-9", NULL, "anthropic claude-9  " },
    { PROFILES, "", "small", "big", "openai small http://b " },
    { PROFILES, "", "gpt-small", "big", "openai gpt-small http://b " },
    { PROFILES, "", "claude-x", "big", "anthropic claude-x  " },
    { PROFILES, "", "", "far", "anthropic far  " },
    { PROFILES, "", "gpt-4o", "far", "openai gpt-4o  " },
    { PROFILES, "", "far", "big", "anthropic far  " },
    { PROFILES, "", "anything", "play", "!model \"anything\"" },
    { PROFILES, "", "gpt-4o", "play", "openai gpt-4o  " },
};

static void test_pick(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Fixture f;
        Arena arena = { 0 };
        ModelDef parent, got;
        Error err = { 0 };
        Buf text = { 0 };
        load(&f, cases[i].settings);
        environment(cases[i].environment);
        if (cases[i].parent) assert_true(model_pick(f.p, str_from(cases[i].parent), NULL, &arena, &parent, &err));
        if (model_pick(f.p, str_from(cases[i].name), cases[i].parent ? &parent : NULL, &arena, &got, &err))
            buf_add_fmt(&text, "%s " STR_FMT " " STR_FMT " " STR_FMT, project_provider_name(got.provider), STR_ARG(got.name),
                STR_ARG(got.base_url), STR_ARG(got.api_key_env));
        else
            buf_add_fmt(&text, "!%s", err.msg);
        const char *expected = cases[i].expected;
        bool same = expected[0] == '!' ? str_starts(buf_str(&text), str_from(expected)) : str_eq(buf_str(&text), str_from(expected));
        if (!same) fail_msg("case %zu: \"" STR_FMT "\", expected \"%s\"", i, STR_ARG(buf_str(&text)), expected);
        buf_clear(&text);
        arena_clear(&arena);
        unload(&f);
    }
    environment("");
}

static void test_provider_beside(void **state) {
    (void)state;
    environment("OAI_BASE_URL");
    ModelDef parent, got;
    model_of_provider(STR("openai"), STR("a"), NULL, &parent);
    assert_str(parent.base_url, "http://local/v1");
    parent.base_url = STR("http://own");
    model_of_provider(STR("openai"), STR("b"), &parent, &got);
    assert_str(got.base_url, "http://own");
    assert_str(got.name, "b");
    model_of_provider(STR("anthropic"), STR("c"), &parent, &got);
    assert_str(got.base_url, "");
    environment("");
}

/* ---- cost ---- */

static void test_price(void **state) {
    (void)state;
    static const struct { const char *name, *price; double usd; bool priced; } rows[] = {
        { "gpt-5", NULL, 1.25 + 10, true }, { "gpt-5-mini-2025", NULL, 0.25 + 2, true }, { "gpt-5-minimal", NULL, 0.25 + 2, true },
        { "claude-opus-4-5-x", NULL, 5 + 25, true }, { "unheard-of", NULL, 0, false }, { "", NULL, 0, false },
        { "unheard-of", "{\"input\": 3, \"output\": 1.5}", 4.5, true }, { "gpt-5", "{\"input\": 0, \"output\": 0}", 0, true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Heap *h = heap_new(0);
        Model m = { .def = { .name = str_from(rows[i].name), .price = VALUE_GONE } };
        if (rows[i].price) assert_true(json_read(h, str_from(rows[i].price), NULL, &m.def.price, NULL));
        ModelUsage u = { .input = 1000000, .output = 1000000 };
        provider_price(&m, &u);
        assert_int_equal(u.priced, rows[i].priced);
        assert_true(u.usd > rows[i].usd - 1e-6 && u.usd < rows[i].usd + 1e-6);
        heap_free(h);
    }
    Model m = { .def = { .name = STR("gpt-5"), .price = VALUE_GONE } };
    ModelUsage cached = { .input = 1000000, .cached = 1000000 };
    provider_price(&m, &cached);
    assert_true(cached.usd > 0.1249 && cached.usd < 0.1251);
}

/* ---- recordings ---- */

static void test_neutral(void **state) {
    (void)state;
    static const struct { const char *text, *expected; } rows[] = {
        { "", "" },
        { "plain", "plain" },
        { "id 01a1df5c-1b25-75ba-a720-4311dcf82f4a.", "id <uuid>." },
        { "01a1df5c-1b25-75ba-a720-4311dcf82f4", "01a1df5c-1b25-75ba-a720-4311dcf82f4" },
        { "at 2026-11-15T13:25:20.520654672Z!", "at <time>!" },
        { "2026-11-15T13:25:20", "<time>" },
        { "2026-11-15", "2026-11-15" },
        { "2026-11-15T13:25:20Z2026-11-15T13:25:20Z", "<time><time>" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Buf b = { 0 };
        buf_add(&b, str_from(rows[i].text));
        tape_neutral(&b);
        assert_str(buf_str(&b), rows[i].expected);
        buf_clear(&b);
    }
}

static void test_request(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Value messages, tools, others;
    assert_true(json_read(h, STR("[{\"role\":\"user\",\"content\":\"a\\\"b\"},{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"x1\",\"name\":\"t\",\"arguments\":\"{}\"}]},"
                                 "{\"role\":\"tool\",\"content\":\"at 2026-11-15T13:25:20Z\",\"tool_call_id\":\"x1\"}]"), NULL, &messages, NULL));
    assert_true(json_read(h, STR("[{\"name\":\"t\",\"description\":\"d\",\"parameters\":{}}]"), NULL, &tools, NULL));
    Buf out = { 0 };
    buf_add(&out, STR("before "));
    tape_request(&(ModelRequest){ .messages = messages, .tools = tools }, &out);
    assert_str(buf_str(&out), "before {\"messages\":[{\"role\":\"user\",\"content\":\"a\\\"b\"},{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"name\":\"t\",\"arguments\":\"{}\"}]},"
                              "{\"role\":\"tool\",\"content\":\"at <time>\"}],\"tools\":[\"t\"]}");
    assert_true(json_read(h, str_sub(buf_str(&out), 7, out.n), NULL, &others, NULL));
    buf_clear(&out);
    heap_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_pick), cmocka_unit_test(test_provider_beside), cmocka_unit_test(test_price),
                                        cmocka_unit_test(test_neutral), cmocka_unit_test(test_request) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
