#include "tool/runtime.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "store/store_queue.h"
#include "tool/pipeline/control.h"
#include "tool/pipeline/pipe.h"

/* ---- starting ---- */

void run_new_id(char out[RUN_ID_SIZE]) {
    uint8_t b[16];
    random_fill(b, sizeof b);
    uint64_t ms = (uint64_t)(clock_wall_ns() / 1000000);
    for (int i = 0; i < 6; i++) b[i] = (uint8_t)(ms >> (40 - 8 * i));
    b[6] = (uint8_t)(0x70 | (b[6] & 0x0f));
    b[8] = (uint8_t)(0x80 | (b[8] & 0x3f));
    snprintf(out, RUN_ID_SIZE, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8],
             b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

static Str new_id(Run *r) {
    char id[RUN_ID_SIZE];
    run_new_id(id);
    return arena_str(&r->arena, str_from(id));
}

static void copy_config(Run *r, const RunConfig *c) {
    r->config = *c;
    r->config.session = arena_str(&r->arena, c->session);
    r->config.agent = arena_str(&r->arena, c->agent);
    Str *only = ARENA_ARRAY(&r->arena, Str, c->n_only + 1);
    for (size_t i = 0; i < c->n_only; i++) only[i] = arena_str(&r->arena, c->only[i]);
    r->config.only = c->only ? only : NULL;
    r->id = c->id.n ? arena_str(&r->arena, c->id) : new_id(r);
    snprintf(r->prefix, sizeof r->prefix, "%016llx", (unsigned long long)random_u64());
}

static void make_hosts(Run *r) {
    Runtime *rt = r->rt;
    r->jail = jail_view(rt->jail);
    Host h = { .calls = &rt->calls, .project = rt->project, .jail = r->jail, .sandbox = rt->sandbox, .rules = &rt->rules, .client = rt->client,
               .net = rt->net, .cache = r->cache, .ctx = r->ctx, .metrics = r->metrics, .workspace = runtime_workspace(rt), .root = runtime_root(rt),
               .env_allow = rt->limits.sandbox.env_allow, .log = rt->config.log, .runtime = VALUE_GONE };
    if (rt->config.judging) h.calls = &runtime_judging_calls, h.client = NULL, h.sandbox = NULL, h.env_allow = (StrList){ 0 }, h.judging = true;
    r->host = h;
    h.hook = true;
    h.jail = rt->hook_jail;
    h.cache = r->hook_cache;
    h.ctx = r->hook_ctx;
    r->hook_host = h;
}

/* Continues the sequence of events of the earlier process. */
static bool continue_run(Run *r, Error *err) {
    uint64_t last = 0;
    if (!store_run_lease(r->store, r->id, err) || !store_event_last(r->store, r->id, &last, err)) return false;
    event_stream_continue(r->events, last);
    return true;
}

/* HARNESS_STATE_MAX: the user's bound on the size of the state. */
static bool read_bound(int64_t *max, Error *err) {
    const char *text = getenv("HARNESS_STATE_MAX");
    return !text || !*text || store_read_size(text, max, err) || error_wrap(err, "HARNESS_STATE_MAX");
}

static bool bound_state(const Run *r, int64_t max, Error *err) {
    StoreBounded b;
    if (!max) return true;
    if (!store_bound(r->store, max, &b, err)) return false;
    if (b.removed) LOG_WRITE(runtime_log(r->rt), LOG_INFO, "HARNESS_STATE_MAX: removed the %zu oldest runs", b.removed);
    if (b.over) LOG_WRITE(runtime_log(r->rt), LOG_WARN, "the state is larger than HARNESS_STATE_MAX, and only running and interrupted runs are left "
                          "(harness runs prune --interrupted removes the latter)");
    return true;
}

static bool open_stream(Run *r, Error *err) {
    Runtime *rt = r->rt;
    Error why = { 0 };
    int64_t max = 0;
    r->events = event_stream_new(r->id);
    event_stream_redact(r->events, redact_stream, rt->redactor);
    for (size_t i = 0; i < r->config.n_sinks; i++) event_stream_add(r->events, r->config.sinks[i]);
    if (r->config.no_store) return true;
    r->store = runtime_store(rt, &why);
    if (!r->store && why.kind != ERR_NONE) return *err = why, false;
    if (!r->store) return true;
    if (!read_bound(&max, err)) return false;
    if (r->config.resume ? !continue_run(r, err) : !store_run_start(r->store, r->id, r->config.agent, r->config.session, err)) return false;
    if (!bound_state(r, max, err)) return false;
    event_stream_add(r->events, store_event_sink(r->store));
    return r->config.served || control_watch(r, err);
}

/* A client's run has many short calls and is never resumed, so events of calls that change nothing may be written
 * later. */
bool run_settle(Run *r, bool may_change, Error *err) {
    if (!r->store || (r->config.served && !may_change)) return true;
    return store_flush(r->store, err);
}

static bool emit_started(Run *r, Error *err) {
    if (!event_stream_listened(r->events)) return true;
    Buf data = { 0 };
    event_data_start(&data);
    event_data_str(&data, "project", r->rt->project->root);
    event_data_str(&data, "workspace", runtime_workspace(r->rt));
    event_data_int(&data, "pid", getpid());
    event_data_end(&data);
    bool ok = event_emit(r->events, (EventPlace){ .agent = r->config.agent }, r->config.resume ? EVENT_RUN_RESUMED : EVENT_RUN_STARTED, buf_str(&data), err);
    buf_clear(&data);
    return ok;
}

static void run_free(Run *r) {
    control_forget(r);
    for (size_t i = 0; i < r->messages.n; i++) free(r->messages.at[i].text);
    VEC_CLEAR(&r->messages);
    scheduler_free(r->scheduler);
    if (r->own_hooks) hook_list_free(r->own_hooks);
    if (r->defined[DEFINITION_TOOL]) registry_drop(r->rt->registry, r->id);
    for (size_t i = 0; i < r->made.n; i++) project_free(r->made.at[i]);
    VEC_CLEAR(&r->made);
    VEC_CLEAR(&r->restored);
    if (r->events) event_stream_free(r->events);
    jail_free(r->jail);
    shelf_free(r->cache);
    shelf_free(r->ctx);
    shelf_free(r->metrics);
    shelf_free(r->hook_cache);
    shelf_free(r->hook_ctx);
    approval_list_free(r->approvals);
    buf_clear(&r->parked_on);
    store_close(r->memory);
    VEC_CLEAR(&r->reads);
    VEC_CLEAR(&r->changes);
    VEC_CLEAR(&r->grants);
    VEC_CLEAR(&r->failures);
    cancel_free(r->cancel);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->changed);
    arena_clear(&r->turn_arena);
    arena_clear(&r->arena);
    free(r);
}

/* A run that was parked has what its earlier process had read and was allowed. */
static bool keeps_session(const Run *r) { return r->config.session.n || (r->config.parks && r->config.resume); }

bool run_start(Runtime *rt, const RunConfig *config, Run **out, Error *err) {
    Run *r = mem_zero(1, sizeof *r);
    r->rt = rt;
    pthread_mutex_init(&r->lock, NULL);
    thread_cond_init(&r->changed);
    copy_config(r, config);
    r->cancel = cancel_new(NULL, rt->limits.wall_clock_ms * 1000000);
    r->cache = shelf_new("cache", 0);
    r->ctx = shelf_new("ctx", 0);
    r->metrics = shelf_new("metrics", 0);
    r->hook_cache = shelf_new("cache", 0);
    r->hook_ctx = shelf_new("ctx", 0);
    r->approvals = approval_list_new();
    r->started_ns = clock_wall_ns();
    make_hosts(r);
    if (!open_stream(r, err) || (keeps_session(r) && !run_session_load(r, err)) || (config->after && !run_session_follow(r, config->after, err)) ||
        !emit_started(r, err) || !run_settle(r, false, err)) return run_free(r), false;
    r->config.after = NULL;              /* do not store the pointer: the run may end at any time */
    *out = r;
    return true;
}

/* ---- ending ---- */

static void add_metrics(Run *r, Buf *data) {
    Heap *h = heap_new(0);
    Value v;
    Error err;
    if (shelf_snapshot(r->metrics, h, &v, &err) && value_is_dict(v) && value_dict(v)->n) event_data_value(data, "metrics", v);
    heap_free(h);
}

const char *run_status_name(RunStatus s) {
    static const char *const names[] = { "",
#define RUN_STATUS(id, name) [RUN_##id] = name,
#include "tool/run_statuses.def"
#undef RUN_STATUS
    };
    return names[s];
}

static bool emit_ended(Run *r, RunStatus status, Error *err) {
    if (!event_stream_listened(r->events)) return true;
    Buf data = { 0 };
    event_data_start(&data);
    event_data_str(&data, "status", str_from(run_status_name(status)));
    event_data_int(&data, "turns", run_replies(r));
    event_data_int(&data, "tool_calls", run_calls(r));
    if (r->usage.n) event_data_raw(&data, "usage", r->usage);
    add_metrics(r, &data);
    event_data_end(&data);
    bool ok = event_emit(r->events, (EventPlace){ .agent = r->config.agent }, EVENT_RUN_ENDED, buf_str(&data), err);
    buf_clear(&data);
    return ok;
}

/* Hook counts since they were last stored. Names live as long as the runtime's counters. */
typedef struct Counting { Runtime *rt; VEC(StoreHook) fresh; } Counting;

static void add_count(void *ctx, const HookCounters *c) {
    Counting *counting = ctx;
    Runtime *rt = counting->rt;
    size_t i = 0;
    while (i < rt->counted.n && !str_eq(rt->counted.at[i].hook, c->hook)) i++;
    if (i == rt->counted.n) VEC_PUSH(&rt->counted, (StoreHook){ .hook = c->hook });
    StoreHook *was = &rt->counted.at[i];
    if (c->calls > was->calls)
        VEC_PUSH(&counting->fresh, (StoreHook){ c->hook, c->calls - was->calls, c->blocks - was->blocks, c->errors - was->errors, c->ns - was->ns });
    *was = (StoreHook){ c->hook, c->calls, c->blocks, c->errors, c->ns };
}

static bool store_counts(Run *r, Error *err) {
    Counting c = { .rt = r->rt };
    pthread_mutex_lock(&r->rt->lock);
    hook_stats_each(r->rt->hook_stats, add_count, &c);
    pthread_mutex_unlock(&r->rt->lock);
    bool ok = c.fresh.n == 0 || store_hook_add(r->store, c.fresh.at, c.fresh.n, err);
    VEC_CLEAR(&c.fresh);
    return ok;
}

bool run_end(Run *r, RunStatus status, Error *err) {
    task_list_free(r);
    bool ok = emit_ended(r, status, err);
    if (r->store) {
        StoreRun end = { .id = r->id, .status = str_from(run_status_name(status)), .agent = r->config.agent, .started_ns = r->started_ns,
                         .ended_ns = clock_wall_ns(), .turns = run_replies(r), .tool_calls = run_calls(r), .usage = r->usage,
                         .cost = atomic_load(&r->spend) };
        ok = ok && store_counts(r, err) && (r->config.session.n == 0 || run_session_save(r, err)) && store_run_end(r->store, &end, err);
    }
    run_free(r);
    return ok;
}

bool run_note_workspace(Run *r, Str data, Error *err) {
    return !event_stream_listened(r->events) || event_emit(r->events, (EventPlace){ .agent = r->config.agent }, EVENT_RUN_WORKSPACE, data, err);
}

bool run_draining(const Run *r) { return r->config.drain && cancel_fired(r->config.drain); }

bool run_hand_back(Run *r, Error *err) {
    task_list_free(r);
    bool ok = store_counts(r, err) && store_queue_back(r->store, r->id, err);
    run_free(r);
    return ok;
}

bool run_park(Run *r, Error *err) {
    task_list_free(r);
    bool ok = store_counts(r, err) && run_session_save(r, err) && store_queue_park(r->store, r->id, buf_str(&r->parked_on), err);
    run_free(r);
    return ok;
}

/* ---- accessors ---- */

Runtime *run_runtime(Run *r) { return r->rt; }
Str run_id(const Run *r) { return r->id; }
Store *run_store(const Run *r) { return r->store; }
void *run_user(Run *r) { return r->config.user; }
EventStream *run_events(Run *r) { return r->events; }
Cancel *run_cancel(Run *r) { return r->cancel; }
void run_set_plan(Run *r, bool on) { atomic_store(&r->plan, on); }
bool run_planning(const Run *r) { return atomic_load(&r->plan); }
Hooks *run_hooks(Run *r) {
    Hooks *own = atomic_load_explicit(&r->own_hooks, memory_order_acquire);
    return own ? own : r->rt->hooks;
}

bool run_turn_start(Run *r, Str text, Error *err) {
    (void)err;
    shelf_clear(r->ctx);
    shelf_clear(r->hook_ctx);
    atomic_store(&r->declined, false);
    atomic_fetch_add(&r->turn, 1);
    pthread_mutex_lock(&r->lock);
    arena_reset(&r->turn_arena);
    r->turn_text = arena_str(&r->turn_arena, text);
    pthread_mutex_unlock(&r->lock);
    return true;
}

enum { TITLE_CHARS = 80 };

/* One line of at most TITLE_CHARS characters, redacted like events. */
void run_title(Runtime *rt, Str prompt, Buf *out) {
    Buf text = { 0 };
    size_t chars = 0, n;
    buf_add(&text, prompt);
    redact_stream(rt->redactor, &text);
    Str from = str_trim(buf_str(&text));
    for (size_t i = 0; i < from.n && chars < TITLE_CHARS; i += n, chars++) {
        uint32_t c = utf8_decode(str_sub(from, i, from.n), &n);
        if (c <= ' ' || utf8_is_deceptive(c)) buf_add_char(out, ' ');
        else buf_add(out, str_sub(from, i, i + n));
    }
    buf_clear(&text);
}

bool run_note_title(Run *r, Str prompt, Error *err) {
    Buf title = { 0 };
    if (!r->store) return true;
    run_title(r->rt, prompt, &title);
    bool ok = title.n == 0 || store_run_title(r->store, r->id, buf_str(&title), err);
    buf_clear(&title);
    return ok;
}

void run_turn_model(Run *r, Str model) {
    pthread_mutex_lock(&r->lock);
    if (!str_eq(r->turn_model, model)) r->turn_model = arena_str(&r->arena, model);
    pthread_mutex_unlock(&r->lock);
}

void run_note_usage(Run *r, Str json) {
    pthread_mutex_lock(&r->lock);                         /* tasks use the arena concurrently */
    r->usage = arena_str(&r->arena, json);
    pthread_mutex_unlock(&r->lock);
}

void run_add_usage(Run *r, int64_t tokens, double usd) {
    atomic_fetch_add(&r->tokens, tokens);
    double now = atomic_load(&r->spend);
    while (!atomic_compare_exchange_weak(&r->spend, &now, now + usd)) {}
}

void run_add_replies(Run *r, int64_t replies) { atomic_fetch_add(&r->replies, replies); }
int64_t run_replies(const Run *r) { return atomic_load(&r->replies); }
int64_t run_calls(const Run *r) { return atomic_load(&r->tool_calls); }
void run_add_calls(Run *r, int64_t calls) { atomic_fetch_add(&r->tool_calls, calls); }

/* ---- artifacts ---- */

/* Without a store, artifacts are kept in memory; `bytes` is the size of the new one. */
static Store *artifact_store(Run *r, size_t bytes, Error *err) {
    if (r->store) return r->store;
    pthread_mutex_lock(&r->lock);
    bool ok = (r->memory || store_open(":memory:", false, &r->memory, err)) &&
              (bytes <= (size_t)r->rt->limits.artifact_bytes - r->memory_bytes
                  || error_set(err, ERR_LIMIT, "the run's artifacts exceed limits.artifact_bytes"));
    if (ok) r->memory_bytes += bytes;
    Store *s = ok ? r->memory : NULL;
    pthread_mutex_unlock(&r->lock);
    return s;
}

bool run_artifact_put(Run *r, Str tool, Str mime, Str bytes, Buf *key, Error *err) {
    Store *s = artifact_store(r, bytes.n, err);
    atomic_store(&r->has_artifacts, true);
    return s && store_artifact_put(s, r->id, tool, mime, bytes, key, err);
}

bool run_artifact_get(Run *r, Str key, uint64_t offset, uint64_t limit, Buf *out, uint64_t *total, Error *err) {
    Store *s = artifact_store(r, 0, err);
    return s && store_artifact_get(s, r->id, key, offset, limit, out, total, err);
}

/* ---- reads ---- */

void run_read_put(Run *r, Str absolute, const JailStat *stat) {
    pthread_mutex_lock(&r->lock);
    size_t i = 0;
    while (i < r->reads.n && !str_eq(r->reads.at[i].path, absolute)) i++;
    if (i == r->reads.n) VEC_PUSH(&r->reads, (RunRead){ arena_str(&r->arena, absolute), *stat });
    else r->reads.at[i].stat = *stat;
    pthread_mutex_unlock(&r->lock);
}

bool run_read_get(Run *r, Str absolute, JailStat *out) {
    bool found = false;
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->reads.n && !found; i++)
        if (str_eq(r->reads.at[i].path, absolute)) *out = r->reads.at[i].stat, found = true;
    pthread_mutex_unlock(&r->lock);
    return found;
}
