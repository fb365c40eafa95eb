/* Inside the resolver: names and variables (resolve_names.c), the walk over the tree (resolver.c).
 *
 * Every block (module, function, comprehension) declares all the variables it binds before
 * its contents are walked, so a use is resolved when it is met. For each name there is a chain of
 * the variables it stands for in the open blocks, innermost first; leaving a block pops its
 * variables off their chains. So a lookup is one probe in a hash table. */
#pragma once
#include "base/vec.h"
#include "starlark/resolver.h"

typedef struct ResolveFn ResolveFn;
typedef struct ResolveName ResolveName;

/* A variable and what only the resolver needs to know of it. */
typedef struct ResolveVar {
    Binding bind;              /* first: the tree points at this */
    ResolveFn *owner;          /* function whose slot it is; NULL for a global */
    ResolveName *name;
    struct ResolveVar *outer;  /* of the same name, in an enclosing block */
    struct ResolveVar *sibling;/* of the same block */
    Binding *captured;         /* of a free variable: the one of the enclosing function */
    struct ResolveVar *next;   /* of the same list of its function, or of the module's globals */
    bool in_comp;
    bool early;                /* of a comprehension, and used where it is not bound yet: needs a slot of its own */
    bool reached;              /* the walk has passed a place that binds it */
    bool earlier_chunk;        /* a global that was not bound in this source yet */
} ResolveVar;

struct ResolveName {
    String *text;
    ResolveVar *top;           /* NULL: not bound in any open block */
    Binding *outside;          /* what it is when nothing binds it; looked up once */
    struct ResolveName *next;  /* in the order they were met, so that suggestions do not depend on addresses */
    uint64_t call;             /* last call that had a keyword argument of this name */
};

typedef struct ResolveVars { ResolveVar *first, **end; uint32_t n; } ResolveVars;

/* A function being walked; the outermost is the module. */
struct ResolveFn {
    AstFunction *fn;
    ResolveFn *parent;
    struct ResolveBlock *block;
    ResolveVars vars;          /* parameters and locals, slots in this order */
    ResolveVars comp_vars;     /* bind.index counts the open ones until the function is closed */
    ResolveVars frees;
    uint32_t comp_live, comp_max;  /* variables of open comprehensions, now and at most */
};

typedef struct ResolveBlock {
    struct ResolveBlock *parent;
    ResolveFn *fn;
    ResolveVar *vars;          /* linked by sibling */
    bool is_comp;
    uint32_t comp_mark;        /* fn->comp_live when it was opened */
} ResolveBlock;

typedef struct Resolver {
    AstModule *module;
    const ResolverOptions *options;
    Arena *arena;
    ResolverErrors *errors;
    ResolveBlock *block;       /* innermost */
    ResolveFn *fn;
    ResolveVars globals;
    ResolveName **slot;        /* hash table by identity of the interned text */
    uint32_t slots, names;
    ResolveName *first_name, *last_name;
    VEC(Expr *) edge;          /* the left edges of the expressions being walked */
    uint32_t loops, ifs, hints;
    uint64_t calls;
} Resolver;

void resolve_error(Resolver *r, Pos pos, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ------------------------------------------------------------------ resolve_names.c */

ResolveName *resolve_name(Resolver *r, String *text);

void resolve_open(Resolver *r, ResolveBlock *b, bool is_comp);
void resolve_close(Resolver *r);                     /* the innermost block */
void resolve_open_fn(Resolver *r, ResolveFn *f, ResolveBlock *b, AstFunction *fn);
void resolve_close_fn(Resolver *r);                  /* also gives out the slots */

bool resolve_declare(Resolver *r, Expr *name);       /* in the innermost block; false: was declared there before */
bool resolve_declare_local(Resolver *r, Expr *name); /* the same, but never as a global */
void resolve_bind(Resolver *r, Expr *name);          /* the walk meets a target that was declared */
void resolve_use(Resolver *r, Expr *name);
void resolve_seed(Resolver *r, String *name);        /* a global of an earlier chunk */
