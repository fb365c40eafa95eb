#include "starlark/syntax/literal.h"
#include <math.h>
#include <stdio.h>
#include "base/number.h"
#include "base/utf8.h"

/* ------------------------------------------------------------------ escapes */

static int digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') return (c | 0x20) - 'a' + 10;
    return 99;
}

/* The part of a bad escape to show: whole characters, at most 40 bytes. */
static Str shown(Str s, size_t n) {
    Str cut = str_sub(s, 0, n < 40 ? n : 40);
    cut.n = utf8_valid_prefix(cut);
    return cut;
}

static size_t fail(char why[LITERAL_WHY_SIZE], const char *what, Str s, size_t n) {
    snprintf(why, LITERAL_WHY_SIZE, "%s escape sequence " STR_FMT, what, STR_ARG(shown(s, n)));
    return 0;
}

/* Each of these decodes one escape at the start of s, which starts with a backslash. It returns the
 * length of the escape, or 0 with the reason in `why`. */

static size_t octal_escape(Str s, LiteralForm form, Buf *out, char why[LITERAL_WHY_SIZE]) {
    unsigned n = 0;
    size_t len = 1;
    for (; len < 4 && len < s.n && s.at[len] >= '0' && s.at[len] <= '7'; len++) n = n * 8 + (unsigned)(s.at[len] - '0');
    if (!form.bytes && n > 127) {
        snprintf(why, LITERAL_WHY_SIZE, "non-ASCII octal escape \\%o (use \\u%04X for the UTF-8 encoding of U+%04X)", n, n, n);
        return 0;
    }
    if (n > 255) return fail(why, "invalid", s, len);
    buf_add_char(out, (char)n);
    return len;
}

static bool hex_digits(Str s, size_t count, uint32_t *out) {
    *out = 0;
    for (size_t i = 2; i < 2 + count; i++) {
        int d = digit_value(s.at[i]);
        if (d > 15) return false;
        *out = *out << 4 | (uint32_t)d;
    }
    return true;
}

static size_t hex_escape(Str s, LiteralForm form, Buf *out, char why[LITERAL_WHY_SIZE]) {
    uint32_t n;
    if (s.n < 4) return fail(why, "truncated", s, s.n);
    if (!hex_digits(s, 2, &n)) return fail(why, "invalid", s, 4);
    if (!form.bytes && n > 127) {
        snprintf(why, LITERAL_WHY_SIZE, "non-ASCII hex escape " STR_FMT " (use \\u%04X for the UTF-8 encoding of U+%04X)",
                 STR_ARG(shown(s, 4)), n, n);
        return 0;
    }
    buf_add_char(out, (char)n);
    return 4;
}

static size_t unicode_escape(Str s, Buf *out, char why[LITERAL_WHY_SIZE]) {
    size_t len = s.at[1] == 'u' ? 6 : 10;
    uint32_t n;
    if (s.n < len) return fail(why, "truncated", s, s.n);
    if (!hex_digits(s, len - 2, &n)) return fail(why, "invalid", s, len);
    if (n > 0x10ffff) {
        snprintf(why, LITERAL_WHY_SIZE, "code point out of range: " STR_FMT " (max \\U0010ffff)", STR_ARG(shown(s, len)));
        return 0;
    }
    if (n >= 0xd800 && n < 0xe000) {
        snprintf(why, LITERAL_WHY_SIZE, "invalid Unicode code point U+%04X", n);
        return 0;
    }
    buf_add_utf8(out, n);
    return len;
}

static size_t escape(Str s, LiteralForm form, Buf *out, char why[LITERAL_WHY_SIZE]) {
    static const char letters[] = "abfnrtv\\'\"", meant[] = "\a\b\f\n\r\t\v\\'\"";
    if (s.n < 2) return fail(why, "truncated", s, s.n);
    char c = s.at[1];
    if (c == '\n') return 2;                         /* line continuation */
    if (c == '\r') return s.n > 2 && s.at[2] == '\n' ? 3 : 2;
    if (c >= '0' && c <= '7') return octal_escape(s, form, out, why);
    if (c == 'x') return hex_escape(s, form, out, why);
    if (c == 'u' || c == 'U') return unicode_escape(s, out, why);
    const char *letter = c ? strchr(letters, c) : NULL;
    if (!letter) {
        size_t n;
        utf8_decode(str_sub(s, 1, s.n), &n);
        return fail(why, "invalid", s, 1 + n);
    }
    buf_add_char(out, meant[letter - letters]);
    return 2;
}

bool literal_unescape(Str s, LiteralForm form, Buf *out, char why[LITERAL_WHY_SIZE]) {
    while (s.n > 0) {
        size_t n = 0;
        while (n < s.n && s.at[n] != '\r' && (form.raw || s.at[n] != '\\')) n++;
        buf_add(out, str_sub(s, 0, n));
        s = str_sub(s, n, s.n);
        if (s.n == 0) break;
        if (s.at[0] == '\r') {
            buf_add_char(out, '\n');
            n = s.n > 1 && s.at[1] == '\n' ? 2 : 1;
        } else if ((n = escape(s, form, out, why)) == 0) return false;
        s = str_sub(s, n, s.n);
    }
    return true;
}

/* ------------------------------------------------------------------ numbers */

static char at(Str s, size_t i) { return i < s.n ? s.at[i] : 0; }
static bool digit_at(Str s, size_t i) { return at(s, i) >= '0' && at(s, i) <= '9'; }
static bool exponent_at(Str s, size_t i) { return at(s, i) == 'e' || at(s, i) == 'E'; }

static LiteralNumber based(Str s, int base, const char *error, bool error_at_end) {
    size_t n = 2;
    while (n < s.n && digit_value(s.at[n]) < base) n++;
    LiteralNumber num = { .length = n, .base = base };
    if (n == 2) num.error = error, num.at_end = error_at_end;
    return num;
}

/* "0755" and "08": a leading zero followed by digits that are not all zeros, outside of a float. */
static void check_leading_zero(Str s, LiteralNumber *num) {
    bool zeros = true, octal = true;
    for (size_t i = 0; i < num->length; i++) {
        if (s.at[i] != '0') zeros = false;
        if (s.at[i] > '7') octal = false;
    }
    if (zeros) return;
    if (octal) num->old_octal = num->at_end = true;
    else num->error = "invalid int literal";
}

LiteralNumber literal_scan_number(Str s) {
    if (at(s, 0) == '0') {
        char c = (char)(at(s, 1) | 0x20);
        if (c == 'x') return based(s, 16, "invalid hex literal", false);
        if (c == 'o') return based(s, 8, "invalid octal literal", true);
        if (c == 'b') return based(s, 2, "invalid binary literal", true);
    }
    LiteralNumber num = { .base = 10 };
    size_t n = 0;
    while (digit_at(s, n)) n++;
    if (at(s, n) == '.') {
        num.is_float = true;
        for (n++; digit_at(s, n);) n++;
    }
    if (exponent_at(s, n)) {
        num.is_float = true;
        n++;
        if (at(s, n) == '+' || at(s, n) == '-') n++;
        if (!digit_at(s, n)) num.error = "invalid float literal", num.at_end = true;
        while (digit_at(s, n)) n++;
    }
    num.length = n;
    if (!num.is_float && at(s, 0) == '0') check_leading_zero(s, &num);
    return num;
}

bool literal_float(Str s, Buf *scratch, double *out) {
    buf_reset(scratch);
    for (size_t i = 0; i < s.n; i++) {               /* digits on both sides of the point */
        bool point = s.at[i] == '.';
        if (point && i == 0) buf_add_char(scratch, '0');
        buf_add_char(scratch, s.at[i]);
        if (point && !digit_at(s, i + 1)) buf_add_char(scratch, '0');
    }
    *out = number_read_double(buf_str(scratch));
    return isfinite(*out);
}
