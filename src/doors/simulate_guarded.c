/* Calls of other agents: what the store of decisions has of them, judged again by the judge of `harness guard`. */
#include "doors/simulate_private.h"
#include <stdlib.h>
#include "base/mem.h"
#include "guard/kept.h"
#include "guard/recorded.h"
#include "store/store_page.h"
#include "value/json.h"

enum { SCAN_MAX = 20000, INPUTS_MAX = 2 << 20 };                     /* decisions; bytes of all envelopes */

/* ---- reading ---- */

typedef struct Reading { SimulateGuarded *g; Str root; int64_t limit; size_t scanned, bytes; } Reading;

static RuleVerdict verdict_named(Str name) {
    return str_eq(name, STR("deny")) ? RULE_DENY : str_eq(name, STR("ask")) ? RULE_ASK : RULE_ALLOW;
}

static bool take_decision(void *ctx, const StoreDecision *d) {
    Reading *r = ctx;
    SimulateGuarded *g = r->g;
    Vendor vendor;
    if (++r->scanned == SCAN_MAX) g->truncated = true;
    if ((int64_t)g->rows.n >= r->limit) return false;
    if (!vendor_find(d->vendor, &vendor) || !guard_event_calls(guard_event_find(vendor, d->event))) return true;
    if (!str_eq(d->root, r->root)) return true;                      /* another project decided: the file is shared */
    if (!d->input.n) return g->without++, true;
    r->bytes += d->input.n;
    if (r->bytes > INPUTS_MAX) return g->truncated = true, false;
    Arena *a = &g->arena;
    SimulateGuardedRow row = { .n = d->n, .time_ns = d->time_ns, .vendor = vendor, .session = arena_str(a, d->session), .call = arena_str(a, d->call),
                               .event = arena_str(a, d->event), .tool = arena_str(a, d->tool.n ? d->tool : d->vendor_tool),
                               .vendor_tool = arena_str(a, d->vendor_tool), .input = arena_str(a, d->input),
                               .recorded = { .verdict = verdict_named(d->verdict), .rule = arena_str(a, d->rule), .why = arena_str(a, d->reason) } };
    VEC_PUSH(&g->rows, row);
    return true;
}

bool simulate_guarded_read(SimulateGuarded *g, Store *store, Str root, int64_t limit, Error *err) {
    Reading r = { .g = g, .root = root, .limit = limit };
    return store_page_decisions(store, 0, SCAN_MAX, take_decision, &r, err);
}

void simulate_guarded_clear(SimulateGuarded *g) {
    for (int i = 0; i < GUARD_LAYERS; i++) guard_layer_clear(&g->layers[i]);
    VEC_CLEAR(&g->rows);
    arena_clear(&g->arena);
}

/* ---- judging ---- */

typedef struct Judging { SimulateGuarded *g; Runtime *rt[2]; Run *run[2]; Cancel *cancel; size_t done, of; } Judging;

/* Each session of an agent has its own run, so that what hooks remember of one does not decide about another. */
static bool begin_session(Judging *j, Error *err) {
    bool ok = true;
    for (int i = 0; ok && i < 2; i++) ok = !j->rt[i] || run_start(j->rt[i], &(RunConfig){ .no_store = true }, &j->run[i], err);
    return ok;
}

static void end_session(Judging *j) {
    for (int i = 0; i < 2; i++) {
        if (j->run[i]) (void)run_end(j->run[i], RUN_COMPLETED, NULL);
        j->run[i] = NULL;
    }
}

static void judge(Judging *j, int side, SimulateGuardedRow *row, ToolJudgement *out) {
    SimulateGuarded *g = j->g;
    GuardBench with = { .rt = j->rt[side], .run = j->run[side], .cancel = j->cancel, .layers = g->layers, .refused = &g->refused };
    GuardRecorded r;
    guard_recorded_again(row->input, row->vendor, row->event, &with, &r);
    if (r.reason.n) redact_text(runtime_redactor(j->rt[side]), &r.reason);
    *out = (ToolJudgement){ .verdict = verdict_named(buf_str(&r.decision)), .rule = arena_str(&g->arena, buf_str(&r.rule)),
                            .why = arena_str(&g->arena, buf_str(&r.reason)), .file = arena_str(&g->arena, r.file), .line = r.line };
    row->outside = r.outside;
    guard_recorded_clear(&r);
}

static bool judge_row(Judging *j, SimulateGuardedRow *row, Error *err) {
    judge(j, 0, row, &row->after);
    row->before = j->rt[1] ? row->after : row->recorded;
    if (j->rt[1]) judge(j, 1, row, &row->after);
    return simulate_in_time(j->cancel, ++j->done, j->of, row->tool, err);
}

static bool same_session(const SimulateGuardedRow *a, const SimulateGuardedRow *b) {
    return a == b || (a->session.n && a->vendor == b->vendor && str_eq(a->session, b->session));
}

/* The sessions in the order of their first call, the oldest call of each first. */
static bool judge_sessions(Judging *j, bool *judged, Error *err) {
    SimulateGuardedRow *at = j->g->rows.at;
    for (size_t i = j->g->rows.n; i > 0; i--) {
        if (judged[i - 1]) continue;
        bool ok = begin_session(j, err);
        for (size_t k = i; ok && k > 0; k--) {
            if (judged[k - 1] || !same_session(&at[i - 1], &at[k - 1])) continue;
            judged[k - 1] = true;
            ok = judge_row(j, &at[k - 1], err);
        }
        end_session(j);
        if (!ok) return false;
    }
    return true;
}

bool simulate_guarded_judge(SimulateGuarded *g, Runtime *before, Runtime *after, Cancel *cancel, size_t done, size_t of, Error *err) {
    Judging j = { .g = g, .rt = { before, after }, .cancel = cancel, .done = done, .of = of };
    if (!g->rows.n) return true;
    (void)guard_session_layers(g->layers, NULL, &g->refused);
    bool *judged = mem_zero(g->rows.n, sizeof *judged);
    bool ok = judge_sessions(&j, judged, err);
    free(judged);
    return ok;
}

/* ---- the answer ---- */

/* Some events of Cursor have no object of arguments. */
static Value args_of(Value input) {
    static const char *const names[] = { "tool_input", "toolArgs", "args" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (value_is_dict(value_member(input, names[i]))) return value_member(input, names[i]);
    return input;
}

/* What POST /api/tests takes as `guard`. */
static void add_test(const SimulateGuardedRow *row, Value input, Str root, Buf *out) {
    buf_add_fmt(out, "{\"vendor\":\"%s\"", vendor_name(row->vendor));
    bool named = value_member_text(input, "hook_event_name").n || value_member_text(input, "hookEventName").n;
    if (!named) simulate_add_text(out, "event", row->event);
    buf_add(out, STR(",\"payload\":"));
    guard_kept_portable(input, root, out);
    buf_add_char(out, '}');
}

void simulate_guarded_add(const SimulateGuardedRow *row, Str root, Buf *out) {
    Heap *heap = heap_new(0);
    Value input = VALUE_GONE;
    bool read = json_read(heap, row->input, NULL, &input, NULL) && value_is_dict(input), partial = !read || guard_kept_partial(input);
    buf_add_fmt(out, "{\"run\":null,\"seq\":%lld,\"time\":", (long long)row->n);
    store_page_time(out, row->time_ns);
    simulate_add_text(out, "id", row->call);
    simulate_add_text(out, "tool", row->tool);
    buf_add_fmt(out, ",\"agent\":null,\"vendor\":\"%s\"", vendor_name(row->vendor));
    simulate_add_text(out, "vendor_tool", row->vendor_tool);
    simulate_add_text(out, "session", row->session);
    buf_add(out, STR(",\"args\":"));
    if (!read || !json_write(out, args_of(input), &(JsonWrite){ 0 }, NULL)) buf_add(out, STR("{}"));
    buf_add_fmt(out, ",\"redacted\":%s", partial ? "true" : "false");
    simulate_add_verdicts(out, &row->recorded, &row->before, &row->after);
    buf_add(out, STR(",\"test\":"));
    if (partial || row->outside) buf_add(out, STR("null"));
    else add_test(row, input, root, out);
    buf_add_char(out, '}');
    heap_free(heap);
}
