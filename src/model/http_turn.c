#include "model/http_turn.h"
#include <stdio.h>
#include <stdlib.h>
#include "artifact/environment.h"
#include "model/openai.h"
#include "net/sse.h"
#include "value/json.h"

enum { QUOTE_SPARE = 8192 /* longer than any key */, BLOCKS_MAX = 4096 };

/* ---- setup ---- */

static bool add_header(Model *m, Str name, Str text, Error *err) {
    Buf b = { 0 };
    if (!environment_expand(text, &b, m->env.secret, m->env.secret_ctx, err)) {
        buf_clear(&b);
        return error_wrap(err, "model header " STR_FMT, STR_ARG(name));
    }
    m->headers[m->n_headers++] = (ClientHeader){ arena_str(&m->arena, name), arena_str(&m->arena, buf_str(&b)) };
    buf_clear(&b);
    return true;
}

static bool read_key(Model *m, const ModelRoute *route, Error *err) {
    if (route->key_env.n == 0) return true;
    char *name = str_dup(route->key_env);
    const char *key = getenv(name);
    if (key) {
        m->key = arena_str(&m->arena, str_from(key));
        if (m->env.secret) m->env.secret(m->env.secret_ctx, m->key);
    } else if (route->needs_key) {
        error_set(err, ERR_CONFIG, "model " STR_FMT ": no API key: environment variable %s is not set", STR_ARG(m->def.name), name);
        error_hint(err, "export %s=…, or set model.api_key_env in harness.md", name);
    }
    free(name);
    return key || !route->needs_key;
}

bool http_turn_open(Model *m, Error *err) {
    ModelRoute route = model_route(&m->def);
    if (m->env.offline) return error_set(err, ERR_CONFIG, "model " STR_FMT ": HARNESS_OFFLINE is set", STR_ARG(m->def.name));
    if (!str_starts(route.base, STR("http://")) && !str_starts(route.base, STR("https://")))
        return error_set(err, ERR_CONFIG, "model " STR_FMT ": base_url \"" STR_FMT "\" must start with http:// or https://",
                         STR_ARG(m->def.name), STR_ARG(route.base));
    m->url = str_from(arena_fmt(&m->arena, STR_FMT "%s", STR_ARG(route.base), route.path));
    if (!read_key(m, &route, err)) return false;
    size_t n = value_is_dict(m->def.headers) ? value_dict(m->def.headers)->n : 0;
    m->headers = ARENA_ARRAY(&m->arena, ClientHeader, n + 8);
    Entry *e;
    if (n)
        for (uint32_t i = 0; dict_next(value_dict(m->def.headers), &i, &e);)
            if (!add_header(m, value_str(e->key), value_str(e->value), err)) return false;
    return true;
}

/* ---- request ---- */

typedef struct Post { HttpTurn *x; const HttpTurnWire *wire; SseReader *sse; Buf whole; bool is_sse, decided; } Post;

static bool feed(Post *p, Str piece, Error *err) {
    SseEvent event;
    for (;;) {
        Feed got = sse_feed(p->sse, piece, &event, err);
        piece = (Str){ 0 };
        if (got == FEED_BAD) return false;
        if (got == FEED_MORE) return true;
        if (!p->x->done && event.data.n && !p->wire->on_event(p->x, event.type, event.data, err)) return false;
    }
}

/* Distinguishes an event stream from one JSON document by the first byte, because servers may send a wrong content
 * type. Skips leading blanks, which may arrive in several pieces. */
static bool on_data(void *ctx, Str piece, Error *err) {
    Post *p = ctx;
    if (!p->decided) {
        Str start = str_trim(piece);
        if (start.n == 0) return true;
        piece = str_sub(piece, (size_t)(start.at - piece.at), piece.n);
        p->is_sse = start.at[0] != '{' && start.at[0] != '[';
        p->decided = true;
    }
    if (p->is_sse) return feed(p, piece, err);
    buf_add(&p->whole, piece);
    return !p->whole.full || error_set(err, ERR_PROVIDER, "the answer is larger than %zu bytes", PROVIDER_REPLY_MAX);
}

static bool is_transient(int status) { return status == 408 || status == 409 || status == 429 || status >= 500; }

/* Retry-After in seconds, or retry-after-ms, which some servers also send. */
static int64_t retry_after(const ClientResponse *r) {
    Str ms = client_header(r, STR("retry-after-ms")), s = client_header(r, STR("retry-after"));
    char text[32];
    snprintf(text, sizeof text, STR_FMT, STR_ARG(str_sub(ms.n ? ms : s, 0, 20)));
    char *end;
    double n = strtod(text, &end);
    if (end == text || n < 0) return -1;
    return (int64_t)(ms.n ? n : n * 1000);
}

static void quote(const Model *m, Str words, size_t max, Buf *out) {
    Buf text = { 0 };
    buf_add(&text, str_sub(words, 0, max + QUOTE_SPARE));
    if (m->env.redact) m->env.redact(m->env.secret_ctx, &text);
    size_t n = text.n < max ? text.n : max;
    while (n && n < text.n && ((unsigned char)text.at[n] & 0xc0) == 0x80) n--;      /* do not split a character */
    buf_add(out, str_sub(buf_str(&text), 0, n));
    buf_clear(&text);
}

/* The provider's message: {"error": {"message": …}}, {"error": "…"}, {"message": …}, or the text itself. */
static void error_words(const Model *m, Str body, Buf *out) {
    Heap *h = heap_new((size_t)8 << 20);
    Value root;
    Str words = str_trim(body);
    if (json_read(h, body, NULL, &root, NULL) && value_is_dict(root)) {
        Value *e = dict_find_str(value_dict(root), STR("error"));
        if (e && value_is_dict(*e)) root = *e;
        Value *text = dict_find_str(value_dict(root), STR("message"));
        if (text && value_is_string(*text)) words = value_str(*text);
        else if (e && value_is_string(*e)) words = value_str(*e);
    }
    quote(m, words, 400, out);
    heap_free(h);
}

static bool status_error(const Model *m, const HttpTurnWire *wire, const ClientResponse *r, Error *err) {
    Buf words = { 0 };
    error_words(m, buf_str(&r->body), &words);
    error_set(err, ERR_PROVIDER, "%s answered %d: " STR_FMT, m->provider->name, r->status, STR_ARG(buf_str(&words)));
    if (r->status == 401 || r->status == 403) error_hint(err, "is the API key right?");
    if (r->status == 400 && wire == &openai_chat_wire && str_find(buf_str(&words), STR("/v1/responses")) >= 0)
        error_hint(err, "set `wire: responses` in the model's profile, or `effort: none` to stay with Chat Completions");
    if (r->status == 404) error_hint(err, "is the model's name, and base_url, right?");
    buf_clear(&words);
    return false;
}

static bool post_request(HttpTurn *x, const HttpTurnWire *wire, Str body, Cancel *cancel, bool *retry, int64_t *wait_ms, Error *err) {
    const Model *m = x->m;
    Post post = { .x = x, .wire = wire, .sse = sse_new(0), .whole = { .limit = PROVIDER_REPLY_MAX } };
    ClientResponse response = { 0 };
    ClientRequest request = { .method = STR("POST"), .url = m->url, .headers = m->headers, .n_headers = m->n_headers, .body = body,
                              .has_body = true, .timeout_ms = m->def.timeout_ms ? m->def.timeout_ms : PROVIDER_TIMEOUT_MS, .max_body = PROVIDER_REPLY_MAX,
                              .on_data = on_data, .ctx = &post };
    bool ok = client_send(m->env.client, &request, cancel, &response, err);
    *retry = false;
    *wait_ms = -1;
    if (!ok) {
        bool lost = err->kind == ERR_IO || (err->kind == ERR_TIMEOUT && !cancel_expired(cancel));
        *retry = (lost || x->transient) && !x->started;
        if (lost) err->kind = ERR_PROVIDER, error_wrap(err, "%s", m->provider->name);
        if (lost && m->def.base_url.n && !err->hint[0]) error_hint(err, "is a server running at " STR_FMT "?", STR_ARG(m->def.base_url));
    } else if (response.status < 200 || response.status > 299) {
        *retry = is_transient(response.status);
        *wait_ms = retry_after(&response);
        x->draft.reply->unavailable = response.status == 404 || response.status == 410;
        ok = status_error(m, wire, &response, err);
        if (response.status >= 300 && response.status < 400) error_hint(err, "redirects are not followed with an API key: set base_url to the final address");
    } else if (post.decided && !post.is_sse) {
        ok = wire->on_whole(x, buf_str(&post.whole), err);
        *retry = !ok && x->transient && !x->started;
    }
    client_response_clear(&response);
    sse_free(post.sse);
    buf_clear(&post.whole);
    return ok;
}

/* ---- response ---- */

/* The value of a \\uXXXX escape at offset i, else 0. */
static unsigned escape_at(Str s, size_t i) {
    unsigned c = 0;
    if (s.n - i < 6 || s.at[i] != '\\' || s.at[i + 1] != 'u') return 0;
    for (size_t k = i + 2; k < i + 6; k++) {
        char d = s.at[k];
        if (d >= '0' && d <= '9') c = c * 16 + (unsigned)(d - '0');
        else if ((d | 32) >= 'a' && (d | 32) <= 'f') c = c * 16 + (unsigned)((d | 32) - 'a') + 10;
        else return 0;
    }
    return c;
}

static bool is_high(unsigned c) { return c >= 0xd800 && c <= 0xdbff; }
static bool is_low(unsigned c) { return c >= 0xdc00 && c <= 0xdfff; }

/* Keeps a high surrogate at the end for the next piece and joins it with the low surrogate there. A lone surrogate
 * becomes U+FFFD. */
static void join_halves(Str text, unsigned *half, Buf *out) {
    for (size_t i = 0; i < text.n;) {
        unsigned c = escape_at(text, i);
        if (is_high(c) && i + 6 < text.n && is_low(escape_at(text, i + 6))) {
            buf_add(out, str_sub(text, i, i + 12));
            i += 12;
        } else if (is_high(c)) {
            *half = c;
            i += 6;
        } else if (is_low(c)) {
            if (*half) buf_add_fmt(out, "\\u%04x\\u%04x", *half, c);
            else buf_add(out, STR("\\ufffd"));
            *half = 0;
            i += 6;
        } else {
            size_t n = text.at[i] == '\\' && i + 1 < text.n ? 2 : 1;
            buf_add(out, str_sub(text, i, i + n));
            i += n;
        }
    }
}

/* Parses JSON, rejoining a surrogate pair that the server split between two documents. */
static bool read_json(Heap *heap, Str text, unsigned *half, Value *out, Error *err) {
    if (json_read(heap, text, NULL, out, NULL)) return true;
    Buf whole = { 0 };
    join_halves(text, half, &whole);
    bool ok = json_read(heap, buf_str(&whole), NULL, out, err);
    buf_clear(&whole);
    return ok;
}

bool http_turn_refused(HttpTurn *x, Str words, bool transient, Error *err) {
    Buf said = { 0 };
    quote(x->m, words.n ? words : STR("an error without a message"), 400, &said);
    x->transient = transient;
    error_set(err, ERR_PROVIDER, "%s: " STR_FMT, x->m->provider->name, STR_ARG(buf_str(&said)));
    buf_clear(&said);
    return false;
}

bool http_turn_document(HttpTurn *x, Str text, Value *root, Error *err) {
    heap_reset(x->heap);
    if (read_json(x->heap, text, &x->half, root, err) && value_is_dict(*root)) return true;
    Buf said = { 0 };
    quote(x->m, text, 120, &said);
    x->transient = true;
    error_set(err, ERR_PROVIDER, "%s sent data that is not a JSON object: " STR_FMT, x->m->provider->name, STR_ARG(buf_str(&said)));
    buf_clear(&said);
    return false;
}

void http_turn_text(HttpTurn *x, Str piece) {
    if (piece.n) x->started = true;
    provider_text(&x->draft, piece);
}

void http_turn_reasoning(HttpTurn *x, Str piece) { provider_reasoning(&x->draft, piece); }

bool http_turn_item(HttpTurn *x, Value item, Error *err) {
    Buf *b = &x->draft.reply->items;
    b->limit = PROVIDER_REPLY_MAX;
    if (x->n_items++) b->n--;                                /* open the list again */
    buf_add_char(b, x->n_items > 1 ? ',' : '[');
    if (!json_write(b, item, NULL, err)) return false;
    buf_add_char(b, ']');
    return true;
}

bool http_turn_told(const HttpTurn *x, int64_t index) {
    for (size_t i = 0; i < x->told.n; i++)
        if (x->told.at[i] == index) return true;
    return false;
}

void http_turn_tell(HttpTurn *x, int64_t index) {
    if (!http_turn_told(x, index)) VEC_PUSH(&x->told, index);
}

HttpBlock *http_turn_block(HttpTurn *x, int64_t index, Str type) {
    for (size_t i = x->blocks.n; i-- > 0;)
        if (x->blocks.at[i].index == index) return &x->blocks.at[i];
    if (type.n == 0 || x->blocks.n == BLOCKS_MAX) return NULL;
    VEC_PUSH(&x->blocks, (HttpBlock){ .index = index, .text = { .limit = PROVIDER_REPLY_MAX }, .signature = { .limit = PROVIDER_REPLY_MAX } });
    buf_add(&VEC_LAST(&x->blocks).type, type);
    return &VEC_LAST(&x->blocks);
}

ProviderCall *http_turn_call(HttpTurn *x, int64_t index, Error *err) {
    x->started = true;
    return provider_call(&x->draft, index, err);
}

void http_turn_finish(HttpTurn *x, Str reason) {
    if (reason.n == 0) return;
    snprintf(x->draft.reply->finish_reason, sizeof x->draft.reply->finish_reason, STR_FMT, STR_ARG(reason));
    x->finished = true;
}

/* ---- entry point ---- */

/* A stream that ends before the server's end event was cut off. */
static bool settle(HttpTurn *x, const HttpTurnWire *wire, bool *retry, Error *err) {
    if (!x->finished && !x->done) {
        *retry = !x->started;
        return error_set(err, ERR_PROVIDER, "%s: the stream ended in the middle of the answer", x->m->provider->name);
    }
    if (!x->finished) http_turn_finish(x, x->draft.n ? STR("tool_calls") : STR("stop"));
    return provider_finish(&x->draft, err) && (!wire->on_end || wire->on_end(x, err));
}

static void clear(HttpTurn *x) {
    for (size_t i = 0; i < x->blocks.n; i++) {
        buf_clear(&x->blocks.at[i].type);
        buf_clear(&x->blocks.at[i].text);
        buf_clear(&x->blocks.at[i].signature);
    }
    VEC_CLEAR(&x->blocks);
    VEC_CLEAR(&x->told);
    buf_clear(&x->extra);
    provider_draft_clear(&x->draft);
    heap_free(x->heap);
}

bool http_turn_run(const Model *m, const HttpTurnWire *wire, const ModelRequest *request, Cancel *cancel, ModelReply *out, bool *retry,
                  int64_t *wait_ms, Error *err) {
    HttpTurn x = { .m = m, .draft = { .reply = out, .request = request }, .heap = heap_new((size_t)256 << 20) };
    Buf body = { 0 };
    bool ok = wire->write(m, request, x.heap, &body, err) && post_request(&x, wire, buf_str(&body), cancel, retry, wait_ms, err)
           && settle(&x, wire, retry, err);
    clear(&x);
    buf_clear(&body);
    return ok;
}
