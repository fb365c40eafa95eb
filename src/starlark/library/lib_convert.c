/* Conversions: bool, bytes, dict, float, int, list, set, str, tuple. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>
#include "base/number.h"
#include "base/utf8.h"
#include "starlark/vm/iter.h"
#include "starlark/vm/lib.h"
#include "starlark/vm/repr.h"
#include "starlark/vm/work.h"
#include "value/int.h"

bool lib_convert_bool(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)vm, (void)err;
    *out = value_from_bool(native_given(a, 0) && value_truth(a->at[0]));
    return true;
}

/* ---- collections ---- */

bool lib_convert_list(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    List *l = NULL;
    if (native_given(a, 0) ? !iter_to_list(vm, a->at[0], &l, err) : !(l = list_new(vm_heap(vm), 0, err))) return false;
    return *out = value_from_object(l), true;
}

bool lib_convert_tuple(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    List *l = NULL;
    if (native_given(a, 0) && value_is_tuple(a->at[0])) return *out = a->at[0], true;
    if (native_given(a, 0) && !iter_to_list(vm, a->at[0], &l, err)) return false;
    return work_tuple(&(Work){ .vm = vm }, l ? l->at : NULL, l ? l->n : 0, out, err);
}

bool lib_convert_dict(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Dict *d = dict_new(vm_heap(vm), 0, err);
    return d && lib_dict_fill(vm, d, a, err) && (*out = value_from_object(d), true);
}

bool lib_convert_set(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Dict *s = NULL;
    if (native_given(a, 0) && value_is_set(a->at[0])) {
        if (!dict_copy(vm_heap(vm), value_set(a->at[0]), &s, err)) return false;
    } else {
        s = set_new(vm_heap(vm), 0, err);
        if (!s || (native_given(a, 0) && !lib_set_fill(vm, s, a->at[0], err))) return false;
    }
    return *out = value_from_object(s), true;
}

/* ---- text ---- */

/* Appends s with every byte that is not part of a valid character replaced by U+FFFD. */
static void add_valid(Buf *b, Str s) {
    while (s.n) {
        size_t n = utf8_valid_prefix(s);
        buf_add(b, str_sub(s, 0, n));
        if (n < s.n) buf_add(b, STR("\xef\xbf\xbd")), n++;
        s = str_sub(s, n, s.n);
    }
}

/* Checks in chunks, so that it can be interrupted. A character cut at the end of a chunk is checked again with the next
 * one. */
static bool check_utf8(Vm *vm, Str s, bool *valid, Error *err) {
    for (size_t at = 0, n; at < s.n; at += n) {
        Str piece = str_sub(s, at, at + WORK_CHUNK);
        n = utf8_valid_prefix(piece);
        if (n + 4 <= piece.n || (n < piece.n && at + piece.n == s.n)) return *valid = false, true;
        if (!vm_work(vm, piece.n / 64, err)) return false;
    }
    return *valid = true, true;
}

/* Converts to valid UTF-8, as a string or as bytes. */
static bool transcode(Vm *vm, Str s, bool to_bytes, Value *out, Error *err) {
    Buf b = { .limit = STRING_MAX };
    bool valid;
    if (!check_utf8(vm, s, &valid, err)) return false;
    if (!valid) add_valid(&b, s);
    Str text = valid ? s : buf_str(&b);
    char *at;
    String *fresh = (to_bytes ? bytes_room : string_room)(vm_heap(vm), text.n, &at, err);
    bool ok = fresh && work_copy(&(Work){ .vm = vm }, at, text, err);
    buf_clear(&b);
    return ok && (*out = value_from_object(fresh), true);
}

static bool str_of_small(Vm *vm, int64_t i, Value *out, Error *err) {
    char text[NUMBER_TEXT_SIZE];
    String *s = string_new(vm_heap(vm), (Str){ text, number_write_i64(i, text) }, err);
    return s && (*out = value_from_object(s), true);
}

bool lib_convert_str(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Value x = a->at[0];
    if (value_is_string(x)) return *out = x, true;
    if (value_is_small(x)) return str_of_small(vm, value_small(x), out, err);
    if (value_is_bytes(x)) return transcode(vm, value_str(x), false, out, err);
    Buf b = { .limit = STRING_MAX };
    if (!repr_value(vm, &b, x, err)) return buf_clear(&b), false;
    return lib_take_text(vm, &b, out, err);
}

static bool byte_of(Value v, uint32_t i, char *out, Error *err) {
    if (!value_is_int(v)) return error_set(err, ERR_SCRIPT, "at index %u, got %s, want int", i, value_type_name(v));
    if (value_is_small(v) && value_small(v) >= 0 && value_small(v) <= 255) return *out = (char)value_small(v), true;
    Buf text = { 0 };
    int_text(&text, v, 10);
    error_set(err, ERR_SCRIPT, "at index %u, %s out of range (want value in unsigned 8-bit range)", i, text.at);
    buf_clear(&text);
    return false;
}

static bool bytes_of_items(Vm *vm, Value from, Value *out, Error *err) {
    Iter it;
    Buf b = { .limit = STRING_MAX };
    Value item;
    bool ok = true;
    ptrdiff_t n = iter_length(from);
    if (n > 0 && !heap_can_take(vm_heap(vm), (size_t)n, err)) return false;
    if (!iter_begin(vm, &it, from, err)) return false;
    for (uint32_t i = 0; ok && iter_next(&it, &item); i++) {
        char c = 0;
        ok = byte_of(item, i, &c, err) && lib_tick(vm, i, err);
        buf_add_char(&b, c);
    }
    String *s = iter_end(&it) && ok ? bytes_new(vm_heap(vm), buf_str(&b), err) : NULL;
    buf_clear(&b);
    return s && (*out = value_from_object(s), true);
}

bool lib_convert_bytes(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Value x = a->at[0];
    if (value_is_bytes(x)) return *out = x, true;
    if (value_is_string(x)) return transcode(vm, value_str(x), true, out, err);
    if (iter_is_iterable(x)) return bytes_of_items(vm, x, out, err);
    return error_set(err, ERR_SCRIPT, "got %s, want string, bytes, or iterable of ints", value_type_name(x));
}

/* ---- int ---- */

/* Strips a prefix such as "0x". It sets base 0 to its own base; otherwise it must match the base. */
static Str cut_prefix(Str s, int *base) {
    if (s.n <= 2 || s.at[0] != '0') return s;
    int c = s.at[1] | 0x20, prefix = c == 'o' ? 8 : c == 'x' ? 16 : c == 'b' ? 2 : 0;
    if (prefix == 0 || (*base != 0 && *base != prefix)) return s;
    *base = prefix;
    return str_sub(s, 2, s.n);
}

static bool all_zeros(Str s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] != '0') return false;
    return true;
}

static bool bad_literal(Str s, int base, Error *err) {
    return error_set(err, ERR_SCRIPT, "invalid literal with base %d: " STR_FMT, base, STR_ARG(s));
}

/* Skips leading zeros of a very long number in an interruptible loop. */
static bool skip_zeros(Vm *vm, Str *s, Error *err) {
    enum { STRETCH = 1 << 16 };
    while (s->n > STRETCH && all_zeros(str_sub(*s, 0, STRETCH))) {
        *s = str_sub(*s, STRETCH, s->n);
        if (!vm_work(vm, STRETCH / 8, err)) return false;
    }
    return true;
}

static bool int_of_text(Vm *vm, Str text, int base, Value *out, Error *err) {
    bool negative = text.n && text.at[0] == '-';
    Str s = str_sub(text, text.n && (negative || text.at[0] == '+'), text.n);
    int used = base;
    s = cut_prefix(s, &used);
    if (used == 0 && s.n > 1 && s.at[0] == '0' && !all_zeros(s)) return bad_literal(text, base, err); /* "0755" is not octal */
    if (s.n == 0 || s.at[0] == '+' || s.at[0] == '-') return bad_literal(text, base, err);
    if (!skip_zeros(vm, &s, err)) return false;
    Error why = { 0 };
    if (!int_parse(vm_heap(vm), s, used ? used : 10, out, &why)) {
        if (why.kind != ERR_LIMIT) return bad_literal(text, base, err);
        if (err) *err = why;
        return false;
    }
    return vm_work(vm, s.n / 2, err) && (!negative || int_neg(vm_heap(vm), *out, out, err));
}

static bool int_of_number(Vm *vm, Value x, Value *out, Error *err) {
    if (value_is_int(x)) return *out = x, true;
    if (value_is_bool(x)) return *out = value_from_small(value_bool(x)), true;
    if (!value_is_float(x)) return error_set(err, ERR_SCRIPT, "cannot convert %s to int", value_type_name(x));
    double d = value_float(x);
    if (isinf(d)) return error_set(err, ERR_SCRIPT, "cannot convert float infinity to integer");
    if (isnan(d)) return error_set(err, ERR_SCRIPT, "cannot convert float NaN to integer");
    return int_from_double(vm_heap(vm), d, out, err);
}

bool lib_convert_int(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    bool explicit_base = native_given(a, 1);
    if (!value_is_string(a->at[0])) {
        if (explicit_base) return error_set(err, ERR_SCRIPT, "can't convert non-string with explicit base");
        return int_of_number(vm, a->at[0], out, err);
    }
    int base = 10;
    if (explicit_base && !native_i32(a->at[1], &base, NULL))
        return error_set(err, ERR_SCRIPT, "for base, got %s, want int", value_type_name(a->at[1]));
    if (base != 0 && (base < 2 || base > 36)) return error_set(err, ERR_SCRIPT, "base must be an integer >= 2 && <= 36");
    return int_of_text(vm, value_str(a->at[0]), base, out, err);
}

/* ---- float ---- */

static bool is_word(Str s, const char *word) { return s.n == strlen(word) && strncasecmp(s.at, word, s.n) == 0; }

static size_t count_digits(Str s, size_t from, bool hex) {
    size_t n = from;
    while (n < s.n && (hex ? isxdigit((unsigned char)s.at[n]) : isdigit((unsigned char)s.at[n]))) n++;
    return n - from;
}

/* Checks the form digits [. digits] [e|p [sign] digits] and returns the offsets of point and exponent. */
typedef struct { size_t whole, fraction, exponent; bool ok; } Shape;
static Shape shape_of(Str s, bool hex) {
    Shape p = { 0 };
    p.whole = count_digits(s, 0, hex);
    size_t at = p.whole;
    if (at < s.n && s.at[at] == '.') at += 1 + (p.fraction = count_digits(s, at + 1, hex));
    p.exponent = at;
    if (p.whole + p.fraction == 0) return p;
    if (at == s.n) return p.ok = !hex, p;               /* a hexadecimal number requires an exponent */
    if ((s.at[at++] | 0x20) != (hex ? 'p' : 'e')) return p;
    if (at < s.n && (s.at[at] == '+' || s.at[at] == '-')) at++;
    p.ok = at < s.n && at + count_digits(s, at, false) == s.n;
    return p;
}

static int hex_digit(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }

/* Keeps 60 bits plus a sticky bit for the bits dropped, and rounds once at the end. */
static double read_hex(Str s, const Shape *p) {
    uint64_t mantissa = 0;
    int64_t exponent = 0, e = 0;
    for (size_t i = 0; i < p->exponent; i++) {
        if (s.at[i] == '.') continue;
        bool behind = i > p->whole;
        if (mantissa >> 60 == 0) {
            mantissa = mantissa << 4 | (uint64_t)hex_digit(s.at[i]);
            exponent -= behind ? 4 : 0;
        } else {
            mantissa |= s.at[i] != '0';
            exponent += behind ? 0 : 4;
        }
    }
    bool down = s.at[p->exponent + 1] == '-';
    for (size_t i = p->exponent + 1; i < s.n; i++)
        if (s.at[i] >= '0' && e < 1000000000) e = e * 10 + (s.at[i] - '0');
    exponent += down ? -e : e;
    if (exponent > 100000 || exponent < -1000000) return exponent > 0 && mantissa ? (double)INFINITY : 0;
    return (double)ldexpl((long double)mantissa, (int)exponent);
}

/* True if every underscore is between two digits or after a prefix. */
static bool underscores_ok(Str s, bool hex) {
    bool digit = hex;
    for (size_t i = 0; i < s.n; i++) {
        bool is_digit = hex ? isxdigit((unsigned char)s.at[i]) : isdigit((unsigned char)s.at[i]);
        if (s.at[i] == '_' ? !digit : (i && s.at[i - 1] == '_' && !is_digit)) return false;
        digit = is_digit;
    }
    return s.n == 0 || s.at[s.n - 1] != '_';
}

static bool read_unsigned(Str s, bool hex, double *out) {
    Shape p = shape_of(s, hex);
    if (!p.ok) return false;
    *out = hex ? read_hex(s, &p) : number_read_double(s);
    return true;
}

/* Accepts what Go's ParseFloat accepts: signs, hexadecimal with exponent, underscores between digits. */
static bool read_float(Str s, double *out) {
    bool negative = s.n && s.at[0] == '-';
    if (s.n && (negative || s.at[0] == '+')) s = str_sub(s, 1, s.n);
    bool hex = s.n > 2 && s.at[0] == '0' && (s.at[1] | 0x20) == 'x', ok;
    if (hex) s = str_sub(s, 2, s.n);
    if (str_find_char(s, '_') < 0) ok = read_unsigned(s, hex, out);
    else {
        Buf b = { 0 };
        for (size_t i = 0; i < s.n; i++)
            if (s.at[i] != '_') buf_add_char(&b, s.at[i]);
        ok = underscores_ok(s, hex) && read_unsigned(buf_str(&b), hex, out);
        buf_clear(&b);
    }
    if (negative) *out = -*out;
    return ok;
}

static bool float_of_text(Str s, double *out, Error *err) {
    enum { TEXT_MAX = 1 << 20 };                         /* parsing is not interruptible */
    if (s.n == 0) return error_set(err, ERR_SCRIPT, "float: empty string");
    if (s.n > TEXT_MAX) return error_set(err, ERR_LIMIT, "float: literal of %zu bytes is too long", s.n);
    bool sign = s.at[0] == '+' || s.at[0] == '-', negative = s.at[0] == '-';
    Str word = str_sub(s, sign, s.n);
    if (is_word(word, "inf") || is_word(word, "infinity")) return *out = negative ? -(double)INFINITY : (double)INFINITY, true;
    if (is_word(word, "nan")) return *out = (double)NAN, true;
    double d = 0;
    if (!read_float(s, &d)) return error_set(err, ERR_SCRIPT, "invalid float literal: " STR_FMT, STR_ARG(s));
    if (isinf(d)) return error_set(err, ERR_SCRIPT, "floating-point number too large");
    return *out = d, true;
}

bool lib_convert_float(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)vm;
    if (!native_given(a, 0)) return *out = value_from_float(0), true;
    Value x = a->at[0];
    double d;
    if (value_is_float(x)) d = value_float(x);
    else if (value_is_bool(x)) d = value_bool(x);
    else if (value_is_int(x)) {
        d = int_to_double(x);
        if (isinf(d)) return error_set(err, ERR_SCRIPT, "int too large to convert to float");
    } else if (value_is_string(x)) {
        if (!float_of_text(value_str(x), &d, err)) return false;
    } else return error_set(err, ERR_SCRIPT, "float got %s, want number or string", value_type_name(x));
    return *out = value_from_float(d), true;
}
