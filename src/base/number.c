#include "base/number.h"
#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/powers.h"

typedef unsigned __int128 Wide;

/* ---- writing ---- ¶ Schubfach (R. Giulietti, "The Schubfach way to render doubles"). A double c × 2^q represents
 * all reals that round to it. Choose the largest k for which that interval must contain a multiple of 10^k; then it
 * contains at most one of 10^(k+1). If there is one, it is the shortest; otherwise it is one of the two multiples of
 * 10^k next to the value. All comparisons use the bounds and the value, each scaled by 4 × 10^-k and rounded to odd,
 * which preserves their order relative to every multiple of 4. */

typedef struct { uint64_t digits; int exponent; } Decimal;   /* digits × 10^exponent */

static int floor_log2_pow10(int e) { return (e * 1741647) >> 19; }
static int floor_log10_pow2(int e) { return (e * 1262611) >> 22; }
static int floor_log10_three_quarters_pow2(int e) { return (e * 1262611 - 524031) >> 22; }

/* The upper 64 bits of c × 10^e (e selects the table line); the lowest bit is set if anything but the table's own
 * rounding was cut off. */
static uint64_t scale_to_odd(int e, uint64_t c) {
    uint64_t below = (uint64_t)((Wide)powers[e - POWER_LOWEST].low * c >> 64);
    Wide product = (Wide)powers[e - POWER_LOWEST].high * c + below;
    return (uint64_t)(product >> 64) | ((uint64_t)product > 1);
}

static Decimal shortest(uint64_t c, int q, bool lower_is_closer) {
    int k = lower_is_closer ? floor_log10_three_quarters_pow2(q) : floor_log10_pow2(q);
    int h = q + floor_log2_pow10(-k) + 1;
    uint64_t open = c & 1;                             /* an odd c loses ties, so its bounds are excluded */
    uint64_t low = scale_to_odd(-k, (4 * c - (lower_is_closer ? 1 : 2)) << h) + open;
    uint64_t value = scale_to_odd(-k, (4 * c) << h);
    uint64_t high = scale_to_odd(-k, (4 * c + 2) << h) - open;

    uint64_t s = value / 4;
    if (s >= 10) {                                     /* a multiple of 10^(k+1) inside? */
        uint64_t t = s / 10;
        bool below = low <= 40 * t, above = 40 * t + 40 <= high;
        if (below != above)
            return (Decimal){ t + above, k + 1 };
    }
    bool below = low <= 4 * s, above = 4 * s + 4 <= high;
    if (below != above)
        return (Decimal){ s + above, k };
    uint64_t middle = 4 * s + 2;                       /* both inside: the closer one, or the even one on a tie */
    return (Decimal){ s + (value > middle || (value == middle && (s & 1))), k };
}

static Decimal decimal_of(double d) {
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    uint64_t fraction = bits & ((1ull << 52) - 1);
    int exponent = (int)(bits >> 52 & 0x7FF);
    if (exponent == 0)                                 /* subnormal? */
        return shortest(fraction, -1074, false);
    uint64_t c = fraction | 1ull << 52;
    int q = exponent - 1075;
    if (q <= 0 && q > -53 && (c & ((1ull << -q) - 1)) == 0)
        return (Decimal){ c >> -q, 0 };                /* an integer below 2^53 is exact */
    return shortest(c, q, fraction == 0 && exponent > 1);
}

/* A copy of fixed size compiles to a few moves; a copy of n bytes is a call. So digits are always copied DIGITS_MAX at
 * a time, between arrays with enough spare space. */
enum { DIGITS_MAX = 20, SPARE_SIZE = 64 };

/* Writes DIGITS_MAX bytes and returns how many are significant. */
static size_t write_u64(uint64_t u, char *out) {
    static const char pairs[] =
        "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
        "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";
    char text[2 * DIGITS_MAX] = { 0 }, *at = text + DIGITS_MAX;
    for (; u >= 100; u /= 100)
        memcpy(at -= 2, pairs + u % 100 * 2, 2);
    if (u >= 10)
        memcpy(at -= 2, pairs + u * 2, 2);
    else
        *--at = (char)('0' + u);
    memcpy(out, at, DIGITS_MAX);
    return (size_t)(text + DIGITS_MAX - at);
}

size_t number_digits(double d, char digits[NUMBER_TEXT_SIZE], int *point) {
    if (d == 0) {
        memset(digits, 0, DIGITS_MAX);
        digits[0] = '0';
        *point = 1;
        return 1;
    }
    Decimal decimal = decimal_of(d);
    if (decimal.digits % 100000000 == 0) {             /* most doubles in practice are short */
        decimal.digits /= 100000000;
        decimal.exponent += 8;
    }
    size_t n = write_u64(decimal.digits, digits);
    *point = (int)n + decimal.exponent;
    while (n > 1 && digits[n - 1] == '0') n--;
    digits[n] = 0;
    return n;
}

/* d.ddde±x */
static char *write_scientific(char *at, const char *digits, size_t n, int exponent) {
    *at++ = digits[0];
    if (n > 1) {
        *at++ = '.';
        memcpy(at, digits + 1, DIGITS_MAX);
        at += n - 1;
    }
    *at++ = 'e';
    *at++ = exponent < 0 ? '-' : '+';
    return at + write_u64((uint64_t)(exponent < 0 ? -exponent : exponent), at);
}

static char *write_plain(char *at, const char *digits, size_t n, int point) {
    if (point <= 0) {                                  /* 0.000ddd */
        memcpy(at, "0.0000", 6);
        at += 2 - point;
        memcpy(at, digits, DIGITS_MAX);
        return at + n;
    }
    size_t whole = (size_t)point;
    if (n <= whole) {                                  /* ddd000.0 */
        memset(at, '0', DIGITS_MAX + 1);
        for (size_t i = 0; i < n; i++) at[i] = digits[i];
        memcpy(at + whole, ".0", 2);
        return at + whole + 2;
    }
    memcpy(at, digits, DIGITS_MAX);                    /* dd.dd */
    at[whole] = '.';
    memcpy(at + whole + 1, digits + whole, DIGITS_MAX);
    return at + n + 1;
}

size_t number_write_double(double d, char out[NUMBER_TEXT_SIZE]) {
    char digits[SPARE_SIZE] = { 0 }, text[SPARE_SIZE] = { 0 }, *at = text;
    int point;
    if (signbit(d))
        *at++ = '-';
    size_t n = number_digits(fabs(d), digits, &point);
    int exponent = point - 1;
    at = exponent >= -5 && exponent < 21 ? write_plain(at, digits, n, point)
                                         : write_scientific(at, digits, n, exponent);
    *at = 0;
    memcpy(out, text, NUMBER_TEXT_SIZE);               /* 24 characters at most, and the NUL */
    return (size_t)(at - text);
}

size_t number_write_i64(int64_t i, char out[NUMBER_TEXT_SIZE]) {
    size_t sign = i < 0;
    out[0] = '-';
    size_t n = sign + write_u64(sign ? -(uint64_t)i : (uint64_t)i, out + sign);
    out[n] = 0;
    return n;
}

void number_add_i64(Buf *to, int64_t i) {
    char text[NUMBER_TEXT_SIZE];
    buf_add(to, (Str){ text, number_write_i64(i, text) });
}

/* ---- reading ---- */

/* The text as mantissa × 10^exponent; `exact` if no significant digit was dropped. */
typedef struct { uint64_t mantissa; int64_t exponent; bool negative, exact; } Scan;

static const char *scan_digits(const char *at, const char *end, Scan *s, int64_t step) {
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (s->mantissa <= (UINT64_MAX - 9) / 10) {
            s->mantissa = s->mantissa * 10 + digit;
            s->exponent += step;                       /* 0 before the point, -1 after it */
        } else {
            s->exact = s->exact && digit == 0;
            s->exponent += step + 1;
        }
    }
    return at;
}

static Scan scan(Str text) {
    Scan s = { .exact = true };
    const char *at = text.at, *end = text.at + text.n;
    if (at < end && *at == '-')
        s.negative = true, at++;
    at = scan_digits(at, end, &s, 0);
    if (at < end && *at == '.')
        at = scan_digits(at + 1, end, &s, -1);
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        bool down = at < end && *at == '-';
        if (at < end && (*at == '-' || *at == '+'))
            at++;
        int64_t exponent = 0;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
            if (exponent < 1000000)                    /* already far beyond any double */
                exponent = exponent * 10 + (*at - '0');
        s.exponent += down ? -exponent : exponent;
    }
    return s;
}

/* Mantissa and power are both exact doubles: one operation, one rounding. */
static bool read_exact(const Scan *s, double *out) {
    static const double tens[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    if (s->mantissa > 1ull << 53 || s->exponent < -22 || s->exponent > 22)
        return false;
    double m = (double)s->mantissa;
    *out = s->exponent < 0 ? m / tens[-s->exponent] : m * tens[s->exponent];
    return true;
}

/* The same with a 64-bit mantissa. Rounding twice (to 64 and to 53 bits) is wrong only if the first result is exactly
 * half-way between two doubles. */
static bool read_extended(const Scan *s, double *out) {
#if LDBL_MANT_DIG == 64
    static const long double tens[] = { 1e0L, 1e1L, 1e2L, 1e3L, 1e4L, 1e5L, 1e6L, 1e7L, 1e8L, 1e9L,
        1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L, 1e22L,
        1e23L, 1e24L, 1e25L, 1e26L, 1e27L };
    if (s->exponent < -27 || s->exponent > 27)
        return false;
    long double m = (long double)s->mantissa;
    long double x = s->exponent < 0 ? m / tens[-s->exponent] : m * tens[s->exponent];
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);                    /* the mantissa comes first */
    if ((bits & 0x7FF) == 0x400)
        return false;
    *out = (double)x;
    return true;
#else
    (void)s, (void)out;
    return false;
#endif
}

/* The "C" locale, created once: strtod would use the current locale. */
static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void) {
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static double read_slowly(Str s) {
    pthread_once(&c_locale_once, make_c_locale);
    int saved = errno;
    char small[128], *text = s.n < sizeof small ? small : mem_alloc(s.n + 1);
    memcpy(text, s.at, s.n);
    text[s.n] = 0;
    double d = c_locale ? strtod_l(text, NULL, c_locale) : strtod(text, NULL);
    if (text != small)
        free(text);
    errno = saved;                                     /* out of range is not an error here */
    return d;
}

double number_read_double(Str text) {
    if (text.n == 0)
        return 0;
    Scan s = scan(text);
    double d;
    if (s.exact && s.mantissa == 0)
        d = 0;
    else if (!s.exact || (!read_exact(&s, &d) && !read_extended(&s, &d)))
        return read_slowly(text);
    return s.negative ? -d : d;
}
