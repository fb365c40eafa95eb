#include "mcp/host/http_private.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"

enum { MS = 1000000 };

static bool is_kept(const HttpStream *t) { return !mcp_stateless(t->version); }
static bool can_poll(const HttpStream *t) { return is_kept(t) && t->version >= MCP_2025_11_25; }

/* ---- events; the caller holds the lock ---- */

static void forget_first(HttpStream *t) {
    HttpEvent *e = t->first;
    t->first = e->next;
    if (!t->first) t->last = &t->first;
    t->kept -= e->n;
    atomic_fetch_sub(&t->http->kept, e->n);
    free(e);
}

static void forget_all(HttpStream *t) {
    while (t->first) forget_first(t);
}

/* If an event does not fit, drops it and everything before it: replays have no gaps. */
static void keep_event(HttpStream *t, Str text) {
    while (t->first && t->kept + text.n > HTTP_KEEP_SESSION) forget_first(t);
    if (text.n > HTTP_KEEP_SESSION || atomic_load(&t->http->kept) + text.n > HTTP_KEEP_ALL) {
        forget_all(t);
        return;
    }
    HttpEvent *e = mem_alloc(sizeof *e + text.n);
    *e = (HttpEvent){ .seq = t->seq, .n = text.n };
    memcpy(e->text, text.at, text.n);
    *t->last = e;
    t->last = &e->next;
    t->kept += text.n;
    atomic_fetch_add(&t->http->kept, text.n);
}

/* ---- the connection ---- */

static bool try_keep(HttpStream *t) {
    int n = atomic_load(&t->link.holders);
    while (n > 0)
        if (atomic_compare_exchange_weak(&t->link.holders, &n, n + 1)) return true;
    return false;
}

/* The caller holds the lock, and releases the result without it: that waits for on_gone. */
static HttpServerRequest *take_connection(HttpStream *t) {
    HttpServerRequest *q = t->q;
    t->q = NULL;
    return q;
}

static void let_go(HttpServerRequest *q) {
    if (!q) return;
    http_server_on_gone(q, NULL, NULL);
    http_server_release(q);
}

/* A handshake client may have lost only its connection: its request continues, and the stream can be resumed. */
static void on_gone(void *ctx, HttpServerRequest *q) {
    HttpStream *t = ctx;
    if (!try_keep(t)) return;
    pthread_mutex_lock(&t->lock);
    bool ours = t->q == q, done = t->done;
    if (ours && t->streaming) {
        http_server_end(q);
        t->q = NULL;
    } else {
        q = NULL;                                      /* perhaps it only shut down its sending side: try to respond */
    }
    pthread_mutex_unlock(&t->lock);
    http_server_release(q);
    McpPeer *peer = ours && !done ? http_session_use(t->session) : NULL;
    if (peer) {
        if (!t->general) mcp_peer_link_gone(peer, &t->link);
        http_session_done(t->session);
    }
    mcp_link_release(&t->link);
}

/* ---- output; the caller holds the lock ---- */

static void say(HttpStream *t, Str text) {
    t->said = clock_mono_ns();
    if (t->q) http_server_write(t->q, text);                /* on_gone reports a reader that is gone or too slow */
}

/* `seen`: the last event the reader has. If it disconnects at once, it resumes after that one. */
static void begin(HttpStream *t, uint64_t seen) {
    t->streaming = true;
    if (!t->q || !http_start_stream(t->http, t->q, str_from(t->session->id))) return;
    t->said = clock_mono_ns();
    if (!can_poll(t)) return;
    char text[80];
    snprintf(text, sizeof text, "id: %" PRIu32 "-%" PRIu64 "\nretry: %d\ndata: \n\n", t->id, seen, HTTP_RETRY_MS);
    say(t, str_from(text));
}

static void say_event(HttpStream *t, Str message) {
    Buf text = { 0 };
    t->seq++;
    if (is_kept(t)) buf_add_fmt(&text, "id: %" PRIu32 "-%" PRIu64 "\n", t->id, t->seq);
    buf_add(&text, STR("event: message\ndata: "));
    buf_add(&text, message);
    buf_add(&text, STR("\n\n"));
    if (is_kept(t)) keep_event(t, buf_str(&text));
    say(t, buf_str(&text));
    buf_clear(&text);
}

static void answer(HttpStream *t, Str message) {
    Buf body = { 0 };
    int status = http_status_of(t->version, message);
    HttpServerHeader session = { STR("Mcp-Session-Id"), str_from(t->session->id) };
    buf_add(&body, message);
    http_reply(t->http, t->q, status, &session, t->session->id[0] && status == 200, "application/json", &body);
}

/* ---- the list of the session ---- */

static void unlist(HttpStream *t) {
    HttpSession *s = t->session;
    pthread_mutex_lock(&s->lock);
    bool was = t->listed;
    if (was) {
        if (t->prev) t->prev->next = t->next;
        else s->streams = t->next;
        if (t->next) t->next->prev = t->prev;
        t->listed = false;
    }
    pthread_mutex_unlock(&s->lock);
    if (was) mcp_link_release(&t->link);
}

/* ---- the link ---- */

static bool stream_send(McpLink *l, Str message, bool last) {
    HttpStream *t = (HttpStream *)l;
    HttpServerRequest *gone = NULL;
    pthread_mutex_lock(&t->lock);
    bool kept = is_kept(t), ok = !t->done && (t->q || (t->streaming && kept)), plain = ok && last && !t->streaming && !t->general;
    if (plain) answer(t, message);
    else if (ok) {
        if (!t->streaming) begin(t, t->seq);
        say_event(t, message);
    }
    if (last) {
        t->done = true;
        t->since = clock_mono_ns();
        if (t->q && t->streaming) http_server_end(t->q);
        gone = take_connection(t);
    }
    pthread_mutex_unlock(&t->lock);
    let_go(gone);
    if (last && (plain || !kept)) unlist(t);
    return ok;
}

static void stream_free(McpLink *l) {
    HttpStream *t = (HttpStream *)l;
    let_go(take_connection(t));
    forget_all(t);
    http_session_release(t->session);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

HttpStream *http_stream_new(HttpSession *s, McpVersion version, HttpServerRequest *q, bool general) {
    HttpStream *t = mem_zero(1, sizeof *t);
    *t = (HttpStream){ .link = { .send = stream_send, .free = stream_free, .holders = 2 }, .http = s->http, .session = s,
        .version = version, .general = general,
                       .q = q, .listed = true, .since = clock_mono_ns() };
    t->last = &t->first;
    pthread_mutex_init(&t->lock, NULL);
    atomic_fetch_add(&s->holders, 1);
    if (q) {
        http_server_keep(q);
        http_server_on_gone(q, on_gone, t);
    }
    pthread_mutex_lock(&s->lock);
    t->id = general ? 0 : ++s->streams_made;
    t->next = s->streams;
    if (t->next) t->next->prev = t;
    s->streams = t;
    pthread_mutex_unlock(&s->lock);
    return t;
}

void http_stream_begin(HttpStream *t) {
    pthread_mutex_lock(&t->lock);
    if (!t->done && !t->streaming) begin(t, t->seq);
    pthread_mutex_unlock(&t->lock);
}

bool http_stream_resume(HttpStream *t, McpVersion version, HttpServerRequest *q, uint64_t after, bool replay) {
    HttpServerRequest *old = NULL;
    pthread_mutex_lock(&t->lock);
    if (t->general) t->version = version;
    bool ok = t->general || (t->streaming && is_kept(t) && after <= t->seq);
    if (ok) {
        old = take_connection(t);
        if (old) http_server_end(old);
        http_server_keep(q);
        t->q = q;
        begin(t, replay ? after : t->seq);
        for (HttpEvent *e = t->first; e && replay; e = e->next)
            if (e->seq > after) say(t, (Str){ e->text, e->n });
        if (t->done) {
            http_server_end(q);
            http_server_release(take_connection(t));
        } else {
            http_server_on_gone(q, on_gone, t);
        }
    }
    pthread_mutex_unlock(&t->lock);
    let_go(old);
    return ok;
}

bool http_stream_answered(HttpStream *t) {
    pthread_mutex_lock(&t->lock);
    bool done = t->done;
    pthread_mutex_unlock(&t->lock);
    return done;
}

bool http_stream_open(HttpStream *t) {
    pthread_mutex_lock(&t->lock);
    bool open = t->q != NULL;
    pthread_mutex_unlock(&t->lock);
    return open;
}

/* A cancelled request gets no response; closes its connection. */
static void finish(HttpStream *t) {
    pthread_mutex_lock(&t->lock);
    if (t->q && t->streaming) http_server_end(t->q);
    else if (t->q) http_reply_empty(t->http, t->q, 204);
    t->done = true;
    t->since = clock_mono_ns();
    HttpServerRequest *q = take_connection(t);
    pthread_mutex_unlock(&t->lock);
    let_go(q);
}

void http_stream_close(HttpStream *t) {
    finish(t);
    unlist(t);
}

void http_stream_tick(HttpStream *t, int64_t now) {
    int64_t poll = t->http->config->poll_ms;
    if (atomic_load(&t->link.holders) == 2 && !t->general && !http_stream_answered(t)) {     /* only the references of the list and of the caller
                                                                                              * are left: no response will come */
        http_stream_close(t);
        return;
    }
    HttpServerRequest *gone = NULL;
    pthread_mutex_lock(&t->lock);
    bool old = t->done && now - t->since > (int64_t)HTTP_KEEP_MS * MS, live = !t->done && t->q;
    if (live && !t->streaming) {
        if (now - t->since > (int64_t)HTTP_STREAM_AFTER_MS * MS) begin(t, t->seq);
    } else if (live && poll && can_poll(t) && !t->general && now - t->said > poll * MS) {
        char text[40];
        snprintf(text, sizeof text, "retry: %d\n\n", HTTP_RETRY_MS);
        say(t, str_from(text));
        http_server_end(t->q);
        gone = take_connection(t);
    } else if (live && now - t->said > (int64_t)HTTP_COMMENT_MS * MS) {
        say(t, STR(": \n\n"));
    }
    pthread_mutex_unlock(&t->lock);
    let_go(gone);
    if (old && !t->general) unlist(t);
}
