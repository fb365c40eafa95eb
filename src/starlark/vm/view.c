#include "starlark/vm/view.h"

#include "base/utf8.h"
#include "starlark/vm/repr.h"
#include "starlark/vm/search.h"

/* One class per kind of view; those with a length can also be indexed. */
typedef struct { NativeClass native; Str suffix; bool points, ords; } ViewClass;
typedef struct { Classed c; Value of; } View;

static const ViewClass *class_of(Value v) { return (const ViewClass *)((Classed *)value_object(v))->cls; }
static String *text_of(Value v) { return value_string(((View *)value_object(v))->of); }

/* ---- items ---- */

/* Caches one String per distinct character of a list: bytes by value, other characters the most recent. */
typedef struct { Heap *heap; String *byte[256]; struct { uint32_t point; String *s; } recent[64]; } Letters;

static String *letter_byte(Letters *l, unsigned char c, Error *err) {
    if (!l->byte[c]) l->byte[c] = string_new(l->heap, (Str){ (const char *)&c, 1 }, err);
    return l->byte[c];
}

static String *letter_point(Letters *l, uint32_t point, Error *err) {
    if (point < 0x80) return letter_byte(l, (unsigned char)point, err);
    size_t i = point % 64;
    if (!l->recent[i].s || l->recent[i].point != point) {
        char text[4];
        String *s = string_new(l->heap, (Str){ text, utf8_encode(point, text) }, err);
        if (!s) return NULL;
        l->recent[i].point = point;
        l->recent[i].s = s;
    }
    return l->recent[i].s;
}

/* The item at the start of s; *length is its length in bytes. */
static bool item(Letters *l, const ViewClass *cls, Str s, size_t *length, Value *out, Error *err) {
    *length = 1;
    uint32_t c = cls->points ? utf8_decode(s, length) : (unsigned char)s.at[0];
    if (cls->ords) return *out = value_from_small(c), true;
    String *text = cls->points ? letter_point(l, c, err) : letter_byte(l, (unsigned char)c, err);
    return text ? (*out = value_from_object(text), true) : false;
}

static bool items(Vm *vm, Value self, List **out, Error *err) {
    const ViewClass *cls = class_of(self);
    Str s = string_str(text_of(self));
    Work w = { .vm = vm };
    size_t n = s.n;
    if (cls->points && !search_characters(&w, s, &n, err)) return false;
    List *list = list_new(vm_heap(vm), n, err);
    if (!list) return false;
    Letters letters = { .heap = vm_heap(vm) };
    while (s.n) {
        size_t length;
        if (!item(&letters, cls, s, &length, &list->at[list->n], err) || !work_add(&w, 1, err)) return false;
        list->n++;
        s = str_sub(s, length, s.n);
    }
    return *out = list, true;
}

/* ---- the rest of a class ---- */

static ptrdiff_t length(Value self) { return (ptrdiff_t)text_of(self)->n; }

static bool index_at(Vm *vm, Value self, Value key, Value *out, Error *err) {
    const char *name = value_type_name(self);
    ptrdiff_t n = length(self);
    int64_t i;
    if (!native_i64(key, &i, err)) return error_wrap(err, "%s index", name);
    int64_t at = i < 0 ? i + n : i;
    if (at < 0 || at >= n) {
        if (n == 0) return error_set(err, ERR_SCRIPT, "index %lld out of range: empty %s", (long long)i, name);
        return error_set(err, ERR_SCRIPT, "%s index %lld out of range [%td:%td]", name, (long long)i, -n, n - 1);
    }
    unsigned char c = (unsigned char)text_of(self)->at[at];
    if (class_of(self)->ords) return *out = value_from_small(c), true;
    String *s = string_new(vm_heap(vm), (Str){ (const char *)&c, 1 }, err);
    return s ? (*out = value_from_object(s), true) : false;
}

static void repr(Buf *out, Value self) {
    String *s = text_of(self);
    if (s->obj.type == OBJECT_BYTES) repr_bytes(out, string_str(s));
    else repr_string(out, string_str(s));
    buf_add(out, class_of(self)->suffix);
}

static void trace(Tracer *t, Classed *o) { tracer_value(t, ((View *)o)->of); }

static bool copy(Copier *c, const Classed *from, Classed *to, Error *err) {
    return copier_value(c, ((const View *)from)->of, &((View *)to)->of, err);
}

#define VIEW(type_name, ...) { .base = { .name = type_name, .trace = trace, .copy = copy }, .repr = repr, .items = items, __VA_ARGS__ }
#define INDEXABLE .length = length, .index = index_at

static const ViewClass string_elems = { VIEW("string.elems", INDEXABLE), { ".elems()", 8 }, false, false };
static const ViewClass string_elem_ords = { VIEW("string.elems", INDEXABLE), { ".elem_ords()", 12 }, false, true };
static const ViewClass string_codepoints = { VIEW("string.codepoints", ), { ".codepoints()", 13 }, true, false };
static const ViewClass string_codepoint_ords = { VIEW("string.codepoints", ), { ".codepoint_ords()", 17 }, true, true };
static const ViewClass bytes_elems = { VIEW("bytes.elems", ), { ".elems()", 8 }, false, true };

static bool view_new(Vm *vm, const ViewClass *cls, Value of, Value *out, Error *err) {
    View *v = heap_alloc_classed(vm_heap(vm), OBJECT_CLASSED, &cls->native.base, sizeof *v, err);
    if (!v) return false;
    v->of = of;
    return *out = value_from_object(v), true;
}

bool view_elems(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    return view_new(vm, value_is_bytes(a->self) ? &bytes_elems : &string_elems, a->self, out, err);
}
bool view_elem_ords(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    return view_new(vm, &string_elem_ords, a->self, out, err);
}
bool view_codepoints(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    return view_new(vm, &string_codepoints, a->self, out, err);
}
bool view_codepoint_ords(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    return view_new(vm, &string_codepoint_ords, a->self, out, err);
}

String *view_of(Value v, Str *suffix) {
    if (!value_is(v, OBJECT_CLASSED) || ((const NativeClass *)((Classed *)value_object(v))->cls)->repr != repr) return NULL;
    *suffix = class_of(v)->suffix;
    return text_of(v);
}
