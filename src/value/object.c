#include "value/object.h"

#include "value/dict.h"
#include "value/list.h"

static const char *const type_names[] = {
#define X(type, name) [type] = name,
    OBJECT_TYPES(X)
#undef X
};

const char *object_type_name(const Object *o) {
    if (o->type >= OBJECT_CLASSED) return ((const Classed *)o)->cls->name;
    return type_names[o->type];
}

static void trace_values(Tracer *t, const Value *v, size_t n) {
    for (size_t i = 0; i < n; i++) tracer_value(t, v[i]);
}

static void trace_dict(Tracer *t, Dict *d) {
    tracer_buffer(t, d->entry);
    tracer_buffer(t, d->slot);
    for (uint32_t i = 0; i < d->used; i++) {
        tracer_value(t, d->entry[i].key);
        tracer_value(t, d->entry[i].value);
    }
}

void object_trace(Tracer *t, Object *o) {
    switch ((ObjectType)o->type) {
    case OBJECT_FREE: case OBJECT_BUFFER: case OBJECT_INT: case OBJECT_RANGE:
        return;
    case OBJECT_STRING: case OBJECT_BYTES:
        if (o->aux == STRING_SHARED) tracer_buffer(t, ((String *)o)->shared);
        return;
    case OBJECT_LIST:
        tracer_buffer(t, ((List *)o)->at);
        trace_values(t, ((List *)o)->at, ((List *)o)->n);
        return;
    case OBJECT_TUPLE:
        trace_values(t, ((Tuple *)o)->at, ((Tuple *)o)->n);
        return;
    case OBJECT_DICT: case OBJECT_SET:
        trace_dict(t, (Dict *)o);
        return;
    case OBJECT_CLASSED: case OBJECT_FUNCTION: case OBJECT_NATIVE: case OBJECT_BOUND: case OBJECT_CELL: case OBJECT_MODULE:
        if (((Classed *)o)->cls->trace) ((Classed *)o)->cls->trace(t, (Classed *)o);
        return;
    }
}
