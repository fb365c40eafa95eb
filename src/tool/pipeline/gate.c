/* Steps 4 to 6: limits, policy, and the tool.pre hooks. */
#include "base/clock.h"
#include "tool/pipeline/pipe.h"
#include "value/json.h"

/* ---- limits ---- */

bool pipe_limit(Pipe *p, const char *limit, int64_t value) {
    if (pipe_listened(p)) {
        buf_reset(&p->kept.data);
        event_data_start(&p->kept.data);
        event_data_str(&p->kept.data, "limit", str_from(limit));
        event_data_int(&p->kept.data, "value", value);
        if (!pipe_event_end(p, EVENT_LIMIT_REACHED)) return false;
    }
    return pipe_refuse(p, STEP_LIMITS, str_from(limit), REPAIR_NEVER, "%s of %lld is reached", limit, (long long)value);
}

static bool count_call(Pipe *p) {
    const Limits *l = &p->f.runtime->limits;
    Run *r = p->f.run;
    bool served = r->config.served, bounded = !served || l->calls_limited;
    if (!served && (int64_t)p->f.call->before >= l->max_tool_calls_per_turn)
        return pipe_limit(p, "limits.max_tool_calls_per_turn", l->max_tool_calls_per_turn);
    while (atomic_fetch_add(&r->tool_calls, 1) >= l->max_tool_calls + atomic_load(&r->more_calls) && bounded) {
        atomic_fetch_sub(&r->tool_calls, 1);
        if (p->task || !run_go_on(r, pipe_person(p), pipe_place(p), "limits.max_tool_calls", l->max_tool_calls, &r->more_calls, p->f.cancel))
            return pipe_limit(p, "limits.max_tool_calls", l->max_tool_calls);
    }
    return true;
}

static bool check_depths(Pipe *p) {
    const Limits *l = &p->f.runtime->limits;
    const Call *call = p->f.call;
    if (call->depth > l->delegation.max_depth) return pipe_limit(p, "delegation.max_depth", l->delegation.max_depth);
    if (call->nesting > l->meta.max_call_depth) return pipe_limit(p, "meta.max_call_depth", l->meta.max_call_depth);
    return true;
}

static bool check_totals(Pipe *p) {
    const Limits *l = &p->f.runtime->limits;
    Run *r = p->f.run;
    if (l->max_tokens && atomic_load(&r->tokens) >= l->max_tokens) return pipe_limit(p, "limits.max_tokens", l->max_tokens);
    if (l->max_spend_usd > 0 && atomic_load(&r->spend) >= l->max_spend_usd) return pipe_limit(p, "limits.max_spend_usd", (int64_t)l->max_spend_usd);
    MEM_UNSET Error err;
    error_none(&err);
    if (l->wall_clock_ms && cancel_deadline_ns(r->cancel) <= clock_mono_ns()) return pipe_limit(p, "limits.wall_clock_ms", l->wall_clock_ms);
    if (!cancel_check(p->f.cancel, &err)) return pipe_refuse(p, STEP_LIMITS, str_from(error_kind_name(err.kind)), REPAIR_NEVER, "%s", err.msg);
    return true;
}

static bool check_repeats(Pipe *p) {
    if (p->attempt > 1 || !run_has_failures(p->f.run)) return true;
    pipe_args_exact(p, &p->kept.data);
    if (!run_repeats(p->f.run, p->f.entry->def.name, buf_str(&p->kept.data))) return true;
    return pipe_refuse(p, STEP_LIMITS, STR("repeated_failure"), REPAIR_REFUSED,
                       "tool \"" STR_FMT "\" has failed the same way three times in a row with these arguments: change them or try a different approach",
                       STR_ARG(p->f.entry->def.name));
}

bool pipe_limits(Pipe *p) {
    if (!check_depths(p) || !check_totals(p) || !check_repeats(p) || !count_call(p)) return false;
    pipe_trace(p, STEP_LIMITS, "call %lld of the run", (long long)atomic_load(&p->f.run->tool_calls));
    if (p->started || !pipe_listened(p)) return p->started = true;
    p->started = true;
    pipe_event_start(p);
    event_data_raw(&p->kept.data, "args", pipe_args_json(p));
    return pipe_event_end(p, EVENT_TOOL_STARTED);
}

/* ---- policy ---- */

/* pipe_confirm asks the user, so that hooks run first. */
bool pipe_policy(Pipe *p) {
    const ToolEntry *e = p->f.entry;
    MEM_UNSET Error err;
    error_none(&err);
    if (!runtime_may_act(p->f.runtime, &err)) return pipe_refuse(p, STEP_POLICY, STR("trust"), REPAIR_NEVER, "%s", err.msg);
    p->policy = policy_decide(p->f.runtime->policy, &e->def, &e->safety, e->held);
    if (p->policy.verdict == POLICY_DENY) {
        policy_explain(&p->policy, e->def.name, &err);
        return pipe_refuse(p, STEP_POLICY, p->policy.rule, p->policy.reason == POLICY_CHANGED ? REPAIR_NEVER : REPAIR_REFUSED, "%s", err.msg);
    }
    if (run_planning(p->f.run) && !tool_allowed_by_plan(e))
        return pipe_refuse(p, STEP_POLICY, STR("plan"), REPAIR_REFUSED, "plan mode: tool \"" STR_FMT "\" may change something, and only tools that change "
                           "nothing run until the user types /go", STR_ARG(e->def.name));
    if (!confine_call(p) || !pipe_rules(p)) return false;
    pipe_trace(p, STEP_POLICY, "allowed");
    return true;
}

/* ---- tool.pre ---- */

/* {id, name, kind, arguments, args, agent, depth, safety}. */
static bool make_payload(Pipe *p, Value *out, Error *err) {
    Heap *h = p->f.heap;
    Dict *d = dict_new(h, 8, err);
    Value safety = d ? safety_value(&p->f.entry->safety, h, err) : VALUE_GONE;
    Str text = p->f.raw;
    if (p->args_changed) {
        buf_reset(&p->kept.args_json);
        if (!json_write(&p->kept.args_json, p->f.args, &(JsonWrite){ 0 }, err)) return false;
        text = buf_str(&p->kept.args_json);
    }
    *out = value_from_object(d);
    return d && !value_is_gone(safety) && dict_put_text(h, d, "id", p->f.call_id, err) && dict_put_text(h, d, "name", p->f.entry->def.name, err) &&
           dict_put_text(h, d, "kind", str_from(call_kind_name(project_call_kind(&p->f.entry->def))), err) &&
           dict_put_text(h, d, "arguments", text, err) && dict_put_str(h, d, STR("args"), p->f.args, err) &&
           dict_put_text(h, d, "agent", p->f.call->agent, err) && dict_put_str(h, d, STR("depth"), value_from_small(p->f.call->depth), err) &&
           dict_put_str(h, d, STR("safety"), safety, err);
}

static bool take_modified(Pipe *p, Value payload) {
    Value *args = value_is_dict(payload) ? dict_find_str(value_dict(payload), STR("args")) : NULL;
    p->f.args = args ? *args : VALUE_NONE;
    p->args_changed = true;
    if (value_is_dict(p->f.args)) {                       /* a hook's result may be frozen */
        Error err = { 0 };
        if (!value_copy_all_into(p->f.heap, p->f.args, &p->f.args, &err)) return pipe_refuse(p, STEP_PRE, STR("heap"), REPAIR_NEVER, "%s", err.msg);
    }
    if (pipe_check_args(p, &p->kept.data)) return true;
    return pipe_refuse(p, STEP_PRE, STR("invalid_arguments"), REPAIR_REFUSED,
                       "a hook changed the arguments into invalid ones: %s", p->kept.data.at);
}

static bool tampered(Pipe *p, const HookOutcome *out) {
    Error err = { 0 };
    if (out->commands == 0 || runtime_verify(p->f.runtime, &err)) return false;
    pipe_event_tampered(p, &err);
    pipe_refuse(p, STEP_PRE, STR("sandbox.tampered"), REPAIR_NEVER, "%s", err.msg);
    return true;
}

bool pipe_before(Pipe *p) {
    if (!hook_list_any(run_hooks(p->f.run), HOOK_TOOL_PRE, (Str){ 0 })) return true;
    HookOutcome out = { 0 };
    Value payload;
    Error err = { 0 };
    heap_set_limit(p->f.heap, 0);                         /* no limit for the payload: the arguments were already
                                                           * limited */
    bool commands = p->f.runtime->command_hooks, guarded = commands && runtime_guard(p->f.runtime, true, &err);
    bool made = (guarded || !commands) && make_payload(p, &payload, &err);
    if (made) pipe_dispatch(p, HOOK_TOOL_PRE, (Str){ 0 }, payload, &out);
    bool bad = !p->broken && tampered(p, &out);
    if (guarded) runtime_unguard(p->f.runtime);
    if (!made) return pipe_refuse(p, STEP_PRE, STR("payload"), REPAIR_NEVER, "%s", err.msg);
    if (p->broken || bad) return false;
    if (out.decision != HOOK_ALLOW) {
        char said[HOOK_SAID_MAX];
        bool stopped = out.hook.n == 0 && cancel_expired(p->f.cancel);       /* no hook refused, so the model
                                                                              * cannot repair this */
        Repair repair = stopped ? REPAIR_NEVER : REPAIR_REFUSED;
        p->out->rule_file = arena_str(&p->kept.arena, out.file);
        return pipe_refuse(p, STEP_PRE, out.hook, repair, "%s", hook_outcome_say(&out, "blocked", said));
    }
    if (out.modified && (!take_modified(p, out.payload) || !pipe_rules(p))) return false;
    pipe_trace(p, STEP_PRE, "%s", out.modified ? "arguments changed" : "allowed");
    return true;
}
