/* Calls, their cancel tokens and their results. */
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "harness_private.h"

/* ---- cancel tokens ---- */

/* A token of the pipeline is a child of its run's token, but the caller's may be used for many calls in many runs. So
 * each call gets its own token, which is listed here while the call is running. */
struct HarnessCancel { pthread_mutex_t lock; bool fired; int64_t deadline_ns; VEC(Cancel *) calls; };

HarnessCancel *harness_cancel_new(int64_t timeout_ms) {
    HarnessCancel *c = mem_zero(1, sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    int64_t most = (INT64_MAX - clock_mono_ns()) / 1000000;
    if (timeout_ms > 0 && timeout_ms < most) c->deadline_ns = clock_mono_ns() + timeout_ms * 1000000;
    return c;
}

void harness_cancel_fire(HarnessCancel *c) {
    pthread_mutex_lock(&c->lock);
    c->fired = true;
    for (size_t i = 0; i < c->calls.n; i++) cancel_fire(c->calls.at[i]);
    pthread_mutex_unlock(&c->lock);
}

void harness_cancel_free(HarnessCancel *c) {
    if (!c) return;
    VEC_CLEAR(&c->calls);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static Cancel *attach(HarnessCancel *c, Cancel *run) {
    if (!c) return NULL;
    int64_t left = c->deadline_ns ? c->deadline_ns - clock_mono_ns() : 0;
    Cancel *own = cancel_new(run, c->deadline_ns && left < 1 ? 1 : left);
    pthread_mutex_lock(&c->lock);
    VEC_PUSH(&c->calls, own);
    if (c->fired) cancel_fire(own);
    pthread_mutex_unlock(&c->lock);
    return own;
}

static void detach(HarnessCancel *c, Cancel *own) {
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->calls.n; i++)
        if (c->calls.at[i] == own) c->calls.at[i] = c->calls.at[--c->calls.n];
    pthread_mutex_unlock(&c->lock);
    cancel_free(own);
}

/* ---- results ---- */

/* All text is created at once, so that a result outlives its project and any thread may read it. */
struct HarnessResult { bool ok; char *value, *text, *json, *error, *step; };

static char *taken(Buf *b) { return b->at ? buf_take(b) : str_dup(STR("")); }

static void take_result(HarnessResult *out, const Result *r) {
    Buf value = { 0 }, json = { 0 };
    result_write_value(&value, r);
    result_write_json(&json, r);
    out->ok = !r->is_error;
    out->value = taken(&value);
    out->json = taken(&json);
    out->text = str_dup(r->text);
    if (!r->is_error) return;
    out->error = str_dup(r->error);
    if (r->step) out->step = str_dup(str_from(result_step_name(r->step)));
}

/* An internal error: a journal that cannot be written, a run that cannot be started. */
static void take_fault(HarnessResult *out, const char *tool, const Error *err) {
    Heap *h = heap_new(0);
    Error bad;
    Dict *d = dict_new(h, 1, &bad);
    Value text;
    Result r = { .name = str_from(tool), .value = VALUE_NONE, .content = VALUE_GONE, .is_error = true, .cls = RESULT_FATAL, .step = STEP_RUNTIME,
                 .rule = str_from(error_kind_name(err->kind)), .error = str_from(err->msg) };
    if (d && kind_text_value(h, r.error, &text, &bad) && dict_put_str(h, d, STR("error"), text, &bad)) r.value = value_from_object(d);
    Buf json = { 0 };
    result_write_value(&json, &r);
    r.text = buf_str(&json);
    take_result(out, &r);
    buf_clear(&json);
    heap_free(h);
}

bool harness_result_ok(const HarnessResult *r) { return r->ok; }
const char *harness_result_value(HarnessResult *r) { return r->value; }
const char *harness_result_text(HarnessResult *r) { return r->text; }
const char *harness_result_json(HarnessResult *r) { return r->json; }
const char *harness_result_error(const HarnessResult *r) { return r->error; }
const char *harness_result_step(const HarnessResult *r) { return r->step; }

void harness_result_free(HarnessResult *r) {
    if (!r) return;
    free(r->value);
    free(r->text);
    free(r->json);
    free(r->error);
    free(r->step);
    free(r);
}

/* ---- calls ---- */

/* A call from inside a native tool is nested in that tool's call: it takes no lock that the tool may hold. */
static void place_call(Call *call, const Run *run) {
    const ToolCallFrame *f = harness_tool_inside();
    if (!f || f->run != run) return;
    call->nested = true;
    call->nesting = f->call->nesting + 1;
    call->depth = f->call->depth;
    call->agent = f->call->agent;
    call->parent = f->call_id;
}

static void call_tool(HarnessRun *run, const char *tool, const char *arguments, HarnessCancel *cancel, HarnessResult *out) {
    Call call = { .name = str_from(tool), .arguments = str_from(arguments ? arguments : "{}"), .wait = true };
    Result r = { 0 };
    Error err = { 0 };
    Cancel *own = attach(cancel, run_cancel(run->run));
    place_call(&call, run->run);
    mcp_remotes_list_for(run->h->servers, call.name, own);
    bool ok = (call.nested || run_turn_start(run->run, (Str){ 0 }, &err)) && tool_call(run->run, &call, own, &r, &err);
    if (ok) take_result(out, &r);
    else take_fault(out, tool, &err);
    result_clear(&r);
    detach(cancel, own);
}

HarnessResult *harness_call_in(HarnessRun *run, const char *tool, const char *arguments, HarnessCancel *cancel) {
    HarnessResult *out = mem_zero(1, sizeof *out);
    call_tool(run, tool ? tool : "", arguments, cancel, out);
    return out;
}

HarnessResult *harness_call(Harness *h, const char *tool, const char *arguments, HarnessCancel *cancel) {
    Error err = { 0 };
    HarnessRun *run = harness_own_run(h, &err);
    if (run) return harness_call_in(run, tool, arguments, cancel);
    HarnessResult *out = mem_zero(1, sizeof *out);
    take_fault(out, tool ? tool : "", &err);
    return out;
}
