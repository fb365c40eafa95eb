#include "tool/registry.h"
#include <pthread.h>
#include "base/arena.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/vec.h"
#include "tool/kind/kind.h"

/* A name or alias refers to a list of tools: private tools of two agents may share a name. */
typedef struct Name { ToolEntry *entry; struct Name *same; } Name;

struct Registry {
    pthread_rwlock_t lock;
    Table names;
    Arena keys;
    VEC(ToolEntry *) entries;
    VEC(ToolEntry *) replaced;           /* replaced entries; they share the redactor of their replacement */
};

Registry *registry_new(void) {
    Registry *r = mem_zero(1, sizeof *r);
    pthread_rwlock_init(&r->lock, NULL);
    return r;
}

void registry_free(Registry *r) {
    if (!r) return;
    for (size_t i = 0; i < r->names.n; i++)
        for (Name *n = r->names.entry[i].value, *next; n; n = next) next = n->same, free(n);
    for (size_t i = 0; i < r->entries.n; i++) {
        redact_free(r->entries.at[i]->redact);
        free(r->entries.at[i]);
    }
    for (size_t i = 0; i < r->replaced.n; i++) free(r->replaced.at[i]);
    VEC_CLEAR(&r->replaced);
    table_clear(&r->names);
    arena_clear(&r->keys);
    VEC_CLEAR(&r->entries);
    pthread_rwlock_destroy(&r->lock);
    free(r);
}

/* True if one caller can see both. */
static bool meet(const ToolEntry *a, const ToolEntry *b) { return a->scope.n == 0 || b->scope.n == 0 || str_eq(a->scope, b->scope); }

static bool name_is_free(Registry *r, const ToolEntry *e, Str name, Error *err) {
    for (Name *n = table_get(&r->names, name); n; n = n->same)
        if (meet(n->entry, e))
            return error_set(err, ERR_CONFIG, "tool \"" STR_FMT "\" is defined more than once: by \"" STR_FMT "\" and \"" STR_FMT "\"", STR_ARG(name),
                             STR_ARG(n->entry->def.name), STR_ARG(e->def.name));
    return true;
}

static void add_name(Registry *r, ToolEntry *e, Str name) {
    Name *n = mem_alloc(sizeof *n), *first = table_get(&r->names, name);
    *n = (Name){ e, first ? first->same : NULL };
    if (first) first->same = n;                            /* after the first: the existing entry keeps its position */
    else table_put(&r->names, arena_str(&r->keys, name), n);       /* the key must outlive the tool that added it */
}

static bool make_redactor(ToolEntry *e, Error *err) {
    if (e->safety.redact.n == 0) return true;
    e->redact = redact_new();
    for (size_t i = 0; i < e->safety.redact.n; i++)
        if (!redact_add_pattern(e->redact, e->safety.redact.at[i], err)) {
            redact_free(e->redact);
            return error_wrap(err, "tool \"" STR_FMT "\": safety.redact[%zu]", STR_ARG(e->def.name), i);
        }
    return true;
}

/* Computed once, so that calls of tools without defaults skip the step. Looks only where pipe_validate inserts
 * defaults. */
static bool has_defaults(Value schema) {
    Value properties = value_member(schema, "properties");
    Entry *e;
    for (uint32_t i = 0; value_is_dict(properties) && dict_next(value_dict(properties), &i, &e);)
        if (!value_is_gone(value_member(e->value, "default")) || has_defaults(e->value)) return true;
    return false;
}

bool registry_add(Registry *r, const ToolEntry *entry, Error *err) {
    ToolEntry *e = mem_alloc(sizeof *e);
    *e = *entry;
    e->fills = has_defaults(e->def.parameters);
    e->redact = NULL;
    if (!make_redactor(e, err)) return free(e), false;
    pthread_rwlock_wrlock(&r->lock);
    bool ok = name_is_free(r, e, e->def.name, err);
    for (size_t i = 0; ok && i < e->def.aliases.n; i++) ok = name_is_free(r, e, e->def.aliases.at[i], err);
    if (ok) {
        VEC_PUSH(&r->entries, e);
        add_name(r, e, e->def.name);
        for (size_t i = 0; i < e->def.aliases.n; i++) add_name(r, e, e->def.aliases.at[i]);
    }
    pthread_rwlock_unlock(&r->lock);
    if (!ok) redact_free(e->redact), free(e);
    return ok;
}

/* Names stay in the table with an empty list. */
static void drop_names(Registry *r, Str scope) {
    for (size_t i = 0; i < r->names.n; i++)
        for (Name **at = (Name **)&r->names.entry[i].value; *at;) {
            Name *n = *at;
            if (str_eq(n->entry->scope, scope)) *at = n->same, free(n);
            else at = &n->same;
        }
}

void registry_drop(Registry *r, Str scope) {
    size_t kept = 0;
    pthread_rwlock_wrlock(&r->lock);
    drop_names(r, scope);
    for (size_t i = 0; i < r->entries.n; i++) {
        ToolEntry *e = r->entries.at[i];
        if (!str_eq(e->scope, scope)) {
            r->entries.at[kept++] = e;
            continue;
        }
        redact_free(e->redact);
        free(e);
    }
    r->entries.n = kept;
    pthread_rwlock_unlock(&r->lock);
}

/* Replaces an entry instead of changing it: a caller may be using it. */
static void put_in_place(Registry *r, ToolEntry *old, ToolEntry *e) {
    for (size_t i = 0; i < r->entries.n; i++)
        if (r->entries.at[i] == old) r->entries.at[i] = e;
    for (size_t i = 0; i < r->names.n; i++)
        for (Name *n = r->names.entry[i].value; n; n = n->same)
            if (n->entry == old) n->entry = e;
    VEC_PUSH(&r->replaced, old);
}

bool registry_implement(Registry *r, Str name, ToolExecute *execute, void *data, Error *err) {
    pthread_rwlock_wrlock(&r->lock);
    Name *n = table_get(&r->names, name);
    bool ok = n && n->entry->execute == kind_missing;
    if (ok) {
        ToolEntry *e = mem_alloc(sizeof *e), *old = n->entry;
        *e = *old;
        e->execute = execute;
        e->data = data;
        put_in_place(r, old, e);
    }
    pthread_rwlock_unlock(&r->lock);
    return ok || error_set(err, ERR_CONFIG, "tool \"" STR_FMT "\" %s", STR_ARG(name), n ? "has an implementation already" : "is not defined");
}

void registry_redefine(Registry *r, const ToolEntry *entry) {
    pthread_rwlock_wrlock(&r->lock);
    Name *n = table_get(&r->names, entry->def.name);
    while (n && n->entry->data != entry->data) n = n->same;
    if (n) {
        ToolEntry *e = mem_alloc(sizeof *e), *old = n->entry;
        *e = *entry;
        e->fills = has_defaults(e->def.parameters);
        e->redact = old->redact;
        put_in_place(r, old, e);
    }
    pthread_rwlock_unlock(&r->lock);
}

void registry_hold(Registry *r, Str name, bool held) {
    pthread_rwlock_wrlock(&r->lock);
    Name *n = table_get(&r->names, name);
    if (n && n->entry->held != held) {
        ToolEntry *e = mem_alloc(sizeof *e), *old = n->entry;
        *e = *old;
        e->held = held;
        put_in_place(r, old, e);
    }
    pthread_rwlock_unlock(&r->lock);
}

static bool in_scope(const ToolEntry *e, const Str *scopes, size_t n) {
    if (e->scope.n == 0) return true;
    for (size_t i = 0; i < n; i++)
        if (str_eq(e->scope, scopes[i])) return true;
    return false;
}

bool tool_may_resume(const ToolEntry *e) {
    return safety_repeatable(&e->safety) || e->delegates == DELEGATES_AND_WAITS;
}

const ToolEntry *registry_find(Registry *r, Str name, const Str *scopes, size_t n_scopes) {
    const ToolEntry *found = NULL;
    pthread_rwlock_rdlock(&r->lock);
    for (Name *n = table_get(&r->names, name); n && !found; n = n->same)
        if (in_scope(n->entry, scopes, n_scopes)) found = n->entry;
    pthread_rwlock_unlock(&r->lock);
    return found;
}

size_t registry_list(Registry *r, const Str *scopes, size_t n_scopes, const ToolEntry ***out) {
    size_t n = 0;
    pthread_rwlock_rdlock(&r->lock);
    *out = mem_alloc((r->entries.n + 1) * sizeof **out);
    for (size_t i = 0; i < r->entries.n; i++)
        if (in_scope(r->entries.at[i], scopes, n_scopes)) (*out)[n++] = r->entries.at[i];
    pthread_rwlock_unlock(&r->lock);
    return n;
}

Str registry_nearest(Registry *r, Str name, const Str *scopes, size_t n_scopes) {
    const ToolEntry **list;
    size_t n = registry_list(r, scopes, n_scopes, &list);
    Str *names = mem_alloc((n + 1) * sizeof *names);
    for (size_t i = 0; i < n; i++) names[i] = list[i]->def.name;
    Str near = str_nearest(name, names, n);
    free(names);
    free(list);
    return near;
}
