#include "mcp/host/http_private.h"
#include <stdlib.h>
#include "base/base64.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/random.h"

enum { MS = 1000000, ID_BYTES = 32 };

/* ---- one session ---- */

static void session_free(HttpSession *s) {
    buf_clear(&s->name);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->unused);
    free(s);
}

void http_session_release(HttpSession *s) {
    if (s && atomic_fetch_sub(&s->holders, 1) == 1) session_free(s);
}

McpPeer *http_session_use(HttpSession *s) {
    pthread_mutex_lock(&s->lock);
    McpPeer *peer = s->ended ? NULL : s->peer;
    if (peer) {
        s->users++;
        s->used = clock_mono_ns();
    }
    pthread_mutex_unlock(&s->lock);
    return peer;
}

void http_session_done(HttpSession *s) {
    pthread_mutex_lock(&s->lock);
    s->used = clock_mono_ns();
    if (--s->users == 0) pthread_cond_broadcast(&s->unused);
    pthread_mutex_unlock(&s->lock);
}

/* The session's streams, each with a reference. */
static HttpStream *hold_streams(HttpSession *s, size_t *n, HttpStream ***out) {
    *n = 0;
    pthread_mutex_lock(&s->lock);
    for (HttpStream *t = s->streams; t; t = t->next) ++*n;
    *out = *n ? mem_zero(*n, sizeof **out) : NULL;
    size_t i = 0;
    for (HttpStream *t = s->streams; t; t = t->next) {
        mcp_link_keep(&t->link);                       /* a reference of the list */
        (*out)[i++] = t;
    }
    pthread_mutex_unlock(&s->lock);
    return *n ? (*out)[0] : NULL;
}

typedef void EachStream(HttpStream *t, int64_t now);

static void each_stream(HttpSession *s, EachStream *each) {
    size_t n;
    HttpStream **streams;
    int64_t now = clock_mono_ns();
    hold_streams(s, &n, &streams);
    for (size_t i = 0; i < n; i++) {
        each(streams[i], now);
        mcp_link_release(&streams[i]->link);
    }
    free(streams);
}

static void close_stream(HttpStream *t, int64_t now) {
    (void)now;
    http_stream_close(t);
}

/* Cancels outstanding requests after grace_ms. The peer is not called after this returns. */
static void close_peer(HttpSession *s, int64_t grace_ms) {
    pthread_mutex_lock(&s->lock);
    s->ended = true;
    while (s->users) pthread_cond_wait(&s->unused, &s->lock);
    McpPeer *peer = s->peer;
    HttpStream *general = s->general;
    s->peer = NULL;
    s->general = NULL;
    pthread_mutex_unlock(&s->lock);
    if (general) http_stream_close(general);
    if (peer) mcp_peer_close(peer, grace_ms);
    each_stream(s, close_stream);
    if (general) mcp_link_release(&general->link);
    http_session_release(s);
}

/* ---- the table ---- */

static uint32_t bucket_of(Str id) { return hash_bytes(id) % HTTP_BUCKETS; }

static Str key_of(const HttpSession *s) { return s->id[0] ? str_from(s->id) : buf_str(&s->name); }

static bool same_owner(const uint8_t *a, const uint8_t *b) {
    unsigned differ = 0;
    for (int i = 0; i < HTTP_OWNER; i++) differ |= a[i] ^ b[i];
    return differ == 0;
}

static HttpSession *find(Http *h, Str key, const uint8_t *owner, bool stateless) {
    for (HttpSession *s = h->buckets[bucket_of(key)]; s; s = s->next)
        if (stateless == !s->id[0] && str_eq(key_of(s), key) && same_owner(s->owner, owner)) return s;
    return NULL;
}

/* Moves a session from the table to the list of sessions to close, with the table's reference. The caller holds Http's
 * lock. */
static void retire(Http *h, HttpSession *s) {
    HttpSession **at = &h->buckets[bucket_of(key_of(s))];
    while (*at && *at != s) at = &(*at)->next;
    if (!*at) return;
    *at = s->next;
    h->n--;
    h->n_stateless -= !s->id[0];
    s->next = h->closing;
    h->closing = s;
    h->n_closing++;
    pthread_mutex_lock(&s->lock);
    s->ended = true;
    pthread_mutex_unlock(&s->lock);
}

static bool is_read(HttpSession *s) {
    bool read = false;
    for (HttpStream *t = s->streams; t && !read; t = t->next) read = http_stream_open(t);
    return read;
}

/* True when the session has no requests and no listeners. The caller holds Http's lock. */
static bool is_idle(HttpSession *s) {
    pthread_mutex_lock(&s->lock);
    bool idle = s->users == 0 && !is_read(s) && (!s->peer || mcp_peer_idle(s->peer));
    pthread_mutex_unlock(&s->lock);
    return idle;
}

/* Evicts the oldest idle session, the same owner's first, so that one client cannot evict another's. */
static bool make_room(Http *h, const HttpSession *fresh) {
    bool stateless = !fresh->id[0];
    if (h->n < HTTP_SESSIONS_MAX && (!stateless || h->n_stateless < HTTP_STATELESS_MAX)) return true;
    HttpSession *oldest[2] = { NULL, NULL };                 /* another owner's, the same owner's */
    for (size_t i = 0; i < HTTP_BUCKETS; i++)
        for (HttpSession *s = h->buckets[i]; s; s = s->next) {
            bool own = same_owner(s->owner, fresh->owner);
            if ((!stateless || !s->id[0]) && (!oldest[own] || s->used < oldest[own]->used) && is_idle(s)) oldest[own] = s;
        }
    HttpSession *out = oldest[1] ? oldest[1] : oldest[0];
    if (out) retire(h, out);
    return out != NULL;
}

static bool add(Http *h, HttpSession *s, Error *err) {
    if (h->stopping) return error_set(err, ERR_CANCELLED, "the server is stopping");
    if (h->n_closing >= HTTP_CLOSING_MAX) return error_set(err, ERR_LIMIT, "%d sessions are being closed: try again later", HTTP_CLOSING_MAX);
    if (!make_room(h, s)) return error_set(err, ERR_LIMIT, "too many sessions (limit %d): try again later", HTTP_SESSIONS_MAX);
    HttpSession **at = &h->buckets[bucket_of(key_of(s))];
    s->next = *at;
    *at = s;
    h->n++;
    h->n_stateless += !s->id[0];
    atomic_fetch_add(&s->holders, 1);
    return true;
}

static HttpSession *make(Http *h, const uint8_t *owner, Str name, bool stateless, Error *err) {
    HttpSession *s = mem_zero(1, sizeof *s);
    Buf key = { 0 };
    *s = (HttpSession){ .http = h, .holders = 1, .used = clock_mono_ns() };
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->unused, NULL);
    memcpy(s->owner, owner, HTTP_OWNER);
    if (stateless) {
        base64_encode_url((Str){ (const char *)owner, HTTP_OWNER }, &key);
        buf_add_char(&key, ' ');
        buf_add(&key, name);
        buf_add(&s->name, name);
    } else {
        uint8_t bytes[ID_BYTES];
        Buf id = { 0 };
        random_fill(bytes, sizeof bytes);
        base64_encode_url((Str){ (char *)bytes, sizeof bytes }, &id);
        memcpy(s->id, id.at, id.n + 1);
        buf_clear(&id);
        s->general = http_stream_new(s, MCP_LATEST_HANDSHAKE, NULL, true);
    }
    s->peer = mcp_peer_new(h->server, &(McpPeerConfig){ .session = buf_str(&key), .general = s->general ? &s->general->link : NULL, .shared = stateless }, err);
    buf_clear(&key);
    if (s->peer) return s;
    close_peer(s, 0);
    return NULL;
}

HttpSession *http_session_find(Http *h, Str id, const uint8_t owner[HTTP_OWNER]) {
    pthread_mutex_lock(&h->lock);
    HttpSession *s = id.n ? find(h, id, owner, false) : NULL;
    if (s) atomic_fetch_add(&s->holders, 1);
    pthread_mutex_unlock(&h->lock);
    return s;
}

HttpSession *http_session_new(Http *h, const uint8_t owner[HTTP_OWNER], Error *err) {
    HttpSession *s = make(h, owner, STR(""), false, err);
    if (!s) return NULL;
    pthread_mutex_lock(&h->lock);
    bool ok = add(h, s, err);
    pthread_mutex_unlock(&h->lock);
    if (ok) return s;
    close_peer(s, 0);
    return NULL;
}

/* Two requests may create one at the same time: the second uses the first one's. */
HttpSession *http_session_stateless(Http *h, const uint8_t owner[HTTP_OWNER], Str name, Error *err) {
    pthread_mutex_lock(&h->lock);
    HttpSession *s = find(h, name, owner, true);
    if (s) atomic_fetch_add(&s->holders, 1);
    pthread_mutex_unlock(&h->lock);
    if (s) return s;
    HttpSession *fresh = make(h, owner, name, true, err);
    if (!fresh) return NULL;
    pthread_mutex_lock(&h->lock);
    s = find(h, name, owner, true);
    if (s) atomic_fetch_add(&s->holders, 1);
    else if (add(h, fresh, err)) s = fresh;
    pthread_mutex_unlock(&h->lock);
    if (s != fresh) close_peer(fresh, 0);
    return s;
}

void http_session_end(HttpSession *s) {
    pthread_mutex_lock(&s->http->lock);
    retire(s->http, s);
    pthread_mutex_unlock(&s->http->lock);
}

/* ---- all of them ---- */

/* References to all sessions, so that work on them needs no lock. free() the array. */
static size_t hold_all(Http *h, HttpSession ***out) {
    pthread_mutex_lock(&h->lock);
    size_t n = 0;
    *out = h->n ? mem_zero(h->n, sizeof **out) : NULL;
    for (size_t i = 0; i < HTTP_BUCKETS; i++)
        for (HttpSession *s = h->buckets[i]; s; s = s->next) {
            atomic_fetch_add(&s->holders, 1);
            (*out)[n++] = s;
        }
    pthread_mutex_unlock(&h->lock);
    return n;
}

void http_sessions_tick(Http *h) {
    HttpSession **all;
    size_t n = hold_all(h, &all);
    for (size_t i = 0; i < n; i++) {
        each_stream(all[i], http_stream_tick);
        http_session_release(all[i]);
    }
    free(all);
}

static void retire_old(Http *h, bool all) {
    int64_t before = clock_mono_ns() - (int64_t)HTTP_SESSION_MS * MS;
    pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < HTTP_BUCKETS; i++)
        for (HttpSession *s = h->buckets[i], *next; s; s = next) {
            next = s->next;
            if (all || (s->used < before && is_idle(s))) retire(h, s);
        }
    if (all) h->stopping = true;
    pthread_mutex_unlock(&h->lock);
}

void http_sessions_end_all(Http *h) { retire_old(h, true); }

void http_sessions_tidy(Http *h, int64_t grace_ms) {
    int64_t until = clock_mono_ns() + grace_ms * MS;
    retire_old(h, false);
    for (;;) {
        pthread_mutex_lock(&h->lock);
        HttpSession *s = h->closing;
        if (s) h->closing = s->next;
        pthread_mutex_unlock(&h->lock);
        if (!s) return;
        int64_t left = (until - clock_mono_ns()) / MS;
        close_peer(s, left > 0 ? left : 0);
        pthread_mutex_lock(&h->lock);
        h->n_closing--;
        pthread_mutex_unlock(&h->lock);
    }
}
