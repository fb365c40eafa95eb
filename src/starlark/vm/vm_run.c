/* The interpreter loop. Hot state (pc, registers, constants) is in locals; code that may fail,
 * allocate, collect or call first saves pc in the frame. Fast paths are here, slow paths in
 * operate.c. It is one long function so that the compiler keeps the state in machine registers
 * across all instructions. */
#include <stdio.h>
#include "base/mem.h"
#include "starlark/vm/iter.h"
#include "starlark/vm/vm_private.h"
#include "starlark/vm/operate.h"
#include "starlark/vm/repr.h"
#include "starlark/vm/work.h"
#include "value/int.h"
#include "value/range.h"

/* ---- failing ---- */

static void end_iteration(Value v) {
    if (!value_is_object(v)) return;
    Object *o = value_object(v);
    if (object_frozen(o)) return;
    if (o->type == OBJECT_LIST) ((List *)o)->busy--;
    else if (o->type == OBJECT_DICT || o->type == OBJECT_SET) ((Dict *)o)->busy--;
}

/* Ends the iterations that are active at pc, so that their lists can be modified again. */
static void end_iterations(const Frame *f, uint32_t pc) {
    for (uint32_t i = 0; i < f->code->n_loops; i++) {
        const CodeLoop *l = &f->code->loops[i];
        if (pc >= l->from && pc < l->to) end_iteration(f->base[l->reg]);
    }
}

static uint32_t pc_of(const Frame *f) { return (uint32_t)(f->pc - f->code->insn) - 1; }  /* f->pc points to the next one */

static bool unwind(Vm *vm, size_t until, Error *err) {
    while (vm->frames.n > until) {
        const Frame *f = &VEC_LAST(&vm->frames);
        const Source *source = &f->code->module->source;
        SourcePlace at = source_place(source, code_pos(f->code, pc_of(f)));
        if (err && !err->line) {
            char file[ERROR_FILE_MAX];
            snprintf(file, sizeof file, STR_FMT, STR_ARG(source->file));
            error_place(err, file, at.line, at.column);
        }
        VEC_PUSH(&vm->trace, (VmPlace){ string_str(f->code->name), source->file, at.line, at.column });
        end_iterations(f, pc_of(f));
        vm_pop(vm);
    }
    return false;
}

/* ---- helpers of instructions ---- */

static bool make_function(Vm *vm, const Frame *f, const Code *code, const Value *defaults, Value *out, Error *err) {
    Function *fn = function_new(vm->heap, code, err);
    if (!fn) return false;
    memcpy(function_defaults(fn), defaults, code->n_defaults * sizeof(Value));
    for (uint32_t i = 0; i < code->n_captures; i++) {
        const CodeCapture *c = &code->captures[i];
        function_captured(fn)[i] = c->from_free ? function_captured(f->fn)[c->index] : f->base[c->index];
    }
    return *out = value_from_object(fn), true;
}

static bool begin_iteration(Vm *vm, Value *state, Error *err) {
    Value v = state[0];
    state[1] = value_from_small(0);
    if (value_is_object(v)) {
        Object *o = value_object(v);
        switch ((ObjectType)o->type) {
        case OBJECT_LIST:
            if (!object_frozen(o)) ((List *)o)->busy++;
            return true;
        case OBJECT_DICT: case OBJECT_SET:
            if (!object_frozen(o)) ((Dict *)o)->busy++;
            return true;
        case OBJECT_TUPLE: case OBJECT_RANGE: return true;
        default:
            if (iter_is_iterable(v)) {
                List *items;
                if (!iter_to_list(vm, v, &items, err)) return false;
                items->busy++;
                return state[0] = value_from_object(items), true;
            }
        }
    }
    return error_set(err, ERR_SCRIPT, "%s value is not iterable", value_type_name(v));
}

/* Next item of an iteration. Allocates for ints beyond 50 bits, so even this may fail. */
typedef enum { ITEM_GOT, ITEM_END, ITEM_FAILED } Item;

static Item next_item(Vm *vm, Value *state, Value *out, Error *err) {
    Object *o = value_object(state[0]);
    int64_t i = value_small(state[1]);
    switch ((ObjectType)o->type) {
    case OBJECT_LIST:
        if (i >= ((List *)o)->n) return ITEM_END;
        *out = ((List *)o)->at[i];
        break;
    case OBJECT_TUPLE:
        if (i >= ((Tuple *)o)->n) return ITEM_END;
        *out = ((Tuple *)o)->at[i];
        break;
    case OBJECT_RANGE:
        if (i >= ((Range *)o)->n) return ITEM_END;
        if (!int_make(vm->heap, range_at((Range *)o, i), out, err)) return ITEM_FAILED;
        break;
    default: {
        Dict *d = (Dict *)o;
        while (i < d->used && value_is_gone(d->entry[i].key)) i++;
        if (i >= d->used) return ITEM_END;
        *out = d->entry[i].key;
    }
    }
    state[1] = value_from_small(i + 1);
    return ITEM_GOT;
}

static bool range_argument(Value v, uint32_t i, int64_t *out, Error *err) {
    if (value_is_small(v)) return *out = value_small(v), true;
    return native_i64(v, out, err) || error_wrap(err, "range: for parameter %u", i + 1);
}

/* Begins an iteration over range(…). Its state is the current value, iterations left and step as
 * small ints; if one of them does not fit, a range object and the usual state. */
static bool begin_range(Vm *vm, Value *state, uint32_t n, Error *err) {
    int64_t v[3] = { 0, 0, 1 }, first, last;
    for (uint32_t i = 0; i < n; i++)
        if (!range_argument(state[i], i, &v[i], err)) return false;
    if (n == 1) { v[1] = v[0]; v[0] = 0; }
    if (v[2] == 0) return error_set(err, ERR_SCRIPT, "range: step argument must not be zero");
    Value r;
    if (!range_new(vm->heap, v[0], v[1], v[2], &r, err)) return false;
    int64_t count = value_range(r)->n;
    bool small = count <= VALUE_INT_MAX && value_small_fits(v[0]) && value_small_fits(v[2]) &&
                 !__builtin_mul_overflow(count, v[2], &last) && !__builtin_add_overflow(v[0], last, &first) &&
                 value_small_fits(first);                /* the value after the last one must fit too */
    if (!small) {
        state[0] = r;
        state[1] = value_from_small(0);
        return true;
    }
    state[0] = value_from_small(v[0]);
    state[1] = value_from_small(count);
    state[2] = value_from_small(v[2]);
    return true;
}

static bool unassigned(const Code *code, uint32_t local, Error *err) {
    return error_set(err, ERR_SCRIPT, "local variable " STR_FMT " referenced before assignment",
                     STR_ARG(string_str(code->locals[local])));
}

static bool free_unassigned(const Code *code, uint32_t i, Error *err) {
    return error_set(err, ERR_SCRIPT, "local variable " STR_FMT " referenced before assignment",
                     STR_ARG(string_str(code->captures[i].name)));
}

static bool new_key(Vm *vm, Dict *d, Value key, Value v, Error *err) {
    Value *at;
    bool fresh;
    if (!dict_insert(vm->heap, d, key, v, &at, &fresh, err)) return false;
    if (fresh) return true;
    Buf text = { 0 };
    if (repr_value(vm, &text, key, NULL)) error_set(err, ERR_SCRIPT, "duplicate key: " STR_FMT, STR_ARG(buf_str(&text)));
    else error_set(err, ERR_SCRIPT, "duplicate key");
    buf_clear(&text);
    return false;
}

/* ---- small ints: arithmetic on the tagged word, shifted to drop the tag ---- */

static inline int64_t high(Value v) { return (int64_t)(v.bits << 14); }
static inline Value from_high(int64_t i) { return (Value){ VALUE_INT_TAG | (uint64_t)i >> 14 }; }

static inline bool fast_floordiv(int64_t x, int64_t y, Value *out) {
    if (y == 0) return false;
    int64_t q = x / y;
    if (x % y != 0 && (x < 0) != (y < 0)) q--;
    if (!value_small_fits(q)) return false;
    return *out = value_from_small(q), true;
}

static inline bool fast_mod(int64_t x, int64_t y, Value *out) {
    if (y == 0) return false;
    int64_t r = x % y;
    if (r != 0 && (r < 0) != (y < 0)) r += y;
    return *out = value_from_small(r), true;
}

static inline bool is_list(Value v) { return value_is(v, OBJECT_LIST); }

/* ---- the loop ---- */

#define R(i) base[i]
#define FAIL() do { frame->pc = pc; goto failed; } while (0)
#define TRY(call) do { frame->pc = pc; if (__builtin_expect(!(call), 0)) goto failed; } while (0)
#define NEXT() do { i = *pc++; goto *labels[i.op]; } while (0)
#define LOAD_FRAME() do { frame = &VEC_LAST(&vm->frames); pc = frame->pc; base = frame->base; k = frame->code->k; } while (0)
#define SAFEPOINT() do { \
        if (__builtin_expect(heap_wants_collection(vm->heap) || --vm->fuel < 0, 0)) { frame->pc = pc; if (!vm_safepoint(vm, err)) goto failed; } \
    } while (0)
#define S16(field) ((int16_t)(field))

/* x marks an augmented assignment, which modifies sets in place. */
#define OPERATE(op, x, y) ((i.x ? operate_in_place : operate_binary)(vm, op, x, y, &R(i.a), err))

#define ARITHMETIC(name, overflow, y_operand, float_op) \
    do_##name: { Value x = R(i.b), y = R(i.c); int64_t r; \
        if (value_both_small(x, y) && !overflow(y_operand(x), high(y), &r)) { R(i.a) = from_high(r); NEXT(); } \
        if (value_is_float(x) && value_is_float(y)) { R(i.a) = value_from_float(value_float(x) float_op value_float(y)); NEXT(); } \
        TRY(OPERATE(OP_##name, x, y)); NEXT(); }

#define IMMEDIATE(name, general, expression) \
    do_##name: { Value x = R(i.b); int64_t y = S16(i.c), r; \
        if (value_is_small(x) && (expression)) { R(i.a) = from_high(r); NEXT(); } \
        TRY(operate_binary(vm, OP_##general, x, value_from_small(y), &R(i.a), err)); NEXT(); }

/* NaN has a place in Starlark's order, so C's comparison of doubles does not apply to it. */
#define BOTH_ORDERED(x, y) (value_is_float(x) && value_is_float(y) && value_float(x) == value_float(x) && value_float(y) == value_float(y))

#define COMPARE(name, op) \
    do_##name: { Value x = R(i.b), y = R(i.c); bool r; \
        if (value_both_small(x, y)) r = high(x) op high(y); \
        else if (BOTH_ORDERED(x, y)) r = value_float(x) op value_float(y); \
        else TRY(operate_compare(vm, OP_##name, x, y, &r, err)); \
        R(i.a) = value_from_bool(r); NEXT(); }

#define JUMP_COMPARE(name, general, op) \
    do_##name: { Value x = R(i.a), y = R(i.b); bool r; \
        if (value_both_small(x, y)) r = high(x) op high(y); \
        else if (BOTH_ORDERED(x, y)) r = value_float(x) op value_float(y); \
        else TRY(operate_compare(vm, OP_##general, x, y, &r, err)); \
        if (r == i.x) pc += S16(i.c); \
        NEXT(); }

#define JUMP_IMMEDIATE(name, general, op) \
    do_##name: { Value x = R(i.a); bool r; \
        if (value_is_small(x)) r = value_small(x) op S16(i.b); \
        else TRY(operate_compare(vm, OP_##general, x, value_from_small(S16(i.b)), &r, err)); \
        if (r == i.x) pc += S16(i.c); \
        NEXT(); }

bool vm_run(Vm *vm, size_t until, Error *err) {
    static const void *const labels[] = {
#define OP(name, operands, does) [OP_##name] = &&do_##name,
#include "starlark/vm/opcodes.def"
#undef OP
    };
    Frame *frame;
    const Insn *pc;
    const Value *k;
    Value *base;
    Insn i;
    vm->trace.n = 0;
    LOAD_FRAME();
    if (!vm_safepoint(vm, err)) { frame->pc++; goto failed; }
    NEXT();

    do_MOVE: R(i.a) = R(i.b); NEXT();
    do_LOADK: R(i.a) = k[i.d]; NEXT();
    do_CALL_VALUE: {
        Value v;
        TRY(vm_call_value(vm, k[i.d], &v, err));
        R(i.a) = v;
        NEXT();
    }
    do_CHECK:
        if (value_is_gone(R(i.a))) { unassigned(frame->code, i.a, err); FAIL(); }
        NEXT();
    do_CLEAR: R(i.a) = VALUE_GONE; NEXT();
    do_CELL_NEW: {
        Cell *cell = cell_new(vm->heap, R(i.a), err);
        if (!cell) FAIL();
        R(i.a) = value_from_object(cell);
        NEXT();
    }
    do_CELL_GET: {
        Value v = value_cell(R(i.b))->value;
        if (value_is_gone(v)) { unassigned(frame->code, i.b, err); FAIL(); }
        R(i.a) = v;
        NEXT();
    }
    do_CELL_SET: value_cell(R(i.a))->value = R(i.b); NEXT();
    do_FREE_GET: {
        Value v = value_cell(function_captured(frame->fn)[i.d])->value;
        if (value_is_gone(v)) { free_unassigned(frame->code, (uint32_t)i.d, err); FAIL(); }
        R(i.a) = v;
        NEXT();
    }
    do_GLOBAL_GET: {
        Value v = frame->globals[i.d];
        if (__builtin_expect(value_is_gone(v), 0)) TRY(vm_touch_global(vm, frame, (uint32_t)i.d, &v, err));
        R(i.a) = v;
        NEXT();
    }
    do_GLOBAL_SET: frame->globals[i.d] = R(i.a); NEXT();

    ARITHMETIC(ADD, __builtin_add_overflow, high, +)
    ARITHMETIC(SUB, __builtin_sub_overflow, high, -)
    ARITHMETIC(MUL, __builtin_mul_overflow, value_small, *)
    do_DIV: {
        Value x = R(i.b), y = R(i.c);
        if (value_is_float(x) && value_is_float(y) && value_float(y) != 0) {
            R(i.a) = value_from_float(value_float(x) / value_float(y));
            NEXT();
        }
        TRY(operate_binary(vm, OP_DIV, x, y, &R(i.a), err));
        NEXT();
    }
    do_FLOORDIV: {
        Value x = R(i.b), y = R(i.c);
        if (value_both_small(x, y) && fast_floordiv(value_small(x), value_small(y), &R(i.a))) NEXT();
        TRY(operate_binary(vm, OP_FLOORDIV, x, y, &R(i.a), err));
        NEXT();
    }
    do_MOD: {
        Value x = R(i.b), y = R(i.c);
        if (value_both_small(x, y) && fast_mod(value_small(x), value_small(y), &R(i.a))) NEXT();
        TRY(operate_binary(vm, OP_MOD, x, y, &R(i.a), err));
        NEXT();
    }
    do_AND: {
        Value x = R(i.b), y = R(i.c);
        if (value_both_small(x, y)) { R(i.a).bits = x.bits & y.bits; NEXT(); }
        TRY(OPERATE(OP_AND, x, y));
        NEXT();
    }
    do_OR: {
        Value x = R(i.b), y = R(i.c);
        if (value_both_small(x, y)) { R(i.a).bits = x.bits | y.bits; NEXT(); }
        TRY(operate_binary(vm, OP_OR, x, y, &R(i.a), err));
        NEXT();
    }
    do_XOR: {
        Value x = R(i.b), y = R(i.c);
        if (value_both_small(x, y)) { R(i.a).bits = (x.bits ^ y.bits) | VALUE_INT_TAG; NEXT(); }
        TRY(OPERATE(OP_XOR, x, y));
        NEXT();
    }
    do_SHL: TRY(operate_binary(vm, OP_SHL, R(i.b), R(i.c), &R(i.a), err)); NEXT();
    do_SHR: TRY(operate_binary(vm, OP_SHR, R(i.b), R(i.c), &R(i.a), err)); NEXT();

    IMMEDIATE(ADDI, ADD, !__builtin_add_overflow(high(x), y * 16384, &r))
    IMMEDIATE(SUBI, SUB, !__builtin_sub_overflow(high(x), y * 16384, &r))
    IMMEDIATE(MULI, MUL, !__builtin_mul_overflow(high(x), y, &r))
    IMMEDIATE(ANDI, AND, (r = high(x) & y * 16384, true))
    do_FLOORDIVI: {
        Value x = R(i.b);
        if (value_is_small(x) && fast_floordiv(value_small(x), S16(i.c), &R(i.a))) NEXT();
        TRY(operate_binary(vm, OP_FLOORDIV, x, value_from_small(S16(i.c)), &R(i.a), err));
        NEXT();
    }
    do_MODI: {
        Value x = R(i.b);
        if (value_is_small(x) && fast_mod(value_small(x), S16(i.c), &R(i.a))) NEXT();
        TRY(operate_binary(vm, OP_MOD, x, value_from_small(S16(i.c)), &R(i.a), err));
        NEXT();
    }
    do_SHLI: {
        Value x = R(i.b);
        int64_t by = S16(i.c), s = value_is_small(x) ? value_small(x) : 0;
        if (value_is_small(x) && by >= 0 && by < 50 && s == (int64_t)((uint64_t)s << (14 + by)) >> (14 + by)) {
            R(i.a) = value_from_small((int64_t)((uint64_t)s << by));
            NEXT();
        }
        TRY(operate_binary(vm, OP_SHL, x, value_from_small(by), &R(i.a), err));
        NEXT();
    }
    do_SHRI: {
        Value x = R(i.b);
        int64_t by = S16(i.c);
        if (value_is_small(x) && by >= 0 && by < 64) { R(i.a) = value_from_small(value_small(x) >> by); NEXT(); }
        TRY(operate_binary(vm, OP_SHR, x, value_from_small(by), &R(i.a), err));
        NEXT();
    }
    do_IADD: {
        Value x = R(i.b), y = R(i.c);
        int64_t r;
        if (value_both_small(x, y) && !__builtin_add_overflow(high(x), high(y), &r)) { R(i.a) = from_high(r); NEXT(); }
        if (value_is_float(x) && value_is_float(y)) { R(i.a) = value_from_float(value_float(x) + value_float(y)); NEXT(); }
        TRY(operate_in_place(vm, OP_IADD, x, y, &R(i.a), err));
        NEXT();
    }
    do_IOR: TRY(operate_in_place(vm, OP_IOR, R(i.b), R(i.c), &R(i.a), err)); NEXT();
    do_NEG: {
        Value x = R(i.b);
        int64_t r;
        if (value_is_small(x) && !__builtin_sub_overflow((int64_t)0, high(x), &r)) { R(i.a) = from_high(r); NEXT(); }
        if (value_is_float(x)) { R(i.a) = value_from_float(-value_float(x)); NEXT(); }
        TRY(operate_unary(vm, OP_NEG, x, &R(i.a), err));
        NEXT();
    }
    do_POS: TRY(operate_unary(vm, OP_POS, R(i.b), &R(i.a), err)); NEXT();
    do_INVERT: TRY(operate_unary(vm, OP_INVERT, R(i.b), &R(i.a), err)); NEXT();
    do_NOT: R(i.a) = value_from_bool(!value_truth(R(i.b))); NEXT();

    do_EQ: {
        bool r;
        if (value_same_leaf(R(i.b), R(i.c))) r = true;
        else if (value_both_small(R(i.b), R(i.c))) r = false;
        else TRY(operate_compare(vm, OP_EQ, R(i.b), R(i.c), &r, err));
        R(i.a) = value_from_bool(r);
        NEXT();
    }
    do_NE: {
        bool r;
        if (value_same_leaf(R(i.b), R(i.c))) r = false;
        else if (value_both_small(R(i.b), R(i.c))) r = true;
        else TRY(operate_compare(vm, OP_NE, R(i.b), R(i.c), &r, err));
        R(i.a) = value_from_bool(r);
        NEXT();
    }
    COMPARE(LT, <)
    COMPARE(LE, <=)
    COMPARE(GT, >)
    COMPARE(GE, >=)
    do_IN: {
        bool r;
        TRY(vm_contains(vm, R(i.b), R(i.c), &r, err));
        R(i.a) = value_from_bool(r);
        NEXT();
    }
    do_NOT_IN: {
        bool r;
        TRY(vm_contains(vm, R(i.b), R(i.c), &r, err));
        R(i.a) = value_from_bool(!r);
        NEXT();
    }

    do_JUMP: pc += i.d; NEXT();
    do_LOOP: pc += i.d; SAFEPOINT(); NEXT();
    do_JUMP_T: {
        Value v = R(i.a);
        if (value_is_bool(v) ? value_bool(v) : value_truth(v)) pc += i.d;
        NEXT();
    }
    do_JUMP_F: {
        Value v = R(i.a);
        if (!(value_is_bool(v) ? value_bool(v) : value_truth(v))) pc += i.d;
        NEXT();
    }
    do_JUMP_EQ: {
        bool r;
        if (value_same_leaf(R(i.a), R(i.b))) r = true;
        else if (value_both_small(R(i.a), R(i.b))) r = false;
        else TRY(operate_compare(vm, OP_EQ, R(i.a), R(i.b), &r, err));
        if (r == i.x) pc += S16(i.c);
        NEXT();
    }
    JUMP_COMPARE(JUMP_LT, LT, <)
    JUMP_COMPARE(JUMP_LE, LE, <=)
    JUMP_COMPARE(JUMP_GT, GT, >)
    JUMP_COMPARE(JUMP_GE, GE, >=)
    JUMP_IMMEDIATE(JUMP_EQI, EQ, ==)
    JUMP_IMMEDIATE(JUMP_LTI, LT, <)
    JUMP_IMMEDIATE(JUMP_LEI, LE, <=)
    JUMP_IMMEDIATE(JUMP_GTI, GT, >)
    JUMP_IMMEDIATE(JUMP_GEI, GE, >=)
    do_JUMP_IN: {
        bool r;
        TRY(vm_contains(vm, R(i.a), R(i.b), &r, err));
        if (r == i.x) pc += S16(i.c);
        NEXT();
    }

    do_INDEX: {
        Value x = R(i.b), y = R(i.c);
        if (value_is_object(x)) {
            Object *o = value_object(x);
            if (o->type == OBJECT_LIST && value_is_small(y)) {
                List *l = (List *)o;
                int64_t at = value_small(y);
                if (at < 0) at += l->n;
                if ((uint64_t)at < l->n) { R(i.a) = l->at[at]; NEXT(); }
            } else if (o->type == OBJECT_DICT) {
                Value *found = NULL;
                TRY(dict_get((Dict *)o, y, &found, err));
                if (found) { R(i.a) = *found; NEXT(); }
            }
        }
        TRY(operate_index(vm, x, y, &R(i.a), err));
        NEXT();
    }
    do_INDEXI: {
        Value x = R(i.b);
        int64_t at = S16(i.c);
        if (value_is_object(x)) {
            Object *o = value_object(x);
            if (o->type == OBJECT_LIST) {
                List *l = (List *)o;
                if (at < 0) at += l->n;
                if ((uint64_t)at < l->n) { R(i.a) = l->at[at]; NEXT(); }
            } else if (o->type == OBJECT_TUPLE) {
                Tuple *t = (Tuple *)o;
                if (at < 0) at += t->n;
                if ((uint64_t)at < t->n) { R(i.a) = t->at[at]; NEXT(); }
            }
        }
        TRY(operate_index(vm, x, value_from_small(S16(i.c)), &R(i.a), err));
        NEXT();
    }
    do_INDEXK: {
        Value x = R(i.b);
        if (value_is_dict(x)) {
            Value *found = dict_find(value_dict(x), (String *)value_object(k[i.c]));
            if (found) { R(i.a) = *found; NEXT(); }
        }
        TRY(operate_index(vm, x, k[i.c], &R(i.a), err));
        NEXT();
    }
    do_SET_INDEX: {
        Value x = R(i.a), y = R(i.b);
        if (is_list(x) && value_is_small(y)) {
            List *l = value_list(x);
            int64_t at = value_small(y);
            if (at < 0) at += l->n;
            if ((uint64_t)at < l->n && !l->busy && !object_frozen(&l->obj)) { l->at[at] = R(i.c); NEXT(); }
        }
        TRY(operate_set_index(vm, x, y, R(i.c), err));
        NEXT();
    }
    do_SLICE: TRY(operate_slice(vm, &R(i.b), &R(i.a), err)); NEXT();
    do_ATTR: TRY(vm_attr(vm, R(i.b), (String *)value_object(k[i.c]), &R(i.a), err)); NEXT();
    do_HAS_ATTR: TRY(vm_has_method(vm, R(i.a), (String *)value_object(k[i.b]), err)); NEXT();
    do_SET_ATTR: TRY(operate_set_attr(vm, R(i.a), (String *)value_object(k[i.b]), R(i.c), err)); NEXT();

    do_LIST: {
        List *l = list_from(vm->heap, &R(i.b), i.c, err);
        if (!l) FAIL();
        R(i.a) = value_from_object(l);
        NEXT();
    }
    do_LISTK: {
        Tuple *t = value_tuple(k[i.d]);
        List *l = list_from(vm->heap, t->at, t->n, err);
        if (!l) FAIL();
        R(i.a) = value_from_object(l);
        NEXT();
    }
    do_TUPLE: {
        Tuple *t = tuple_from(vm->heap, &R(i.b), i.c, err);
        if (!t) FAIL();
        R(i.a) = value_from_object(t);
        NEXT();
    }
    do_TO_TUPLE: {
        List *l = value_list(R(i.a));
        Tuple *t = tuple_from(vm->heap, l->at, l->n, err);
        if (!t) FAIL();
        R(i.a) = value_from_object(t);
        NEXT();
    }
    do_DICT: {
        Dict *d = dict_new(vm->heap, (size_t)i.d, err);
        if (!d) FAIL();
        R(i.a) = value_from_object(d);
        NEXT();
    }
    do_DICT_NEW: TRY(new_key(vm, value_dict(R(i.a)), R(i.b), R(i.c), err)); NEXT();
    do_DICT_PUT: TRY(dict_put(vm->heap, value_dict(R(i.a)), R(i.b), R(i.c), err)); NEXT();
    do_APPEND: TRY(list_push(vm->heap, value_list(R(i.a)), R(i.b), err)); NEXT();
    do_UNPACK: {
        Value v = R(i.b);
        if (value_is_tuple(v) && value_tuple(v)->n == i.c) {
            for (uint32_t n = 0; n < i.c; n++) R(i.a + n) = value_tuple(v)->at[n];
            NEXT();
        }
        TRY(operate_unpack(vm, v, &R(i.a), i.c, err));
        NEXT();
    }
    do_FUNC: TRY(make_function(vm, frame, frame->code->inner[i.c], &R(i.b), &R(i.a), err)); NEXT();

    do_ITER: TRY(begin_iteration(vm, &R(i.a), err)); NEXT();
    do_NEXT: {
        Value *state = &R(i.a);
        Object *o = value_object(state[0]);
        int64_t at = value_small(state[1]);
        Item got = ITEM_GOT;
        if (o->type == OBJECT_LIST && at < ((List *)o)->n) {
            R(i.b) = ((List *)o)->at[at];
            state[1] = value_from_small(at + 1);
        } else
            got = next_item(vm, state, &R(i.b), err);
        if (got == ITEM_GOT) {
            SAFEPOINT();                                 /* before the jump, so that a failure here still ends the iteration */
            pc += S16(i.c);
            NEXT();
        }
        if (got == ITEM_FAILED) FAIL();
        end_iteration(state[0]);
        NEXT();
    }
    do_NEXT_LONG: {
        Item got = next_item(vm, &R(i.a), &R(i.b), err);
        if (got == ITEM_GOT) {
            SAFEPOINT();
            NEXT();
        }
        if (got == ITEM_FAILED) FAIL();
        end_iteration(R(i.a));
        pc++;
        NEXT();
    }
    do_ITER_END: end_iteration(R(i.a)); R(i.a) = VALUE_NONE; NEXT();
    do_RANGE: TRY(begin_range(vm, &R(i.a), i.b, err) || vm_failed_native(vm, "range")); NEXT();
    do_NEXT_RANGE: {
        Value *state = &R(i.a);
        Item got = ITEM_GOT;
        if (__builtin_expect(value_is_small(state[0]), 1)) {
            if (state[1].bits == VALUE_INT_TAG) NEXT();  /* no iterations left */
            R(i.b) = state[0];
            state[1].bits--;
            state[0] = from_high((int64_t)((uint64_t)high(state[0]) + (uint64_t)high(state[2])));
        } else
            got = next_item(vm, state, &R(i.b), err);
        if (got == ITEM_GOT) {
            SAFEPOINT();
            pc += S16(i.c);
        } else if (got == ITEM_FAILED)
            FAIL();
        NEXT();
    }
    do_LEN: {
        Value x = R(i.b);
        ptrdiff_t n = is_list(x) ? value_list(x)->n : value_is_string(x) ? value_string(x)->n : iter_length(x);
        if (n < 0) {
            error_set(err, ERR_SCRIPT, "len: value of type %s has no len", value_type_name(x));
            vm_failed_native(vm, "len");
            FAIL();
        }
        R(i.a) = value_from_small(n);
        NEXT();
    }

    do_CALL: {
        Value fn = R(i.a);
        frame->pc = pc;
        if (value_is_function(fn)) {
            Function *f = value_function(fn);
            if (f->code->simple && f->code->n_params == i.x) {
                if (!vm_push(vm, f, &R(i.a + 1), &R(i.c), err)) goto failed;
            } else if (!vm_push_bound(vm, f, &R(i.a + 1), i.x, NULL, 0, &R(i.c), err))
                goto failed;
            goto entered;
        }
        if (!vm_call_other(vm, fn, &R(i.a + 1), i.x, NULL, 0, &R(i.c), err)) goto failed;
        frame = &VEC_LAST(&vm->frames);
        NEXT();
    }
    do_CALL_NATIVE:
        frame->pc = pc;
        if (!vm_call_native(vm, ((Native *)value_object(k[i.b]))->def, k[i.b], &R(i.a + 1), i.x, &R(i.c), err)) goto failed;
        frame = &VEC_LAST(&vm->frames);
        NEXT();
    do_CALL_METHOD: {
        size_t depth = vm->frames.n;
        frame->pc = pc;
        if (!vm_call_method(vm, &R(i.a), (String *)value_object(k[i.b]), i.x, &R(i.c), err)) goto failed;
        if (vm->frames.n != depth) goto entered;         /* a script function */
        frame = &VEC_LAST(&vm->frames);
        NEXT();
    }
    do_CALL_SHAPE: {
        size_t depth = vm->frames.n;
        frame->pc = pc;
        if (!vm_call_shape(vm, &R(i.a), &frame->code->shapes[i.b], &R(i.c), err)) goto failed;
        if (vm->frames.n != depth) goto entered;
        frame = &VEC_LAST(&vm->frames);
        NEXT();
    }
    do_RETURN_NONE: {
        *frame->ret = VALUE_NONE;
        goto leave;
    }
    do_RETURN: *frame->ret = R(i.a);
leave:
    vm_pop(vm);
    if (vm->frames.n == until) return true;
    LOAD_FRAME();
    NEXT();
entered:
    LOAD_FRAME();
    if (__builtin_expect(heap_wants_collection(vm->heap) || --vm->fuel < 0, 0) && !vm_safepoint(vm, err)) {
        frame->pc++;                                     /* report the failure at the first instruction */
        goto failed;
    }
    NEXT();
failed:
    return unwind(vm, until, err);
}
