/* Converts the return value of a script to a decision. */
#include <stdio.h>
#include "base/utf8.h"
#include "hook/ask.h"

void hook_reason_set(char out[HOOK_REASON_MAX], const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(out, HOOK_REASON_MAX, fmt, ap);
    va_end(ap);
    out[utf8_valid_prefix(str_from(out))] = 0;                 /* cut inside a character, or invalid UTF-8 */
}

static bool read_reason(const Dict *d, HookAnswer *out, Error *err) {
    Value *reason = dict_find_str(d, STR("reason"));
    out->reason[0] = 0;
    if (!reason || value_is_none(*reason)) return true;
    if (!value_is_string(*reason)) return error_set(err, ERR_SCRIPT, "the reason of a block must be a string, not %s", value_type_name(*reason));
    hook_reason_set(out->reason, STR_FMT, STR_ARG(value_str(*reason)));
    return true;
}

static bool read_dict(const Dict *d, const char *action, Str key, HookAnswer *out, Error *err) {
    Value *v = dict_find_str(d, key);
    if (!v || !value_is_dict(*v))
        return error_set(err, ERR_SCRIPT, "%s needs a dict as " STR_FMT ", not %s", action, STR_ARG(key), v ? value_type_name(*v) : "nothing");
    return out->value = *v, true;
}

static bool read_action(const HookEventInfo *info, const Dict *d, Str name, HookAnswer *out, Error *err) {
    if (!hook_decision_find(name, &out->says)) return error_set(err, ERR_SCRIPT, "unknown action \"" STR_FMT "\"", STR_ARG(name));
    if (!(info->decisions >> out->says & 1)) return error_set(err, ERR_SCRIPT, STR_FMT " is not a decision for %s", STR_ARG(name), info->name);
    switch (out->says) {
    case HOOK_BLOCK: return read_reason(d, out, err);
    case HOOK_MODIFY: return read_dict(d, "modify", STR("payload"), out, err);
    case HOOK_DELEGATE: return read_dict(d, "delegate", STR("request"), out, err);
    default: return true;
    }
}

bool hook_answer_read(const HookEventInfo *info, Value v, HookAnswer *out, Error *err) {
    if (!info->decisions) return out->says = HOOK_ALLOW, true;     /* a notification: the return value is ignored */
    Value *action = value_is_dict(v) ? dict_find_str(value_dict(v), STR("action")) : NULL;
    if (!action || !value_is_string(*action))
        return error_set(err, ERR_SCRIPT, "handle returned %s, want allow(), block(reason) or another decision",
                         value_is_none(v) ? "None" : value_is_dict(v) ? "a dict without an action" : value_type_name(v));
    return read_action(info, value_dict(v), value_str(*action), out, err);
}
