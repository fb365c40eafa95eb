#include "artifact/pattern.h"

/* The length of the class ([a-z], [!a]) at the start of the pattern; 0 if it is not closed. Same rule as
 * policy_name_matches. */
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
