/* The module template. */
#include "base/clock.h"
#include "script/script.h"
#include "starlark/vm/work.h"
#include "template/template.h"

static NativeFn template_fn_render;
static const NativeParam render_params[] = { { "tmpl", NATIVE_STRING }, { "vars", NATIVE_DICT | NATIVE_NONE_IS_ABSENT } };

const NativeDef script_template[] = {
    { "template.render", template_fn_render, SCRIPT_PARAMS(render_params), 1, SCRIPT_FN,
      "The template ({{name}}, {{#if}}, {{#unless}}, {{#each}}, {{#with}}) with the values of vars; nothing is escaped." },
};
const size_t script_template_n = sizeof script_template / sizeof *script_template;

static bool render(Vm *vm, const Template *t, Value vars, Value *out, Error *err) {
    Buf text = { 0 };
    int64_t since = clock_mono_ns();
    bool ok = template_render(t, vars, &text, err) && script_charge(vm, since, err) && script_text(vm, buf_str(&text), out, err);
    buf_clear(&text);
    return ok;
}

static bool template_fn_render(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Template *t;
    Str text = script_arg(a, 0);
    Value vars = a->at[1];
    if (!native_given(a, 1)) {
        Dict *none = dict_new(vm_heap(vm), 0, err);
        if (!none) return false;
        vars = value_from_object(none);
    }
    if (!vm_work(vm, 100 + text.n / 4, err) || !template_compile(text, NULL, &t, err)) return false;
    bool ok = render(vm, t, vars, out, err);
    template_free(t);
    return ok;
}
