/* .harness/tests/NAME.md and NAME.yaml: kept unchanged for the test runner; only their structure is checked here. */
#include "artifact/load.h"
#include "value/list.h"

typedef struct Test { Value model, turns, expect, call, result, error, blocked_by, guard; Str script, description, decision, rule; } Test;

#define AT(member) offsetof(Test, member)
static const Field fields[] = {
    { KEY(test, description), .type = FIELD_STRING, .offset = AT(description) },
    { KEY(test, model), .type = FIELD_ANY, .offset = AT(model) },
    { KEY(test, script), .type = FIELD_STRING, .offset = AT(script) },
    { KEY(test, turns), .type = FIELD_LIST, .offset = AT(turns) },
    { KEY(test, expect), .type = FIELD_ANY, .offset = AT(expect) },
    { KEY(test, call), .type = FIELD_MAP, .offset = AT(call) },
    { KEY(test, result), .type = FIELD_ANY, .offset = AT(result) },
    { KEY(test, error), .type = FIELD_ANY, .offset = AT(error) },
    { KEY(test, blocked_by), .type = FIELD_ANY, .offset = AT(blocked_by) },
    { KEY(test, guard), .type = FIELD_MAP, .offset = AT(guard) },
    { KEY(test, decision), .type = FIELD_STRING, .offset = AT(decision) },
    { KEY(test, rule), .type = FIELD_STRING, .offset = AT(rule) },
};

typedef struct Guard { Str vendor, event; Value payload; } Guard;
static const Field guard_fields[] = {
    { KEY(test_guard, vendor), .type = FIELD_STRING, .offset = offsetof(Guard, vendor), .flags = FIELD_REQUIRED },
    { KEY(test_guard, payload), .type = FIELD_ANY, .offset = offsetof(Guard, payload), .flags = FIELD_REQUIRED },
    { KEY(test_guard, event), .type = FIELD_STRING, .offset = offsetof(Guard, event) },
};

typedef struct Call { Str tool; Value args; } Call;
static const Field call_fields[] = {
    { KEY(test_call, tool), .type = FIELD_STRING, .offset = offsetof(Call, tool), .flags = FIELD_REQUIRED },
    { KEY(test_call, args), .type = FIELD_MAP, .offset = offsetof(Call, args) },
};

typedef struct Expect { Value any; bool no_errors; int64_t max_tool_calls, max_tokens; } Expect;
#define ANY(text) { .name = (text), .type = FIELD_ANY, .offset = offsetof(Expect, any) }
static const Field expect_fields[] = {
    ANY("tool_called"), ANY("tool_not_called"), ANY("args"), ANY("hook_blocked"), ANY("response_contains"), ANY("response_not_contains"),
    { KEY(expect, no_errors), .type = FIELD_BOOL, .offset = offsetof(Expect, no_errors) },
    { KEY(expect, max_tool_calls), .type = FIELD_INT, .offset = offsetof(Expect, max_tool_calls) },
    { KEY(expect, max_tokens), .type = FIELD_INT, .offset = offsetof(Expect, max_tokens) },
    ANY("events"),
};

static LoaderPlace below(const LoaderPlace *at, const char *key, Value map) {
    LoaderPlace inner = *at;
    Place place = document_place(at->document, at->map, str_from(key));
    inner.map = map;
    inner.path = key;
    inner.origin.line = place.line;
    inner.origin.column = place.column;
    return inner;
}

static void check_expect(Loader *l, const LoaderPlace *at) {
    Expect e = { .any = VALUE_GONE };
    loader_read_open(l, at, UNKNOWN_KEYS_WARN, expect_fields, sizeof expect_fields / sizeof *expect_fields, &e);
    if (e.max_tool_calls < 0) loader_error(l, at, "max_tool_calls", "%s.max_tool_calls must be >= 0", at->path);
    if (e.max_tokens < 0) loader_error(l, at, "max_tokens", "%s.max_tokens must be >= 0", at->path);
}

void load_test(Loader *l, const Document *d) {
    Problems before = *l->docs.problems;
    LoaderPlace at = loader_file_place(l, d, SOURCE_PROJECT);
    Test in = { .call = VALUE_GONE, .expect = VALUE_GONE, .guard = VALUE_GONE };
    loader_name_ok(l, &at, "test", d->name);
    loader_read_open(l, &at, UNKNOWN_KEYS_WARN, fields, sizeof fields / sizeof *fields, &in);      /* errors in `harness test` */
    if (value_is_dict(in.call)) {
        Call call = { .args = VALUE_GONE };
        LoaderPlace inner = below(&at, "call", in.call);
        loader_read_open(l, &inner, UNKNOWN_KEYS_WARN, call_fields, 2, &call);
    }
    if (value_is_dict(in.guard)) {
        Guard guard = { .payload = VALUE_GONE };
        LoaderPlace inner = below(&at, "guard", in.guard);
        loader_read_open(l, &inner, UNKNOWN_KEYS_WARN, guard_fields, 3, &guard);
    }
    if (value_is_list(in.expect)) {
        for (uint32_t i = 0; i < value_list(in.expect)->n; i++) {
            LoaderPlace item = loader_item_place(l, &at, "expect", in.expect, i);
            check_expect(l, &item);
        }
    } else if (!value_is_gone(in.expect)) {
        LoaderPlace inner = below(&at, "expect", in.expect);
        check_expect(l, &inner);
    }
    if (loader_forgive(l, &before)) return;
    VEC_PUSH(&l->tests, (TestDef){ d->name, at.origin, d->root, arena_str(l->docs.arena, d->body) });
}
