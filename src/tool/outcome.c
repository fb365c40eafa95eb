/* Step 9: the hooks that stand behind a tool. They see everything that was executed, errors and timeouts too. */
#include "tool/pipe.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "value/json.h"

/* {call_id, name, args, content, result, is_error, elapsed_ms, agent, depth}. */
static bool make_payload(Pipe *p, Value *out, Error *err) {
    Heap *h = p->f.heap;
    Result *r = p->out;
    buf_reset(&p->kept.data);
    if (!json_write(&p->kept.data, r->value, &(JsonWrite){ 0 }, err)) return false;
    Dict *d = dict_new(h, 16, err);
    *out = value_from_object(d);
    return d && dict_put_text(h, d, "call_id", p->f.call_id, err) && dict_put_text(h, d, "name", r->name, err) &&
           dict_put_str(h, d, STR("args"), p->keep, err) && dict_put_text(h, d, "content", buf_str(&p->kept.data), err) &&
           dict_put_str(h, d, STR("result"), r->value, err) && dict_put_str(h, d, STR("is_error"), value_from_bool(r->is_error), err) &&
           dict_put_str(h, d, STR("elapsed_ms"), value_from_float((double)p->worked_ns / 1e6), err) &&
           dict_put_text(h, d, "agent", p->f.call->agent, err) && dict_put_str(h, d, STR("depth"), value_from_small(p->f.call->depth), err);
}

/* Nothing of the tool's own result is left. */
static void withhold(Pipe *p, const HookOutcome *out) {
    Result *r = p->out;
    r->step = STR("tool.post");
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
    Value *text = value_is_dict(result) ? dict_find_str(value_dict(result), STR("error")) : NULL;
    bool error = text && value_is_string(*text) && value_str(*text).n;
    bool same = value_same(result, r->value);
    if (!same) r->value = value_is_gone(result) ? VALUE_NONE : result, r->content = VALUE_GONE;
    r->is_error = (value_is_bool(flag) && value_bool(flag)) || error;
    if (!r->is_error) {
        r->error = r->step = r->rule = (Str){ 0 };
        r->cls = RESULT_OK;
        r->timed_out = false;
        return;
    }
    if (r->cls == RESULT_OK) r->cls = RESULT_REPAIRABLE, r->step = STR("tool.post");
    buf_reset(&p->kept.data);
    Error err;
    if (error) buf_add(&p->kept.data, value_str(*text));
    else if (!json_write(&p->kept.data, r->value, &(JsonWrite){ 0 }, &err)) buf_add(&p->kept.data, STR("failed"));
    r->error = arena_str(&p->kept.arena, str_sub(buf_str(&p->kept.data), 0, 2048));
}

static bool verify(Pipe *p, const HookOutcome *out) {
    Error err = { 0 };
    if (out->commands == 0 || runtime_verify(p->f.runtime, &err)) return true;
    p->out->step = STR("tool.post");
    p->out->rule = STR("sandbox.tampered");
    p->out->cls = RESULT_FATAL;
    pipe_set_error(p, str_from(err.msg));
    if (!pipe_listened(p)) return true;
    pipe_event_start(p);
    event_data_str(&p->kept.data, "message", str_from(err.msg));
    return pipe_event_end(p, EVENT_SANDBOX_TAMPERED);
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
        out.decision = HOOK_BLOCK;                        /* a result that no hook could look at goes nowhere */
        snprintf(out.reason, sizeof out.reason, "%.500s", err.msg);
    }
    if (!p->broken) {
        if (out.decision != HOOK_ALLOW) withhold(p, &out);
        else if (out.modified) take_modified(p, out.payload);
    }
    bool fine = !p->broken && verify(p, &out);
    if (guarded) runtime_unguard(p->f.runtime);
    if (!fine) return false;
    buf_reset(&p->kept.data);
    if (out.modified && !p->out->is_error && p->f.entry->def.output && !pipe_violations(p->f.entry->def.output, p->out->value, &p->kept.data)) {
        Str problems = arena_str(&p->kept.arena, buf_str(&p->kept.data));
        p->out->step = STR("tool.post");
        p->out->rule = STR("output_schema");
        p->out->cls = RESULT_REPAIRABLE;
        buf_reset(&p->kept.data);
        buf_add_fmt(&p->kept.data, "the result does not fit output_schema: " STR_FMT, STR_ARG(problems));
        pipe_set_error(p, buf_str(&p->kept.data));
    }
    pipe_trace(p, "tool.post", "%s", out.decision != HOOK_ALLOW ? "withheld" : out.modified ? "result changed" : "allowed");
    return true;
}
