/* Hooks for tests: compiles scripts like those of a project and dispatches events with one line of input and output. */
#pragma once
#include "../unit.h"
#include "base/vec.h"
#include "hook/chain.h"
#include "value/json.h"

enum { DESK_HOOKS = 64 };

typedef struct Desk {
    Universe *universe;
    Heap *natives, *heap;                /* host modules; payloads and outcomes */
    Dict *predeclared;
    Heap *code[DESK_HOOKS * 2];
    Module *modules[DESK_HOOKS * 2];
    size_t n_modules;
    HookDef defs[DESK_HOOKS];
    size_t n_defs;
    Workers *workers;
    HookStats *stats;
    Hooks *hooks;
    Project project;
    Host host;
    Buf text, traced;
    HookOutcome last;
} Desk;

static inline void desk_open_with(Desk *k, size_t heap_bytes) {
    Dict *tools;
    *k = (Desk){ .universe = universe_new(), .heap = heap_new(0), .host = { .hook = true } };
    assert_true(host_modules_new(&k->natives, &tools, &k->predeclared, NULL));
    k->workers = worker_pool_new(heap_bytes, 0);
    k->stats = hook_stats_new();
    k->project.root = STR("/");
    k->hooks = hook_list_new(&k->project, k->workers, k->stats);
}
static inline void desk_open(Desk *k) { desk_open_with(k, 0); }

static inline void desk_close(Desk *k) {
    hook_list_free(k->hooks);
    worker_pool_free(k->workers);
    hook_stats_free(k->stats);
    for (size_t i = 0; i < k->n_modules; i++) {
        module_free(k->modules[i]);
        heap_free(k->code[i]);
    }
    heap_free(k->heap);
    heap_free(k->natives);
    universe_free(k->universe);
    buf_clear(&k->text);
    buf_clear(&k->traced);
}

static inline Module *desk_compile(Desk *k, const char *text, bool expression) {
    static const Str params[] = { { "payload", 7 }, { "event", 5 } };
    Error err = { 0 };
    Heap *heap = heap_new(0);
    Vm *vm = vm_new(heap, &(VmConfig){ 0 });
    Source source = { .file = STR("hook.md"), .text = str_from(text) };
    ModuleOptions o = { .universe = k->universe, .predeclared = expression ? NULL : k->predeclared, .expression = expression,
                        .params = expression ? params : NULL, .n_params = expression ? 2 : 0 };
    Module *m = NULL;
    if (!module_compile(heap, &source, &o, &m, NULL, &err) || !module_load(vm, m, NULL, &err)) fail_msg("%s: %s", text, err.msg);
    vm_free(vm);
    heap_freeze_all(heap);
    module_seal(m);
    k->code[k->n_modules] = heap;
    return k->modules[k->n_modules++] = m;
}

typedef struct { const char *name, *event; int64_t priority; const char *when, *body; const char *file; const char *agent; bool on_error_allow;
                 int64_t timeout_ms; } DeskHook;

/* `body` is the body of handle(event, payload); a text with a "def" is the whole script; NULL: no script. */
static inline HookDef *desk_def(Desk *k, const DeskHook *h) {
    HookDef *def = &k->defs[k->n_defs++];
    *def = (HookDef){ .name = str_from(h->name), .event = str_from(h->event ? h->event : "tool.pre"), .kind = HOOK_STARLARK, .priority = h->priority,
                      .timeout_ms = h->timeout_ms ? h->timeout_ms : 5000, .agent = str_from(h->agent), .allow_on_error = h->on_error_allow };
    def->origin = (Origin){ .file = str_from(h->file ? h->file : h->name), .line = (uint32_t)k->n_defs };
    if (h->when) def->when = desk_compile(k, h->when, true);
    if (!h->body) return def;
    Buf b = { 0 };
    if (strstr(h->body, "def ")) buf_add(&b, str_from(h->body));
    else buf_add_fmt(&b, "def handle(event, payload):\n    %s\n", h->body);
    def->script = desk_compile(k, b.at, false);
    buf_clear(&b);
    return def;
}

static inline void desk_add(Desk *k, const DeskHook *h) {
    Error err = { 0 };
    if (!hook_list_add(k->hooks, desk_def(k, h), &err)) fail_msg("%s", err.msg);
}

static inline void desk_trace(void *ctx, const HookTrace *t) {
    Desk *k = ctx;
    buf_add_fmt(&k->traced, "%s" STR_FMT "%s=%s%s", k->traced.n ? " " : "", STR_ARG(t->hook), t->again ? "(again)" : "",
        hook_decision_name(t->decision), t->failed ? "!" : "");
}

static inline void desk_show_json(Desk *k, Value v) {
    Error err = { 0 };
    if (!json_write(&k->text, v, &(JsonWrite){ 0 }, &err)) fail_msg("%s", err.msg);
}

static inline const char *desk_show(Desk *k, const HookOutcome *o) {
    buf_reset(&k->text);
    switch (o->decision) {
    case HOOK_ALLOW:
        buf_add(&k->text, o->modified ? STR("modify ") : STR("allow"));
        if (o->modified) desk_show_json(k, o->payload);
        break;
    case HOOK_BLOCK: buf_add_fmt(&k->text, "%s " STR_FMT ": %s", o->failed ? "failed" : "block", STR_ARG(o->hook), o->reason); break;
    case HOOK_DELEGATE:
        buf_add_fmt(&k->text, "delegate " STR_FMT " ", STR_ARG(o->hook));
        desk_show_json(k, o->request);
        break;
    default: fail_msg("the outcome of a chain is never %s", hook_decision_name(o->decision));
    }
    return k->text.at;
}

static inline Value desk_payload(Desk *k, const char *json) {
    Error err = { 0 };
    Value v;
    if (!json_read(k->heap, str_from(json), &(JsonRead){ 0 }, &v, &err)) fail_msg("%s: %s", json, err.msg);
    return v;
}

/* `d` may set more fields; event, payload, heap and trace are filled in. */
static inline const char *desk_ask_with(Desk *k, HookDispatch d, const char *event, const char *payload) {
    assert_true(hook_event_find(str_from(event), &d.event));
    if (d.event == HOOK_CUSTOM || d.event == HOOK_META) d.name = str_from(event);
    d.payload = desk_payload(k, payload);
    d.heap = k->heap;
    d.host = &k->host;
    d.trace = desk_trace;
    d.trace_ctx = k;
    buf_reset(&k->traced);
    if (!k->traced.at) buf_add(&k->traced, STR(""));
    hook_dispatch(k->hooks, &d, &k->last);
    Buf before = { 0 }, after = { 0 };
    Value fresh = desk_payload(k, payload);
    assert_true(json_write(&before, fresh, &(JsonWrite){ 0 }, NULL) && json_write(&after, d.payload, &(JsonWrite){ 0 }, NULL));
    assert_string_equal(before.at, after.at);                  /* never modified in place */
    buf_clear(&before);
    buf_clear(&after);
    return desk_show(k, &k->last);
}
static inline const char *desk_ask(Desk *k, const char *event, const char *payload) { return desk_ask_with(k, (HookDispatch){ 0 }, event, payload); }

#define COUNT(table) (sizeof(table) / sizeof *(table))
