/* Answers that apply permanently in a project, stored as notes: `p` at the terminal, `harness approvals kept`, `revoke`. */
#include "base/clock.h"
#include "base/digest.h"
#include "base/sha256.h"
#include "tool/runtime_private.h"

/* Several projects may share a state. */
void runtime_approval_scope(Str root, Buf *out) { buf_add_fmt(out, "approved:" STR_FMT, STR_ARG(root)); }

/* False if the tool cannot be approved permanently. */
static bool add_key(Run *r, const RunQuestion *q, Buf *out) {
    Buf all = { 0 };
    uint8_t digest[DIGEST_SHA256_BYTES];
    run_tool_print(r, q->tool, &all);
    bool known = all.n > 0;
    const Str parts[] = { q->tool, q->args_json, q->why };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) buf_add_fmt(&all, "%zu:" STR_FMT, parts[i].n, STR_ARG(parts[i]));
    sha256_of(buf_str(&all), digest);
    digest_hex(digest, 8, out);
    buf_clear(&all);
    return known;
}

bool run_approval_kept(Run *r, const RunQuestion *q, bool *kept, Error *err) {
    Buf scope = { 0 }, key = { 0 }, text = { 0 };
    bool ok = true;
    *kept = false;
    if (!r->store || !q->may_keep) return true;
    runtime_approval_scope(r->rt->project->root, &scope);
    if (add_key(r, q, &key)) ok = store_note_get(r->store, buf_str(&scope), buf_str(&key), &text, kept, err);
    buf_clear(&scope);
    buf_clear(&key);
    buf_clear(&text);
    return ok;
}

bool run_approval_keep(Run *r, const RunQuestion *q, Str by, Error *err) {
    Buf scope = { 0 }, key = { 0 }, text = { 0 };
    bool ok = true;
    runtime_approval_scope(r->rt->project->root, &scope);
    if (add_key(r, q, &key)) {
        event_data_start(&text);
        event_data_str(&text, "tool", q->tool);
        event_data_raw(&text, "args", q->args_json);
        event_data_str(&text, "rule", q->why);
        event_data_str(&text, "by", by);
        event_data_int(&text, "time_ns", clock_wall_ns());
        event_data_end(&text);
        redact_stream(r->rt->redactor, &text);
        ok = store_note_put(r->store, buf_str(&scope), buf_str(&key), buf_str(&text), err);
    }
    buf_clear(&scope);
    buf_clear(&key);
    buf_clear(&text);
    return ok;
}
