/* A task from its call's side: questions and completion. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "mcp/host/content.h"
#include "mcp/host/input_ask.h"
#include "mcp/host/task_record.h"
#include "tool/kind/kind.h"

/* ---- questions ---- */

static bool key_used(const McpTask *t, Str key) {
    for (size_t i = 0; i < t->keys.n; i++)
        if (str_eq(str_from(t->keys.at[i]), key)) return true;
    return false;
}

/* A key identifies one question for a task's whole life. */
static bool settle_keys(McpTask *t, InputAsk *asks, size_t n, Heap *h, Error *err) {
    unsigned counter = (unsigned)t->keys.n;
    if (!input_name(h, asks, n, &counter, err)) return false;
    for (size_t i = 0; i < n; i++) {
        for (unsigned again = 2; key_used(t, asks[i].key); again++) {
            String *s = string_fmt(h, err, STR_FMT "-%u", STR_ARG(asks[i].key), again);
            if (!s) return false;
            if (!key_used(t, string_str(s))) asks[i].key = string_str(s);
        }
        VEC_PUSH(&t->keys, str_dup(asks[i].key));
    }
    return true;
}

static bool wait_for(int wake, Cancel *cancel, Error *err) {
    for (int64_t until = clock_mono_ns() + (int64_t)MCP_PARK_MS * 1000000; clock_mono_ns() < until;) {
        int most = cancel_poll_ms(cancel);
        struct pollfd fds[] = { { .fd = wake, .events = POLLIN }, { .fd = cancel_fd(cancel), .events = POLLIN } };
        int n = poll(fds, 2, most >= 0 && most < 1000 ? most : 1000);
        if (n > 0 && fds[0].revents) return true;
        if (!cancel_check(cancel, err)) return false;
    }
    return error_set(err, ERR_TIMEOUT, "the client did not answer within %d minutes", MCP_PARK_MS / 60000);
}

/* Unless it was cancelled in the meantime. */
static void go_on(McpTask *t, struct McpTasks *l) {
    if (task_record_over(t)) return;
    t->status = TASK_WORKING;
    task_record_changed(t, l);
}

/* Stateless versions: questions are in tasks/get until tasks/update answers them. */
static bool ask_by_state(McpTask *t, struct McpTasks *l, InputAsk *asks, size_t n, Heap *h, Cancel *cancel, Error *err) {
    int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake < 0) return error_set(err, ERR_IO, "eventfd: %m");
    pthread_mutex_lock(&l->lock);
    bool ok = settle_keys(t, asks, n, h, err);
    if (ok) {
        t->asks = asks, t->n_asks = n, t->heap = h, t->wake = wake;
        t->status = TASK_INPUT_REQUIRED;
        task_record_changed(t, l);
    }
    pthread_mutex_unlock(&l->lock);
    if (ok) task_record_tell(t, l), ok = wait_for(wake, cancel, err);
    pthread_mutex_lock(&l->lock);
    t->asks = NULL, t->n_asks = 0, t->heap = NULL, t->wake = -1;
    go_on(t, l);
    pthread_mutex_unlock(&l->lock);
    close(wake);
    return ok;
}

bool task_record_answer(McpTask *t, struct McpTasks *l, Value responses, Error *err) {
    bool ok = true, all = t->n_asks > 0;
    for (size_t i = 0; ok && i < t->n_asks; i++) {
        InputAsk *a = &t->asks[i];
        Value *v = dict_find_str(value_dict(responses), a->key);
        if (v && value_is_gone(a->answer)) {
            ok = input_fits(a, *v, err) ? value_copy_all_into(t->heap, *v, &a->answer, err)
                                        : (err->kind = ERR_VALIDATION, error_wrap(err, "inputResponses." STR_FMT, STR_ARG(a->key)));
        }
        all = all && !value_is_gone(a->answer);
    }
    uint64_t one = 1;
    if (ok && t->n_asks) task_record_changed(t, l);
    if (ok && all && write(t->wake, &one, sizeof one) < 0) ok = error_set(err, ERR_IO, "eventfd: %m");
    return ok;
}

/* 2025-11-25: sends requests to the client on the stream where it waits for the result, else on the general one. */
static McpLink *find_link(McpTask *t, struct McpTasks *l, Cancel *cancel, bool *general) {
    McpLink *link = NULL;
    pthread_mutex_lock(&l->lock);
    if (!task_record_over(t)) t->status = TASK_INPUT_REQUIRED;
    task_record_changed(t, l);
    *general = false;
    do {
        link = t->link;
        if (link) mcp_link_keep(link);
        pthread_mutex_lock(&t->peer->lock);
        *general = !link && t->peer->general;
        pthread_mutex_unlock(&t->peer->lock);
    } while (!link && !*general && cancel_wait(&l->changed, &l->lock, cancel, INT64_MAX, NULL));
    pthread_mutex_unlock(&l->lock);
    return link;
}

static bool related(const McpTask *t, Heap *h, Value *out, Error *err) {
    Dict *d = dict_new(h, 1, err), *id = d ? dict_new(h, 1, err) : NULL;
    if (!id || !dict_put_text(h, id, "taskId", str_from(t->id), err) ||
        !dict_put_str(h, d, STR("io.modelcontextprotocol/related-task"), value_from_object(id), err)) return false;
    return *out = value_from_object(d), true;
}

static bool ask_by_request(McpTask *t, struct McpTasks *l, InputAsk *asks, size_t n, Heap *h, Cancel *cancel, Error *err) {
    bool general;
    Value meta;
    McpLink *link = find_link(t, l, cancel, &general);
    task_record_tell(t, l);
    bool ok = cancel_check(cancel, err) && related(t, h, &meta, err) && serve_input_request(t->peer, link, meta, asks, n, h, cancel, err);
    mcp_link_release(link);
    pthread_mutex_lock(&l->lock);
    go_on(t, l);
    pthread_mutex_unlock(&l->lock);
    return ok;
}

static bool ask(InputWay *w, InputAsk *asks, size_t n, Heap *h, Cancel *cancel, Error *err) {
    McpTask *t = (McpTask *)w;
    struct McpTasks *l = task_record_list(t->peer);
    for (size_t i = 0; i < n; i++) asks[i].answer = VALUE_GONE;
    pthread_mutex_lock(&t->asking);
    bool ok = mcp_stateless(t->version) ? ask_by_state(t, l, asks, n, h, cancel, err) : ask_by_request(t, l, asks, n, h, cancel, err);
    pthread_mutex_unlock(&t->asking);
    return ok;
}

static bool offered(InputWay *w, InputKind kind) { return ((McpTask *)w)->offered[kind]; }
static bool inquire(void *ctx, HostAsk *asks, size_t n, Heap *heap, Cancel *cancel, Error *err) { return input_inquire(ctx, asks, n, heap, cancel, err); }
static ConfirmAnswer confirm(void *ctx, const ConfirmQuestion *question, Cancel *cancel) { return input_confirm(ctx, question, cancel); }

/* Tasks send no progress notifications: the last message becomes their status. */
static void progress(void *ctx, Str call_id, Value done, Value total, Str message) {
    McpTask *t = ctx;
    struct McpTasks *l = task_record_list(t->peer);
    (void)call_id, (void)done, (void)total;
    pthread_mutex_lock(&l->lock);
    Str cut = str_sub(message, 0, sizeof t->message - 1);
    memcpy(t->message, cut.at, cut.n);
    t->message[cut.n] = 0;
    task_record_changed(t, l);
    pthread_mutex_unlock(&l->lock);
}

/* ---- start and end ---- */

static void new_id(char out[TASK_ID_SIZE]) {
    uint8_t bytes[16];
    random_fill(bytes, sizeof bytes);
    for (int i = 0; i < 16; i++) snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

McpTask *task_record_new(McpRequest *q, const ToolEntry *tool) {
    McpTask *t = mem_zero(1, sizeof *t);
    *t = (McpTask){ .way = { .ask = ask, .offered = offered }, .peer = q->peer, .run = ((Flight *)q)->run, .version = q->version, .tool = tool,
                    .created_ns = clock_wall_ns(), .updated_ns = clock_wall_ns(), .ttl_ms = TASK_TTL_MS, .wake = -1, .at_work = true };
    for (int i = 0; i < 3; i++) t->offered[i] = serve_input_offered(q, (InputKind)i);
    new_id(t->id);
    pthread_mutex_init(&t->asking, NULL);
    t->person = (Person){ .confirm = t->offered[INPUT_ELICIT] ? confirm : NULL, .inquire = inquire, .progress = progress,
                          .forms = t->offered[INPUT_ELICIT], .away = !q->peer->config.one_link, .apart = true, .source = "elicitation", .ctx = t };
    pthread_mutex_lock(&q->peer->lock);
    t->run->users++;
    pthread_mutex_unlock(&q->peer->lock);
    return t;
}

static void set_result(McpTask *t, struct McpTasks *l, const Result *r) {
    serve_content_result(&t->result, t->tool, r, run_id(t->run->run), t->version);
    l->bytes += t->result.n;
    t->status = TASK_COMPLETED;
}

void task_record_ended(void *ctx, const Result *r, Str why) {
    McpTask *t = ctx;
    struct McpTasks *l = task_record_list(t->peer);
    PeerRun *run = t->run;
    McpPeer *p = t->peer;
    pthread_mutex_lock(&l->lock);
    if (r && r->is_error && t->tool->execute == kind_missing) why = r->error, r = NULL;       /* a failure that the caller cannot fix */
    if (t->status == TASK_CANCELLED || (!r && why.n == 0) || (t->cancelled && (!r || r->is_error))) t->status = TASK_CANCELLED;
    else if (r) set_result(t, l, r);
    else snprintf(t->error, sizeof t->error, STR_FMT, STR_ARG(why)), t->status = TASK_FAILED;
    task_record_changed(t, l);
    pthread_mutex_unlock(&l->lock);
    task_record_tell(t, l);
    pthread_mutex_lock(&l->lock);
    t->at_work = false;                  /* from now on the record may be freed */
    pthread_mutex_unlock(&l->lock);
    peer_leave_run(p, run);
}
