/* Refused calls: counts mistakes of the model, and ends the turn when the same call is refused repeatedly. */
#include <stdio.h>
#include "agent/frame.h"
#include "base/hash.h"
#include "value/json.h"

enum { SAME_REFUSALS = 3 };

void frame_forget_refusals(Frame *f) {
    f->faults = 0;
    f->vetoes.n = 0;
}

/* Equal for equal arguments, whatever their formatting. */
static uint64_t digest(Str arguments) {
    static const uint8_t key[16];
    Heap *h = heap_new((size_t)256 << 20);
    Buf sorted = { 0 };
    Value v;
    if (!json_read(h, arguments, &(JsonRead){ 0 }, &v, NULL) || !json_write(&sorted, v, &(JsonWrite){ .sort_keys = true }, NULL)) {
        buf_reset(&sorted);
        buf_add(&sorted, arguments);
    }
    uint64_t out = hash_sip24(buf_str(&sorted), key);
    buf_clear(&sorted);
    heap_free(h);
    return out;
}

static FrameVeto *find_veto(Frame *f, Str tool) {
    for (size_t i = 0; i < f->vetoes.n; i++)
        if (str_eq(f->vetoes.at[i].tool, tool)) return &f->vetoes.at[i];
    return NULL;
}

/* How often this call was refused in a row. */
static int count_veto(Frame *f, Str tool, Str arguments) {
    FrameVeto *v = find_veto(f, tool);
    uint64_t what = digest(arguments);
    if (!v) {
        VEC_PUSH(&f->vetoes, (FrameVeto){ .tool = arena_str(&f->arena, tool) });
        v = &VEC_LAST(&f->vetoes);
    }
    v->count = v->count > 0 && v->arguments == what ? v->count + 1 : 1;
    v->arguments = what;
    return v->count;
}

static bool end_turn(Frame *f, const Result *r, const char *limit, int64_t value, const char *why, SessionReply *out, Error *err) {
    if (!frame_limit_reached(f, limit, value, &out->status, out->reason, err)) return false;
    snprintf(out->reason, sizeof out->reason, STR_FMT ": " STR_FMT " (%s)", STR_ARG(str_sub(r->name, 0, 100)), STR_ARG(str_sub(r->error, 0, 300)), why);
    return true;
}

bool frame_count_refusal(Frame *f, const Result *r, Str arguments, SessionReply *out, Error *err) {
    int64_t max = runtime_limits(f->s->agents->rt)->repair.max_per_turn;
    FrameVeto *v = find_veto(f, r->name);
    char why[100];
    if (r->refusal != RESULT_VETO && v) v->count = 0;
    if (out->status || r->refusal == RESULT_NOT_REFUSED) return true;
    if (r->refusal == RESULT_FAULT) {
        if (++f->faults <= max) return true;
        snprintf(why, sizeof why, "limits.repair.max_per_turn of %lld is reached", (long long)max);
        return end_turn(f, r, "limits.repair.max_per_turn", max, why, out, err);
    }
    if (count_veto(f, r->name, arguments) < SAME_REFUSALS) return true;
    snprintf(why, sizeof why, "the same call was refused %d times in a row", SAME_REFUSALS);
    return end_turn(f, r, "same_call_refused", SAME_REFUSALS, why, out, err);
}

bool frame_many_calls(Frame *f, size_t n, Cancel *cancel) {
    int64_t max = runtime_limits(f->s->agents->rt)->max_tool_calls_per_turn;
    EventPlace place = { .agent = f->name, .parent = f->id, .depth = f->depth };
    atomic_llong more = 0;
    return n > 0 && (int64_t)n > max && run_go_on(f->s->run, f->s->person, place, "limits.max_tool_calls_per_turn", max, &more, cancel);
}
