/* Runs scripts with the real host modules: each case is the body of run(), whose result is compared as text. */
#pragma once
#include "../unit.h"
#include "script/host.h"
#include "script/worker.h"
#include "starlark/module.h"
#include "starlark/vm/repr.h"

typedef struct ScriptUnit {
    Universe *universe;
    Heap *modules;
    Dict *tools, *hooks;
    Workers *workers;
    Cancel *cancel;
    Host host;
    HostCalls calls;
    Buf shown;                           /* of the last call */
    Error err;
} ScriptUnit;

static inline void script_begin(ScriptUnit *u) {
    *u = (ScriptUnit){ .universe = universe_new(), .workers = worker_pool_new(0, 0) };
    Error err = { 0 };
    if (!host_modules_new(&u->modules, &u->tools, &u->hooks, &err)) fail_msg("%s", err.msg);
    u->host = (Host){ .calls = &u->calls, .cache = shelf_new("cache", 0), .ctx = shelf_new("ctx", 0), .metrics = shelf_new("metrics", 0),
                      .workspace = STR("/workspace") };
}

static inline void script_end(ScriptUnit *u) {
    shelf_free(u->host.cache);
    shelf_free(u->host.ctx);
    shelf_free(u->host.metrics);
    worker_pool_free(u->workers);
    heap_free(u->modules);
    universe_free(u->universe);
    buf_clear(&u->shown);
}

static inline Module *script_compile(ScriptUnit *u, Heap *heap, Str text) {
    Module *m;
    Vm *vm = vm_new(heap, &(VmConfig){ 0 });
    Source source = { .file = STR("test.star"), .text = text };
    ModuleOptions options = { .universe = u->universe, .predeclared = u->host.hook ? u->hooks : u->tools, .check_members = true };
    bool ok = module_compile(heap, &source, &options, &m, NULL, &u->err);
    if (ok && !module_load(vm, m, NULL, &u->err)) module_free(m), ok = false;
    vm_free(vm);
    if (ok) heap_freeze_all(heap), module_seal(m);
    return ok ? m : NULL;
}

/* The result of text's run() as repr(), or "error: …". Valid until the next call. */
static inline const char *script_run_text(ScriptUnit *u, Str text) {
    buf_reset(&u->shown);
    u->err = (Error){ 0 };
    Heap *heap = heap_new(0);
    Module *m = script_compile(u, heap, text);
    bool ok = m != NULL;
    if (m) {
        Worker *w = worker_take(u->workers, &u->host, u->cancel);
        Value v;
        ok = module_call(w->vm, m, STR("run"), NULL, 0, &v, &u->err);
        if (ok) assert_true(repr_value(w->vm, &u->shown, v, NULL));
        worker_give(u->workers, w);
        module_free(m);
    }
    if (!ok) buf_add_fmt(&u->shown, "error: %s", u->err.msg);
    heap_free(heap);
    return u->shown.at;
}

/* `body` is an expression, or statements that end in a return. */
static inline const char *script_run(ScriptUnit *u, const char *body) {
    Buf text = { 0 };
    buf_add(&text, STR("def run():\n"));
    if (!strstr(body, "return ") && !strchr(body, '\n')) buf_add_fmt(&text, "  return %s\n", body);
    else {
        Str rest = str_from(body), line;
        while (str_next_line(&rest, &line)) buf_add_fmt(&text, "  " STR_FMT "\n", STR_ARG(line));
    }
    const char *shown = script_run_text(u, buf_str(&text));
    buf_clear(&text);
    return shown;
}

typedef struct { const char *body, *want; } ScriptCase;

/* A `want` that ends in "…" matches any rest. */
static inline bool script_same(const char *got, const char *want) {
    Str w = str_from(want);
    if (str_ends(w, STR("…"))) return str_starts(str_from(got), str_sub(w, 0, w.n - 3));
    return strcmp(got, want) == 0;
}

static inline void script_check(ScriptUnit *u, const ScriptCase *t, size_t n) {
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        const char *got = script_run(u, t[i].body);
        if (script_same(got, t[i].want)) continue;
        print_error("%s\n  got  %s\n  want %s\n", t[i].body, got, t[i].want);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

#define SCRIPT_CASES(u, table) script_check((u), (table), sizeof(table) / sizeof *(table))
