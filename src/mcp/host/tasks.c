/* tasks/get, update and cancel; tasks/result and list of 2025-11-25. */
#include "mcp/host/tasks.h"
#include <stdio.h>
#include "base/clock.h"
#include "mcp/host/task_record.h"
#include "tool/task/task.h"
#include "value/int.h"

/* ---- creating ---- */

bool serve_tasks_declared(const McpRequest *q) {
    Value *extensions = value_is_dict(q->client) ? dict_find_str(value_dict(q->client), STR("extensions")) : NULL;
    Value *tasks = extensions && value_is_dict(*extensions) ? dict_find_str(value_dict(*extensions), STR(SERVE_TASKS_EXTENSION)) : NULL;
    return tasks && value_is_dict(*tasks);
}

bool serve_tasks_missing(McpRequest *q, Error *err) {
    Error bad;
    Value data;
    q->code = MCP_MISSING_CAPABILITY;
    if (json_read(q->heap, STR("{\"requiredCapabilities\":{\"extensions\":{\"" SERVE_TASKS_EXTENSION "\":{}}}}"), &(JsonRead){ 0 }, &data,
        &bad)) q->data = data;
    return error_set(err, ERR_PROTOCOL, "this needs the client's capability extensions[\"" SERVE_TASKS_EXTENSION "\"], which it has not declared");
}

static bool not_so(McpRequest *q, const ToolEntry *tool, const char *why, Error *err) {
    q->code = RPC_METHOD_NOT_FOUND;
    return error_set(err, ERR_PROTOCOL, "tool \"" STR_FMT "\" %s", STR_ARG(tool->def.name), why);
}

static bool is_wanted(McpRequest *q, const ToolEntry *tool, bool *out, Error *err) {
    bool asked = serve_param(q, "task") != NULL;
    *out = false;
    if (mcp_stateless(q->version)) {
        *out = tool->def.async && serve_tasks_declared(q);
        return *out || !tool->def.async_required || serve_tasks_missing(q, err);
    }
    if (q->version < MCP_2025_11_25) return true;
    if (asked && !tool->def.async) return not_so(q, tool, "cannot be called as a task", err);
    if (!asked && tool->def.async_required) return not_so(q, tool, "must be called as a task", err);
    return *out = asked, true;
}

bool serve_tasks_begin(McpRequest *q, const ToolEntry *tool, Call *call, McpTask **out, Error *err) {
    bool wanted;
    *out = NULL;
    call->wait = true;
    if (!is_wanted(q, tool, &wanted, err)) return false;
    if (!wanted) return true;
    McpTask *t = task_record_new(q, tool);
    Value *asked = serve_param(q, "task"), *ttl = asked && value_is_dict(*asked) ? dict_find_str(value_dict(*asked), STR("ttl")) : NULL;
    if (ttl && value_is_small(*ttl) && value_small(*ttl) > 0) t->ttl_ms = value_small(*ttl) < TASK_TTL_MOST_MS ? value_small(*ttl) : TASK_TTL_MOST_MS;
    if (!task_record_enter(task_record_list(q->peer), t, err)) {
        peer_leave_run(q->peer, t->run);
        task_record_free(t);
        return false;
    }
    call->wait = false;
    call->task_person = &t->person;
    call->task_ended = task_record_ended;
    call->task_ctx = t;
    return *out = t, true;
}

/* A call that failed inside may have created a task: its record stays, unknown to the client, until the peer ends. */
void serve_tasks_drop(McpRequest *q, McpTask *t, const Result *r) {
    if (!t || !r || r->task_id.n) return;
    struct McpTasks *l = task_record_list(q->peer);
    pthread_mutex_lock(&l->lock);
    task_record_unlink(l, t);
    pthread_mutex_unlock(&l->lock);
    peer_leave_run(q->peer, t->run);
    task_record_free(t);
}

bool serve_tasks_created(McpRequest *q, McpTask *t, const Result *r, Error *err) {
    struct McpTasks *l = task_record_list(q->peer);
    (void)err;
    pthread_mutex_lock(&l->lock);
    snprintf(t->inner, sizeof t->inner, STR_FMT, STR_ARG(r->task_id));
    if (!mcp_stateless(q->version)) buf_add(&q->text, STR("\"task\":{"));
    task_record_write(t, false, &q->text);
    if (!mcp_stateless(q->version)) buf_add_char(&q->text, '}');
    pthread_mutex_unlock(&l->lock);
    if (mcp_stateless(q->version)) q->result_type = "task";
    return true;
}

/* ---- methods ---- */

/* The task named in params, with the list's lock held if found. */
static McpTask *meant(McpRequest *q, struct McpTasks **l, Error *err) {
    Str id;
    *l = task_record_list(q->peer);
    if (mcp_stateless(q->version) && !serve_tasks_declared(q)) return serve_tasks_missing(q, err), NULL;
    if (!mcp_stateless(q->version) && q->version < MCP_2025_11_25) {
        q->code = RPC_METHOD_NOT_FOUND;
        return error_set(err, ERR_PROTOCOL, "there are no tasks in %s", mcp_version_date(q->version).at), NULL;
    }
    if (!serve_text(q, "taskId", &id, err)) return NULL;
    pthread_mutex_lock(&(*l)->lock);
    task_record_purge(*l);
    McpTask *t = task_record_find(*l, id);
    if (t) return t;
    pthread_mutex_unlock(&(*l)->lock);
    return error_set(err, ERR_VALIDATION, "Task not found: " STR_FMT, STR_ARG(str_sub(id, 0, 100))), NULL;
}

bool serve_tasks_get(McpRequest *q, Error *err) {
    struct McpTasks *l;
    McpTask *t = meant(q, &l, err);
    if (!t) return false;
    task_record_write(t, mcp_stateless(q->version), &q->text);
    pthread_mutex_unlock(&l->lock);
    return true;
}

bool serve_tasks_update(McpRequest *q, Error *err) {
    struct McpTasks *l;
    McpTask *t = meant(q, &l, err);
    Value *responses = serve_param(q, "inputResponses");
    if (!t) return false;
    bool ok = responses && value_is_dict(*responses) ? task_record_answer(t, l, *responses, err)
                                                     : error_set(err, ERR_VALIDATION, "params.inputResponses must be an object");
    pthread_mutex_unlock(&l->lock);
    return ok;
}

static bool cancel_task(McpTask *t, Run *run, Error *err) {
    Heap *h = heap_new(0);
    Value v;
    bool ok = task_cancel(run, str_from(t->inner), h, &v, err);
    heap_free(h);
    return ok;
}

bool serve_tasks_cancel(McpRequest *q, Error *err) {
    struct McpTasks *l;
    McpTask *t = meant(q, &l, err);
    if (!t) return false;
    bool over = task_record_over(t), stateless = mcp_stateless(q->version), ok = true;
    if (!over) t->cancelled = true;
    Run *run = t->run->run;              /* valid while the task runs */
    if (!over) ok = cancel_task(t, run, err);
    if (!over && !stateless) t->status = TASK_CANCELLED, task_record_changed(t, l);
    if (!stateless && !over) task_record_write(t, false, &q->text);
    pthread_mutex_unlock(&l->lock);
    if (over && !stateless) return error_set(err, ERR_VALIDATION, "Cannot cancel task: it has already ended");
    return ok;
}

/* Waits for the end; questions of the task go to this request meanwhile. */
bool serve_tasks_result(McpRequest *q, Error *err) {
    struct McpTasks *l;
    McpTask *t = meant(q, &l, err);
    bool ok = true;
    if (!t) return false;
    if (!serve_wait(q, err)) return pthread_mutex_unlock(&l->lock), false;
    t->link = q->link;
    t->waiting++;
    pthread_cond_broadcast(&l->changed);
    while (ok && !task_record_over(t)) ok = cancel_wait(&l->changed, &l->lock, q->cancel, INT64_MAX, err);
    if (t->link == q->link) t->link = NULL;
    t->waiting--;
    if (ok && t->status == TASK_COMPLETED)
        buf_add_fmt(&q->text, STR_FMT ",\"_meta\":{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"%s\"}}", STR_ARG(buf_str(&t->result)), t->id);
    else if (ok && t->status == TASK_CANCELLED) ok = error_set(err, ERR_CANCELLED, "the task was cancelled");
    else if (ok) ok = error_set(err, ERR_INTERNAL, "%s", t->error);
    pthread_mutex_unlock(&l->lock);
    serve_go_on(q);
    return ok;
}

bool serve_tasks_list(McpRequest *q, Error *err) {
    struct McpTasks *l = task_record_list(q->peer);
    size_t n = 0, from, to, at = 0;
    Value next;
    if (q->version < MCP_2025_11_25) {
        q->code = RPC_METHOD_NOT_FOUND;
        return error_set(err, ERR_PROTOCOL, "there are no tasks in %s", mcp_version_date(q->version).at);
    }
    pthread_mutex_lock(&l->lock);
    task_record_purge(l);
    for (McpTask *t = l->first; t; t = t->next) n += t->inner[0] != 0;
    bool ok = serve_page(q, n, &from, &to, &next, err);
    if (ok) buf_add(&q->text, STR("\"tasks\":["));
    for (McpTask *t = l->first; ok && t; t = t->next) {
        if (!t->inner[0]) continue;
        if (at >= from && at < to) {
            buf_add(&q->text, at > from ? STR(",{") : STR("{"));
            task_record_write(t, false, &q->text);
            buf_add_char(&q->text, '}');
        }
        at++;
    }
    if (ok) buf_add_char(&q->text, ']');
    if (ok && !value_is_gone(next)) buf_add_fmt(&q->text, ",\"nextCursor\":\"" STR_FMT "\"", STR_ARG(value_str(next)));
    pthread_mutex_unlock(&l->lock);
    return ok;
}
