#include "store/store_page.h"
#include <ctype.h>
#include "base/clock.h"
#include "store/store_private.h"
#include "value/json.h"

static bool contains(Str text, Str part) {
    for (size_t i = 0; i + part.n <= text.n; i++) {
        size_t k = 0;
        while (k < part.n && tolower((unsigned char)text.at[i + k]) == tolower((unsigned char)part.at[k])) k++;
        if (k == part.n) return true;
    }
    return false;
}

bool store_page_wanted(const StoreRunFilter *f, const StoreRun *r) {
    if (!f->all && r->title.n == 0 && r->turns == 0) return false;
    if (f->status.n && !str_eq(r->status, f->status)) return false;
    if (!f->any_agent && !str_eq(r->agent, f->agent)) return false;
    if (r->started_ns < f->since_ns) return false;
    return !f->search.n || contains(r->title, f->search) || contains(r->agent, f->search) || contains(r->id, f->search);
}

bool store_page_runs(Store *s, int64_t before, size_t max, StoreRunEach *each, void *ctx, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_RUN_PAGE, "list runs", err);
    bool some = true, ok = store_bind(&q, "ii", before > 0 ? before : INT64_MAX, (int64_t)max);
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        StoreRun run = store_run_of(&q);
        if (!each(ctx, store_int(&q, STORE_RUN_PAGE_NUMBER), &run)) break;
    }
    return store_unlock(s, store_end(&q, ok));
}

bool store_page_run_number(Store *s, Str id, int64_t *n, Error *err) {
    store_lock(s);
    return store_unlock(s, store_run_number(s, id, n, err));
}

bool store_page_artifacts(Store *s, Str run, size_t max, bool (*each)(void *ctx, const StoreArtifact *a), void *ctx, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_ARTIFACT_PAGE, "list artifacts", err);
    bool some = true, ok = store_bind(&q, "si", run, (int64_t)max);
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        StoreArtifact a = { store_text(&q, 0), store_text(&q, 1), store_text(&q, 2), store_int(&q, 3), store_int(&q, 4) };
        if (!each(ctx, &a)) break;
    }
    return store_unlock(s, store_end(&q, ok));
}

/* ---- decisions ---- */

static bool has_decisions(Store *s, bool *out, Error *err) {
    StoreQuery q = store_query(s, SQL_DECISION_TABLE, "list decisions", err);
    *out = false;
    return store_end(&q, q.stmt && store_row(&q, out));
}

bool store_page_decisions(Store *s, int64_t before, size_t max, bool (*each)(void *ctx, const StoreDecision *d), void *ctx, Error *err) {
    bool there;
    store_lock(s);
    if (!has_decisions(s, &there, err)) return store_unlock(s, false);
    if (!there) return store_unlock(s, true);
    StoreQuery q = store_query(s, SQL_DECISION_PAGE, "list decisions", err);
    bool some = true, ok = store_bind(&q, "ii", before > 0 ? before : INT64_MAX, (int64_t)max);
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        StoreDecision d = { store_int(&q, 0), store_int(&q, 1), store_text(&q, 2), store_text(&q, 3), store_text(&q, 4), store_text(&q, 5),
                            store_text(&q, 6), store_text(&q, 7), store_text(&q, 8), store_text(&q, 9), store_text(&q, 10), store_text(&q, 11),
                            store_text(&q, 12), store_text(&q, 14) };
        if (!each(ctx, &d)) break;
    }
    return store_unlock(s, store_end(&q, ok));
}

/* ---- costs ---- */

bool store_page_costs(Store *s, bool by_day, int64_t since_ns, size_t max, bool (*each)(void *ctx, const StoreCost *c), void *ctx, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, by_day ? SQL_COST_BY_DAY : SQL_COST_BY_AGENT, "add up costs", err);
    bool some = true, ok = store_bind(&q, "ii", since_ns, (int64_t)max);
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        StoreCost c = { store_text(&q, 0), store_int(&q, 1), store_int(&q, 2), store_int(&q, 3), store_int(&q, 4), store_int(&q, 5), store_int(&q, 6),
                        store_double(&q, 7) };
        if (!each(ctx, &c)) break;
    }
    return store_unlock(s, store_end(&q, ok));
}

/* ---- JSON ---- */

void store_page_time(Buf *out, int64_t ns) {
    char text[CLOCK_TEXT_SIZE];
    if (!ns) {
        buf_add(out, STR("null"));
        return;
    }
    clock_format(ns, text);
    buf_add_fmt(out, "\"%.19sZ\"", text);
}

static void add_member(Buf *b, const char *key, Str text) {
    buf_add_fmt(b, ",\"%s\":", key);
    json_write_string(b, text, false);
}

static bool take_tool(void *ctx, const Event *e) {
    Buf *out = ctx;
    EventType type = event_type_find(e->type);
    if (type != EVENT_TOOL_STARTED && type != EVENT_TOOL_REFUSED) return true;
    Heap *h = heap_new(0);
    Value data;
    if (json_read(h, e->data, NULL, &data, NULL)) buf_add(out, value_member_text(data, "name"));
    heap_free(h);
    return false;
}

void store_page_tool(Store *s, const StoreRun *r, Buf *out) {
    if (r->title.n == 0 && r->tool_calls > 0) (void)store_event_each(s, r->id, 0, take_tool, out, NULL);
}

void store_page_run_json(Store *s, const StoreRun *r, Buf *b) {
    Buf tool = { 0 };
    store_page_tool(s, r, &tool);
    buf_add(b, STR("{\"id\":"));
    json_write_string(b, r->id, false);
    add_member(b, "status", r->status);
    buf_add(b, STR(",\"started\":"));
    store_page_time(b, r->started_ns);
    buf_add(b, STR(",\"ended\":"));
    store_page_time(b, r->ended_ns);
    add_member(b, "agent", r->agent);
    add_member(b, "title", r->title);
    add_member(b, "tool", buf_str(&tool));
    buf_clear(&tool);
    buf_add_fmt(b, ",\"cost\":%.6f,\"turns\":%lld,\"tool_calls\":%lld,\"usage\":" STR_FMT, r->cost, (long long)r->turns, (long long)r->tool_calls,
                STR_ARG(r->usage.n ? r->usage : STR("{}")));
    add_member(b, "parent", r->parent);
    add_member(b, "session", r->session);
    buf_add_char(b, '}');
}

bool store_page_waits(Store *s, Str run) {
    static const Str live[] = { STR("running"), STR("waiting"), STR("queued") };
    Buf status = { 0 };
    bool waits = false;
    if (store_run_status(s, run, &status, NULL))
        for (size_t i = 0; i < sizeof live / sizeof *live; i++) waits |= str_eq(buf_str(&status), live[i]);
    buf_clear(&status);
    return waits;
}

/* `agent` and `permits`, as the process that asked stored them; null for a question of an older harness. */
static void add_about(Store *s, const StoreApproval *a, Buf *b) {
    Buf about = { 0 };
    bool found = false;
    bool ok = store_question_note_get(s, a->run, a->id, STORE_QUESTION_ABOUT, &about, &found, NULL);
    if (ok && found && about.n > 2) buf_add_fmt(b, "," STR_FMT, STR_ARG(str_sub(buf_str(&about), 1, about.n - 1)));
    else buf_add(b, STR(",\"agent\":null,\"permits\":null"));
    buf_clear(&about);
}

void store_page_approval_json(Store *s, const StoreApproval *a, bool waiting, Buf *b) {
    char time[CLOCK_TEXT_SIZE];
    clock_format(a->asked_ns, time);
    buf_add(b, STR("{\"id\":"));
    json_write_string(b, a->id, false);
    add_member(b, "run", a->run);
    add_member(b, "call", a->call);
    add_member(b, "tool", a->tool);
    buf_add_fmt(b, ",\"args\":" STR_FMT, STR_ARG(a->args));
    add_member(b, "why", a->why);
    add_member(b, "asked", str_from(time));
    add_member(b, "rule", a->rule);
    buf_add(b, STR(",\"expires\":"));
    store_page_time(b, a->expires_ns);
    add_member(b, "state", a->state);
    buf_add_fmt(b, ",\"answer\":" STR_FMT, STR_ARG(a->answer.n ? a->answer : STR("null")));
    add_member(b, "by", a->by);
    buf_add_fmt(b, ",\"waiting\":%s,\"redacted\":%s", waiting ? "true" : "false", str_find(a->args, STR("[redacted]")) >= 0 ? "true" : "false");
    add_about(s, a, b);
    buf_add_char(b, '}');
}
