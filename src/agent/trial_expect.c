#include <stdio.h>
#include <stdlib.h>
#include "agent/trial_seen.h"
#include "model/request.h"
#include "value/json.h"

enum { SHOWN_MAX = 600, EVENTS_BYTES_MAX = 64 << 20 };

/* ---- recording ---- */

static bool on_event(void *self, const Event *e, Error *err) {
    TrialSeen *s = self;
    (void)err;
    s->bytes += e->data.n + e->type.n + sizeof(TrialEvent);
    if (s->bytes > EVENTS_BYTES_MAX) return s->too_many = true;
    VEC_PUSH(&s->events, ((TrialEvent){ event_type_find(e->type), arena_str(&s->arena, e->type), arena_str(&s->arena, e->data), VALUE_GONE }));
    return true;
}

EventSink trial_sink(TrialSeen *s) { return (EventSink){ .write = on_event, .self = s }; }

void trial_seen_clear(TrialSeen *s) {
    if (s->heap) heap_free(s->heap);
    VEC_CLEAR(&s->events);
    arena_clear(&s->arena);
}

static Value data_of(TrialSeen *s, size_t i) {
    TrialEvent *e = &s->events.at[i];
    Error ignored;
    if (value_is_gone(e->data) && !json_read(s->heap, e->text, NULL, &e->data, &ignored)) e->data = VALUE_NONE;
    return e->data;
}

static bool is_type(const TrialSeen *s, size_t i, EventType type) { return s->events.at[i].known == type; }

/* ---- showing and comparing ---- */

void trial_fail(Trial *t, const char *check, Str expected, Str got) {
    VEC_PUSH(&t->failures, ((TrialFailure){ arena_str(&t->arena, str_from(check)), arena_str(&t->arena, expected), arena_str(&t->arena, got) }));
}

static void cut(Buf *out, size_t from) {
    if (out->n - from <= SHOWN_MAX) return;
    out->n = from + SHOWN_MAX;
    while (out->n > from && ((unsigned char)out->at[out->n] & 0xc0) == 0x80) out->n--;   /* not inside a character */
    out->at[out->n] = 0;
    buf_add(out, STR("…"));
}

void trial_show(Buf *out, Value v) {
    size_t from = out->n;
    if (value_is_gone(v)) buf_add(out, STR("nothing"));
    else if (!json_write(out, v, NULL, &(Error){ 0 })) buf_add(out, str_from(value_type_name(v)));
    cut(out, from);
}

static void show_text(Buf *out, Str text) {
    size_t from = out->n;
    json_write_string(out, text, false);
    cut(out, from);
}

bool trial_covers(Value want, Value got) {
    bool equal = false;
    if (value_is_dict(want)) {
        Entry *e;
        if (!value_is_dict(got)) return false;
        for (uint32_t i = 0; dict_next(value_dict(want), &i, &e);) {
            Value *found = value_is_string(e->key) ? dict_find_str(value_dict(got), value_str(e->key)) : NULL;
            if (!found || !trial_covers(e->value, *found)) return false;
        }
        return true;
    }
    if (value_is_list(want)) {
        if (!value_is_list(got) || value_list(want)->n != value_list(got)->n) return false;
        for (uint32_t i = 0; i < value_list(want)->n; i++)
            if (!trial_covers(value_list(want)->at[i], value_list(got)->at[i])) return false;
        return true;
    }
    return value_equal(want, got, &equal, &(Error){ 0 }) && equal;
}

/* ---- parsing an expectation ---- */

bool trial_unknown_key(Value map, const char *path, const char *const *known, Error *err) {
    Str names[32];
    size_t n = 0;
    Entry *e;
    while (known[n]) names[n] = str_from(known[n]), n++;
    for (uint32_t i = 0; dict_next(value_dict(map), &i, &e);) {
        bool found = false;
        if (!value_is_string(e->key)) return error_set(err, ERR_VALIDATION, "%s: keys must be names", path);
        for (size_t k = 0; k < n && !found; k++) found = str_eq(value_str(e->key), names[k]);
        if (found) continue;
        Str near = str_nearest(value_str(e->key), names, n);
        error_set(err, ERR_VALIDATION, "%s: unknown key \"" STR_FMT "\"", path, STR_ARG(value_str(e->key)));
        return near.n ? error_hint(err, "did you mean \"" STR_FMT "\"?", STR_ARG(near)) : false;
    }
    return true;
}

typedef VEC(Str) Names;

/* A string, or a list of strings. */
static bool read_texts(Value v, const char *path, const char *key, Names *out, Error *err) {
    if (value_is_string(v)) {
        VEC_PUSH(out, value_str(v));
        return true;
    }
    bool ok = value_is_list(v) && value_list(v)->n > 0;
    for (uint32_t i = 0; ok && i < value_list(v)->n; i++) {
        ok = value_is_string(value_list(v)->at[i]);
        if (ok) VEC_PUSH(out, value_str(value_list(v)->at[i]));
    }
    return ok || error_set(err, ERR_VALIDATION, "%s.%s: expected a string or a list of strings, got %s", path, key, field_type_name(v));
}

/* ---- calls ---- */

typedef VEC(TrialCall) Calls;

static bool has_call(const Calls *calls, Str id) {
    for (size_t i = 0; i < calls->n; i++)
        if (str_eq(calls->at[i].id, id)) return true;
    return false;
}

/* The model's arguments of a call that was refused before they were parsed. */
static Value sent_args(TrialSeen *s, Str id) {
    for (size_t i = s->first; i < s->events.n; i++) {
        const List *calls = is_type(s, i, EVENT_COMPLETION_COMPLETED) ? request_list(data_of(s, i), "tool_calls") : NULL;
        for (uint32_t k = 0; calls && k < calls->n; k++) {
            Value v;
            Error ignored;
            if (str_eq(value_member_text(calls->at[k], "id"), id)
                && json_read(s->heap, value_member_text(calls->at[k], "arguments"), NULL, &v, &ignored)) return v;
        }
    }
    return VALUE_GONE;
}

/* Every call, made or refused, by models, scripts and hooks. */
static void gather_calls(TrialSeen *s, Calls *out) {
    for (size_t i = s->first; i < s->events.n; i++) {
        bool started = is_type(s, i, EVENT_TOOL_STARTED);
        if (!started && !is_type(s, i, EVENT_TOOL_REFUSED)) continue;
        Str id = value_member_text(data_of(s, i), "id");
        if (has_call(out, id)) continue;
        VEC_PUSH(out, ((TrialCall){ id, value_member_text(data_of(s, i), "name"), started ? value_member(data_of(s, i), "args") : sent_args(s, id) }));
    }
}

static Str canonical(const TrialSeen *s, Str name) {
    const ToolEntry *e = registry_find(runtime_registry(s->rt), name, NULL, 0);
    return e ? e->def.name : name;
}

static bool was_called(const TrialSeen *s, const Calls *calls, Str name) {
    Str wanted = canonical(s, name);
    for (size_t i = 0; i < calls->n; i++)
        if (str_eq(canonical(s, calls->at[i].name), wanted)) return true;
    return false;
}

static void show_calls(Buf *out, const Calls *calls, bool with_args) {
    if (calls->n == 0) buf_add(out, STR("no call"));
    for (size_t i = 0; i < calls->n && out->n < SHOWN_MAX; i++) {
        if (i) buf_add(out, STR(", "));
        buf_add(out, calls->at[i].name);
        if (!with_args) continue;
        buf_add_char(out, ' ');
        trial_show(out, calls->at[i].args);
    }
}

/* ---- each kind ---- */

typedef struct Check { TrialSeen *s; Value expect, value; const char *path, *key; Calls *calls; } Check;

static void miss(const Check *c, Str expected, Str got) {
    char name[120];
    snprintf(name, sizeof name, "%s.%s", c->path, c->key);
    trial_fail(c->s->trial, name, expected, got);
}

static void miss_call(const Check *c, const char *before, Str name) {
    Buf expected = { 0 }, got = { 0 };
    buf_add_fmt(&expected, "%s" STR_FMT, before, STR_ARG(name));
    show_calls(&got, c->calls, false);
    miss(c, buf_str(&expected), buf_str(&got));
    buf_clear(&expected);
    buf_clear(&got);
}

static bool check_called(const Check *c, Error *err) {
    Names names = { 0 };
    bool ok = read_texts(c->value, c->path, c->key, &names, err);
    for (size_t i = 0; ok && i < names.n; i++)
        if (!was_called(c->s, c->calls, names.at[i])) miss_call(c, "a call of ", names.at[i]);
    VEC_CLEAR(&names);
    return ok;
}

static bool check_not_called(const Check *c, Error *err) {
    Names names = { 0 };
    bool ok = read_texts(c->value, c->path, c->key, &names, err);
    for (size_t i = 0; ok && i < names.n; i++)
        if (was_called(c->s, c->calls, names.at[i])) miss_call(c, "no call of ", names.at[i]);
    VEC_CLEAR(&names);
    return ok;
}

/* Some call, of the tools in tool_called if given, had at least these arguments. */
static bool check_args(const Check *c, Error *err) {
    Names names = { 0 };
    Value called = value_member(c->expect, "tool_called");
    if (!value_is_dict(c->value)) return error_set(err, ERR_VALIDATION, "%s.args: expected map, got %s", c->path, field_type_name(c->value));
    if (!value_is_gone(called) && !read_texts(called, c->path, "tool_called", &names, err)) return false;
    bool found = false;
    for (size_t i = 0; i < c->calls->n && !found; i++) {
        bool meant = names.n == 0;
        for (size_t k = 0; k < names.n && !meant; k++) meant = str_eq(canonical(c->s, names.at[k]), canonical(c->s, c->calls->at[i].name));
        found = meant && trial_covers(c->value, c->calls->at[i].args);
    }
    if (!found) {
        Buf expected = { 0 }, got = { 0 };
        trial_show(&expected, c->value);
        show_calls(&got, c->calls, true);
        miss(c, buf_str(&expected), buf_str(&got));
        buf_clear(&expected);
        buf_clear(&got);
    }
    VEC_CLEAR(&names);
    return true;
}

static bool blocked(TrialSeen *s, size_t i, Str *hook) {
    if (!is_type(s, i, EVENT_HOOK_DECIDED) || !str_eq(value_member_text(data_of(s, i), "decision"), str_from(hook_decision_name(HOOK_BLOCK)))) return false;
    return *hook = value_member_text(data_of(s, i), "hook"), true;
}

static void show_blockers(TrialSeen *s, Buf *out) {
    Str hook;
    for (size_t i = s->first; i < s->events.n && out->n < SHOWN_MAX; i++)
        if (blocked(s, i, &hook)) buf_add_fmt(out, "%sa block by " STR_FMT, out->n ? ", " : "", STR_ARG(hook));
    if (out->n == 0) buf_add(out, STR("no hook blocked"));
}

/* A hook's name, several, true (any) or false (none). */
static bool check_hook(const Check *c, Error *err) {
    Names names = { 0 };
    Buf got = { 0 };
    Str hook;
    bool any = false, ok = true;
    show_blockers(c->s, &got);
    if (value_is_bool(c->value)) {
        for (size_t i = c->s->first; i < c->s->events.n && !any; i++) any = blocked(c->s, i, &hook);
        if (any != value_bool(c->value)) miss(c, any ? STR("no hook blocks") : STR("a hook blocks"), buf_str(&got));
    } else {
        ok = read_texts(c->value, c->path, c->key, &names, err);
    }
    for (size_t k = 0; ok && k < names.n; k++) {
        any = false;
        for (size_t i = c->s->first; i < c->s->events.n && !any; i++) any = blocked(c->s, i, &hook) && str_eq(hook, names.at[k]);
        Buf expected = { 0 };
        buf_add_fmt(&expected, "a block by " STR_FMT, STR_ARG(names.at[k]));
        if (!any) miss(c, buf_str(&expected), buf_str(&got));
        buf_clear(&expected);
    }
    buf_clear(&got);
    VEC_CLEAR(&names);
    return ok;
}

static bool check_text(const Check *c, bool wanted, Error *err) {
    Names names = { 0 };
    bool ok = read_texts(c->value, c->path, c->key, &names, err);
    for (size_t i = 0; ok && i < names.n; i++) {
        if ((str_find(c->s->response, names.at[i]) >= 0) == wanted) continue;
        Buf expected = { 0 }, got = { 0 };
        buf_add(&expected, wanted ? STR("an answer with ") : STR("an answer without "));
        show_text(&expected, names.at[i]);
        show_text(&got, c->s->response);
        miss(c, buf_str(&expected), buf_str(&got));
        buf_clear(&expected);
        buf_clear(&got);
    }
    VEC_CLEAR(&names);
    return ok;
}

static bool check_contains(const Check *c, Error *err) { return check_text(c, true, err); }
static bool check_not_contains(const Check *c, Error *err) { return check_text(c, false, err); }

static bool is_trouble(const TrialSeen *s, size_t i) {
    static const EventType types[] = { EVENT_TOOL_FAILED, EVENT_TOOL_REFUSED, EVENT_COMPLETION_FAILED, EVENT_DELEGATION_FAILED,
        EVENT_LIMIT_REACHED, EVENT_SANDBOX_TAMPERED };
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        if (is_type(s, i, types[k])) return true;
    return false;
}

static bool check_no_errors(const Check *c, Error *err) {
    if (!value_is_bool(c->value)) return error_set(err, ERR_VALIDATION, "%s.no_errors: expected bool, got %s", c->path, field_type_name(c->value));
    if (!value_bool(c->value)) return true;
    for (size_t i = c->s->first; i < c->s->events.n; i++) {
        if (!is_trouble(c->s, i)) continue;
        Value d = data_of(c->s, i);
        Buf got = { 0 };
        Str what = value_member_text(d, "error").n ? value_member_text(d, "error") : value_member_text(d, "message").n
            ? value_member_text(d, "message") : value_member_text(d, "limit");
        buf_add_fmt(&got, STR_FMT " " STR_FMT ": " STR_FMT, STR_ARG(c->s->events.at[i].type), STR_ARG(value_member_text(d, "name")), STR_ARG(what));
        cut(&got, 0);
        miss(c, STR("no errors"), buf_str(&got));
        buf_clear(&got);
    }
    return true;
}

static bool check_most(const Check *c, int64_t n, const char *what, Error *err) {
    if (!value_is_small(c->value)) return error_set(err, ERR_VALIDATION, "%s.%s: expected int, got %s", c->path, c->key, field_type_name(c->value));
    if (n <= value_small(c->value)) return true;
    char expected[60], got[60];
    snprintf(expected, sizeof expected, "at most %lld %s", (long long)value_small(c->value), what);
    snprintf(got, sizeof got, "%lld", (long long)n);
    miss(c, str_from(expected), str_from(got));
    return true;
}

static bool check_max_calls(const Check *c, Error *err) { return check_most(c, (int64_t)c->calls->n, "tool calls", err); }
static bool check_max_tokens(const Check *c, Error *err) { return check_most(c, c->s->tokens, "tokens", err); }

/* ---- events ---- */

typedef struct Wanted { Str type; Value data; bool flat; } Wanted;

/* "tool.completed", {tool.completed: {name: x}}, or {type: tool.completed, name: x}. */
static bool read_wanted(Value v, Wanted *out) {
    *out = (Wanted){ .data = VALUE_GONE };
    if (value_is_string(v)) return out->type = value_str(v), true;
    if (!value_is_dict(v)) return false;
    Str type = value_member_text(v, "type");
    if (type.n) return *out = (Wanted){ type, v, true }, true;
    Entry *e;
    uint32_t i = 0;
    if (value_dict(v)->n != 1 || !dict_next(value_dict(v), &i, &e) || !value_is_string(e->key)) return false;
    *out = (Wanted){ value_str(e->key), e->value, false };
    return value_is_dict(e->value) || value_is_none(e->value);
}

static bool holds(TrialSeen *s, size_t at, const Wanted *w) {
    if (!str_eq(s->events.at[at].type, w->type)) return false;
    if (!value_is_dict(w->data)) return true;
    if (!w->flat) return trial_covers(w->data, data_of(s, at));
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(w->data), &i, &e);) {
        if (!value_is_string(e->key) || str_eq(value_str(e->key), STR("type"))) continue;
        Value *found = value_is_dict(data_of(s, at)) ? dict_find_str(value_dict(data_of(s, at)), value_str(e->key)) : NULL;
        if (!found || !trial_covers(e->value, *found)) return false;
    }
    return true;
}

static void miss_event(const Check *c, uint32_t i, Value wanted, size_t from) {
    Buf expected = { 0 }, got = { 0 };
    trial_show(&expected, wanted);
    if (i) buf_add_fmt(&expected, " after the %u before it", i);
    for (size_t k = from; k < c->s->events.n && got.n < SHOWN_MAX; k++)
        buf_add_fmt(&got, "%s" STR_FMT, got.n ? ", " : "", STR_ARG(c->s->events.at[k].type));
    if (got.n == 0) buf_add(&got, STR("no more events"));
    miss(c, buf_str(&expected), buf_str(&got));
    buf_clear(&expected);
    buf_clear(&got);
}

/* In this order, with anything in between. */
static bool check_events(const Check *c, Error *err) {
    if (!value_is_list(c->value)) return error_set(err, ERR_VALIDATION, "%s.events: expected list, got %s", c->path, field_type_name(c->value));
    const List *list = value_list(c->value);
    size_t at = c->s->first;
    for (uint32_t i = 0; i < list->n; i++) {
        Wanted w;
        if (!read_wanted(list->at[i], &w))
            return error_set(err, ERR_VALIDATION, "%s.events[%u]: expected a type of event, or one with its data: {tool.completed: {name: NAME}}", c->path, i);
        size_t from = at;
        while (at < c->s->events.n && !holds(c->s, at, &w)) at++;
        if (at++ < c->s->events.n) continue;
        miss_event(c, i, list->at[i], from);
        return true;
    }
    return true;
}

/* ---- entry points ---- */

static const struct { const char *key; bool (*check)(const Check *c, Error *err); } kinds[] = {
    { "tool_called", check_called }, { "tool_not_called", check_not_called }, { "args", check_args }, { "hook_blocked", check_hook },
    { "response_contains", check_contains }, { "response_not_contains", check_not_contains }, { "no_errors", check_no_errors },
    { "max_tool_calls", check_max_calls }, { "max_tokens", check_max_tokens }, { "events", check_events },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool expect_map(TrialSeen *s, Value expect, const char *path, Error *err) {
    const char *known[KINDS + 1] = { 0 };
    Calls calls = { 0 };
    for (size_t i = 0; i < KINDS; i++) known[i] = kinds[i].key;
    if (!value_is_dict(expect)) return error_set(err, ERR_VALIDATION, "%s: expected map, got %s", path, field_type_name(expect));
    if (!trial_unknown_key(expect, path, known, err)) return false;
    gather_calls(s, &calls);
    bool ok = true;
    for (size_t i = 0; ok && i < KINDS; i++) {
        Value v = value_member(expect, kinds[i].key);
        if (value_is_gone(v)) continue;
        ok = kinds[i].check(&(Check){ .s = s, .expect = expect, .value = v, .path = path, .key = kinds[i].key, .calls = &calls }, err);
    }
    VEC_CLEAR(&calls);
    return ok;
}

bool trial_expect(TrialSeen *s, Value expect, const char *path, Error *err) {
    if (s->too_many) return error_set(err, ERR_LIMIT, "the test made more than %d MB of events", EVENTS_BYTES_MAX >> 20);
    if (!value_is_list(expect)) return expect_map(s, expect, path, err);
    for (uint32_t i = 0; i < value_list(expect)->n; i++) {
        char item[100];
        snprintf(item, sizeof item, "%.60s[%u]", path, i);
        if (!expect_map(s, value_list(expect)->at[i], item, err)) return false;
    }
    return true;
}

static bool map_expects_trouble(Value expect) {
    Value errors = value_member(expect, "no_errors"), hook = value_member(expect, "hook_blocked");
    if (value_is_bool(errors)) return !value_bool(errors);
    return !value_is_gone(value_member(expect, "events")) || (!value_is_gone(hook) && !value_same(hook, VALUE_FALSE));
}

bool trial_expects_trouble(Value expect) {
    if (!value_is_list(expect)) return map_expects_trouble(expect);
    for (uint32_t i = 0; i < value_list(expect)->n; i++)
        if (map_expects_trouble(value_list(expect)->at[i])) return true;
    return false;
}
