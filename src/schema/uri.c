#include "schema/uri.h"

#include <ctype.h>

typedef struct { Str scheme, authority, path, query, fragment; } Parts;    /* .at is NULL if absent; without delimiters */

static size_t span(Str s, size_t from, const char *stops) {
    while (from < s.n && (s.at[from] == 0 || !strchr(stops, s.at[from]))) from++;
    return from;
}

static size_t scheme_length(Str s) {
    size_t i = 0;
    if (s.n == 0 || !isalpha((unsigned char)s.at[0])) return 0;
    while (i < s.n && (isalnum((unsigned char)s.at[i]) || s.at[i] == '+' || s.at[i] == '-' || s.at[i] == '.')) i++;
    return i < s.n && s.at[i] == ':' ? i : 0;
}

static Parts take_apart(Str s) {
    Parts p = { 0 };
    size_t at = scheme_length(s);
    if (at) p.scheme = str_sub(s, 0, at), at++;
    if (s.n - at >= 2 && s.at[at] == '/' && s.at[at + 1] == '/') {
        size_t end = span(s, at + 2, "/?#");
        p.authority = str_sub(s, at + 2, end);
        at = end;
    }
    size_t end = span(s, at, "?#");
    p.path = str_sub(s, at, end);
    if (end < s.n && s.at[end] == '?') {
        at = end + 1;
        end = span(s, at, "#");
        p.query = str_sub(s, at, end);
    }
    if (end < s.n) p.fragment = str_sub(s, end + 1, s.n);
    return p;
}

/* Appends `path` without "." and ".." segments; `floor` is the offset of the path in b. */
static void add_path(Buf *b, Str path, size_t floor) {
    for (size_t at = 0; at < path.n;) {
        size_t end = span(path, at + (path.at[at] == '/'), "/");
        Str piece = str_sub(path, at, end), name = piece;
        if (name.n && name.at[0] == '/') name = str_sub(name, 1, name.n);
        bool dot = str_eq(name, STR(".")), dots = str_eq(name, STR(".."));
        if (dots) {
            while (b->n > floor && b->at[b->n - 1] != '/') b->n--;
            if (b->n > floor) b->n--;
        }
        if (!dot && !dots) buf_add(b, b->n == floor && path.at[0] != '/' ? name : piece);   /* a relative path stays relative */
        else if (end == path.n && (piece.n != name.n || b->n > floor)) buf_add_char(b, '/');
        at = end;
    }
}

static void add_part(Buf *b, const char *before, Str part, const char *after) {
    if (!part.at) return;
    buf_add(b, str_from(before));
    buf_add(b, part);
    buf_add(b, str_from(after));
}

static void add_merged(Buf *b, const Parts *base, const Parts *r) {
    size_t floor = b->n;
    if (r->path.n == 0) { buf_add(b, base->path); return; }
    if (r->path.at[0] == '/') { add_path(b, r->path, floor); return; }
    Buf merged = { 0 };
    size_t keep = base->path.n;
    while (keep && base->path.at[keep - 1] != '/') keep--;
    if (base->authority.at && base->path.n == 0) buf_add_char(&merged, '/');
    buf_add(&merged, str_sub(base->path, 0, keep));
    buf_add(&merged, r->path);
    add_path(b, buf_str(&merged), floor);
    buf_clear(&merged);
}

Str uri_resolve(Str base, Str reference, Arena *arena) {
    if (reference.n == 0) return arena_str(arena, str_sub(base, 0, span(base, 0, "#")));
    Parts r = take_apart(reference), p = take_apart(base);
    Buf b = { 0 };
    if (r.scheme.at) {
        add_part(&b, "", r.scheme, ":");
        add_part(&b, "//", r.authority, "");
        if (r.authority.at || (r.path.n && r.path.at[0] == '/')) add_path(&b, r.path, b.n);
        else buf_add(&b, r.path);                          /* urn:a/../b is not a path */
        add_part(&b, "?", r.query, "");
    } else {
        add_part(&b, "", p.scheme, ":");
        add_part(&b, "//", r.authority.at ? r.authority : p.authority, "");
        if (r.authority.at) add_path(&b, r.path, b.n);
        else add_merged(&b, &p, &r);
        add_part(&b, "?", r.query.at || r.authority.at || r.path.n ? r.query : p.query, "");
    }
    add_part(&b, "#", r.fragment, "");
    Str out = arena_str(arena, buf_str(&b));
    buf_clear(&b);
    return out;
}

void uri_split(Str uri, Str *document, Str *fragment) {
    size_t at = span(uri, 0, "#");
    *document = str_sub(uri, 0, at);
    *fragment = at < uri.n ? str_sub(uri, at + 1, uri.n) : (Str){ NULL, 0 };
}

bool uri_is_absolute(Str uri) { return scheme_length(uri) > 0; }

static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

Str uri_decode(Str text, Arena *arena) {
    char *out = arena_alloc(arena, text.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        bool code = text.at[i] == '%' && text.n - i > 2 && digit(text.at[i + 1]) >= 0 && digit(text.at[i + 2]) >= 0;
        char c = text.at[i];
        if (code) c = (char)(digit(text.at[i + 1]) << 4 | digit(text.at[i + 2])), i += 2;
        out[n++] = c;
    }
    out[n] = 0;
    return (Str){ out, n };
}
