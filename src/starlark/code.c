#include "starlark/code.h"

Pos code_pos(const Code *c, uint32_t pc) {
    uint32_t lo = 0, hi = c->n_positions;
    while (hi - lo > 1) {
        uint32_t mid = (lo + hi) / 2;
        if (c->positions[mid].pc <= pc) lo = mid;
        else hi = mid;
    }
    return c->n_positions ? c->positions[lo].pos : c->pos;
}

static const struct { const char *name, *operands; } ops[] = {
#define OP(name, operands, does) [OP_##name] = { #name, operands },
#include "starlark/opcodes.def"
#undef OP
};

static void dump_operands(const char *format, const Insn *i, Buf *out) {
    for (const char *p = format; *p; p++) {
        bool is_signed = *p == '[';
        if (is_signed) p++;
        uint16_t field = *p == 'b' ? i->b : i->c;
        if (*p == 'x') buf_add_fmt(out, " x=%u", i->x);
        else if (*p == 'a') buf_add_fmt(out, " a=%u", i->a);
        else if (*p == 'd') buf_add_fmt(out, " d=%d", i->d);
        else if (is_signed) buf_add_fmt(out, " %c=%d", *p, (int16_t)field);
        else buf_add_fmt(out, " %c=%u", *p, field);
        if (is_signed) p++;
    }
}

void code_dump(const Code *c, Buf *out) {
    buf_add_fmt(out, "function " STR_FMT ": %u registers\n", STR_ARG(string_str(c->name)), c->n_regs);
    for (uint32_t pc = 0; pc < c->n_insn; pc++) {
        Pos pos = code_pos(c, pc);
        buf_add_fmt(out, "%5u  %4u:%-4u %-12s", pc, pos.line, pos.col, ops[c->insn[pc].op].name);
        dump_operands(ops[c->insn[pc].op].operands, &c->insn[pc], out);
        buf_add_char(out, '\n');
    }
    for (uint32_t i = 0; i < c->n_inner; i++) code_dump(c->inner[i], out);
}
