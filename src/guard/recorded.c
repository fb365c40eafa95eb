#include "guard/recorded.h"
#include "value/json.h"

static bool read_recorded(Value v, Vendor *vendor, Str *event, Buf *text, Error *err) {
    Str name = value_member_text(v, "vendor");
    Value payload = value_member(v, "payload");
    *event = value_member_text(v, "event");
    *vendor = VENDOR_HARNESS;
    if (!value_is_dict(v)) return error_set(err, ERR_VALIDATION, "a recording is an object with vendor and payload");
    if (!name.n) return error_set(err, ERR_VALIDATION, "vendor is missing");
    if (!str_eq(name, STR("auto")) && (!vendor_find(name, vendor) || *vendor == VENDOR_HARNESS)) {
        size_t n;
        const Str *known = vendor_list(&n);
        Str near = str_nearest(name, known, n);
        error_set(err, ERR_VALIDATION, "vendor: unknown agent \"" STR_FMT "\"", STR_ARG(name));
        return near.n ? error_hint(err, "did you mean \"" STR_FMT "\"?", STR_ARG(near)) : false;
    }
    if (value_is_gone(payload)) return error_set(err, ERR_VALIDATION, "payload is missing");
    if (value_is_string(payload)) return buf_add(text, value_str(payload)), true;
    return json_write(text, payload, &(JsonWrite){ 0 }, err);
}

static void take(GuardRecorded *out, const GuardEnvelope *e, GuardVerdict v, Str tool, Str rule, Str reason) {
    buf_add(&out->vendor, str_from(vendor_name(e->vendor)));
    buf_add(&out->tool, tool);
    buf_add(&out->decision, str_from(guard_verdict_name(v)));
    buf_add(&out->rule, rule);
    if (v != GUARD_PASS && v != GUARD_ALLOW) guard_reason_clean(reason, &out->reason);
}

static void take_failure(GuardRecorded *out, const GuardEnvelope *e, const Error *err) {
    char text[ERROR_MSG_MAX + ERROR_FILE_MAX + ERROR_HINT_MAX + 64];
    error_format(err, text, sizeof text);
    take(out, e, GUARD_DENY, e->tool, STR("guard"), str_from(text));
}

static void judge_in(GuardSession *s, const GuardEnvelope *e, GuardRecorded *out) {
    GuardRuling r;
    GuardAnswer a;
    guard_session_judge(s, &r);
    GuardVerdict answered = guard_answer(e, r.verdict, buf_str(&r.reason), r.changed, &a);
    take(out, e, answered, r.tool.n ? r.tool : r.vendor_tool, r.rule, buf_str(&r.reason));
    out->file = r.file;
    out->line = r.line;
    out->outside = r.outside;
    guard_answer_clear(&a);
    guard_ruling_clear(&r);
}

static void judge(const GuardEnvelope *e, Runtime *rt, const char *project, Heap *heap, GuardRecorded *out) {
    GuardSession *s = NULL;
    Error err = { 0 };
    if (rt) s = guard_session_of(e, rt, heap);
    else if (!guard_session_open(e, project, NULL, heap, &s, &err)) return take_failure(out, e, &err);
    judge_in(s, e, out);
    guard_session_close(s);
}

void guard_recorded_again(Str kept, Vendor vendor, Str event, const GuardBench *with, GuardRecorded *out) {
    GuardEnvelope e;
    Error err = *with->refused;
    Heap *heap = heap_new(0);
    *out = (GuardRecorded){ 0 };
    if (!guard_envelope_read(kept, vendor, event, heap, &e, err.kind == ERR_NONE ? &err : NULL) || err.kind != ERR_NONE) {
        take_failure(out, &e, &err);
    } else {
        GuardSession *s = guard_session_of(&e, with->rt, heap);
        guard_session_add(s, with->layers, with->run, with->cancel);
        judge_in(s, &e, out);
        guard_session_close(s);
    }
    heap_free(heap);
}

bool guard_recorded_judge(Value recorded, Runtime *rt, const char *project, GuardRecorded *out, Error *err) {
    Buf text = { 0 };
    Vendor vendor;
    Str event;
    GuardEnvelope e;
    Error why = { 0 };
    *out = (GuardRecorded){ 0 };
    if (!read_recorded(recorded, &vendor, &event, &text, err)) return buf_clear(&text), false;
    Heap *heap = heap_new(0);
    if (guard_envelope_read(buf_str(&text), vendor, event, heap, &e, &why)) judge(&e, rt, project, heap, out);
    else take_failure(out, &e, &why);
    heap_free(heap);
    buf_clear(&text);
    return true;
}

void guard_recorded_clear(GuardRecorded *r) {
    buf_clear(&r->vendor);
    buf_clear(&r->tool);
    buf_clear(&r->decision);
    buf_clear(&r->rule);
    buf_clear(&r->reason);
}
