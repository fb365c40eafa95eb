#include "starlark/vm/iter.h"

#include "starlark/vm/work.h"
#include "value/int.h"
#include "value/range.h"

enum { BATCH = 1024 };           /* items between two checks of the limits */

static const NativeClass *class_of(const Object *o) { return (const NativeClass *)((const Classed *)o)->cls; }

bool iter_is_iterable(Value v) {
    if (!value_is_object(v)) return false;
    const Object *o = value_object(v);
    switch ((ObjectType)o->type) {
    case OBJECT_LIST: case OBJECT_TUPLE: case OBJECT_DICT: case OBJECT_SET: case OBJECT_RANGE: return true;
    case OBJECT_CLASSED: return class_of(o)->items != NULL;
    default: return false;
    }
}

ptrdiff_t iter_length(Value v) {
    if (!value_is_object(v)) return -1;
    const Object *o = value_object(v);
    switch ((ObjectType)o->type) {
    case OBJECT_STRING: case OBJECT_BYTES: return (ptrdiff_t)((const String *)o)->n;
    case OBJECT_LIST: return (ptrdiff_t)((const List *)o)->n;
    case OBJECT_TUPLE: return (ptrdiff_t)((const Tuple *)o)->n;
    case OBJECT_DICT: case OBJECT_SET: return (ptrdiff_t)((const Dict *)o)->n;
    case OBJECT_RANGE: return (ptrdiff_t)((const Range *)o)->n;
    case OBJECT_CLASSED: return class_of(o)->length ? class_of(o)->length(v) : -1;
    default: return -1;
    }
}

/* ---- item by item ---- */

/* The counter that blocks mutation; NULL when the object is immutable. */
static uint32_t *busy_of(Object *o) {
    if (object_frozen(o)) return NULL;                  /* may be shared with other threads: do not write */
    if (o->type == OBJECT_LIST) return &((List *)o)->busy;
    if (o->type == OBJECT_DICT || o->type == OBJECT_SET) return &((Dict *)o)->busy;
    return NULL;
}

bool iter_begin(Vm *vm, Iter *it, Value v, Error *err) {
    if (!iter_is_iterable(v)) return error_set(err, ERR_SCRIPT, "got %s, want iterable", value_type_name(v));
    *it = (Iter){ .vm = vm, .of = value_object(v), .holder = VALUE_NONE, .err = err };
    if (it->of->type == OBJECT_CLASSED) {
        List *items = NULL;
        if (!class_of(it->of)->items(vm, v, &items, err)) return false;
        it->holder = value_from_object(items);
        it->of = &items->obj;
    }
    uint32_t *busy = busy_of(it->of);
    if (busy) ++*busy;
    return true;
}

static bool next_in_range(Iter *it, Value *out) {
    const Range *r = (const Range *)it->of;
    if (it->i >= r->n) return false;
    int64_t i = range_at(r, it->i++);
    if (__builtin_expect(value_small_fits(i), 1)) return *out = value_from_small(i), true;
    it->failed = !int_make(vm_heap(it->vm), i, out, it->err);
    return !it->failed;
}

bool iter_next(Iter *it, Value *out) {
    switch (it->of->type) {
    case OBJECT_LIST: {
        const List *l = (const List *)it->of;
        return it->at < l->n && (*out = l->at[it->at++], true);
    }
    case OBJECT_TUPLE: {
        const Tuple *t = (const Tuple *)it->of;
        return it->at < t->n && (*out = t->at[it->at++], true);
    }
    case OBJECT_RANGE: return next_in_range(it, out);
    default: {
        Entry *e;
        return dict_next((const Dict *)it->of, &it->at, &e) && (*out = e->key, true);
    }
    }
}

bool iter_end(Iter *it) {
    uint32_t *busy = busy_of(it->of);
    if (busy && *busy) --*busy;                         /* a callback may have frozen it in between; never below 0 */
    return !it->failed;
}

/* ---- all items ---- */

static bool fill_from_range(Vm *vm, List *l, const Range *r, Error *err) {
    for (int64_t i = 0; i < r->n; i++) {
        int64_t item = range_at(r, i);
        if (value_small_fits(item)) l->at[l->n++] = value_from_small(item);
        else if (int_make(vm_heap(vm), item, &l->at[l->n], err)) l->n++;
        else return false;
        if (i % (8 * BATCH) == 0 && !vm_work(vm, 2 * BATCH, err)) return false;
    }
    return true;
}

static bool fill_from_keys(Vm *vm, List *l, const Dict *d, Error *err) {
    Entry *e;
    for (uint32_t i = 0; dict_next(d, &i, &e);) {
        l->at[l->n++] = e->key;
        if (l->n % (8 * BATCH) == 0 && !vm_work(vm, 2 * BATCH, err)) return false;
    }
    return true;
}

bool iter_to_list(Vm *vm, Value v, List **out, Error *err) {
    if (!iter_is_iterable(v)) return error_set(err, ERR_SCRIPT, "got %s, want iterable", value_type_name(v));
    Object *o = value_object(v);
    if (o->type == OBJECT_CLASSED) {
        List *items = NULL;
        if (!class_of(o)->items(vm, v, &items, err)) return false;
        o = &items->obj;                                /* copied below: it may be the object's own list */
    }
    size_t n = (size_t)iter_length(value_from_object(o));
    List *l = list_new(vm_heap(vm), n, err);
    if (!l) return false;
    switch (o->type) {
    case OBJECT_RANGE:
        if (!fill_from_range(vm, l, (const Range *)o, err)) return false;
        break;
    case OBJECT_DICT: case OBJECT_SET:
        if (!fill_from_keys(vm, l, (const Dict *)o, err)) return false;
        break;
    default:
        if (!work_copy_values(&(Work){ .vm = vm }, l->at, o->type == OBJECT_LIST ? ((List *)o)->at : ((Tuple *)o)->at, n, err))
            return false;
        l->n = (uint32_t)n;
    }
    return *out = l, true;
}
