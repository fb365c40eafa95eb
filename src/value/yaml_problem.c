#include "value/yaml_problem.h"
#include <stdio.h>
#include "base/utf8.h"

/* Matches the start of the problem; the first match counts. `context`, if not NULL, must match too. */
static const struct { const char *problem, *context; YamlProblem means; } known[] = {
    { "found a tab character", NULL, { "tabs may not be used for indentation", PROBLEM_ALONE } },
    { "found unexpected end of stream", "while scanning a quoted scalar", { "quoted text is not closed", PROBLEM_AT_START } },
    { "found unexpected document indicator", NULL, { "quoted text is not closed before the next document", PROBLEM_AT_START } },
    { "could not find expected ':'", NULL, { "expected ':' after this key", PROBLEM_AT_START } },
    { "mapping values are not allowed", NULL,
        { "a ':' is not allowed here (text with \": \" in it needs quotes, and keys of one map start in the same column)",
        PROBLEM_INSIDE } },
    { "block sequence entries are not", NULL, { "a list item '-' is not allowed here", PROBLEM_INSIDE } },
    { "did not find expected <document start>", NULL, { "unexpected text after the end of the value", PROBLEM_INSIDE } },
    { "did not find expected key", NULL, { "expected a key; check the indentation", PROBLEM_INSIDE } },
    { "did not find expected '-' indicator", NULL, { "expected a list item '-'; check the indentation", PROBLEM_INSIDE } },
    { "did not find expected ',' or ']'", NULL, { "expected ',' or ']'", PROBLEM_INSIDE } },
    { "did not find expected ',' or '}'", NULL, { "expected ',' or '}'", PROBLEM_INSIDE } },
    { "did not find expected node content", NULL, { "expected a value", PROBLEM_INSIDE } },
    { "found unknown escape character", NULL, { "unknown escape in quoted text", PROBLEM_INSIDE } },
    { "found undefined tag handle", NULL, { "the tag's prefix is not known", PROBLEM_INSIDE } },
    { "found unknown directive name", NULL, { "directives are not supported", PROBLEM_AT_START } },
    { "found incompatible YAML document", NULL, { "directives are not supported", PROBLEM_INSIDE } },
    { "found duplicate %", NULL, { "directives are not supported", PROBLEM_INSIDE } },
};

static bool starts(const char *s, const char *prefix) { return strncmp(s, prefix, strlen(prefix)) == 0; }

YamlProblem yaml_problem_explain(const char *problem, const char *context, char found) {
    if (!problem) return (YamlProblem){ "cannot be read", PROBLEM_INSIDE };
    if (starts(problem, "found character that cannot start any token")) {
        if (found == '\t') return known[0].means;
        return (YamlProblem){ "this character cannot start a value; put the text in quotes", PROBLEM_INSIDE };
    }
    if (context && strstr(context, "directive"))
        return (YamlProblem){ "directives are not supported", PROBLEM_AT_START };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (starts(problem, known[i].problem) && (!known[i].context || (context && starts(context, known[i].context))))
            return known[i].means;
    return (YamlProblem){ problem, PROBLEM_INSIDE };
}

void yaml_problem_show(Str s, char out[YAML_SHOW_SIZE]) {
    enum { ROOM = 16 };   /* for an escape, the ellipsis, the quote and the NUL */
    size_t n = 0, i = 0, length;
    out[n++] = '"';
    for (; i < s.n && n + ROOM < YAML_SHOW_SIZE && i < 80; i += length) {
        uint32_t c = utf8_decode(str_sub(s, i, s.n), &length);
        bool control = c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
        if (c == '"' || c == '\\') out[n++] = '\\';
        if (control) n += (size_t)snprintf(out + n, ROOM, "\\u%04x", (unsigned)c);
        else n += utf8_encode(c, out + n);
    }
    snprintf(out + n, ROOM, "%s\"", i < s.n ? "…" : "");
}
