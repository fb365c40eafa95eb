/* Binds every name and reports all errors that can be detected without running the program. */
#pragma once
#include "starlark/syntax/ast.h"

typedef bool ResolverLookup(void *ctx, Str name);

typedef struct ResolverOptions {
    bool allow_while;          /* permit while loops */
    bool allow_toplevel;       /* permit if, for and while outside of functions, and rebinding of globals */
    bool allow_load;
    ResolverLookup *is_predeclared, *is_universal;   /* NULL: none */
    void *ctx;
    const Str *suggest;        /* names known to the two lookups, for "did you mean"; may be empty */
    size_t n_suggest;
    String *const *known;      /* globals of earlier chunks at a prompt: they get the first indices and may be rebound */
    uint32_t n_known;
} ResolverOptions;

/* The first RESOLVER_ERRORS_MAX errors, in source order. */
enum { RESOLVER_ERRORS_MAX = 20 };
typedef struct ResolverErrors { Error at[RESOLVER_ERRORS_MAX]; size_t n, total; } ResolverErrors;

/* On failure, sets `err` to the first error in source order and adds all of them to `all` unless it is
 * NULL. In either case the tree must not be resolved again. */
bool resolver_module(AstModule *m, const ResolverOptions *options, Arena *arena, ResolverErrors *all, Error *err);
