/* Step 7: asks the user to confirm the call. It is the last step before execution, so that the user sees what will run. */
#include <unistd.h>
#include "base/clock.h"
#include "base/digest.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "tool/laid_out.h"
#include "tool/pipeline/control.h"
#include "tool/pipeline/park.h"
#include "value/json.h"

static const char *const answer_names[] = { [CONFIRM_NO] = "no", [CONFIRM_ONCE] = "yes", [CONFIRM_THESE] = "these arguments", [CONFIRM_TOOL] = "the tool",
                                            [CONFIRM_ALWAYS] = "always" };

enum { SHOWN_MAX = 256 << 10 };          /* of a question, in the store */
static const int64_t HOLD_NS = INT64_C(900) * 1000000000;        /* approvals.hold of a queued run */

/* A question and what is known about its answer so far. */
typedef struct Asked {
    Run *r;
    const RunQuestion *q;
    Cancel *cancel;
    RunAnswer *out;                      /* its id, when it is in the store */
    ConfirmAnswer answer;
    Buf reason;                          /* the user's text with a refusal */
    Buf by;                              /* the user who answered */
    bool answered;                       /* by another process */
    int64_t expires_ns;                  /* of the question in the store; 0: never */
    bool late;                           /* no answer was given in time */
    bool silent;                         /* no answer was given here: the call was cancelled, or the terminal is gone */
} Asked;

static bool emit_asked(const Asked *a, Error *err) {
    if (!event_stream_listened(a->r->events)) return true;
    Buf data = { 0 };
    event_data_start(&data);
    event_data_str(&data, "id", a->q->call_id);
    event_data_str(&data, "name", a->q->tool);
    event_data_str(&data, "reason", a->q->why);
    if (!str_eq(a->q->rule, a->q->why)) event_data_str(&data, "rule", a->q->rule);
    if (a->out->approval.n) event_data_str(&data, "approval", buf_str(&a->out->approval));
    event_data_end(&data);
    bool ok = event_emit(a->r->events, a->q->place, EVENT_APPROVAL_ASKED, buf_str(&data), err);
    buf_clear(&data);
    return ok;
}

static bool emit_answered(const Asked *a, Error *err) {
    if (!event_stream_listened(a->r->events)) return true;
    Buf data = { 0 };
    event_data_start(&data);
    event_data_str(&data, "id", a->q->call_id);
    event_data_str(&data, "name", a->q->tool);
    event_data_str(&data, "answer", a->silent && !a->answered ? STR("none") : str_from(answer_names[a->answer]));
    event_data_str(&data, "source", str_from(a->out->source));
    if (a->by.n) event_data_str(&data, "by", buf_str(&a->by));
    if (a->reason.n) event_data_str(&data, "reason", buf_str(&a->reason));
    if (a->out->args.n) event_data_raw(&data, "args", buf_str(&a->out->args));
    event_data_end(&data);
    bool ok = event_emit(a->r->events, a->q->place, EVENT_APPROVAL_ANSWERED, buf_str(&data), err);
    buf_clear(&data);
    return ok;
}

/* ---- the question ---- */

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

/* What the user sees of the call. */
static void add_shown(const Asked *a, Buf *safe) {
    run_escape(safe, a->q->shown);
    if (!redact_empty(a->r->rt->redactor)) redact_text(a->r->rt->redactor, safe);
}

static void ask_person(Asked *a, Cancel *cancel) {
    const Person *person = a->q->person;
    Runtime *rt = a->r->rt;
    Buf safe = { 0 }, reason = { 0 };
    add_shown(a, &safe);
    if (str_eq(a->q->why, STR("confirm: true"))) buf_add(&reason, STR("marked "));
    run_escape(&reason, a->q->why);
    if (!redact_empty(rt->redactor)) redact_text(rt->redactor, &reason);
    ConfirmQuestion shown = { a->q->tool, buf_str(&reason), buf_str(&safe), buf_str(&a->out->approval), a->q->may_tool, a->q->may_keep
        && a->r->store, &a->reason, &a->silent };
    int64_t since = run_wait_start(a->cancel);
    if (!person->apart) pthread_mutex_lock(&rt->asking);
    /* While this call waited for its turn, the user may have allowed the whole tool for another call. */
    a->answer = approval_given(a->r->approvals, a->q->tool, a->q->args_json) ? CONFIRM_ONCE : person->confirm(person->ctx, &shown, cancel);
    if (!person->apart) pthread_mutex_unlock(&rt->asking);
    *a->q->waited_ns += run_wait_end(a->cancel, since);
    buf_clear(&safe);
    buf_clear(&reason);
}

/* ---- the question in the store ---- */

/* approvals.hold of the project. False: it is not given. */
static bool hold_given(const Asked *a, int64_t *ns) {
    Value v = value_member(a->r->rt->project->settings.approvals, "hold");
    return a->q->person->by_store && value_is_string(v) && clock_read_age(value_str(v), ns);
}

/* A parked run can wait for ever; a process should not. */
static int64_t expires(const Asked *a) {
    int64_t hold = HOLD_NS;
    bool given = hold_given(a, &hold);
    return given || (a->r->config.parks && !a->q->parks) ? clock_wall_ns() + hold : 0;
}

/* How long the process waits; INT64_MAX: for ever. */
static int64_t time_left(const Asked *a) {
    if (a->expires_ns && a->q->person->by_store) return a->expires_ns - clock_wall_ns();
    return a->r->config.parks ? HOLD_NS : INT64_MAX;
}

/* The same question of a resumed run has the same id, unless the tool or the project has changed. */
static void add_id(const Asked *a, Buf *id, Buf *args_hash) {
    Buf all = { 0 };
    uint8_t digest[DIGEST_SHA256_BYTES];
    Buf print = { 0 };
    run_project_print(a->r, &print);
    run_tool_print(a->r, a->q->tool, &print);
    const Str parts[] = { a->r->id, a->q->call_id, a->q->tool, a->q->args_json, a->q->why, buf_str(&print) };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) buf_add_fmt(&all, "%zu:" STR_FMT, parts[i].n, STR_ARG(parts[i]));
    sha256_of(buf_str(&all), digest);
    buf_add(id, STR("q"));
    digest_hex(digest, 5, id);
    sha256_of(a->q->args_json, digest);
    digest_hex(digest, sizeof digest, args_hash);
    buf_clear(&print);
    buf_clear(&all);
}

/* What is shown here is shown in other processes too (`harness approvals`). They lay out the arguments of a question without it. */
static bool put_shown(const Asked *a, Str id, Error *err) {
    Buf safe = { 0 };
    add_shown(a, &safe);
    bool ok = safe.n > SHOWN_MAX || store_question_note_put(a->r->store, a->r->id, id, STORE_QUESTION_SHOWN, buf_str(&safe), err);
    buf_clear(&safe);
    return ok;
}

/* Who asks, and what the sandbox permits: known only to this process. */
static bool put_about(const Asked *a, Str id, Error *err) {
    Buf about = { 0 }, permits = { 0 };
    Str agent = a->q->place.agent.n ? a->q->place.agent : a->r->config.agent;
    pipe_permits(a->q->pipe, &permits);
    event_data_start(&about);
    event_data_str(&about, "agent", agent);
    event_data_raw(&about, "permits", buf_str(&permits));
    event_data_end(&about);
    if (!redact_empty(a->r->rt->redactor)) redact_stream(a->r->rt->redactor, &about);
    bool ok = store_question_note_put(a->r->store, a->r->id, id, STORE_QUESTION_ABOUT, buf_str(&about), err);
    buf_clear(&permits);
    buf_clear(&about);
    return ok;
}

static bool put_question(Asked *a, Error *err) {
    Runtime *rt = a->r->rt;
    Buf id = { 0 }, hash = { 0 }, args = { 0 }, why = { 0 };
    add_id(a, &id, &hash);
    buf_add(&args, a->q->args_json);
    buf_add(&why, a->q->why);
    if (!redact_empty(rt->redactor)) redact_stream(rt->redactor, &args), redact_text(rt->redactor, &why);
    StoreApproval q = { .id = buf_str(&id), .run = a->r->id, .call = a->q->call_id, .tool = a->q->tool, .args = buf_str(&args), .args_hash = buf_str(&hash),
                        .why = buf_str(&why), .rule = str_eq(a->q->rule, a->q->why) ? buf_str(&why) : a->q->rule, .expires_ns = expires(a) };
    bool ok = put_shown(a, buf_str(&id), err) && put_about(a, buf_str(&id), err) && store_approval_ask(a->r->store, &q, &a->out->approval, err);
    buf_clear(&id);
    buf_clear(&hash);
    buf_clear(&args);
    buf_clear(&why);
    return ok;
}

/* An answer of the store: {"answer": …, "reason": …, "args": …}. */
static bool take_answer(void *ctx, const StoreApproval *row) {
    Asked *a = ctx;
    Heap *h = heap_new(0);
    Value v;
    Error err;
    a->expires_ns = row->expires_ns;
    if (!str_eq(row->state, STR("answered")) || !json_read(h, row->answer, &(JsonRead){ 0 }, &v, &err) || !value_is_dict(v)) return heap_free(h), true;
    Str said = value_member_text(v, "answer"), reason = value_member_text(v, "reason");
    Value *args = dict_find_str(value_dict(v), STR("args"));
    a->answer = CONFIRM_NO;
    for (int i = CONFIRM_ONCE; i <= CONFIRM_ALWAYS; i++)
        if (str_eq(said, str_from(answer_names[i]))) a->answer = (ConfirmAnswer)i;
    buf_reset(&a->reason), buf_add(&a->reason, reason);
    buf_reset(&a->by), buf_add(&a->by, row->by);
    if (a->answer != CONFIRM_NO && args && value_is_dict(*args)) (void)json_write(&a->out->args, *args, &(JsonWrite){ 0 }, &err);
    a->out->source = "store";
    a->answered = true;
    heap_free(h);
    return true;
}

static void add_answer(const Asked *a, Buf *out) {
    event_data_start(out);
    event_data_str(out, "answer", str_from(answer_names[a->answer]));
    if (a->reason.n) event_data_str(out, "reason", buf_str(&a->reason));
    event_data_end(out);
}

/* Stores the answer given at this terminal, unless another process answered first. */
static bool settle(Asked *a, Cancel *stop, Error *err) {
    Str id = buf_str(&a->out->approval);
    if (a->answer == CONFIRM_NO && cancel_expired(a->cancel)) return store_approval_withdraw(a->r->store, id, err);
    if (a->silent && !cancel_fired(stop) && !store_approval_withdraw(a->r->store, id, err)) return false;
    if (!a->silent && (a->answer != CONFIRM_NO || !cancel_fired(stop))) {
        Buf answer = { 0 };
        bool first = false;
        add_answer(a, &answer);
        bool ok = store_approval_answer(a->r->store, id, buf_str(&answer), buf_str(&a->by), &first, err);
        buf_clear(&answer);
        if (!ok || first) return ok;
    }
    return store_approval_get(a->r->store, id, take_answer, a, err);
}

static void note_late(Asked *a, const Cancel *stop, int64_t left) {
    a->late = a->answer == CONFIRM_NO && !cancel_fired(stop) && !cancel_expired(a->cancel) && (left <= 0 || cancel_expired(stop));
    a->silent = a->silent || a->late;
}

/* Asks here and, through the store, in every other process. The first answer counts. */
static bool ask_all(Asked *a, Error *err) {
    int64_t left = time_left(a);
    ControlQuestion q = { buf_str(&a->out->approval), cancel_new(a->cancel, left == INT64_MAX || left < 0 ? 0 : left), a->r, a->q->parks };
    bool ok = control_question_start(a->r, &q, err);
    if (ok) {
        if (left > 0) ask_person(a, q.stop);
        control_question_end(a->r, &q);
        if (run_parked(a->r)) return cancel_free(q.stop), park_leave(a->r, q.id, err);
        note_late(a, q.stop, left);
        buf_add_fmt(&a->by, "%s, uid %u", a->out->source, (unsigned)getuid());
        ok = settle(a, q.stop, err);
    }
    cancel_free(q.stop);
    return ok;
}

static bool ask(Asked *a, Error *err) {
    a->out->source = a->q->person->source ? a->q->person->source : "person";
    if (!a->r->store) return emit_asked(a, err) && (ask_person(a, a->cancel), true);
    if (!put_question(a, err) || !emit_asked(a, err) || !run_settle(a->r, false, err)) return false;
    if (!store_approval_get(a->r->store, buf_str(&a->out->approval), take_answer, a, err)) return false;     /* it may have been answered in the meantime */
    return a->answered || ask_all(a, err);
}

/* ---- deciding ---- */

/* An answer that was not offered counts as "once". */
static bool remember_answer(Asked *a, Error *err) {
    Run *r = a->r;
    if ((a->answer == CONFIRM_TOOL && !a->q->may_tool) || (a->answer == CONFIRM_ALWAYS && !(a->q->may_keep && r->store))) a->answer = CONFIRM_ONCE;
    if (a->out->args.n) return true;                      /* the user gave other arguments, and is asked about them again */
    if (a->answer == CONFIRM_THESE) remember(r, a->q->tool, a->q->args_json);
    if (a->answer == CONFIRM_TOOL) remember(r, a->q->tool, (Str){ 0 });
    return a->answer != CONFIRM_ALWAYS || run_approval_keep(r, a->q, buf_str(&a->by), err);
}

static bool decide(Asked *a, Error *err) {
    const RuntimeConfig *c = &a->r->rt->config;
    bool kept = false;
    if (approval_given(a->r->approvals, a->q->tool, a->q->args_json)) a->answer = CONFIRM_ONCE, a->out->source = "earlier answer";
    else if (c->yes) a->answer = CONFIRM_ONCE, a->out->source = "--yes";
    else if (approved_by_name(c, a->q->tool)) a->answer = CONFIRM_ONCE, a->out->source = "--approve";
    else if (!run_approval_kept(a->r, a->q, &kept, err)) return false;
    else if (kept) a->answer = CONFIRM_ONCE, a->out->source = "kept approval";
    else if (a->q->person->confirm) return ask(a, err) && remember_answer(a, err) && emit_answered(a, err) && run_settle(a->r, false, err);
    return emit_asked(a, err) && emit_answered(a, err);
}

static bool refuse(const Asked *a, Error *err) {
    Str tool = a->q->tool;
    if (a->reason.n)
        return error_set(err, ERR_POLICY, "the user declined " STR_FMT ": " STR_FMT, STR_ARG(tool), STR_ARG(buf_str(&a->reason)));
    if (a->silent && !a->answered)
        return error_set(err, ERR_POLICY, "no answer was given %sto the question about " STR_FMT " (" STR_FMT ")", a->late ? "in time " : "", STR_ARG(tool),
                         STR_ARG(a->q->why));
    if (a->q->person->confirm || a->answered)
        return error_set(err, ERR_POLICY, "the user declined " STR_FMT " (" STR_FMT ")", STR_ARG(tool), STR_ARG(a->q->why));
    error_set(err, ERR_POLICY, "tool \"" STR_FMT "\" needs confirmation (" STR_FMT ") and no user is present to give it", STR_ARG(tool), STR_ARG(a->q->why));
    return error_hint(err, "--yes, or --approve " STR_FMT, STR_ARG(tool));
}

bool run_confirm(Run *r, const RunQuestion *q, Cancel *cancel, RunAnswer *out, Error *err) {
    Asked a = { .r = r, .q = q, .cancel = cancel, .out = out };
    out->source = "none";
    bool ok = decide(&a, err) && (a.answer != CONFIRM_NO || refuse(&a, err));
    if (a.silent && !a.answered) out->source = "none given";
    buf_add(&out->by, buf_str(&a.by));
    buf_clear(&a.reason);
    buf_clear(&a.by);
    return ok;
}

void run_answer_clear(RunAnswer *a) {
    buf_clear(&a->approval);
    buf_clear(&a->args);
    buf_clear(&a->by);
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

/* The caller holds rt->asking. Several calls may reach a limit together: one question serves them all. */
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

/* The text to show: as rendered by the tool's kind, else the arguments. */
static Str shown(Pipe *p) {
    if (p->kept.seen.shown.n == 0) laid_out_add(&p->kept.seen.shown, p->f.args);
    return buf_str(&p->kept.seen.shown);
}

/* "This tool" is not offered if one call of the tool can do anything; "always" is not offered if the same arguments can have another effect later. */
static bool may_tool(const ToolEntry *e) { return !e->safety.destructive && !str_eq(e->def.name, STR("bash")); }
static bool may_keep(const ToolEntry *e) { return !e->safety.destructive && !e->safety.process; }

/* False with p->rewritten: the user gave other arguments, and the call starts again with them. */
static bool confirm_args(Pipe *p, PipeAsk ask, Str args, Error *err) {
    const ToolEntry *e = p->f.entry;
    RunQuestion question = { pipe_place(p), p->f.call_id, e->def.name, args, ask.why, ask.rule, shown(p), pipe_person(p), &p->waited_ns, may_tool(e),
        may_keep(e), p, park_may(p) };
    RunAnswer answer = { 0 };
    bool ok = run_confirm(p->f.run, &question, p->f.cancel, &answer, err);
    if (ok && answer.args.n) {
        p->given = arena_str(&p->kept.arena, buf_str(&answer.args));
        p->rewritten = true;
        ok = false;
    } else {
        p->asked = answer.source;
        p->asked_by = arena_str(&p->kept.arena, buf_str(&answer.by));
    }
    if (ok) {
        buf_reset(&p->kept.agreed_args), buf_add(&p->kept.agreed_args, args);
        buf_reset(&p->kept.approval), buf_add(&p->kept.approval, buf_str(&answer.approval));
        pipe_trace(p, STEP_CONFIRM, "agreed: %s", answer.source);
    }
    run_answer_clear(&answer);
    return ok;
}

bool pipe_inspect(Pipe *p, bool judged) {
    const ToolEntry *e = p->f.entry;
    MEM_UNSET Error err;
    error_none(&err);
    p->kept.seen.why[0] = 0;
    buf_reset(&p->kept.seen.shown);
    buf_reset(&p->kept.seen.path);
    p->kept.seen.judged = judged;
    p->kept.seen.asked = pipe_reason_to_ask(p).why.n > 0;
    if (!e->inspect || e->inspect(&p->f, &p->kept.seen, &err)) return true;
    return pipe_refuse(p, STEP_POLICY, str_from(error_kind_name(err.kind)), REPAIR_REFUSED, "%s", err.msg);
}

bool pipe_confirm(Pipe *p) {
    MEM_UNSET Error err;
    error_none(&err);
    if (!pipe_inspect(p, false)) return false;
    PipeAsk ask = pipe_reason_to_ask(p);
    if (ask.why.n == 0) return true;
    Buf args = { 0 };
    pipe_args_exact(p, &args);
    bool ok = p->kept.agreed_args.n && str_eq(buf_str(&args), buf_str(&p->kept.agreed_args));       /* a retry with the confirmed arguments */
    if (ok) pipe_trace(p, STEP_CONFIRM, "agreed: earlier attempt");
    else ok = confirm_args(p, ask, buf_str(&args), &err);
    buf_clear(&args);
    if (ok || p->rewritten) return ok;
    if (err.kind != ERR_POLICY) return pipe_broken(p, &err);
    return pipe_refuse(p, STEP_CONFIRM, ask.rule, REPAIR_REFUSED, "%s%s%s%s", err.msg, err.hint[0] ? " (" : "",
                       err.hint, err.hint[0] ? ")" : "");
}
