#include "guard/jsonc.h"
#include <string.h>
#include "base/utf8.h"
#include "value/json.h"

enum { DEPTH_MAX = 64 };

typedef struct Reader { Str text; size_t at; Arena *arena; Error *err; } Reader;

/* ---- reading ---- */

static bool fail(Reader *r, const char *what) {
    uint32_t line = 1, column = 1;
    for (size_t i = 0; i < r->at && i < r->text.n; i++) {
        column++;
        if (r->text.at[i] == '\n') line++, column = 1;
    }
    return error_set_at(r->err, ERR_PARSE, line, column, "%s", what);
}

static char peek(const Reader *r) { return r->at < r->text.n ? r->text.at[r->at] : 0; }
static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* White space and comments. */
static bool skip(Reader *r) {
    for (;;) {
        Str rest = str_sub(r->text, r->at, r->text.n);
        if (is_space(peek(r))) r->at++;
        else if (str_starts(rest, STR("//"))) {
            ptrdiff_t end = str_find_char(rest, '\n');
            r->at = end < 0 ? r->text.n : r->at + (size_t)end;
        } else if (str_starts(rest, STR("/*"))) {
            ptrdiff_t end = str_find(str_sub(rest, 2, rest.n), STR("*/"));
            if (end < 0) return fail(r, "a comment is not closed");
            r->at += (size_t)end + 4;
        } else return true;
    }
}

static bool read_string(Reader *r, size_t *from, size_t *to) {
    *from = r->at++;
    while (r->at < r->text.n && peek(r) != '"') {
        if (peek(r) == '\n') return fail(r, "a string is not closed");
        r->at += peek(r) == '\\' ? 2 : 1;
    }
    if (r->at >= r->text.n) return fail(r, "a string is not closed");
    *to = ++r->at;
    Heap *heap = heap_new(1 << 20);
    Error ignored = { 0 };
    Value v;
    bool ok = json_read(heap, str_sub(r->text, *from, *to), NULL, &v, &ignored);
    heap_free(heap);
    return ok || fail(r, "a string is not valid JSON");
}

static bool read_value(Reader *r, int depth, JsoncNode *out);

static bool read_key(Reader *r, JsoncNode *n) {
    size_t to;
    if (peek(r) != '"') return fail(r, "expected a key in double quotes");
    if (!read_string(r, &n->key_from, &to)) return false;
    n->key = jsonc_string(r->text, &(JsoncNode){ .kind = JSONC_STRING, .from = n->key_from, .to = to }, r->arena);
    if (!skip(r)) return false;
    if (peek(r) != ':') return fail(r, "expected : after the key");
    r->at++;
    return skip(r);
}

static bool read_container(Reader *r, int depth, JsoncNode *out) {
    char close = out->kind == JSONC_OBJECT ? '}' : ']';
    r->at++;
    for (;;) {
        if (!skip(r)) return false;
        if (peek(r) == close) break;
        if (out->last && !out->last->comma) return fail(r, "expected , or the end of the list");
        JsoncNode *n = ARENA_NEW(r->arena, JsoncNode);
        n->key_from = r->at;
        if ((out->kind == JSONC_OBJECT && !read_key(r, n)) || !read_value(r, depth + 1, n)) return false;
        if (out->last) out->last->next = n;
        else out->first = n;
        out->last = n;
        if (!skip(r)) return false;
        if (peek(r) == ',') n->comma = r->at++;
    }
    out->to = ++r->at;
    return true;
}

static bool read_plain(Reader *r, JsoncNode *out) {
    while (r->at < r->text.n && (peek(r) == '-' || peek(r) == '+' || peek(r) == '.' || (peek(r) >= '0' && peek(r) <= '9')
        || (peek(r) >= 'a' && peek(r) <= 'z') ||
                                 peek(r) == 'E')) r->at++;
    out->to = r->at;
    Heap *heap = heap_new(1 << 16);
    Error ignored = { 0 };
    Value v;
    bool ok = json_read(heap, str_sub(r->text, out->from, out->to), NULL, &v, &ignored);
    heap_free(heap);
    if (!ok) r->at = out->from;
    return ok || fail(r, "expected a value");
}

static bool read_value(Reader *r, int depth, JsoncNode *out) {
    if (depth > DEPTH_MAX) return fail(r, "nested too deeply");
    out->from = r->at;
    switch (peek(r)) {
    case '{':
        out->kind = JSONC_OBJECT;
        return read_container(r, depth, out);
    case '[':
        out->kind = JSONC_ARRAY;
        return read_container(r, depth, out);
    case '"':
        out->kind = JSONC_STRING;
        return read_string(r, &out->from, &out->to);
    default:
        out->kind = JSONC_PLAIN;
        return read_plain(r, out);
    }
}

bool jsonc_read(Str text, Arena *arena, const JsoncNode **out, Error *err) {
    Reader r = { .text = text, .arena = arena, .err = err };
    JsoncNode *root = ARENA_NEW(arena, JsoncNode);
    *out = NULL;
    if (!utf8_valid(text)) return error_set(err, ERR_PARSE, "it is not UTF-8");
    if (str_starts(text, STR("\xEF\xBB\xBF"))) r.at = 3;
    if (!skip(&r)) return false;
    if (r.at == text.n) return true;
    if (!read_value(&r, 0, root) || !skip(&r)) return false;
    if (r.at < text.n) return fail(&r, "there is more text after the end of the value");
    *out = root;
    return true;
}

const JsoncNode *jsonc_member(const JsoncNode *object, Str key) {
    const JsoncNode *found = NULL;
    for (const JsoncNode *n = object && object->kind == JSONC_OBJECT ? object->first : NULL; n; n = n->next)
        if (str_eq(n->key, key)) found = n;
    return found;
}

Str jsonc_string(Str text, const JsoncNode *n, Arena *arena) {
    if (!n || n->kind != JSONC_STRING) return STR("");
    Heap *heap = heap_new(1 << 20);
    Error ignored = { 0 };
    Value v;
    Str s = STR("");
    if (json_read(heap, str_sub(text, n->from, n->to), NULL, &v, &ignored)) s = arena_str(arena, value_str(v));
    heap_free(heap);
    return s;
}

/* ---- editing ---- */

static Str line_end(Str text) {
    ptrdiff_t n = str_find_char(text, '\n');
    return n > 0 && text.at[n - 1] == '\r' ? STR("\r\n") : STR("\n");
}

/* The white space at the beginning of the line of `at`. */
static Str indentation(Str text, size_t at) {
    size_t from = at;
    while (from > 0 && text.at[from - 1] != '\n') from--;
    size_t to = from;
    while (to < at && (text.at[to] == ' ' || text.at[to] == '\t')) to++;
    return str_sub(text, from, to);
}

/* One level of indentation, as the file uses it first. */
static Str step_of(Str text) {
    for (size_t i = 0; i + 1 < text.n; i++) {
        if (text.at[i] != '\n') continue;
        Str line = str_sub(text, i + 1, text.n);
        size_t n = 0;
        while (n < line.n && (line.at[n] == ' ' || line.at[n] == '\t')) n++;
        if (n && n < line.n && !is_space(line.at[n])) return str_sub(line, 0, line.at[0] == '\t' ? 1 : n);
    }
    return STR("  ");
}

static void add_pair(Buf *out, const JsoncNode *to, Str key, Str value) {
    if (to->kind == JSONC_OBJECT) {
        json_write_string(out, key, false);
        buf_add(out, STR(": "));
    }
    buf_add(out, value);
}

static bool has_newline(Str s) { return str_find_char(s, '\n') >= 0; }

/* Where a new last value goes: after the last value and the comments that follow it. */
static size_t end_of_content(Str text, const JsoncNode *c) {
    size_t at = c->to - 1;
    while (at > c->from + 1 && is_space(text.at[at - 1])) at--;
    return at;
}

void jsonc_add(Str text, const JsoncNode *to, Str key, Str value, Buf *out) {
    size_t end = end_of_content(text, to);
    Str inside = str_sub(text, to->from + 1, to->to - 1), base = indentation(text, to->from), nl = line_end(text);
    bool one_line = to->last && !has_newline(inside), comma = to->last && !to->last->comma;
    if (comma) {
        buf_add(out, str_sub(text, 0, to->last->to));
        buf_add_char(out, ',');
        buf_add(out, str_sub(text, to->last->to, end));
    } else buf_add(out, str_sub(text, 0, end));
    if (one_line) {
        buf_add_char(out, ' ');
        add_pair(out, to, key, value);
        buf_add(out, str_sub(text, end, text.n));
        return;
    }
    buf_add(out, nl);
    buf_add(out, base);
    buf_add(out, step_of(text));
    add_pair(out, to, key, value);
    if (has_newline(inside)) buf_add(out, str_sub(text, end, text.n));
    else {
        buf_add(out, nl);
        buf_add(out, base);
        buf_add(out, str_sub(text, to->to - 1, text.n));
    }
}

static const JsoncNode *before(const JsoncNode *c, const JsoncNode *n) {
    const JsoncNode *prev = NULL;
    for (const JsoncNode *m = c->first; m && m != n; m = m->next) prev = m;
    return prev;
}

void jsonc_remove(Str text, const JsoncNode *from, const JsoncNode *n, Buf *out) {
    const JsoncNode *prev = before(from, n);
    size_t begin = n->key_from, end = n->comma ? n->comma + 1 : n->to;
    while (begin > from->from + 1 && is_space(text.at[begin - 1])) begin--;
    bool drop_comma = prev && !n->next && !n->comma;             /* the last value: the comma before it goes too */
    if (drop_comma) {
        buf_add(out, str_sub(text, 0, prev->comma));
        buf_add(out, str_sub(text, prev->comma + 1, begin > prev->comma ? begin : prev->comma + 1));
    } else buf_add(out, str_sub(text, 0, begin));
    if (!prev && !n->next && str_trim(str_sub(text, from->from + 1, begin)).n == 0)       /* it was alone: the container is empty */
        while (end < from->to - 1 && is_space(text.at[end])) end++;
    buf_add(out, str_sub(text, end, text.n));
}
