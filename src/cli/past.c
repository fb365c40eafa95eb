#include "cli/past.h"
#include "cli/terminal/timeline.h"
#include "cli/terminal/width.h"
#include "value/dict.h"
#include "value/json.h"

/* ---- which ---- */

typedef struct Seeking { Store *store; Str root, agent; Buf *id; bool found; } Seeking;
typedef struct Origin { Str root; bool same; } Origin;

/* The first event says where the run was started: several projects may share a state file. */
static bool check_origin(void *ctx, const Event *e) {
    Origin *o = ctx;
    Heap *h = heap_new(0);
    Value data;
    Error err;
    o->same = json_read(h, e->data, NULL, &data, &err) && value_is_dict(data) && str_eq(value_member_text(data, "project"), o->root);
    heap_free(h);
    return false;
}

static bool seek(void *ctx, const StoreRun *r) {
    Seeking *k = ctx;
    Origin o = { .root = k->root };
    static const Str busy[] = { STR("running"), STR("queued"), STR("stranded"), STR("waiting") };
    if (!r->title.n || str_among(r->status, busy, sizeof busy / sizeof *busy) || !str_eq(r->agent, k->agent)) return true;
    if (!store_event_each(k->store, r->id, 0, check_origin, &o, NULL) || !o.same) return true;
    buf_reset(k->id);
    buf_add(k->id, r->id);
    k->found = true;
    return false;
}

bool past_last(Store *s, Str root, Str agent, Buf *id, Error *err) {
    Seeking k = { s, root, agent, id, false };
    if (!store_run_each(s, seek, &k, err) || k.found) return k.found;
    error_set(err, ERR_VALIDATION, "there is no conversation to continue in this project");
    return error_hint(err, "start one with: harness run");
}

static bool copy_agent(void *ctx, const StoreRun *r) {
    buf_reset(ctx);
    buf_add(ctx, r->agent);
    return true;
}

bool past_agent(Store *s, Str run, Buf *agent, Error *err) {
    bool found = false;
    return store_run_get(s, run, copy_agent, agent, &found, err);
}

/* ---- what it did ---- */

static bool add_cost(void *ctx, const StoreRun *r) {
    Buf *out = ctx;
    buf_add_fmt(out, "so far: %lld turn%s, %lld call%s", (long long)r->turns, r->turns == 1 ? "" : "s", (long long)r->tool_calls, r->tool_calls == 1 ? "" : "s");
    if (r->cost > 0) buf_add_fmt(out, ", $%.2f", r->cost);
    buf_add_char(out, '\n');
    return true;
}

bool past_read(const Cli *cli, Store *s, Str run, Buf *out, Error *err) {
    Timeline *t = timeline_new();
    bool found = false, ok = store_event_each(s, run, 0, timeline_take, t, err);
    if (ok) timeline_write(t, out, &(TimelineStyle){ width_of_terminal(2), cli->color_err, false, true });
    timeline_free(t);
    return ok && store_run_get(s, run, add_cost, out, &found, err);
}
