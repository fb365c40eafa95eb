/* Addresses, host names, mail addresses. */
#include "schema/format.h"

#include "base/utf8.h"
#include "schema/idna.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_hex(char c) { return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f'); }

bool format_ipv4(Str s) {
    size_t at = 0;
    for (int part = 0; part < 4; part++) {
        size_t from = at;
        int value = 0;
        while (at < s.n && is_digit(s.at[at]) && at - from < 3) value = value * 10 + (s.at[at++] - '0');
        if (at == from || value > 255 || (s.at[from] == '0' && at - from > 1)) return false;
        if (part < 3 && (at >= s.n || s.at[at++] != '.')) return false;
    }
    return at == s.n;
}

bool format_ipv6(Str s) {
    int groups = 0;
    bool gap = false;
    size_t at = 0;
    if (s.n >= 2 && s.at[0] == ':' && s.at[1] == ':') gap = true, at = 2;
    while (at < s.n) {
        size_t from = at;
        while (at < s.n && is_hex(s.at[at])) at++;
        if (at < s.n && s.at[at] == '.') {
            if (!format_ipv4(str_sub(s, from, s.n))) return false;
            groups += 2;
            break;
        }
        if (at == from || at - from > 4) return false;
        groups++;
        if (at == s.n) break;
        if (s.at[at++] != ':' || at == s.n) return false;  /* a single colon at the end */
        if (s.at[at] == ':') {
            if (gap) return false;
            gap = true;
            at++;
        }
    }
    return gap ? groups < 8 : groups == 8;
}

/* The length of a label separator at s: a dot or, in internationalized names, one of three more characters. */
static size_t separator(Str s, size_t at, bool unicode) {
    if (s.at[at] == '.') return 1;
    Str rest = str_sub(s, at, s.n);
    return unicode && (str_starts(rest, STR("\u3002")) || str_starts(rest, STR("\uFF0E")) || str_starts(rest, STR("\uFF61"))) ? 3 : 0;
}

static bool host(Str s, bool unicode) {
    enum { NAME_MAX_BYTES = 253 };
    bool any_right = false, all_ok = true, right, ok;
    size_t points = utf8_count(s);
    if (points > NAME_MAX_BYTES) return false;
    for (size_t from = 0, at = 0;; at++) {
        size_t length = at < s.n ? separator(s, at, unicode) : 0;
        if (at < s.n && !length) continue;
        if (!idna_label_ok(str_sub(s, from, at), unicode, &right, &ok)) return false;
        any_right |= right;
        all_ok &= ok;
        if (at >= s.n) break;
        from = at + length;
        at = from - 1;
    }
    return !any_right || all_ok;
}

bool format_hostname(Str s) { return host(s, false); }
bool format_idn_hostname(Str s) { return host(s, true); }

/* ---- mail (RFC 5321, 6531) ---- */

static bool is_atom(char c, bool unicode) {
    if ((unsigned char)c >= 0x80) return unicode;
    return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'z') || (c && strchr("!#$%&'*+-/=?^_`{|}~", c));
}

static bool quoted_ok(Str s, bool unicode) {             /* without its quotes */
    for (size_t i = 0; i < s.n; i++) {
        if (s.at[i] == '\\') {
            if (++i == s.n) return false;
        } else if (s.at[i] == '"') return false;
        unsigned char c = (unsigned char)s.at[i];
        if (c < 32 || c == 127 || (c >= 0x80 && !unicode)) return false;
    }
    return true;
}

static bool local_ok(Str s, bool unicode) {
    enum { LOCAL_MAX = 64 };
    if (s.n == 0 || s.n > LOCAL_MAX) return false;
    if (s.n >= 2 && s.at[0] == '"' && s.at[s.n - 1] == '"') return quoted_ok(str_sub(s, 1, s.n - 1), unicode);
    for (size_t i = 0; i < s.n; i++) {
        bool dot = s.at[i] == '.' && i && i + 1 < s.n && s.at[i - 1] != '.';
        if (!dot && !is_atom(s.at[i], unicode)) return false;
    }
    return true;
}

static bool literal_ok(Str s) {
    if (str_starts(s, STR("IPv6:"))) return format_ipv6(str_sub(s, 5, s.n));
    return format_ipv4(s);
}

/* Non-ASCII labels of a mail address are not checked against IDNA: only the form counts. */
static bool domain_ok(Str s, bool unicode) {
    if (s.n > 2 && s.at[0] == '[' && s.at[s.n - 1] == ']') return literal_ok(str_sub(s, 1, s.n - 1));
    if (!unicode || utf8_count(s) == s.n) return host(s, false);
    for (size_t i = 0, start = 0; i <= s.n; i++) {
        if (i < s.n && s.at[i] != '.') {
            unsigned char c = (unsigned char)s.at[i];
            if (c < 0x80 && c != '-' && !is_digit((char)c) && !((c | 32) >= 'a' && (c | 32) <= 'z')) return false;
            continue;
        }
        if (i == start || s.at[start] == '-' || s.at[i - 1] == '-') return false;
        start = i + 1;
    }
    return true;
}

static bool mail(Str s, bool unicode) {
    if (unicode && !utf8_valid(s)) return false;
    size_t at = s.n;
    while (at && s.at[at - 1] != '@') at--;
    return at && local_ok(str_sub(s, 0, at - 1), unicode) && domain_ok(str_sub(s, at, s.n), unicode);
}

bool format_email(Str s) { return mail(s, false); }
bool format_idn_email(Str s) { return mail(s, true); }
