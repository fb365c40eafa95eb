#include "agent/trial.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "agent/trial_seen.h"
#include "base/mem.h"
#include "model/request.h"
#include "value/json.h"

/* A test, as written in its file. */
typedef struct Test {
    Value model, turns, expect, call, result, error, blocked_by;
    Str script;
} Test;

typedef struct Running {
    Runtime *rt;
    const TestDef *def;
    const RunConfig *base;
    Cancel *cancel;
    TrialSeen seen;
    Trial *trial;
    Test test;
    ModelDef model;
} Running;

void trial_clear(Trial *t) {
    VEC_CLEAR(&t->failures);
    arena_clear(&t->arena);
}

/* ---- parsing ---- */

static bool turns_expect(const List *turns) {
    for (uint32_t i = 0; i < turns->n; i++)
        if (!value_is_gone(value_member(turns->at[i], "expect"))) return true;
    return false;
}

static bool read_test(Running *r, Error *err) {
    static const char *const known[] = { "description", "model", "script", "turns", "expect", "call", "result", "error", "blocked_by", NULL };
    static const char *const call_known[] = { "tool", "args", NULL };
    Value root = r->def->root;
    Test *t = &r->test;
    if (!value_is_dict(root)) return error_set(err, ERR_VALIDATION, "a test is a map");
    if (!trial_unknown_key(root, "test", known, err)) return false;
    *t = (Test){ value_member(root, "model"), value_member(root, "turns"), value_member(root, "expect"), value_member(root, "call"),
                 value_member(root, "result"), value_member(root, "error"), value_member(root, "blocked_by"), value_member_text(root, "script") };
    bool call = value_is_dict(t->call), turns = value_is_list(t->turns) && value_list(t->turns)->n;
    if (call == turns) return error_set(err, ERR_VALIDATION, call ? "a test has `turns` or `call`, not both" : "a test needs `turns`, `call` or `guard`");
    bool outcome = !value_is_gone(t->result) || !value_is_gone(t->error) || !value_is_gone(t->blocked_by);
    if (turns && outcome) return error_set(err, ERR_VALIDATION, "`result`, `error` and `blocked_by` belong to `call`");
    if (turns && value_is_gone(t->expect) && !turns_expect(value_list(t->turns))) return error_set(err, ERR_VALIDATION, "a test with `turns` needs `expect`");
    if (t->script.n && !value_is_gone(t->model)) return error_set(err, ERR_VALIDATION, "`script` is the model: `model` cannot be given too");
    return !call || trial_unknown_key(t->call, "call", call_known, err);
}

/* ---- the model ---- */

static bool is_file(Running *r, Str path, Str *out) {
    char *full = path.at[0] == '/' ? arena_fmt(&r->trial->arena, STR_FMT, STR_ARG(path))
                                   : arena_fmt(&r->trial->arena, STR_FMT "/" STR_FMT, STR_ARG(runtime_project(r->rt)->root), STR_ARG(path));
    *out = str_from(full);
    return access(full, R_OK) == 0;
}

/* Relative to the project, else to the test. */
static bool find_file(Running *r, Str path, Str *out) {
    if (path.n == 0) return false;
    if (is_file(r, path, out)) return true;
    Str file = r->def->origin.file;
    while (file.n && file.at[file.n - 1] != '/') file.n--;
    return is_file(r, str_from(arena_fmt(&r->trial->arena, STR_FMT STR_FMT, STR_ARG(file), STR_ARG(path))), out);
}

static bool use_file(Running *r, Str path, bool script, Error *err) {
    Str full;
    if (!find_file(r, path, &full)) return error_set(err, ERR_CONFIG, "model: no such file: " STR_FMT, STR_ARG(path));
    r->model.provider = script ? PROVIDER_SCRIPT : PROVIDER_REPLAY;
    *(script ? &r->model.script : &r->model.replay) = full;
    return true;
}

static const ModelDef *profile(const Project *p, Str name) {
    for (size_t i = 0; i < p->settings.n_models; i++)
        if (name.n == 0 || str_eq(p->settings.models[i].name, name)) return &p->settings.models[i];
    return NULL;
}

static bool use_profile(Running *r, Str name, Error *err) {
    const ModelDef *d = profile(runtime_project(r->rt), name);
    if (d && project_model_offline(d)) {
        r->model = *d;
        if (!d->provider) r->model.provider = d->script.n ? PROVIDER_SCRIPT : PROVIDER_REPLAY;
        return true;
    }
    if (name.n) error_set(err, ERR_CONFIG, "model: \"" STR_FMT "\" is not a script, a recording or a profile of harness.md that works offline", STR_ARG(name));
    else error_set(err, ERR_CONFIG, "the test has no model, and that of the project needs a network");
    return error_hint(err, "give it a `script:` with reply(messages, tools)");
}

static bool inline_script(Running *r, Str text) {
    r->model.provider = PROVIDER_SCRIPT;
    r->model.script = str_from(arena_fmt(&r->trial->arena, STR_FMT "\n", STR_ARG(text)));       /* a line break: not a path */
    return true;
}

static bool model_map(Running *r, Value map, Error *err) {
    static const char *const known[] = { "provider", "name", "script", "replay", NULL };
    Str script = value_member_text(map, "script"), replay = value_member_text(map, "replay");
    if (!trial_unknown_key(map, "model", known, err)) return false;
    if ((script.n > 0) == (replay.n > 0)) return error_set(err, ERR_VALIDATION, "model: needs `script` or `replay`");
    if (replay.n) return use_file(r, replay, false, err);
    return str_find_char(script, '\n') >= 0 ? inline_script(r, script) : use_file(r, script, true, err);
}

static bool pick_model(Running *r, Error *err) {
    Value v = r->test.model;
    r->model = (ModelDef){ .name = STR("test"), .temperature = VALUE_GONE, .top_p = VALUE_GONE, .retry = VALUE_GONE, .headers = VALUE_GONE,
                           .price = VALUE_GONE };
    if (r->test.script.n) return inline_script(r, r->test.script);
    if (value_is_gone(v)) return use_profile(r, runtime_project(r->rt)->settings.model, err);
    if (value_is_dict(v)) return model_map(r, v, err);
    if (!value_is_string(v)) return error_set(err, ERR_VALIDATION, "model: expected a path, a profile or a map, got %s", field_type_name(v));
    Str full, name = value_str(v);
    if (str_find_char(name, '\n') >= 0) return inline_script(r, name);
    if (str_ends(name, STR(".star")) || str_ends(name, STR(".jsonl"))) return use_file(r, name, str_ends(name, STR(".star")), err);
    if (!profile(runtime_project(r->rt), name) && find_file(r, name, &full)) return use_file(r, name, false, err);
    return use_profile(r, name, err);
}

/* ---- a conversation ---- */

static bool read_turn(Value turn, uint32_t i, Str *text, Value *expect, Error *err) {
    static const char *const known[] = { "user", "expect", NULL };
    char path[40];
    snprintf(path, sizeof path, "turns[%u]", i);
    *expect = VALUE_GONE;
    if (value_is_string(turn)) return *text = value_str(turn), true;
    if (!value_is_dict(turn)) return error_set(err, ERR_VALIDATION, "%s: expected a string or a map, got %s", path, field_type_name(turn));
    if (!trial_unknown_key(turn, path, known, err)) return false;
    *text = value_member_text(turn, "user");
    *expect = value_member(turn, "expect");
    return text->n || error_set(err, ERR_VALIDATION, "%s.user is required", path);
}

static void check_status(Running *r, uint32_t i, const SessionReply *reply, Value expect) {
    if (reply->status == RUN_COMPLETED || trial_expects_trouble(r->test.expect) || trial_expects_trouble(expect)) return;
    char where[40];
    Buf got = { 0 };
    snprintf(where, sizeof where, "turns[%u]", i);
    buf_add_fmt(&got, "%s: %s", run_status_name(reply->status), reply->reason);
    trial_fail(r->trial, where, STR("completed"), buf_str(&got));
    buf_clear(&got);
}

static bool one_turn(Running *r, Session *s, uint32_t i, Error *err) {
    Str text;
    Value expect;
    if (!read_turn(value_list(r->test.turns)->at[i], i, &text, &expect, err)) return false;
    SessionReply reply = { 0 };
    TrialSeen *seen = &r->seen;
    seen->first = seen->events.n;
    bool ok = session_say(s, text, r->cancel, &reply, err);
    if (ok) {
        ModelUsage all = session_usage(s);
        int64_t tokens = all.input + all.output;
        seen->response = arena_str(&r->trial->arena, buf_str(&reply.text));
        check_status(r, i, &reply, expect);
        if (!value_is_gone(expect)) {
            char path[48];
            snprintf(path, sizeof path, "turns[%u].expect", i);
            seen->tokens = tokens - seen->tokens;
            ok = trial_expect(seen, expect, path, err);
        }
        seen->tokens = tokens;
    }
    session_reply_clear(&reply);
    return ok;
}

static bool converse(Running *r, Agents *agents, const RunConfig *rc, Error *err) {
    Session *s = NULL;
    if (!session_open(agents, &(SessionConfig){ 0 }, rc, false, &s, err)) return false;
    bool ok = true;
    for (uint32_t i = 0; ok && i < value_list(r->test.turns)->n; i++) ok = one_turn(r, s, i, err);
    return session_close(s, ok ? err : NULL) && ok;
}

/* ---- one call ---- */

static void show_result(Buf *out, const Result *x) {
    if (x->is_error) buf_add_fmt(out, "an error (%.*s%s%.*s): ", STR_ARG(str_from(result_step_name(x->step))), x->rule.n ? ", " : "", STR_ARG(x->rule));
    if (x->is_error) buf_add(out, str_sub(x->error, 0, 600));
    else trial_show(out, x->value);
}

static void check_error(Running *r, const Result *x, Str got) {
    Value want = r->test.error;
    if (value_is_bool(want)) {
        if (value_bool(want) != x->is_error) trial_fail(r->trial, "error", value_bool(want) ? STR("an error") : STR("no error"), got);
    } else if (value_is_string(want)) {
        if (!x->is_error || str_find(x->error, value_str(want)) < 0) trial_fail(r->trial, "error", value_str(want), got);
    }
}

static void check_call(Running *r, const Result *x) {
    Test *t = &r->test;
    Buf got = { 0 }, want = { 0 };
    show_result(&got, x);
    if (!value_is_gone(t->blocked_by)) {
        Str by = value_is_string(t->blocked_by) ? value_str(t->blocked_by) : STR("");
        if (!x->is_error || !(str_eq(by, x->rule) || str_eq(by, str_from(result_step_name(x->step))))) trial_fail(r->trial, "blocked_by", by, buf_str(&got));
    }
    check_error(r, x, buf_str(&got));
    if (!value_is_gone(t->result)) {
        bool same = !x->is_error && (trial_covers(t->result, x->value) || (value_is_string(t->result) && str_eq(value_str(t->result), x->text)));
        trial_show(&want, t->result);
        if (!same) trial_fail(r->trial, "result", buf_str(&want), buf_str(&got));
    }
    bool silent = value_is_gone(t->blocked_by) && value_is_gone(t->error) && value_is_gone(t->result) && !trial_expects_trouble(t->expect);
    if (silent && x->is_error) trial_fail(r->trial, "call", STR("no error"), buf_str(&got));
    buf_clear(&got);
    buf_clear(&want);
}

static bool check_call_words(const Test *t, Error *err) {
    if (!value_is_gone(t->blocked_by) && !value_is_string(t->blocked_by))
        return error_set(err, ERR_VALIDATION, "blocked_by: expected the name of a hook, a rule or a step, got %s", field_type_name(t->blocked_by));
    if (!value_is_gone(t->error) && !value_is_string(t->error) && !value_is_bool(t->error))
        return error_set(err, ERR_VALIDATION, "error: expected a string or a bool, got %s", field_type_name(t->error));
    return true;
}

static bool call_once(Running *r, const RunConfig *rc, Error *err) {
    Value args = value_member(r->test.call, "args");
    Buf json = { 0 };
    Run *run = NULL;
    Result x = { 0 };
    if (!check_call_words(&r->test, err)) return false;
    bool none = value_is_gone(args) || value_is_none(args), ok = none || json_write(&json, args, NULL, err);
    if (none) buf_add(&json, STR("{}"));
    ok = ok && run_start(r->rt, rc, &run, err);
    if (ok) {
        Call call = { .name = value_member_text(r->test.call, "tool"), .arguments = buf_str(&json), .wait = true };
        ok = tool_call(run, &call, r->cancel, &x, err);
        if (ok) {
            check_call(r, &x);
            r->seen.response = arena_str(&r->trial->arena, x.text);
        }
        result_clear(&x);
        ok = run_end(run, ok ? RUN_COMPLETED : RUN_FAILED, ok ? err : NULL) && ok;
    }
    buf_clear(&json);
    return ok;
}

/* ---- entry point ---- */

static bool run_it(Running *r, Error *err) {
    EventSink sinks[8] = { trial_sink(&r->seen) };
    size_t n = 1;
    for (size_t i = 0; i < r->base->n_sinks && n < 8; i++) sinks[n++] = r->base->sinks[i];
    RunConfig rc = *r->base;
    rc.sinks = sinks;
    rc.n_sinks = n;
    bool call = value_is_dict(r->test.call);
    Error no_model = { 0 };
    bool model = pick_model(r, &no_model);
    if (!model && !call) return *err = no_model, false;      /* a call needs none, unless it delegates */
    AgentsConfig ac = { .every = model ? &r->model : NULL };
    Agents *agents = NULL;
    bool ok = agent_set_new(r->rt, &ac, &agents, err) && (call ? call_once(r, &rc, err) : converse(r, agents, &rc, err));
    agent_set_free(agents);
    r->seen.first = 0;
    return ok && (value_is_gone(r->test.expect) || trial_expect(&r->seen, r->test.expect, "expect", err));
}

bool trial_run(Runtime *rt, const TestDef *def, const RunConfig *base, Cancel *cancel, Trial *out, Error *err) {
    Running r = { .rt = rt, .def = def, .base = base, .cancel = cancel, .trial = out, .seen = { .rt = rt, .trial = out, .heap = heap_new((size_t)512 << 20) } };
    bool ok = read_test(&r, err) && run_it(&r, err);
    trial_seen_clear(&r.seen);
    return ok;
}
