/* delegate, complete, ask, ask_all, roots, progress and emit, which rooms below implement. */
#include <stdlib.h>
#include "base/mem.h"
#include "script/script.h"
#include "value/list.h"

static NativeFn agent_delegate, agent_emit, agent_progress, agent_ask, agent_ask_all, agent_roots, agent_complete;
static const NativeParam emit_params[] = { { "name", NATIVE_STRING }, { "payload", NATIVE_ANY } };
static const NativeParam progress_params[] = {
    { "done", NATIVE_INT | NATIVE_FLOAT }, { "total", NATIVE_INT | NATIVE_FLOAT | NATIVE_NONE_IS_ABSENT }, { "message", NATIVE_STRING },
};
static const NativeParam ask_params[] = { { "message", NATIVE_STRING }, { "schema", NATIVE_DICT | NATIVE_NONE_IS_ABSENT }, { "key", NATIVE_STRING } };
static const NativeParam ask_all_params[] = { { "requests", NATIVE_DICT } };
static const NativeParam complete_params[] = {
    { "prompt", NATIVE_STRING | NATIVE_LIST | NATIVE_NONE_IS_ABSENT }, { "max_tokens", NATIVE_INT }, { "model", NATIVE_STRING | NATIVE_NONE_IS_ABSENT },
    { "messages", NATIVE_LIST | NATIVE_NONE_IS_ABSENT },
};

enum { AGENT_FN = SCRIPT_FN | NATIVE_PLAIN_ERRORS };
const NativeDef script_agent[] = {
    { "delegate", agent_delegate, SCRIPT_NO_PARAMS, 0, SCRIPT_OPEN | NATIVE_PLAIN_ERRORS,
      "In a tool: delegate(agent=, task=, …) runs a sub-agent and returns its result. In a hook: delegate(request) is a decision." },
    { "emit", agent_emit, SCRIPT_PARAMS(emit_params), 1, AGENT_FN, "Writes the event custom.NAME to the run's events; payload must have a JSON form." },
    { "progress", agent_progress, SCRIPT_PARAMS(progress_params), 1, AGENT_FN, "Reports progress: done of total, with a message." },
    { "ask", agent_ask, SCRIPT_PARAMS(ask_params), 1, AGENT_FN,
      "Asks the user and returns {action: accept, decline or cancel, content: a value that matches the schema}; cancel when no user is present. An MCP client can answer the question in advance by its key." },
    { "ask_all", agent_ask_all, SCRIPT_PARAMS(ask_all_params), 1, AGENT_FN,
      "Sends several requests at once: {key: request} returns {key: answer}. A request is {message, schema} as for ask, {prompt or messages, max_tokens} as for complete (None when no model is available), or {roots: True}." },
    { "roots", agent_roots, SCRIPT_NO_PARAMS, 0, AGENT_FN,
      "The folders that the client works in, as a list of {uri, name}; the workspace when the client does not report them." },
    { "complete", agent_complete, SCRIPT_PARAMS(complete_params), 0, AGENT_FN,
      "One reply of a model to a prompt or a list of messages, as text; max_tokens defaults to 1024." },
};
const size_t script_agent_n = sizeof script_agent / sizeof *script_agent;

/* ---- delegate ---- */

static bool has_text(const Dict *d, const char *key, Error *err) {
    Value *v = dict_find_str(d, str_from(key));
    if (!v) return error_set(err, ERR_SCRIPT, "missing argument for %s", key);
    return value_is_string(*v) || error_set(err, ERR_SCRIPT, "for parameter %s: got %s, want string", key, value_type_name(*v));
}

/* delegate({…}) and delegate(agent=…, …) are equivalent. */
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
    if (!hook && !script_calls(vm)->delegate) return script_unavailable(vm, a, err);
    return script_outcome(a, run_delegate(vm, a, out, err), err);
}

/* ---- other functions ---- */

static bool agent_emit(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    if (!script_calls(vm)->emit) return script_unavailable(vm, a, err);
    Value payload = native_given(a, 1) ? a->at[1] : VALUE_NONE;
    return script_outcome(a, script_calls(vm)->emit(script_host(vm), script_arg(a, 0), payload, err), err);
}

static bool agent_progress(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    if (!script_calls(vm)->progress) return script_unavailable(vm, a, err);
    Value total = native_given(a, 1) ? a->at[1] : VALUE_NONE;
    return script_outcome(a, script_calls(vm)->progress(script_host(vm), a->at[0], total, script_arg(a, 2), err), err);
}

static bool agent_ask(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    if (!script_calls(vm)->ask) return script_unavailable(vm, a, err);
    HostAsk one = { .kind = HOST_ASK_FORM, .key = script_arg(a, 2), .message = script_arg(a, 0), .schema = native_given(a, 1) ? a->at[1] : VALUE_NONE };
    bool ok = script_calls(vm)->ask(script_host(vm), &one, 1, vm_heap(vm), err);
    if (ok) *out = one.answer;
    return script_outcome(a, ok, err);
}

static bool agent_roots(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    if (!script_calls(vm)->ask) return script_unavailable(vm, a, err);
    HostAsk one = { .kind = HOST_ASK_ROOTS, .key = STR("roots") };
    bool ok = script_calls(vm)->ask(script_host(vm), &one, 1, vm_heap(vm), err);
    if (ok) *out = one.answer;
    return script_outcome(a, ok, err);
}

/* Wraps a prompt as one user message. */
static bool prompt_messages(Vm *vm, Value prompt, Value *out, Error *err) {
    ScriptDict d = script_dict(vm, err);
    script_dict_text(&d, "role", STR("user"));
    script_dict_put(&d, "content", prompt);
    Value message;
    List *l = script_dict_end(&d, &message) ? list_from(vm_heap(vm), &message, 1, err) : NULL;
    if (l) *out = value_from_object(l);
    return l != NULL;
}

static bool sample_of(Vm *vm, Value r, HostAsk *out, Error *err) {
    Value prompt = value_member(r, "prompt"), messages = value_member(r, "messages"), most = value_member(r, "max_tokens");
    out->kind = HOST_ASK_SAMPLE;
    out->max_tokens = 1024;
    out->messages = messages;
    if (!value_is_gone(most)) {
        if (!value_is_small(most) || value_small(most) < 1
            || value_small(most) > INT32_MAX) return error_set(err, ERR_SCRIPT, "max_tokens must be a positive int");
        out->max_tokens = value_small(most);
    }
    if (value_is_string(prompt)) return prompt_messages(vm, prompt, &out->messages, err);
    return value_is_list(messages) || error_set(err, ERR_SCRIPT, "prompt must be a string, or messages a list");
}

static bool request_ask(Vm *vm, Value r, HostAsk *out, Error *err) {
    if (!value_is_dict(r)) return error_set(err, ERR_SCRIPT, "got %s, want dict", value_type_name(r));
    Value message = value_member(r, "message"), schema = value_member(r, "schema"), roots = value_member(r, "roots");
    if (!value_is_gone(roots) && value_truth(roots)) return out->kind = HOST_ASK_ROOTS, true;
    if (!value_is_gone(value_member(r, "prompt")) || !value_is_gone(value_member(r, "messages"))) return sample_of(vm, r, out, err);
    if (!value_is_string(message)) return error_set(err, ERR_SCRIPT, "needs one of message, prompt, messages and roots");
    if (!value_is_gone(schema) && !value_is_none(schema)
        && !value_is_dict(schema)) return error_set(err, ERR_SCRIPT, "schema: got %s, want dict", value_type_name(schema));
    *out = (HostAsk){ .kind = HOST_ASK_FORM, .key = out->key, .message = value_str(message), .schema = value_is_dict(schema) ? schema : VALUE_NONE };
    return true;
}

enum { ASK_ALL_MAX = 64 };

static bool ask_all(Vm *vm, const Dict *requests, HostAsk *asks, Value *out, Error *err) {
    size_t n = 0;
    Entry *e;
    for (uint32_t i = 0; dict_next(requests, &i, &e);) {
        if (!value_is_string(e->key)) return error_set(err, ERR_SCRIPT, "a key must be a string, not %s", value_type_name(e->key));
        asks[n].key = value_str(e->key);
        if (!request_ask(vm, e->value, &asks[n++], err)) return error_wrap(err, "request \"" STR_FMT "\"", STR_ARG(value_str(e->key)));
    }
    if (n && !script_calls(vm)->ask(script_host(vm), asks, n, vm_heap(vm), err)) return false;
    Dict *d = dict_new(vm_heap(vm), n, err);
    for (size_t i = 0; d && i < n; i++)
        if (!dict_put_str(vm_heap(vm), d, asks[i].key, asks[i].answer, err)) return false;
    if (d) *out = value_from_object(d);
    return d != NULL;
}

static bool agent_ask_all(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    if (!script_calls(vm)->ask) return script_unavailable(vm, a, err);
    const Dict *requests = value_dict(a->at[0]);
    if (requests->n > ASK_ALL_MAX) return script_outcome(a, error_set(err, ERR_SCRIPT, "more than %d requests", ASK_ALL_MAX), err);
    HostAsk *asks = mem_zero(requests->n ? requests->n : 1, sizeof *asks);
    bool ok = ask_all(vm, requests, asks, out, err);
    free(asks);
    return script_outcome(a, ok, err);
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
    if (!script_calls(vm)->complete) return script_unavailable(vm, a, err);
    if (!complete_request(vm, a, &request, err)) return script_outcome(a, false, err);
    return script_outcome(a, script_calls(vm)->complete(script_host(vm), request, vm_heap(vm), out, err), err);
}
