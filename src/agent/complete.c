/* One model reply: limits, completion.pre, the model, completion.post, and the events from which a resumed run is
 * rebuilt. */
#include <stdio.h>
#include "agent/context.h"
#include "agent/frame.h"
#include "base/clock.h"
#include "model/request.h"

/* ---- limits ---- */

bool frame_limit_reached(Frame *f, const char *limit, int64_t value, RunStatus *status, char reason[600], Error *err) {
    Buf data = { 0 };
    event_data_start(&data);
    event_data_str(&data, "limit", str_from(limit));
    event_data_int(&data, "value", value);
    event_data_end(&data);
    bool ok = frame_event(f, EVENT_LIMIT_REACHED, &data, err);
    buf_clear(&data);
    *status = RUN_LIMITED;
    snprintf(reason, 600, "limit reached: %s (%lld)", limit, (long long)value);
    return ok;
}

bool frame_stopped(Frame *f, Cancel *cancel, RunStatus *status, char reason[600], Error *err) {
    const Limits *l = runtime_limits(f->s->agents->rt);
    Error why = { 0 };
    *status = RUN_OPEN;
    if (cancel_check(cancel, &why)) return true;
    if (why.kind == ERR_TIMEOUT && f->depth > 0) return frame_limit_reached(f, "delegation.timeout_ms", l->delegation.timeout_ms, status, reason, err);
    if (why.kind == ERR_TIMEOUT) return frame_limit_reached(f, "limits.wall_clock_ms", l->wall_clock_ms, status, reason, err);
    *status = RUN_CANCELLED;
    snprintf(reason, 600, "%.500s", why.msg);
    return true;
}

static int64_t iteration_budget(const Frame *f, const Limits *l) {
    int64_t budget = l->delegation.n_iterations ? l->delegation.iterations[(size_t)f->depth < l->delegation.n_iterations ? (size_t)f->depth
                                                                            : l->delegation.n_iterations - 1] : 0;
    int64_t own = f->def ? f->def->max_iterations : 0;
    return own > 0 && (budget == 0 || own < budget) ? own : budget;
}

/* Only the top-level agent has a user to ask; a sub-agent's limit is a result for its parent. */
static bool over(Frame *f, int64_t used, int64_t limit, atomic_llong *more, const char *name, Cancel *cancel) {
    EventPlace place = { .agent = f->name, .parent = f->id, .depth = f->depth };
    if (limit <= 0 || used < limit + atomic_load(more)) return false;
    return f->depth > 0 || !run_go_on(f->s->run, f->s->person, place, name, limit, more, cancel);
}

bool frame_over_limit(Frame *f, Cancel *cancel, RunStatus *status, char reason[600], Error *err) {
    const Limits *l = runtime_limits(f->s->agents->rt);
    int64_t turns = f->s->config.max_turns ? f->s->config.max_turns : l->max_turns, budget = iteration_budget(f, l);
    Session *s = f->s;
    *status = RUN_OPEN;
    pthread_mutex_lock(&s->lock);
    ModelUsage used = s->usage;
    int64_t made = s->turns;
    pthread_mutex_unlock(&s->lock);
    if (f->depth == 0 && over(f, made, turns, &s->more_turns, "limits.max_turns", cancel))
        return frame_limit_reached(f, "limits.max_turns", turns, status, reason, err);
    if (over(f, f->iterations, budget, &f->more_iterations, "delegation.iterations_per_depth", cancel))
        return frame_limit_reached(f, "delegation.iterations_per_depth", budget, status, reason, err);
    if (l->max_tokens > 0 && used.input + used.output >= l->max_tokens)
        return frame_limit_reached(f, "limits.max_tokens", l->max_tokens, status, reason, err);
    if (l->max_spend_usd > 0 && used.usd >= l->max_spend_usd)
        return frame_limit_reached(f, "limits.max_spend_usd", (int64_t)l->max_spend_usd, status, reason, err);
    return true;
}

/* ---- hooks ---- */

static void end_with(Completion *c, RunStatus status, const char *reason) {
    c->status = status;
    snprintf(c->reason, sizeof c->reason, "%s", reason);
}

static bool has_tool(const List *tools, Str name) {
    for (uint32_t i = 0; i < tools->n; i++)
        if (str_eq(value_member_text(tools->at[i], "name"), name)) return true;
    return false;
}

static bool note_removed(Completion *c, const List *before, const List *after, Error *err) {
    c->removed = list_new(c->heap, before->n, err);
    if (!c->removed) return false;
    for (uint32_t i = 0; i < before->n; i++)
        if (!has_tool(after, value_member_text(before->at[i], "name"))
            && !list_push(c->heap, c->removed, value_member(before->at[i], "name"), err)) return false;
    return true;
}

static bool ask_before(Frame *f, const ModelDef *def, Completion *c, Cancel *cancel, Error *err) {
    if (!frame_hooked(f, HOOK_COMPLETION_PRE)) return true;
    Dict *payload = dict_new(c->heap, 3, err);
    List *shown, *restored;
    if (!payload || !parts_show(c->heap, value_list(c->messages), &shown, err) || !dict_put_text(c->heap, payload, "model", def->name, err)
        || !dict_put_str(c->heap, payload, STR("messages"), value_from_object(shown), err)
        || !dict_put_str(c->heap, payload, STR("tools"), c->tools, err)) return false;
    HookOutcome out;
    frame_ask(f, HOOK_COMPLETION_PRE, c->heap, value_from_object(payload), cancel, &out);
    if (out.decision != HOOK_ALLOW) {
        end_with(c, RUN_BLOCKED, out.reason);
        return true;
    }
    if (!out.modified) return true;
    Value messages = value_member(out.payload, "messages"), tools = value_member(out.payload, "tools");
    if (!value_is_list(messages) || !value_is_list(tools)) {
        end_with(c, RUN_BLOCKED, "a completion.pre hook removed all messages");
        return true;
    }
    Error why = { 0 };
    if (!parts_restore(c->heap, value_list(c->messages), value_list(messages), &restored, &why)) {
        snprintf(c->reason, sizeof c->reason, "a completion.pre hook returned messages that cannot be sent: %.400s", why.msg);
        return c->status = RUN_BLOCKED, true;
    }
    if (!note_removed(c, value_list(c->tools), value_list(tools), err)) return false;
    c->messages = value_from_object(restored);
    c->tools = tools;
    return true;
}

static bool usage_value(Heap *h, const ModelUsage *u, Value *out, Error *err) {
    const struct { const char *name; int64_t n; } counts[] = { { "input", u->input }, { "output", u->output }, { "cached", u->cached },
                                                               { "written", u->written }, { "reasoning", u->reasoning } };
    Dict *d = dict_new(h, 5, err);
    for (size_t i = 0; d && i < sizeof counts / sizeof *counts; i++)
        if (!dict_put_str(h, d, str_from(counts[i].name), value_from_small(counts[i].n), err)) return false;
    if (d) *out = value_from_object(d);
    return d != NULL;
}

static bool payload_after(const Completion *c, Dict **out, Error *err) {
    Heap *h = c->heap;
    Dict *payload = *out = dict_new(h, 5, err);
    Value usage, calls;
    List *parts = NULL;
    if (value_is_gone(c->parts)) {
        if (!parts_usual(h, STR(""), buf_str(&c->reply.text), c->reply.tool_calls, &parts, err)) return false;
    } else {
        parts = value_list(c->parts);
    }
    return payload && usage_value(h, &c->reply.usage, &usage, err) && value_copy_all_into(h, c->reply.tool_calls, &calls, err)
        && dict_put_text(h, payload, "text", buf_str(&c->reply.text), err) && dict_put_str(h, payload, STR("tool_calls"), calls, err)
        && dict_put_str(h, payload, STR("parts"), value_from_object(parts), err)
        && dict_put_text(h, payload, "finish_reason", str_from(c->reply.finish_reason), err) && dict_put_str(h, payload, STR("usage"), usage, err);
}

/* The reply after the hooks: its text, calls and parts, which agree. */
static bool take_after(Completion *c, Value payload, Error *err) {
    Value text = value_member(payload, "text"), kept = value_member(payload, "tool_calls"), parts = value_member(payload, "parts");
    buf_reset(&c->reply.text);
    buf_reset(&c->reply.reasoning);
    if (value_is_string(text)) buf_add(&c->reply.text, value_str(text));
    c->parts = value_is_list(parts) && !parts_are_plain(value_list(parts)) ? parts : VALUE_GONE;
    for (uint32_t i = 0; value_is_list(parts) && i < value_list(parts)->n; i++)
        if (parts_is(value_list(parts)->at[i], "reasoning")) buf_add(&c->reply.reasoning, value_member_text(value_list(parts)->at[i], "text"));
    return !value_is_list(kept) || value_copy_all_into(c->reply.heap, kept, &c->reply.tool_calls, err);
}

static bool ask_after(Frame *f, Completion *c, Cancel *cancel, Error *err) {
    if (!frame_hooked(f, HOOK_COMPLETION_POST)) return true;
    Dict *payload;
    HookOutcome out;
    if (!payload_after(c, &payload, err)) return false;
    frame_ask(f, HOOK_COMPLETION_POST, c->heap, value_from_object(payload), cancel, &out);
    if (out.decision != HOOK_ALLOW) end_with(c, RUN_BLOCKED, out.reason);
    else if (out.modified) return take_after(c, out.payload, err);
    return true;
}

/* ---- events ---- */

static bool emit_started(Frame *f, const Model *model, const ModelDef *def, const Completion *c, Error *err) {
    Buf data = { 0 };
    event_data_start(&data);
    event_data_str(&data, "model", def->name);
    event_data_str(&data, "wire", str_from(model_wire(model)));
    event_data_int(&data, "messages", value_list(c->messages)->n);
    event_data_int(&data, "tools", value_list(c->tools)->n);
    if (c->context_max > 0) {
        event_data_int(&data, "context", c->context);
        event_data_int(&data, "context_max", c->context_max);
    }
    if (!c->quiet && (f->history.from > 1 || f->history.plain > 0)) {
        event_data_int(&data, "left", f->history.from);
        event_data_int(&data, "shortened", f->history.plain);
    }
    event_data_end(&data);
    bool ok = frame_event(f, EVENT_COMPLETION_STARTED, &data, err);
    buf_clear(&data);
    return ok;
}

static bool emit_completed(Frame *f, const Completion *c, int64_t elapsed_ns, Error *err) {
    const ModelUsage *u = &c->reply.usage;
    Buf data = { 0 }, usage = { 0 }, order = { 0 };
    List *parts = NULL;
    if (!value_is_gone(c->parts)) parts = value_list(c->parts);
    else if (!parts_usual(c->heap, STR(""), buf_str(&c->reply.text), c->reply.tool_calls, &parts, err)) return false;
    parts_write_order(&order, parts);
    model_usage_write(u, &usage);
    event_data_start(&data);
    event_data_str(&data, "text", buf_str(&c->reply.text));
    event_data_value(&data, "tool_calls", c->reply.tool_calls);
    event_data_str(&data, "finish_reason", str_from(c->reply.finish_reason));
    event_data_raw(&data, "usage", buf_str(&usage));
    if (u->priced) {
        event_data_key(&data, STR("cost"));
        buf_add_fmt(&data, "%.6f", u->usd);
    }
    if (c->reply.reasoning.n) event_data_str(&data, "reasoning", buf_str(&c->reply.reasoning));
    event_data_raw(&data, "parts", buf_str(&order));
    if (c->items_hash[0]) {
        event_data_str(&data, "items", str_from(c->items_hash));
        event_data_int(&data, "items_bytes", (int64_t)c->reply.items.n);
    }
    event_data_bool(&data, "side", c->quiet);               /* not part of the conversation */
    event_data_ms(&data, "elapsed_ms", elapsed_ns);
    event_data_end(&data);
    bool ok = frame_event(f, EVENT_COMPLETION_COMPLETED, &data, err);
    buf_clear(&data);
    buf_clear(&usage);
    buf_clear(&order);
    return ok;
}

static bool emit_failed(Frame *f, const Error *why, Error *err) {
    Buf data = { 0 };
    char text[1400];
    error_format(why, text, sizeof text);
    event_data_start(&data);
    event_data_str(&data, "error", str_from(text));
    event_data_str(&data, "kind", str_from(error_kind_name(why->kind)));
    event_data_end(&data);
    bool ok = frame_event(f, EVENT_COMPLETION_FAILED, &data, err);
    buf_clear(&data);
    return ok;
}

/* ---- the reply ---- */

/* Redacts known secrets that the model repeats. */
static void hide_secrets(Frame *f, Buf *text) {
    Redactor *r = runtime_redactor(f->s->agents->rt);
    if (!redact_empty(r)) redact_text(r, text);
}

static void hide_in(Frame *f, Error *why) {
    Redactor *r = runtime_redactor(f->s->agents->rt);
    redact_chars(r, why->msg, sizeof why->msg);
    redact_chars(r, why->hint, sizeof why->hint);
}

/* `secrets` holds back text that may become a secret, however the model splits it. */
typedef struct Watching { Frame *f; bool shown; RedactFeed secrets, thoughts; } Watching;

static void show(Watching *w, Buf *safe) {
    const SessionWatch *watch = &w->f->s->config.watch;
    if (safe->n) watch->text(watch->ctx, w->f->name, w->f->depth, buf_str(safe));
    buf_clear(safe);
}

static void on_text(void *ctx, Str piece) {
    Watching *w = ctx;
    Buf safe = { 0 };
    if (!w->shown || !w->f->s->config.watch.text) return;
    redact_feed(&w->secrets, piece, &safe);
    show(w, &safe);
}

static void show_reasoning(Watching *w, Buf *safe) {
    const SessionWatch *watch = &w->f->s->config.watch;
    if (safe->n) watch->reasoning(watch->ctx, w->f->name, w->f->depth, buf_str(safe));
    buf_clear(safe);
}

static void on_reasoning(void *ctx, Str piece) {
    Watching *w = ctx;
    Buf safe = { 0 };
    if (!w->shown || !w->f->s->config.watch.reasoning) return;
    redact_feed(&w->thoughts, piece, &safe);
    show_reasoning(w, &safe);
}

static void end_text(Watching *w) {
    Buf safe = { 0 };
    if (w->f->s->config.watch.reasoning) {
        redact_feed_end(&w->thoughts, &safe);
        show_reasoning(w, &safe);
    }
    redact_feed_end(&w->secrets, &safe);
    show(w, &safe);
}

static void on_retry(void *ctx, int attempt, int64_t wait_ms, const Error *reason) {
    Watching *w = ctx;
    const SessionWatch *watch = &w->f->s->config.watch;
    Error safe = *reason, *why = &safe;
    hide_in(w->f, why);
    Buf data = { 0 };
    event_data_start(&data);
    event_data_int(&data, "attempt", attempt);
    event_data_int(&data, "wait_ms", wait_ms);
    event_data_str(&data, "error", str_from(why->msg));
    event_data_end(&data);
    frame_event(w->f, EVENT_COMPLETION_RETRIED, &data, NULL);
    buf_clear(&data);
    if (watch->retry) watch->retry(watch->ctx, attempt, wait_ms, why);
}

static void add_usage(ModelUsage *sum, const ModelUsage *u) {
    sum->input += u->input;
    sum->output += u->output;
    sum->cached += u->cached;
    sum->written += u->written;
    sum->reasoning += u->reasoning;
    sum->usd += u->usd;
    sum->priced |= u->priced;
}

static void count(Frame *f, const ModelUsage *u) {
    Session *s = f->s;
    run_add_usage(s->run, u->input + u->output, u->usd);
    pthread_mutex_lock(&s->lock);
    add_usage(&f->usage, u);
    add_usage(&s->usage, u);
    if (f->depth == 0) s->turns++;
    pthread_mutex_unlock(&s->lock);
    if (f->depth == 0) run_add_replies(s->run, 1);
}

/* Makes call ids unique in the run: the journal identifies calls by them. */
static bool settle_ids(Frame *f, Completion *c, Error *err) {
    List *calls = value_list(c->reply.tool_calls);
    for (uint32_t i = 0; i < calls->n; i++) {
        Str id = frame_fresh_id(f->s, value_member_text(calls->at[i], "id"), false);
        if (!dict_put_text(c->reply.heap, value_dict(calls->at[i]), "id", id, err)) return false;
    }
    return true;
}

/* ---- items ---- */

/* Records the ids before settle_ids changes them, and the hash after it but before any other change of the reply. */
static void note_ids(Frame *f, Completion *c) {
    const List *calls = value_list(c->reply.tool_calls);
    if (c->reply.items.n == 0) return;
    c->ids = ARENA_ARRAY(&f->arena, Str, calls->n + 1);
    for (uint32_t i = 0; i < calls->n; i++) c->ids[c->n_ids++] = value_member_text(calls->at[i], "id");
}

static void note_hash(Completion *c) {
    if (c->reply.items.n) items_hash(buf_str(&c->reply.text), c->reply.tool_calls, c->parts, c->items_hash);
}

static bool note_parts(Completion *c, Error *err) {
    List *parts;
    if (!model_reply_parts(&c->reply, c->heap, &parts, err)) return false;
    c->parts = parts_are_plain(parts) ? VALUE_GONE : value_from_object(parts);
    return true;
}

/* Redacts text and reasoning. A secret may span two parts, so the parts are rebuilt in the default order. */
static bool hide_in_parts(Frame *f, Completion *c, Error *err) {
    Redactor *r = runtime_redactor(f->s->agents->rt);
    List *parts;
    if (redact_empty(r) || (!redact_would(r, buf_str(&c->reply.text)) && !redact_would(r, buf_str(&c->reply.reasoning)))) return true;
    hide_secrets(f, &c->reply.text);
    hide_secrets(f, &c->reply.reasoning);
    if (!parts_usual(c->heap, buf_str(&c->reply.reasoning), buf_str(&c->reply.text), c->reply.tool_calls, &parts, err)) return false;
    c->parts = parts_are_plain(parts) ? VALUE_GONE : value_from_object(parts);
    return true;
}

/* Stores items before the event that refers to them. They are not redacted, so items that contain a secret are not
 * stored. */
static bool store_items(Frame *f, const Items *row, Error *err) {
    Store *store = run_store(f->s->run);
    Redactor *r = runtime_redactor(f->s->agents->rt);
    if (!store || (!redact_empty(r) && redact_would(r, row->list))) return true;
    Buf text = { 0 }, scope = { 0 };
    items_write(row, &text);
    buf_add_fmt(&scope, "items:" STR_FMT, STR_ARG(run_id(f->s->run)));
    bool ok = store_note_put(store, buf_str(&scope), str_from(row->hash), buf_str(&text), err);
    buf_clear(&text);
    buf_clear(&scope);
    return ok;
}

static bool keep_items(Frame *f, const Model *model, const Completion *c, Error *err) {
    Items row = { .origin = model_origin(model), .list = buf_str(&c->reply.items), .ids = c->ids, .n_ids = c->n_ids };
    if (c->quiet || !c->items_hash[0]) return true;
    memcpy(row.hash, c->items_hash, sizeof row.hash);
    frame_keep_items(f, &row);
    return store_items(f, &row, err);
}

static bool failed(Frame *f, Completion *c, Cancel *cancel, Error *why, Error *err) {
    char text[600];
    hide_in(f, why);
    error_format(why, text, sizeof text);
    if (!emit_failed(f, why, err) || !frame_stopped(f, cancel, &c->status, c->reason, err)) return false;
    if (!c->status) end_with(c, why->kind == ERR_CANCELLED ? RUN_CANCELLED : RUN_FAILED, text);
    return true;
}

static Str effort_of(const Frame *f) {
    Str asked = f->s->agents->config.effort;
    return asked.n ? asked : f->def ? f->def->effort : STR("");
}

/* The next model to try when one is overloaded or unavailable. NULL: none is left, or it cannot be opened. */
static Model *next_model(Frame *f, const ModelDef *first, size_t i, ModelDef *def, const Error *why, Error *err) {
    Model *model = NULL;
    Error ignored = { 0 };
    Buf data = { 0 };
    if (i >= first->fallback.n || !agent_model_of(f->s->agents, first->fallback.at[i], STR(""), NULL, &model, def, &ignored)) return NULL;
    event_data_start(&data);
    event_data_str(&data, "model", first->name);
    event_data_str(&data, "to", def->name);
    event_data_str(&data, "error", str_from(why->msg));
    event_data_end(&data);
    bool ok = frame_event(f, EVENT_COMPLETION_FALLBACK, &data, err);
    buf_clear(&data);
    return ok ? model : NULL;
}

/* Asks the model, and if it is unavailable the fallbacks in its profile. *used: the one that answered. */
static bool ask(Frame *f, Model *model, const ModelDef *first, const ModelRequest *request, Cancel *cancel, ModelReply *out, Model **used,
    Error *why, Error *err) {
    ModelDef def = *first;
    for (size_t i = 0;; i++) {
        *used = model;
        if (model_complete(model, request, cancel, out, why)) return true;
        if (!out->unavailable || cancel_expired(cancel)) return false;
        hide_in(f, why);
        model = next_model(f, first, i, &def, why, err);
        if (!model) return false;
        *why = (Error){ 0 };
    }
}

bool frame_complete(Frame *f, Model *model, const ModelDef *def, Completion *c, Cancel *cancel, Error *err) {
    if (!c->quiet) f->iterations++;
    if (!ask_before(f, def, c, cancel, err)) return false;
    if (c->status) return true;
    /* Results are written to disk before the model sees them. */
    if (!emit_started(f, model, def, c, err) || !run_settle(f->s->run, false, err)) return false;
    /* Text that a completion.post hook may change is not shown before the hook has run. */
    Watching w = { .f = f, .shown = !c->quiet && !frame_hooked(f, HOOK_COMPLETION_POST), .secrets = { .r = runtime_redactor(f->s->agents->rt) },
                   .thoughts = { .r = runtime_redactor(f->s->agents->rt) } };
    ModelRequest request = { .messages = c->messages, .tools = c->tools, .max_tokens = c->max_tokens, .effort = effort_of(f),
                             .output_schema = !c->quiet && f->def && f->def->output ? &f->def->output_schema : NULL,
                             .cache_key = run_id(f->s->run), .items = &f->items, .on_text = on_text, .on_reasoning = on_reasoning,
                             .on_retry = on_retry, .ctx = &w };
    Error why = { 0 };
    int64_t start = clock_mono_ns();
    bool ok = ask(f, model, def, &request, cancel, &c->reply, &model, &why, err);
    end_text(&w);
    if (!ok) return failed(f, c, cancel, &why, err);
    count(f, &c->reply.usage);
    note_ids(f, c);
    if (!settle_ids(f, c, err) || !note_parts(c, err)) return false;
    note_hash(c);
    if (!hide_in_parts(f, c, err) || !ask_after(f, c, cancel, err)) return false;
    if (!hide_in_parts(f, c, err)) return false;             /* a hook may have inserted a secret again */
    if (!keep_items(f, model, c, err) || !emit_completed(f, c, clock_mono_ns() - start, err) || !run_settle(f->s->run, false, err)) return false;
    if (!w.shown && !c->quiet && !c->status) {
        w.shown = true;
        on_reasoning(&w, buf_str(&c->reply.reasoning));
        on_text(&w, buf_str(&c->reply.text));
        end_text(&w);
    }
    return true;
}
