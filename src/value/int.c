#include "value/int.h"

#include <math.h>
#include <stdlib.h>
#include "base/hash.h"
#include "base/mem.h"

/* Every operation takes its operands as sign and limbs; a small int gets its one limb from a word
 * on the stack. Addition, subtraction, multiplication and comparison work on limbs, directly in the
 * result object; the rarer operations use mpz. */
typedef struct { const mp_limb_t *limb; size_t n; bool negative; mp_limb_t word; } Num;

static void num_load(Num *x, Value v) {
    if (value_is_small(v)) {
        int64_t i = value_small(v);
        x->negative = i < 0;
        x->word = i < 0 ? (mp_limb_t)-i : (mp_limb_t)i;
        x->limb = &x->word;
        x->n = i != 0;
    } else {
        const BigInt *b = value_bigint(v);
        x->negative = b->negative;
        x->limb = b->limb;
        x->n = b->n;
    }
}

static BigInt *big_room(Heap *h, size_t limbs, Error *err) {
    if (limbs > INT_BITS_MAX / 64 + 1) { error_set(err, ERR_LIMIT, "int too large"); return NULL; }
    return heap_alloc_raw(h, OBJECT_INT, sizeof(BigInt) + limbs * sizeof(mp_limb_t), err);
}

/* Converts limbs to a small int if they fit; n excludes leading zeros. */
static bool fits_small(const mp_limb_t *limb, size_t n, bool negative, Value *out) {
    if (n > 1) return false;
    uint64_t w = n ? limb[0] : 0;
    if (w > (uint64_t)VALUE_INT_MAX + negative) return false;
    return *out = value_from_small(negative ? -(int64_t)w : (int64_t)w), true;
}

/* Drops leading zero limbs and converts to a small int if possible. */
static bool big_done(BigInt *b, size_t n, bool negative, Value *out, Error *err) {
    while (n && b->limb[n - 1] == 0) n--;
    if (fits_small(b->limb, n, negative, out)) return true;
    b->n = (uint32_t)n;
    b->negative = negative;
    if (n > INT_BITS_MAX / 64) return error_set(err, ERR_LIMIT, "int too large");
    return *out = value_from_object(b), true;
}

static bool from_limbs(Heap *h, const mp_limb_t *limb, size_t n, bool negative, Value *out, Error *err) {
    if (fits_small(limb, n, negative, out)) return true;
    BigInt *b = big_room(h, n, err);
    if (!b) return false;
    mpn_copyi(b->limb, limb, (mp_size_t)n);
    return big_done(b, n, negative, out, err);
}

static bool from_mpz(Heap *h, mpz_srcptr z, Value *out, Error *err) {
    return from_limbs(h, mpz_limbs_read(z), mpz_size(z), mpz_sgn(z) < 0, out, err);
}

/* A read-only mpz over a Num's limbs; needs no mpz_clear. */
static mpz_srcptr num_mpz(mpz_ptr z, const Num *x) {
    return mpz_roinit_n(z, x->limb, x->negative ? -(mp_size_t)x->n : (mp_size_t)x->n);
}

/* ---- construction ---- */

bool int_make(Heap *h, int64_t i, Value *out, Error *err) {
    if (value_small_fits(i)) return *out = value_from_small(i), true;
    mp_limb_t w = i < 0 ? 0 - (mp_limb_t)i : (mp_limb_t)i;
    return from_limbs(h, &w, 1, i < 0, out, err);
}

/* The limbs of |trunc(d)|: a double has 53 bits somewhere among at most 1024. */
enum { DOUBLE_LIMBS = 17 };
static size_t double_limbs(double d, mp_limb_t limb[DOUBLE_LIMBS]) {
    int exponent;
    double m = frexp(fabs(d), &exponent);
    memset(limb, 0, DOUBLE_LIMBS * sizeof *limb);
    if (exponent <= 0) return 0;
    uint64_t bits = (uint64_t)ldexp(m, 53);
    int shift = exponent - 53;
    if (shift <= 0) {
        limb[0] = bits >> -shift;
        return 1;
    }
    size_t at = (size_t)shift / 64;
    unsigned by = (unsigned)shift % 64;
    limb[at] = bits << by;
    if (by) limb[at + 1] = bits >> (64 - by);
    size_t n = at + 2;
    while (n && limb[n - 1] == 0) n--;
    return n;
}

bool int_from_double(Heap *h, double d, Value *out, Error *err) {
    mp_limb_t limb[DOUBLE_LIMBS];
    size_t n = double_limbs(d, limb);
    return from_limbs(h, limb, n, d < 0, out, err);
}

static int digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'z') return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
    return 99;
}

static bool bad_int(Str s, int base, Error *err) {
    Str shown = str_sub(s, 0, 40);
    return error_set(err, ERR_PARSE, "invalid int with base %d: " STR_FMT "%s", base, STR_ARG(shown),
                     shown.n < s.n ? "…" : "");
}

bool int_parse(Heap *h, Str s, int base, Value *out, Error *err) {
    bool negative = s.n && s.at[0] == '-';
    Str digits = str_sub(s, s.n && (s.at[0] == '-' || s.at[0] == '+'), s.n);
    if (digits.n == 0) return bad_int(s, base, err);
    int64_t small = 0;
    bool fits = true;
    for (size_t i = 0; i < digits.n; i++) {
        int d = digit_value(digits.at[i]);
        if (d >= base) return bad_int(s, base, err);
        if (fits) small = small * base + d;
        if (small > VALUE_INT_MAX) fits = false;
    }
    if (fits) return *out = value_from_small(negative ? -small : small), true;
    while (digits.n && digits.at[0] == '0') digits = str_sub(digits, 1, digits.n);
    if (digits.n && (double)(digits.n - 1) * log2(base) > INT_BITS_MAX) return error_set(err, ERR_LIMIT, "int too large");
    /* mpn takes digit values and writes no more limbs than bits per digit allow. */
    size_t limbs = (size_t)((double)digits.n * log2(base) / 64) + 2;
    unsigned char *values = mem_alloc(digits.n);
    mp_limb_t *limb = mem_alloc(limbs * sizeof *limb);
    for (size_t i = 0; i < digits.n; i++) values[i] = (unsigned char)digit_value(digits.at[i]);
    mp_size_t n = mpn_set_str(limb, values, digits.n, base);
    bool ok = from_limbs(h, limb, (size_t)n, negative, out, err);
    free(limb);
    free(values);
    return ok;
}

/* ---- addition, subtraction, multiplication ---- */

static bool add_magnitudes(Heap *h, const Num *x, const Num *y, bool negative, Value *out, Error *err) {
    if (x->n < y->n) { const Num *t = x; x = y; y = t; }
    BigInt *b = big_room(h, x->n + 1, err);
    if (!b) return false;
    if (y->n == 0) { mpn_copyi(b->limb, x->limb, (mp_size_t)x->n); return big_done(b, x->n, negative, out, err); }
    b->limb[x->n] = mpn_add(b->limb, x->limb, (mp_size_t)x->n, y->limb, (mp_size_t)y->n);
    return big_done(b, x->n + 1, negative, out, err);
}

static int compare_magnitudes(const Num *x, const Num *y) {
    if (x->n != y->n) return x->n < y->n ? -1 : 1;
    return x->n ? mpn_cmp(x->limb, y->limb, (mp_size_t)x->n) : 0;
}

static bool add_signed(Heap *h, const Num *x, const Num *y, bool y_negative, Value *out, Error *err) {
    if (x->negative == y_negative) return add_magnitudes(h, x, y, x->negative, out, err);
    int order = compare_magnitudes(x, y);
    if (order == 0) return *out = value_from_small(0), true;
    const Num *large = order > 0 ? x : y, *small = order > 0 ? y : x;
    BigInt *b = big_room(h, large->n, err);
    if (!b) return false;
    if (small->n) mpn_sub(b->limb, large->limb, (mp_size_t)large->n, small->limb, (mp_size_t)small->n);
    else mpn_copyi(b->limb, large->limb, (mp_size_t)large->n);
    return big_done(b, large->n, order > 0 ? x->negative : y_negative, out, err);
}

bool int_add(Heap *h, Value a, Value b, Value *out, Error *err) {
    if (value_both_small(a, b)) return int_make(h, value_small(a) + value_small(b), out, err);
    Num x, y;
    num_load(&x, a);
    num_load(&y, b);
    return add_signed(h, &x, &y, y.negative, out, err);
}

bool int_sub(Heap *h, Value a, Value b, Value *out, Error *err) {
    if (value_both_small(a, b)) return int_make(h, value_small(a) - value_small(b), out, err);
    Num x, y;
    num_load(&x, a);
    num_load(&y, b);
    return add_signed(h, &x, &y, !y.negative, out, err);
}

bool int_mul(Heap *h, Value a, Value b, Value *out, Error *err) {
    int64_t product;
    if (value_both_small(a, b) && !__builtin_mul_overflow(value_small(a), value_small(b), &product))
        return int_make(h, product, out, err);
    Num x, y;
    num_load(&x, a);
    num_load(&y, b);
    if (x.n == 0 || y.n == 0) return *out = value_from_small(0), true;
    const Num *longer = x.n >= y.n ? &x : &y, *other = x.n >= y.n ? &y : &x;
    BigInt *r = big_room(h, x.n + y.n, err);
    if (!r) return false;
    mpn_mul(r->limb, longer->limb, (mp_size_t)longer->n, other->limb, (mp_size_t)other->n);
    return big_done(r, x.n + y.n, x.negative != y.negative, out, err);
}

bool int_neg(Heap *h, Value a, Value *out, Error *err) { return int_sub(h, value_from_small(0), a, out, err); }
bool int_not(Heap *h, Value a, Value *out, Error *err) { return int_sub(h, value_from_small(-1), a, out, err); }

/* ---- through mpz ---- */

typedef void MpzOp(mpz_ptr, mpz_srcptr, mpz_srcptr);

static bool mpz_op(Heap *h, MpzOp *op, Value a, Value b, Value *out, Error *err) {
    Num x, y;
    mpz_t zx, zy, r;
    num_load(&x, a);
    num_load(&y, b);
    mpz_init(r);
    op(r, num_mpz(zx, &x), num_mpz(zy, &y));
    bool ok = from_mpz(h, r, out, err);
    mpz_clear(r);
    return ok;
}

bool int_floordiv(Heap *h, Value a, Value b, Value *out, Error *err) {
    if (int_sign(b) == 0) return error_set(err, ERR_SCRIPT, "floored division by zero");
    if (value_both_small(a, b)) {
        int64_t x = value_small(a), y = value_small(b), q = x / y;
        return int_make(h, q - (x % y != 0 && (x < 0) != (y < 0)), out, err);
    }
    return mpz_op(h, mpz_fdiv_q, a, b, out, err);
}

bool int_mod(Heap *h, Value a, Value b, Value *out, Error *err) {
    if (int_sign(b) == 0) return error_set(err, ERR_SCRIPT, "integer modulo by zero");
    if (value_both_small(a, b)) {
        int64_t y = value_small(b), r = value_small(a) % y;
        return *out = value_from_small(r != 0 && (r < 0) != (y < 0) ? r + y : r), true;
    }
    return mpz_op(h, mpz_fdiv_r, a, b, out, err);
}

static bool shift_count(Value b, uint64_t *count, Error *err) {
    if (int_sign(b) < 0) {
        Buf text = { 0 };
        int_text(&text, b, 10);
        error_set(err, ERR_SCRIPT, "negative shift count: " STR_FMT, STR_ARG(str_sub(buf_str(&text), 0, 40)));
        buf_clear(&text);
        return false;
    }
    *count = value_is_small(b) ? (uint64_t)value_small(b) : UINT64_MAX;
    return true;
}

bool int_shl(Heap *h, Value a, Value b, Value *out, Error *err) {
    uint64_t by;
    if (!shift_count(b, &by, err)) return false;
    if (int_sign(a) == 0) return *out = a, true;
    if (by > INT_BITS_MAX || int_bits(a) + by > INT_BITS_MAX) return error_set(err, ERR_LIMIT, "int too large");
    if (value_is_small(a) && by < 62 && int_bits(a) + by < 62)
        return int_make(h, (int64_t)((uint64_t)value_small(a) << by), out, err);
    Num x;
    mpz_t zx, r;
    num_load(&x, a);
    mpz_init(r);
    mpz_mul_2exp(r, num_mpz(zx, &x), by);
    bool ok = from_mpz(h, r, out, err);
    mpz_clear(r);
    return ok;
}

bool int_shr(Heap *h, Value a, Value b, Value *out, Error *err) {
    uint64_t by;
    if (!shift_count(b, &by, err)) return false;
    if (value_is_small(a)) return *out = value_from_small(value_small(a) >> (by > 63 ? 63 : by)), true;
    if (by > INT_BITS_MAX) return *out = value_from_small(int_sign(a) < 0 ? -1 : 0), true;
    Num x;
    mpz_t zx, r;
    num_load(&x, a);
    mpz_init(r);
    mpz_fdiv_q_2exp(r, num_mpz(zx, &x), by);
    bool ok = from_mpz(h, r, out, err);
    mpz_clear(r);
    return ok;
}

bool int_and(Heap *h, Value a, Value b, Value *out, Error *err) {
    if (value_both_small(a, b)) return *out = value_from_small(value_small(a) & value_small(b)), true;
    return mpz_op(h, mpz_and, a, b, out, err);
}

bool int_or(Heap *h, Value a, Value b, Value *out, Error *err) {
    if (value_both_small(a, b)) return *out = value_from_small(value_small(a) | value_small(b)), true;
    return mpz_op(h, mpz_ior, a, b, out, err);
}

bool int_xor(Heap *h, Value a, Value b, Value *out, Error *err) {
    if (value_both_small(a, b)) return *out = value_from_small(value_small(a) ^ value_small(b)), true;
    return mpz_op(h, mpz_xor, a, b, out, err);
}

/* ---- queries ---- */

int int_sign(Value v) {
    if (value_is_small(v)) return (value_small(v) > 0) - (value_small(v) < 0);
    return value_bigint(v)->negative ? -1 : 1;
}

static int compare_signed(const Num *x, const Num *y) {
    if (x->negative != y->negative) return x->negative ? -1 : 1;
    int order = compare_magnitudes(x, y);
    return x->negative ? -order : order;
}

int int_compare(Value a, Value b) {
    if (value_both_small(a, b)) return (value_small(a) > value_small(b)) - (value_small(a) < value_small(b));
    Num x, y;
    num_load(&x, a);
    num_load(&y, b);
    return compare_signed(&x, &y);
}

int int_compare_double(Value a, double d) {
    if (isnan(d)) return -1;
    if (isinf(d)) return d > 0 ? -1 : 1;
    mp_limb_t limb[DOUBLE_LIMBS];
    Num x, y = { .limb = limb, .negative = d < 0 };
    num_load(&x, a);
    y.n = double_limbs(d, limb);
    while (y.n && limb[y.n - 1] == 0) y.n--;
    if (y.n == 0) y.negative = false;                   /* -0.5 truncates to 0, which has no sign */
    int order = compare_signed(&x, &y);
    if (order) return order;
    double fraction = d - trunc(d);                     /* integer parts are equal: the fraction decides */
    return (fraction < 0) - (fraction > 0);
}

bool int_to_i64(Value v, int64_t *out) {
    if (value_is_small(v)) return *out = value_small(v), true;
    const BigInt *b = value_bigint(v);
    if (b->n > 1 || b->limb[0] > (uint64_t)INT64_MAX + b->negative) return false;
    return *out = b->negative ? (int64_t)(0 - b->limb[0]) : (int64_t)b->limb[0], true;
}

/* mpz_get_d truncates; rounding to nearest even needs the bits below the top 64. */
double int_to_double(Value v) {
    if (value_is_small(v)) return (double)value_small(v);
    const BigInt *b = value_bigint(v);
    size_t bits = int_bits(v);
    if (bits > 1024) return b->negative ? -INFINITY : INFINITY;
    uint64_t top;
    bool sticky = false;
    if (b->n == 1) {
        top = b->limb[0];
        bits = 64;
    } else {
        unsigned by = (unsigned)(bits % 64);
        top = by ? b->limb[b->n - 1] << (64 - by) | b->limb[b->n - 2] >> by : b->limb[b->n - 1];
        mp_limb_t rest = by ? b->limb[b->n - 2] << (64 - by) : b->limb[b->n - 2];
        for (size_t i = 0; i + 2 < b->n; i++) rest |= b->limb[i];
        sticky = rest != 0;
    }
    if (sticky) top |= 1;                               /* bit 0 is far below the rounding position */
    double d = ldexp((double)top, (int)bits - 64);
    return b->negative ? -d : d;
}

uint32_t int_hash(const BigInt *b) {
    uint32_t h = hash_bytes((Str){ (const char *)b->limb, b->n * sizeof b->limb[0] });
    return b->negative ? hash_word(h) : h;
}

uint32_t int_hash_double(double d) {
    mp_limb_t limb[DOUBLE_LIMBS];
    size_t n = double_limbs(d, limb);
    uint32_t h = hash_bytes((Str){ (const char *)limb, n * sizeof limb[0] });
    return d < 0 ? hash_word(h) : h;
}

size_t int_bits(Value v) {
    Num x;
    num_load(&x, v);
    return x.n ? mpn_sizeinbase(x.limb, (mp_size_t)x.n, 2) : 0;
}

static void small_text(Buf *out, int64_t i, int base) {
    char text[72];
    size_t at = sizeof text;
    uint64_t rest = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    do text[--at] = "0123456789abcdefghijklmnopqrstuvwxyz"[rest % (unsigned)base];
    while (rest /= (unsigned)base);
    if (i < 0) text[--at] = '-';
    buf_add(out, (Str){ text + at, sizeof text - at });
}

void int_text(Buf *out, Value v, int base) {
    if (value_is_small(v)) { small_text(out, value_small(v), base); return; }
    Num x;
    mpz_t z;
    num_load(&x, v);
    mpz_srcptr r = num_mpz(z, &x);
    size_t most = mpz_sizeinbase(r, base) + 2;
    char *text = buf_room(out, most);
    if (!text) return;
    mpz_get_str(text, base, r);
    buf_commit(out, strlen(text));
}
