/* Function values (closures) and the cells through which they share variables. */
#pragma once
#include "starlark/vm/code.h"

/* slot: n_defaults default values (GONE for a keyword-only parameter without one), then the captured cells. */
typedef struct Function { Classed c; const Code *code; Value slot[]; } Function;
typedef struct Cell { Classed c; Value value; } Cell;

Function *function_new(Heap *h, const Code *code, Error *err);   /* slots are GONE */
Cell *cell_new(Heap *h, Value v, Error *err);

static inline Value *function_defaults(Function *f) { return f->slot; }
static inline Value *function_captured(Function *f) { return f->slot + f->code->n_defaults; }
static inline bool value_is_function(Value v) { return value_is(v, OBJECT_FUNCTION); }
static inline Function *value_function(Value v) { assert(value_is_function(v)); return (Function *)value_object(v); }
static inline Cell *value_cell(Value v) { assert(value_is(v, OBJECT_CELL)); return (Cell *)value_object(v); }
