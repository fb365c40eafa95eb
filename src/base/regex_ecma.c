#include "base/regex_ecma.h"

#include "base/regex.h"
#include "base/utf8.h"
#include "base/vec.h"

/* JavaScript's white space and line terminators, and their complement, as members of a class. */
#define SPACES "\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}"
#define NO_SPACES "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}" \
    "\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}"

enum { NESTING_MAX = 200 };              /* PCRE2 itself allows 250 levels of parentheses */

typedef struct {
    Str text;
    size_t at;
    Buf *out;                            /* NULL: only check */
    VEC(Str) names;                      /* of groups, in order; empty for unnamed ones */
    unsigned depth;
    bool can_repeat;                     /* may a quantifier follow here? */
    Error *err;
} Ecma;

static bool fail(Ecma *e, size_t at, const char *what) {
    uint32_t column = (uint32_t)utf8_count(str_sub(e->text, 0, at)) + 1;
    return error_set(e->err, ERR_PARSE, "at %u: %s", column, what);
}

static void emit(Ecma *e, Str s) { if (e->out) buf_add(e->out, s); }
static void emit_code(Ecma *e, uint32_t c) { if (e->out) buf_add_fmt(e->out, "\\x{%x}", c); }
static bool more(const Ecma *e) { return e->at < e->text.n; }
static char peek(const Ecma *e, size_t ahead) { return e->text.n - e->at > ahead ? e->text.at[e->at + ahead] : 0; }
static bool starts(const Ecma *e, const char *with) { return str_starts(str_sub(e->text, e->at, e->text.n), str_from(with)); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

static int hex_digit(char c) {
    if (is_digit(c)) return c - '0';
    return (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

static bool hex(const Ecma *e, size_t from, size_t n, uint32_t *out) {
    uint32_t value = 0;
    if (e->text.n < from || e->text.n - from < n) return false;
    for (size_t i = 0; i < n; i++) {
        int digit = hex_digit(e->text.at[from + i]);
        if (digit < 0) return false;
        value = value << 4 | (uint32_t)digit;
    }
    return *out = value, true;
}

/* ---- groups are counted first: a reference may precede its group ---- */

static bool name_at(const Ecma *e, size_t from, Str *out) {
    ptrdiff_t n = str_find_char(str_sub(e->text, from, e->text.n), '>');
    if (n <= 0) return false;
    *out = str_sub(e->text, from, from + (size_t)n);
    for (size_t i = 0; i < out->n; i++) {
        char c = out->at[i];
        if (!is_letter(c) && c != '_' && c != '$' && !((unsigned char)c & 0x80) && !(i && is_digit(c))) return false;
    }
    return true;
}

static size_t named(const Ecma *e, Str name) {           /* the group's number, or 0 */
    for (size_t i = 0; i < e->names.n; i++)
        if (name.n && str_eq(e->names.at[i], name)) return i + 1;
    return 0;
}

static bool count_groups(Ecma *e) {
    bool in_class = false;
    for (e->at = 0; more(e); e->at++) {
        char c = peek(e, 0);
        if (c == '\\') e->at++;
        else if (c == '[') in_class = true;
        else if (c == ']') in_class = false;
        else if (c == '(' && !in_class) {
            Str name = { 0 };
            if (peek(e, 1) == '?') {
                if (peek(e, 2) != '<' || peek(e, 3) == '=' || peek(e, 3) == '!') continue;
                if (!name_at(e, e->at + 3, &name)) return fail(e, e->at, "a group's name is not valid");
                if (named(e, name)) return fail(e, e->at, "a group's name is used twice");
            }
            if (!vec_limit(e->names.n, REGEX_GROUPS_MAX, "groups", e->err)) return false;
            VEC_PUSH(&e->names, name);
        }
    }
    e->at = 0;
    return true;
}

/* ---- escapes ---- */

typedef struct { const char *ecma, *pcre; } Alias;
static const Alias categories[] = {
    { "Letter", "L" }, { "Cased_Letter", "L&" }, { "LC", "L&" }, { "Uppercase_Letter", "Lu" }, { "Lowercase_Letter", "Ll" },
    { "Titlecase_Letter", "Lt" }, { "Modifier_Letter", "Lm" }, { "Other_Letter", "Lo" }, { "Mark", "M" },
    { "Combining_Mark", "M" }, { "Nonspacing_Mark", "Mn" }, { "Spacing_Mark", "Mc" }, { "Enclosing_Mark", "Me" },
    { "Number", "N" }, { "Decimal_Number", "Nd" }, { "digit", "Nd" }, { "Letter_Number", "Nl" }, { "Other_Number", "No" },
    { "Punctuation", "P" }, { "punct", "P" }, { "Connector_Punctuation", "Pc" }, { "Dash_Punctuation", "Pd" },
    { "Open_Punctuation", "Ps" }, { "Close_Punctuation", "Pe" }, { "Initial_Punctuation", "Pi" },
    { "Final_Punctuation", "Pf" }, { "Other_Punctuation", "Po" }, { "Symbol", "S" }, { "Math_Symbol", "Sm" },
    { "Currency_Symbol", "Sc" }, { "Modifier_Symbol", "Sk" }, { "Other_Symbol", "So" }, { "Separator", "Z" },
    { "Space_Separator", "Zs" }, { "Line_Separator", "Zl" }, { "Paragraph_Separator", "Zp" }, { "Other", "C" },
    { "Control", "Cc" }, { "cntrl", "Cc" }, { "Format", "Cf" }, { "Surrogate", "Cs" }, { "Private_Use", "Co" },
    { "Unassigned", "Cn" }, { "Assigned", "^Cn" },
};

static Str category(Str name) {
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        if (str_eq(name, str_from(categories[i].ecma))) return str_from(categories[i].pcre);
    return name;
}

/* \p{…} and \P{…}; e->at is after the p. Names unknown to both dialects are passed to PCRE2. */
static bool property(Ecma *e, bool negated, size_t from) {
    ptrdiff_t n = peek(e, 0) == '{' ? str_find_char(str_sub(e->text, e->at, e->text.n), '}') : -1;
    if (n <= 1) return fail(e, from, "\\p needs a property in braces");
    Str name = str_sub(e->text, e->at + 1, e->at + (size_t)n), value = name;
    for (size_t i = 0; i < name.n; i++)
        if (!is_letter(name.at[i]) && !is_digit(name.at[i]) && name.at[i] != '_' && name.at[i] != '=')
            return fail(e, from, "the property's name is not valid");
    e->at += (size_t)n + 1;
    const char *kind = "";
    ptrdiff_t equals = str_find_char(name, '=');
    if (equals >= 0) {
        Str key = str_sub(name, 0, (size_t)equals);
        value = str_sub(name, (size_t)equals + 1, name.n);
        if (str_eq(key, STR("Script")) || str_eq(key, STR("sc"))) kind = "sc:";
        else if (str_eq(key, STR("Script_Extensions")) || str_eq(key, STR("scx"))) kind = "scx:";
        else if (!str_eq(key, STR("General_Category")) && !str_eq(key, STR("gc")))
            return fail(e, from, "unknown property");
    }
    if (!*kind) value = category(value);
    if (str_starts(value, STR("^"))) negated = !negated, value = str_sub(value, 1, value.n);
    if (e->out) buf_add_fmt(e->out, "\\%c{%s" STR_FMT "}", negated ? 'P' : 'p', kind, STR_ARG(value));
    return true;
}

enum { HALF = 0xD800, HALF_LOW = 0xDC00, HALF_END = 0xE000, NO_CODE = 0x110000 };

/* \u…; e->at is after the u. A lone surrogate cannot match in UTF-8: NO_CODE. */
static bool unicode_escape(Ecma *e, size_t from, uint32_t *out) {
    uint32_t code = 0, low;
    if (peek(e, 0) == '{') {
        ptrdiff_t n = str_find_char(str_sub(e->text, e->at, e->text.n), '}');
        size_t first = e->at + 1;
        if (n < 2) return fail(e, from, "\\u{…} needs digits");
        while (n > 7 && e->text.at[first] == '0') first++, n--, e->at++;
        if (n > 7 || !hex(e, first, (size_t)n - 1, &code) || code > 0x10FFFF) return fail(e, from, "\\u{…} is not a code point");
        e->at += (size_t)n + 1;
    } else {
        if (!hex(e, e->at, 4, &code)) return fail(e, from, "\\u needs four digits");
        e->at += 4;
        if (code >= HALF && code < HALF_LOW && peek(e, 0) == '\\' && peek(e, 1) == 'u' && hex(e, e->at + 2, 4, &low) &&
            low >= HALF_LOW && low < HALF_END) {
            code = 0x10000 + ((code - HALF) << 10) + (low - HALF_LOW);
            e->at += 6;
        }
    }
    *out = code >= HALF && code < HALF_END ? NO_CODE : code;
    return true;
}

/* An escape for one character; e->at is after the letter. */
static bool character_escape(Ecma *e, char c, bool in_class, size_t from, uint32_t *out) {
    static const char controls[] = "t\tn\nv\vf\fr\r";
    for (const char *p = controls; *p; p += 2)
        if (*p == c) return *out = (uint32_t)p[1], true;
    if (c == 'b' && in_class) return *out = '\b', true;
    if (c == '0' && !is_digit(peek(e, 0))) return *out = 0, true;
    if (c == 'u') return unicode_escape(e, from, out);
    if (c == 'x') {
        if (!hex(e, e->at, 2, out)) return fail(e, from, "\\x needs two digits");
        return e->at += 2, true;
    }
    if (c == 'c') {
        if (!is_letter(peek(e, 0))) return fail(e, from, "\\c needs a letter");
        return *out = (uint32_t)peek(e, 0) & 31, e->at++, true;
    }
    if ((unsigned char)c < 0x80 && !is_letter(c) && !is_digit(c) && c != '_' && (unsigned char)c > 32) return *out = (uint32_t)c, true;
    return fail(e, from, "unknown escape");
}

/* \d \w \s, their negations, and \p; false without an error for any other c. */
static bool class_escape(Ecma *e, char c, bool in_class, size_t from, bool *done) {
    *done = true;
    switch (c) {
    case 'd': case 'D': case 'w': case 'W': emit(e, (Str){ (char[]){ '\\', c }, 2 }); return true;
    case 's': emit(e, in_class ? STR(SPACES) : STR("[" SPACES "]")); return true;
    case 'S': emit(e, in_class ? STR(NO_SPACES) : STR("[^" SPACES "]")); return true;
    case 'p': case 'P': return property(e, c == 'P', from);
    default: return *done = false, true;
    }
}

static bool back_reference(Ecma *e, size_t from) {
    size_t number = 0;
    if (peek(e, 0) == 'k') {
        Str name;
        if (peek(e, 1) != '<' || !name_at(e, e->at + 2, &name) || !(number = named(e, name)))
            return fail(e, from, "\\k needs the name of a group");
        e->at += name.n + 3;
    } else {
        while (is_digit(peek(e, 0)) && number <= REGEX_GROUPS_MAX) number = number * 10 + (size_t)(e->text.at[e->at++] - '0');
        if (number > e->names.n) return fail(e, from, "no group has that number");
    }
    if (e->out) buf_add_fmt(e->out, "\\g{%zu}", number);
    return e->can_repeat = true;
}

static bool atom_escape(Ecma *e) {
    size_t from = e->at++;
    if (!more(e)) return fail(e, from, "a backslash at the end");
    char c = peek(e, 0);
    if (c == 'k' || (c >= '1' && c <= '9')) return back_reference(e, from);
    e->at++;
    if (c == 'b' || c == 'B') {
        emit(e, (Str){ (char[]){ '\\', c }, 2 });
        return e->can_repeat = false, true;
    }
    bool done;
    uint32_t code;
    e->can_repeat = true;
    if (!class_escape(e, c, false, from, &done)) return false;
    if (done) return true;
    if (!character_escape(e, c, false, from, &code)) return false;
    if (code == NO_CODE) emit(e, STR("(?!)"));
    else emit_code(e, code);
    return true;
}

/* ---- classes ---- */

/* One member: a code point, or a set of them (*set). */
static bool class_member(Ecma *e, uint32_t *code, bool *set) {
    size_t from = e->at, length;
    *set = false;
    if (peek(e, 0) != '\\') {
        *code = utf8_decode(str_sub(e->text, e->at, e->text.n), &length);
        return e->at += length, true;
    }
    e->at++;
    if (!more(e)) return fail(e, from, "a backslash at the end");
    char c = e->text.at[e->at++];
    if (!class_escape(e, c, true, from, set)) return false;
    return *set || character_escape(e, c, true, from, code);
}

static bool class_members(Ecma *e, size_t open, bool *empty) {
    for (*empty = true; peek(e, 0) != ']' || !more(e);) {
        if (!more(e)) return fail(e, open, "the class is not closed");
        uint32_t low, high;
        bool set, high_set;
        if (!class_member(e, &low, &set)) return false;
        bool range = peek(e, 0) == '-' && e->at + 1 < e->text.n && peek(e, 1) != ']';
        if (!set && low != NO_CODE) *empty = false, emit_code(e, low);
        if (set) *empty = false;
        if (!range) continue;
        size_t dash = e->at++;
        if (set) { emit(e, STR("\\-")); continue; }
        if (!set && e->out && low != NO_CODE) buf_add_char(e->out, '-');
        Buf *out = e->out;
        size_t mark = out ? out->n : 0;
        if (!class_member(e, &high, &high_set)) return false;
        if (high_set) {                                  /* [a-\d]: three members */
            if (!out) continue;
            Str tail = str_sub(buf_str(out), mark, out->n);
            char *copy = str_dup(tail);
            out->n = mark - (low != NO_CODE);
            buf_add_fmt(out, "\\-%s", copy);
            free(copy);
            continue;
        }
        if (low == NO_CODE || high == NO_CODE) return fail(e, dash, "a range cannot end in half a surrogate pair");
        if (high < low) return fail(e, dash, "the range is out of order");
        emit_code(e, high);
    }
    return true;
}

static bool class(Ecma *e) {
    size_t open = e->at++, mark = e->out ? e->out->n : 0;
    bool negated = peek(e, 0) == '^', empty;
    e->at += negated;
    emit(e, negated ? STR("[^") : STR("["));
    if (!class_members(e, open, &empty)) return false;
    e->at++;
    e->can_repeat = true;
    if (!empty) return emit(e, STR("]")), true;
    if (e->out) e->out->n = mark;
    emit(e, negated ? STR("(?s:.)") : STR("(?!)"));      /* [^] matches anything, [] nothing */
    return true;
}

/* ---- groups and quantifiers ---- */

static bool open_group(Ecma *e) {
    static const char *const kinds[] = { "(?:", "(?=", "(?!", "(?<=", "(?<!" };
    if (++e->depth > NESTING_MAX) return error_set(e->err, ERR_LIMIT, "groups are nested too deep (limit %d)", NESTING_MAX);
    e->can_repeat = false;
    if (peek(e, 1) != '?') return e->at++, emit(e, STR("(")), true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (starts(e, kinds[i])) {
            emit(e, str_from(kinds[i]));
            return e->at += strlen(kinds[i]), true;
        }
    Str name;
    if (peek(e, 2) == '<' && name_at(e, e->at + 3, &name)) {
        emit(e, STR("("));                               /* by number: JavaScript's names allow more than PCRE2's */
        return e->at += name.n + 4, true;
    }
    size_t n = 2;                                        /* (?i: and (?i-s: */
    while (peek(e, n) == 'i' || peek(e, n) == 'm' || peek(e, n) == 's' || peek(e, n) == '-') n++;
    if (peek(e, n) != ':' || n == 2) return fail(e, e->at, "unknown kind of group");
    emit(e, str_sub(e->text, e->at, e->at + n + 1));
    return e->at += n + 1, true;
}

/* Length of {2}, {2,} or {2,5}; 0 if the brace is literal. */
static size_t braces(const Ecma *e) {
    size_t n = 1;
    while (is_digit(peek(e, n))) n++;
    if (n == 1) return 0;
    if (peek(e, n) == ',') n++;
    while (is_digit(peek(e, n))) n++;
    return peek(e, n) == '}' ? n + 1 : 0;
}

static bool quantifier(Ecma *e, bool *done) {
    char c = peek(e, 0);
    size_t n = c == '*' || c == '+' || c == '?' ? 1 : c == '{' ? braces(e) : 0;
    *done = n > 0;
    if (!n) return true;
    if (!e->can_repeat) return fail(e, e->at, "there is nothing to repeat");
    if (peek(e, n) == '?') n++;
    emit(e, str_sub(e->text, e->at, e->at + n));
    e->at += n;
    return e->can_repeat = false, true;
}

static bool term(Ecma *e) {
    bool done;
    if (!quantifier(e, &done)) return false;
    if (done) return true;
    switch (peek(e, 0)) {
    case '\\': return atom_escape(e);
    case '[': return class(e);
    case '(': return open_group(e);
    case ')':
        if (e->depth-- == 0) return fail(e, e->at, "there is no group to close");
        break;
    case '|': case '^': case '$':
        emit(e, str_sub(e->text, e->at, e->at + 1));
        return e->at++, e->can_repeat = false, true;
    case '.':
        emit(e, STR("[^\\n\\r\\x{2028}\\x{2029}]"));
        return e->at++, e->can_repeat = true;
    case '{': case '}': case ']': emit(e, STR("\\")); break;
    default: break;
    }
    size_t length;
    utf8_decode(str_sub(e->text, e->at, e->text.n), &length);
    if (peek(e, 0) == 0) emit_code(e, 0);
    else emit(e, str_sub(e->text, e->at, e->at + length));
    e->at += length;
    return e->can_repeat = true;
}

bool regex_ecma_translate(Str pattern, Buf *out, Error *err) {
    Ecma e = { .text = pattern, .out = out, .err = err };
    bool ok = count_groups(&e);
    while (ok && more(&e)) ok = term(&e);
    if (ok && e.depth) ok = fail(&e, pattern.n, "a group is not closed");
    VEC_CLEAR(&e.names);
    return ok;
}
