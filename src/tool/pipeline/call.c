#include "tool/pipeline/call.h"
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "tool/pipeline/judge.h"
#include "tool/pipeline/park.h"
#include "tool/pipeline/pipe.h"

/* ---- one call ---- */

static bool timed(Pipe *p, CallStep step, bool ok) {
    pipe_step_ends(p, step);
    return ok;
}

/* What the project has written down about the call. */
static bool decide(Pipe *p) { return timed(p, STEP_POLICY, pipe_policy(p)) && timed(p, STEP_PRE, pipe_before(p)); }

static bool gates(Pipe *p) {
    return timed(p, STEP_VALIDATE, pipe_validate(p)) && timed(p, STEP_LIMITS, pipe_limits(p)) && decide(p) && timed(p, STEP_CONFIRM, pipe_confirm(p));
}

/* Steps 2 to 8. A retry starts again from the caller's text. */
static bool reach_result(Pipe *p) {
    bool again;
    do {
        again = p->rewritten = false;
        if (!timed(p, STEP_PARSE, pipe_parse(p)) || !gates(p)) {
            if (!p->rewritten) return false;
            again = true;                                    /* the user gave other arguments: check all rules again */
            continue;
        }
        if (p->f.entry->def.async && !p->f.call->wait && !p->task) return pipe_background(p);
        if (!timed(p, STEP_EXECUTE, pipe_execute(p, &again))) return false;
    } while (again);
    return true;
}

/* Runs the rest of a background task. It has already passed the checks; only a retry repeats them. */
void pipe_resume(Pipe *p, const ToolEntry *entry, bool args_changed) {
    bool again = false;
    p->f.entry = entry;
    p->out->name = entry->def.name;
    p->task = p->started = true;
    if (!confine_call(p) || !timed(p, STEP_PARSE, pipe_parse(p))) return;
    p->args_changed = args_changed;
    if (timed(p, STEP_EXECUTE, pipe_execute(p, &again)) && again) reach_result(p);
}

static bool write_end(Pipe *p) {
    Result *r = p->out;
    r->waited_ns = p->waited_ns;
    r->asked = p->asked;
    r->asked_by = p->asked_by;
    r->change = buf_str(&p->kept.change);
    r->elapsed_ns = clock_mono_ns() - p->start_ns - p->waited_ns;
    if (p->ended || !p->started || !pipe_listened(p)) return true;
    pipe_event_start(p);
    if (r->is_error) {
        event_data_str(&p->kept.data, "error", r->error);
        event_data_str(&p->kept.data, "class", str_from(result_class_name(r->cls)));
        if (r->rule.n) event_data_str(&p->kept.data, "rule", r->rule);
        if (r->timed_out) event_data_bool(&p->kept.data, "timed_out", true);
    }
    if (p->cut || !value_is_gone(r->content) || value_is_string(r->value)) {
        event_data_str(&p->kept.data, "value", r->text);
    } else {
        event_data_raw(&p->kept.data, "value", r->text);
    }
    if (r->artifact.n) {
        Buf list = { 0 };
        buf_add_fmt(&list, "[\"" STR_FMT "\"]", STR_ARG(r->artifact));
        event_data_raw(&p->kept.data, "artifacts", buf_str(&list));
        buf_clear(&list);
    }
    if (r->media.n) event_data_raw(&p->kept.data, "media", r->media);
    event_data_ms(&p->kept.data, "elapsed_ms", r->elapsed_ns);
    if (p->waited_ns) event_data_ms(&p->kept.data, "waited_ms", p->waited_ns);
    if (p->hooks_ns) event_data_ms(&p->kept.data, "hooks_ms", p->hooks_ns);
    if (p->reached) event_data_ms(&p->kept.data, "worked_ms", p->worked_ns);
    pipe_event_steps(p);
    if (p->kept.change.n) event_data_raw(&p->kept.data, "change", buf_str(&p->kept.change));
    return pipe_event_end(p, r->is_error ? EVENT_TOOL_FAILED : EVENT_TOOL_COMPLETED);
}

/* Runs the hooks of `error` with {kind, name, message, agent, depth}, whichever step refused the call or failed. */
static bool tell_error(Pipe *p) {
    Heap *h = p->f.heap;
    Dict *d = NULL;
    MEM_UNSET Error err;
    if (!p->out->is_error || !hook_list_any(run_hooks(p->f.run), HOOK_ERROR, (Str){ 0 })) return true;
    HookOutcome out = { 0 };
    if ((d = dict_new(h, 5, &err)) && dict_put_text(h, d, "kind", STR("tool"), &err) && dict_put_text(h, d, "name", p->out->name, &err) &&
        dict_put_text(h, d, "message", p->out->error, &err) && dict_put_text(h, d, "agent", p->f.call->agent, &err) &&
        dict_put_str(h, d, STR("depth"), value_from_small(p->f.call->depth), &err))
        pipe_dispatch(p, HOOK_ERROR, (Str){ 0 }, value_from_object(d), &out);
    return !p->broken;
}

/* Steps 9 to 11; also ends a background task. False: broken. */
bool pipe_finish(Pipe *p) {
    Result *r = p->out;
    if (p->reached && !timed(p, STEP_POST, pipe_after(p))) return false;
    if (p->reached && (r->is_error || run_has_failures(p->f.run)) && !cancel_fired(p->f.cancel)) {
        Value now = p->f.args;
        p->f.args = p->keep;
        pipe_args_exact(p, &p->kept.data);
        p->f.args = now;
        run_note_outcome(p->f.run, r->name, buf_str(&p->kept.data), r->is_error, r->error);
    }
    return timed(p, STEP_BOUND, pipe_bound(p)) && write_end(p) && tell_error(p);
}

/* Writes a result to disk before a model or a program sees it. The result of a nested call is part of the outer
 * call's. */
static bool settle_result(Pipe *p) {
    MEM_UNSET Error err;
    error_none(&err);
    return p->f.call->nested || run_settle(p->f.run, false, &err) || pipe_broken(p, &err);
}

bool tool_call(Run *run, const Call *call, Cancel *cancel, Result *out, Error *err) {
    if (!park_call_start(run, err)) return false;
    Pipe *p = pipe_take(run, call, cancel, out);
    if (timed(p, STEP_RESOLVE, pipe_resolve(p))) reach_result(p);
    if (!p->broken && pipe_finish(p)) settle_result(p);
    park_call_end(run);
    if (!p->broken && call->ended) call->ended(call->ended_ctx, out);
    if (!p->broken) return true;
    if (err) *err = p->kept.err;
    result_clear(out);
    return false;
}

/* ---- judging ---- */

bool tool_judge(Run *run, const Call *call, Cancel *cancel, Arena *arena, ToolJudgement *out, Error *err) {
    Result result;
    Pipe *p = pipe_take(run, call, cancel, &result);
    bool passes = pipe_resolve(p) && pipe_parse(p) && pipe_validate(p) && decide(p) && pipe_inspect(p, true), broken = p->broken;
    if (broken && err) *err = p->kept.err;
    if (!broken) judge_verdict(p, passes, arena, out);
    result_clear(&result);
    return !broken;
}

/* ---- the calls of a reply ---- */

typedef struct Job { Run *run; const Call *call; Cancel *cancel; Result *out; Error err; bool ok; } Job;

static void run_job(void *arg) {
    Job *j = arg;
    if (j->call->begun) j->call->begun(j->call->ended_ctx, j->call);
    j->ok = tool_call(j->run, j->call, j->cancel, j->out, &j->err);
}

static Scheduler *scheduler_of(Run *r) {
    pthread_mutex_lock(&r->lock);
    if (!r->scheduler) r->scheduler = scheduler_new((size_t)r->rt->limits.max_concurrency);
    Scheduler *scheduler = r->scheduler;
    pthread_mutex_unlock(&r->lock);
    return scheduler;
}

static void run_jobs(Run *r, Job *jobs, size_t n) {
    SchedulerGroup *group = n > 1 && r->rt->limits.max_concurrency > 1 ? scheduler_group_new(scheduler_of(r)) : NULL;
    for (size_t i = 0; i < n; i++)
        if (!group || !scheduler_group_add(group, NULL, run_job, &jobs[i], NULL)) run_job(&jobs[i]);
    scheduler_group_free(group);
}

/* Number of calls from `from` on that may run together: adjacent calls that change nothing, or one call alone.
 * Evaluated after all earlier ones have ended: one of them may have registered a tool. */
static size_t batch_size(Run *run, const Call *calls, size_t from, size_t n) {
    size_t to = from;
    while (to < n && tool_runs_beside(run, &calls[to])) to++;
    return to > from ? to - from : 1;
}

static bool all_ok(const Job *jobs, size_t n, Error *err) {
    for (size_t i = 0; i < n; i++) {
        if (jobs[i].ok) continue;
        if (err) *err = jobs[i].err;
        return false;
    }
    return true;
}

bool tool_call_all(Run *run, const Call *calls, size_t n, Cancel *cancel, Result *out, Error *err) {
    Job *jobs = mem_zero(n ? n : 1, sizeof *jobs);
    bool ok = true;
    for (size_t i = 0; i < n; i++) jobs[i] = (Job){ .run = run, .call = &calls[i], .cancel = cancel, .out = &out[i] };
    for (size_t from = 0, size; ok && from < n; from += size) {
        size = batch_size(run, calls, from, n);
        run_jobs(run, jobs + from, size);
        ok = all_ok(jobs + from, size, err);
    }
    for (size_t i = 0; !ok && i < n; i++)
        if (jobs[i].ok) result_clear(&out[i]);
    free(jobs);
    return ok;
}
