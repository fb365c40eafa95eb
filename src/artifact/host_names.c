#include "artifact/host_names.h"

static bool unavailable(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)vm, (void)a, (void)out;
    return error_set(err, ERR_SCRIPT, "not available here");
}

typedef enum { BOTH, TOOLS } Who;
typedef enum { HOST_VALUE, HOST_MODULE, HOST_MEMBER, HOST_FLAT, HOST_CALLABLE } HostKind;
typedef struct { HostKind kind; Who who; const char *module; NativeDef def; } HostName;

#define STAND_IN(text) { .name = (text), .fn = unavailable, .flags = NATIVE_VARIADIC | NATIVE_HOST }
static const HostName names[] = {
#define VALUE(name_) { HOST_VALUE, BOTH, #name_, { 0 } },
#define MODULE(module_, who_) { HOST_MODULE, who_, #module_, { 0 } },
#define MEMBER(module_, name_, who_) { HOST_MEMBER, who_, #module_, STAND_IN(#module_ "." #name_) },
#define FLAT(name_, who_) { HOST_FLAT, who_, #name_, STAND_IN(#name_) },
#define CALLABLE(module_) { HOST_CALLABLE, BOTH, #module_, STAND_IN(#module_) },
#include "artifact/host_names.def"
#undef VALUE
#undef MODULE
#undef MEMBER
#undef FLAT
#undef CALLABLE
};

/* set() and hash() are built-in functions of the language and stay callable. */
static const NativeDef *language_function(const char *name) {
    for (size_t i = 0; i < lib_core_n; i++)
        if (strcmp(lib_core[i].name, name) == 0) return &lib_core[i];
    return NULL;
}

static const NativeDef *def_of(const HostName *n, const Table *functions, Error *err) {
    const NativeDef *def = n->kind == HOST_CALLABLE ? language_function(n->module) : NULL;
    if (!def) def = functions ? table_get(functions, str_from(n->def.name)) : &n->def;
    if (!def) error_set(err, ERR_INTERNAL, "%s is not implemented", n->def.name);
    return def;
}

static bool put(Heap *h, Dict *to, const HostName *n, void *object, Error *err) {
    return object && dict_put_str(h, to, str_from(n->module), value_from_object(object), err);
}

static bool put_slot(Heap *h, Dict *to, const HostName *n, Error *err) {
    Dict *nothing = dict_new(h, 0, err);
    return nothing && put(h, to, n, native_slot_new(h, str_from(n->module), value_from_object(nothing), err), err);
}

static bool put_function(Heap *h, Dict *to, NativeModule *m, const HostName *n, const Table *functions, Error *err) {
    const NativeDef *def = def_of(n, functions, err);
    if (!def) return false;
    if (n->kind == HOST_MEMBER) return native_module_add(h, m, def, 1, NULL, err);
    Native *fn = native_new(h, def, NULL, err);
    if (n->kind == HOST_FLAT) return put(h, to, n, fn, err);
    if (fn) native_module_set_call(m, value_from_object(fn));
    return fn != NULL;
}

static bool fill(Heap *h, const Table *functions, Who who, Dict *to, Error *err) {
    NativeModule *m = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const HostName *n = &names[i];
        if (who == BOTH && n->who == TOOLS) continue;              /* hooks may not use it */
        bool ok = n->kind == HOST_VALUE    ? put_slot(h, to, n, err)
                  : n->kind == HOST_MODULE ? put(h, to, n, m = native_module_new(h, str_from(n->module), err), err)
                                           : put_function(h, to, m, n, functions, err);
        if (!ok) return false;
    }
    return universe_add_modules(h, to, err);
}

bool host_names_make(Heap *heap, const Table *functions, HostNames *out, Error *err) {
    HostNames n = { dict_new(heap, 64, err), NULL };
    if (!n.tools || !(n.hooks = dict_new(heap, 64, err))) return false;
    if (!fill(heap, functions, TOOLS, n.tools, err) || !fill(heap, functions, BOTH, n.hooks, err)) return false;
    *out = n;
    return true;
}
