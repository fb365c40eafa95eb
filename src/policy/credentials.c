#include "policy/credentials.h"
#include <ctype.h>
#include <strings.h>

bool credentials_name(Str name) {
    static const char *const words[] = { "auth", "authorization", "cookie", "credential", "credentials", "key", "pass", "passphrase",
        "passwd", "password", "secret", "token" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if (name.n >= n && strncasecmp(name.at + name.n - n, words[i], n) == 0) return true;
    }
    return false;
}

typedef struct Span { size_t from, to; } Span;

enum { WORD_MIN = 8 };

/* Characters that end a value, in plain text and in JSON, where a backslash and the next character belong together. */
static bool ends_value(char c) { return (unsigned char)c <= ' ' || strchr("\"<>", c); }
static size_t step(Str text, size_t i) { return text.at[i] == '\\' && i + 1 < text.n ? 2 : 1; }

static bool is_variable(Str s) { return str_find(s, STR("${")) >= 0; }

/* Starts at the "://" at `at`. A user name without password is a credential in an HTTP URL ("https://TOKEN@host"), but not in others ("ssh://git@host"). */
static bool find_user(Str text, size_t at, Span *out) {
    size_t from = at + 3, i = from, end = 0, colon = 0;
    for (; i < text.n && !ends_value(text.at[i]) && !strchr("/?#", text.at[i]); i += step(text, i)) {
        if (text.at[i] == ':' && !colon && !end) colon = i;
        if (text.at[i] == '@') end = i;
    }
    bool web = (at >= 4 && strncasecmp(text.at + at - 4, "http", 4) == 0) || (at >= 5 && strncasecmp(text.at + at - 5, "https", 5) == 0);
    if (!end || end == from || (!web && (!colon || colon + 1 == end))) return false;
    *out = (Span){ web ? from : colon + 1, end };
    return !is_variable(str_sub(text, out->from, out->to));
}

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.'; }

/* NAME=VALUE from `from`. */
static bool find_parameter(Str text, size_t from, Span *out) {
    size_t i = from;
    while (i < text.n && in_name(text.at[i])) i++;
    if (i == from || i >= text.n || text.at[i] != '=' || !credentials_name(str_sub(text, from, i))) return false;
    size_t value = ++i;
    while (i < text.n && !ends_value(text.at[i]) && !strchr("&#'`", text.at[i])) i += step(text, i);
    *out = (Span){ value, i };
    return i > value && !is_variable(str_sub(text, value, i));
}

/* A word from `from` on that is not prose: the text "--token to" contains no credential. */
static bool find_word(Str text, size_t from, Span *out) {
    size_t i = from;
    bool digit = false;
    for (; i < text.n && !ends_value(text.at[i]) && !strchr("&#'`;,)", text.at[i]); i += step(text, i)) digit |= isdigit((unsigned char)text.at[i]) != 0;
    *out = (Span){ from, i < text.n ? i : text.n };
    return digit && out->to - from >= WORD_MIN && !is_variable(str_sub(text, from, out->to)) && str_find(str_sub(text, from, out->to), STR("{{")) < 0;
}

/* "--token VALUE", starting after the dashes. */
static bool find_option(Str text, size_t from, Span *out) {
    size_t i = from;
    while (i < text.n && in_name(text.at[i])) i++;
    return i > from && i < text.n && text.at[i] == ' ' && credentials_name(str_sub(text, from, i)) && find_word(text, i + 1, out);
}

/* "GITHUB_TOKEN=VALUE" or "Bearer VALUE" from the start of a word. */
static bool find_assignment(Str text, size_t from, Span *out) {
    size_t i = from;
    if (str_starts(str_sub(text, from, text.n), STR("Bearer "))) return find_word(text, from + 7, out);
    while (i < text.n && (isupper((unsigned char)text.at[i]) || isdigit((unsigned char)text.at[i]) || text.at[i] == '_')) i++;
    return i > from && i < text.n && text.at[i] == '=' && credentials_name(str_sub(text, from, i)) && find_word(text, i + 1, out);
}

static size_t string_end(Str json, size_t from) {
    size_t i = from;
    while (i < json.n && json.at[i] != '"') i += json.at[i] == '\\' ? 2 : 1;
    return i < json.n ? i : json.n;
}

/* "NAME":"VALUE" or "-NAME","VALUE" from the quotation mark at `at`. */
static bool find_pair(Str json, size_t at, Span *out) {
    size_t end = string_end(json, at + 1);
    Str name = str_sub(json, at + 1, end);
    if (end + 2 >= json.n || json.at[end + 2] != '"' || !credentials_name(name)) return false;
    if (json.at[end + 1] != ':' && !(json.at[end + 1] == ',' && str_starts(name, STR("-")))) return false;
    *out = (Span){ end + 3, string_end(json, end + 3) };
    return out->to > out->from && !is_variable(str_sub(json, out->from, out->to));
}

/* The next credential at or after `at`. */
static bool find_next(Str text, size_t at, bool json, Span *out) {
    for (size_t i = at; i < text.n; i++) {
        char c = text.at[i];
        if (json && c == '"' && find_pair(text, i, out)) return true;
        if (c == ':' && i + 2 < text.n && text.at[i + 1] == '/' && text.at[i + 2] == '/' && find_user(text, i, out)) return true;
        if ((c == '?' || c == '&' || c == ';' || c == '#') && find_parameter(text, i + 1, out)) return true;
        bool option = c == '-' && i + 1 < text.n && text.at[i + 1] == '-' && (i == 0 || !in_name(text.at[i - 1]));
        if (option && (find_parameter(text, i + 2, out) || find_option(text, i + 2, out))) return true;
        if ((i == 0 || strchr(" \t\n'\"`=", text.at[i - 1])) && find_assignment(text, i, out)) return true;
    }
    return false;
}

void credentials_find(Str text, void (*add)(void *ctx, Str value), void *ctx) {
    Span s;
    for (size_t at = 0; find_next(text, at, false, &s); at = s.to) {
        Str value = str_sub(text, s.from, s.to);
        long long colon = str_find_char(value, ':');
        add(ctx, value);
        if (colon >= 0) add(ctx, str_sub(value, (size_t)colon + 1, value.n));
    }
}

static void mask(Buf *text, bool json) {
    Buf out = { 0 };
    Span s;
    Str all = buf_str(text);
    size_t at = 0;
    for (; find_next(all, at, json, &s); at = s.to) {
        buf_add(&out, str_sub(all, at, s.from));
        buf_add(&out, STR("[redacted]"));
    }
    if (at) {
        buf_add(&out, str_sub(all, at, all.n));
        buf_reset(text);
        buf_add(text, buf_str(&out));
    }
    buf_clear(&out);
}

void credentials_mask(Buf *text) { mask(text, false); }
void credentials_mask_json(Buf *json) { mask(json, true); }
