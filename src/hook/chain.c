#include "hook/chain.h"
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "hook/ask.h"
#include "policy/policy.h"
#include "value/json.h"

enum { GARBAGE_MAX = 1 << 20 };          /* garbage that one hook may leave before the heap is collected for the next */

/* ---- which hooks are asked ---- */

static bool named_in(Str name, const Str *at, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(at[i], name)) return true;
    return false;
}

static bool tool_matches(const HookDef *def, Str tool) {
    for (size_t i = 0; i < def->tools.n; i++)
        if (policy_name_matches(def->tools.at[i], tool)) return true;
    return def->tools.n == 0;
}

bool hook_takes_part(const HookDispatch *d, const HookDef *def) {
    if (def->agent.n && !named_in(def->agent, d->agents, d->n_agents) && !named_in(def->name, d->extra, d->n_extra)) return false;
    if ((d->event == HOOK_CUSTOM || d->event == HOOK_META) && !str_eq(def->event, d->name)) return false;
    if (def->kind == HOOK_COMMAND) return tool_matches(def, hook_payload_text(d->payload, STR("name")));
    return def->script != NULL;
}

/* ---- asking one hook ---- */

bool hook_ask_script(HookRun *r, const HookDef *def, HookAnswer *out, Error *err) {
    Value args[2] = { r->held[HOOK_NAME] }, v;
    return hook_payload_copy(r->worker->heap, r->held[HOOK_PAYLOAD], HOOK_COPY_OWN, &args[1], err) &&
           module_call(r->worker->vm, def->script, STR("handle"), args, 2, &v, err) && hook_answer_read(r->info, v, out, err);
}

static bool wants(HookRun *r, const HookDef *def, bool *yes, Error *err) {
    Value args[2] = { r->held[HOOK_PAYLOAD], r->held[HOOK_NAME] }, v;
    if (!def->when) return *yes = true;
    if (!module_call_expression(r->worker->vm, def->when, args, 2, &v, err)) return error_wrap(err, "when");
    return *yes = value_truth(v), true;
}

/* A fresh scope: no globals, frames or limits of the previous hook, and little of its garbage. */
static void make_ready(HookRun *r, const HookDef *def, Cancel *token) {
    vm_reset(r->worker->vm, NULL);
    vm_set_cancel(r->worker->vm, token);
    r->host.cancel = token;
    r->host.source = def->name;
    if (r->d->host) vm_set_call_value(r->worker->vm, r->host.runtime);
    if (heap_stats(r->worker->heap).used > r->taken + GARBAGE_MAX) heap_collect(r->worker->heap);
}

/* A hook that runs again may only allow or block. */
static bool settle(HookRun *r, HookAnswer *a, bool again, Cancel *token, Error *err) {
    Value next;
    if (again && a->says == HOOK_DELEGATE) return error_set(err, ERR_SCRIPT,
        "another hook changed the payload, so this hook ran again: it may then only allow or block");
    if (a->says != HOOK_MODIFY) return true;
    if (!hook_payload_change(r->worker->heap, r->info, r->held[HOOK_PAYLOAD], a->value, token, &next, err)) return false;
    if (value_same(next, r->held[HOOK_PAYLOAD])) return a->says = HOOK_ALLOW, true;
    if (again) return error_set(err, ERR_SCRIPT, "another hook changed the payload, so this hook ran again: it may then only allow or block, not modify");
    a->value = next;
    return true;
}

static bool question(HookRun *r, const HookDef *def, bool again, bool *asked, HookAnswer *a, Error *err) {
    Cancel *token = cancel_new(r->d->cancel, def->timeout_ms > INT64_MAX / 1000000 ? 0 : def->timeout_ms * 1000000);
    make_ready(r, def, token);
    bool ok = wants(r, def, asked, err);
    if (ok && *asked)
        ok = (def->kind == HOOK_COMMAND ? hook_ask_command(r, def, token, a, err) : hook_ask_script(r, def, a, err)) &&
             settle(r, a, again, token, err);
    ok = ok && cancel_check(token, err);                       /* an answer after the deadline does not count */
    vm_set_cancel(r->worker->vm, r->d->cancel);
    r->host.cancel = r->d->cancel;
    cancel_free(token);
    return ok;
}

/* ---- one decision ---- */

static void end_chain(HookRun *r, const HookDef *def, HookDecision decision, bool failed) {
    r->out->decision = decision;
    r->out->hook = def ? def->name : (Str){ 0 };
    r->out->file = def ? def->origin.file : (Str){ 0 };
    r->out->failed = failed;
}

static void fault(HookRun *r, const char *what, const char *why) {
    end_chain(r, NULL, HOOK_BLOCK, true);
    hook_reason_set(r->out->reason, "hooks: %s%s", what, why);
}

/* Checks the cancel token of the whole dispatch. It is not a hook's own deadline, so on_error does not apply. */
static bool cancelled(HookRun *r) {
    Error err;
    if (cancel_check(r->d->cancel, &err)) return false;
    end_chain(r, NULL, HOOK_BLOCK, false);
    hook_reason_set(r->out->reason, "%s", err.msg);
    return true;
}

static void explain(HookRun *r, const HookDef *def, const Error *err) {
    char text[HOOK_REASON_MAX];
    if (err->file[0]) error_format(err, text, sizeof text);
    else hook_reason_set(text, "%s", err->msg);               /* a line is meaningless without its file */
    hook_reason_set(r->out->reason, "hook " STR_FMT " failed: %s", STR_ARG(def->name), text);
}

static void record(HookRun *r, const HookEntry *e, const HookTrace *t) {
    bool blocked = t->decision == HOOK_BLOCK;
    if (e->counter) hook_counter_add(e->counter, blocked, t->failed, t->elapsed_ns);
    if (r->d->trace) r->d->trace(r->d->trace_ctx, t);
    if (t->failed && !blocked) LOG_WRITE(r->host.log, LOG_WARN, STR_FMT, STR_ARG(t->reason));
}

/* Handles a failed hook: blocks, unless its definition or the event ignores failures. */
static bool fail(HookRun *r, const HookDef *def, const Error *err, HookTrace *t) {
    bool passes = def->allow_on_error || r->info->failure == HOOK_FAILS_LOG;
    explain(r, def, err);
    t->failed = true;
    t->decision = passes ? HOOK_ALLOW : HOOK_BLOCK;
    t->reason = str_from(r->out->reason);
    if (!passes) end_chain(r, def, HOOK_BLOCK, true);
    return passes;
}

static bool take_request(HookRun *r, const HookDef *def, Value request, Error *err) {
    Value v;
    Buf text = { 0 };
    bool ok = json_write(&text, request, &(JsonWrite){ .max_bytes = (size_t)64 << 20, .cancel = r->d->cancel }, err) &&
              json_read(r->d->heap, buf_str(&text), &(JsonRead){ 0 }, &v, err);
    buf_clear(&text);
    if (!ok) return error_wrap(err, "the request has no JSON form");
    end_chain(r, def, HOOK_DELEGATE, false);
    r->out->request = v;
    return true;
}

/* True: the chain continues. */
static bool act(HookRun *r, const HookDef *def, HookAnswer *a, HookTrace *t, Error *err) {
    t->decision = a->says;
    switch (a->says) {
    case HOOK_ALLOW: return true;
    case HOOK_MODIFY:
        r->held[HOOK_PAYLOAD] = a->value;
        return r->modified = true;
    case HOOK_DELEGATE: return take_request(r, def, a->value, err) ? false : fail(r, def, err, t);
    default: break;
    }
    end_chain(r, def, HOOK_BLOCK, false);
    if (a->reason[0]) memcpy(r->out->reason, a->reason, sizeof a->reason);
    else hook_reason_set(r->out->reason, "blocked by hook " STR_FMT, STR_ARG(def->name));
    t->reason = str_from(r->out->reason);
    return false;
}

/* Returns false if the chain has ended. */
static bool ask(HookRun *r, const HookEntry *e, bool again) {
    Error err = { 0 };
    HookAnswer a;
    bool asked = true;
    if (cancelled(r)) return false;
    int64_t start = clock_mono_ns();
    a.says = HOOK_ALLOW;
    bool ok = question(r, e->def, again, &asked, &a, &err);
    if (ok && !asked) return true;
    HookTrace t = { .hook = e->def->name, .event = r->d->event, .again = again };
    bool stopped = !ok && cancelled(r);
    bool on = false;
    if (stopped) {
        t.decision = HOOK_BLOCK;
        t.reason = str_from(r->out->reason);
    } else {
        on = ok ? act(r, e->def, &a, &t, &err) : fail(r, e->def, &err, &t);
    }
    t.elapsed_ns = clock_mono_ns() - start;
    record(r, e, &t);
    if (on) r->out->reason[0] = 0;
    return on;
}

/* ---- dispatch ---- */

static bool ask_again(HookRun *r, const HookOrder *o, size_t before) {
    for (size_t i = 0; i < before; i++)
        if (hook_takes_part(r->d, o->at[i].def) && !ask(r, &o->at[i], true)) return false;
    return true;
}

static void ask_all(HookRun *r, const HookOrder *o) {
    for (size_t i = 0; i < o->n; i++) {
        if (!hook_takes_part(r->d, o->at[i].def)) continue;
        Value before = r->held[HOOK_PAYLOAD];
        if (!ask(r, &o->at[i], false)) return;
        if (!value_same(before, r->held[HOOK_PAYLOAD]) && !ask_again(r, o, i)) return;
    }
}

/* Copies the payload, which does not count towards the memory limit of a hook. */
static bool take_payload(HookRun *r, Error *err) {
    Heap *h = r->worker->heap;
    size_t limit = heap_limit(h), before = heap_stats(h).used;
    heap_set_limit(h, 0);
    Str name = r->d->name.n ? r->d->name : str_from(r->info->name);
    String *event = string_new(h, name, err);
    bool ok = event && hook_payload_copy(h, r->d->payload, HOOK_COPY_FOREIGN, &r->held[HOOK_PAYLOAD], err);
    r->taken = heap_stats(h).used;
    heap_set_limit(h, limit ? limit + (r->taken - before) : 0);
    if (!ok) return false;
    r->held[HOOK_NAME] = value_from_object(event);
    value_freeze(r->held[HOOK_PAYLOAD]);
    return true;
}

static void give_payload(HookRun *r) {
    Error err;
    Value v;
    if (r->out->decision != HOOK_ALLOW || !r->modified) return;
    if (!hook_payload_copy(r->d->heap, r->held[HOOK_PAYLOAD], HOOK_COPY_FOREIGN, &v, &err)) {
        fault(r, "the changed payload: ", err.msg);
        return;
    }
    r->out->payload = v;
    r->out->modified = true;
}

static void run(HookRun *r, const HookOrder *o) {
    Error err;
    size_t limit = heap_limit(r->worker->heap), pin = heap_pin(r->worker->heap, r->held, HOOK_HELD);
    if (take_payload(r, &err)) {
        ask_all(r, o);
        give_payload(r);
    } else fault(r, "the payload: ", err.msg);
    heap_unpin(r->worker->heap, pin);
    heap_set_limit(r->worker->heap, limit);
}

/* A notification has no decision: it always passes. */
static void only_told(HookRun *r) {
    if (r->info->failure != HOOK_FAILS_LOG) return;
    if (r->out->decision == HOOK_BLOCK) LOG_WRITE(r->host.log, LOG_WARN, "%s", r->out->reason);
    end_chain(r, NULL, HOOK_ALLOW, false);
    r->out->reason[0] = 0;
}

static bool anybody(const HookDispatch *d, const HookOrder *o) {
    for (size_t i = 0; o && i < o->n; i++)
        if (hook_takes_part(d, o->at[i].def)) return true;
    return false;
}

void hook_dispatch(Hooks *h, const HookDispatch *d, HookOutcome *out) {
    *out = (HookOutcome){ .decision = HOOK_ALLOW, .payload = d->payload, .request = VALUE_GONE };
    const HookOrder *o = hook_list_order(h, d->event);
    if (!anybody(d, o)) return;
    HookRun r = { .project = hook_list_project(h), .d = d, .out = out, .info = hook_event_info(d->event) };
    if (d->host) r.host = *d->host;
    if (!value_is_dict(d->payload)) fault(&r, "", "the payload is not a dict");
    else if (d->nesting > HOOK_NESTING_MAX) fault(&r, "", "events are nested too deep");
    else {
        r.worker = worker_take(hook_list_workers(h), d->host ? &r.host : NULL, d->cancel);
        run(&r, o);
        worker_give(hook_list_workers(h), r.worker);
    }
    only_told(&r);
}

const char *hook_outcome_say(const HookOutcome *o, const char *did, char out[HOOK_SAID_MAX]) {
    if (o->failed || o->hook.n == 0) return o->reason;
    snprintf(out, HOOK_SAID_MAX, "%s by hook " STR_FMT ": %s", did, STR_ARG(str_sub(o->hook, 0, 128)), o->reason);
    return out;
}
