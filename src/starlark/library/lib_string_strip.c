/* strip, lstrip, rstrip. */
#include "starlark/library/lib_string.h"

#include <stdlib.h>
#include "base/mem.h"
#include "base/unicode.h"
#include "base/utf8.h"
#include "starlark/vm/work.h"

/* The characters to strip: white space, or those of a string. ASCII in a bitmap; a few others in an
 * array; many others in a bitmap too, so that a long set costs no more than a short one. */
enum { FEW = 16, BITMAP_BYTES = (0x10ffff + 1) / 8 };
typedef struct { bool space; uint64_t ascii[2]; uint32_t few[FEW]; size_t n_few; uint8_t *many; } Cutset;

static void cutset_add(Cutset *c, uint32_t point) {
    if (point < 0x80) { c->ascii[point / 64] |= (uint64_t)1 << point % 64; return; }
    if (!c->many && c->n_few < FEW) { c->few[c->n_few++] = point; return; }
    if (!c->many) c->many = mem_zero(BITMAP_BYTES, 1);
    c->many[point / 8] |= (uint8_t)(1u << point % 8);
}

static bool cutset_has(const Cutset *c, uint32_t point) {
    if (c->space) return unicode_is_space(point);
    if (point < 0x80) return c->ascii[point / 64] >> point % 64 & 1;
    for (size_t i = 0; i < c->n_few; i++)
        if (c->few[i] == point) return true;
    return c->many && (c->many[point / 8] >> point % 8 & 1);
}

static bool cutset_fill(Cutset *c, Work *w, Str s, Error *err) {
    for (size_t length; s.n; s = str_sub(s, length, s.n)) {
        cutset_add(c, utf8_decode(s, &length));
        if (!work_add(w, 1, err)) return false;
    }
    return true;
}

/* Decodes the last character; an invalid byte counts as U+FFFD. */
static uint32_t decode_last(Str s, size_t *length) {
    size_t most = s.n < 4 ? s.n : 4;
    for (size_t back = 1; back <= most; back++) {
        if (((unsigned char)s.at[s.n - back] & 0xc0) == 0x80) continue;
        uint32_t c = utf8_decode((Str){ s.at + s.n - back, back }, length);
        if (*length == back) return c;
        break;
    }
    *length = 1;
    return 0xfffd;
}

static bool strip_left(const Cutset *c, Work *w, Str *s, Error *err) {
    for (size_t length; s->n && cutset_has(c, utf8_decode(*s, &length)); *s = str_sub(*s, length, s->n))
        if (!work_add(w, 1, err)) return false;
    return true;
}

static bool strip_right(const Cutset *c, Work *w, Str *s, Error *err) {
    for (size_t length; s->n && cutset_has(c, decode_last(*s, &length)); s->n -= length)
        if (!work_add(w, 1, err)) return false;
    return true;
}

/* The common case. Stops at any character that is not ASCII, which the sets above handle. */
static Str strip_ascii_space(Str s, bool left, bool right) {
    while (left && s.n && (*s.at == ' ' || (*s.at >= '\t' && *s.at <= '\r'))) s.at++, s.n--;
    while (right && s.n && (s.at[s.n - 1] == ' ' || (s.at[s.n - 1] >= '\t' && s.at[s.n - 1] <= '\r'))) s.n--;
    return s;
}

static bool strip_characters(Vm *vm, Str *s, Str chars, bool left, bool right, Error *err) {
    Work w = { .vm = vm };
    Cutset c = { .space = chars.n == 0 };
    bool ok = cutset_fill(&c, &w, chars, err) && (!left || strip_left(&c, &w, s, err)) && (!right || strip_right(&c, &w, s, err));
    free(c.many);
    return ok;
}

static bool strip(Vm *vm, const NativeArgs *a, bool left, bool right, Value *out, Error *err) {
    String *whole = value_string(a->self);
    Str s = string_str(whole), chars = native_given(a, 0) ? value_str(a->at[0]) : STR("");
    bool quick = chars.n == 0 && s.n <= WORK_CHUNK;
    if (quick) s = strip_ascii_space(s, left, right);
    if (quick) quick = s.n == 0 || !((s.at[0] | s.at[s.n - 1]) & 0x80);   /* nothing left for the sets? */
    if (!quick && !strip_characters(vm, &s, chars, left, right, err)) return false;
    size_t from = (size_t)(s.at - whole->at);
    return work_slice(&(Work){ .vm = vm }, whole, from, from + s.n, out, err);
}

bool lib_string_strip(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return strip(vm, a, true, true, out, err); }
bool lib_string_lstrip(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return strip(vm, a, true, false, out, err); }
bool lib_string_rstrip(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return strip(vm, a, false, true, out, err); }
