#include "tool/result.h"
#include "base/number.h"
#include "tool/pipeline/pipe.h"
#include "value/json.h"

void result_clear(Result *r) {
    if (r->held) pipe_give(r->held);
    *r = (Result){ 0 };
}

const char *result_class_name(ResultClass c) {
    static const char *const names[] = { "ok", "repairable", "retryable", "fatal" };
    return names[c];
}

const char *result_step_name(CallStep s) {
    static const char *const names[] = { "",
#define STEP(id, name) [STEP_##id] = name,
#include "tool/pipeline/steps.def"
#undef STEP
    };
    return names[s];
}

static void add_value(Buf *out, Value v) {
    Error err;
    if (value_is_gone(v) || !json_write(out, v, &(JsonWrite){ 0 }, &err)) buf_add(out, STR("null"));
}

void result_write_value(Buf *out, const Result *r) { add_value(out, r->value); }

static void add_text(Buf *out, const char *key, Str text) {
    buf_add_fmt(out, ",\"%s\":", key);
    json_write_string(out, text, false);
}

static void add_error(Buf *out, const Result *r) {
    buf_add_fmt(out, ",\"error\":{\"class\":\"%s\"", result_class_name(r->cls));
    if (r->step) add_text(out, "step", str_from(result_step_name(r->step)));
    if (r->rule.n) add_text(out, "rule", r->rule);
    add_text(out, "message", r->error);
    if (r->timed_out) buf_add(out, STR(",\"timed_out\":true"));
    buf_add_char(out, '}');
}

void result_write_json(Buf *out, const Result *r) {
    buf_add(out, STR("{\"tool_call_id\":"));
    json_write_string(out, r->call_id, false);
    add_text(out, "name", r->name);
    buf_add(out, STR(",\"content\":"));
    if (!value_is_gone(r->content)) {
        add_value(out, r->content);
    } else {
        buf_add(out, STR("[{\"type\":\"text\",\"text\":"));
        json_write_string(out, r->text, false);
        buf_add(out, STR("}]"));
    }
    buf_add(out, STR(",\"value\":"));
    add_value(out, r->value);
    buf_add(out, STR(",\"artifacts\":["));
    if (r->artifact.n) json_write_string(out, r->artifact, false);
    buf_add_fmt(out, "],\"is_error\":%s", r->is_error ? "true" : "false");
    if (r->is_error) add_error(out, r);
    if (r->provider.n) add_text(out, "provider", r->provider);
    if (r->task_id.n) add_text(out, "task_id", r->task_id);
    buf_add_fmt(out, ",\"elapsed_ms\":%.3f}", (double)r->elapsed_ns / 1e6);
}
