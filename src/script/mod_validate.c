/* The module validate: checks of text formats. */
#include <strings.h>
#include "schema/format.h"
#include "script/script.h"
#include "value/json.h"

static NativeFn validate_email, validate_url, validate_json;
static const NativeParam text[] = { { "s", NATIVE_STRING } };

const NativeDef script_validate[] = {
    { "validate.email", validate_email, SCRIPT_PARAMS(text), 1, SCRIPT_FN, "True if s is an e-mail address." },
    { "validate.url", validate_url, SCRIPT_PARAMS(text), 1, SCRIPT_FN, "True if s is an http or https URL with a host." },
    { "validate.json", validate_json, SCRIPT_PARAMS(text), 1, SCRIPT_FN, "Is s one JSON value?" },
};
const size_t script_validate_n = sizeof script_validate / sizeof *script_validate;

static bool validate_email(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Str s = script_arg(a, 0);
    return vm_work(vm, 1 + s.n / 8, err) && (*out = value_from_bool(format_email(s)), true);
}

static bool has_host(Str s) {
    for (size_t i = 0; i < 2; i++) {
        Str start = i ? STR("https://") : STR("http://");
        if (s.n > start.n && strncasecmp(s.at, start.at, start.n) == 0) return !strchr("/?#:@", s.at[start.n]);
    }
    return false;
}

static bool validate_url(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Str s = script_arg(a, 0);
    return vm_work(vm, 1 + s.n / 8, err) && (*out = value_from_bool(has_host(s) && format_iri(s)), true);
}

static bool validate_json(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Str s = script_arg(a, 0);
    Heap *scratch = heap_new((size_t)256 << 20);
    Error why = { 0 };
    Value v;
    bool ok = json_read(scratch, s, &(JsonRead){ .cancel = vm_cancel(vm) }, &v, &why);
    heap_free(scratch);
    if (!ok && why.kind != ERR_PARSE) return *err = why, false;
    return vm_work(vm, 1 + s.n / 8, err) && (*out = value_from_bool(ok), true);
}
