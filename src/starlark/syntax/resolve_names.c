#include "starlark/syntax/resolve_private.h"
#include <stdlib.h>
#include "base/mem.h"
#include "starlark/syntax/habits.h"

/* ------------------------------------------------------------------ the table of names */

static uint32_t spread(const String *text) {
    uint64_t x = (uint64_t)(uintptr_t)text * 0x9e3779b97f4a7c15u;
    return (uint32_t)(x >> 32);
}

static ResolveName **find_slot(ResolveName **slot, uint32_t slots, const String *text) {
    uint32_t i = spread(text) & (slots - 1);
    while (slot[i] && slot[i]->text != text) i = (i + 1) & (slots - 1);
    return &slot[i];
}

static void grow_names(Resolver *r) {
    uint32_t slots = r->slots ? r->slots * 2 : 64;
    ResolveName **slot = mem_zero(slots, sizeof *slot);
    for (uint32_t i = 0; i < r->slots; i++)
        if (r->slot[i]) *find_slot(slot, slots, r->slot[i]->text) = r->slot[i];
    free(r->slot);
    r->slot = slot;
    r->slots = slots;
}

ResolveName *resolve_name(Resolver *r, String *text) {
    if (r->names >= r->slots / 2) grow_names(r);
    ResolveName **at = find_slot(r->slot, r->slots, text);
    if (!*at) {
        *at = ARENA_NEW(r->arena, ResolveName);
        (*at)->text = text;
        *(r->last_name ? &r->last_name->next : &r->first_name) = *at;
        r->last_name = *at;
        r->names++;
    }
    return *at;
}

/* ------------------------------------------------------------------ blocks */

static void append(ResolveVars *list, ResolveVar *v) {
    if (!list->end) list->end = &list->first;
    *list->end = v;
    list->end = &v->next;
    list->n++;
}

void resolve_open(Resolver *r, ResolveBlock *b, bool is_comp) {
    *b = (ResolveBlock){ .parent = r->block, .fn = r->fn, .is_comp = is_comp, .comp_mark = r->fn->comp_live };
    r->block = b;
}

void resolve_close(Resolver *r) {
    ResolveBlock *b = r->block;
    for (ResolveVar *v = b->vars; v; v = v->sibling) v->name->top = v->outer;
    b->fn->comp_live = b->comp_mark;
    r->block = b->parent;
}

void resolve_open_fn(Resolver *r, ResolveFn *f, ResolveBlock *b, AstFunction *fn) {
    *f = (ResolveFn){ .fn = fn, .parent = r->fn, .block = b };
    r->fn = f;
    resolve_open(r, b, false);
}

/* Variables of comprehensions that are never open together share slots, except cells (an inner
 * function may outlive the comprehension) and those read before they are bound. */
static void place_comp_vars(Resolver *r, ResolveFn *f) {
    uint32_t n = f->vars.n, *slot = ARENA_ARRAY(r->arena, uint32_t, f->comp_max);   /* place → slot + 1 */
    for (ResolveVar *v = f->comp_vars.first; v; v = v->next) {
        uint32_t *shared = &slot[v->bind.index];
        if (v->early || v->bind.scope == SCOPE_CELL) v->bind.index = n++;
        else {
            if (*shared == 0) *shared = ++n;
            v->bind.index = *shared - 1;
        }
    }
    f->fn->n_locals = n;
}

static void fill_locals(AstFunction *fn, const ResolveVars *vars) {
    for (ResolveVar *v = vars->first; v; v = v->next) {
        AstLocal *local = &fn->locals[v->bind.index];
        if (local->name) continue;                   /* a shared slot keeps its first name */
        *local = (AstLocal){ .name = v->bind.name, .is_cell = v->bind.scope == SCOPE_CELL };
    }
}

void resolve_close_fn(Resolver *r) {
    ResolveFn *f = r->fn;
    AstFunction *fn = f->fn;
    place_comp_vars(r, f);
    fn->locals = ARENA_ARRAY(r->arena, AstLocal, fn->n_locals);
    fill_locals(fn, &f->vars);
    fill_locals(fn, &f->comp_vars);
    resolve_close(r);
    r->fn = f->parent;
}

/* ------------------------------------------------------------------ declaring */

static ResolveVar *new_var(Resolver *r, ResolveBlock *b, ResolveName *name, Scope scope, Pos first) {
    ResolveVar *v = ARENA_NEW(r->arena, ResolveVar);
    v->bind = (Binding){ .scope = scope, .name = name->text, .first = first };
    v->name = name;
    v->outer = name->top;
    name->top = v;
    v->sibling = b->vars;
    b->vars = v;
    return v;
}

/* True if v, the innermost variable of its name, belongs to block b itself. Free variables are
 * listed in their function's block too, but only after all declarations. */
static bool is_own(const ResolveBlock *b, const ResolveVar *v) {
    if (!v) return false;
    if (b->parent == NULL) return true;
    return v->owner == b->fn && v->in_comp == b->is_comp && (!b->is_comp || v->bind.index >= b->comp_mark);
}

bool resolve_declare_local(Resolver *r, Expr *e) {
    ResolveName *name = resolve_name(r, e->name.name);
    ResolveBlock *b = r->block;
    if (is_own(b, name->top)) return false;
    ResolveVar *v = new_var(r, b, name, SCOPE_LOCAL, e->pos);
    ResolveFn *f = v->owner = b->fn;
    v->in_comp = b->is_comp;
    if (!b->is_comp) {
        v->bind.index = f->vars.n;
        append(&f->vars, v);
        return true;
    }
    v->bind.index = f->comp_live++;
    if (f->comp_live > f->comp_max) f->comp_max = f->comp_live;
    append(&f->comp_vars, v);
    return true;
}

static ResolveVar *new_global(Resolver *r, ResolveName *name, Pos pos) {
    ResolveVar *v = new_var(r, r->fn->block, name, SCOPE_GLOBAL, pos);
    v->bind.index = r->globals.n;
    append(&r->globals, v);
    return v;
}

static void fail_reassign(Resolver *r, const Expr *e, const ResolveVar *v) {
    const Source *s = r->module->source;
    SourcePlace place = source_place(s, v->bind.first);
    resolve_error(r, e->pos, "cannot reassign %s " STR_FMT " declared at " STR_FMT ":%u:%u",
                  v->bind.scope == SCOPE_GLOBAL ? "global" : "local", STR_ARG(string_str(e->name.name)),
                  STR_ARG(s->file), place.line, place.column);
}

bool resolve_declare(Resolver *r, Expr *e) {
    if (r->block->parent) return resolve_declare_local(r, e);
    ResolveName *name = resolve_name(r, e->name.name);
    ResolveVar *v = name->top;
    if (!v) {
        new_global(r, name, e->pos);
        return true;
    }
    if (v->earlier_chunk) {
        v->earlier_chunk = false;
        v->bind.first = e->pos;
        return true;
    }
    if (!r->options->allow_toplevel) fail_reassign(r, e, v);
    return false;
}

void resolve_seed(Resolver *r, String *text) {
    ResolveName *name = resolve_name(r, text);
    if (name->top) return;
    ResolveVar *v = new_global(r, name, (Pos){ 0, 0 });
    v->reached = v->earlier_chunk = true;
}

void resolve_bind(Resolver *r, Expr *e) {
    ResolveVar *v = resolve_name(r, e->name.name)->top;
    v->reached = true;
    e->name.bind = &v->bind;
}

/* ------------------------------------------------------------------ uses */

/* Returns the variable as function f sees it: its own, or a free variable captured through the
 * enclosing functions. Pushes outer ones onto the chain first, which keeps the chain in order. */
static ResolveVar *capture(Resolver *r, ResolveFn *f, ResolveVar *v) {
    if (v->owner == f) return v;
    ResolveVar *up = capture(r, f->parent, v);
    if (up->bind.scope == SCOPE_LOCAL) up->bind.scope = SCOPE_CELL;
    ResolveVar *own = new_var(r, f->block, v->name, SCOPE_FREE, v->bind.first);
    own->owner = f;
    own->reached = true;
    own->bind.index = f->frees.n;
    append(&f->frees, own);
    own->captured = &up->bind;
    return own;
}

/* Suggests for the first few undefined names only: each search scans all names. */
static Str suggestion(Resolver *r, const String *word) {
    if (r->hints++ >= RESOLVER_ERRORS_MAX) return (Str){ 0 };
    VEC(Str) names = { 0 };
    for (ResolveName *name = r->first_name; name; name = name->next)
        if (name->top && name->text != word) VEC_PUSH(&names, string_str(name->text));
    for (size_t i = 0; i < r->options->n_suggest; i++) VEC_PUSH(&names, r->options->suggest[i]);
    Str best = str_nearest(string_str(word), names.at, names.n);
    VEC_CLEAR(&names);
    return best;
}

static void fail_undefined(Resolver *r, const Expr *e) {
    Str word = string_str(e->name.name);
    const char *advice = habits_name(word);
    Str best = advice ? STR("") : suggestion(r, e->name.name);
    if (advice) resolve_error(r, e->pos, "undefined: " STR_FMT " (%s)", STR_ARG(word), advice);
    else if (best.n == 0) resolve_error(r, e->pos, "undefined: " STR_FMT, STR_ARG(word));
    else resolve_error(r, e->pos, "undefined: " STR_FMT " (did you mean " STR_FMT "?)", STR_ARG(word), STR_ARG(best));
}

/* The binding of a name that no block binds. */
static Binding *outside(Resolver *r, ResolveName *name) {
    if (name->outside) return name->outside;
    const ResolverOptions *o = r->options;
    Str text = string_str(name->text);
    Binding *b = name->outside = ARENA_NEW(r->arena, Binding);
    b->name = name->text;
    if (o->is_predeclared && o->is_predeclared(o->ctx, text)) b->scope = SCOPE_PREDECLARED;
    else if (o->is_universal && o->is_universal(o->ctx, text)) b->scope = SCOPE_UNIVERSAL;
    return b;
}

void resolve_use(Resolver *r, Expr *e) {
    ResolveName *name = resolve_name(r, e->name.name);
    ResolveVar *v = name->top;
    /* Where globals may be rebound, the top level executes in order: a name bound only further down
     * still has its outer meaning here. */
    if (v && !v->reached && r->options->allow_toplevel && !r->block->parent) v = NULL;
    if (!v) {
        e->name.bind = outside(r, name);
        if (e->name.bind->scope == SCOPE_UNDEFINED) fail_undefined(r, e);
        return;
    }
    if (v->in_comp && !v->reached) v->early = true;
    e->name.bind = v->owner ? &capture(r, r->fn, v)->bind : &v->bind;
}
