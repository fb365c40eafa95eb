/* Private header of the resolver: names and variables (resolve_names.c), the walk over the tree
 * (resolver.c).
 *
 * Every block (module, function, comprehension) declares all variables it binds before its contents
 * are walked, so each use can be resolved at once. Each name has a chain of the variables it
 * denotes in the open blocks, innermost first; closing a block pops its variables off their chains.
 * A lookup is one probe in a hash table. */
#pragma once
#include "base/vec.h"
#include "starlark/syntax/resolver.h"

typedef struct ResolveFn ResolveFn;
typedef struct ResolveName ResolveName;

/* A variable with the state that only the resolver needs. */
typedef struct ResolveVar {
    Binding bind;              /* must be first: the tree points at it */
    ResolveFn *owner;          /* function that has its slot; NULL for a global */
    ResolveName *name;
    struct ResolveVar *outer;  /* same name, in an enclosing block */
    struct ResolveVar *sibling;/* next of the same block */
    Binding *captured;         /* of a free variable: the binding in the enclosing function */
    struct ResolveVar *next;   /* next in the list of its function, or of the module's globals */
    bool in_comp;
    bool early;                /* of a comprehension, and used before it is bound: needs a slot of its own */
    bool reached;              /* the walk has passed a statement that binds it */
    bool earlier_chunk;        /* a global not yet bound in this source */
} ResolveVar;

struct ResolveName {
    String *text;
    ResolveVar *top;           /* NULL: not bound in any open block */
    Binding *outside;          /* its binding if no block binds it; looked up once */
    struct ResolveName *next;  /* in order of first use, so that suggestions do not depend on addresses */
    uint64_t call;             /* last call with a keyword argument of this name */
};

typedef struct ResolveVars { ResolveVar *first, **end; uint32_t n; } ResolveVars;

/* A function being walked; the outermost is the module. */
struct ResolveFn {
    AstFunction *fn;
    ResolveFn *parent;
    struct ResolveBlock *block;
    ResolveVars vars;          /* parameters and locals, slots in this order */
    ResolveVars comp_vars;     /* until the function is closed, bind.index is the number of open ones */
    ResolveVars frees;
    uint32_t comp_live, comp_max;  /* variables of open comprehensions: now, and maximum */
};

typedef struct ResolveBlock {
    struct ResolveBlock *parent;
    ResolveFn *fn;
    ResolveVar *vars;          /* linked by `sibling` */
    bool is_comp;
    uint32_t comp_mark;        /* fn->comp_live when the block was opened */
} ResolveBlock;

typedef struct Resolver {
    AstModule *module;
    const ResolverOptions *options;
    Arena *arena;
    ResolverErrors *errors;
    ResolveBlock *block;       /* innermost */
    ResolveFn *fn;
    ResolveVars globals;
    ResolveName **slot;        /* hash table keyed by the address of the interned text */
    uint32_t slots, names;
    ResolveName *first_name, *last_name;
    VEC(Expr *) edge;          /* left edges of the expressions being walked */
    uint32_t loops, ifs, hints;
    uint64_t calls;
} Resolver;

void resolve_error(Resolver *r, Pos pos, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ------------------------------------------------------------------ resolve_names.c */

ResolveName *resolve_name(Resolver *r, String *text);

void resolve_open(Resolver *r, ResolveBlock *b, bool is_comp);
void resolve_close(Resolver *r);                     /* the innermost block */
void resolve_open_fn(Resolver *r, ResolveFn *f, ResolveBlock *b, AstFunction *fn);
void resolve_close_fn(Resolver *r);                  /* also assigns slots */

bool resolve_declare(Resolver *r, Expr *name);       /* in the innermost block; false: already declared there */
bool resolve_declare_local(Resolver *r, Expr *name); /* same, but never as a global */
void resolve_bind(Resolver *r, Expr *name);          /* the walk reached a declared target */
void resolve_use(Resolver *r, Expr *name);
void resolve_seed(Resolver *r, String *name);        /* adds a global of an earlier chunk */
