#include <float.h>
#include <math.h>
#include "value_unit.h"

/* Compares every operation with GMP's own, on operands of all sizes. */

static Value from_mpz(Heap *h, const mpz_t z) {
    char *text = mpz_get_str(NULL, 16, z);
    Value v = unit_parse(h, text, 16);
    free(text);
    return v;
}

static void check_normal(Value v) {                        /* an int has one representation */
    if (value_is_small(v)) return;
    const BigInt *b = value_bigint(v);
    assert_true(b->n > 0 && b->limb[b->n - 1] != 0);
    assert_false(b->n == 1 && b->limb[0] <= (uint64_t)VALUE_INT_MAX + b->negative);
}

static void check_is(Value v, const mpz_t z, const char *what, int line) {
    check_normal(v);
    Buf text = { 0 };
    int_text(&text, v, 10);
    char *want = mpz_get_str(NULL, 10, z);
    if (strcmp(text.at, want) != 0) {
        print_error("%s: %s, expected %s\n", what, text.at, want);
        _fail(__FILE__, line);
    }
    free(want);
    buf_clear(&text);
}
#define CHECK(v, z, what) check_is(v, z, what, __LINE__)

static void random_mpz(Rng *rng, mpz_t z) {
    size_t bits = 1 + rng_below(rng, 600);
    mpz_set_ui(z, 0);
    switch (rng_below(rng, 5)) {
    case 0:                                                /* around a power of two */
        mpz_setbit(z, bits);
        mpz_add_ui(z, z, rng_below(rng, 3));
        mpz_sub_ui(z, z, rng_below(rng, 3));
        break;
    case 1:                                                /* around the limits of both representations and of int64 */
        mpz_setbit(z, (unsigned[]){ 48, 49, 50, 63, 64 }[rng_below(rng, 5)]);
        mpz_add_ui(z, z, rng_below(rng, 4));
        mpz_sub_ui(z, z, 2);
        break;
    default:
        for (size_t i = 0; i < bits; i += 64) { mpz_mul_2exp(z, z, 64); mpz_add_ui(z, z, rng_next(rng)); }
        mpz_fdiv_r_2exp(z, z, bits);
    }
    if (rng_next(rng) & 1) mpz_neg(z, z);
}

typedef bool IntOp(Heap *, Value, Value, Value *, Error *);
typedef void MpzOp(mpz_ptr, mpz_srcptr, mpz_srcptr);
static const struct { const char *name; IntOp *ours; MpzOp *gmp; bool divides; } ops[] = {
    { "+", int_add, mpz_add, false }, { "-", int_sub, mpz_sub, false }, { "*", int_mul, mpz_mul, false },
    { "//", int_floordiv, mpz_fdiv_q, true }, { "%", int_mod, mpz_fdiv_r, true },
    { "&", int_and, mpz_and, false }, { "|", int_or, mpz_ior, false }, { "^", int_xor, mpz_xor, false },
};

static void check_pair(Heap *h, const mpz_t x, const mpz_t y) {
    Value a = from_mpz(h, x), b = from_mpz(h, y), out;
    mpz_t z;
    mpz_init(z);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (ops[i].divides && mpz_sgn(y) == 0) continue;
        must(ops[i].ours(h, a, b, &out, &err));
        ops[i].gmp(z, x, y);
        CHECK(out, z, ops[i].name);
    }
    int order = mpz_cmp(x, y);
    assert_int_equal((int_compare(a, b) > 0) - (int_compare(a, b) < 0), (order > 0) - (order < 0));
    assert_int_equal(unit_equal(a, b), order == 0);
    must(int_neg(h, a, &out, &err));
    mpz_neg(z, x);
    CHECK(out, z, "neg");
    must(int_not(h, a, &out, &err));
    mpz_com(z, x);
    CHECK(out, z, "not");
    assert_int_equal(int_sign(a), mpz_sgn(x));
    assert_int_equal(int_bits(a), mpz_sgn(x) ? mpz_sizeinbase(x, 2) : 0);
    int64_t i64 = 0;
    assert_int_equal(int_to_i64(a, &i64), mpz_fits_slong_p(x) != 0);
    if (mpz_fits_slong_p(x)) assert_true(i64 == mpz_get_si(x));
    mpz_clear(z);
}

static void check_shifts(Heap *h, const mpz_t x, size_t by) {
    Value a = from_mpz(h, x), out;
    mpz_t z;
    mpz_init(z);
    must(int_shl(h, a, unit_small((int64_t)by), &out, &err));
    mpz_mul_2exp(z, x, by);
    CHECK(out, z, "<<");
    must(int_shr(h, a, unit_small((int64_t)by), &out, &err));
    mpz_fdiv_q_2exp(z, x, by);
    CHECK(out, z, ">>");
    mpz_clear(z);
}

static void random_operands(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Rng rng = { 11 };
    mpz_t x, y;
    mpz_inits(x, y, NULL);
    for (int i = 0; i < 6000; i++) {
        random_mpz(&rng, x);
        random_mpz(&rng, y);
        check_pair(h, x, y);
        if (i % 16 == 0) check_pair(h, x, x);
        check_shifts(h, x, rng_below(&rng, 700));
        heap_safepoint(h);
    }
    mpz_clears(x, y, NULL);
    heap_free(h);
}

static void all_pairs_of_borders(void **state) {
    (void)state;
    static const char *const borders[] = {
        "0", "1", "2", "3", "1ffffffffffff", "1fffffffffffe", "2000000000000", "2000000000001", "3ffffffffffff", "4000000000000",
        "7fffffffffffffff", "8000000000000000", "8000000000000001", "ffffffffffffffff", "10000000000000000", "10000000000000001",
        "ffffffffffffffffffffffffffffffff", "100000000000000000000000000000000", "ffffffff", "100000000",
    };
    enum { N = sizeof borders / sizeof *borders };
    Heap *h = heap_new(0);
    mpz_t x, y;
    mpz_inits(x, y, NULL);
    for (int i = -N + 1; i < N; i++)
        for (int k = -N + 1; k < N; k++) {
            mpz_set_str(x, borders[abs(i)], 16);
            mpz_set_str(y, borders[abs(k)], 16);
            if (i < 0) mpz_neg(x, x);
            if (k < 0) mpz_neg(y, y);
            check_pair(h, x, y);
            if (k >= 0)
                for (size_t by = (size_t)k * 4; by < (size_t)k * 4 + 4; by++) check_shifts(h, x, by);
        }
    mpz_clears(x, y, NULL);
    heap_free(h);
}

static void making_picks_the_form(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    static const int64_t edges[] = { 0, 1, -1, VALUE_INT_MAX, VALUE_INT_MAX + 1, VALUE_INT_MIN, VALUE_INT_MIN - 1, INT64_MAX, INT64_MIN, INT64_MIN + 1 };
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        Value v = unit_int(h, edges[i]);
        int64_t back = 0;
        check_normal(v);
        assert_int_equal(value_is_small(v), value_small_fits(edges[i]));
        assert_true(int_to_i64(v, &back) && back == edges[i]);
        assert_string_equal(value_type_name(v), "int");
    }
    heap_free(h);
}

static void division_by_zero_and_bad_shifts(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Value zero = unit_small(0), big = unit_parse(h, "123456789012345678901234567890", 10), out = VALUE_NONE, minus;
    must(int_neg(h, big, &minus, &err));
    for (int i = 0; i < 2; i++) {
        Value a = i ? big : unit_small(7);
        refused(ERR_SCRIPT, "floored division by zero", int_floordiv(h, a, zero, &out, &err));
        refused(ERR_SCRIPT, "integer modulo by zero", int_mod(h, a, zero, &out, &err));
        refused(ERR_SCRIPT, "negative shift count: -1", int_shl(h, a, unit_small(-1), &out, &err));
        refused(ERR_SCRIPT, "negative shift count: -1", int_shr(h, a, unit_small(-1), &out, &err));
        refused(ERR_SCRIPT, "negative shift count: -123456789012345678901234567890", int_shl(h, a, minus, &out, &err));
        refused(ERR_LIMIT, "int too large", int_shl(h, a, big, &out, &err));
        refused(ERR_LIMIT, "int too large", int_shl(h, a, unit_small(VALUE_INT_MAX), &out, &err));
        refused(ERR_LIMIT, "int too large", int_shl(h, a, unit_small(INT_BITS_MAX), &out, &err));
        assert_true(value_is_none(out));
        must(int_shr(h, a, big, &out, &err));
        assert_int_equal(value_small(out), 0);
        must(int_shr(h, i ? minus : unit_small(-7), big, &out, &err));
        assert_int_equal(value_small(out), -1);
        out = VALUE_NONE;
    }
    refused(ERR_SCRIPT, "negative shift count: -1", int_shl(h, zero, unit_small(-1), &out, &err));
    must(int_shl(h, zero, big, &out, &err));
    assert_int_equal(value_small(out), 0);
    must(int_shr(h, unit_small(-1), unit_small(VALUE_INT_MAX), &out, &err));
    assert_int_equal(value_small(out), -1);
    heap_free(h);
}

static void ints_end_at_their_limit(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Value one = unit_small(1), most, half, out = VALUE_NONE, low;
    must(int_shl(h, one, unit_small(INT_BITS_MAX - 1), &half, &err));
    assert_int_equal(int_bits(half), INT_BITS_MAX);
    must(int_sub(h, half, one, &most, &err));
    must(int_add(h, most, half, &most, &err));             /* 2^max - 1 */
    assert_int_equal(int_bits(most), INT_BITS_MAX);
    refused(ERR_LIMIT, "int too large", int_add(h, most, one, &out, &err));
    refused(ERR_LIMIT, "int too large", int_add(h, half, half, &out, &err));
    must(int_neg(h, most, &low, &err));
    refused(ERR_LIMIT, "int too large", int_sub(h, low, one, &out, &err));
    refused(ERR_LIMIT, "int too large", int_not(h, most, &out, &err));
    refused(ERR_LIMIT, "int too large", int_mul(h, half, unit_small(2), &out, &err));
    refused(ERR_LIMIT, "int too large", int_mul(h, most, most, &out, &err));
    refused(ERR_LIMIT, "int too large", int_mul(h, most, unit_small(VALUE_INT_MAX), &out, &err));
    refused(ERR_LIMIT, "int too large", int_shl(h, most, one, &out, &err));
    assert_true(value_is_none(out));
    must(int_mul(h, half, unit_small(-1), &out, &err));
    must(int_floordiv(h, most, low, &out, &err));
    assert_int_equal(value_small(out), -1);
    Value root;
    must(int_shl(h, one, unit_small(INT_BITS_MAX / 2 - 1), &root, &err));
    must(int_mul(h, root, root, &out, &err));              /* just fits */
    assert_int_equal(int_bits(out), INT_BITS_MAX - 1);
    assert_true(isinf(int_to_double(most)) && int_to_double(low) < 0);
    heap_free(h);
}

static void a_small_result_needs_no_memory(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Value a = unit_parse(h, "1000000000000000000000", 10), b = unit_parse(h, "1000000000000000000001", 10), out;
    heap_set_limit(h, 1);                                  /* no more allocations */
    size_t used = heap_stats(h).used;
    for (int i = 0; i < 2000; i++) {
        must(int_floordiv(h, b, a, &out, &err));
        must(int_mod(h, b, a, &out, &err));
        must(int_xor(h, b, a, &out, &err));
        must(int_shr(h, b, unit_small(60), &out, &err));
        must(int_from_double(h, 1e6, &out, &err));
        must(int_from_double(h, -0.5, &out, &err));
        assert_int_equal(value_small(out), 0);
    }
    assert_int_equal(heap_stats(h).used, used);
    heap_free(h);
}

/* ---- text ---- */

static void text_in_every_base(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Rng rng = { 5 };
    mpz_t x;
    mpz_init(x);
    for (int base = 2; base <= 36; base++)
        for (int i = 0; i < 60; i++) {
            random_mpz(&rng, x);
            char *text = mpz_get_str(NULL, base, x);
            Value v = unit_parse(h, text, base);
            CHECK(v, x, "parse");
            Buf out = { 0 }, upper = { 0 };
            int_text(&out, v, base);
            assert_string_equal(out.at, text);
            if (text[0] != '-') buf_add_char(&upper, '+');
            for (char *c = text; *c; c++) {
                buf_add_char(&upper, *c >= 'a' && *c <= 'z' ? (char)(*c - 32) : *c);
                if (c == text && *c == '-') buf_add(&upper, STR("000"));
            }
            CHECK(unit_parse(h, upper.at, base), x, "parse upper case");
            buf_clear(&out);
            buf_clear(&upper);
            free(text);
        }
    mpz_clear(x);
    heap_free(h);
}

static void malformed_text_is_refused(void **state) {
    (void)state;
    static const struct { const char *text; int base; const char *words; } cases[] = {
        { "", 10, "invalid int with base 10: " }, { "-", 10, "invalid int with base 10: -" }, { "+", 10, "invalid int with base 10: +" },
        { "--1", 10, "invalid int with base 10: --1" }, { "+-1", 10, "invalid int with base 10: +-1" }, { " 1", 10, "invalid int with base 10:  1" },
        { "1 ", 10, "invalid int with base 10: 1 " }, { "12a", 10, "invalid int with base 10: 12a" }, { "2", 2, "invalid int with base 2: 2" },
        { "1_000", 10, "invalid int with base 10: 1_000" }, { "0x10", 16, "invalid int with base 16: 0x10" }, { "g", 16, "invalid int with base 16: g" },
        { "9999999999999999999999999999999999999999999999x", 10, "invalid int with base 10: 9999999999999999999999999999999999999999…" },
    };
    Heap *h = heap_new(0);
    Value v = VALUE_NONE;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refused(ERR_PARSE, cases[i].words, int_parse(h, str_from(cases[i].text), cases[i].base, &v, &err));
    refused(ERR_PARSE, "invalid int with base 10: ", int_parse(h, (Str){ NULL, 0 }, 10, &v, &err));
    assert_true(value_is_none(v));
    assert_int_equal(value_small(unit_parse(h, "-0", 10)), 0);
    assert_int_equal(value_small(unit_parse(h, "-562949953421312", 10)), VALUE_INT_MIN);
    heap_free(h);
}

static void long_text(void **state) {
    (void)state;
    enum { DIGITS = 100000 };
    Heap *h = heap_new(0);
    Rng rng = { 9 };
    char *text = malloc(INT_BITS_MAX + 2);
    for (int base = 2; base <= 36; base += base == 10 ? 6 : 8) {
        for (int i = 0; i < DIGITS; i++) text[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[rng_below(&rng, (size_t)base)];
        text[0] = '1';
        text[DIGITS] = 0;
        Value v = unit_parse(h, text, base);
        Buf out = { 0 };
        int_text(&out, v, base);
        assert_true(strcmp(out.at, text) == 0);
        buf_clear(&out);
    }
    Value v = VALUE_NONE;
    memset(text, '1', INT_BITS_MAX + 1);
    must(int_parse(h, (Str){ text, INT_BITS_MAX }, 2, &v, &err));
    assert_int_equal(int_bits(v), INT_BITS_MAX);
    for (int base = 2; base <= 36; base += 17)
        refused(ERR_LIMIT, "int too large", int_parse(h, (Str){ text, INT_BITS_MAX + 1 }, base, &v, &err));
    refused(ERR_LIMIT, "int too large", int_parse(h, (Str){ text, INT_BITS_MAX }, 36, &v, &err));
    refused(ERR_LIMIT, "int too large", int_parse(h, (Str){ text, 160000 }, 10, &v, &err));
    memset(text, '0', INT_BITS_MAX);
    must(int_parse(h, (Str){ text, INT_BITS_MAX + 1 }, 10, &v, &err));       /* leading zeros do not count */
    assert_int_equal(value_small(v), 1);
    free(text);
    heap_free(h);
}

/* ---- doubles ---- */

static void nearest_double(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Rng rng = { 17 };
    mpz_t x;
    mpz_init(x);
    for (int i = 0; i < 20000; i++) {
        size_t bits = 1 + rng_below(&rng, i % 4 ? 130 : 1030);
        mpz_set_ui(x, 0);
        mpz_setbit(x, bits);
        switch (rng_below(&rng, 4)) {                      /* ties, and values next to them */
        case 0: if (bits > 53) mpz_setbit(x, bits - 53); break;
        case 1: if (bits > 53) { mpz_setbit(x, bits - 53); mpz_setbit(x, rng_below(&rng, bits - 53)); } break;
        case 2: for (size_t b = 0; b < bits; b++) if (rng_next(&rng) & 1) mpz_setbit(x, b); break;
        default: mpz_sub_ui(x, x, 1);
        }
        if (bits > 60 && rng_next(&rng) & 1) mpz_setbit(x, bits - 52);
        if (rng_next(&rng) & 1) mpz_neg(x, x);
        char *text = mpz_get_str(NULL, 10, x);
        double want = strtod(text, NULL), got = int_to_double(from_mpz(h, x));
        if (got != want) { print_error("%s: %a, expected %a\n", text, got, want); fail(); }
        free(text);
    }
    mpz_clear(x);
    heap_free(h);
}

static void check_against_double(Heap *h, const mpz_t x, double d) {
    int want = mpz_cmp_d(x, d), got = int_compare_double(from_mpz(h, x), d);
    if ((want > 0) - (want < 0) != (got > 0) - (got < 0)) { gmp_printf("%Zd against %a: %d\n", x, d, got); fail(); }
}

static void compared_with_doubles_exactly(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Rng rng = { 23 };
    mpz_t x;
    mpz_init(x);
    for (int power = 0; power <= 70; power++)
        for (int sign = -1; sign <= 1; sign += 2)
            for (int off = -6; off <= 6; off++) {
                mpz_set_ui(x, 0);
                mpz_setbit(x, (unsigned)power);
                if (off < 0) mpz_sub_ui(x, x, (unsigned)-off); else mpz_add_ui(x, x, (unsigned)off);
                mpz_mul_si(x, x, sign);
                double d = ldexp(sign, power);
                for (int k = 0; k < 9; k++) {
                    double near = d;
                    for (int s = 0; s < abs(k - 4); s++) near = nextafter(near, k < 4 ? -INFINITY : INFINITY);
                    check_against_double(h, x, near);
                    check_against_double(h, x, d + k * 0.5 - 2);
                }
            }
    for (int i = 0; i < 20000; i++) {
        random_mpz(&rng, x);
        double d = mpz_get_d(x);
        for (int k = 0; k < 3; k++, d = nextafter(d, INFINITY)) check_against_double(h, x, d);
        check_against_double(h, x, -d);
    }
    static const double odd[] = { 0.0, -0.0, 0.5, -0.5, DBL_MIN, -DBL_MIN, 4.9e-324, -4.9e-324, DBL_MAX, -DBL_MAX, 1e300 };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        for (int k = -2; k <= 2; k++) { mpz_set_si(x, k); check_against_double(h, x, odd[i]); }
    Value some[] = { unit_small(0), unit_small(-5), unit_parse(h, "-99999999999999999999999", 10), unit_parse(h, "99999999999999999999999", 10) };
    for (int i = 0; i < 4; i++) {
        assert_int_equal(int_compare_double(some[i], NAN), -1);
        assert_int_equal(int_compare_double(some[i], INFINITY), -1);
        assert_int_equal(int_compare_double(some[i], -INFINITY), 1);
    }
    mpz_clear(x);
    heap_free(h);
}

static void from_doubles_by_truncation(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Rng rng = { 29 };
    mpz_t x;
    mpz_init(x);
    for (int i = 0; i < 20000; i++) {
        double d = ldexp((double)(int64_t)rng_next(&rng), (int)rng_below(&rng, 1000) - 80);
        if (!isfinite(d)) continue;
        Value v;
        must(int_from_double(h, d, &v, &err));
        mpz_set_d(x, d);
        CHECK(v, x, "from double");
        if (d == trunc(d)) assert_true(int_to_double(v) == d && int_compare_double(v, d) == 0);
    }
    static const double odd[] = { 0.0, -0.0, 0.99, -0.99, DBL_MAX, -DBL_MAX, 4.9e-324, 562949953421311.0, 562949953421312.0,
        -562949953421312.0, -562949953421313.0 };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        Value v;
        must(int_from_double(h, odd[i], &v, &err));
        mpz_set_d(x, odd[i]);
        CHECK(v, x, "from double");
    }
    mpz_clear(x);
    heap_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operands),
        cmocka_unit_test(all_pairs_of_borders),
        cmocka_unit_test(making_picks_the_form),
        cmocka_unit_test(division_by_zero_and_bad_shifts),
        cmocka_unit_test(ints_end_at_their_limit),
        cmocka_unit_test(a_small_result_needs_no_memory),
        cmocka_unit_test(text_in_every_base),
        cmocka_unit_test(malformed_text_is_refused),
        cmocka_unit_test(long_text),
        cmocka_unit_test(nearest_double),
        cmocka_unit_test(compared_with_doubles_exactly),
        cmocka_unit_test(from_doubles_by_truncation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
