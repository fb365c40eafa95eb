/* Compiled functions. Created by the compiler, immutable afterwards, shared by all threads. */
#pragma once
#include "base/arena.h"
#include "starlark/syntax/ast.h"
#include "starlark/vm/native.h"

typedef enum {
#define OP(name, operands, does) OP_##name,
#include "starlark/vm/opcodes.def"
#undef OP
    OP_COUNT
} Op;

/* Eight bytes each. The fields are wide enough for any realistic function, and each is read with one load. */
typedef struct Insn {
    uint8_t op, x;
    uint16_t a;
    union {
        struct { uint16_t b, c; };
        int32_t d;
    };
} Insn;

typedef struct Code Code;
typedef struct Module Module;

/* Argument layout of one call: positional arguments, values of named arguments, *args and **kwargs,
 * in consecutive registers. */
typedef struct CodeShape { uint16_t n_pos, n_named; bool star, starstar; String **names; } CodeShape;
/* A captured variable: cell register or capture index of the enclosing function. */
typedef struct CodeCapture { String *name; bool from_free; uint16_t index; } CodeCapture;
typedef struct CodePos { uint32_t pc; Pos pos; } CodePos;                     /* applies from pc to the next entry */
typedef struct CodeLoop { uint32_t from, to; uint16_t reg; } CodeLoop;        /* an iteration is active in [from, to) */

struct Code {
    String *name;
    Module *module;
    const Insn *insn;
    const Value *k;
    Code **inner;                       /* functions defined inside */
    CodeShape *shapes;
    CodeCapture *captures;
    CodePos *positions;
    CodeLoop *loops;
    String **locals;                    /* names; parameters first */
    uint32_t n_insn, n_k, n_inner, n_shapes, n_captures, n_positions, n_loops, n_locals;
    uint32_t n_regs;
    uint16_t n_params;                  /* registers that are parameters, *args and **kwargs included */
    uint16_t n_plain;                   /* of those, plain parameters that may be positional */
    uint16_t n_kwonly, n_defaults;      /* defaults are those of the last n_defaults plain and keyword-only parameters */
    bool has_varargs, has_kwargs;
    bool simple;                        /* plain parameters only: arguments are already in place */
    Pos pos;
    String *doc;
};

Pos code_pos(const Code *c, uint32_t pc);

enum { CODE_REGS_MAX = 60000 };
