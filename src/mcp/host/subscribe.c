#include "mcp/host/subscribe.h"
#include <stdlib.h>
#include "base/mem.h"
#include "base/vec.h"
#include "mcp/host/host_private.h"
#include "mcp/host/resources.h"
#include "mcp/host/tasks.h"
#include "value/json.h"
#include "value/list.h"

enum { STREAMS_MAX = 64, NAMES_MAX = 1024 };

typedef VEC(char *) Names;

/* One subscriptions/listen request: answered when it ends. */
typedef struct Stream Stream;
struct Stream {
    Stream *next;
    char *id;                            /* id of the request, as JSON */
    McpLink *link;
    bool tools, prompts, resources;
    Names uris, tasks;
};

struct McpSubscriptions {
    pthread_mutex_t lock;                /* guards what follows */
    Names uris;                          /* resources/subscribe */
    Stream *streams;
    size_t n;
};

static struct McpSubscriptions *of(McpPeer *p) {
    pthread_mutex_lock(&p->lock);
    if (!p->subscriptions) {
        p->subscriptions = mem_zero(1, sizeof *p->subscriptions);
        pthread_mutex_init(&p->subscriptions->lock, NULL);
    }
    struct McpSubscriptions *s = p->subscriptions;
    pthread_mutex_unlock(&p->lock);
    return s;
}

/* ---- names ---- */

static ptrdiff_t find(const Names *l, Str name) {
    for (size_t i = 0; i < l->n; i++)
        if (str_eq(str_from(l->at[i]), name)) return (ptrdiff_t)i;
    return -1;
}

static void clear(Names *l) {
    for (size_t i = 0; i < l->n; i++) free(l->at[i]);
    VEC_CLEAR(l);
}

static void stream_free(Stream *s) {
    clear(&s->uris);
    clear(&s->tasks);
    mcp_link_release(s->link);
    free(s->id);
    free(s);
}

/* ---- handshake versions ---- */

bool serve_resources_subscribe(McpRequest *q, Error *err) {
    struct McpSubscriptions *s = of(q->peer);
    Str uri;
    if (!serve_text(q, "uri", &uri, err)) return false;
    if (!serve_resources_known(run_runtime(q->run), uri)) return serve_resources_missing(q, uri, err);
    pthread_mutex_lock(&s->lock);
    bool known = find(&s->uris, uri) >= 0, ok = known || vec_limit(s->uris.n, NAMES_MAX, "subscriptions", err);
    if (ok && !known) VEC_PUSH(&s->uris, str_dup(uri));
    pthread_mutex_unlock(&s->lock);
    return ok;
}

bool serve_resources_unsubscribe(McpRequest *q, Error *err) {
    struct McpSubscriptions *s = of(q->peer);
    Str uri;
    if (!serve_text(q, "uri", &uri, err)) return false;
    pthread_mutex_lock(&s->lock);
    ptrdiff_t at = find(&s->uris, uri);
    if (at >= 0) {
        free(s->uris.at[at]);
        s->uris.at[at] = s->uris.at[--s->uris.n];
    }
    pthread_mutex_unlock(&s->lock);
    return true;
}

/* ---- stateless versions ---- */

static bool wants(const McpRequest *q, Value filter, const char *name, bool *out, Error *err) {
    Value *v = dict_find_str(value_dict(filter), str_from(name));
    if (v && !value_is_none(*v) && !value_is_bool(*v)) return error_set(err, ERR_VALIDATION, "params.notifications.%s must be true or false", name);
    *out = v && value_is_bool(*v) && value_bool(*v) && q->server->config.watch;
    return true;
}

/* Copies the names of a list that exist. */
static bool read_names(McpRequest *q, Value filter, const char *name, bool (*known)(McpRequest *q, Str name), Names *out, bool *given, Error *err) {
    Value *v = dict_find_str(value_dict(filter), str_from(name));
    *given = v && value_is_list(*v);
    if (v && !value_is_none(*v) && !*given) return error_set(err, ERR_VALIDATION, "params.notifications.%s must be a list", name);
    for (uint32_t i = 0; *given && i < value_list(*v)->n; i++) {
        Value one = value_list(*v)->at[i];
        if (!value_is_string(one)) return error_set(err, ERR_VALIDATION, "params.notifications.%s[%u] must be a string", name, i);
        if (!known(q, value_str(one)) || find(out, value_str(one)) >= 0) continue;
        if (!vec_limit(out->n, NAMES_MAX, "subscriptions", err)) return false;
        VEC_PUSH(out, str_dup(value_str(one)));
    }
    return true;
}

static bool known_uri(McpRequest *q, Str uri) { return q->server->config.watch && serve_resources_known(run_runtime(q->run), uri); }
static bool known_task(McpRequest *q, Str id) { return serve_tasks_known(q->peer, id); }

static bool read_filter(McpRequest *q, Stream *s, Error *err) {
    Value *filter = serve_param(q, "notifications");
    bool uris, tasks;
    if (!filter || !value_is_dict(*filter)) return error_set(err, ERR_VALIDATION, "params.notifications must be an object");
    if (!wants(q, *filter, "toolsListChanged", &s->tools, err) || !wants(q, *filter, "promptsListChanged", &s->prompts, err) ||
        !wants(q, *filter, "resourcesListChanged", &s->resources, err) ||
        !read_names(q, *filter, "resourceSubscriptions", known_uri, &s->uris, &uris, err) ||
        !read_names(q, *filter, "taskIds", known_task, &s->tasks, &tasks, err)) return false;
    return !tasks || serve_tasks_declared(q) || serve_tasks_missing(q, err);
}

static void add_names(Buf *out, const char *key, const Names *l) {
    if (l->n == 0) return;
    buf_add_fmt(out, "%s\"%s\":[", out->at[out->n - 1] == '{' ? "" : ",", key);
    for (size_t i = 0; i < l->n; i++) {
        if (i) buf_add_char(out, ',');
        json_write_string(out, str_from(l->at[i]), false);
    }
    buf_add_char(out, ']');
}

static void add_flag(Buf *out, const char *key, bool on) {
    if (on) buf_add_fmt(out, "%s\"%s\":true", out->at[out->n - 1] == '{' ? "" : ",", key);
}

static void add_meta(Buf *out, const Stream *s) { buf_add_fmt(out, "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%s}", s->id); }

static void acknowledge(const Stream *s) {
    Buf out = { 0 };
    buf_add(&out, STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{"));
    add_meta(&out, s);
    buf_add(&out, STR(",\"notifications\":{"));
    add_flag(&out, "toolsListChanged", s->tools);
    add_flag(&out, "promptsListChanged", s->prompts);
    add_flag(&out, "resourcesListChanged", s->resources);
    add_names(&out, "resourceSubscriptions", &s->uris);
    add_names(&out, "taskIds", &s->tasks);
    buf_add(&out, STR("}}}"));
    s->link->send(s->link, buf_str(&out), false);
    buf_clear(&out);
}

bool serve_listen(McpRequest *q, Error *err) {
    struct McpSubscriptions *all = of(q->peer);
    Buf id = { 0 };
    Stream *s = mem_zero(1, sizeof *s);
    bool ok = q->link && json_write(&id, q->id, &(JsonWrite){ 0 }, err) && read_filter(q, s, err);
    s->id = buf_take(&id);
    if (ok) {
        pthread_mutex_lock(&all->lock);
        ok = vec_limit(all->n, STREAMS_MAX, "subscriptions/listen streams", err);
        if (ok) {
            s->link = q->link;
            mcp_link_keep(s->link);
            acknowledge(s);              /* before any other message */
            s->next = all->streams;
            all->streams = s;
            all->n++;
            q->answered = true;
        }
        pthread_mutex_unlock(&all->lock);
    }
    if (!ok) stream_free(s);
    return ok;
}

/* ---- closing ---- */

static void end_streams(McpPeer *p, bool (*meant)(const Stream *s, const void *what), const void *what) {
    struct McpSubscriptions *all = of(p);
    pthread_mutex_lock(&all->lock);
    for (Stream **at = &all->streams; *at;) {
        Stream *s = *at;
        if (!meant(s, what)) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        all->n--;
        stream_free(s);
    }
    pthread_mutex_unlock(&all->lock);
}

static bool has_id(const Stream *s, const void *id) { return strcmp(s->id, id) == 0; }
static bool has_link(const Stream *s, const void *link) { return s->link == link; }

void serve_subscribe_cancel(McpPeer *p, Value id) {
    Buf text = { 0 };
    Error err;
    if (json_write(&text, id, &(JsonWrite){ 0 }, &err)) end_streams(p, has_id, text.at);
    buf_clear(&text);
}

void serve_subscribe_gone(McpPeer *p, McpLink *link) { end_streams(p, has_link, link); }

/* Closes gracefully: responds to the request that opened it. */
static void say_goodbye(const Stream *s) {
    Buf out = { 0 };
    buf_add_fmt(&out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"resultType\":\"complete\",", s->id);
    add_meta(&out, s);
    buf_add(&out, STR("}}"));
    s->link->send(s->link, buf_str(&out), true);
    buf_clear(&out);
}

void serve_subscribe_close(McpPeer *p) {
    struct McpSubscriptions *all = p->subscriptions;
    if (!all) return;
    for (Stream *s = all->streams, *next; s; s = next) {
        next = s->next;
        say_goodbye(s);
        stream_free(s);
    }
    clear(&all->uris);
    pthread_mutex_destroy(&all->lock);
    free(all);
    p->subscriptions = NULL;
}

/* ---- notifying ---- */

typedef struct News { Str method, members, uri; } News;          /* members of params, without the braces */

static void send_news(McpLink *link, const Stream *s, const News *n) {
    Buf out = { 0 };
    buf_add_fmt(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"" STR_FMT "\",\"params\":{", STR_ARG(n->method));
    if (s) add_meta(&out, s);
    if (s && n->members.n) buf_add_char(&out, ',');
    buf_add(&out, n->members);
    buf_add(&out, STR("}}"));
    link->send(link, buf_str(&out), false);
    buf_clear(&out);
}

static bool stream_wants(const Stream *s, const News *n) {
    if (str_eq(n->method, STR("notifications/tools/list_changed"))) return s->tools;
    if (str_eq(n->method, STR("notifications/prompts/list_changed"))) return s->prompts;
    if (str_eq(n->method, STR("notifications/resources/list_changed"))) return s->resources;
    return n->uri.n && find(&s->uris, n->uri) >= 0;
}

static void notify_peer(void *ctx, McpPeer *p) {
    const News *n = ctx;
    struct McpSubscriptions *all = of(p);
    pthread_mutex_lock(&all->lock);
    for (Stream *s = all->streams; s; s = s->next)
        if (stream_wants(s, n)) send_news(s->link, s, n);
    bool wanted = mcp_peer_version(p) != MCP_NONE && atomic_load(&p->ready) && (!n->uri.n || find(&all->uris, n->uri) >= 0);
    pthread_mutex_unlock(&all->lock);
    pthread_mutex_lock(&p->lock);
    McpLink *general = wanted ? p->general : NULL;
    if (general) mcp_link_keep(general);
    pthread_mutex_unlock(&p->lock);
    if (general) send_news(general, NULL, n);
    mcp_link_release(general);
}

void serve_broadcast(McpHost *s, Str method, Str uri) {
    Buf members = { 0 };
    if (uri.n) {
        buf_add(&members, STR("\"uri\":"));
        json_write_string(&members, uri, false);
    }
    News n = { method, buf_str(&members), uri };
    peer_each(s, notify_peer, &n);
    buf_clear(&members);
}

void serve_subscribe_task(McpPeer *p, Str id, Str members) {
    struct McpSubscriptions *all = of(p);
    News n = { STR("notifications/tasks"), members, { 0 } };
    pthread_mutex_lock(&all->lock);
    for (Stream *s = all->streams; s; s = s->next)
        if (find(&s->tasks, id) >= 0) send_news(s->link, s, &n);
    pthread_mutex_unlock(&all->lock);
}
