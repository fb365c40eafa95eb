/* Step 9: the tool.post hooks. They see everything that was executed, including errors and timeouts. */
#include "tool/pipeline/pipe.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "value/json.h"

/* {call_id, name, kind, args, content, result, is_error, elapsed_ms, agent, depth}. */
static bool make_payload(Pipe *p, Value *out, Error *err) {
    Heap *h = p->f.heap;
    Result *r = p->out;
    buf_reset(&p->kept.data);
    if (!json_write(&p->kept.data, r->value, &(JsonWrite){ 0 }, err)) return false;
    Dict *d = dict_new(h, 16, err);
    *out = value_from_object(d);
    return d && dict_put_text(h, d, "call_id", p->f.call_id, err) && dict_put_text(h, d, "name", r->name, err) &&
           dict_put_text(h, d, "kind", str_from(call_kind_name(project_call_kind(&p->f.entry->def))), err) &&
           dict_put_str(h, d, STR("args"), p->keep, err) && dict_put_text(h, d, "content", buf_str(&p->kept.data), err) &&
           dict_put_str(h, d, STR("result"), r->value, err) && dict_put_str(h, d, STR("is_error"), value_from_bool(r->is_error), err) &&
           dict_put_str(h, d, STR("elapsed_ms"), value_from_float((double)p->worked_ns / 1e6), err) &&
           dict_put_text(h, d, "agent", p->f.call->agent, err) && dict_put_str(h, d, STR("depth"), value_from_small(p->f.call->depth), err);
}

/* Removes the tool's result completely. */
static void withhold(Pipe *p, const HookOutcome *out) {
    Result *r = p->out;
    r->step = STEP_POST;
    r->rule = out->hook.n ? out->hook : STR("tool.post");
    r->timed_out = false;
    buf_reset(&p->kept.data);
    if (out->hook.n) buf_add_fmt(&p->kept.data, "result withheld by hook " STR_FMT ": %s", STR_ARG(out->hook), out->reason);
    else buf_add_fmt(&p->kept.data, "result withheld, because the tool.post hooks could not see it: %s", out->reason);
    pipe_classify(p, REPAIR_REFUSED, &p->kept.data);
    pipe_set_error(p, buf_str(&p->kept.data));
}

static void take_modified(Pipe *p, Value payload) {
    Result *r = p->out;
    Value result = value_member(payload, "result"), flag = value_member(payload, "is_error");
    bool same = value_same(result, r->value);
    if (!same) r->value = value_is_gone(result) ? VALUE_NONE : result, r->content = VALUE_GONE;
    r->is_error = (value_is_bool(flag) && value_bool(flag)) || pipe_error_member(result).n;
    if (!r->is_error) {
        r->step = STEP_NONE;
        r->error = r->rule = (Str){ 0 };
        r->cls = RESULT_OK;
        r->timed_out = false;
        return;
    }
    if (r->cls == RESULT_OK) r->cls = RESULT_REPAIRABLE, r->step = STEP_POST;
    pipe_take_error_text(p, r->value);
}

static bool verify(Pipe *p, const HookOutcome *out) {
    Error err = { 0 };
    if (out->commands == 0 || runtime_verify(p->f.runtime, &err)) return true;
    pipe_fail(p, STEP_POST, STR("sandbox.tampered"), RESULT_FATAL, str_from(err.msg));
    return pipe_event_tampered(p, &err);
}

bool pipe_after(Pipe *p) {
    if (!p->reached || !hook_list_any(run_hooks(p->f.run), HOOK_TOOL_POST, (Str){ 0 })) return true;
    HookOutcome out = { 0 };
    Value payload;
    Error err = { 0 };
    bool commands = p->f.runtime->command_hooks, guarded = commands && runtime_guard(p->f.runtime, true, &err);
    if ((guarded || !commands) && make_payload(p, &payload, &err)) {
        pipe_dispatch(p, HOOK_TOOL_POST, (Str){ 0 }, payload, &out);
    } else {
        out.decision = HOOK_BLOCK;                        /* withhold a result that the hooks could not see */
        snprintf(out.reason, sizeof out.reason, "%.500s", err.msg);
    }
    if (!p->broken) {
        if (out.decision != HOOK_ALLOW) withhold(p, &out);
        else if (out.modified) take_modified(p, out.payload);
    }
    bool fine = !p->broken && verify(p, &out);
    if (guarded) runtime_unguard(p->f.runtime);
    if (!fine) return false;
    if (out.modified) pipe_check_output(p, STEP_POST);
    pipe_trace(p, STEP_POST, "%s", out.decision != HOOK_ALLOW ? "withheld" : out.modified ? "result changed" : "allowed");
    return true;
}
