/* Private header of the compiler (compile_*.c, compiler.c).
 *
 * One Fn per function being compiled. Registers hold the locals in the resolver's order, then
 * temporaries in stack order (`top`). compile_to compiles an expression into a register chosen by
 * the caller; compile_operand returns the register where the value already is, if any: a local that
 * is definitely assigned is used in place, without a copy. */
#pragma once
#include "base/vec.h"
#include "starlark/compile/compiler.h"

typedef VEC(uint32_t) JumpList;          /* instructions whose target is not known yet */

/* An enclosing loop of a statement. A comprehension has none, because nothing can break out of it. */
typedef struct CompileLoop {
    struct CompileLoop *outer;
    bool iterates;                       /* a for loop: break and return must end the iteration in `reg` */
    uint16_t reg;
    JumpList breaks, continues;
} CompileLoop;

typedef struct { const CompilerInput *in; Error *err; bool failed; } CompileUnit;

typedef struct Fn {
    CompileUnit *unit;
    struct Fn *outer;
    AstFunction *ast;
    Code *code;
    VEC(Insn) insn;
    VEC(Value) k;
    uint32_t *k_slot, k_slots;           /* open addressing on a constant's bits, index + 1 */
    VEC(Code *) inner;
    VEC(CodeShape) shapes;
    VEC(CodePos) positions;
    VEC(CodeLoop) loops;
    uint32_t top, max_top;               /* registers in use; most ever in use */
    CompileLoop *loop;
    uint64_t *assigned;                  /* bit per local: definitely assigned at this point */
    uint32_t assigned_words;
    bool reachable;
    bool far;                            /* use long jumps: this is the second attempt */
    bool overflow;                       /* set when a jump does not fit 16 bits */
    Pos pos;                             /* position of the node being compiled */
} Fn;

/* compile_emit.c */
uint32_t compile_emit(Fn *f, Op op, uint32_t x, uint32_t a, uint32_t b, uint32_t c);
uint32_t compile_emit_d(Fn *f, Op op, uint32_t a, int32_t d);
uint32_t compile_constant(Fn *f, Value v);
uint32_t compile_string(Fn *f, String *s);
uint16_t compile_temp(Fn *f);                                     /* allocates the register at the top */
uint16_t compile_temps(Fn *f, uint32_t n);                        /* n consecutive registers; returns the first */
void compile_jump(Fn *f, JumpList *to);                           /* unconditional, patched later */
void compile_jump_if(Fn *f, bool sense, uint16_t reg, JumpList *to);
void compile_jump_compare(Fn *f, Op op, bool sense, uint32_t a, uint32_t b, JumpList *to);
void compile_patch(Fn *f, JumpList *list, uint32_t target);       /* also clears the list */
uint32_t compile_here(const Fn *f);
void compile_fail(Fn *f, Pos pos, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

bool compile_is_assigned(const Fn *f, uint32_t local);
void compile_set_assigned(Fn *f, uint32_t local, bool yes);
uint64_t *compile_save_assigned(const Fn *f);                     /* malloc'd copy */
void compile_meet_assigned(Fn *f, const uint64_t *other);         /* intersection */

/* compile_expr.c */
void compile_to(Fn *f, const Expr *e, uint16_t dst);
uint16_t compile_operand(Fn *f, const Expr *e);                   /* may allocate a temporary */
void compile_into_temp(Fn *f, const Expr *e);                     /* exactly one fresh temporary at the top */
bool compile_const_value(Fn *f, const Expr *e, Value *out);       /* true if e is a compile-time constant */
bool compile_small(Fn *f, const Expr *e, int16_t *out);           /* true if e is a constant int of 16 bits */
void compile_emit_binary(Fn *f, Token op, uint16_t dst, uint16_t left, const Expr *right);

/* compile_cond.c */
void compile_cond(Fn *f, const Expr *e, bool sense, JumpList *to);/* jumps if the truth of e is `sense`, else falls through */

/* compile_call.c */
void compile_call(Fn *f, const Expr *call, uint16_t at, uint16_t dst);        /* callee is in R[at], the top register */
void compile_method_call(Fn *f, const Expr *call, String *name, uint16_t at, uint16_t dst); /* receiver is in R[at] */
bool compile_call_simple(const Expr *call);                       /* positional arguments only, and few enough */
bool compile_native_call(Fn *f, const Expr *call, Value native, uint16_t at, uint16_t dst); /* false: not applicable */
const Expr *compile_range_call(Fn *f, const Expr *e);             /* e if it is range(…) with 1–3 plain arguments, else NULL */

/* compile_stmt.c */
void compile_body(Fn *f, const AstBody *body);
void compile_assign(Fn *f, const Expr *target, uint16_t value);   /* target = R[value] */

/* compile_loop.c */
void compile_for(Fn *f, const Stmt *s);
void compile_while(Fn *f, const Stmt *s);
void compile_comprehension(Fn *f, const Expr *e, uint16_t dst);

/* compiler.c */
void compile_function(Fn *f, AstFunction *ast, Pos pos, uint16_t dst);        /* R[dst] = the function value */
