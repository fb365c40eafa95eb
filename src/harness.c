/* Implements include/harness.h for other programs. Projects, runs and lists are here; native tools in
 * harness_tool.c, calls in harness_call.c. */
#include "harness_private.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "value/json.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *harness_version(void) {
    return TEXT(HARNESS_VERSION_MAJOR) "." TEXT(HARNESS_VERSION_MINOR) "." TEXT(HARNESS_VERSION_PATCH);
}

void harness_free(char *text) { free(text); }

/* ---- errors ---- */

static void copy_text(char *out, size_t size, const char *text) { snprintf(out, size, "%s", text); }

bool harness_error_out(HarnessError *out, const Error *err) {
    if (!out) return false;
    *out = (HarnessError){ .line = err->line, .column = err->column };
    copy_text(out->kind, sizeof out->kind, error_kind_name(err->kind));
    copy_text(out->message, sizeof out->message, err->msg);
    copy_text(out->file, sizeof out->file, err->file);
    copy_text(out->hint, sizeof out->hint, err->hint);
    return false;
}

/* For an invalid project: every error, one per line; the position is that of the first. */
static bool set_problems(HarnessError *out, const Problems *problems) {
    Error all = { .kind = ERR_CONFIG };
    Buf text = { 0 };
    for (size_t i = 0; i < problems->n; i++) {
        const Problem *p = &problems->at[i];
        if (p->severity != PROBLEM_ERROR) continue;
        if (text.n) buf_add_char(&text, '\n');
        else snprintf(all.file, sizeof all.file, STR_FMT, STR_ARG(p->file)), all.line = p->line, all.column = p->column;
        problem_format(p, &text);
    }
    error_set(&all, ERR_CONFIG, "%s", text.n ? text.at : "the project is not valid");
    buf_clear(&text);
    return harness_error_out(out, &all);
}

/* ---- events and confirmation ---- */

typedef struct Teller { Harness *h; Arena arena; } Teller;

static const char *c_text(Teller *t, Str s) { return arena_str(&t->arena, s).at; }

static bool forward_event(void *self, const Event *e, Error *err) {
    Teller *t = self;
    (void)err;
    HarnessEvent event = { .seq = e->seq, .time_ns = e->time_ns, .run = c_text(t, e->run), .agent = c_text(t, e->agent), .parent = c_text(t, e->parent),
                           .type = c_text(t, e->type), .depth = e->depth, .data = c_text(t, e->data) };
    pthread_mutex_lock(&t->h->telling);
    t->h->config.on_event(t->h->config.user, &event);
    pthread_mutex_unlock(&t->h->telling);
    arena_reset(&t->arena);
    return true;
}

static void free_teller(void *self) {
    Teller *t = self;
    arena_clear(&t->arena);
    free(t);
}

static EventSink new_sink(Harness *h) {
    Teller *t = mem_zero(1, sizeof *t);
    t->h = h;
    return (EventSink){ forward_event, free_teller, t };
}

static ConfirmAnswer ask(void *ctx, const ConfirmQuestion *q, Cancel *cancel) {
    static const ConfirmAnswer answers[] = { [HARNESS_NO] = CONFIRM_NO, [HARNESS_ONCE] = CONFIRM_ONCE, [HARNESS_THESE_ARGUMENTS] = CONFIRM_THESE,
                                             [HARNESS_THIS_TOOL] = CONFIRM_TOOL };
    Harness *h = ctx;
    Arena arena = { 0 };
    (void)cancel;
    unsigned answer = h->config.on_confirm(h->config.user, arena_str(&arena, q->tool).at, arena_str(&arena, q->why).at, arena_str(&arena, q->shown).at);
    arena_clear(&arena);
    return answer < sizeof answers / sizeof *answers ? answers[answer] : CONFIRM_NO;
}

/* ---- projects ---- */

static const char *copied(const char *s) { return s ? str_dup(str_from(s)) : NULL; }

/* An older caller has a shorter struct; fields that it does not know are zero. */
static void take_config(Harness *h, const HarnessConfig *given) {
    size_t size = given && given->size && given->size < sizeof h->config ? given->size : sizeof h->config;
    if (given) memcpy(&h->config, given, size);
    h->config.dir = copied(h->config.dir);
    h->config.config = copied(h->config.config);
    h->config.state = copied(h->config.state);
    h->config.trust = copied(h->config.trust);
}

static void free_all(Harness *h) {
    if (h->agents) agent_set_free(h->agents);
    mcp_remotes_stop(h->servers);
    runtime_close(h->rt);
    mcp_remotes_free(h->servers);
    for (size_t i = 0; i < h->made.n; i++) project_free(h->made.at[i]);
    for (size_t i = 0; i < h->natives.n; i++) harness_native_free(h->natives.at[i]);
    VEC_CLEAR(&h->made);
    VEC_CLEAR(&h->natives);
    VEC_CLEAR(&h->runs);
    free((void *)(uintptr_t)h->config.dir);
    free((void *)(uintptr_t)h->config.config);
    free((void *)(uintptr_t)h->config.state);
    free((void *)(uintptr_t)h->config.trust);
    pthread_mutex_destroy(&h->lock);
    pthread_mutex_destroy(&h->telling);
    free(h);
}

bool harness_open(const HarnessConfig *given, Harness **out, HarnessError *err) {
    Harness *h = mem_zero(1, sizeof *h);
    Problems problems = { 0 };
    Error why = { 0 };
    pthread_mutex_init(&h->lock, NULL);
    pthread_mutex_init(&h->telling, NULL);
    take_config(h, given);
    const char *state = h->config.state;
    RuntimeConfig config = { .dir = h->config.dir, .config = h->config.config, .lenient = h->config.lenient, .state = state && *state ? state : NULL,
                             .ephemeral = state && !*state, .trust = h->config.trust };
    bool ok = runtime_open(&config, &h->rt, &problems, &why);
    if (!ok) h->rt = NULL;
    if (!ok && why.kind == ERR_NONE) set_problems(err, &problems);
    else if (!ok) harness_error_out(err, &why);
    else if (!(ok = agent_set_new(h->rt, &(AgentsConfig){ 0 }, &h->agents, &why)
                    && mcp_remotes_new(h->rt, &(McpRemotesConfig){ .version = MCP_NONE, .program = harness_version() }, &h->servers,
                        &why))) harness_error_out(err, &why);
    problems_clear(&problems);
    if (ok) *out = h;
    else free_all(h);
    return ok;
}

void harness_close(Harness *h) {
    if (!h) return;
    while (h->runs.n) harness_run_end(h->runs.at[h->runs.n - 1]);
    free_all(h);
}

/* ---- runs ---- */

static bool good_id(const char *id) {
    size_t n = strlen(id);
    return n > 0 && n <= 64 && strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") == n;
}

static HarnessRun *start_run(Harness *h, const char *id, Error *err) {
    HarnessRun *r = mem_zero(1, sizeof *r);
    bool heard = h->config.on_event != NULL;
    EventSink sink = heard ? new_sink(h) : (EventSink){ 0 };
    RunConfig config = { .id = str_from(id), .sinks = &sink, .n_sinks = heard };
    r->h = h;
    if (h->config.on_confirm) config.person = (Person){ .confirm = ask, .source = "program", .ctx = h };
    if (id && !good_id(id)) {
        error_set(err, ERR_VALIDATION, "a run's id must match [A-Za-z0-9_.-]{1,64}");
        if (heard) free_teller(sink.self);
        return free(r), NULL;
    }
    if (!run_start(h->rt, &config, &r->run, err)) return free(r), NULL;
    r->id = str_dup(run_id(r->run));
    return r;
}

bool harness_run_start(Harness *h, const char *id, HarnessRun **out, HarnessError *err) {
    Error why = { 0 };
    HarnessRun *r = start_run(h, id, &why);
    if (!r) return harness_error_out(err, &why);
    pthread_mutex_lock(&h->lock);
    VEC_PUSH(&h->runs, r);
    pthread_mutex_unlock(&h->lock);
    return *out = r, true;
}

HarnessRun *harness_own_run(Harness *h, Error *err) {
    pthread_mutex_lock(&h->lock);
    if (!h->own && (h->own = start_run(h, NULL, err))) VEC_PUSH(&h->runs, h->own);
    HarnessRun *r = h->own;
    pthread_mutex_unlock(&h->lock);
    return r;
}

const char *harness_run_id(HarnessRun *run) { return run->id; }

void harness_run_end(HarnessRun *run) {
    if (!run) return;
    Harness *h = run->h;
    pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < h->runs.n; i++)
        if (h->runs.at[i] == run) h->runs.at[i] = h->runs.at[--h->runs.n];
    if (h->own == run) h->own = NULL;
    pthread_mutex_unlock(&h->lock);
    run_end(run->run, RUN_COMPLETED, NULL);
    free(run->id);
    free(run);
}

/* ---- lists ---- */

static void add_text(Buf *out, const char *key, Str text) {
    buf_add_fmt(out, ",\"%s\":", key);
    json_write_string(out, text, false);
}

static void add_value(Buf *out, const char *key, Value v) {
    Error err;
    buf_add_fmt(out, ",\"%s\":", key);
    if (value_is_gone(v) || !json_write(out, v, &(JsonWrite){ 0 }, &err)) buf_add(out, STR("null"));
}

static void add_tool(Buf *out, const ToolEntry *e) {
    Heap *heap = heap_new(0);
    Error err;
    buf_add(out, STR("{\"name\":"));
    json_write_string(out, e->def.name, false);
    add_text(out, "title", e->def.title.n ? e->def.title : e->def.name);
    add_text(out, "description", e->def.description);
    add_text(out, "kind", str_from(tool_kind_name(e->def.kind)));
    add_value(out, "parameters", e->def.parameters);
    if (!value_is_gone(e->def.output_schema)) add_value(out, "output_schema", e->def.output_schema);
    add_value(out, "safety", safety_value(&e->safety, heap, &err));
    if (e->def.timeout_ms >= 0) buf_add_fmt(out, ",\"timeout_ms\":%lld", (long long)e->def.timeout_ms);
    buf_add_char(out, '}');
    heap_free(heap);
}

/* All visible tools, or the one with this name. */
static char *list_tools(Harness *h, const char *name) {
    Error err;
    HarnessRun *run = harness_own_run(h, &err);
    const ToolEntry **tools = NULL;
    if (name) mcp_remotes_list_for(h->servers, str_from(name), NULL);
    else mcp_remotes_list(h->servers, NULL);
    size_t n = run ? tool_visible(run->run, &(Call){ 0 }, &tools) : 0, shown = 0;
    Buf out = { 0 };
    if (!name) buf_add_char(&out, '[');
    for (size_t i = 0; i < n; i++) {
        if (name && !str_eq(tools[i]->def.name, str_from(name))) continue;
        if (shown++) buf_add_char(&out, ',');
        add_tool(&out, tools[i]);
    }
    if (!name) buf_add_char(&out, ']');
    free(tools);
    return name && !shown ? NULL : buf_take(&out);
}

char *harness_tools(Harness *h) { return list_tools(h, NULL); }
char *harness_tool(Harness *h, const char *name) { return list_tools(h, name ? name : ""); }
