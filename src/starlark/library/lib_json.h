/* The parts of the module json, one file each. */
#pragma once
#include "starlark/vm/vm.h"

enum { LIB_JSON_DEPTH = 10000 };

/* Appends v as JSON: keys sorted, no spaces. "at list index 0: cannot encode function as JSON". */
bool lib_json_write(Vm *vm, Buf *out, Value v, Error *err);
/* Reads one value. *malformed distinguishes syntax errors from limits. "at offset 5, unexpected character 'x'". */
bool lib_json_read(Vm *vm, Str text, Value *out, bool *malformed, Error *err);
/* Appends the JSON text indented over several lines. "invalid character 'x' looking for beginning of value". */
bool lib_json_spread(Vm *vm, Buf *out, Str text, Str prefix, Str indent, Error *err);

enum { LIB_JSON_QUOTED = 12 };
void lib_json_quote(char out[LIB_JSON_QUOTED], char c);    /* 'x', '\n', '\x00', 'é': for messages */
/* Fails when the output so far would not fit into the heap, or the deadline has passed. */
bool lib_json_room(Vm *vm, const Buf *out, size_t *next, Error *err);

/* Nonzero if any of the eight bytes may need escaping: control, quote, backslash, not ASCII. */
static inline uint64_t lib_json_special(uint64_t w) {
    const uint64_t ones = 0x0101010101010101u, high = ones << 7;
    uint64_t quote = w ^ (ones * '"'), slash = w ^ (ones * '\\');
    return ((w - ones * 0x20) | (quote - ones) | (slash - ones) | w) & high;   /* may report false positives */
}
