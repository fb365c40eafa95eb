#include "base/glob.h"
#include "base/utf8.h"
#include "base/vec.h"

typedef enum {
    PART_LITERAL,                       /* text, unescaped */
    PART_ANY,                           /* * */
    PART_SUFFIX,                        /* *text */
    PART_PATTERN,                       /* anything else: text as written */
    PART_GLOBSTAR,                      /* any number of parts, including none */
} PartKind;

typedef struct { PartKind kind; bool dot; /* may match a leading period */ Str text; } Part;

/* A trailing ** must match something: stored as GLOBSTAR, ANY. */
typedef struct { Part *part; size_t n; } Alternative;

struct Glob { Alternative *alternative; size_t n; Str base; };

typedef struct { Arena *arena; Str pattern; unsigned flags; size_t bytes; VEC(Str) list; } Compiler;

static bool complain(const Compiler *c, size_t at, const char *what, Error *err) {
    return error_set(err, ERR_PARSE, "glob: at %zu: %s", utf8_count(str_sub(c->pattern, 0, at)) + 1, what);
}

/* ---- classes ---- */

/* End of the class that starts at `at` ("["): after its "]", or 0 if it is not closed in this part. A "]" at the start
 * is a literal. */
static size_t class_end(Str s, size_t at) {
    size_t i = at + 1;
    if (i < s.n && (s.at[i] == '!' || s.at[i] == '^')) i++;
    for (bool first = true; i < s.n && s.at[i] != '/'; first = false) {
        if (s.at[i] == ']' && !first) return i + 1;
        if (s.at[i] == '\\' && i + 1 < s.n) i += 2;
        else if (s.at[i] == '[' && i + 1 < s.n && s.at[i + 1] == ':') {
            ptrdiff_t close = str_find(str_sub(s, i + 2, s.n), STR(":]"));
            i = close < 0 || str_find_char(str_sub(s, i + 2, i + 2 + (size_t)close), '/') >= 0 ? i + 1 : i + 4 + (size_t)close;
        } else i++;
    }
    return 0;
}

static bool named_class(Str name, uint32_t c) {
    if (c > 127) return false;
    bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z', digit = c >= '0' && c <= '9';
    bool graph = c > 32 && c < 127;
    if (str_eq(name, STR("alpha"))) return upper || lower;
    if (str_eq(name, STR("digit"))) return digit;
    if (str_eq(name, STR("alnum"))) return upper || lower || digit;
    if (str_eq(name, STR("upper"))) return upper;
    if (str_eq(name, STR("lower"))) return lower;
    if (str_eq(name, STR("space"))) return c == ' ' || (c >= 9 && c <= 13);
    if (str_eq(name, STR("blank"))) return c == ' ' || c == '\t';
    if (str_eq(name, STR("punct"))) return graph && !upper && !lower && !digit;
    if (str_eq(name, STR("xdigit"))) return digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (str_eq(name, STR("cntrl"))) return c < 32 || c == 127;
    if (str_eq(name, STR("graph"))) return graph;
    if (str_eq(name, STR("print"))) return graph || c == ' ';
    return false;
}

/* An invalid byte matches only itself. */
static uint32_t character(Str s, size_t *length) {
    uint32_t c = utf8_decode(s, length);
    return c == 0xFFFD && *length == 1 ? 0x110000u + (unsigned char)s.at[0] : c;
}

static uint32_t class_character(Str s, size_t *i) {
    if (s.at[*i] == '\\' && *i + 1 < s.n) ++*i;
    size_t length;
    uint32_t c = character(str_sub(s, *i, s.n), &length);
    *i += length;
    return c;
}

/* `s` is the text between the brackets. */
static bool class_has(Str s, uint32_t c) {
    size_t i = 0;
    bool negated = s.n && (s.at[0] == '!' || s.at[0] == '^'), found = false;
    if (negated) i++;
    while (i < s.n) {
        if (s.at[i] == '[' && i + 1 < s.n && s.at[i + 1] == ':') {
            ptrdiff_t close = str_find(str_sub(s, i + 2, s.n), STR(":]"));
            if (close >= 0) {
                found |= named_class(str_sub(s, i + 2, i + 2 + (size_t)close), c);
                i += 4 + (size_t)close;
                continue;
            }
        }
        uint32_t low = class_character(s, &i), high = low;
        if (i + 1 < s.n && s.at[i] == '-') i++, high = class_character(s, &i);
        found |= c >= low && c <= high;
    }
    return found != negated;
}

/* ---- braces ---- */

/* The position after the element at i: an escape, a class, or one byte. */
static size_t next_element(Str s, size_t i) {
    if (s.at[i] == '\\' && i + 1 < s.n) return i + 2;
    size_t end = s.at[i] == '[' ? class_end(s, i) : 0;
    return end ? end : i + 1;
}

static bool add_alternative(Compiler *c, Str s, Error *err) {
    if (c->list.n == GLOB_ALTERNATIVES_MAX || c->bytes + s.n > GLOB_BYTES_MAX)
        return error_set(err, ERR_LIMIT, "glob: too many alternatives");
    c->bytes += s.n;
    VEC_PUSH(&c->list, s);
    return true;
}

/* Finds the first group; false if there is none. Records its commas, with the braces as first and last. */
typedef struct { size_t mark[GLOB_ALTERNATIVES_MAX + 2]; size_t n; } Group;

typedef enum { GROUP_NONE, GROUP_FOUND, GROUP_OPEN, GROUP_HUGE } GroupState;

static GroupState find_group(Str s, Group *g) {
    size_t depth = 0;
    g->n = 0;
    for (size_t i = 0; i < s.n; i = next_element(s, i)) {
        bool mark = (s.at[i] == '{' && depth == 0) || (depth == 1 && (s.at[i] == ',' || s.at[i] == '}'));
        if (mark && g->n == GLOB_ALTERNATIVES_MAX + 2) return GROUP_HUGE;
        if (mark) g->mark[g->n++] = i;
        if (s.at[i] == '{') depth++;
        else if (s.at[i] == '}' && depth && --depth == 0) return GROUP_FOUND;
    }
    return depth ? GROUP_OPEN : GROUP_NONE;
}

/* Expands one group at a time, breadth first: no recursion, and the limits on the list bound each step. */
static bool expand(Compiler *c, Error *err) {
    Group g;
    if (!add_alternative(c, c->pattern, err)) return false;
    for (size_t i = 0; i < c->list.n;) {
        Str s = c->list.at[i];
        GroupState state = find_group(s, &g);
        if (state == GROUP_NONE) { i++; continue; }
        if (state == GROUP_HUGE) return error_set(err, ERR_LIMIT, "glob: too many alternatives");
        if (state == GROUP_OPEN) return complain(c, i == 0 ? g.mark[0] : 0, "{ is not closed", err);
        size_t open = g.mark[0], close = g.mark[g.n - 1];
        for (size_t k = 0; k + 1 < g.n; k++) {
            Str middle = str_sub(s, g.mark[k] + 1, g.mark[k + 1]);
            Str made = str_from(arena_fmt(c->arena, STR_FMT STR_FMT STR_FMT, (int)open, s.at, STR_ARG(middle),
                                          STR_ARG(str_sub(s, close + 1, s.n))));
            if (k == 0) c->bytes = c->bytes - s.n + made.n, c->list.at[i] = made;
            else if (!add_alternative(c, made, err)) return false;
        }
    }
    return true;
}

/* ---- parts ---- */

static bool is_plain(Str s) {
    for (size_t i = 0; i < s.n; i++)
        if (strchr("*?[", s.at[i])) return false;
        else if (s.at[i] == '\\') i++;
    return true;
}

static Str unescape(Arena *arena, Str s) {
    char *out = arena_alloc(arena, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.at[i] == '\\' && i + 1 < s.n) i++;
        out[n++] = s.at[i];
    }
    return (Str){ out, n };
}

static Part make_part(const Compiler *c, Str s) {
    bool dot = !(c->flags & GLOB_PERIOD);
    if (is_plain(s)) return (Part){ PART_LITERAL, true, unescape(c->arena, s) };
    if (s.at[0] == '.' || (s.at[0] == '\\' && s.n > 1 && s.at[1] == '.')) dot = true;
    if (str_eq(s, STR("*"))) return (Part){ PART_ANY, dot, s };
    if (s.at[0] == '*' && is_plain(str_sub(s, 1, s.n))) return (Part){ PART_SUFFIX, dot, unescape(c->arena, str_sub(s, 1, s.n)) };
    return (Part){ PART_PATTERN, dot, s };
}

typedef VEC(Part) Parts;

static bool add_part(const Compiler *c, Parts *parts, Str s, Error *err) {
    for (size_t i = 0; i < s.n; i = next_element(s, i))
        if (s.at[i] == '[' && class_end(s, i) == 0)
            return complain(c, c->list.n == 1 ? (size_t)(s.at - c->list.at[0].at) + i : 0, "[ is not closed", err);
        else if (s.at[i] == '\\' && i + 1 == s.n)
            return complain(c, c->pattern.n - 1, "a \\ at the end escapes nothing", err);
    if (s.n == 0 || str_eq(s, STR("."))) return true;
    if (!str_eq(s, STR("**"))) { VEC_PUSH(parts, make_part(c, s)); return true; }
    if (parts->n && VEC_LAST(parts).kind == PART_GLOBSTAR) return true;
    VEC_PUSH(parts, (Part){ PART_GLOBSTAR, !(c->flags & GLOB_PERIOD), s });
    return true;
}

static bool make_alternative(const Compiler *c, Str s, Alternative *out, Error *err) {
    Parts parts = { 0 };
    bool ok = true;
    for (size_t from = 0, i = 0; ok && i <= s.n;) {
        bool escaped = i + 1 < s.n && s.at[i] == '\\' && s.at[i + 1] == '/';   /* the same as an unescaped / */
        if (i < s.n && s.at[i] != '/' && !escaped) { i = next_element(s, i); continue; }
        ok = add_part(c, &parts, str_sub(s, from, i), err);
        from = i += 1 + escaped;
    }
    if (parts.n && VEC_LAST(&parts).kind == PART_GLOBSTAR)
        VEC_PUSH(&parts, (Part){ PART_ANY, !(c->flags & GLOB_PERIOD), STR("*") });
    if (ok) {
        *out = (Alternative){ ARENA_ARRAY(c->arena, Part, parts.n), parts.n };
        if (parts.n) memcpy(out->part, parts.at, parts.n * sizeof *parts.at);
    }
    VEC_CLEAR(&parts);
    return ok;
}

/* ---- common prefix and depth ---- */

static size_t common_parts(const Alternative *a, const Alternative *b, size_t n) {
    size_t i = 0;
    while (i < n && i + 1 < b->n && b->part[i].kind == PART_LITERAL && str_eq(a->part[i].text, b->part[i].text)) i++;
    return i;
}

static Str find_base(const Glob *g, Arena *arena) {
    const Alternative *first = &g->alternative[0];
    size_t n = 0;
    while (n + 1 < first->n && first->part[n].kind == PART_LITERAL) n++;
    for (size_t i = 1; i < g->n; i++) n = common_parts(first, &g->alternative[i], n);
    Buf b = { 0 };
    for (size_t i = 0; i < n; i++) {
        if (i) buf_add_char(&b, '/');
        buf_add(&b, first->part[i].text);
    }
    Str base = arena_str(arena, buf_str(&b));
    buf_clear(&b);
    return base;
}

const Glob *glob_new(Str pattern, unsigned flags, Arena *arena, Error *err) {
    if (pattern.n > GLOB_PATTERN_MAX) return error_set(err, ERR_LIMIT, "glob: longer than %d bytes", GLOB_PATTERN_MAX), NULL;
    if (pattern.n && memchr(pattern.at, 0, pattern.n)) return error_set(err, ERR_PARSE, "glob: has a NUL byte"), NULL;
    Compiler c = { .arena = arena, .pattern = arena_str(arena, pattern), .flags = flags };
    bool ok = flags & GLOB_BRACES ? expand(&c, err) : add_alternative(&c, c.pattern, err);
    Glob *g = ARENA_NEW(arena, Glob);
    if (ok) g->alternative = ARENA_ARRAY(arena, Alternative, c.list.n);
    for (; ok && g->n < c.list.n; g->n += ok) ok = make_alternative(&c, c.list.at[g->n], &g->alternative[g->n], err);
    VEC_CLEAR(&c.list);
    if (!ok) return NULL;
    g->base = find_base(g, arena);
    return g;
}

Str glob_base(const Glob *g) { return g->base; }

size_t glob_depth(const Glob *g) {
    size_t depth = 0;
    for (size_t i = 0; i < g->n; i++) {
        const Alternative *a = &g->alternative[i];
        for (size_t k = 0; k < a->n; k++)
            if (a->part[k].kind == PART_GLOBSTAR) return SIZE_MAX;
        if (a->n > depth) depth = a->n;
    }
    return depth;
}

bool glob_names_hidden(const Glob *g) {
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < g->alternative[i].n; k++) {
            const Part *p = &g->alternative[i].part[k];
            if ((p->kind == PART_LITERAL || p->kind == PART_PATTERN) && p->text.n && strchr(".\\", p->text.at[0])) return true;
        }
    return false;
}

/* ---- matching ---- */

/* Matches one element of p at *i against the character at the start of s. */
static bool match_element(Str p, size_t *i, Str s, size_t *length) {
    uint32_t c = character(s, length);
    if (p.at[*i] == '?') return ++*i, true;
    if (p.at[*i] == '[') {
        size_t end = class_end(p, *i);
        bool has = class_has(str_sub(p, *i + 1, end - 1), c);
        return *i = end, has;
    }
    return class_character(p, i) == c;
}

/* Backtracks to the last star only, so it takes at most pattern × text steps. */
static bool match_pattern(Str p, Str s) {
    size_t i = 0, at = 0, star = SIZE_MAX, star_at = 0, length;
    while (at < s.n) {
        if (i < p.n && p.at[i] == '*') { star = ++i; star_at = at; continue; }
        if (i < p.n && match_element(p, &i, str_sub(s, at, s.n), &length)) { at += length; continue; }
        if (star == SIZE_MAX) return false;
        character(str_sub(s, star_at, s.n), &length);
        at = star_at += length;
        i = star;
    }
    while (i < p.n && p.at[i] == '*') i++;
    return i == p.n;
}

static bool match_part(const Part *p, Str s) {
    if (!p->dot && s.n && s.at[0] == '.') return false;
    switch (p->kind) {
    case PART_LITERAL: return str_eq(p->text, s);
    case PART_ANY: return true;
    case PART_SUFFIX: return str_ends(s, p->text);
    case PART_PATTERN: return match_pattern(p->text, s);
    case PART_GLOBSTAR: break;
    }
    return false;
}

static Str part_at(Str path, size_t at) {
    const char *slash = at < path.n ? memchr(path.at + at, '/', path.n - at) : NULL;
    return (Str){ path.at + at, slash ? (size_t)(slash - path.at) - at : path.n - at };
}

/* Like match_pattern, with parts as characters and ** as stars. */
static bool match_alternative(const Alternative *a, Str path) {
    size_t i = 0, at = 0, star = SIZE_MAX, star_at = 0;
    while (at < path.n) {
        Str s = part_at(path, at);
        if (i < a->n && a->part[i].kind == PART_GLOBSTAR) { star = i++; star_at = at; continue; }
        if (i < a->n && match_part(&a->part[i], s)) { i++; at += s.n + 1; continue; }
        if (star == SIZE_MAX) return false;
        Str passed = part_at(path, star_at);
        if (!a->part[star].dot && passed.n && passed.at[0] == '.') return false;
        at = star_at += passed.n + 1;
        i = star + 1;
    }
    return i == a->n;
}

bool glob_match(const Glob *g, Str path) {
    for (size_t i = 0; i < g->n; i++)
        if (match_alternative(&g->alternative[i], path)) return true;
    return false;
}

static bool below_alternative(const Alternative *a, Str folder) {
    size_t at = 0;
    for (size_t i = 0; i < a->n; i++) {
        if (a->part[i].kind == PART_GLOBSTAR || at >= folder.n) return true;
        Str s = part_at(folder, at);
        if (!match_part(&a->part[i], s)) return false;
        at += s.n + 1;
    }
    return false;
}

bool glob_match_below(const Glob *g, Str folder) {
    for (size_t i = 0; i < g->n; i++)
        if (below_alternative(&g->alternative[i], folder)) return true;
    return false;
}

/* ---- words ---- */

bool glob_word(Str pattern, Str text) {
    size_t p = 0, t = 0, star = SIZE_MAX, mark = 0, n;
    while (t < text.n) {
        utf8_decode(str_sub(text, t, text.n), &n);
        if (p < pattern.n && pattern.at[p] == '*') {
            star = p++;
            mark = t;
        } else if (p < pattern.n && pattern.at[p] == '?') {
            p++;
            t += n;
        } else if (p < pattern.n && pattern.at[p] == text.at[t]) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++mark;
        } else return false;
    }
    while (p < pattern.n && pattern.at[p] == '*') p++;
    return p == pattern.n;
}
