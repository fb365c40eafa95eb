/* Runs any bytes through lexer, parser and resolver. The first byte chooses the flags and whether the rest
 * is a module or an expression. */
#include <stdlib.h>
#include "ast_dump.h"
#include "starlark/syntax/parser.h"
#include "starlark/syntax/resolver.h"

static bool is_known(void *ctx, Str name) {
    (void)ctx;
    return name.n == 3;
}

static void resolve(AstModule *m, uint8_t flags, Arena *arena) {
    static const Str suggest[] = { { "len", 3 }, { "print", 5 } };
    ResolverOptions options = { .allow_while = flags & 2, .allow_toplevel = flags & 4, .allow_load = flags & 8,
                                .is_universal = is_known, .suggest = suggest, .n_suggest = 2 };
    Error err = { 0 };
    if (!resolver_module(m, &options, arena, NULL, &err)) {
        if (err.line == 0 || err.msg[0] == 0) abort();
        return;
    }
    Buf out = { .limit = 1 << 20 };
    ast_dump(m, true, &out);
    buf_clear(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    uint8_t flags = data[0];
    Arena arena = { 0 };
    Error err = { 0 };
    Heap *heap = heap_new((size_t)64 << 20);
    Source source = { .file = STR("fuzz"), .text = { (const char *)data + 1, size - 1 }, .first_line = 3, .indent = 2 };
    ParserInput in = { &source, &arena, heap, dict_new(heap, 0, &err) };
    AstModule *m;
    if ((flags & 1 ? parser_expression : parser_module)(&in, &m, &err)) resolve(m, flags, &arena);
    else {
        if (err.line < 3 || err.msg[0] == 0) abort();
        Buf out = { 0 };
        source_excerpt(&source, err.line, err.column, &out);
        if (out.n == 0) abort();                     /* every error has a position in the text */
        buf_clear(&out);
    }
    if (flags & 16) parser_wants_more(source.text);
    arena_clear(&arena);
    heap_free(heap);
    return 0;
}
