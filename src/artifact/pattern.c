#include "artifact/pattern.h"
#include "base/utf8.h"

/* The length of the class ([a-z], [!a]) at the start of the pattern; 0 if it is not closed. Same rule as
 * pattern_matches. */
static size_t class_length(Str pattern) {
    size_t i = 1;
    if (i < pattern.n && (pattern.at[i] == '!' || pattern.at[i] == '^')) i++;
    for (bool first = true; i < pattern.n; i++, first = false)
        if (pattern.at[i] == ']' && !first) return i + 1;
    return 0;
}

/* Characters that do not occur in names of tools, including those of MCP servers. */
static bool is_foreign(char c) { return (unsigned char)c <= ' ' || (unsigned char)c >= 0x7f || strchr("|{},;^$()\\\"'`<>", c); }

static const char *hint_for(char c) {
    if (strchr(" \t\r\n", c)) return "remove the blank";               /* also for NUL */
    if (strchr("|,;{}", c)) return "write one item of the list for each tool";
    if (strchr("^$()\\", c)) return "this is a glob, not a regular expression: use *, ? and [a-z]";
    return "names of tools have letters, digits, _, -, ., / and :";
}

const char *pattern_problem(PatternKind kind, Str pattern, const char **hint) {
    *hint = NULL;
    if (pattern.n == 0) return "is empty and matches no tool";
    if (kind == PATTERN_SERVER && (str_starts(pattern, STR("mcp:")) || str_starts(pattern, STR("mcp__")))) {
        *hint = "write the server's own name of the tool";
        return "matches no tool: the name must not have the prefix of the server";
    }
    if (pattern.at[0] == '!') return "matches no tool: \"!\" does not negate a pattern";
    for (size_t i = 0; i < pattern.n;) {
        char c = pattern.at[i];
        size_t length = c == '[' ? class_length(str_sub(pattern, i, pattern.n)) : 1;
        if (length == 0) return "matches no tool: \"[\" is not closed";
        if (c != '[' && is_foreign(c)) {
            *hint = hint_for(c);
            return "matches no tool: it has a character that names of tools do not have";
        }
        i += length;
    }
    return NULL;
}

/* ---- matching ---- */

/* True if the class [abc], [a-z], [!a] or [^a] at the start of `pattern` matches c. *length is 0 if it is a literal
 * bracket. */
static bool class_matches(Str pattern, uint32_t c, size_t *length) {
    size_t i = 1, n;
    bool negated = i < pattern.n && (pattern.at[i] == '!' || pattern.at[i] == '^'), hit = false;
    i += negated;
    for (bool first = true; i < pattern.n; first = false) {
        if (pattern.at[i] == ']' && !first) return *length = i + 1, hit != negated;
        uint32_t low = utf8_decode(str_sub(pattern, i, pattern.n), &n), high = low;
        i += n;
        if (i + 1 < pattern.n && pattern.at[i] == '-' && pattern.at[i + 1] != ']') {
            high = utf8_decode(str_sub(pattern, i + 1, pattern.n), &n);
            i += 1 + n;
        }
        hit = hit || (c >= low && c <= high);
    }
    return *length = 0, false;
}

/* Matches one pattern element other than a star against one character of the name. */
static bool step_matches(Str pattern, Str name, size_t *p_length, size_t *n_length) {
    uint32_t c = utf8_decode(name, n_length);
    if (pattern.at[0] == '[') {
        bool hit = class_matches(pattern, c, p_length);
        if (*p_length) return hit;
    }
    uint32_t wanted = utf8_decode(pattern, p_length);
    return pattern.at[0] == '?' || wanted == c;
}

/* Backtracks only to the latest star, so the time is quadratic at worst. */
bool pattern_matches(Str pattern, Str name) {
    size_t p = 0, n = 0, star = SIZE_MAX, retry = 0, p_length, n_length;
    while (n < name.n) {
        if (p < pattern.n && pattern.at[p] == '*') {
            star = ++p;
            retry = n;
        } else if (p < pattern.n && step_matches(str_sub(pattern, p, pattern.n), str_sub(name, n, name.n), &p_length, &n_length)) {
            p += p_length;
            n += n_length;
        } else if (star != SIZE_MAX) {
            utf8_decode(str_sub(name, retry, name.n), &n_length);
            n = retry += n_length;
            p = star;
        } else {
            return false;
        }
    }
    while (p < pattern.n && pattern.at[p] == '*') p++;
    return p == pattern.n;
}
