#include "starlark/vm/native.h"

#include <stdio.h>
#include <stdlib.h>
#include "starlark/vm/iter.h"
#include "starlark/vm/repr.h"
#include "starlark/vm/universe.h"
#include "starlark/vm/vm.h"
#include "value/int.h"

/* ---- natives as values ---- */

static void native_trace(Tracer *t, Classed *o) { tracer_value(t, ((Native *)o)->self); }

static bool native_copy(Copier *c, const Classed *from, Classed *to, Error *err) {
    const Native *n = (const Native *)from;
    if (value_is_gone(n->self)) return true;
    return copier_value(c, n->self, &((Native *)to)->self, err);
}

static void native_repr(Buf *out, Value v) {
    const Native *n = (const Native *)value_object(v);
    if (value_is_gone(n->self)) buf_add_fmt(out, "<built-in function %s>", n->def->name);
    else buf_add_fmt(out, "<built-in method %s of %s value>", n->def->name, value_type_name(n->self));
}

static const NativeClass native_class = {
    .base = { .name = "builtin_function_or_method", .trace = native_trace, .copy = native_copy, .hashable = true },
    .repr = native_repr,
};

static Native *make(Heap *h, ObjectType type, const NativeDef *def, Value self, void *data, Error *err) {
    Native *n = heap_alloc_classed(h, type, &native_class.base, sizeof *n, err);
    if (!n) return NULL;
    n->def = def;
    n->self = self;
    n->data = data;
    return n;
}

Native *native_new(Heap *h, const NativeDef *def, void *data, Error *err) {
    return make(h, OBJECT_NATIVE, def, VALUE_GONE, data, err);
}

Native *native_bind(Heap *h, const NativeDef *def, Value self, Error *err) {
    return make(h, OBJECT_BOUND, def, self, NULL, err);
}

/* ---- modules ---- */

static NativeModule *module_of(Value v) { return (NativeModule *)value_object(v); }

static void module_trace(Tracer *t, Classed *o) {
    NativeModule *m = (NativeModule *)o;
    tracer_value(t, value_from_object(m->name));
    if (m->members) tracer_value(t, value_from_object(m->members));   /* NULL during construction */
    tracer_value(t, m->call);
}

static bool module_copy(Copier *c, const Classed *from, Classed *to, Error *err) {
    const NativeModule *m = (const NativeModule *)from;
    NativeModule *fresh = (NativeModule *)to;
    Value name, members;
    if (!copier_value(c, value_from_object(m->name), &name, err)) return false;
    if (!copier_value(c, value_from_object(m->members), &members, err)) return false;
    if (!value_is_gone(m->call) && !copier_value(c, m->call, &fresh->call, err)) return false;
    fresh->name = value_string(name);
    fresh->members = value_dict(members);
    return true;
}

static bool module_attr(Vm *vm, Value self, String *name, Value *out, Error *err) {
    (void)vm, (void)err;
    Value *found = dict_find(module_of(self)->members, name);
    if (found) *out = *found;
    return true;
}

static void module_attr_names(Value self, void (*each)(void *ctx, Str name), void *ctx) {
    Entry *e;
    for (uint32_t i = 0; dict_next(module_of(self)->members, &i, &e);) each(ctx, value_str(e->key));
}

static void module_repr(Buf *out, Value self) {
    Str name = string_str(module_of(self)->name);
    buf_add_fmt(out, "<module \"" STR_FMT "\">", STR_ARG(name));
}

static bool module_call(Vm *vm, Value self, const NativeArgs *a, Value *out, Error *err) {
    return vm_call_named(vm, module_of(self)->call, a->at, a->n, a->named, a->n_named, out, err);
}

#define MODULE_CLASS \
    .base = { .name = "module", .trace = module_trace, .copy = module_copy }, .attr = module_attr, \
    .attr_names = module_attr_names, .repr = module_repr
static const NativeClass module_class = { MODULE_CLASS };
static const NativeClass callable_module_class = { MODULE_CLASS, .call = module_call };

NativeModule *native_module_new(Heap *h, Str name, Error *err) {
    String *text = string_new(h, name, err);
    Dict *members = text ? dict_new(h, 0, err) : NULL;
    NativeModule *m = members ? heap_alloc_classed(h, OBJECT_MODULE, &module_class.base, sizeof *m, err) : NULL;
    if (!m) return NULL;
    m->name = text;
    m->members = members;
    m->call = VALUE_GONE;
    return m;
}

bool native_module_put(Heap *h, NativeModule *m, Str name, Value v, Error *err) {
    return dict_put_str(h, m->members, name, v, err);
}

bool native_module_add(Heap *h, NativeModule *m, const NativeDef *defs, size_t n, void *data, Error *err) {
    for (size_t i = 0; i < n; i++) {
        const char *dot = strrchr(defs[i].name, '.');
        Native *fn = native_new(h, &defs[i], data, err);
        if (!fn || !native_module_put(h, m, str_from(dot ? dot + 1 : defs[i].name), value_from_object(fn), err)) return false;
    }
    return true;
}

void native_module_set_call(NativeModule *m, Value fn) {
    m->call = fn;
    m->c.cls = &callable_module_class.base;
}

bool native_is_module(Value v) { return value_is(v, OBJECT_MODULE); }

/* ---- slots ---- */

static void slot_trace(Tracer *t, Classed *o) {
    tracer_value(t, value_from_object(((NativeSlot *)o)->name));
    tracer_value(t, ((NativeSlot *)o)->fallback);
}

static const NativeClass slot_class = { .base = { .name = "slot", .trace = slot_trace } };

NativeSlot *native_slot_new(Heap *h, Str name, Value fallback, Error *err) {
    String *text = string_new(h, name, err);
    NativeSlot *s = text ? heap_alloc_classed(h, OBJECT_CLASSED, &slot_class.base, sizeof *s, err) : NULL;
    if (!s) return NULL;
    s->name = text;
    s->fallback = fallback;
    return s;
}

bool native_is_slot(Value v) { return value_is(v, OBJECT_CLASSED) && ((Classed *)value_object(v))->cls == &slot_class.base; }

/* ---- methods of the built-in types ---- */

const NativeDef *native_method_table(ObjectType type, size_t *n) {
    switch (type) {
    case OBJECT_STRING: return *n = lib_string_n, lib_string;
    case OBJECT_BYTES: return *n = lib_bytes_n, lib_bytes;
    case OBJECT_LIST: return *n = lib_list_n, lib_list;
    case OBJECT_DICT: return *n = lib_dict_n, lib_dict;
    case OBJECT_SET: return *n = lib_set_n, lib_set;
    default: return *n = 0, NULL;
    }
}

/* Compares the first letter first, which decides most cases. */
static int compare_name(const void *key, const void *def) {
    const Str *name = key;
    const char *other = ((const NativeDef *)def)->name;
    int first = name->n ? (unsigned char)name->at[0] - (unsigned char)other[0] : -1;
    return first ? first : str_cmp(*name, str_from(other));
}

const NativeDef *native_method(ObjectType type, Str name) {
    size_t n;
    const NativeDef *table = native_method_table(type, &n);
    return n ? bsearch(&name, table, n, sizeof *table, compare_name) : NULL;
}

/* ---- types of arguments ---- */

/* In the order that messages list them: "want float or int". */
static const struct { uint32_t type; const char *name; } type_words[] = {
    { NATIVE_STRING, "string" }, { NATIVE_BYTES, "bytes" }, { NATIVE_FLOAT, "float" }, { NATIVE_INT, "int" },
    { NATIVE_BOOL, "bool" }, { NATIVE_LIST, "list" }, { NATIVE_TUPLE, "tuple" }, { NATIVE_DICT, "dict" },
    { NATIVE_SET, "set" }, { NATIVE_CALLABLE, "callable" }, { NATIVE_ITERABLE, "iterable" },
};
enum { TYPE_WORDS = sizeof type_words / sizeof type_words[0], TYPE_MASK = 4095 };

static uint32_t object_bits(const Object *o) {
    switch ((ObjectType)o->type) {
    case OBJECT_INT: return NATIVE_INT;
    case OBJECT_STRING: return NATIVE_STRING;
    case OBJECT_BYTES: return NATIVE_BYTES;
    case OBJECT_LIST: return NATIVE_LIST | NATIVE_ITERABLE;
    case OBJECT_TUPLE: return NATIVE_TUPLE | NATIVE_ITERABLE;
    case OBJECT_DICT: return NATIVE_DICT | NATIVE_ITERABLE;
    case OBJECT_SET: return NATIVE_SET | NATIVE_ITERABLE;
    case OBJECT_RANGE: return NATIVE_ITERABLE;
    default: break;
    }
    Value v = value_from_object(o);
    return (vm_is_callable(v) ? NATIVE_CALLABLE : 0u) | (iter_is_iterable(v) ? NATIVE_ITERABLE : 0u);
}

static uint32_t type_bits(Value v) {
    if (value_is_object(v)) return object_bits(value_object(v));
    if (value_is_small(v)) return NATIVE_INT;
    if (value_is_float(v)) return NATIVE_FLOAT;
    return value_is_bool(v) ? NATIVE_BOOL : 0;
}

static bool fits(Value v, uint32_t types) {
    if (!(types & TYPE_MASK) || value_is_gone(v)) return true;
    if (value_is_none(v) && (types & NATIVE_NONE_IS_ABSENT)) return true;
    return (type_bits(v) & types) != 0;
}

static bool wrong_type(const NativeDef *def, uint32_t i, Value v, bool named, Error *err) {
    char want[160] = "";
    size_t n = 0;
    uint32_t types = def->params[i].types & TYPE_MASK, left = (uint32_t)__builtin_popcount(types);
    for (size_t k = 0; k < TYPE_WORDS; k++) {
        if (!(types & type_words[k].type)) continue;
        left--;
        n += (size_t)snprintf(want + n, sizeof want - n, "%s%s", type_words[k].name, left > 1 ? ", " : left ? " or " : "");
    }
    if (def->flags & NATIVE_POSITIONAL)
        return error_set(err, ERR_SCRIPT, "%s: for parameter %u: got %s, want %s", def->name, i + 1, value_type_name(v), want);
    const char *quote = named ? "\"" : "";               /* quote names written by the caller */
    return error_set(err, ERR_SCRIPT, "%s: for parameter %s%s%s: got %s, want %s", def->name, quote, def->params[i].name, quote,
                     value_type_name(v), want);
}

bool native_check_types(const NativeDef *def, const Value *at, uint32_t n, Error *err) {
    for (uint32_t i = 0; i < n; i++)
        if (!fits(at[i], def->params[i].types)) return wrong_type(def, i, at[i], false, err);
    return true;
}

/* ---- binding arguments to parameters ---- */

static bool wrong_count(const NativeDef *def, uint32_t n, Error *err) {
    bool few = n < def->min;
    const char *bound = def->min == def->n_params ? (def->flags & NATIVE_EXACTLY ? "exactly " : "") : few ? "at least " : "at most ";
    return error_set(err, ERR_SCRIPT, "%s: got %u arguments, want %s%u", def->name, n, bound, few ? def->min : def->n_params);
}

static bool bind_positional(const NativeDef *def, uint32_t n, uint32_t n_named, Error *err) {
    if (n_named && (def->flags & NATIVE_NO_KEYWORDS))
        return error_set(err, ERR_SCRIPT, "%s does not accept keyword arguments", def->name);
    if (n_named) return error_set(err, ERR_SCRIPT, "%s: unexpected keyword arguments", def->name);
    return (n >= def->min && n <= def->n_params) || wrong_count(def, n, err);
}

static bool unexpected_name(const NativeDef *def, Str name, Error *err) {
    Str names[32];
    size_t n = 0;
    for (uint32_t i = 0; i < def->n_params && n < 32; i++)
        if (!(def->params[i].types & NATIVE_UNNAMED)) names[n++] = str_from(def->params[i].name);
    Str near = str_nearest(name, names, n);
    Buf text = { 0 };
    repr_string(&text, name);
    if (near.n) buf_add_fmt(&text, " (did you mean " STR_FMT "?)", STR_ARG(near));
    error_set(err, ERR_SCRIPT, "%s: unexpected keyword argument " STR_FMT, def->name, STR_ARG(buf_str(&text)));
    buf_clear(&text);
    return false;
}

static bool bind_named(const NativeDef *def, const NativeNamed *arg, Value *out, Error *err) {
    Str name = string_str(arg->name);
    for (uint32_t i = 0; i < def->n_params; i++) {
        if (!str_eq(str_from(def->params[i].name), name)) continue;
        if (def->params[i].types & NATIVE_UNNAMED)
            return error_set(err, ERR_SCRIPT, "%s: unexpected keyword argument " STR_FMT, def->name, STR_ARG(name));
        if (!value_is_gone(out[i]))
            return error_set(err, ERR_SCRIPT, "%s: got multiple values for keyword argument \"" STR_FMT "\"", def->name, STR_ARG(name));
        if (!fits(arg->value, def->params[i].types)) return wrong_type(def, i, arg->value, true, err);
        return out[i] = arg->value, true;
    }
    return unexpected_name(def, name, err);
}

bool native_bind_args(const NativeDef *def, const Value *at, uint32_t n, const NativeNamed *named, uint32_t n_named,
                      Value *out, Error *err) {
    if (def->flags & NATIVE_VARIADIC)
        return n >= def->min || error_set(err, ERR_SCRIPT, "%s: got %u arguments, want at least %u", def->name, n, def->min);
    if ((def->flags & NATIVE_POSITIONAL) && !bind_positional(def, n, n_named, err)) return false;
    if (n > def->n_params)
        return error_set(err, ERR_SCRIPT, "%s: got %u arguments, want at most %u", def->name, n, def->n_params);
    if (!native_check_types(def, at, n, err)) return false;
    if (n) memcpy(out, at, n * sizeof *out);
    for (uint32_t i = n; i < def->n_params; i++) out[i] = VALUE_GONE;
    for (uint32_t i = 0; i < n_named; i++)
        if (!bind_named(def, &named[i], out, err)) return false;
    for (uint32_t i = n; i < def->min; i++)
        if (value_is_gone(out[i])) return error_set(err, ERR_SCRIPT, "%s: missing argument for %s", def->name, def->params[i].name);
    return true;
}

/* ---- ints from arguments ---- */

static bool out_of_range(Value v, const char *range, Error *err) {
    Buf text = { 0 };
    int_text(&text, v, 10);
    error_set(err, ERR_SCRIPT, "%s out of range%s", text.at, range);
    buf_clear(&text);
    return false;
}

bool native_i64(Value v, int64_t *out, Error *err) {
    if (value_is_small(v)) return *out = value_small(v), true;
    if (!value_is_int(v)) return error_set(err, ERR_SCRIPT, "got %s, want int", value_type_name(v));
    return int_to_i64(v, out) || out_of_range(v, " (want value in signed 64-bit range)", err);
}

bool native_i32(Value v, int *out, Error *err) {
    if (!value_is_int(v)) return error_set(err, ERR_SCRIPT, "got %s, want int", value_type_name(v));
    int64_t i;
    if (!int_to_i64(v, &i) || i < INT32_MIN || i > INT32_MAX) return out_of_range(v, "", err);
    return *out = (int)i, true;
}

bool native_arg_i64(const NativeArgs *a, uint32_t i, int64_t *out, Error *err) {
    if (native_i64(a->at[i], out, err)) return true;
    if (a->def->flags & NATIVE_POSITIONAL) return error_wrap(err, "for parameter %u", i + 1);
    return error_wrap(err, "for parameter %s", a->def->params[i].name);
}

static bool slice_index(const NativeArgs *a, uint32_t i, size_t n, const char *what, size_t *out, Error *err) {
    if (i >= a->n || value_is_gone(a->at[i]) || value_is_none(a->at[i])) return true;
    int at;
    if (!native_i32(a->at[i], &at, err)) return error_wrap(err, "invalid %s index", what);
    int64_t from = at < 0 ? at + (int64_t)n : at;
    *out = from < 0 ? 0 : (size_t)from > n ? n : (size_t)from;
    return true;
}

bool native_arg_slice(const NativeArgs *a, uint32_t i, size_t n, size_t *start, size_t *end, Error *err) {
    *start = 0;
    *end = n;
    return slice_index(a, i, n, "start", start, err) && slice_index(a, i + 1, n, "end", end, err);
}
