/* A request that the server works on as a task: its handle is polled to the end. */
#include "mcp/client_inside.h"
#include "value/int.h"

enum { TASK_POLL_MS = 1000, TASK_POLL_MIN_MS = 50, TASK_POLL_MAX_MS = 60000 };

static bool plain(McpClient *c, Str method, Value params, void *caller, Cancel *cancel, Heap *heap, Value *out, bool *sent, Error *err) {
    RpcMessage m;
    if (!client_exchange(c, method, params, caller, cancel, heap, &m, sent, NULL, err)) return false;
    if (m.kind == RPC_ERROR) return client_error(c, m.message, m.code, err);
    return *out = m.result, true;
}

static int64_t poll_ms(Value task) {
    Value v = client_member(task, "pollIntervalMs");
    int64_t ms;
    if (value_is_gone(v)) v = client_member(task, "pollInterval");
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
    return d && client_answer_all(c, caller, client_member(task, "inputRequests"), heap, cancel, &answers, err) && dict_put_str(heap, d, STR("taskId"), id, err)
           && dict_put_str(heap, d, STR("inputResponses"), answers, err) && plain(c, STR("tasks/update"), value_from_object(d), caller, cancel, heap, &out, &sent, err);
}

/* Both forms: the handle's `result` is in tasks/get (stateless), or is asked for by tasks/result (2025-11-25), which also waits while
 * the server asks. */
bool client_task_follow(McpClient *c, Value task, void *caller, Cancel *cancel, Heap *heap, Value *out, Error *err) {
    Value id = client_member(task, "taskId"), params;
    bool sent = false, modern = mcp_stateless(c->version), ok = true;
    Dict *d = dict_new(heap, 1, err);
    if (!value_is_string(id)) return error_set(err, ERR_PROTOCOL, "server " STR_FMT " gave a task without an id", STR_ARG(c->config.server->name));
    if (!d || !dict_put_str(heap, d, STR("taskId"), id, err)) return false;
    params = value_from_object(d);
    while (ok) {
        Str status = client_text(task, "status");
        bool asks = str_eq(status, STR("input_required")), done = str_eq(status, STR("completed")) || str_eq(status, STR("failed")) || str_eq(status, STR("cancelled"));
        if (!modern && (asks || done)) return plain(c, STR("tasks/result"), params, caller, cancel, heap, out, &sent, err);
        if (done && value_is_dict(client_member(task, "result"))) return *out = client_member(task, "result"), true;
        if (done && value_is_dict(client_member(task, "error")))
            return client_error(c, client_text(client_member(task, "error"), "message"), 0, err);
        if (done) return error_set(err, ERR_PROTOCOL, "server " STR_FMT ": the task is " STR_FMT, STR_ARG(c->config.server->name), STR_ARG(status));
        if (asks) ok = update_task(c, caller, id, task, heap, cancel, err);
        ok = ok && cancel_sleep(cancel, poll_ms(task) * 1000000, err) && plain(c, STR("tasks/get"), params, caller, cancel, heap, &task, &sent, err);
    }
    if (!cancel_check(cancel, NULL)) cancel_task(c, params, heap);
    return false;
}
