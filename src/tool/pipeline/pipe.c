#include "tool/pipeline/pipe.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/number.h"
#include "value/json.h"

/* ---- acquire and release ---- */

static Pipe *unused(Runtime *rt) {
    Pipe *p = atomic_exchange_explicit(&rt->pipe, NULL, memory_order_acquire);
    if (p) return p;
    pthread_mutex_lock(&rt->lock);
    p = rt->pipes;
    if (p) rt->pipes = p->kept.next;
    pthread_mutex_unlock(&rt->lock);
    return p ? p : mem_zero(1, sizeof *p);
}

/* Every call has two ids: call_PREFIX_N and PREFIX-N. */
static Str number_id(Arena *a, Str word, Str prefix, char mark, uint64_t number) {
    char *out = arena_alloc(a, word.n + prefix.n + NUMBER_TEXT_SIZE);
    memcpy(out, word.at, word.n);
    memcpy(out + word.n, prefix.at, prefix.n);
    size_t n = word.n + prefix.n;
    out[n++] = mark;
    n += number_write_i64((int64_t)number, out + n);
    out[n] = 0;
    return (Str){ out, n };
}

static void set_ids(Pipe *p, Run *r, const Call *call) {
    uint64_t number = (uint64_t)atomic_fetch_add(&r->calls_made, 1) + 1;
    if (call->id.n) p->f.call_id = arena_str(&p->kept.arena, call->id);
    else p->f.call_id = number_id(&p->kept.arena, STR("call_"), (Str){ r->prefix, 8 }, '_', number);
    if (call->key.n) p->f.idempotency_key = arena_str(&p->kept.arena, call->key);
    else p->f.idempotency_key = number_id(&p->kept.arena, STR(""), (Str){ r->prefix, sizeof r->prefix - 1 }, '-', number);
}

Pipe *pipe_take(Run *r, const Call *call, Cancel *cancel, Result *out) {
    Pipe *p = unused(r->rt);
    if (!cancel) cancel = r->cancel;
    *p = (Pipe){ .kept = p->kept, .host = r->host, .out = out, .keep = VALUE_GONE, .text_of = VALUE_GONE,
                 .f = { .runtime = r->rt, .run = r, .call = call, .cancel = cancel, .host = &p->host, .args = VALUE_GONE,
                        .injected = VALUE_GONE, .value = VALUE_NONE, .content = VALUE_GONE, .exit_code = -1 } };
    p->host.call = p;
    p->host.cancel = cancel;
    p->f.worker = worker_take(r->rt->workers, &p->host, cancel);
    p->f.heap = p->f.worker->heap;
    set_ids(p, r, call);
    *out = (Result){ .call_id = p->f.call_id, .name = arena_str(&p->kept.arena, call->name), .value = VALUE_NONE, .content = VALUE_GONE, .held = p };
    p->start_ns = p->step_ns = p->mark_ns = clock_mono_ns();
    return p;
}

enum { BUF_KEEP = 1 << 16 };             /* release a buffer that has grown large */

static void shrink(Buf *b) { b->cap > BUF_KEEP ? buf_clear(b) : buf_reset(b); }

void pipe_give(Pipe *p) {
    Runtime *rt = p->f.runtime;
    heap_set_limit(p->f.heap, (size_t)rt->limits.script_heap_bytes);
    worker_give(rt->workers, p->f.worker);
    p->kept.arena.total > BUF_KEEP ? arena_clear(&p->kept.arena) : arena_reset(&p->kept.arena);
    shrink(&p->kept.args_json);
    shrink(&p->kept.text);
    shrink(&p->kept.data);
    shrink(&p->kept.agreed_args);
    shrink(&p->kept.approval);
    shrink(&p->kept.change);
    shrink(&p->kept.seen.shown);
    shrink(&p->kept.seen.path);
    Pipe *none = NULL;
    if (atomic_compare_exchange_strong_explicit(&rt->pipe, &none, p, memory_order_release, memory_order_relaxed)) return;
    pthread_mutex_lock(&rt->lock);
    p->kept.next = rt->pipes;
    rt->pipes = p;
    pthread_mutex_unlock(&rt->lock);
}

void pipe_free(Pipe *p) {
    arena_clear(&p->kept.arena);
    buf_clear(&p->kept.args_json);
    buf_clear(&p->kept.text);
    buf_clear(&p->kept.data);
    buf_clear(&p->kept.agreed_args);
    buf_clear(&p->kept.approval);
    buf_clear(&p->kept.change);
    buf_clear(&p->kept.seen.shown);
    buf_clear(&p->kept.seen.path);
    free(p);
}

/* ---- events and trace ---- */

EventPlace pipe_place(const Pipe *p) {
    const Call *c = p->f.call;
    return (EventPlace){ .agent = c->agent, .parent = c->parent, .depth = c->depth };
}

const Person *pipe_person(const Pipe *p) { return p->f.call->person ? p->f.call->person : &p->f.run->config.person; }

bool pipe_listened(const Pipe *p) { return event_stream_listened(p->f.run->events); }

void pipe_event_start(Pipe *p) {
    buf_reset(&p->kept.data);
    event_data_start(&p->kept.data);
    event_data_str(&p->kept.data, "id", p->f.call_id);
    event_data_str(&p->kept.data, "name", p->out->name);
}

bool pipe_event_tampered(Pipe *p, const Error *err) {
    if (!pipe_listened(p)) return true;
    pipe_event_start(p);
    event_data_str(&p->kept.data, "message", str_from(err->msg));
    return pipe_event_end(p, EVENT_SANDBOX_TAMPERED);
}

bool pipe_event_end(Pipe *p, EventType type) {
    MEM_UNSET Error err;
    error_none(&err);
    event_data_end(&p->kept.data);
    if (p->f.entry && p->f.entry->redact) redact_json(p->f.entry->redact, &p->kept.data);
    return event_emit(p->f.run->events, pipe_place(p), type, buf_str(&p->kept.data), &err) || pipe_broken(p, &err);
}

void pipe_tell(Pipe *p, CallStep step, const char *fmt, ...) {
    Buf detail = { 0 };
    va_list ap;
    va_start(ap, fmt);
    buf_add_vfmt(&detail, fmt, ap);
    va_end(ap);
    if (!redact_empty(p->f.runtime->redactor)) redact_text(p->f.runtime->redactor, &detail);
    if (p->f.entry && p->f.entry->redact) redact_text(p->f.entry->redact, &detail);
    int64_t now = clock_mono_ns();
    p->f.call->trace(p->f.call->trace_ctx, step, now - p->step_ns, buf_str(&detail));
    p->step_ns = clock_mono_ns();
    buf_clear(&detail);
}

/* ---- ending a call ---- */

bool pipe_broken(Pipe *p, const Error *err) {
    if (!p->broken) p->kept.err = *err;
    p->broken = true;
    return false;
}

void pipe_redact_text(Pipe *p, Buf *text) {
    if (!redact_empty(p->f.runtime->redactor)) redact_text(p->f.runtime->redactor, text);
    if (p->f.entry && p->f.entry->redact) redact_text(p->f.entry->redact, text);
}

/* If the message does not fit into the heap, the value gets a shorter one. */
void pipe_set_error(Pipe *p, Str message) {
    Result *r = p->out;
    Heap *h = p->f.heap;
    Error err;
    Buf text = { 0 };
    heap_set_limit(h, 0);
    buf_add(&text, message);
    pipe_redact_text(p, &text);
    r->error = arena_str(&p->kept.arena, buf_str(&text));
    buf_clear(&text);
    r->is_error = true;
    r->content = VALUE_GONE;
    Dict *d = dict_new(h, 2, &err);
    Value said;
    if (d && kind_text_value(h, r->error, &said, &err) && dict_put_str(h, d, STR("error"), said, &err) &&
        (!r->timed_out || dict_put_str(h, d, STR("timed_out"), VALUE_TRUE, &err)))
        r->value = value_from_object(d), r->error = arena_str(&p->kept.arena, value_str(said));
}

void pipe_fail(Pipe *p, CallStep step, Str rule, ResultClass cls, Str message) {
    p->out->step = step;
    p->out->rule = rule;
    p->out->cls = cls;
    pipe_set_error(p, message);
}

void pipe_classify(Pipe *p, Repair repair, Buf *message) {
    const Limits *l = &p->f.runtime->limits;
    const struct { const char *setting; bool allowed; ResultRefusal refusal; } rows[] = {
        [REPAIR_NEVER] = { NULL, false, RESULT_NOT_REFUSED },
        [REPAIR_ARGUMENTS] = { "limits.repair.invalid_arguments", l->repair.invalid_arguments, RESULT_FAULT },
        [REPAIR_UNKNOWN_TOOL] = { "limits.repair.unknown_tool", l->repair.unknown_tool, RESULT_FAULT },
        [REPAIR_REFUSED] = { "limits.repair.refused", l->repair.refused, RESULT_VETO },
    };
    p->out->refusal = rows[repair].refusal;
    p->out->cls = rows[repair].allowed ? RESULT_REPAIRABLE : RESULT_FATAL;
    if (rows[repair].setting && !rows[repair].allowed) buf_add_fmt(message, " (%s is false)", rows[repair].setting);
}

void pipe_step_ends(Pipe *p, CallStep step) {
    int64_t now = clock_mono_ns();
    p->steps_ns[step] += now - p->mark_ns;
    p->mark_ns = now;
}

void pipe_event_steps(Pipe *p) {
    event_data_key(&p->kept.data, STR("steps"));
    event_data_start(&p->kept.data);
    for (CallStep s = STEP_RESOLVE; s <= STEP_BOUND; s++)
        if (p->steps_ns[s] >= 1000) event_data_ms(&p->kept.data, result_step_name(s), p->steps_ns[s]);
    event_data_end(&p->kept.data);
}

bool pipe_refuse(Pipe *p, CallStep step, Str rule, Repair repair, const char *fmt, ...) {
    Buf message = { 0 };
    va_list ap;
    va_start(ap, fmt);
    buf_add_vfmt(&message, fmt, ap);
    va_end(ap);
    pipe_classify(p, repair, &message);
    Result *r = p->out;
    p->reached = false;                                   /* an earlier attempt may have been executed, but this error ends the call */
    p->ended = true;
    r->timed_out = false;
    r->step = step;
    r->rule = arena_str(&p->kept.arena, rule);
    pipe_set_error(p, buf_str(&message));
    buf_clear(&message);
    pipe_trace(p, step, "refused: " STR_FMT, STR_ARG(r->error));
    if (!pipe_listened(p)) return false;
    pipe_step_ends(p, step <= STEP_BOUND ? step : STEP_RESOLVE);
    pipe_event_start(p);
    event_data_str(&p->kept.data, "step", str_from(result_step_name(step)));
    if (r->rule.n) event_data_str(&p->kept.data, "rule", r->rule);
    if (r->rule_file.n) event_data_str(&p->kept.data, "file", r->rule_file);
    event_data_str(&p->kept.data, "message", r->error);
    pipe_event_steps(p);
    pipe_event_end(p, EVENT_TOOL_REFUSED);
    return false;
}

/* ---- hooks ---- */

static void on_decision(void *ctx, const HookTrace *t) {
    Pipe *p = ctx;
    pipe_trace(p, STEP_HOOK, STR_FMT " %s: %s%s%s" STR_FMT, STR_ARG(t->hook), hook_event_name(t->event), hook_decision_name(t->decision),
               t->again ? " (asked again)" : "", t->reason.n ? ": " : "", STR_ARG(t->reason));
    if (!pipe_listened(p)) return;
    buf_reset(&p->kept.data);
    event_data_start(&p->kept.data);
    event_data_str(&p->kept.data, "id", p->f.call_id);
    event_data_str(&p->kept.data, "hook", t->hook);
    event_data_str(&p->kept.data, "event", str_from(hook_event_name(t->event)));
    event_data_str(&p->kept.data, "decision", str_from(hook_decision_name(t->decision)));
    if (t->reason.n) event_data_str(&p->kept.data, "reason", t->reason);
    if (t->failed) event_data_bool(&p->kept.data, "failed", true);
    event_data_int(&p->kept.data, "elapsed_us", t->elapsed_ns / 1000);
    pipe_event_end(p, EVENT_HOOK_DECIDED);
}

/* Nested dispatches count once in hooks_ns. */
void pipe_dispatch(Pipe *p, HookEvent event, Str name, Value payload, HookOutcome *out) {
    const Call *call = p->f.call;
    Run *r = p->f.run;
    Host host = r->hook_host;
    host.call = p;
    host.cancel = p->f.cancel;
    bool told = pipe_listened(p) || pipe_traced(p);
    HookDispatch d = { .event = event, .name = name, .payload = payload, .heap = p->f.heap, .host = &host, .cancel = p->f.cancel,
                       .agents = call->agents, .n_agents = call->n_agents, .extra = call->hooks, .n_extra = call->n_hooks, .session = r->id,
                       .call_id = p->f.call_id, .nesting = p->hook_nesting, .trace = told ? on_decision : NULL, .trace_ctx = p };
    int64_t since = clock_mono_ns();
    p->hook_nesting++;
    hook_dispatch(run_hooks(r), &d, out);
    if (--p->hook_nesting == 0) p->hooks_ns += clock_mono_ns() - since;
}

void run_ask_hooks(Run *r, const Call *who, HookEvent event, Heap *heap, Value payload, Cancel *cancel, HookOutcome *out) {
    Result none;
    Error err = { 0 };
    if (!runtime_may_act(r->rt, &err)) {
        *out = (HookOutcome){ .decision = HOOK_BLOCK, .payload = payload, .request = VALUE_GONE };
        snprintf(out->reason, sizeof out->reason, "%.500s", err.msg);
        return;
    }
    Pipe *p = pipe_take(r, who, cancel, &none);
    Heap *own = p->f.heap;
    p->f.call_id = who->parent;
    p->f.heap = heap;                    /* the outcome is created in the caller's heap */
    pipe_dispatch(p, event, (Str){ 0 }, payload, out);
    p->f.heap = own;
    if (p->broken) {
        out->decision = HOOK_BLOCK;      /* do not act if the event cannot be written */
        snprintf(out->reason, sizeof out->reason, "%.500s", p->kept.err.msg);
    }
    pipe_give(p);
}
