/* Questions about one request: sent as requests to the client (handshake versions), or by parking the request until the
 * client resends it. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "mcp/host/input.h"
#include "mcp/host/input_state.h"
#include "mcp/host/host_private.h"
#include "mcp/host/input_ask.h"
#include "value/int.h"

/* A waiting thread: for responses to server requests, or parked. In its peer's list, on the thread's stack. */
typedef struct Waiter Waiter;
struct Waiter {
    Waiter *next;
    int wake;                            /* eventfd: complete, or cancelled */
    bool over;                           /* cancelled: the client has gone */
    Heap *heap;                          /* holds the answers */
    /* Server requests: */
    InputAsk *asks; size_t n;
    int64_t first;                       /* id of the first; the others follow */
    size_t left;                         /* number unanswered */
    Error *why;                          /* the first error response */
    /* Or parked: */
    McpRequest *parked;                  /* NULL: server requests */
    InputId id;
    Value responses;                     /* GONE: not yet */
};

struct McpInput {
    pthread_mutex_t lock;                /* guards what follows, and all waiters */
    uint8_t key[INPUT_KEY_BYTES];
    Waiter *waiters;
    size_t n;                            /* number of waiters */
    int64_t ids;                         /* last id of a server request */
    bool closed;                         /* no client is left to answer */
};

static struct McpInput *input_of(McpPeer *p) {
    pthread_mutex_lock(&p->lock);
    if (!p->input) {
        p->input = mem_zero(1, sizeof *p->input);
        pthread_mutex_init(&p->input->lock, NULL);
        random_fill(p->input->key, sizeof p->input->key);
    }
    struct McpInput *in = p->input;
    pthread_mutex_unlock(&p->lock);
    return in;
}

void serve_input_close(McpPeer *p) {
    if (!p->input) return;
    pthread_mutex_destroy(&p->input->lock);
    free(p->input);
    p->input = NULL;
}

/* ---- waiting ---- */

static bool enlist(struct McpInput *in, Waiter *w, Error *err) {
    w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->wake < 0) return error_set(err, ERR_IO, "eventfd: %m");
    pthread_mutex_lock(&in->lock);
    bool room = in->n < MCP_PARKED_MAX, closed = in->closed;
    if (room && !closed) {
        w->next = in->waiters;
        in->waiters = w;
        in->n++;
        w->first = in->ids + 1;
        in->ids += (int64_t)w->n;
    }
    pthread_mutex_unlock(&in->lock);
    if (!room || closed) close(w->wake);
    if (closed) return error_set(err, ERR_CANCELLED, "the client has gone");
    return room || error_set(err, ERR_LIMIT, "%d requests already wait for answers: answer some of them first", MCP_PARKED_MAX);
}

static void wake_up(Waiter *w) {
    uint64_t one = 1;
    if (write(w->wake, &one, sizeof one) < 0) { /* cannot fail: the eventfd is at most 1 */ }
}

void serve_input_end(McpPeer *p) {
    struct McpInput *in = input_of(p);
    pthread_mutex_lock(&in->lock);
    in->closed = true;
    for (Waiter *w = in->waiters; w; w = w->next) w->over = true, wake_up(w);
    pthread_mutex_unlock(&in->lock);
}

static void delist(struct McpInput *in, Waiter *w) {
    pthread_mutex_lock(&in->lock);
    Waiter **at = &in->waiters;
    while (*at && *at != w) at = &(*at)->next;
    if (*at) {
        *at = w->next;
        in->n--;
    }
    pthread_mutex_unlock(&in->lock);
    close(w->wake);
}

/* False: cancelled, or timed out. */
static bool wait_for(const Waiter *w, Cancel *cancel, Error *err) {
    for (int64_t until_ns = clock_mono_ns() + (int64_t)MCP_PARK_MS * 1000000;;) {
        int64_t left = (until_ns - clock_mono_ns()) / 1000000;
        int most = cancel_poll_ms(cancel);
        struct pollfd fds[] = { { .fd = w->wake, .events = POLLIN }, { .fd = cancel_fd(cancel), .events = POLLIN } };
        if (left <= 0) return error_set(err, ERR_TIMEOUT, "the client did not answer within %d minutes", MCP_PARK_MS / 60000);
        int n = poll(fds, 2, most >= 0 && most < left ? most : (int)left);
        if (n < 0 && errno != EINTR) return error_set(err, ERR_IO, "poll: %m");
        if (n > 0 && fds[0].revents) return true;
        if (!cancel_check(cancel, err)) return false;
    }
}

/* ---- handshake versions: requests to the client ---- */

static bool send_to(McpLink *link, McpPeer *p, Str message) {
    if (link) return link->send(link, message, false);
    return peer_send_general(p, message), true;
}

/* Before the first question is sent: from then on the thread that reads the answers uses the heap. */
static bool add_related(InputAsk *asks, size_t n, Value related, Heap *h, Error *err) {
    for (size_t i = 0; i < n && !value_is_gone(related); i++)
        if (!dict_put_str(h, value_dict(asks[i].params), STR("_meta"), related, err)) return false;
    return true;
}

static void send_questions(McpLink *link, McpPeer *p, const Waiter *w) {
    Buf out = { 0 };
    for (size_t i = 0; i < w->n; i++) {
        buf_reset(&out);
        rpc_write_request(&out, value_from_small(w->first + (int64_t)i), str_from(input_method(w->asks[i].kind)), w->asks[i].params);
        send_to(link, p, buf_str(&out));
    }
    buf_clear(&out);
}

/* Cancels the server requests when the asking call has ended. */
static void take_back(McpLink *link, McpPeer *p, struct McpInput *in, const Waiter *w) {
    Buf out = { 0 };
    for (size_t i = 0; i < w->n; i++) {
        pthread_mutex_lock(&in->lock);
        bool open = value_is_gone(w->asks[i].answer);
        pthread_mutex_unlock(&in->lock);
        if (!open) continue;
        buf_reset(&out);
        buf_add_fmt(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%lld}}", (long long)w->first + (long long)i);
        send_to(link, p, buf_str(&out));
    }
    buf_clear(&out);
}

static bool all_fit(InputAsk *asks, size_t n, Error *err) {
    for (size_t i = 0; i < n; i++)
        if (!value_is_gone(asks[i].answer) && !input_fits(&asks[i], asks[i].answer, err))
            return error_wrap(err, "the client's response to %s", input_method(asks[i].kind));
    return true;
}

/* Treats an error response to an elicitation as a refusal by the user. */
static bool take_refusal(const Waiter *w, Error *err) {
    for (size_t i = 0; i < w->n; i++)
        if (value_is_gone(w->asks[i].answer) && w->asks[i].kind == INPUT_SAMPLE) return *err = *w->why, false;
    return true;
}

bool serve_input_request(McpPeer *p, McpLink *link, Value related, InputAsk *asks, size_t n, Heap *h, Cancel *cancel, Error *err) {
    struct McpInput *in = input_of(p);
    Error why = { 0 };
    Waiter w = { .heap = h, .asks = asks, .n = n, .left = n, .why = &why };
    if (!add_related(asks, n, related, h, err) || !enlist(in, &w, err)) return false;
    send_questions(link, p, &w);
    bool ok = wait_for(&w, cancel, err);
    if (!ok) take_back(link, p, in, &w);
    delist(in, &w);
    if (ok && w.over) ok = error_set(err, ERR_CANCELLED, "the client has gone");
    return ok && (why.kind == ERR_NONE || take_refusal(&w, err)) && all_fit(asks, n, err);
}

void serve_input_response(McpPeer *p, const RpcMessage *m) {
    struct McpInput *in = input_of(p);
    int64_t id;
    if (!value_is_int(m->id) || !int_to_i64(m->id, &id)) return;
    pthread_mutex_lock(&in->lock);
    Waiter *w = in->waiters;
    while (w && (w->parked || id < w->first || id >= w->first + (int64_t)w->n)) w = w->next;
    InputAsk *ask = w ? &w->asks[id - w->first] : NULL;
    if (ask && value_is_gone(ask->answer) && w->left) {
        Error err = { 0 };
        bool ok = m->kind == RPC_RESULT && value_copy_all_into(w->heap, m->result, &ask->answer, &err);
        if (!ok && w->why->kind == ERR_NONE)
            error_set(w->why, ERR_PROTOCOL, "the client refuses %s: " STR_FMT, input_method(ask->kind),
                STR_ARG(m->kind == RPC_ERROR ? m->message : str_from(err.msg)));
        if (--w->left == 0) wake_up(w);
    }
    pthread_mutex_unlock(&in->lock);
}

/* ---- stateless versions: parked ---- */

static bool make_result(McpRequest *q, struct McpInput *in, const Waiter *w, const InputAsk *asks, size_t n, Heap *h, Value *out, Error *err) {
    Buf state = { 0 };
    Value requests;
    Dict *d = dict_new(h, 2, err);
    bool ok = d && input_state_write(in->key, &w->id, q->method, q->params, &state, err) && input_requests(h, asks, n, &requests, err) &&
              dict_put_str(h, d, STR("inputRequests"), requests, err) && dict_put_text(h, d, "requestState", buf_str(&state), err);
    buf_clear(&state);
    if (ok) *out = value_from_object(d);
    return ok;
}

/* Takes valid answers; invalid ones are asked again. */
static bool take_responses(InputAsk *asks, size_t n, Value responses, bool asked, Heap *h, Error *err) {
    for (size_t i = 0; i < n; i++) {
        Value *v = value_is_dict(responses) ? dict_find_str(value_dict(responses), asks[i].key) : NULL;
        Error why = { 0 };
        if (!v || !value_is_gone(asks[i].answer) || (asks[i].fresh && !asked)) continue;
        if (input_fits(&asks[i], *v, &why)) {
            if (!value_copy_all_into(h, *v, &asks[i].answer, err)) return false;
        } else if (why.kind != ERR_PROTOCOL) {
            return *err = why, false;
        }
    }
    return true;
}

static bool all_answered(const InputAsk *asks, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (value_is_gone(asks[i].answer)) return false;
    return true;
}

static bool park(McpRequest *q, struct McpInput *in, InputAsk *asks, size_t n, Heap *h, Cancel *cancel, Error *err) {
    Waiter w = { .parked = q, .heap = heap_new(0), .responses = VALUE_GONE };
    Value result;
    bool ok = false;
    random_fill(w.id.bytes, sizeof w.id.bytes);
    if (make_result(q, in, &w, asks, n, h, &result, err) && serve_wait(q, err)) {
        if (!enlist(in, &w, err)) {
            serve_go_on(q);
            return heap_free(w.heap), false;
        }
        serve_park(q, result);
        ok = wait_for(&w, cancel, err);
        delist(in, &w);
        serve_go_on(q);
        if (ok && w.over) ok = error_set(err, ERR_CANCELLED, "the client has gone");
        ok = ok && take_responses(asks, n, w.responses, true, h, err);
    }
    heap_free(w.heap);
    return ok;
}

static bool ask_parked(McpRequest *q, InputAsk *asks, size_t n, Heap *h, Cancel *cancel, Error *err) {
    struct McpInput *in = input_of(q->peer);
    Value *given = serve_param(q, "inputResponses");
    if (given && !take_responses(asks, n, *given, false, h, err)) return false;
    while (!all_answered(asks, n))
        if (!park(q, in, asks, n, h, cancel, err)) return false;
    return true;
}

bool serve_input_resume(McpRequest *q, Error *err) {
    struct McpInput *in = input_of(q->peer);
    Value *state = serve_param(q, "requestState"), *responses = serve_param(q, "inputResponses");
    InputId id;
    Error why = { 0 };
    if (responses && !value_is_dict(*responses)) return error_set(err, ERR_VALIDATION, "inputResponses must be an object");
    if (!value_is_string(*state) || !input_state_read(in->key, value_str(*state), q->method, q->params, &id, &why)) {
        if (why.kind != ERR_NONE) return *err = why, false;
        return error_set(err, ERR_VALIDATION, "requestState does not belong to this request, or was modified: call again without it");
    }
    pthread_mutex_lock(&in->lock);
    Waiter **at = &in->waiters;
    while (*at && (!(*at)->parked || memcmp((*at)->id.bytes, id.bytes, INPUT_ID_BYTES) != 0)) at = &(*at)->next;
    Waiter *w = *at;
    bool ok = w && (!responses || value_copy_all_into(w->heap, *responses, &w->responses, err));
    if (ok) {
        *at = w->next;                   /* only once */
        in->n--;
        serve_unpark(w->parked, q);
        wake_up(w);
    }
    pthread_mutex_unlock(&in->lock);
    if (!w) return error_set(err, ERR_VALIDATION, "requestState was already used or has expired: call again without it");
    return ok;
}

/* ---- both ---- */

bool serve_input_offered(McpRequest *q, InputKind kind) { return input_offered(q->client, q->version, kind); }

static bool may_park(const McpRequest *q) {
    return str_eq(q->method, STR("tools/call")) || str_eq(q->method, STR("prompts/get")) || str_eq(q->method, STR("resources/read"));
}

bool serve_input_ask(McpRequest *q, InputAsk *asks, size_t n, Heap *h, Cancel *cancel, Error *err) {
    unsigned counter = 0;
    for (size_t i = 0; i < n; i++) asks[i].answer = VALUE_GONE;
    if (!input_name(h, asks, n, &counter, err)) return false;
    if (mcp_stateless(q->version)) {
        if (!may_park(q)) return error_set(err, ERR_PROTOCOL, "the method " STR_FMT " cannot ask the user", STR_ARG(q->method));
        return ask_parked(q, asks, n, h, cancel, err);
    }
    if (!serve_wait(q, err)) return false;
    bool ok = serve_input_request(q->peer, q->link, VALUE_GONE, asks, n, h, cancel, err);
    serve_go_on(q);
    return ok;
}

bool serve_input(McpRequest *q, InputAsk *asks, size_t n, Cancel *cancel, Error *err) { return serve_input_ask(q, asks, n, q->heap, cancel, err); }
