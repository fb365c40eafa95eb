/* A stateless server reports changes only on a listening request, which stays open for the life of the client. */
#include "base/clock.h"
#include "base/thread.h"
#include "mcp/remote/client_private.h"

enum { AGAIN_MS = 1000, TRIES_MAX = 8, HEARD_NS = 2000000000 };

static bool make_params(Heap *h, Value *out, Error *err) {
    Dict *d = dict_new(h, 2, err), *what = dict_new(h, 1, err);
    if (!d || !what || !dict_put_str(h, what, STR("toolsListChanged"), VALUE_TRUE, err)
        || !dict_put_str(h, d, STR("notifications"), value_from_object(what), err)) return false;
    return *out = value_from_object(d), true;
}

/* Gives up on a server that ends the request repeatedly or does not support it. */
static void *listen_on(void *arg) {
    McpClient *c = arg;
    for (int i = 0; i < TRIES_MAX && mcp_client_alive(c) && cancel_check(c->stop, NULL); i++) {
        Heap *h = heap_new(0);
        Value params;
        RpcMessage m;
        Error err = { 0 };
        bool sent = false, ok = make_params(h, &params, &err)
            && client_exchange(c, STR("subscriptions/listen"), params, NULL, c->stop, h, &m, &sent, NULL, &err);
        bool refused = ok && m.kind == RPC_ERROR;
        heap_free(h);
        client_listen_heard(c);
        if (refused || !cancel_sleep(c->stop, (int64_t)AGAIN_MS * 1000000, &err)) break;
    }
    return NULL;
}

void client_listen_heard(McpClient *c) {
    pthread_mutex_lock(&c->lock);
    c->heard = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

void client_listen_wait(McpClient *c, Cancel *cancel) {
    int64_t end = clock_mono_ns() + HEARD_NS;
    bool go_on = true;
    pthread_mutex_lock(&c->lock);
    while (go_on && !c->heard && clock_mono_ns() < end) go_on = cancel_wait(&c->changed, &c->lock, cancel, end, NULL);
    pthread_mutex_unlock(&c->lock);
}

void client_listen_start(McpClient *c, Cancel *cancel) {
    Value changes = value_member(value_member(value_member(c->offers, "capabilities"), "tools"), "listChanged");
    if (c->listening || !c->config.answers.notified || !value_is_bool(changes) || !value_bool(changes)) return;
    c->listening = thread_start(&c->listener, listen_on, c) == 0;
    if (c->listening) client_listen_wait(c, cancel);
}

void client_listen_end(McpClient *c) {
    if (c->listening) pthread_join(c->listener, NULL);
}
