#include "starlark/vm/function.h"

static void trace_function(Tracer *t, Classed *o) {
    Function *f = (Function *)o;
    for (uint32_t i = 0; i < f->code->n_defaults + f->code->n_captures; i++) tracer_value(t, f->slot[i]);
}

static bool copy_function(Copier *c, const Classed *from, Classed *to, Error *err) {
    (void)from;
    Function *f = (Function *)to;
    for (uint32_t i = 0; i < f->code->n_defaults + f->code->n_captures; i++)
        if (!copier_value(c, f->slot[i], &f->slot[i], err)) return false;
    return true;
}

static void repr_function(Buf *out, Value self) {
    buf_add_fmt(out, "<function " STR_FMT ">", STR_ARG(string_str(value_function(self)->code->name)));
}

static const NativeClass function_class = {
    .base = { .name = "function", .trace = trace_function, .copy = copy_function, .hashable = true },
    .repr = repr_function,
};

static void trace_cell(Tracer *t, Classed *o) { tracer_value(t, ((Cell *)o)->value); }

static bool copy_cell(Copier *c, const Classed *from, Classed *to, Error *err) {
    return copier_value(c, ((const Cell *)from)->value, &((Cell *)to)->value, err);
}

static const NativeClass cell_class = { .base = { .name = "cell", .trace = trace_cell, .copy = copy_cell } };

Function *function_new(Heap *h, const Code *code, Error *err) {
    size_t slots = (size_t)code->n_defaults + code->n_captures;
    Function *f = heap_alloc_classed(h, OBJECT_FUNCTION, &function_class.base, sizeof *f + slots * sizeof(Value), err);
    if (f) f->code = code;
    return f;
}

Cell *cell_new(Heap *h, Value v, Error *err) {
    Cell *c = heap_alloc_classed(h, OBJECT_CELL, &cell_class.base, sizeof *c, err);
    if (c) c->value = v;
    return c;
}
