/* Tasks that continue in a separate process (harness call --no-wait), and queries from other processes. The two processes share only the state
 * file: a note maps a task to its run, the task's row has its status, the run's lease shows whether a process is running it, and a second note
 * requests cancellation. */
#include "base/clock.h"
#include "base/vec.h"
#include "tool/pipeline/pipe.h"
#include "tool/task/task.h"
#include "value/json.h"

#define RUN_NOTES STR("task")
#define CANCEL_NOTES STR("task.cancel")
enum { LOOK_MS = 50 };

/* ---- the working process ---- */

typedef struct Looking { VEC(Str) ids; VEC(Str) at_work; bool failed; } Looking;

static void look(void *ctx, Str id, bool over, bool failed) {
    Looking *l = ctx;
    VEC_PUSH(&l->ids, id);
    if (!over) VEC_PUSH(&l->at_work, id);
    l->failed = l->failed || failed;
}

static void looked(Looking *l) {
    VEC_CLEAR(&l->ids);
    VEC_CLEAR(&l->at_work);
    l->failed = false;
}

bool task_detached_publish(Run *r, Error *err) {
    Looking l = { 0 };
    bool ok = true;
    task_each(r, look, &l);
    for (size_t i = 0; ok && i < l.ids.n; i++) ok = store_note_put(r->store, RUN_NOTES, l.ids.at[i], r->id, err);
    looked(&l);
    return ok;
}

/* A temporary read error does not end the work. */
static void end_unwanted(Run *r, const Looking *l) {
    Heap *h = heap_new(0);
    for (size_t i = 0; i < l->at_work.n; i++) {
        Buf text = { 0 };
        bool wanted = false;
        Value ignored;
        if (store_note_get(r->store, CANCEL_NOTES, l->at_work.at[i], &text, &wanted, NULL) && wanted) task_cancel(r, l->at_work.at[i], h, &ignored, NULL);
        buf_clear(&text);
    }
    heap_free(h);
}

bool task_detached_finish(Run *r) {
    Looking l = { 0 };
    bool failed;
    for (;;) {
        task_each(r, look, &l);
        failed = l.failed;
        if (l.at_work.n == 0) break;
        end_unwanted(r, &l);
        looked(&l);
        cancel_sleep(NULL, LOOK_MS * INT64_C(1000000), NULL);
    }
    looked(&l);
    return !failed;
}

/* ---- the querying process ---- */

typedef struct Seeking { Str run; bool at_work; } Seeking;

static bool seek(void *ctx, const StoreRun *run) {
    Seeking *s = ctx;
    if (!str_eq(run->id, s->run)) return true;
    s->at_work = str_eq(run->status, str_from(run_status_name(RUN_RUNNING)));
    return false;
}

/* Checks the lease first, so that the row read afterwards is final if the process has ended. */
static bool read_row(Store *store, Str run, Str id, Buf *status, Buf *result, Error *err) {
    Seeking s = { .run = run };
    if (!store_run_each(store, seek, &s, err) || !store_task_get(store, run, id, status, result, err)) return false;
    if (s.at_work || !task_status_running(buf_str(status))) return true;
    buf_reset(status);
    buf_add(status, STR("failed"));
    buf_reset(result);
    buf_add(result, STR("{\"error\":\"interrupted: outcome unknown\"}"));
    return true;
}

/* The stored value of a tool's call is the whole Result; of other work, its value. */
static bool describe(Heap *heap, Str id, Str status, Str result, Value *out, Error *err) {
    Dict *d = dict_new(heap, 3, err);
    Value all;
    if (!d || !dict_put_text(heap, d, "task_id", id, err) || !dict_put_text(heap, d, "status", status, err)) return false;
    *out = value_from_object(d);
    if (result.n == 0) return true;
    if (!json_read(heap, result, &(JsonRead){ 0 }, &all, err)) return false;
    Value value = value_is_gone(value_member(all, "tool_call_id")) ? all : value_member(all, "value");
    return value_is_gone(value) || dict_put_str(heap, d, STR("result"), value, err);
}

static bool read_task(Run *r, Str id, Heap *heap, Value *out, bool *over, Error *err) {
    Buf run = { 0 }, status = { 0 }, result = { 0 };
    bool found = false;
    bool ok = store_note_get(r->store, RUN_NOTES, id, &run, &found, err) &&
              (found || error_set(err, ERR_VALIDATION, "no task has the id \"" STR_FMT "\"", STR_ARG(id))) &&
              read_row(r->store, buf_str(&run), id, &status, &result, err) && describe(heap, id, buf_str(&status), buf_str(&result), out, err);
    *over = ok && !task_status_running(buf_str(&status));
    buf_clear(&run);
    buf_clear(&status);
    buf_clear(&result);
    return ok;
}

bool task_detached(const Run *r, const Call *call) {
    return r->config.person_itself && r->store && !call->nested && call->owner.n == 0 && call->depth == 0;
}

bool task_detached_poll(Run *r, Str id, Heap *heap, Value *out, Error *err) { return read_task(r, id, heap, out, &(bool){ 0 }, err); }

bool task_detached_await(Run *r, Str id, int64_t timeout_ms, Cancel *cancel, Heap *heap, Value *out, Error *err) {
    int64_t end = timeout_ms >= 0 && timeout_ms < INT64_MAX / 2000000 ? clock_mono_ns() + timeout_ms * 1000000 : INT64_MAX;
    bool over = false, ok = true;
    while (ok && (ok = read_task(r, id, heap, out, &over, err)) && !over && clock_mono_ns() < end)
        ok = cancel_sleep(cancel, LOOK_MS * INT64_C(1000000), err);
    return ok;
}

bool task_detached_cancel(Run *r, Str id, Heap *heap, Value *out, Error *err) {
    bool over;
    return read_task(r, id, heap, out, &over, err) && (over || store_note_put(r->store, CANCEL_NOTES, id, STR("1"), err));
}
