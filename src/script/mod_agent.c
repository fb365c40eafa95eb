/* delegate, complete, ask, progress and emit: what rooms below do for a script. */
#include "script/script.h"

static NativeFn agent_delegate, agent_emit, agent_progress, agent_ask, agent_complete;
static const NativeParam emit_params[] = { { "name", NATIVE_STRING }, { "payload", NATIVE_ANY } };
static const NativeParam progress_params[] = {
    { "done", NATIVE_INT | NATIVE_FLOAT }, { "total", NATIVE_INT | NATIVE_FLOAT | NATIVE_NONE_IS_ABSENT }, { "message", NATIVE_STRING },
};
static const NativeParam ask_params[] = { { "message", NATIVE_STRING }, { "schema", NATIVE_DICT | NATIVE_NONE_IS_ABSENT } };
static const NativeParam complete_params[] = {
    { "prompt", NATIVE_STRING | NATIVE_LIST | NATIVE_NONE_IS_ABSENT }, { "max_tokens", NATIVE_INT }, { "model", NATIVE_STRING | NATIVE_NONE_IS_ABSENT },
    { "messages", NATIVE_LIST | NATIVE_NONE_IS_ABSENT },
};

enum { AGENT_FN = SCRIPT_FN | NATIVE_PLAIN_ERRORS };
const NativeDef script_agent[] = {
    { "delegate", agent_delegate, SCRIPT_NO_PARAMS, 0, SCRIPT_OPEN | NATIVE_PLAIN_ERRORS,
      "In a tool: delegate(agent=, task=, …) runs a sub-agent and gives its result. In a hook: delegate(request) is a decision." },
    { "emit", agent_emit, SCRIPT_PARAMS(emit_params), 1, AGENT_FN, "Writes the event custom.NAME to the run's events; payload must have a JSON form." },
    { "progress", agent_progress, SCRIPT_PARAMS(progress_params), 1, AGENT_FN, "Tells how far the work is: done of total, with a message." },
    { "ask", agent_ask, SCRIPT_PARAMS(ask_params), 1, AGENT_FN,
      "Asks the person: {action: accept, decline or cancel, content: a value as the schema says}; cancel when nobody is there." },
    { "complete", agent_complete, SCRIPT_PARAMS(complete_params), 0, AGENT_FN,
      "One reply of a model to a prompt or a list of messages, as text; max_tokens is 1024 unless given." },
};
const size_t script_agent_n = sizeof script_agent / sizeof *script_agent;

/* ---- delegate ---- */

static bool has_text(const Dict *d, const char *key, Error *err) {
    Value *v = dict_find_str(d, str_from(key));
    if (!v) return error_set(err, ERR_SCRIPT, "missing argument for %s", key);
    return value_is_string(*v) || error_set(err, ERR_SCRIPT, "for parameter %s: got %s, want string", key, value_type_name(*v));
}

/* delegate({…}) and delegate(agent=…, …) say the same. */
static bool request_of(Vm *vm, const NativeArgs *a, Dict **out, Error *err) {
    if (a->n > 1 || (a->n && a->n_named)) return error_set(err, ERR_SCRIPT, "takes one dict, or keyword arguments");
    if (a->n == 0) return script_named(vm, a, out, err);
    if (!value_is_dict(a->at[0])) return error_set(err, ERR_SCRIPT, "for parameter 1: got %s, want dict", value_type_name(a->at[0]));
    return *out = value_dict(a->at[0]), true;
}

static bool run_delegate(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Dict *request;
    if (!request_of(vm, a, &request, err)) return false;
    if (script_host(vm) && script_host(vm)->hook) {
        ScriptDict d = script_dict(vm, err);
        script_dict_text(&d, "action", STR("delegate"));
        script_dict_put(&d, "request", value_from_object(request));
        return script_dict_end(&d, out);
    }
    if (!has_text(request, "agent", err) || !has_text(request, "task", err)) return false;
    return script_calls(vm)->delegate(script_host(vm), value_from_object(request), vm_heap(vm), out, err);
}

static bool agent_delegate(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    bool hook = script_host(vm) && script_host(vm)->hook;
    if (!hook && !script_calls(vm)->delegate) return script_unavailable(a, err);
    return script_outcome(a, run_delegate(vm, a, out, err), err);
}

/* ---- the rest ---- */

static bool agent_emit(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    if (!script_calls(vm)->emit) return script_unavailable(a, err);
    Value payload = native_given(a, 1) ? a->at[1] : VALUE_NONE;
    return script_outcome(a, script_calls(vm)->emit(script_host(vm), script_arg(a, 0), payload, err), err);
}

static bool agent_progress(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    if (!script_calls(vm)->progress) return script_unavailable(a, err);
    Value total = native_given(a, 1) ? a->at[1] : VALUE_NONE;
    return script_outcome(a, script_calls(vm)->progress(script_host(vm), a->at[0], total, script_arg(a, 2), err), err);
}

static bool agent_ask(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    if (!script_calls(vm)->ask) return script_unavailable(a, err);
    Value schema = native_given(a, 1) ? a->at[1] : VALUE_NONE;
    return script_outcome(a, script_calls(vm)->ask(script_host(vm), script_arg(a, 0), schema, vm_heap(vm), out, err), err);
}

static bool complete_request(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    int64_t max_tokens = 1024;
    if (!script_arg_i64(a, 1, 1, INT32_MAX, &max_tokens, err)) return false;
    if (native_given(a, 0) == native_given(a, 3)) return error_set(err, ERR_SCRIPT, "give either a prompt or messages");
    Value text = native_given(a, 0) ? a->at[0] : a->at[3];
    ScriptDict d = script_dict(vm, err);
    script_dict_put(&d, value_is_list(text) ? "messages" : "prompt", text);
    script_dict_int(&d, "max_tokens", max_tokens);
    script_dict_put(&d, "model", native_given(a, 2) ? a->at[2] : VALUE_NONE);
    return script_dict_end(&d, out);
}

static bool agent_complete(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Value request;
    if (!script_calls(vm)->complete) return script_unavailable(a, err);
    if (!complete_request(vm, a, &request, err)) return script_outcome(a, false, err);
    return script_outcome(a, script_calls(vm)->complete(script_host(vm), request, vm_heap(vm), out, err), err);
}
