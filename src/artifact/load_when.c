/* Finds the tools and kinds that a hook's `when` compares with. A guard for a tool that does not exist has no effect, so
 * validate reports it; one for a kind that does not exist stops the load, because kinds are a closed list. */
#include "artifact/loader.h"
#include "starlark/syntax/parser.h"

typedef struct When { Loader *l; const LoaderPlace *at; Source source; Str where; } When;

static bool is_text(const Expr *e, const char *text) {
    return e->kind == EXPR_CONST && value_is_string(e->constant) && str_eq(value_str(e->constant), str_from(text));
}

static bool is_payload(const Expr *e) { return e->kind == EXPR_NAME && str_eq(string_str(e->name.name), STR("payload")); }

/* payload[KEY] or payload.get(KEY) */
static bool is_member(const Expr *e, const char *key) {
    if (e->kind == EXPR_INDEX) return is_payload(e->index.x) && is_text(e->index.index, key);
    if (e->kind != EXPR_CALL || e->call.n == 0 || e->call.fn->kind != EXPR_DOT) return false;
    const Expr *fn = e->call.fn;
    return is_payload(fn->dot.x) && str_eq(string_str(fn->dot.name), STR("get")) && is_text(e->call.args[0].value, key);
}

typedef void Note(const When *w, Str text, Place place);

static void note_tool(const When *w, Str text, Place place) { loader_rule(w->l, w->at, w->where, text, place); }

static void note_kind(const When *w, Str text, Place place) {
    size_t n;
    const Str *known = call_kind_list(&n);
    if (text.n == 0 || call_kind_find(text)) return;         /* "": a tool without a kind */
    problems_add(w->l->docs.problems, PROBLEM_ERROR, w->at->origin.file, place, field_hint(w->l->docs.arena, text, known, n),
                 STR_FMT ": \"" STR_FMT "\" is not a kind of call", STR_ARG(w->where), STR_ARG(text));
}

static void note(const When *w, const Expr *e, Note *what) {
    if (e->kind != EXPR_CONST || !value_is_string(e->constant)) return;
    SourcePlace place = source_place(&w->source, e->pos);
    what(w, arena_str(w->l->docs.arena, value_str(e->constant)), (Place){ place.line, place.column });
}

static void note_all(const When *w, const Expr *e, Note *what) {
    for (uint32_t i = 0; (e->kind == EXPR_LIST || e->kind == EXPR_TUPLE) && i < e->list.n; i++) note(w, e->list.at[i], what);
}

static void compare(const When *w, const Expr *e, const char *key, Note *what) {
    const Expr *x = e->binary.x, *y = e->binary.y;
    if (e->op == TOKEN_EQL || e->op == TOKEN_NEQ) {
        if (is_member(x, key)) note(w, y, what);
        if (is_member(y, key)) note(w, x, what);
    } else if ((e->op == TOKEN_IN || e->op == TOKEN_NOT_IN) && is_member(x, key)) {
        note_all(w, y, what);
    }
}

/* Iterates over the chain of left operands, which may be long (ast.h), instead of recursing. */
static void walk(const When *w, const Expr *e) {
    while (e) {
        const Expr *next = NULL;
        if (e->kind == EXPR_BINARY) {
            compare(w, e, "name", note_tool);
            compare(w, e, "kind", note_kind);
            walk(w, e->binary.y);
            next = e->binary.x;
        } else if (e->kind == EXPR_UNARY) {
            next = e->unary.x;
        } else if (e->kind == EXPR_COND) {
            walk(w, e->cond.test);
            walk(w, e->cond.yes);
            next = e->cond.no;
        }
        e = next;
    }
}

void loader_when(Loader *l, const LoaderPlace *at, const char *what) {
    When w = { .l = l, .at = at, .where = str_from(arena_fmt(l->docs.arena, "%s: when", what)) };
    Value *text = dict_find_str(value_dict(at->map), STR("when"));
    w.source = (Source){ .file = at->origin.file, .text = value_str(*text) };
    document_script_place(at->document, at->map, STR("when"), &w.source.first_line, &w.source.indent);
    Heap *heap = heap_new(0);
    Arena arena = { 0 };
    AstModule *ast;
    Dict *names = dict_new(heap, 0, NULL);
    if (names && parser_expression(&(ParserInput){ &w.source, &arena, heap, names }, &ast, NULL)) walk(&w, ast->toplevel->result);
    arena_clear(&arena);
    heap_free(heap);
}
