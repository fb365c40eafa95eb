/* A request that the server runs as a task: polls it until it ends. */
#include "mcp/remote/client_private.h"
#include "value/int.h"

enum { TASK_POLL_MS = 1000, TASK_POLL_MIN_MS = 50, TASK_POLL_MAX_MS = 60000, TASK_HEAP_MAX = 1 << 30 };

static bool plain(McpClient *c, Str method, Value params, void *caller, Cancel *cancel, Heap *heap, Value *out, bool *sent, Error *err) {
    RpcMessage m;
    if (!client_exchange(c, method, params, caller, cancel, heap, &m, sent, NULL, err)) return false;
    if (m.kind == RPC_ERROR) return client_error(c, m.message, m.code, err);
    return *out = m.result, true;
}

static int64_t poll_ms(Value task) {
    Value v = value_member(task, "pollIntervalMs");
    int64_t ms;
    if (value_is_gone(v)) v = value_member(task, "pollInterval");
    if (!value_is_int(v) || !int_to_i64(v, &ms)) ms = TASK_POLL_MS;
    return ms < TASK_POLL_MIN_MS ? TASK_POLL_MIN_MS : ms > TASK_POLL_MAX_MS ? TASK_POLL_MAX_MS : ms;
}

static void cancel_task(McpClient *c, Value params, Heap *heap) {
    Cancel *soon = cancel_new(NULL, (int64_t)2 * 1000000000);
    Value out;
    bool sent;
    Error err;
    (void)plain(c, STR("tasks/cancel"), params, NULL, soon, heap, &out, &sent, &err);
    cancel_free(soon);
}

static bool update_task(McpClient *c, void *caller, Value id, Value task, Heap *heap, Cancel *cancel, Error *err) {
    Value answers, out;
    bool sent = false;
    Dict *d = dict_new(heap, 2, err);
    return d && client_answer_all(c, caller, value_member(task, "inputRequests"), heap, cancel, &answers, err) && dict_put_str(heap, d, STR("taskId"), id, err)
           && dict_put_str(heap, d, STR("inputResponses"), answers, err)
               && plain(c, STR("tasks/update"), value_from_object(d), caller, cancel, heap, &out, &sent, err);
}

static bool is_over(Value task) {
    Str status = value_member_text(task, "status");
    return str_eq(status, STR("completed")) || str_eq(status, STR("failed")) || str_eq(status, STR("cancelled"));
}

/* The result of a finished task (stateless versions). */
static bool take_result(McpClient *c, Value task, Heap *heap, Value *out, Error *err) {
    Value result = value_member(task, "result"), error = value_member(task, "error");
    if (value_is_dict(result)) return value_copy_all_into(heap, result, out, err);
    if (value_is_dict(error)) return client_error(c, value_member_text(error, "message"), 0, err);
    return error_set(err, ERR_PROTOCOL, "server " STR_FMT ": the task is " STR_FMT, STR_ARG(c->config.server->name),
        STR_ARG(value_member_text(task, "status")));
}

/* Stateless versions return the result in tasks/get; 2025-11-25 by tasks/result, which also waits while the server asks
 * questions. A task may run for hours, so only the last response is kept in memory. */
bool client_task_follow(McpClient *c, Value task, void *caller, Cancel *cancel, Heap *heap, Value *out, Error *err) {
    Value id = value_member(task, "taskId"), params;
    bool sent = false, modern = mcp_stateless(c->version), ok = true;
    Dict *d = dict_new(heap, 1, err);
    if (!value_is_string(id)) return error_set(err, ERR_PROTOCOL, "server " STR_FMT " gave a task without an id", STR_ARG(c->config.server->name));
    if (!d || !dict_put_str(heap, d, STR("taskId"), id, err)) return false;
    params = value_from_object(d);
    Heap *last = NULL;
    for (;;) {
        bool asks = str_eq(value_member_text(task, "status"), STR("input_required")), over = is_over(task);
        if (!modern && (asks || over)) { ok = plain(c, STR("tasks/result"), params, caller, cancel, heap, out, &sent, err); break; }
        if (over) { ok = take_result(c, task, heap, out, err); break; }
        Heap *next = heap_new(TASK_HEAP_MAX);
        ok = (!asks || update_task(c, caller, id, task, next, cancel, err)) && cancel_sleep(cancel, poll_ms(task) * 1000000, err)
             && plain(c, STR("tasks/get"), params, caller, cancel, next, &task, &sent, err);
        if (last) heap_free(last);
        last = next;
        if (!ok) break;
    }
    if (last) heap_free(last);
    if (!ok && !cancel_check(cancel, NULL)) cancel_task(c, params, heap);
    return ok;
}
