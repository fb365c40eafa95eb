/* Gives every name its meaning, and reports everything that can be known to be wrong without
 * running the program. */
#pragma once
#include "starlark/ast.h"

typedef bool ResolverLookup(void *ctx, Str name);

typedef struct ResolverOptions {
    bool allow_while;          /* while loops at all */
    bool allow_toplevel;       /* if, for and while outside of functions; rebinding of globals */
    bool allow_load;
    ResolverLookup *is_predeclared, *is_universal;   /* NULL: none */
    void *ctx;
    const Str *suggest;        /* names that the two know, for "did you mean"; may be empty */
    size_t n_suggest;
    String *const *known;      /* globals of earlier chunks at a prompt: they get the first indices and may be bound again */
    uint32_t n_known;
} ResolverOptions;

/* The first RESOLVER_ERRORS_MAX errors, in source order. */
enum { RESOLVER_ERRORS_MAX = 20 };
typedef struct ResolverErrors { Error at[RESOLVER_ERRORS_MAX]; size_t n, total; } ResolverErrors;

/* On failure `err` is the first error in source order, and all of them are in `all` unless it is NULL.
 * Either way the tree must not be resolved again. */
bool resolver_module(AstModule *m, const ResolverOptions *options, Arena *arena, ResolverErrors *all, Error *err);
