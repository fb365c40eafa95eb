#include "starlark/syntax/habits.h"
#include <ctype.h>
#include <stdio.h>

typedef struct Advice { Str word; const char *text; } Advice;

static const struct { Token token; const char *text; } words[] = {
#define HABIT_WORD(token, text) { TOKEN_##token, text },
#include "starlark/syntax/habits.def"
};
static const Advice calls[] = {
#define HABIT_CALL(word, text) { { #word, sizeof #word - 1 }, text },
#include "starlark/syntax/habits.def"
};
static const Advice names[] = {
#define HABIT_NAME(word, text) { { #word, sizeof #word - 1 }, text },
#include "starlark/syntax/habits.def"
};
static const struct { Str type; Advice advice; } members[] = {
#define HABIT_MEMBER(type, name, text) { { #type, sizeof #type - 1 }, { { #name, sizeof #name - 1 }, text } },
#include "starlark/syntax/habits.def"
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const char *find(const Advice *table, size_t n, Str word) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(table[i].word, word)) return table[i].text;
    return NULL;
}

const char *habits_name(Str name) { return find(names, COUNT(names), name); }

const char *habits_member(Str type, Str name) {
    for (size_t i = 0; i < COUNT(members); i++)
        if (str_eq(members[i].type, type) && str_eq(members[i].advice.word, name)) return members[i].advice.text;
    return NULL;
}

/* ------------------------------------------------------------------ syntax errors */

/* The text around the token of a syntax error. */
typedef struct Around {
    Token kind, want;          /* TOKEN_ILLEGAL: no single token was expected */
    Str line;                  /* before the token, on its line */
    Str trimmed;               /* the same without white space at its end */
    Str rest;                  /* from the token to the end of its line */
    Str word;                  /* the name that ends `trimmed`; empty: it does not end in one */
} Around;

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static Around look_around(const Source *source, const Lexeme *tok, Token want) {
    const char *start = source->text.at, *end = start + source->text.n, *at = tok->raw.at;
    const char *from = at, *to = at;
    while (from > start && from[-1] != '\n' && from[-1] != '\r') from--;
    while (to < end && *to != '\n' && *to != '\r') to++;
    Around a = { .kind = tok->kind, .want = want, .line = { from, (size_t)(at - from) }, .rest = { at, (size_t)(to - at) } };
    a.trimmed = a.line;
    while (a.trimmed.n && (a.trimmed.at[a.trimmed.n - 1] == ' ' || a.trimmed.at[a.trimmed.n - 1] == '\t')) a.trimmed.n--;
    size_t n = 0;
    while (n < a.trimmed.n && is_word(a.trimmed.at[a.trimmed.n - n - 1])) n++;
    a.word = str_sub(a.trimmed, a.trimmed.n - n, a.trimmed.n);
    return a;
}

static bool begins_with_word(Str text, const char *word) {
    Str w = str_from(word), t = str_trim(text);
    return str_starts(t, w) && (t.n == w.n || !is_word(t.at[w.n]));
}

/* A string literal where none may be: a prefix of Python before it, or another literal. */
static const char *explain_string(const Around *a) {
    bool touches = a->word.n && a->trimmed.n == a->line.n;
    if (touches && a->word.n <= 2 && (strchr("fF", a->word.at[0]) || strchr("fF", a->word.at[a->word.n - 1])))
        return "Starlark has no f-strings; use \"%s\" % x or \"{}\".format(x)";
    if (touches && a->word.n <= 2) return "this prefix of a string is unknown; Starlark has r\"…\" and b\"…\"";
    bool after_literal = a->trimmed.n && strchr("\"'", a->trimmed.at[a->trimmed.n - 1]);
    return after_literal ? "strings side by side are not joined; use \"a\" + \"b\"" : NULL;
}

static const char *explain_colon(const Around *a) {
    if (str_starts(a->rest, STR(":="))) return "Starlark has no :=; assign on a line of its own";
    if (begins_with_word(a->line, "def") && str_find_char(a->line, '(') >= 0)
        return "Starlark has no annotations; write the parameter alone, as in def run(args):";
    if (begins_with_word(a->line, "lambda")) return NULL;
    if (str_starts(a->rest, STR("::"))) return NULL;
    bool is_name = a->word.n && a->word.n == str_trim(a->trimmed).n;      /* NAME: TYPE alone on its line */
    return is_name ? "Starlark has no annotations; write NAME = VALUE" : NULL;
}

static const char *explain_star(const Around *a) {
    if (a->kind == TOKEN_STARSTAR && a->trimmed.n && strchr("{,", a->trimmed.at[a->trimmed.n - 1]))
        return "Starlark has no ** in a dict; use a | b, or dict(a, **b)";
    if (a->kind == TOKEN_STARSTAR) return "Starlark has no **; use math.pow(x, y), or x * x";
    return "Starlark has no * in lists and assignments; use a + b, items[0] and items[1:]";
}

/* A set: {1, 2}, {x} or {x for x in y}. The line alone is looked at. */
static const char *explain_set(const Around *a) {
    ptrdiff_t open = -1;
    for (size_t i = 0; i < a->line.n; i++) {
        if (a->line.at[i] == '{') open = (ptrdiff_t)i;
        if (a->line.at[i] == '}' || a->line.at[i] == ':') open = -1;
    }
    return a->want == TOKEN_COLON && open >= 0 ? "Starlark has no {a, b} for sets; use set([a, b]), or a list" : NULL;
}

static const char *explain_end(const Around *a) {
    if (str_ends(a->trimmed, STR("++")) || str_ends(a->trimmed, STR("--"))) return "Starlark has no ++ and --; use x += 1 or x -= 1";
    return a->want == TOKEN_COLON ? "this line has to end in a colon" : NULL;
}

static const char *explain_operator(const Around *a) {
    switch (a->kind) {
    case TOKEN_AMP: return str_ends(a->line, STR("&")) ? "Starlark has no &&; use and" : NULL;
    case TOKEN_PIPE: return str_ends(a->line, STR("|")) ? "Starlark has no ||; use or" : NULL;
    case TOKEN_GT: return str_ends(a->line, STR("<")) ? "Starlark has no <>; use !="
                        : str_ends(a->line, STR("=")) ? "Starlark has no =>; use lambda x: …" : NULL;
    case TOKEN_MINUS: return str_starts(a->rest, STR("->")) ? "Starlark has no annotations; write def NAME(args): without ->" : NULL;
    case TOKEN_EQ:
        if (str_starts(a->rest, STR("=>"))) return "Starlark has no =>; use lambda x: …";
        if (str_ends(a->line, STR("=="))) return "Starlark has no ===; use ==";
        if (begins_with_word(a->line, "if") || begins_with_word(a->line, "elif") || begins_with_word(a->line, "while")) return "= assigns; use == to compare";
        return a->want == TOKEN_NEWLINE ? "Starlark has no a = b = c; assign to one name at a time" : NULL;
    case TOKEN_GE: case TOKEN_EQL: return str_ends(a->line, STR("*")) || str_ends(a->line, STR("**")) ? "Starlark has no **=" : NULL;
    default: return NULL;
    }
}

/* The character that no token begins with. */
static const char *explain_character(const Around *a) {
    switch (a->rest.n ? a->rest.at[0] : 0) {
    case '!': return str_starts(a->rest, STR("!=")) ? NULL : "Starlark has no !; use not";
    case '?': return "Starlark has no ?:; use a if condition else b";
    case '@': return "Starlark has no decorators and no @; call the function";
    case '$': return "Starlark has no $; write the name alone, and \"%s\" % x inside text";
    case '`': return "a string is written \"…\" or '…'";
    default: return NULL;
    }
}

static const char *explain_loose(const Around *a) {
    const char *found = find(calls, COUNT(calls), a->word);
    if (found) return found;
    if (a->kind == TOKEN_STRING) return explain_string(a);
    bool digits = a->word.n && isdigit((unsigned char)a->word.at[0]);
    if (a->kind == TOKEN_IDENT && digits && a->rest.n && a->rest.at[0] == '_') return "write a number without _, as in 1000";
    if (a->kind == TOKEN_IDENT && begins_with_word(a->rest, "async")) return find(calls, COUNT(calls), STR("async"));
    return NULL;
}

#define ELIF "Starlark has elif instead of else if"

static const char *explain(const Around *a) {
    const char *found;
    switch (a->kind) {
    case TOKEN_ILLEGAL: return explain_character(a);
    case TOKEN_STRING: case TOKEN_BYTES: case TOKEN_INT: case TOKEN_FLOAT: case TOKEN_IDENT: case TOKEN_DEF: case TOKEN_FOR: case TOKEN_NOT:
        found = explain_loose(a);
        return found ? found : explain_set(a);
    case TOKEN_COLON: return explain_colon(a);
    case TOKEN_STAR: case TOKEN_STARSTAR: return explain_star(a);
    case TOKEN_COMMA: case TOKEN_RBRACE: return explain_set(a);
    case TOKEN_NEWLINE: case TOKEN_EOF: return explain_end(a);
    case TOKEN_LBRACE: return a->want == TOKEN_COLON ? "blocks are indented lines after a colon, without braces" : find(calls, COUNT(calls), a->word);
    case TOKEN_IF: return str_eq(a->word, STR("else")) ? ELIF : NULL;
    case TOKEN_ELSE:
        if (a->trimmed.n) return NULL;
        return begins_with_word(str_sub(a->rest, 4, a->rest.n), "if") ? ELIF : "else belongs to an if in the same column; Starlark has no else after a loop";
    case TOKEN_ELIF: return a->trimmed.n ? NULL : "elif belongs to an if in the same column";
    case TOKEN_LAMBDA: return "put the lambda in parentheses: (lambda x: …)";
    case TOKEN_RETURN: return str_ends(a->trimmed, STR(":")) ? "a lambda is one expression, without return" : NULL;
    default: return explain_operator(a);
    }
}

void habits_explain(const Source *source, const Lexeme *tok, Token want, Error *err) {
    if (!err || err->kind != ERR_PARSE || err->hint[0] || !tok->raw.at) return;
    const char *text = NULL;
    for (size_t i = 0; i < COUNT(words); i++)
        if (words[i].token == tok->kind) text = words[i].text;
    /* The token at the end of the source may lie outside of it. */
    if (!text && tok->raw.at >= source->text.at && tok->raw.at <= source->text.at + source->text.n) {
        Around a = look_around(source, tok, want);
        text = explain(&a);
    }
    if (text) snprintf(err->msg, sizeof err->msg, "%s", text);
}
