/* The list of hooks, in the order in which they are asked. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/table.h"
#include "base/vec.h"
#include "hook/ask.h"

/* `order` is read without the lock. Replaced lists stay until the end (`older`), because a dispatch may still use
 * one. */
struct Hooks {
    const Project *project;
    Workers *workers;
    HookStats *stats;
    pthread_mutex_t lock;                /* for adding */
    Table names;
    HookOrder *_Atomic order[HOOK_EVENT_COUNT];
};

static int by_place(const void *a, const void *b) {
    const HookDef *x = ((const HookEntry *)a)->def, *y = ((const HookEntry *)b)->def;
    if (x->priority != y->priority) return x->priority < y->priority ? -1 : 1;
    int c = str_cmp(x->origin.file, y->origin.file);
    if (c) return c;
    if (x->origin.line != y->origin.line) return x->origin.line < y->origin.line ? -1 : 1;
    if (x->origin.column != y->origin.column) return x->origin.column < y->origin.column ? -1 : 1;
    return str_cmp(x->name, y->name);
}

static HookOrder *order_new(const HookOrder *old, size_t more) {
    size_t n = old ? old->n : 0;
    HookOrder *o = mem_zero(1, sizeof *o + (n + more) * sizeof *o->at);
    if (n) memcpy(o->at, old->at, n * sizeof *o->at);
    o->n = n;
    return o;
}

static HookEntry entry_of(Hooks *h, const HookDef *def) {
    return (HookEntry){ def, h->stats ? hook_stats_counter(h->stats, def->name) : NULL };
}

/* Adds all hooks of the project: one list per event, sorted once. The loader has checked names and events. */
static void add_project(Hooks *h, const Project *p) {
    VEC(HookEntry) of[HOOK_EVENT_COUNT] = { 0 };
    HookEvent e;
    for (size_t i = 0; i < p->n_hooks; i++) {
        table_put(&h->names, p->hooks[i].name, h);
        if (hook_event_find(p->hooks[i].event, &e)) VEC_PUSH(&of[e], entry_of(h, &p->hooks[i]));
    }
    for (int i = 0; i < HOOK_EVENT_COUNT; i++) {
        if (!of[i].n) continue;
        HookOrder *o = order_new(NULL, of[i].n);
        memcpy(o->at, of[i].at, of[i].n * sizeof *o->at);
        o->n = of[i].n;
        qsort(o->at, o->n, sizeof *o->at, by_place);
        atomic_store(&h->order[i], o);
        VEC_CLEAR(&of[i]);
    }
}

Hooks *hook_list_new(const Project *project, Workers *workers, HookStats *stats) {
    Hooks *h = mem_zero(1, sizeof *h);
    h->project = project;
    h->workers = workers;
    h->stats = stats;
    pthread_mutex_init(&h->lock, NULL);
    if (project) add_project(h, project);
    return h;
}

void hook_list_free(Hooks *h) {
    if (!h) return;
    for (int i = 0; i < HOOK_EVENT_COUNT; i++)
        for (HookOrder *o = atomic_load(&h->order[i]), *older; o; o = older) {
            older = o->older;
            free(o);
        }
    table_clear(&h->names);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

static bool check(const Hooks *h, const HookDef *def, HookEvent *event, Error *err) {
    if (!def->name.n) return error_set(err, ERR_CONFIG, "hook name cannot be empty");
    if (!hook_event_find(def->event, event))
        return error_set(err, ERR_CONFIG, "hook \"" STR_FMT "\": event \"" STR_FMT "\" is invalid", STR_ARG(def->name), STR_ARG(def->event));
    if (def->kind == HOOK_COMMAND && *event != HOOK_TOOL_PRE && *event != HOOK_TOOL_POST)
        return error_set(err, ERR_CONFIG, "hook \"" STR_FMT "\": a command hook is for tool.pre or tool.post", STR_ARG(def->name));
    if (table_has(&h->names, def->name))
        return error_set(err, ERR_CONFIG, "hook \"" STR_FMT "\" is defined more than once", STR_ARG(def->name));
    return true;
}

bool hook_list_add(Hooks *h, const HookDef *def, Error *err) {
    HookEvent event;
    pthread_mutex_lock(&h->lock);
    bool ok = check(h, def, &event, err);
    if (ok) {
        HookOrder *old = atomic_load(&h->order[event]), *o = order_new(old, 1);
        o->older = old;
        o->at[o->n++] = entry_of(h, def);
        qsort(o->at, o->n, sizeof *o->at, by_place);
        table_put(&h->names, def->name, h);
        atomic_store(&h->order[event], o);
    }
    pthread_mutex_unlock(&h->lock);
    return ok;
}

const HookOrder *hook_list_order(Hooks *h, HookEvent event) { return atomic_load(&h->order[event]); }
Workers *hook_list_workers(Hooks *h) { return h->workers; }
const Project *hook_list_project(Hooks *h) { return h->project; }

bool hook_list_any(Hooks *h, HookEvent event, Str custom) {
    const HookOrder *o = hook_list_order(h, event);
    if (!o) return false;
    if (event != HOOK_CUSTOM && event != HOOK_META) return true;
    for (size_t i = 0; i < o->n; i++)
        if (str_eq(o->at[i].def->event, custom)) return true;
    return false;
}
