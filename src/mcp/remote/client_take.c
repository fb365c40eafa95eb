/* Handles messages from the server. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/mem.h"
#include "mcp/remote/client_private.h"
#include "value/int.h"

/* HEAP_MAX: enough for a message of RPC_MESSAGE_MAX bytes that consists of brackets only. */
enum { QUESTIONS_MAX = 32, QUESTION_THREADS = 4, WARNINGS_MAX = 20, HEAP_MAX = 1 << 30 };

void client_warn(McpClient *c, const char *fmt, ...) {
    char text[512];
    va_list ap;
    pthread_mutex_lock(&c->lock);
    int n = c->warned++;
    pthread_mutex_unlock(&c->lock);
    if (n > WARNINGS_MAX) return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    LOG_WRITE(c->config.log, LOG_WARN, "server " STR_FMT " %s", STR_ARG(c->config.server->name),
        n == WARNINGS_MAX ? "sent more of this kind, which is not shown" : text);
}

static void wake(Pending *p) {
    uint64_t one = 1;
    (void)!write(p->wake, &one, sizeof one);
}

void client_died(McpClient *c, const Error *why) {
    pthread_mutex_lock(&c->lock);
    if (!c->dead) {
        c->dead = true;
        c->why = *why;
    }
    for (Pending *p = c->pending; p; p = p->next) wake(p);
    pthread_mutex_unlock(&c->lock);
}

/* ---- responses ---- */

static Pending *find(McpClient *c, Value id) {
    int64_t n;
    if (!value_is_int(id) || !int_to_i64(id, &n)) return NULL;
    for (Pending *p = c->pending; p; p = p->next)
        if ((int64_t)p->id == n) return p;
    return NULL;
}

/* An HTTP response that is an error without an id belongs to the request it answers. */
static void take_answer(McpClient *c, const RpcMessage *m, Str text, Pending *of) {
    const char *wrong = NULL;
    pthread_mutex_lock(&c->lock);
    Pending *p = value_is_gone(m->id) ? of : find(c, m->id);
    if (!p) wrong = value_is_gone(m->id) ? "sent an error that names no request" : "answered a request that was not sent";
    else if (p->answered) wrong = "answered a request twice";
    else {
        p->answered = true;
        buf_add(&p->answer, text);
        wake(p);
    }
    pthread_mutex_unlock(&c->lock);
    Str said = m->kind == RPC_ERROR ? str_sub(m->message, 0, 200) : STR("");
    if (wrong) client_warn(c, "%s%s" STR_FMT, wrong, said.n ? ": " : "", STR_ARG(said));
}

/* ---- server requests ---- */

bool client_answer(McpClient *c, Pending *of, Str method, Value params, Heap *heap, Value *out, Cancel *cancel, int *code, Error *err) {
    const McpClientAnswers *a = &c->config.answers;
    void *caller = of ? of->caller : NULL;
    *code = RPC_INTERNAL;
    if (str_eq(method, STR("ping"))) {
        Dict *d = dict_new(heap, 0, err);
        if (d) *out = value_from_object(d);
        return d != NULL;
    }
    if (str_eq(method, STR("elicitation/create")) && a->elicit) return a->elicit(a->ctx, caller, params, heap, out, cancel, err);
    if (str_eq(method, STR("sampling/createMessage")) && a->sample) return a->sample(a->ctx, caller, params, heap, out, cancel, err);
    if (str_eq(method, STR("roots/list")) && a->roots) return a->roots(a->ctx, heap, out, err);
    *code = RPC_METHOD_NOT_FOUND;
    return error_set(err, ERR_POLICY, "server " STR_FMT " asks for " STR_FMT ", which its entry does not allow", STR_ARG(c->config.server->name),
                     STR_ARG(str_sub(method, 0, 100)));
}

typedef struct Question { McpClient *client; Pending *of; Heap *heap; RpcMessage message; } Question;

static void drop(Question *q) {
    McpClient *c = q->client;
    pthread_mutex_lock(&c->lock);
    c->questions--;
    if (q->of) q->of->questions--;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    heap_free(q->heap);
    free(q);
}

static void answer_question(void *arg) {
    Question *q = arg;
    McpClient *c = q->client;
    Cancel *cancel = q->of ? q->of->cancel : c->stop;
    Value result;
    Error err = { 0 };
    int code;
    bool sent = false;
    Buf text = { 0 };
    if (client_answer(c, q->of, q->message.method, q->message.params, q->heap, &result, cancel, &code, &err)) rpc_write_result(&text, q->message.id, result);
    else rpc_write_error(&text, q->message.id, code, str_from(err.msg), VALUE_GONE);
    ClientMessage m = { .text = buf_str(&text), .arguments = VALUE_GONE };
    /* A server that does not read blocks this send; it ends when the request that caused the question ends. */
    if (!c->transport->send(c, &m, cancel, &sent, &err)) LOG_WRITE(c->config.log, LOG_DEBUG, "server " STR_FMT ": %s",
        STR_ARG(c->config.server->name), err.msg);
    buf_clear(&text);
    drop(q);
}

/* On stdio a server request names no client request. If exactly one is in flight, it must be that one's. */
static Pending *owner(McpClient *c, Pending *of) {
    if (of) return of;
    return c->pending && !c->pending->next && !c->pending->answered ? c->pending : NULL;
}

/* Takes ownership of the heap if true. */
static bool take_question(McpClient *c, Heap *heap, const RpcMessage *m, Pending *of) {
    Error err;
    if (mcp_stateless(c->version)) return client_warn(c, "sent the request " STR_FMT ", which this protocol version does not have",
        STR_ARG(str_sub(m->method, 0, 80))), false;
    pthread_mutex_lock(&c->lock);
    bool room = c->questions < QUESTIONS_MAX && !cancel_fired(c->stop);
    Pending *p = owner(c, of);
    if (room) {
        c->questions++;
        if (p) p->questions++;
        if (!c->scheduler) c->scheduler = scheduler_new(QUESTION_THREADS);
    }
    pthread_mutex_unlock(&c->lock);
    if (!room) return client_warn(c, "asks more questions at once than can be answered"), false;
    Question *q = mem_alloc(sizeof *q);
    *q = (Question){ c, p, heap, *m };
    if (!scheduler_add(c->scheduler, NULL, answer_question, q, &err)) drop(q);
    return true;
}

/* ---- notifications ---- */

static void take_progress(McpClient *c, const RpcMessage *m) {
    Value token = value_member(m->params, "progressToken");
    pthread_mutex_lock(&c->lock);
    Pending *p = find(c, token);
    if (p) p->questions++;                                /* keeps it in the list during the callback */
    pthread_mutex_unlock(&c->lock);
    if (!p) return;
    if (c->config.answers.progress) c->config.answers.progress(c->config.answers.ctx, p->caller, m->params);
    pthread_mutex_lock(&c->lock);
    p->questions--;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

static void take_notification(McpClient *c, const RpcMessage *m) {
    const McpClientAnswers *a = &c->config.answers;
    if (str_eq(m->method, STR("notifications/progress"))) return take_progress(c, m);
    if (str_eq(m->method, STR("notifications/tools/list_changed"))) client_list_forget(c, STR("tools/list"));
    else if (str_ends(m->method, STR("/list_changed"))) client_list_forget(c, (Str){ 0 });
    else if (str_eq(m->method, STR("notifications/subscriptions/acknowledged"))) client_listen_heard(c);
    if (a->notified) a->notified(a->ctx, m->method, m->params);
}

/* ---- entry points ---- */

static bool take_one(McpClient *c, Heap *heap, const RpcMessage *m, Str text, Pending *of) {
    if (m->kind == RPC_REQUEST) return take_question(c, heap, m, of);
    if (m->kind == RPC_NOTIFICATION) take_notification(c, m);
    else take_answer(c, m, text, of);
    return false;
}

/* A batch: several messages in one array, in one protocol version only. Each is handled as if sent alone. */
static void take_batch(McpClient *c, Heap *heap, Str text, Pending *of) {
    Value v;
    Error err;
    int code;
    if (!rpc_read_json(heap, text, NULL, &v, &code, &err) || !value_is_list(v)) return client_warn(c, "sent a line that is not a message");
    for (uint32_t i = 0; i < value_list(v)->n; i++) {
        Buf one = { 0 };
        if (!value_is_list(value_list(v)->at[i]) && json_write(&one, value_list(v)->at[i], &(JsonWrite){ 0 }, &err)) client_take(c, buf_str(&one), of);
        buf_clear(&one);
    }
}

void client_take(McpClient *c, Str text, Pending *of) {
    Heap *heap = heap_new(HEAP_MAX);
    RpcMessage m;
    Error err = { 0 };
    int code;
    bool kept = false;
    Str body = str_trim(text);
    if (mcp_batches(c->version) && body.n && body.at[0] == '[') take_batch(c, heap, body, of);
    else if (rpc_read(heap, text, &m, &code, &err)) kept = take_one(c, heap, &m, text, of);
    else client_warn(c, "sent a line that is not a message: %s", err.msg);
    if (!kept) heap_free(heap);
}
