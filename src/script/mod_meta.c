/* The module meta: lets scripts add tools, hooks and agents, and call tools. src/tool/ implements it, within meta's
 * limits. */
#include "script/script.h"

static NativeFn meta_tool, meta_hook, meta_agent, meta_list_tools, meta_call_tool;
static const NativeParam tool_params[] = {
    { "name", NATIVE_STRING }, { "description", NATIVE_STRING }, { "parameters", NATIVE_DICT | NATIVE_NONE_IS_ABSENT }, { "script", NATIVE_STRING },
    { "timeout_ms", NATIVE_INT | NATIVE_NONE_IS_ABSENT },
};
static const NativeParam hook_params[] = {
    { "name", NATIVE_STRING }, { "event", NATIVE_STRING }, { "script", NATIVE_STRING }, { "when", NATIVE_STRING }, { "priority", NATIVE_INT },
};
static const NativeParam list_params[] = { { "pattern", NATIVE_STRING } };
static const NativeParam call_params[] = {
    { "name", NATIVE_STRING }, { "args", NATIVE_DICT | NATIVE_NONE_IS_ABSENT }, { "timeout_seconds", NATIVE_INT | NATIVE_FLOAT | NATIVE_NONE_IS_ABSENT },
};

enum { META_FN = SCRIPT_FN | NATIVE_PLAIN_ERRORS, META_OPEN = SCRIPT_OPEN | NATIVE_PLAIN_ERRORS };
#define TOOL_DOC "Adds a tool for the rest of the run: parameters as in a tool's file, script defines run(args)."
#define HOOK_DOC "Adds a hook for the rest of the run: script defines handle(event, payload); when defaults to \"\", priority to 20."
#define AGENT_DOC "Adds an agent for the rest of the run: the fields of an agent's file, by name; name is required."
const NativeDef script_meta[] = {
    { "meta.tool_register", meta_tool, SCRIPT_PARAMS(tool_params), 4, META_FN, TOOL_DOC },
    { "meta.hook_register", meta_hook, SCRIPT_PARAMS(hook_params), 3, META_FN, HOOK_DOC },
    { "meta.agent_register", meta_agent, SCRIPT_NO_PARAMS, 0, META_OPEN, AGENT_DOC },
    { "meta.register_tool", meta_tool, SCRIPT_PARAMS(tool_params), 4, META_FN, TOOL_DOC },
    { "meta.register_hook", meta_hook, SCRIPT_PARAMS(hook_params), 3, META_FN, HOOK_DOC },
    { "meta.register_agent", meta_agent, SCRIPT_NO_PARAMS, 0, META_OPEN, AGENT_DOC },
    { "meta.list_tools", meta_list_tools, SCRIPT_PARAMS(list_params), 0, META_FN, "The tools whose names match pattern (default: all)." },
    { "meta.call_tool", meta_call_tool, SCRIPT_PARAMS(call_params), 1, META_FN, "Calls a tool through the whole pipeline; returns its value." },
};
const size_t script_meta_n = sizeof script_meta / sizeof *script_meta;

/* All given arguments, by name. */
static bool definition(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    ScriptDict d = script_dict(vm, err);
    for (uint32_t i = 0; i < a->n; i++)
        if (native_given(a, i)) script_dict_put(&d, a->def->params[i].name, a->at[i]);
    return script_dict_end(&d, out);
}

static bool meta_tool(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    Value def;
    if (!script_calls(vm)->register_tool) return script_unavailable(vm, a, err);
    return script_outcome(a, definition(vm, a, &def, err) && script_calls(vm)->register_tool(script_host(vm), def, err), err);
}

static bool meta_hook(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    Value def;
    if (!script_calls(vm)->register_hook) return script_unavailable(vm, a, err);
    return script_outcome(a, definition(vm, a, &def, err) && script_calls(vm)->register_hook(script_host(vm), def, err), err);
}

static bool register_agent(Vm *vm, const NativeArgs *a, Error *err) {
    Dict *def;
    if (a->n) return error_set(err, ERR_SCRIPT, "takes keyword arguments only");
    if (!script_named(vm, a, &def, err)) return false;
    Value *name = dict_find_str(def, STR("name"));
    if (!name || !value_is_string(*name)) return error_set(err, ERR_SCRIPT, "missing argument for name");
    return script_calls(vm)->register_agent(script_host(vm), value_from_object(def), err);
}

static bool meta_agent(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    if (!script_calls(vm)->register_agent) return script_unavailable(vm, a, err);
    return script_outcome(a, register_agent(vm, a, err), err);
}

static bool meta_list_tools(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    if (!script_calls(vm)->list_tools) return script_unavailable(vm, a, err);
    return script_outcome(a, script_calls(vm)->list_tools(script_host(vm), script_arg(a, 0), vm_heap(vm), out, err), err);
}

static bool meta_call_tool(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    if (!script_calls(vm)->call_tool) return script_unavailable(vm, a, err);
    int64_t ns = 0;
    Value args = a->at[1];
    if (!native_given(a, 1)) {
        Dict *none = dict_new(vm_heap(vm), 0, err);
        if (!none) return false;
        args = value_from_object(none);
    }
    if (!script_arg_seconds(a, 2, 1e6, &ns, err)) return script_outcome(a, false, err);
    return script_outcome(a, script_calls(vm)->call_tool(script_host(vm), script_arg(a, 0), args, (ns + 999999) / 1000000, vm_heap(vm), out, err), err);
}
