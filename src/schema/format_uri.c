/* URIs, IRIs and templates of them (RFC 3986, 3987, 6570). */
#include "schema/format.h"

#include "base/utf8.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }
static bool is_hex(char c) { return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f'); }
static bool is_plain(char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~'; }
static bool is_one_of(char c, const char *set) { return c && strchr(set, c); }

static bool is_code(Str s, size_t at) { return s.n - at > 2 && s.at[at] == '%' && is_hex(s.at[at + 1]) && is_hex(s.at[at + 2]); }

/* ucschar, and iprivate in a query. */
static bool is_iri_char(uint32_t c, bool private_too) {
    bool private_use = (c >= 0xE000 && c <= 0xF8FF) || (c >= 0xF0000 && c <= 0x10FFFD);
    if (private_use) return private_too && (c & 0xFFFE) != 0xFFFE;
    return c >= 0xA0 && !(c >= 0xFDD0 && c <= 0xFDEF) && !(c >= 0xFFF0 && c <= 0xFFFF) && (c & 0xFFFE) != 0xFFFE &&
           !(c >= 0xE0000 && c <= 0xE0FFF);
}

/* True if s has only unreserved characters, percent-encoded ones, sub-delimiters and those in `more`. */
static bool all_of(Str s, const char *more, bool iri, bool private_too) {
    for (size_t at = 0, length = 1; at < s.n; at += length) {
        length = 1;
        if (s.at[at] == '%') {
            if (!is_code(s, at)) return false;
            length = 3;
        } else if ((unsigned char)s.at[at] >= 0x80) {
            uint32_t c = utf8_decode(str_sub(s, at, s.n), &length);
            if (!iri || length == 1 || !is_iri_char(c, private_too)) return false;
        } else if (!is_plain(s.at[at]) && !is_one_of(s.at[at], "!$&'()*+,;=") && !is_one_of(s.at[at], more)) {
            return false;
        }
    }
    return true;
}

static bool literal_ok(Str s) {                          /* contents of [ ] */
    if (s.n && (s.at[0] | 32) == 'v') {
        size_t at = 1;
        while (at < s.n && is_hex(s.at[at])) at++;
        return at > 1 && at + 1 < s.n && s.at[at] == '.' && str_find_char(s, '%') < 0 && all_of(str_sub(s, at + 1, s.n), ":", false, false);
    }
    return format_ipv6(s);
}

static bool authority_ok(Str s, bool iri) {
    ptrdiff_t user = str_find_char(s, '@');
    if (user >= 0 && !all_of(str_sub(s, 0, (size_t)user), ":", iri, false)) return false;
    Str host = str_sub(s, (size_t)(user + 1), s.n);
    size_t end = 0;
    if (host.n && host.at[0] == '[') {
        ptrdiff_t close = str_find_char(host, ']');
        if (close < 0 || !literal_ok(str_sub(host, 1, (size_t)close))) return false;
        end = (size_t)close + 1;
    } else {
        while (end < host.n && host.at[end] != ':') end++;
        if (!all_of(str_sub(host, 0, end), "", iri, false)) return false;
    }
    if (end == host.n) return true;
    if (host.at[end] != ':') return false;
    for (size_t i = end + 1; i < host.n; i++)
        if (!is_digit(host.at[i])) return false;
    return true;
}

static size_t until(Str s, size_t at, const char *stops) {
    while (at < s.n && !is_one_of(s.at[at], stops)) at++;
    return at;
}

static size_t scheme(Str s) {
    size_t at = 0;
    if (!s.n || !is_letter(s.at[0])) return 0;
    while (at < s.n && (is_letter(s.at[at]) || is_digit(s.at[at]) || is_one_of(s.at[at], "+-."))) at++;
    return at < s.n && s.at[at] == ':' ? at + 1 : 0;
}

static bool reference(Str s, bool absolute, bool iri) {
    size_t at = scheme(s), end;
    bool has_scheme = at > 0;
    if (absolute && !has_scheme) return false;
    if (s.n - at >= 2 && s.at[at] == '/' && s.at[at + 1] == '/') {
        end = until(s, at + 2, "/?#");
        if (!authority_ok(str_sub(s, at + 2, end), iri)) return false;
        at = end;
    } else if (!has_scheme) {                            /* a colon in the first segment would make it a scheme */
        end = until(s, at, "/?#");
        if (str_find_char(str_sub(s, at, end), ':') >= 0) return false;
    }
    end = until(s, at, "?#");
    if (!all_of(str_sub(s, at, end), ":@/", iri, false)) return false;
    if (end < s.n && s.at[end] == '?') {
        at = end + 1;
        end = until(s, at, "#");
        if (!all_of(str_sub(s, at, end), ":@/?", iri, true)) return false;
    }
    return end >= s.n || all_of(str_sub(s, end + 1, s.n), ":@/?", iri, false);
}

bool format_uri(Str s) { return reference(s, true, false); }
bool format_uri_reference(Str s) { return reference(s, false, false); }
bool format_iri(Str s) { return reference(s, true, true); }
bool format_iri_reference(Str s) { return reference(s, false, true); }

/* ---- templates ---- */

static bool variable_ok(Str s) {                         /* name, then :123 or * */
    size_t at = 0, length = 0;
    bool dot = true;                                     /* a dot is not allowed here */
    for (; at < s.n && s.at[at] != ':' && s.at[at] != '*'; at += length) {
        length = 1;
        if (is_code(s, at)) length = 3;
        else if (s.at[at] == '.' ? dot : !is_letter(s.at[at]) && !is_digit(s.at[at]) && s.at[at] != '_') return false;
        dot = s.at[at] == '.';
    }
    if (dot) return false;
    if (at == s.n) return true;
    if (s.at[at] == '*') return at + 1 == s.n;
    size_t digits = s.n - at - 1;
    if (digits < 1 || digits > 4 || s.at[at + 1] == '0') return false;
    for (size_t i = at + 1; i < s.n; i++)
        if (!is_digit(s.at[i])) return false;
    return true;
}

static bool expression_ok(Str s) {
    size_t at = s.n && is_one_of(s.at[0], "+#./;?&") ? 1 : 0;
    for (;;) {
        size_t end = until(s, at, ",");
        if (!variable_ok(str_sub(s, at, end))) return false;
        if (end == s.n) return true;
        at = end + 1;
    }
}

bool format_uri_template(Str s) {
    for (size_t at = 0, length; at < s.n; at += length) {
        char c = s.at[at];
        length = 1;
        if (c == '{') {
            size_t end = until(s, at, "}");
            if (end == s.n || !expression_ok(str_sub(s, at + 1, end))) return false;
            length = end - at + 1;
        } else if (c == '%') {
            if (!is_code(s, at)) return false;
            length = 3;
        } else if ((unsigned char)c >= 0x80) {
            uint32_t code = utf8_decode(str_sub(s, at, s.n), &length);
            if (length == 1 || !is_iri_char(code, true)) return false;
        } else if ((unsigned char)c <= 32 || c == 127 || is_one_of(c, "\"<>\\^`|}")) {
            return false;
        }
    }
    return true;
}
