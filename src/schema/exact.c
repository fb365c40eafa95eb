/* Exact arithmetic: multiples of decimals, and whether all items are different. */
#include "schema/run.h"

#include <gmp.h>
#include <math.h>
#include <stdlib.h>
#include "base/hash.h"
#include "base/mem.h"
#include "base/number.h"
#include "value/int.h"
#include "value/list.h"

/* ---- multiples ---- */

/* A number as digits × 10^exponent. A float stands for its shortest decimal form: 0.0075, not the nearest binary
 * fraction. The digits of a float fit in a word; a big int uses its own limbs. */
typedef struct { uint64_t digits; int exponent; const BigInt *big; } Decimal;

static Decimal decimal(Value v) {
    if (value_is_small(v)) return (Decimal){ .digits = (uint64_t)llabs(value_small(v)) };
    if (!value_is_float(v)) return (Decimal){ .big = value_bigint(v) };
    char text[NUMBER_TEXT_SIZE];
    int point;
    size_t n = number_digits(fabs(value_float(v)), text, &point);
    Decimal d = { .exponent = point - (int)n };
    for (size_t i = 0; i < n; i++) d.digits = d.digits * 10 + (uint64_t)(text[i] - '0');
    return d;
}

static void decimal_mpz(mpz_ptr z, const Decimal *d, int shift) {
    mpz_t ten;
    if (d->big) mpz_set(z, mpz_roinit_n(ten, d->big->limb, (mp_size_t)d->big->n));
    else mpz_import(z, 1, -1, sizeof d->digits, 0, 0, &d->digits);
    mpz_init(ten);
    mpz_ui_pow_ui(ten, 10, (unsigned long)shift);
    mpz_mul(z, z, ten);
    mpz_clear(ten);
}

static bool multiple_big(const Decimal *a, const Decimal *b) {
    mpz_t x, y;
    int low = a->exponent < b->exponent ? a->exponent : b->exponent;
    mpz_inits(x, y, NULL);
    decimal_mpz(x, a, a->exponent - low);
    decimal_mpz(y, b, b->exponent - low);
    bool ok = mpz_divisible_p(x, y);
    mpz_clears(x, y, NULL);
    return ok;
}

bool run_is_multiple(Value v, Value of) {
    if (value_both_small(v, of)) return value_small(v) % value_small(of) == 0;
    if (value_is_float(v) && !isfinite(value_float(v))) return false;
    Decimal a = decimal(v), b = decimal(of);
    if (a.big || b.big) return multiple_big(&a, &b);
    if (a.digits == 0) return true;
    int by = a.exponent - b.exponent;
    for (; by < 0; by++) {                               /* a must have the additional powers of ten of b */
        if (a.digits % 10) return false;
        a.digits /= 10;
    }
    unsigned __int128 rest = a.digits % b.digits;
    for (; by > 0 && rest; by--) rest = rest * 10 % b.digits;
    return rest == 0;
}

/* ---- unique items ---- */

enum { FEW = 32, HASH_DEPTH = VALUE_DEPTH_MAX };

static uint32_t hash_of(Run *r, Value v, unsigned depth);

static uint32_t hash_items(Run *r, const Value *at, uint32_t n, unsigned depth) {
    uint64_t sum = n + 1;
    for (uint32_t i = 0; i < n; i++) sum = hash_word(sum * 31 + hash_of(r, at[i], depth + 1));
    return (uint32_t)sum;
}

/* Equal values have equal hashes, whatever the order of their keys. Ignores parts that are nested too deeply; the
 * comparison decides about those. A shared part counts as a step each time it occurs. */
static uint32_t hash_of(Run *r, Value v, unsigned depth) {
    uint32_t out = 7;
    if (depth > HASH_DEPTH || r->broken) return out;
    if (++r->steps > r->s->max_steps) return run_break(r, "validation takes too many steps (limit %zu)", r->s->max_steps), out;
    if (value_is_list(v)) return hash_items(r, value_list(v)->at, value_list(v)->n, depth);
    if (value_is_dict(v)) {
        uint64_t sum = 0;
        Entry *e;
        for (uint32_t i = 0; dict_next(value_dict(v), &i, &e);)
            sum += hash_word((uint64_t)hash_of(r, e->key, depth + 1) << 32 | hash_of(r, e->value, depth + 1));
        return hash_word(sum);
    }
    value_hash(v, &out, NULL);
    return out;
}

static bool same(Run *r, Value a, Value b) {
    bool out = false;
    if (value_is_string(a)) return value_is_string(b) && names_same(value_str(a), value_str(b));
    if (!value_equal(a, b, &out, NULL)) run_break(r, "values are nested too deep or too large to compare");
    return out;
}

static bool unique_few(Run *r, const Value *v, uint32_t n, uint32_t *a, uint32_t *b) {
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (same(r, v[i], v[k])) return *a = k, *b = i, false;
    return true;
}

bool run_unique_items(Run *r, const Value *v, uint32_t n, uint32_t *a, uint32_t *b) {
    if (n <= FEW) return unique_few(r, v, n, a, b);
    size_t slots = 64;
    while (slots < (size_t)n * 2) slots *= 2;
    typedef struct { uint32_t hash, index; } Slot;       /* index + 1; 0: free */
    Slot *slot = mem_zero(slots, sizeof *slot);
    bool ok = true;
    for (uint32_t i = 0; i < n && ok && !r->broken; i++) {
        uint32_t hash = hash_of(r, v[i], 0);
        size_t at = hash & (slots - 1);
        for (; slot[at].index && ok; at = (at + 1) & (slots - 1))
            if (slot[at].hash == hash && same(r, v[i], v[slot[at].index - 1])) *a = slot[at].index - 1, *b = i, ok = false;
        slot[at] = (Slot){ hash, i + 1 };
    }
    free(slot);
    return ok;
}
