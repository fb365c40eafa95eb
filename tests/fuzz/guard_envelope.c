/* An envelope of any vendor; the first byte chooses the vendor on the command line. The result must be calls or an error, and a refusal
 * must be possible in both cases. Calls have names, paths are absolute, and no file of a patch is left out. What is stored of a call is a bounded
 * JSON object without the secret, and so is the payload that a test gets. */
#include <stdlib.h>
#include "guard/kept.h"
#include "value/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(bool ok) { if (!ok) abort(); }

static void check_call(const GuardCall *c) {
    require(c->tool.n > 0 && value_is_dict(c->args));
    require(!c->absolute.n || c->absolute.at[0] == '/');
    require(!c->path.n || c->absolute.n);
    require(c->kind != CALL_SHELL || c->command.at);
    require(c->kind != CALL_FILE_WRITE || c->path.n);
}

static void check_kept(const GuardEnvelope *e, Heap *heap) {
    Buf kept = { 0 }, test = { 0 };
    Value v;
    Redactor *redactor = redact_new();
    redact_add_value(redactor, STR("known-secret"));
    guard_kept_write(e, redactor, &kept);
    require(kept.n <= GUARD_KEPT_MAX && str_find(buf_str(&kept), STR("known-secret")) < 0);
    if (kept.n) {
        require(json_read(heap, buf_str(&kept), NULL, &v, NULL) && value_is_dict(v));
        (void)guard_kept_partial(v);
        guard_kept_portable(v, STR("/r"), &test);
        require(json_read(heap, buf_str(&test), NULL, &v, NULL) && value_is_dict(v));
    }
    redact_free(redactor);
    buf_clear(&kept);
    buf_clear(&test);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n < 1) return 0;
    Vendor said = (Vendor)(data[0] % VENDOR_COUNT);
    Str text = { (const char *)data + 1, n - 1 };
    Heap *heap = heap_new(64 << 20);
    Arena arena = { 0 };
    GuardEnvelope e;
    GuardCalls calls = { 0 };
    GuardAnswer a;
    Error err = { 0 };
    bool ok = guard_envelope_read(text, said, STR(""), heap, &e, &err);
    require(ok || err.msg[0]);
    if (ok) require(e.event != GUARD_EVENT_UNKNOWN && e.vendor != VENDOR_HARNESS && e.vendor < VENDOR_COUNT);
    if (ok && guard_event_calls(e.event)) {
        require(e.tool.n > 0);
        ok = guard_calls(&e, STR("/nonexistent/root"), heap, &arena, &calls, &err);
        require(ok ? calls.n > 0 : err.msg[0] != 0);
        for (size_t i = 0; ok && i < calls.n; i++) check_call(&calls.at[i]);
        check_kept(&e, heap);
    }
    require(guard_answer(&e, GUARD_DENY, str_from(err.msg), VALUE_GONE, &a) == GUARD_DENY);
    require(a.err.n > 0 && (a.status == 2 || a.out.n > 0));
    guard_answer_clear(&a);
    arena_clear(&arena);
    heap_free(heap);
    return 0;
}
