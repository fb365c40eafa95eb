/* allow, block and modify: the decisions of hooks, as dicts. */
#include "script/script.h"

static NativeFn decision_allow, decision_block, decision_modify;
static const NativeParam block_params[] = { { "reason", NATIVE_STRING } };
static const NativeParam modify_params[] = { { "payload", NATIVE_DICT } };

const NativeDef script_decision[] = {
    { "allow", decision_allow, SCRIPT_NO_PARAMS, 0, SCRIPT_FN, "A hook's decision {\"action\": \"allow\"}: continue." },
    { "block", decision_block, SCRIPT_PARAMS(block_params), 0, SCRIPT_FN, "A hook's decision {\"action\": \"block\", \"reason\": …}: no." },
    { "modify", decision_modify, SCRIPT_PARAMS(modify_params), 1, SCRIPT_FN,
      "A hook's decision {\"action\": \"modify\", \"payload\": …}: continue with this payload." },
};
const size_t script_decision_n = sizeof script_decision / sizeof *script_decision;

static bool decision_allow(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)a;
    ScriptDict d = script_dict(vm, err);
    script_dict_text(&d, "action", STR("allow"));
    return script_dict_end(&d, out);
}

static bool decision_block(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    ScriptDict d = script_dict(vm, err);
    script_dict_text(&d, "action", STR("block"));
    script_dict_text(&d, "reason", script_arg(a, 0));
    return script_dict_end(&d, out);
}

static bool decision_modify(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    ScriptDict d = script_dict(vm, err);
    script_dict_text(&d, "action", STR("modify"));
    script_dict_put(&d, "payload", a->at[0]);
    return script_dict_end(&d, out);
}
