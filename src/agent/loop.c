/* The loop: model, calls, results, model … until there are no calls and no hook requests more. */
#include <stdio.h>
#include <stdlib.h>
#include "agent/context.h"
#include "agent/delegate.h"
#include "agent/journal.h"
#include "agent/summary.h"
#include "base/mem.h"
#include "model/request.h"
#include "tool/task/task.h"

#define STOP_ID "stop_delegate"           /* prefix of the ids of agent.stop's delegations */
enum { STOPS_MAX = 3, HOPS_MAX = 8 };    /* how often agent.stop may reject one answer, or delegate */

/* ---- messages added by harness ---- */

bool frame_say(Frame *f, Role role, Str text, Error *err) {
    Buf data = { 0 };
    event_data_start(&data);
    event_data_str(&data, "role", str_from(request_role_name(role)));
    event_data_str(&data, "text", text);
    event_data_end(&data);
    bool ok = frame_event(f, EVENT_TURN_MESSAGE, &data, err) && frame_push(f, role, text, err);
    buf_clear(&data);
    return ok;
}

static void note_task(void *ctx, Str id, Str tool, Str status) {
    buf_add_fmt(ctx, "[background task " STR_FMT " (" STR_FMT ") is " STR_FMT "]\n", STR_ARG(id), STR_ARG(tool), STR_ARG(status));
}

static bool announce_tasks(Frame *f, Error *err) {
    if (f->depth > 0) return true;
    Buf news = { 0 };
    task_announce(f->s->run, note_task, &news);
    bool ok = news.n == 0 || frame_say(f, ROLE_USER, str_trim(buf_str(&news)), err);
    buf_clear(&news);
    return ok;
}

/* Messages that other processes have sent to the run. */
static bool say_messages(Frame *f, Error *err) {
    Buf text = { 0 }, data = { 0 };
    int64_t n;
    bool ok = true;
    while (ok && f->depth == 0 && run_take_message(f->s->run, &n, &text)) {
        buf_reset(&data);
        event_data_start(&data);
        event_data_str(&data, "role", str_from(request_role_name(ROLE_USER)));
        event_data_str(&data, "text", buf_str(&text));
        event_data_int(&data, "command", n);
        event_data_end(&data);
        ok = frame_event(f, EVENT_TURN_MESSAGE, &data, err) && frame_push(f, ROLE_USER, buf_str(&text), err);
    }
    buf_clear(&text);
    buf_clear(&data);
    return ok;
}

/* ---- the context of one reply ---- */

/* *out is GONE if there is no prompt. */
static bool system_message(Frame *f, Heap *heap, Value *out, Error *err) {
    Buf prompt = { 0 };
    bool ok = frame_prompt(f, &prompt, err);
    *out = VALUE_GONE;
    if (ok && prompt.n) {
        Dict *d = dict_new(heap, 2, err);
        ok = d && dict_put_text(heap, d, "role", str_from(request_role_name(ROLE_SYSTEM)), err) && dict_put_text(heap, d, "content", buf_str(&prompt), err);
        if (ok) *out = value_from_object(d);
    }
    buf_clear(&prompt);
    return ok;
}

static int64_t tools_tokens(const List *tools) {
    int64_t n = 0;
    for (uint32_t i = 0; i < tools->n; i++) {
        Buf text = { 0 };
        json_write(&text, value_member(tools->at[i], "parameters"), NULL, NULL);
        n += context_tokens(buf_str(&text)) + context_tokens(value_member_text(tools->at[i], "description")) + 8;
        buf_clear(&text);
    }
    return n;
}

static bool assemble(Frame *f, Completion *c, Cancel *cancel, Error *err) {
    const Limits *l = runtime_limits(f->s->agents->rt);
    List *tools, *fitting;
    Value system;
    ContextReport report;
    if (!system_message(f, c->heap, &system, err) || !frame_tools(f, c->heap, &tools, err)) return false;
    ContextLimits limits = { l->context.max_history, l->context.max_tokens };
    int64_t reserved = limits.max_tokens ? tools_tokens(tools) : 0;
    if (!context_fit(c->heap, system, &f->history, limits, reserved, &fitting, &report, err)) return false;
    c->context = report.tokens + reserved;
    c->context_max = limits.max_tokens;
    if (!summary_add(f, c->heap, &report, fitting, cancel, err)) return false;
    c->messages = value_from_object(fitting);
    c->tools = value_from_object(tools);
    return true;
}

/* ---- calls ---- */

/* The calls of one reply to make: `of` maps each to its index in the reply. */
typedef struct Batch { Call *calls; Result *results; size_t *of; size_t n; Str *removed; size_t n_removed; } Batch;

static const ToolEntry *tool_of(const Frame *f, Str name) {
    return registry_find(runtime_registry(f->s->agents->rt), name, f->agents, f->n_agents);
}

static bool nested_again(const Frame *f, Str name) {
    const ToolEntry *e = tool_of(f, name);
    return e && safety_repeatable(&e->safety);
}

/* True if an interrupted call may be made again. Its tool at the time, the current tool, and every nested call must
 * allow it. A delegation continues from the sub-agent's own journal instead. */
static bool in_flight_again(const Frame *f, Str id, Str name) {
    const ToolEntry *e = tool_of(f, name);
    if (!e) return false;                                    /* the tool existed then: it was registered at run time,
                                                              * or the project has changed */
    if (journal_call(f->s, id).once || !tool_may_resume(e)) return false;
    return !safety_repeatable(&e->safety) || journal_nested_may_repeat(f, id, nested_again);
}

/* Secrets are not stored, so another process cannot repeat a call whose arguments contained one. */
static bool lost_secret(Str arguments) { return str_find(arguments, STR("[redacted]")) >= 0; }

/* Adds the result of a call that this process does not make. One that an earlier process had begun counts towards the limits. */
static bool push_unmade(Frame *f, Str id, Str name, JournalState state, Error *err) {
    Str why = state == JOURNAL_IN_FLIGHT ? STR("interrupted: outcome unknown")
        : STR("interrupted before it was made: its arguments contained a secret, which is not stored");
    Buf data = { 0 }, json = { 0 };
    if (state == JOURNAL_IN_FLIGHT) run_add_calls(f->s->run, 1);
    buf_add_char(&json, '{');
    request_string(&json, "error", why);
    buf_add_char(&json, '}');
    Str text = buf_str(&json);
    event_data_start(&data);
    event_data_str(&data, "id", id);
    event_data_str(&data, "name", name);
    event_data_str(&data, "error", why);
    event_data_str(&data, "text", text);
    event_data_end(&data);
    bool ok = frame_event(f, EVENT_TOOL_FAILED, &data, err) && frame_push_result(f, id, text, true, STR(""), NULL, err);
    buf_clear(&data);
    buf_clear(&json);
    return ok;
}

/* Tools removed by a hook in this turn, and those that the agent and enclosing ones may not use: names, which also
 * apply to tools registered later. The caller frees the list; the names are borrowed. */
static Str *taken_away(const Frame *f, const Completion *c, size_t *n) {
    const List *by_hook = c ? c->removed : NULL;
    Str *out = mem_zero(f->n_blocked + (by_hook ? by_hook->n : 0) + 1, sizeof *out);
    *n = 0;
    for (size_t i = 0; i < f->n_blocked; i++) out[(*n)++] = f->blocked[i];
    for (uint32_t i = 0; by_hook && i < by_hook->n; i++) out[(*n)++] = value_str(by_hook->at[i]);
    if (!frame_spawns(f)) out[(*n)++] = STR("delegate_async");
    return out;
}

/* Redacts the displayed copy of a call; the call itself runs unchanged. */
static void hide_secrets(const Frame *f, Str name, Buf *json) {
    Redactor *r = runtime_redactor(f->s->agents->rt);
    const ToolEntry *e = registry_find(runtime_registry(f->s->agents->rt), name, f->agents, f->n_agents);
    if (!redact_empty(r)) redact_json(r, json);
    if (e && e->redact) redact_json(e->redact, json);
}

static void on_ended(void *ctx, const Result *r) {
    const Frame *f = ctx;
    const SessionWatch *w = &f->s->config.watch;
    Result shown = *r;
    Buf name = { 0 };
    buf_add(&name, r->name);
    hide_secrets(f, (Str){ 0 }, &name);                      /* for an unknown tool, the model's own text */
    shown.name = buf_str(&name);
    w->tool_ended(w->ctx, f->name, f->depth, &shown);
    buf_clear(&name);
}

static void on_begun(void *ctx, const Call *call) {
    const Frame *f = ctx;
    const SessionWatch *w = &f->s->config.watch;
    Buf name = { 0 }, arguments = { 0 };
    buf_add(&name, call->name);
    buf_add(&arguments, call->arguments);
    hide_secrets(f, (Str){ 0 }, &name);
    hide_secrets(f, call->name, &arguments);
    w->tool_started(w->ctx, f->name, f->depth, call->id, buf_str(&name), buf_str(&arguments));
    buf_clear(&name);
    buf_clear(&arguments);
}

static Call *start_call(Frame *f, Value call, Batch *b) {
    const SessionWatch *w = &f->s->config.watch;
    Call *out = &b->calls[b->n++];
    *out = (Call){ .id = value_member_text(call, "id"), .name = value_member_text(call, "name"), .arguments = value_member_text(call, "arguments"),
                   .removed = b->removed, .n_removed = b->n_removed, .media = true, .begun = w->tool_started ? on_begun : NULL,
                   .ended = w->tool_ended ? on_ended : NULL, .ended_ctx = f };
    frame_call(f, out);
    return out;
}

/* Selects the calls still to be made. In a resumed run some have results, and some may not be repeated. */
static void choose(Frame *f, const Completion *c, const List *calls, bool unbounded, Batch *b) {
    for (uint32_t i = 0; i < calls->n; i++) {
        Str id = value_member_text(calls->at[i], "id"), name = value_member_text(calls->at[i], "name");
        JournalCall known = journal_call(f->s, id);
        if (known.state == JOURNAL_DONE || (known.state == JOURNAL_IN_FLIGHT && !in_flight_again(f, id, name))) continue;
        if (!c && lost_secret(value_member_text(calls->at[i], "arguments"))) continue;
        b->of[b->n] = i;
        Call *call = start_call(f, calls->at[i], b);
        call->key = known.key;
        call->before = unbounded ? 0 : i;
    }
}

/* Ends the turn after a call: a limit, an error the model cannot repair, or cancellation. */
static bool end_by(Frame *f, SessionReply *out, const Result *r, Str name, Cancel *cancel, Error *err) {
    if (!r->is_error || r->cls != RESULT_FATAL || out->status) return true;
    if (!frame_stopped(f, cancel, &out->status, out->reason, err)) return false;
    if (out->status) return true;
    out->status = r->step == STEP_LIMITS ? RUN_LIMITED : RUN_FAILED;
    snprintf(out->reason, sizeof out->reason, STR_FMT ": " STR_FMT, STR_ARG(name), STR_ARG(r->error));
    return true;
}

static bool push_own(Frame *f, Str id, const Result *r, Error *err) {
    List *media = NULL;
    if (r->media.n && !parts_from_blocks(f->heap, r->content, &media, err)) return false;
    return frame_push_result(f, id, r->text, r->is_error, r->artifact, media, err);
}

static bool push_results(Frame *f, const List *calls, const Batch *b, Cancel *cancel, SessionReply *out, Error *err) {
    for (uint32_t i = 0, next = 0; i < calls->n; i++) {
        Str id = value_member_text(calls->at[i], "id"), name = value_member_text(calls->at[i], "name");
        JournalCall known = journal_call(f->s, id);
        bool ok;
        if (next < b->n && b->of[next] == i) {
            const Result *r = &b->results[next++];
            if (r->artifact.n) VEC_PUSH(&f->artifacts, arena_str(&f->arena, r->artifact));
            ok = push_own(f, id, r, err) && end_by(f, out, r, name, cancel, err)
              && frame_count_refusal(f, r, value_member_text(calls->at[i], "arguments"), out, err);
        } else if (known.state == JOURNAL_DONE) {
            ok = journal_push_result(f, id, &known, err);
        } else {
            ok = push_unmade(f, id, name, known.state, err);
        }
        if (!ok) return false;
    }
    return true;
}

bool frame_run_calls(Frame *f, const Completion *c, const List *calls, Cancel *cancel, SessionReply *out, Error *err) {
    Batch b = { .calls = mem_zero(calls->n + 1, sizeof *b.calls), .results = mem_zero(calls->n + 1, sizeof *b.results),
                .of = mem_zero(calls->n + 1, sizeof *b.of) };
    b.removed = taken_away(f, c, &b.n_removed);
    choose(f, c, calls, frame_many_calls(f, calls->n, cancel), &b);
    bool ok = tool_call_all(f->s->run, b.calls, b.n, cancel, b.results, err);
    if (ok) {
        f->tool_calls += (int64_t)calls->n;
        ok = push_results(f, calls, &b, cancel, out, err);
        for (size_t i = 0; i < b.n; i++) result_clear(&b.results[i]);
    }
    free(b.calls);
    free(b.results);
    free(b.of);
    free(b.removed);
    return ok;
}

/* ---- agent.stop ---- */

/* The calls and results since the user's last message. */
static bool gather_calls(Frame *f, Heap *h, List **calls, List **results, Error *err) {
    *calls = list_new(h, 4, err);
    List *raw = list_new(h, 4, err);
    if (!*calls || !raw) return false;
    for (size_t i = f->history.n ? VEC_LAST(&f->history).asked : 0; i < f->history.n; i++) {
        Value m = f->history.at[i].value, copy;
        const List *made = request_list(m, "tool_calls");
        for (uint32_t k = 0; made && k < made->n; k++)
            if (!value_copy_all_into(h, made->at[k], &copy, err) || !list_push(h, *calls, copy, err)) return false;
        if (f->history.at[i].role == ROLE_TOOL && (!list_push(h, raw, m, err))) return false;
    }
    Value copy;
    if (!parts_show(h, raw, results, err) || !value_copy_all_into(h, value_from_object(*results), &copy, err)) return false;
    return *results = value_list(copy), true;
}

static bool stop_payload(Frame *f, const Completion *c, Value *out, Error *err) {
    Heap *h = c->heap;
    Dict *d = dict_new(h, 7, err), *usage = dict_new(h, 2, err);
    List *calls, *results;
    if (!d || !usage || !gather_calls(f, h, &calls, &results, err)) return false;
    *out = value_from_object(d);
    return dict_put_str(h, usage, STR("input"), value_from_small(f->usage.input), err)
        && dict_put_str(h, usage, STR("output"), value_from_small(f->usage.output), err)
        && dict_put_text(h, d, "id", f->id.n ? f->id : run_id(f->s->run), err) && dict_put_text(h, d, "finish_reason", str_from(c->reply.finish_reason), err)
        && dict_put_str(h, d, STR("iteration"), value_from_small(f->iterations), err)
        && dict_put_text(h, d, "response", buf_str(&c->reply.text), err) && dict_put_str(h, d, STR("tool_calls"), value_from_object(calls), err)
        && dict_put_str(h, d, STR("tool_results"), value_from_object(results), err)
        && dict_put_str(h, d, STR("usage"), value_from_object(usage), err);
}

/* A hook delegates the answer to another agent; that agent's answer goes back to this one's model. */
static bool stop_delegate(Frame *f, const HookOutcome *o, Completion *c, Cancel *cancel, Error *err) {
    Value result;
    Buf text = { 0 };
    f->hops++;
    Str id = frame_hook_id(f, STR(STOP_ID), value_member_text(o->request, "agent"));
    bool ok = delegate_run(f, f->lane, o->request, id, cancel, c->heap, &result, err);
    if (ok) {
        Value error = value_member(result, "error");
        buf_add_fmt(&text, "[hook " STR_FMT " asked agent " STR_FMT "] ", STR_ARG(o->hook), STR_ARG(value_member_text(o->request, "agent")));
        buf_add(&text, value_is_string(error) ? value_str(error) : value_member_text(result, "response"));
        ok = frame_say(f, ROLE_USER, buf_str(&text), err);
    }
    buf_clear(&text);
    return ok;
}

/* A hook that delegates every answer to the same agent would also delegate that agent's answers, without end. */
static bool stop_circles(const Frame *f, Str agent) {
    for (const Frame *at = f; at; at = at->up)
        if (str_starts(at->id, STR(STOP_ID)) && str_eq(at->name, agent)) return true;
    return false;
}

static bool end_stop(SessionReply *out, const char *reason) {
    out->status = RUN_BLOCKED;
    snprintf(out->reason, sizeof out->reason, "agent.stop: %s", reason);
    return true;
}

/* *more: the answer was not the last one. */
static bool ask_stop(Frame *f, Completion *c, Cancel *cancel, SessionReply *out, bool *more, Error *err) {
    *more = false;
    if (!frame_hooked(f, HOOK_AGENT_STOP)) return true;
    Value payload;
    HookOutcome o;
    if (!stop_payload(f, c, &payload, err)) return false;
    frame_ask(f, HOOK_AGENT_STOP, c->heap, payload, cancel, &o);
    if (o.decision == HOOK_ALLOW) return true;
    if (o.decision == HOOK_DELEGATE) {
        if (stop_circles(f, value_member_text(o.request, "agent"))) return end_stop(out, "the hook delegates in a circle");
        if (f->hops >= HOPS_MAX) return end_stop(out, "too many delegations in a row");
        return *more = true, stop_delegate(f, &o, c, cancel, err);
    }
    bool again = f->stops < (o.failed ? 1 : STOPS_MAX);
    if (!again) return o.failed || end_stop(out, o.reason);          /* a failing hook blocks once, not for ever */
    f->stops++;
    *more = true;
    return frame_say(f, ROLE_USER, str_from(o.reason), err);
}

bool frame_settle(Frame *f, Str text, Cancel *cancel, SessionReply *out, bool *more, Error *err) {
    Completion c = { .heap = heap_new((size_t)512 << 20) };
    buf_add(&c.reply.text, text);
    buf_reset(&out->text);
    buf_add(&out->text, text);
    snprintf(c.reply.finish_reason, sizeof c.reply.finish_reason, "stop");
    bool ok = ask_stop(f, &c, cancel, out, more, err);
    model_reply_clear(&c.reply);
    heap_free(c.heap);
    return ok;
}

/* ---- one round ---- */

static void take_text(SessionReply *out, const Buf *text) {
    buf_reset(&out->text);
    buf_add(&out->text, buf_str(text));
}

static bool round_once(Frame *f, Completion *c, Cancel *cancel, SessionReply *out, bool *more, Error *err) {
    *more = false;
    if (!assemble(f, c, cancel, err) || !frame_complete(f, f->model, &f->model_def, c, cancel, err)) return false;
    out->turns++;
    if (c->status) {
        out->status = c->status;
        snprintf(out->reason, sizeof out->reason, "%s", c->reason);
        return true;
    }
    const List *calls = value_list(c->reply.tool_calls);
    if (!frame_push_answer(f, buf_str(&c->reply.text), c->reply.tool_calls, c->parts, err)) return false;
    take_text(out, &c->reply.text);
    if (calls->n) {
        *more = true;
        return frame_run_calls(f, c, calls, cancel, out, err);
    }
    if (c->reply.truncated) {
        bool told = frame_limit_reached(f, "model.max_tokens", f->model_def.max_tokens, &out->status, out->reason, err);
        snprintf(out->reason, sizeof out->reason, "the model's reply was cut off: its max_tokens was reached");
        return told;
    }
    if (!frame_check_output(f, out, more, err)) return false;
    return *more || out->status || ask_stop(f, c, cancel, out, more, err);
}

bool frame_loop(Frame *f, Cancel *cancel, SessionReply *out, Error *err) {
    int64_t calls_before = f->tool_calls;
    bool ok = true, more = true;
    while (ok && more && !out->status) {
        if (!(ok = frame_stopped(f, cancel, &out->status, out->reason, err)) || out->status) break;
        if (f->depth == 0 && run_draining(f->s->run)) {
            out->status = RUN_INTERRUPTED;
            break;
        }
        ok = announce_tasks(f, err) && say_messages(f, err) && frame_over_limit(f, cancel, &out->status, out->reason, err);
        if (!ok || out->status) break;
        Completion c = { .heap = heap_new((size_t)512 << 20) };
        ok = round_once(f, &c, cancel, out, &more, err);
        model_reply_clear(&c.reply);
        heap_free(c.heap);
    }
    if (ok && !out->status) out->status = RUN_COMPLETED;
    out->tool_calls += f->tool_calls - calls_before;
    out->usage = f->usage;
    return ok;
}
