#include "schema/idna.h"

#include "base/unicode.h"
#include "base/utf8.h"
#include "schema/idna_table.h"

enum { POINTS_MAX = IDNA_LABEL_MAX + 1 };
typedef struct { uint32_t at[POINTS_MAX]; size_t n; } Points;

#define IN(c, table) in_ranges((c), (table), sizeof(table) / sizeof *(table))
static bool in_ranges(uint32_t c, const IdnaRange *range, size_t n) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c < range[middle].from) high = middle;
        else if (c > range[middle].to) low = middle + 1;
        else return true;
    }
    return false;
}

static bool ascii_alnum(uint32_t c) { return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'); }

/* ---- punycode (RFC 3492) ---- */

enum { BASE = 36, TMIN = 1, TMAX = 26, SKEW = 38, DAMP = 700, FIRST_BIAS = 72, FIRST_POINT = 128 };

static uint32_t adapt(uint32_t delta, uint32_t n, bool first) {
    uint32_t k = 0;
    delta = first ? delta / DAMP : delta / 2;
    for (delta += delta / n; delta > ((BASE - TMIN) * TMAX) / 2; k += BASE) delta /= BASE - TMIN;
    return k + (BASE - TMIN + 1) * delta / (delta + SKEW);
}

static uint32_t threshold(uint32_t k, uint32_t bias) { return k <= bias ? TMIN : k >= bias + TMAX ? TMAX : k - bias; }

static int digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0' + 26;
    return (c | 32) >= 'a' && (c | 32) <= 'z' ? (c | 32) - 'a' : -1;
}

static bool decode_delta(Str s, size_t *at, uint32_t bias, uint32_t *i) {
    uint64_t weight = 1, sum = *i;
    for (uint32_t k = BASE;; k += BASE) {
        int digit = *at < s.n ? digit_value(s.at[(*at)++]) : -1;
        if (digit < 0) return false;
        sum += (uint64_t)digit * weight;
        uint32_t t = threshold(k, bias);
        if (sum > 0x7fffffff) return false;
        if ((uint32_t)digit < t) return *i = (uint32_t)sum, true;
        weight *= BASE - t;
        if (weight > 0x7fffffff) return false;
    }
}

static bool punycode_decode(Str s, Points *out) {
    size_t basic = s.n;
    while (basic && s.at[basic - 1] != '-') basic--;
    out->n = 0;
    for (size_t k = 0; k + 1 < basic; k++) out->at[out->n++] = (unsigned char)s.at[k];
    uint32_t point = FIRST_POINT, i = 0, bias = FIRST_BIAS;
    for (size_t at = basic; at < s.n;) {
        uint32_t before = i;
        if (out->n == POINTS_MAX || !decode_delta(s, &at, bias, &i)) return false;
        uint32_t n = (uint32_t)out->n + 1;
        bias = adapt(i - before, n, before == 0);
        point += i / n;
        i %= n;
        if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) return false;
        memmove(&out->at[i + 1], &out->at[i], (out->n - i) * sizeof *out->at);
        out->at[i++] = point;
        out->n++;
    }
    return true;
}

static void add_delta(Buf *out, uint32_t delta, uint32_t bias) {
    uint32_t q = delta;
    for (uint32_t k = BASE;; k += BASE) {
        uint32_t t = threshold(k, bias), digit = q < t ? q : t + (q - t) % (BASE - t);
        buf_add_char(out, (char)(digit < 26 ? 'a' + digit : '0' + digit - 26));
        if (q < t) return;
        q = (q - t) / (BASE - t);
    }
}

static void punycode_encode(const Points *p, Buf *out) {
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i] < 128) buf_add_char(out, (char)p->at[i]);
    uint32_t done = (uint32_t)out->n, basic = done, point = FIRST_POINT, delta = 0, bias = FIRST_BIAS;
    if (basic) buf_add_char(out, '-');
    while (done < p->n) {
        uint32_t next = UINT32_MAX;
        for (size_t i = 0; i < p->n; i++)
            if (p->at[i] >= point && p->at[i] < next) next = p->at[i];
        delta += (next - point) * (done + 1);            /* 63 points and 21 bits: no overflow */
        point = next;
        for (size_t i = 0; i < p->n; i++) {
            if (p->at[i] < point) delta++;
            if (p->at[i] != point) continue;
            add_delta(out, delta, bias);
            bias = adapt(delta, done + 1, done == basic);
            delta = 0;
            done++;
        }
        delta++;
        point++;
    }
}

/* ---- code points in their context (RFC 5892, appendix A) ---- */

static bool is_valid(uint32_t c) {
    if (c < 128) return c == '-' || (ascii_alnum(c) && !(c >= 'A' && c <= 'Z'));
    if (c == 0xF0B || c == 0x3007 || c == 0x6FD || c == 0x6FE) return true;
    if (IN(c, idna_marks)) return IN(c, idna_good_marks);
    if (!unicode_is_letter(c) && !unicode_is_digit(c)) return false;
    return !unicode_is_upper(c) && !unicode_is_title(c) && !IN(c, idna_refused);
}

static bool is_greek(uint32_t c) { return (c >= 0x370 && c <= 0x3FF) || (c >= 0x1F00 && c <= 0x1FFF); }
static bool is_hebrew(uint32_t c) { return (c >= 0x591 && c <= 0x5F4) || (c >= 0xFB1D && c <= 0xFB4F); }

static bool is_kana_or_han(uint32_t c) {
    return (c >= 0x3041 && c <= 0x309F) || (c >= 0x30A1 && c <= 0x30FA) || (c >= 0x30FC && c <= 0x30FF) || c == 0x3005 ||
           c == 0x3007 || (c >= 0x31F0 && c <= 0x31FF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x4E00 && c <= 0x9FFF) ||
           (c >= 0x20000 && c <= 0x3134F);
}

/* Joining type of Arabic letters: 'D' on both sides, 'R' only to the preceding one, 'T' transparent, 'U'
 * non-joining. */
static char joining(uint32_t c) {
    static const IdnaRange right[] = {
        { 0x622, 0x625 }, { 0x627, 0x627 }, { 0x629, 0x629 }, { 0x62F, 0x632 }, { 0x648, 0x648 }, { 0x671, 0x673 },
        { 0x675, 0x677 }, { 0x688, 0x699 }, { 0x6C0, 0x6C0 }, { 0x6C3, 0x6CB }, { 0x6CD, 0x6CD }, { 0x6CF, 0x6CF },
        { 0x6D2, 0x6D3 }, { 0x6D5, 0x6D5 }, { 0x6EE, 0x6EF }, { 0x710, 0x710 }, { 0x715, 0x719 }, { 0x71E, 0x71E },
        { 0x728, 0x728 }, { 0x72A, 0x72A }, { 0x72C, 0x72C }, { 0x72F, 0x72F }, { 0x74D, 0x74D }, { 0x759, 0x75B },
        { 0x76B, 0x76C }, { 0x771, 0x771 }, { 0x773, 0x774 }, { 0x778, 0x779 },
    };
    if (IN(c, idna_marks)) return 'T';
    if (c == 0x621 || c == 0x674 || !unicode_is_letter(c)) return 'U';
    if (IN(c, right)) return 'R';
    return (c >= 0x620 && c <= 0x77F) || (c >= 0x7CA && c <= 0x7EA) || (c >= 0x8A0 && c <= 0x8C9) ? 'D' : 'U';
}

static bool joins(const Points *p, size_t i) {           /* is the non-joiner at i between letters that would join? */
    size_t before = i, after = i + 1;
    while (before && joining(p->at[before - 1]) == 'T') before--;
    while (after < p->n && joining(p->at[after]) == 'T') after++;
    if (!before || after == p->n) return false;
    char next = joining(p->at[after]);
    return joining(p->at[before - 1]) == 'D' && (next == 'D' || next == 'R');
}

static bool has_between(const Points *p, uint32_t from, uint32_t to) {
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i] >= from && p->at[i] <= to) return true;
    return false;
}

static bool any_kana(const Points *p) {
    for (size_t i = 0; i < p->n; i++)
        if (is_kana_or_han(p->at[i])) return true;
    return false;
}

static bool point_ok(const Points *p, size_t i) {
    uint32_t c = p->at[i], before = i ? p->at[i - 1] : 0, after = i + 1 < p->n ? p->at[i + 1] : 0;
    if (c >= 0x660 && c <= 0x669) return !has_between(p, 0x6F0, 0x6F9);
    if (c >= 0x6F0 && c <= 0x6F9) return !has_between(p, 0x660, 0x669);
    switch (c) {
    case 0xB7: return before == 'l' && after == 'l';     /* middle dot, in Catalan */
    case 0x375: return is_greek(after);
    case 0x5F3: case 0x5F4: return is_hebrew(before);
    case 0x30FB: return any_kana(p);
    case 0x200C: return IN(before, idna_viramas) || joins(p, i);
    case 0x200D: return IN(before, idna_viramas);
    default: return is_valid(c);
    }
}

static bool points_ok(const Points *p) {
    if (p->n == 0 || p->at[0] == '-' || p->at[p->n - 1] == '-' || IN(p->at[0], idna_marks)) return false;
    if (p->n >= 4 && p->at[2] == '-' && p->at[3] == '-') return false;
    for (size_t i = 0; i < p->n; i++)
        if (!point_ok(p, i)) return false;
    return true;
}

/* ---- direction (RFC 5893) ---- */

typedef enum { LEFT, RIGHT, ARABIC_NUMBER, EUROPEAN_NUMBER, MARK, NEUTRAL } Direction;

static Direction direction(uint32_t c) {
    if ((c >= '0' && c <= '9') || (c >= 0x6F0 && c <= 0x6F9)) return EUROPEAN_NUMBER;
    if (IN(c, idna_arabic_numbers)) return ARABIC_NUMBER;
    if (IN(c, idna_right_to_left)) return RIGHT;
    if (IN(c, idna_marks)) return MARK;
    return unicode_is_letter(c) || unicode_is_digit(c) ? LEFT : NEUTRAL;
}

static bool directions_ok(const Points *p, bool *right_to_left) {
    unsigned seen = 0;
    size_t last = p->n;
    for (size_t i = 0; i < p->n; i++) seen |= 1u << direction(p->at[i]);
    *right_to_left = seen & (1u << RIGHT | 1u << ARABIC_NUMBER);
    while (last > 1 && direction(p->at[last - 1]) == MARK) last--;
    Direction first = direction(p->at[0]), end = direction(p->at[last - 1]);
    if (first == LEFT) return !*right_to_left && (end == LEFT || end == EUROPEAN_NUMBER);
    if (first != RIGHT || seen & 1u << LEFT) return false;
    if (seen & 1u << EUROPEAN_NUMBER && seen & 1u << ARABIC_NUMBER) return false;
    return end == RIGHT || end == EUROPEAN_NUMBER || end == ARABIC_NUMBER;
}

/* ---- labels ---- */

static bool plain_ok(Str s) {
    if (s.at[0] == '-' || s.at[s.n - 1] == '-') return false;
    for (size_t i = 0; i < s.n; i++)
        if (!ascii_alnum((unsigned char)s.at[i]) && s.at[i] != '-') return false;
    return s.n < 4 || s.at[2] != '-' || s.at[3] != '-' ? true : false;
}

static bool same_spelling(const Points *p, Str s) {
    Buf again = { 0 };
    punycode_encode(p, &again);
    bool same = again.n == s.n;
    for (size_t i = 0; same && i < s.n; i++) {
        char c = s.at[i];
        if (c >= 'A' && c <= 'Z') c = (char)(c | 32);
        char d = again.at[i];
        if (d >= 'A' && d <= 'Z') d = (char)(d | 32);
        same = c == d;
    }
    buf_clear(&again);
    return same;
}

static bool encoded_ok(Str s, Points *p) {
    if (!punycode_decode(s, p) || !points_ok(p) || !same_spelling(p, s)) return false;
    return has_between(p, 128, 0x10FFFF);
}

static bool short_enough(const Points *p) {
    Buf text = { 0 };
    punycode_encode(p, &text);
    bool ok = text.n + 4 <= IDNA_LABEL_MAX;
    buf_clear(&text);
    return ok;
}

bool idna_label_ok(Str s, bool unicode, bool *right_to_left, bool *bidi_ok) {
    Points p = { .n = 0 };
    bool ascii = true;
    *right_to_left = false;
    *bidi_ok = true;
    if (s.n == 0) return false;
    for (size_t at = 0, length; at < s.n; at += length) {
        if (p.n == IDNA_LABEL_MAX) return false;
        uint32_t c = utf8_decode(str_sub(s, at, s.n), &length);
        if (c == 0xFFFD && length == 1) return false;
        ascii &= c < 128;
        p.at[p.n++] = c;
    }
    if (!ascii && !unicode) return false;
    bool encoded = ascii && s.n >= 4 && (s.at[0] | 32) == 'x' && (s.at[1] | 32) == 'n' && s.at[2] == '-' && s.at[3] == '-';
    if (encoded) {
        if (!encoded_ok(str_sub(s, 4, s.n), &p)) return false;
    } else if (ascii) {
        if (!plain_ok(s)) return false;
    } else if (!points_ok(&p) || !short_enough(&p)) {
        return false;
    }
    *bidi_ok = directions_ok(&p, right_to_left);
    return true;
}

/* More permissive than the rules, like real host names: '_' anywhere, '-' at either end, "--" in third place. */
static bool ascii_encode(Str s, Buf *out) {
    if (s.n == 0 || s.n > IDNA_LABEL_MAX) return false;
    for (size_t i = 0; i < s.n; i++)
        if (!ascii_alnum((unsigned char)s.at[i]) && s.at[i] != '-' && s.at[i] != '_') return false;
    for (size_t i = 0; i < s.n; i++) buf_add_char(out, (char)(s.at[i] >= 'A' && s.at[i] <= 'Z' ? s.at[i] | 32 : s.at[i]));
    return true;
}

bool idna_label_encode(Str s, Buf *out) {
    Points p = { .n = 0 };
    bool ascii = true, ignored;
    for (size_t at = 0, length; at < s.n; at += length) {
        uint32_t c = utf8_decode(str_sub(s, at, s.n), &length);
        if (p.n == IDNA_LABEL_MAX || (c == 0xFFFD && length == 1)) return false;
        ascii &= c < 128;
        p.at[p.n++] = unicode_to_lower(c);
    }
    if (ascii) return ascii_encode(s, out);
    if (!has_between(&p, 128, 0x10FFFF)) return false;         /* ASCII after lower-casing, as the Kelvin sign */
    if (!points_ok(&p) || !short_enough(&p) || (!directions_ok(&p, &ignored) && ignored)) return false;
    buf_add(out, STR("xn--"));
    Buf text = { 0 };
    punycode_encode(&p, &text);
    buf_add(out, buf_str(&text));
    buf_clear(&text);
    return true;
}
