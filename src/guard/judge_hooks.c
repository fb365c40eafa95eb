/* The project's hooks, asked about another agent's call. They run as for our own calls: in a read-only jail, fail closed. The cache that they
 * share lives as long as the agent's session; it is kept in the store and changed under a lock, since every call is a process. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>
#include "guard/judge.h"
#include "tool/pipeline/call.h"
#include "value/json.h"

/* ---- payloads ---- */

static bool put_common(const GuardCase *c, Dict *d, Str vendor_tool, Error *err) {
    const GuardEnvelope *e = c->envelope;
    return dict_put_text(c->heap, d, "vendor", str_from(vendor_name(e->vendor)), err) && dict_put_text(c->heap, d, "vendor_tool", vendor_tool, err) &&
           dict_put_text(c->heap, d, "session", e->session, err) && dict_put_text(c->heap, d, "cwd", e->cwd, err) &&
           dict_put_text(c->heap, d, "agent", STR(""), err) && dict_put_str(c->heap, d, STR("depth"), value_from_small(0), err);
}

static bool call_payload(const GuardCase *c, const GuardCall *call, Value *out, Error *err) {
    Buf text = { 0 };
    Dict *d = dict_new(c->heap, 16, err);
    Dict *safety = d ? dict_new(c->heap, 1, err) : NULL;
    bool ok = safety && json_write(&text, call->args, &(JsonWrite){ 0 }, err) && dict_put_text(c->heap, d, "id", c->envelope->call_id, err) &&
              dict_put_text(c->heap, d, "name", call->tool, err) && dict_put_text(c->heap, d, "kind", str_from(call_kind_name(call->kind)), err) &&
              dict_put_text(c->heap, d, "arguments", buf_str(&text), err) && dict_put_str(c->heap, d, STR("args"), call->args, err) &&
              dict_put_str(c->heap, d, STR("safety"), value_from_object(safety), err) && put_common(c, d, call->vendor_tool, err);
    buf_clear(&text);
    *out = ok ? value_from_object(d) : VALUE_GONE;
    return ok;
}

/* {call_id, name, kind, args, result, content, is_error, …}; the name is that of the first call of the envelope. */
static bool result_payload(const GuardCase *c, Value *out, Error *err) {
    GuardCalls calls = { 0 };
    const GuardEnvelope *e = c->envelope;
    Dict *d = dict_new(c->heap, 16, err), *none = dict_new(c->heap, 1, err);
    if (!d || !none || !guard_calls(e, c->root, c->heap, c->arena, &calls, err)) return false;
    Buf text = { 0 };
    bool ok = json_write(&text, value_is_gone(e->result) ? VALUE_NONE : e->result, &(JsonWrite){ 0 }, err);
    ok = ok && dict_put_text(c->heap, d, "call_id", e->call_id, err) && dict_put_text(c->heap, d, "name", calls.at[0].tool, err) &&
         dict_put_text(c->heap, d, "kind", str_from(call_kind_name(calls.at[0].kind)), err) && dict_put_str(c->heap, d, STR("args"), calls.at[0].args, err) &&
         dict_put_str(c->heap, d, STR("result"), value_is_gone(e->result) ? VALUE_NONE : e->result, err) &&
         dict_put_text(c->heap, d, "content", buf_str(&text), err) &&
         dict_put_str(c->heap, d, STR("is_error"), value_from_bool(false), err) && put_common(c, d, e->tool, err);
    buf_clear(&text);
    *out = ok ? value_from_object(d) : VALUE_GONE;
    return ok;
}

static bool event_payload(const GuardCase *c, HookEvent event, Value *out, Error *err) {
    if (event == HOOK_TOOL_POST) return result_payload(c, out, err);
    Dict *d = dict_new(c->heap, 8, err);
    bool ok = d && put_common(c, d, STR(""), err);
    if (event == HOOK_TURN_START) ok = ok && dict_put_text(c->heap, d, "text", c->envelope->prompt, err);
    if (event == HOOK_AGENT_STOP) ok = ok && dict_put_text(c->heap, d, "response", c->envelope->prompt, err)
        && dict_put_text(c->heap, d, "finish_reason", STR("stop"), err);
    *out = ok ? value_from_object(d) : VALUE_GONE;
    return ok;
}

/* ---- the cache of the session ---- */

static void find_cache(void *ctx, Str module, Str member) {
    (void)member;
    if (str_eq(module, STR("cache"))) *(bool *)ctx = true;
}

static bool uses_cache(const Project *p, HookEvent event) {
    bool found = false;
    for (size_t i = 0; i < p->n_hooks && !found; i++)
        if (p->hooks[i].script && str_eq(p->hooks[i].event, str_from(hook_event_name(event)))) module_each_reached(p->hooks[i].script, find_cache, &found);
    return found;
}

typedef struct Cache { Store *store; Str scope; int lock; } Cache;

/* Waits for hooks of other calls of the session. The process's deadline bounds it. */
static bool cache_open(const GuardCase *c, Run *run, Cache *out, Error *err) {
    Buf path = { 0 }, text = { 0 };
    bool found = false;
    Value kept = VALUE_GONE;
    out->scope = str_from(arena_fmt(c->arena, "guard:%s:" STR_FMT ":" STR_FMT, vendor_name(c->envelope->vendor),
        STR_ARG(c->envelope->session), STR_ARG(c->root)));
    out->store = runtime_store(c->runtime, err);
    bool ok = out->store && store_default_path(c->root, &path, err);
    if (ok) {
        buf_add(&path, STR("-guard"));
        out->lock = open(path.at, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        ok = out->lock >= 0 || error_set(err, ERR_IO, "%s: %m", path.at);
        while (ok && flock(out->lock, LOCK_EX) != 0)
            if (errno != EINTR) ok = error_set(err, ERR_IO, "%s: %m", path.at);
    }
    ok = ok && store_note_get(out->store, out->scope, STR("cache"), &text, &found, err);
    if (ok && found) ok = json_read(c->heap, buf_str(&text), &(JsonRead){ 0 }, &kept, err) && run_hook_cache_restore(run, kept, err);
    buf_clear(&path);
    buf_clear(&text);
    return ok;
}

static bool cache_close(const GuardCase *c, Run *run, Cache *cache, bool save, Error *err) {
    Value now;
    Buf text = { 0 };
    bool ok = !save || (run_hook_cache_snapshot(run, c->heap, &now, err) && json_write(&text, now, &(JsonWrite){ 0 }, err) &&
                        store_note_put(cache->store, cache->scope, STR("cache"), buf_str(&text), err));
    if (cache->lock >= 0) close(cache->lock);
    buf_clear(&text);
    return ok;
}

/* ---- asking ---- */

static bool has_commands(const Project *p) {
    for (size_t i = 0; i < p->n_hooks; i++)
        if (p->hooks[i].kind == HOOK_COMMAND) return true;
    return false;
}

static void dispatch(const GuardCase *c, Run *run, HookEvent event, Value payload, HookOutcome *o) {
    Error err = { 0 };
    Call who = { .parent = c->envelope->call_id };
    bool commands = has_commands(runtime_project(c->runtime));
    if (commands && !runtime_guard(c->runtime, true, &err)) {
        *o = (HookOutcome){ .decision = HOOK_BLOCK, .payload = payload };
        snprintf(o->reason, sizeof o->reason, "%.500s", err.msg);
        return;
    }
    run_ask_hooks(run, &who, event, c->heap, payload, run_cancel(run), o);
    if (o->commands && !runtime_verify(c->runtime, &err)) {
        o->decision = HOOK_BLOCK;
        snprintf(o->reason, sizeof o->reason, "%.500s", err.msg);
    }
    if (commands) runtime_unguard(c->runtime);
}

/* In a run of the caller, whose runtime starts no programs. */
static bool ask_within(const GuardCase *c, HookEvent event, Value payload, HookOutcome *o) {
    Call who = { .parent = c->envelope->call_id };
    run_ask_hooks(c->run, &who, event, c->heap, payload, c->cancel, o);
    return true;
}

static bool ask(const GuardCase *c, HookEvent event, Value payload, HookOutcome *o, Error *err) {
    Run *run = NULL;
    if (c->run) return ask_within(c, event, payload, o);
    Cache cache = { .lock = -1 };
    bool cached = c->envelope->session.n && uses_cache(runtime_project(c->runtime), event);
    if (!runtime_complete(c->runtime, err)) return false;
    if (!run_start(c->runtime, &(RunConfig){ .no_store = true }, &run, err)) return false;
    bool ok = !cached || cache_open(c, run, &cache, err);
    if (ok) dispatch(c, run, event, payload, o);
    if (cached) ok = cache_close(c, run, &cache, ok, err) && ok;
    Error ignored = { 0 };
    (void)run_end(run, RUN_COMPLETED, &ignored);
    return ok;
}

/* True if a hook of the project would be asked. Checks only conditions that need no script. */
static bool may_judge(const Project *p, HookEvent event, Str tool) {
    for (size_t i = 0; i < p->n_hooks; i++) {
        const HookDef *h = &p->hooks[i];
        if (!str_eq(h->event, str_from(hook_event_name(event)))) continue;
        bool named = h->tools.n == 0;
        for (size_t k = 0; k < h->tools.n; k++) named |= policy_name_matches(h->tools.at[k], tool);
        if (named) return true;
    }
    return false;
}

static bool is_trusted(const GuardCase *c, HookEvent event, GuardRuling *out) {
    Error err = { 0 };
    if (runtime_may_act(c->runtime, &err)) return true;
    guard_ruling_set(out, GUARD_DENY, STR("trust"), "hooks of the project would judge this (%s), and %s", hook_event_name(event), err.msg);
    return false;
}

static void set_place(const GuardCase *c, const HookOutcome *o, GuardRuling *out) {
    const Project *p = runtime_project(c->runtime);
    for (size_t i = 0; i < p->n_hooks && o->hook.n; i++) {
        const HookDef *h = &p->hooks[i];
        if (!str_eq(h->name, o->hook) || (o->file.n && !str_eq(h->origin.file, o->file))) continue;
        out->file = h->origin.file;
        out->line = h->origin.line;
        return;
    }
}

static void judge(const GuardCase *c, HookEvent event, Value payload, GuardRuling *out, HookOutcome *o) {
    Error err = { 0 };
    char said[HOOK_SAID_MAX];
    if (!ask(c, event, payload, o, &err)) {
        guard_ruling_set(out, GUARD_DENY, str_from(hook_event_name(event)), "the hooks could not be asked: %s", err.msg);
        return;
    }
    if (o->decision == HOOK_ALLOW) return;
    guard_ruling_set(out, GUARD_DENY, arena_str(c->arena, o->hook.n ? o->hook : str_from(hook_event_name(event))), "%s", hook_outcome_say(o, "blocked", said));
    set_place(c, o, out);
}

void guard_judge_call_hooks(const GuardCase *c, const GuardCall *call, GuardRuling *out) {
    Value payload;
    Error err = { 0 };
    HookOutcome o = { .decision = HOOK_ALLOW };
    if (!may_judge(runtime_project(c->runtime), HOOK_TOOL_PRE, call->tool) || !is_trusted(c, HOOK_TOOL_PRE, out)) return;
    if (!call_payload(c, call, &payload, &err)) {
        guard_ruling_set(out, GUARD_DENY, STR("tool.pre"), "%s", err.msg);
        return;
    }
    judge(c, HOOK_TOOL_PRE, payload, out, &o);
    if (out->verdict != GUARD_DENY && o.modified) out->changed = value_member(o.payload, "args");
}

static HookEvent hook_event(GuardEvent e) {
    return e == GUARD_EVENT_PROMPT ? HOOK_TURN_START : e == GUARD_EVENT_RESULT ? HOOK_TOOL_POST : HOOK_AGENT_STOP;
}

/* Copilot takes text only. */
static void take_change(const GuardCase *c, HookEvent event, const HookOutcome *o, GuardRuling *out) {
    if (event == HOOK_TOOL_POST) {
        out->changed = value_member(o->payload, "result");
        if (c->envelope->vendor == VENDOR_COPILOT && !value_is_string(out->changed)) out->changed = value_member(o->payload, "content");
        buf_add(&out->reason, STR("a hook of the project changed the result"));
    }
    if (event != HOOK_TOOL_POST) guard_ruling_set(out, GUARD_DENY, str_from(hook_event_name(event)),
        "a hook changed the text of the prompt, which agents do not support");
}

void guard_judge_event_hooks(const GuardCase *c, GuardRuling *out) {
    HookEvent event = hook_event(c->envelope->event);
    HookOutcome o = { .decision = HOOK_ALLOW };
    Value payload;
    Error err = { 0 };
    if (c->envelope->event == GUARD_EVENT_STOP && c->envelope->stop_active) return;        /* a second refusal would keep the agent running for ever */
    if (!may_judge(runtime_project(c->runtime), event, c->envelope->tool) || !is_trusted(c, event, out)) return;
    if (!event_payload(c, event, &payload, &err)) {
        guard_ruling_set(out, GUARD_DENY, str_from(hook_event_name(event)), "%s", err.msg);
        return;
    }
    judge(c, event, payload, out, &o);
    if (out->verdict != GUARD_DENY && o.modified) take_change(c, event, &o, out);
}
