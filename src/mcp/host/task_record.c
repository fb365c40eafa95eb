#include "mcp/host/task_record.h"
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "mcp/host/subscribe.h"
#include "value/json.h"

/* ---- the list ---- */

struct McpTasks *task_record_list(McpPeer *p) {
    pthread_mutex_lock(&p->lock);
    if (!p->tasks) {
        p->tasks = mem_zero(1, sizeof *p->tasks);
        pthread_mutex_init(&p->tasks->lock, NULL);
        thread_cond_init(&p->tasks->changed);
    }
    struct McpTasks *l = p->tasks;
    pthread_mutex_unlock(&p->lock);
    return l;
}

bool task_record_over(const McpTask *t) { return t->status >= TASK_COMPLETED; }

McpTask *task_record_find(struct McpTasks *l, Str id) {
    for (McpTask *t = l->first; t; t = t->next)
        if (t->inner[0] && str_eq(str_from(t->id), id)) return t;
    return NULL;
}

void task_record_free(McpTask *t) {
    for (size_t i = 0; i < t->keys.n; i++) free(t->keys.at[i]);
    VEC_CLEAR(&t->keys);
    buf_clear(&t->result);
    pthread_mutex_destroy(&t->asking);
    free(t);
}

void task_record_unlink(struct McpTasks *l, McpTask *t) {
    McpTask **at = &l->first;
    while (*at != t) at = &(*at)->next;
    *at = t->next;
    l->n--;
    l->bytes -= t->result.n;
}

void task_record_purge(struct McpTasks *l) {
    int64_t now = clock_wall_ns();
    for (McpTask *t = l->first, *next; t; t = next) {
        next = t->next;
        if (!t->inner[0] || !task_record_over(t) || t->at_work || t->waiting || now - t->created_ns < t->ttl_ms * 1000000) continue;
        task_record_unlink(l, t);
        task_record_free(t);
    }
}

bool task_record_enter(struct McpTasks *l, McpTask *t, Error *err) {
    pthread_mutex_lock(&l->lock);
    task_record_purge(l);
    bool room = l->n < TASK_RECORDS_MAX && l->bytes <= TASK_BYTES_MAX;
    if (room) t->next = l->first, l->first = t, l->n++;
    pthread_mutex_unlock(&l->lock);
    return room || error_set(err, ERR_LIMIT, "too many tasks (limit %d, or %d MiB of results): they are kept until their ttl expires",
        TASK_RECORDS_MAX, TASK_BYTES_MAX >> 20);
}

void serve_tasks_close(McpPeer *p) {
    struct McpTasks *l = p->tasks;
    if (!l) return;
    for (McpTask *t = l->first, *next; t; t = next) next = t->next, task_record_free(t);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->changed);
    free(l);
    p->tasks = NULL;
}

bool serve_tasks_known(McpPeer *p, Str id) {
    struct McpTasks *l = task_record_list(p);
    pthread_mutex_lock(&l->lock);
    bool known = task_record_find(l, id) != NULL;
    pthread_mutex_unlock(&l->lock);
    return known;
}

bool serve_tasks_working(McpPeer *p) {
    struct McpTasks *l = task_record_list(p);
    bool working = false;
    pthread_mutex_lock(&l->lock);
    for (McpTask *t = l->first; t && !working; t = t->next) working = !task_record_over(t);
    pthread_mutex_unlock(&l->lock);
    return working;
}

/* ---- protocol form ---- */

static void add_time(Buf *out, const char *key, int64_t ns) {
    char text[CLOCK_TEXT_SIZE];
    clock_format(ns, text);
    buf_add_fmt(out, ",\"%s\":\"%s\"", key, text);
}

static void add_detail(const McpTask *t, Buf *out) {
    Error err;
    if (t->status == TASK_COMPLETED) buf_add_fmt(out, ",\"result\":{" STR_FMT "}", STR_ARG(buf_str(&t->result)));
    if (t->status == TASK_FAILED) {
        buf_add_fmt(out, ",\"error\":{\"code\":%d,\"message\":", RPC_INTERNAL);
        json_write_string(out, str_from(t->error), false);
        buf_add_char(out, '}');
    }
    if (t->status == TASK_INPUT_REQUIRED && t->n_asks) {
        Heap *h = heap_new(0);
        Value requests;
        buf_add(out, STR(",\"inputRequests\":"));
        if (!input_requests(h, t->asks, t->n_asks, &requests, &err) || !json_write(out, requests, &(JsonWrite){ 0 }, &err)) buf_add(out, STR("{}"));
        heap_free(h);
    }
}

void task_record_write(const McpTask *t, bool detailed, Buf *out) {
    static const char *const names[] = { "working", "input_required", "completed", "failed", "cancelled" };
    bool stateless = mcp_stateless(t->version);
    buf_add_fmt(out, "\"taskId\":\"%s\",\"status\":\"%s\"", t->id, names[t->status]);
    if (t->message[0]) {
        buf_add(out, STR(",\"statusMessage\":"));
        json_write_string(out, str_from(t->message), false);
    }
    add_time(out, "createdAt", t->created_ns);
    add_time(out, "lastUpdatedAt", t->updated_ns);
    buf_add_fmt(out, ",\"%s\":%lld,\"%s\":%d", stateless ? "ttlMs" : "ttl", (long long)t->ttl_ms, stateless ? "pollIntervalMs" : "pollInterval", TASK_POLL_MS);
    if (detailed) add_detail(t, out);
}

void task_record_changed(McpTask *t, struct McpTasks *l) {
    t->updated_ns = clock_wall_ns();
    pthread_cond_broadcast(&l->changed);
}

void task_record_tell(McpTask *t, struct McpTasks *l) {
    Buf text = { 0 };
    char id[TASK_ID_SIZE];
    pthread_mutex_lock(&l->lock);
    bool known = t->inner[0];
    memcpy(id, t->id, sizeof id);
    task_record_write(t, mcp_stateless(t->version), &text);
    bool stateless = mcp_stateless(t->version);
    McpPeer *p = t->peer;
    pthread_mutex_unlock(&l->lock);
    if (known && stateless) serve_subscribe_task(p, str_from(id), buf_str(&text));
    if (known && !stateless) {
        Buf out = { 0 };
        buf_add_fmt(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks/status\",\"params\":{" STR_FMT "}}", STR_ARG(buf_str(&text)));
        peer_send_general(p, buf_str(&out));
        buf_clear(&out);
    }
    buf_clear(&text);
}
