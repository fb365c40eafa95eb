/* Step 7: a person agrees, or the call ends here. Last before the work, so that what is shown is what will run. */
#include "base/clock.h"
#include "base/utf8.h"
#include "tool/pipe.h"
#include "value/json.h"

static const char *answer_name(ConfirmAnswer a) {
    static const char *const names[] = { [CONFIRM_NO] = "no", [CONFIRM_ONCE] = "yes", [CONFIRM_THESE] = "these arguments", [CONFIRM_TOOL] = "the tool" };
    return names[a];
}

typedef struct Asked { Run *r; const RunQuestion *q; Cancel *cancel; } Asked;

static bool emit_asked(const Asked *a, Error *err) {
    if (!event_stream_listened(a->r->events)) return true;
    Buf data = { 0 };
    event_data_start(&data);
    event_data_str(&data, "id", a->q->call_id);
    event_data_str(&data, "name", a->q->tool);
    event_data_str(&data, "reason", a->q->why);
    event_data_end(&data);
    bool ok = event_emit(a->r->events, a->q->place, EVENT_APPROVAL_ASKED, buf_str(&data), err);
    buf_clear(&data);
    return ok;
}

static bool emit_answered(const Asked *a, ConfirmAnswer answer, const char *source, Error *err) {
    if (!event_stream_listened(a->r->events)) return true;
    Buf data = { 0 };
    event_data_start(&data);
    event_data_str(&data, "id", a->q->call_id);
    event_data_str(&data, "name", a->q->tool);
    event_data_str(&data, "answer", str_from(answer_name(answer)));
    event_data_str(&data, "source", str_from(source));
    event_data_end(&data);
    bool ok = event_emit(a->r->events, a->q->place, EVENT_APPROVAL_ANSWERED, buf_str(&data), err);
    buf_clear(&data);
    return ok;
}

/* ---- what a person sees ---- */

void run_escape(Buf *out, Str text) {
    for (size_t i = 0; i < text.n;) {
        size_t n;
        uint32_t c = utf8_decode(str_sub(text, i, text.n), &n);
        if (c == 0xfffd && n == 1) buf_add_fmt(out, "\\x%02x", (unsigned char)text.at[i]);
        else if (c == '\n' || c == '\t' || !utf8_is_deceptive(c)) buf_add(out, str_sub(text, i, i + n));
        else buf_add_fmt(out, "\\u{%x}", c);
        i += n;
    }
}

/* ---- asking ---- */

static bool approved_by_name(const RuntimeConfig *c, Str tool) {
    for (size_t i = 0; i < c->n_approve; i++)
        if (str_eq(c->approve[i], tool)) return true;
    return false;
}

static void remember(Run *r, Str tool, Str args) {
    approval_add(r->approvals, tool, args);
    pthread_mutex_lock(&r->lock);
    VEC_PUSH(&r->grants, (RunGrant){ arena_str(&r->arena, tool), arena_str(&r->arena, args) });
    pthread_mutex_unlock(&r->lock);
}

int64_t run_wait_start(Cancel *cancel) {
    cancel_pause(cancel);
    return clock_mono_ns();
}

int64_t run_wait_end(Cancel *cancel, int64_t started_ns) {
    cancel_resume(cancel);
    return clock_mono_ns() - started_ns;
}

static ConfirmAnswer ask_person(const Asked *a) {
    const Person *person = a->q->person;
    Runtime *rt = a->r->rt;
    Buf safe = { 0 }, reason = { 0 };
    run_escape(&safe, a->q->shown);
    run_escape(&reason, a->q->why);
    if (!redact_empty(rt->redactor)) redact_text(rt->redactor, &safe), redact_text(rt->redactor, &reason);
    int64_t since = run_wait_start(a->cancel);
    if (!person->apart) pthread_mutex_lock(&rt->asking);
    /* Somebody may have said "the tool" while this call waited for its turn. */
    ConfirmAnswer answer = approval_given(a->r->approvals, a->q->tool, a->q->args_json)
        ? CONFIRM_ONCE
        : person->confirm(person->ctx, &(ConfirmQuestion){ a->q->tool, buf_str(&reason), buf_str(&safe) }, a->cancel);
    if (!person->apart) pthread_mutex_unlock(&rt->asking);
    *a->q->waited_ns += run_wait_end(a->cancel, since);
    buf_clear(&safe);
    buf_clear(&reason);
    return answer;
}

bool run_confirm(Run *r, const RunQuestion *q, Cancel *cancel, const char **source, Error *err) {
    const RuntimeConfig *c = &r->rt->config;
    Asked a = { r, q, cancel };
    ConfirmAnswer answer = CONFIRM_NO;
    bool asked = false;
    *source = "nobody";
    if (!emit_asked(&a, err)) return false;
    if (approval_given(r->approvals, q->tool, q->args_json)) answer = CONFIRM_ONCE, *source = "earlier answer";
    else if (c->yes) answer = CONFIRM_ONCE, *source = "--yes";
    else if (approved_by_name(c, q->tool)) answer = CONFIRM_ONCE, *source = "--approve";
    else if (q->person->confirm) {
        *source = q->person->source ? q->person->source : "person";
        if (!run_settle(r, false, err)) return false;
        answer = ask_person(&a);
        asked = true;
    }
    if (answer == CONFIRM_THESE) remember(r, q->tool, q->args_json);
    if (answer == CONFIRM_TOOL) remember(r, q->tool, (Str){ 0 });
    if (!emit_answered(&a, answer, *source, err) || (asked && !run_settle(r, false, err))) return false;
    if (answer != CONFIRM_NO) return true;
    if (q->person->confirm)
        return error_set(err, ERR_POLICY, "tool \"" STR_FMT "\" was not confirmed (" STR_FMT "): the answer was no", STR_ARG(q->tool), STR_ARG(q->why));
    error_set(err, ERR_POLICY, "tool \"" STR_FMT "\" needs confirmation (" STR_FMT ") and nobody is there to give it", STR_ARG(q->tool), STR_ARG(q->why));
    return error_hint(err, "--yes, or --approve " STR_FMT, STR_ARG(q->tool));
}

/* ---- limits ---- */

static bool emit_extended(Run *r, EventPlace place, const char *limit, int64_t value) {
    if (!event_stream_listened(r->events)) return true;
    Buf data = { 0 };
    event_data_start(&data);
    event_data_str(&data, "limit", str_from(limit));
    event_data_int(&data, "value", value);
    event_data_bool(&data, "go_on", true);
    event_data_end(&data);
    bool ok = event_emit(r->events, place, EVENT_LIMIT_REACHED, buf_str(&data), NULL);
    buf_clear(&data);
    return ok;
}

/* With rt->asking held. Several calls may reach a limit together: one question serves them all. */
static bool ask_to_go_on(Run *r, const Person *person, EventPlace place, const char *limit, int64_t value, atomic_llong *more, int64_t seen, Cancel *cancel) {
    if (atomic_load(more) != seen) return true;
    if (atomic_load(&r->declined)) return false;
    if (!person->go_on(person->ctx, limit, value, cancel) || !emit_extended(r, place, limit, value)) {
        atomic_store(&r->declined, true);
        return false;
    }
    atomic_fetch_add(more, value > 0 ? value : 1);
    return true;
}

bool run_go_on(Run *r, const Person *person, EventPlace place, const char *limit, int64_t value, atomic_llong *more, Cancel *cancel) {
    if (!person) person = &r->config.person;
    if (!r->config.conversation || !person->go_on) return false;
    int64_t seen = atomic_load(more), since = run_wait_start(cancel);
    pthread_mutex_lock(&r->rt->asking);
    bool yes = ask_to_go_on(r, person, place, limit, value, more, seen, cancel);
    pthread_mutex_unlock(&r->rt->asking);
    run_wait_end(cancel, since);
    return yes;
}

/* ---- the step ---- */

/* Text to show: what the kind renders, else the arguments. */
static Str shown(Pipe *p) {
    if (p->kept.seen.shown.n == 0) {
        Error err;
        if (!json_write(&p->kept.seen.shown, p->f.args, &(JsonWrite){ .indent = 2 }, &err)) buf_add(&p->kept.seen.shown, pipe_args_json(p));
    }
    return buf_str(&p->kept.seen.shown);
}

/* Why a person must agree: a rule of policy, or what the tool found in the arguments. Empty: nobody is asked. */
static Str reason_to_ask(const Pipe *p) { return p->policy.verdict == POLICY_ASK ? p->policy.rule : str_from(p->kept.seen.why); }

bool pipe_confirm(Pipe *p) {
    const ToolEntry *e = p->f.entry;
    MEM_UNSET Error err;
    error_none(&err);
    p->kept.seen.why[0] = 0;
    buf_reset(&p->kept.seen.shown);
    buf_reset(&p->kept.seen.path);
    p->kept.seen.asked = p->policy.verdict == POLICY_ASK;
    if (e->inspect && !e->inspect(&p->f, &p->kept.seen, &err))
        return pipe_refuse(p, STEP_POLICY, str_from(error_kind_name(err.kind)), REPAIR_REFUSED, "%s", err.msg);
    Str why = reason_to_ask(p);
    if (why.n == 0) return true;
    Buf args = { 0 };
    pipe_args_exact(p, &args);
    const char *source = "earlier attempt";
    bool ok = p->kept.agreed_args.n && str_eq(buf_str(&args), buf_str(&p->kept.agreed_args));       /* a retry of what was agreed to */
    RunQuestion question = { pipe_place(p), p->f.call_id, e->def.name, buf_str(&args), why, shown(p), pipe_person(p), &p->waited_ns };
    if (!ok) ok = run_confirm(p->f.run, &question, p->f.cancel, &source, &err);
    if (ok) {
        buf_reset(&p->kept.agreed_args);
        buf_add(&p->kept.agreed_args, buf_str(&args));
        pipe_trace(p, STEP_CONFIRM, "agreed: %s", source);
    }
    buf_clear(&args);
    if (ok) return true;
    if (err.kind != ERR_POLICY) return pipe_broken(p, &err);
    return pipe_refuse(p, STEP_CONFIRM, why, REPAIR_REFUSED, "%s%s%s%s", err.msg, err.hint[0] ? " (" : "",
                       err.hint, err.hint[0] ? ")" : "");
}
