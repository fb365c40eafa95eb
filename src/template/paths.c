/* Finds paths of a template that no context can have, because a misspelled path would silently render as nothing. */
#include <stdlib.h>
#include "template/ast.h"

/* The path of "this": "" is the root, "a.list[]" an item of a list. `known` is false below a path that has been
 * reported, or whose members are unknown. */
typedef struct PathScope { Str path; bool known; const struct PathScope *up; } PathScope;
typedef struct PathCheck { const Template *t; const char *const *known; TemplatePathReport *report; void *ctx; Arena arena; } PathCheck;

/* True if `path` is a prefix of `known` that ends between two parts. */
static bool leads_to(Str path, Str known) {
    if (str_ends(known, STR(".*"))) {
        known.n -= 2;
        if (str_starts(path, known) && (path.n == known.n || path.at[known.n] == '.')) return true;
    }
    return str_starts(known, path) && (path.n == 0 || path.n == known.n || known.at[path.n] == '.' || known.at[path.n] == '[');
}

static bool is_known(const PathCheck *c, Str path) {
    for (size_t i = 0; c->known[i]; i++)
        if (leads_to(path, str_from(c->known[i]))) return true;
    return false;
}

static bool is_list(PathCheck *c, Str path) {
    return is_known(c, str_from(arena_fmt(&c->arena, STR_FMT "[]", STR_ARG(path))));
}

static bool is_number(Str s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] < '0' || s.at[i] > '9') return false;
    return s.n > 0;
}

static Str join(PathCheck *c, Str path, Str part) {
    if (is_number(part) && is_list(c, path)) return str_from(arena_fmt(&c->arena, STR_FMT "[]", STR_ARG(path)));
    return str_from(arena_fmt(&c->arena, STR_FMT "%s" STR_FMT, STR_ARG(path), path.n ? "." : "", STR_ARG(part)));
}

static void report(PathCheck *c, const AstNode *n) {
    uint32_t line, column;
    Buf text = { 0 };
    ast_place(c->t->text, n->at, &line, &column);
    ast_path_text(&text, &n->path);
    c->report(c->ctx, buf_str(&text), line, column);
    buf_clear(&text);
}

/* Resolves the path of a node in `scope`. Reports an unknown path. */
static PathScope resolve(PathCheck *c, const AstNode *n, const PathScope *scope) {
    PathScope out = { .up = scope };
    const AstPath *path = &n->path;
    uint32_t first = 0;
    if (path->data) {
        if (path->n == 0 || !str_eq(path->part[0], STR("root"))) return out;
        for (; scope->up; scope = scope->up) continue;
        first = 1;
    }
    for (uint32_t i = 0; !path->data && i < path->depth && scope; i++) scope = scope->up;
    if (!scope || !scope->known) return out;
    out.path = scope->path;
    for (uint32_t i = first; i < path->n; i++) {
        if (i + 1 == path->n && str_eq(path->part[i], STR("length"))) return (PathScope){ .up = out.up };
        out.path = join(c, out.path, path->part[i]);
    }
    out.known = is_known(c, out.path);
    if (!out.known) report(c, n);
    return out;
}

static void check_body(PathCheck *c, const AstBody *b, const PathScope *scope);

static void check_node(PathCheck *c, const AstNode *n, const PathScope *scope) {
    if (n->kind == AST_TEXT || n->kind == AST_COMMENT) return;
    PathScope inner = resolve(c, n, scope);
    if (n->kind == AST_VALUE) return;
    if (n->kind == AST_EACH) {
        inner.known = inner.known && is_list(c, inner.path);     /* the member names of a map are unknown */
        if (inner.known) inner.path = str_from(arena_fmt(&c->arena, STR_FMT "[]", STR_ARG(inner.path)));
    }
    bool enters = n->kind == AST_EACH || n->kind == AST_WITH;
    check_body(c, n->main, enters ? &inner : scope);
    if (n->other) check_body(c, n->other, scope);
}

/* At most TEMPLATE_DEPTH_MAX deep. */
static void check_body(PathCheck *c, const AstBody *b, const PathScope *scope) {
    for (size_t i = 0; i < b->n; i++) check_node(c, &b->node[i], scope);
}

void template_unknown_paths(const Template *t, const char *const *known, TemplatePathReport *each, void *ctx) {
    PathCheck c = { .t = t, .known = known, .report = each, .ctx = ctx };
    check_body(&c, &t->body, &(PathScope){ .path = STR(""), .known = true });
    arena_clear(&c.arena);
}
