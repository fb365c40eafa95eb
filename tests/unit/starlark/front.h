/* Converts source text to one line of text: tokens, a tree, or "LINE:COLUMN: message". */
#pragma once
#include "ast_dump.h"
#include "unit.h"
#include "starlark/syntax/parser.h"
#include "starlark/syntax/resolver.h"

typedef struct { Arena arena; Heap *heap; Dict *names; Source source; Buf out; } Front;

static inline Front front_open(Str text) {
    Front f = { .heap = heap_new(0), .source = { .file = STR("f.star"), .text = text } };
    f.names = dict_new(f.heap, 0, NULL);
    return f;
}

static inline void front_close(Front *f) {
    arena_clear(&f->arena);
    heap_free(f->heap);
    buf_clear(&f->out);
}

static inline ParserInput front_input(Front *f) { return (ParserInput){ &f->source, &f->arena, f->heap, f->names }; }

static inline void front_add_error(Front *f, const Error *err) {
    buf_add_fmt(&f->out, "%s%u:%u: %s", f->out.n ? "\n" : "", err->line, err->column, err->msg);
}

/* Writes the tree, or the error. */
static inline void front_parse(Front *f, bool expression) {
    ParserInput in = front_input(f);
    AstModule *m;
    Error err = { 0 };
    bool ok = expression ? parser_expression(&in, &m, &err) : parser_module(&in, &m, &err);
    if (ok) ast_dump(m, false, &f->out);
    else front_add_error(f, &err);
}

/* Writes the tree with scopes, or every error on its own line. */
static inline void front_resolve(Front *f, const ResolverOptions *options) {
    ParserInput in = front_input(f);
    AstModule *m;
    Error err = { 0 };
    if (!parser_module(&in, &m, &err)) {
        front_add_error(f, &err);
        return;
    }
    ResolverErrors *all = ARENA_NEW(&f->arena, ResolverErrors);
    if (resolver_module(m, options, &f->arena, all, &err)) {
        assert_int_equal(all->n, 0);
        ast_dump(m, true, &f->out);
        return;
    }
    assert_true(all->n > 0 && all->n <= all->total);
    assert_string_equal(err.msg, all->at[0].msg);
    for (size_t i = 0; i < all->n; i++) front_add_error(f, &all->at[i]);
}

static inline void front_expect(Front *f, const char *want) {
    const char *got = buf_str(&f->out).at;
    if (strcmp(got, want) != 0)
        fail_msg("source: " STR_FMT "\n got: %s\nwant: %s", STR_ARG(f->source.text), got, want);
    front_close(f);
}
