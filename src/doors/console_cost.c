/* What runs cost, and the decisions about other agents. */
#include "doors/console_private.h"
#include "base/clock.h"
#include "store/store_page.h"
#include "value/int.h"

enum { ROWS_MAX = 1000, PAGE_USUAL = 50, PAGE_MAX = 500, GUARD_SCAN = 20000, MODEL_RUNS = 20000, MODEL_EVENTS = 200000 };
#define DAY_NS ((int64_t)86400 * 1000000000)

/* ---- sums ---- */

static void add_sums(Buf *out, const StoreCost *s) {
    buf_add_fmt(out, "\"runs\":%lld,\"turns\":%lld,\"tool_calls\":%lld,\"input\":%lld,\"output\":%lld,\"cached\":%lld,\"cost\":%.6f}", (long long)s->runs,
                (long long)s->turns, (long long)s->tool_calls, (long long)s->input, (long long)s->output, (long long)s->cached, s->cost);
}

typedef struct Costs { Buf out; StoreCost total; size_t n; } Costs;

static bool add_cost(void *ctx, const StoreCost *s) {
    Costs *l = ctx;
    buf_add(&l->out, l->n++ ? STR(",{\"key\":") : STR("{\"key\":"));
    json_write_string(&l->out, s->key, false);
    buf_add_char(&l->out, ',');
    add_sums(&l->out, s);
    l->total.runs += s->runs;
    l->total.turns += s->turns;
    l->total.tool_calls += s->tool_calls;
    l->total.input += s->input;
    l->total.output += s->output;
    l->total.cached += s->cached;
    l->total.cost += s->cost;
    return true;
}

/* ---- by model: only the events know it ---- */

typedef struct Models {
    Store *store;
    Arena arena;
    Heap *heap;
    VEC(StoreCost) at;
    Str now;                             /* the model of the request that was sent last, in the run that is being read */
    int64_t since_ns, events;
    Error *err;
    bool failed, truncated;
} Models;

static StoreCost *model_of(Models *m, Str name) {
    for (size_t i = 0; i < m->at.n; i++)
        if (str_eq(m->at.at[i].key, name)) return &m->at.at[i];
    VEC_PUSH(&m->at, ((StoreCost){ .key = arena_str(&m->arena, name) }));
    return &VEC_LAST(&m->at);
}

static int64_t count_of(Value usage, const char *key) {
    Value v = value_member(usage, key);
    int64_t n = 0;
    return value_is_int(v) && int_to_i64(v, &n) && n > 0 && n < (int64_t)1 << 50 ? n : 0;
}

static bool take_model(void *ctx, const Event *e) {
    Models *m = ctx;
    Value data;
    bool starts = str_eq(e->type, STR("completion.started")), ends = str_eq(e->type, STR("completion.completed"));
    if (++m->events > MODEL_EVENTS) return m->truncated = true, false;
    if (!starts && !ends) return true;
    heap_reset(m->heap);
    if (!json_read(m->heap, e->data, NULL, &data, NULL) || !value_is_dict(data)) return true;
    if (starts) return m->now = model_of(m, value_member_text(data, "model"))->key, true;
    StoreCost *s = model_of(m, m->now);
    Value usage = value_member(data, "usage"), cost = value_member(data, "cost");
    s->turns++;
    s->input += count_of(usage, "input");
    s->output += count_of(usage, "output");
    s->cached += count_of(usage, "cached");
    s->cost += value_is_float(cost) ? value_float(cost) : value_is_int(cost) ? int_to_double(cost) : 0;
    return true;
}

static bool models_of_run(void *ctx, int64_t n, const StoreRun *r) {
    Models *m = ctx;
    (void)n;
    if (r->started_ns < m->since_ns || r->turns == 0) return true;
    m->now = STR("");
    if (!store_event_each(m->store, r->id, 0, take_model, m, m->err)) return m->failed = true, false;
    return !m->truncated;
}

static bool add_models(Store *store, int64_t since_ns, Costs *l, bool *truncated, Error *err) {
    Models m = { .store = store, .since_ns = since_ns, .heap = heap_new(0), .err = err };
    bool ok = store_page_runs(store, 0, MODEL_RUNS, models_of_run, &m, err) && !m.failed;
    for (size_t i = 0; ok && i < m.at.n && i < ROWS_MAX; i++) add_cost(l, &m.at.at[i]);
    *truncated = m.truncated;
    VEC_CLEAR(&m.at);
    arena_clear(&m.arena);
    heap_free(m.heap);
    return ok;
}

void console_cost(ConsoleCall *c) {
    Error err = { 0 };
    Costs l = { 0 };
    int64_t days = 30;
    bool truncated = false;
    Str by = http_server_query(c->q, STR("by"));
    Store *s = c->console->config->store;
    static const Str keys[] = { STR("day"), STR("agent"), STR("model") };
    if (!by.n) by = keys[0];
    bool ok = console_query_int(c, "days", 1, 3660, &days, &err) && (str_among(by, keys, 3) || error_set(&err, ERR_VALIDATION, "by is not day, agent or model"));
    int64_t since_ns = clock_wall_ns() - days * DAY_NS;
    buf_add_fmt(&l.out, "{\"by\":\"" STR_FMT "\",\"rows\":[", STR_ARG(ok ? by : keys[0]));
    if (ok && str_eq(by, keys[2])) ok = add_models(s, since_ns, &l, &truncated, &err);
    else if (ok) ok = store_page_costs(s, str_eq(by, keys[0]), since_ns, ROWS_MAX, add_cost, &l, &err);
    if (!ok) return buf_clear(&l.out), console_fail(c, &err);
    buf_add(&l.out, STR("],\"total\":{"));
    add_sums(&l.out, &l.total);
    buf_add_fmt(&l.out, ",\"truncated\":%s}", truncated ? "true" : "false");
    console_reply(c, 200, &l.out);
}

/* ---- decisions ---- */

typedef struct Decisions { Buf out; int64_t limit, n, last; bool more; } Decisions;

static bool add_decision(void *ctx, const StoreDecision *d) {
    Decisions *l = ctx;
    Buf *b = &l->out;
    if (l->n >= l->limit) return l->more = true, false;
    buf_add_fmt(b, "%s{\"n\":%lld,\"time\":", l->n++ ? "," : "", (long long)d->n);
    store_page_time(b, d->time_ns);
    console_add_member(b, "vendor", d->vendor);
    console_add_member(b, "session", d->session);
    console_add_member(b, "call", d->call);
    console_add_member(b, "event", d->event);
    console_add_member(b, "tool", d->tool);
    console_add_member(b, "vendor_tool", d->vendor_tool);
    console_add_member(b, "subject", d->subject);
    console_add_member(b, "verdict", d->verdict);
    console_add_member(b, "rule", d->rule);
    console_add_member(b, "reason", d->reason);
    buf_add_char(b, '}');
    l->last = d->n;
    return true;
}

void console_decisions(ConsoleCall *c) {
    Error err = { 0 };
    Decisions l = { .limit = PAGE_USUAL };
    int64_t before = 0;
    buf_add(&l.out, STR("{\"decisions\":["));
    bool ok = console_query_int(c, "limit", 1, PAGE_MAX, &l.limit, &err) && console_query_int(c, "before", 1, INT64_MAX, &before, &err)
        && store_page_decisions(c->console->config->decisions, before, (size_t)l.limit + 1, add_decision, &l, &err);
    if (!ok) return buf_clear(&l.out), console_fail(c, &err);
    if (l.more) buf_add_fmt(&l.out, "],\"next\":\"%lld\"}", (long long)l.last);
    else buf_add(&l.out, STR("],\"next\":null}"));
    console_reply(c, 200, &l.out);
}

/* ---- guarded agents ---- */

enum { SESSIONS_MAX = 64 };
typedef struct Agent { Str vendor; int64_t decisions, denied, asked, last_ns; VEC(Str) sessions; } Agent;
typedef struct Agents { Arena arena; VEC(Agent) at; } Agents;

static Agent *agent_of(Agents *all, Str vendor) {
    for (size_t i = 0; i < all->at.n; i++)
        if (str_eq(all->at.at[i].vendor, vendor)) return &all->at.at[i];
    VEC_PUSH(&all->at, ((Agent){ .vendor = arena_str(&all->arena, vendor) }));
    return &VEC_LAST(&all->at);
}

static bool take_decision(void *ctx, const StoreDecision *d) {
    Agents *all = ctx;
    Agent *a = agent_of(all, d->vendor);
    a->decisions++;
    a->denied += str_eq(d->verdict, STR("deny"));
    a->asked += str_eq(d->verdict, STR("ask"));
    if (d->time_ns > a->last_ns) a->last_ns = d->time_ns;
    if (a->sessions.n < SESSIONS_MAX && !str_among(d->session, a->sessions.at, a->sessions.n)) VEC_PUSH(&a->sessions, arena_str(&all->arena, d->session));
    return true;
}

bool console_guarded(Store *s, Buf *out, Error *err) {
    Agents all = { 0 };
    bool ok = store_page_decisions(s, 0, GUARD_SCAN, take_decision, &all, err);
    buf_add_char(out, '[');
    for (size_t i = 0; i < all.at.n; i++) {
        Agent *a = &all.at.at[i];
        buf_add(out, i ? STR(",{\"vendor\":") : STR("{\"vendor\":"));
        json_write_string(out, a->vendor, false);
        buf_add_fmt(out, ",\"sessions\":%zu,\"decisions\":%lld,\"denied\":%lld,\"asked\":%lld,\"last\":", a->sessions.n, (long long)a->decisions,
                    (long long)a->denied, (long long)a->asked);
        store_page_time(out, a->last_ns);
        buf_add_char(out, '}');
        VEC_CLEAR(&a->sessions);
    }
    buf_add_char(out, ']');
    VEC_CLEAR(&all.at);
    arena_clear(&all.arena);
    return ok;
}
