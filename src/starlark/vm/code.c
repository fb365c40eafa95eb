#include "starlark/vm/code.h"

Pos code_pos(const Code *c, uint32_t pc) {
    uint32_t lo = 0, hi = c->n_positions;
    while (hi - lo > 1) {
        uint32_t mid = (lo + hi) / 2;
        if (c->positions[mid].pc <= pc) lo = mid;
        else hi = mid;
    }
    return c->n_positions ? c->positions[lo].pos : c->pos;
}
