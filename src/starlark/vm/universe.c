#include "starlark/vm/universe.h"

#include <math.h>
#include <stdlib.h>
#include "base/mem.h"

static bool add_core(Universe *u, Error *err) {
    Heap *h = u->heap;
    if (!dict_put_str(h, u->names, STR("None"), VALUE_NONE, err) || !dict_put_str(h, u->names, STR("True"), VALUE_TRUE, err) ||
        !dict_put_str(h, u->names, STR("False"), VALUE_FALSE, err))
        return false;
    for (size_t i = 0; i < lib_core_n; i++) {
        Native *fn = native_new(h, &lib_core[i], NULL, err);
        if (!fn || !dict_put_str(h, u->names, str_from(lib_core[i].name), value_from_object(fn), err)) return false;
    }
    return true;
}

static NativeModule *add_module(Heap *h, Dict *to, Str name, const NativeDef *defs, size_t n, Error *err) {
    NativeModule *m = native_module_new(h, name, err);
    if (!m || !native_module_add(h, m, defs, n, NULL, err)) return NULL;
    return dict_put_str(h, to, name, value_from_object(m), err) ? m : NULL;
}

bool universe_add_modules(Heap *h, Dict *to, Error *err) {
    if (!add_module(h, to, STR("json"), lib_json, lib_json_n, err)) return false;
    NativeModule *math = add_module(h, to, STR("math"), lib_math, lib_math_n, err);
    return math && native_module_put(h, math, STR("e"), value_from_float(M_E), err) &&
           native_module_put(h, math, STR("pi"), value_from_float(M_PI), err);
}

Universe *universe_new(void) {
    Universe *u = mem_zero(1, sizeof *u);
    u->heap = heap_new(0);                              /* no limit, so nothing below can fail */
    u->names = dict_new(u->heap, lib_core_n + 3, NULL);
    u->json_math = u->names ? dict_new(u->heap, 2, NULL) : NULL;
    if (!u->json_math || !add_core(u, NULL) || !universe_add_modules(u->heap, u->json_math, NULL)) {
        universe_free(u);
        return NULL;
    }
    heap_freeze_all(u->heap);
    return u;
}

void universe_free(Universe *u) {
    if (!u) return;
    heap_free(u->heap);
    free(u);
}

static Value find(const Dict *d, Str name) {
    Value *found = dict_find_str(d, name);
    return found ? *found : VALUE_GONE;
}

Value universe_get(const Universe *u, Str name) { return find(u->names, name); }
Value universe_module(const Universe *u, Str name) { return find(u->json_math, name); }
