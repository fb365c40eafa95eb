#include "doors/recorded.h"
#include "value/json.h"

static RecordedCall *find_call(Recorded *r, Str id) {
    for (size_t i = r->n; i > 0; i--)
        if (str_eq(r->at[i - 1].id, id)) return &r->at[i - 1];
    return NULL;
}

static Str keep_member(Recorded *r, Value data, const char *key) { return arena_str(&r->arena, value_member_text(data, key)); }

static void begin_call(Recorded *r, const Event *e, Value data) {
    Buf args = { 0 };
    if (!json_write(&args, value_member(data, "args"), &(JsonWrite){ 0 }, NULL)) buf_reset(&args), buf_add(&args, STR("{}"));
    VEC_PUSH(r, ((RecordedCall){ .seq = e->seq, .time_ns = e->time_ns, .id = keep_member(r, data, "id"), .tool = keep_member(r, data, "name"),
                                 .args = arena_str(&r->arena, buf_str(&args)), .agent = arena_str(&r->arena, e->agent), .outcome = STR("open"),
                                 .redacted = str_find(buf_str(&args), STR("[redacted]")) >= 0 }));
    buf_clear(&args);
}

static void end_call(Recorded *r, const Event *e, Value data) {
    RecordedCall *call = find_call(r, value_member_text(data, "id"));
    if (!call) return;
    if (str_eq(e->type, STR("approval.asked"))) {
        call->asked = true;
        call->rule = keep_member(r, data, "rule");
        if (!call->rule.n) call->rule = keep_member(r, data, "reason");
        return;
    }
    call->outcome = str_eq(e->type, STR("tool.completed")) ? STR("completed") : str_eq(e->type, STR("tool.failed")) ? STR("failed") : STR("refused");
    call->step = keep_member(r, data, "step");
    Str rule = keep_member(r, data, "rule");
    if (rule.n || !call->asked) call->rule = rule;
}

static bool take_event(void *ctx, const Event *e) {
    static const Str later[] = { STR("tool.completed"), STR("tool.failed"), STR("tool.refused"), STR("approval.asked") };
    Recorded *r = ctx;
    Value data;
    bool begins = str_eq(e->type, STR("tool.started"));
    if (++r->events > r->events_max) return false;
    if (!begins && !str_among(e->type, later, sizeof later / sizeof *later)) return true;
    heap_reset(r->heap);
    if (!json_read(r->heap, e->data, NULL, &data, NULL) || !value_is_dict(data)) return true;
    if (begins) begin_call(r, e, data);
    else end_call(r, e, data);
    return true;
}

bool recorded_read(Recorded *r, Store *store, Str run, int64_t events_max, Error *err) {
    if (!r->heap) r->heap = heap_new(0);
    r->events_max = events_max;
    return store_event_each(store, run, 0, take_event, r, err);
}

void recorded_reset(Recorded *r) {
    r->n = 0;
    arena_clear(&r->arena);
    r->arena = (Arena){ 0 };
}

void recorded_clear(Recorded *r) {
    if (r->heap) heap_free(r->heap);
    arena_clear(&r->arena);
    VEC_CLEAR(r);
}
