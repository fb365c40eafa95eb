/* Emits instructions and manages registers, constants and jumps for the rest of the compiler. */
#include "starlark/compile/compile_private.h"

#include <stdio.h>
#include "base/hash.h"
#include "base/mem.h"

void compile_fail(Fn *f, Pos pos, const char *fmt, ...) {
    if (f->unit->failed) return;
    f->unit->failed = true;
    va_list ap;
    va_start(ap, fmt);
    char text[200];
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    source_error(f->unit->in->ast->source, f->unit->err, pos, "%s", text);
}

static uint32_t push(Fn *f, Insn i) {
    uint32_t pc = (uint32_t)f->insn.n;
    const CodePos *last = f->positions.n ? &VEC_LAST(&f->positions) : NULL;
    if (!last || last->pos.line != f->pos.line || last->pos.col != f->pos.col)
        VEC_PUSH(&f->positions, (CodePos){ pc, f->pos });
    VEC_PUSH(&f->insn, i);
    return pc;
}

uint32_t compile_emit(Fn *f, Op op, uint32_t x, uint32_t a, uint32_t b, uint32_t c) {
    return push(f, (Insn){ .op = (uint8_t)op, .x = (uint8_t)x, .a = (uint16_t)a, .b = (uint16_t)b, .c = (uint16_t)c });
}

uint32_t compile_emit_d(Fn *f, Op op, uint32_t a, int32_t d) {
    return push(f, (Insn){ .op = (uint8_t)op, .a = (uint16_t)a, .d = d });
}

/* ---- constants ---- */

static uint32_t *constant_slot(const Fn *f, Value v) {
    uint32_t at = hash_word(v.bits) & (f->k_slots - 1);
    while (f->k_slot[at] && !value_same(f->k.at[f->k_slot[at] - 1], v)) at = (at + 1) & (f->k_slots - 1);
    return &f->k_slot[at];
}

static void grow_constants(Fn *f) {
    free(f->k_slot);
    f->k_slots = f->k_slots ? f->k_slots * 2 : 16;
    f->k_slot = mem_zero(f->k_slots, sizeof *f->k_slot);
    for (uint32_t i = 0; i < f->k.n; i++) *constant_slot(f, f->k.at[i]) = i + 1;
}

uint32_t compile_constant(Fn *f, Value v) {
    if ((f->k.n + 1) * 2 > f->k_slots) grow_constants(f);
    uint32_t *slot = constant_slot(f, v);
    if (*slot == 0) {
        VEC_PUSH(&f->k, v);
        *slot = (uint32_t)f->k.n;
    }
    return *slot - 1;
}

uint32_t compile_string(Fn *f, String *s) { return compile_constant(f, value_from_object(s)); }

/* ---- registers ---- */

uint16_t compile_temps(Fn *f, uint32_t n) {
    uint32_t first = f->top;
    f->top += n;
    if (f->top > f->max_top) f->max_top = f->top;
    if (f->top > CODE_REGS_MAX) {
        compile_fail(f, f->pos, "function needs too many variables and temporaries (limit %d)", CODE_REGS_MAX);
        f->top = first = f->ast->n_locals < CODE_REGS_MAX - n ? f->ast->n_locals : 0;
    }
    return (uint16_t)first;
}

uint16_t compile_temp(Fn *f) { return compile_temps(f, 1); }

/* ---- jumps ---- */

uint32_t compile_here(const Fn *f) { return (uint32_t)f->insn.n; }

void compile_jump(Fn *f, JumpList *to) { VEC_PUSH(to, compile_emit_d(f, OP_JUMP, 0, 0)); }

void compile_jump_if(Fn *f, bool sense, uint16_t reg, JumpList *to) {
    VEC_PUSH(to, compile_emit_d(f, sense ? OP_JUMP_T : OP_JUMP_F, reg, 0));
}

void compile_jump_compare(Fn *f, Op op, bool sense, uint32_t a, uint32_t b, JumpList *to) {
    if (!f->far) { VEC_PUSH(to, compile_emit(f, op, sense, a, b, 0)); return; }
    compile_emit(f, op, !sense, a, b, 1);                /* skip the long jump */
    compile_jump(f, to);
}

static bool jumps_far(Op op) { return op == OP_JUMP || op == OP_LOOP || op == OP_JUMP_T || op == OP_JUMP_F; }

void compile_patch(Fn *f, JumpList *list, uint32_t target) {
    for (size_t i = 0; i < list->n; i++) {
        Insn *insn = &f->insn.at[list->at[i]];
        int64_t by = (int64_t)target - list->at[i] - 1;
        if (jumps_far((Op)insn->op)) insn->d = (int32_t)by;
        else if (by >= INT16_MIN && by <= INT16_MAX) insn->c = (uint16_t)(int16_t)by;
        else f->overflow = true;
    }
    VEC_CLEAR(list);
}

/* ---- definite assignment ---- */

bool compile_is_assigned(const Fn *f, uint32_t local) { return f->assigned[local / 64] >> (local % 64) & 1; }

void compile_set_assigned(Fn *f, uint32_t local, bool yes) {
    uint64_t bit = (uint64_t)1 << (local % 64);
    if (yes) f->assigned[local / 64] |= bit;
    else f->assigned[local / 64] &= ~bit;
}

uint64_t *compile_save_assigned(const Fn *f) {
    uint64_t *copy = mem_zero(f->assigned_words, sizeof *copy);
    memcpy(copy, f->assigned, f->assigned_words * sizeof *copy);
    return copy;
}

void compile_meet_assigned(Fn *f, const uint64_t *other) {
    for (uint32_t i = 0; i < f->assigned_words; i++) f->assigned[i] &= other[i];
}
