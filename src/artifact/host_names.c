#include "artifact/host_names.h"

static bool unavailable(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)vm, (void)a, (void)out;
    return error_set(err, ERR_SCRIPT, "not available here");
}

typedef enum { BOTH, TOOLS } Who;
typedef enum { HOST_MODULE, HOST_MEMBER, HOST_FLAT, HOST_CALLABLE } HostKind;
typedef struct { HostKind kind; Who who; const char *module; NativeDef def; } HostName;

#define STAND_IN(text) { .name = (text), .fn = unavailable, .flags = NATIVE_VARIADIC | NATIVE_HOST }
static const HostName names[] = {
#define MODULE(module_, who_) { HOST_MODULE, who_, #module_, { 0 } },
#define MEMBER(module_, name_, who_) { HOST_MEMBER, who_, #module_, STAND_IN(#module_ "." #name_) },
#define FLAT(name_, who_) { HOST_FLAT, who_, #name_, STAND_IN(#name_) },
#define CALLABLE(module_) { HOST_CALLABLE, BOTH, #module_, STAND_IN(#module_) },
#include "artifact/host_names.def"
#undef MODULE
#undef MEMBER
#undef FLAT
#undef CALLABLE
};

/* `runtime` is a dict at call time; before that it has nothing to give. */
static bool runtime_index(Vm *vm, Value self, Value key, Value *out, Error *err) {
    (void)vm, (void)self, (void)key, (void)out;
    return error_set(err, ERR_SCRIPT, "runtime is not available at load time");
}

static bool runtime_attr(Vm *vm, Value self, String *name, Value *out, Error *err) {
    (void)vm, (void)self, (void)name, (void)out;
    return error_set(err, ERR_SCRIPT, "runtime is not available at load time");
}

static const NativeClass runtime_class = { .base = { .name = "dict" }, .attr = runtime_attr, .index = runtime_index };

static bool put_native(Heap *h, Dict *to, const HostName *n, Error *err) {
    Native *fn = native_new(h, &n->def, NULL, err);
    return fn && dict_put_str(h, to, str_from(n->module), value_from_object(fn), err);
}

/* set() and hash() are functions of the language too, and stay so. */
static bool make_callable(Heap *h, const Universe *u, NativeModule *m, const HostName *n, Error *err) {
    Value call = universe_get(u, str_from(n->module));
    if (value_is_gone(call)) {
        Native *fn = native_new(h, &n->def, NULL, err);
        if (!fn) return false;
        call = value_from_object(fn);
    }
    native_module_set_call(m, call);
    return true;
}

static bool fill(Heap *h, const Universe *u, Who who, Dict *to, Error *err) {
    NativeModule *m = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const HostName *n = &names[i];
        if (who == BOTH && n->who == TOOLS) continue;              /* not for hooks? */
        bool ok = true;
        switch (n->kind) {
        case HOST_MODULE:
            m = native_module_new(h, str_from(n->module), err);
            ok = m && dict_put_str(h, to, str_from(n->module), value_from_object(m), err);
            break;
        case HOST_MEMBER: ok = native_module_add(h, m, &n->def, 1, NULL, err); break;
        case HOST_CALLABLE: ok = make_callable(h, u, m, n, err); break;
        case HOST_FLAT: ok = put_native(h, to, n, err); break;
        }
        if (!ok) return false;
    }
    Classed *runtime = heap_alloc_classed(h, OBJECT_CLASSED, &runtime_class.base, sizeof *runtime, err);
    return runtime && dict_put_str(h, to, STR("runtime"), value_from_object(runtime), err)
        && dict_put_str(h, to, STR("json"), universe_module(u, STR("json")), err)
        && dict_put_str(h, to, STR("math"), universe_module(u, STR("math")), err);
}

bool host_names_make(Heap *heap, const Universe *universe, HostNames *out, Error *err) {
    HostNames n = { dict_new(heap, 64, err), NULL };
    if (!n.tools || !(n.hooks = dict_new(heap, 64, err))) return false;
    if (!fill(heap, universe, TOOLS, n.tools, err) || !fill(heap, universe, BOTH, n.hooks, err)) return false;
    *out = n;
    return true;
}
