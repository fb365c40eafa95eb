/* Persists tokens and registered clients as JSON notes. A token's key is the server's URL, and the note names its
 * issuer and resource; a client's key is its issuer. */
#include "mcp/oauth/oauth_private.h"
#include <stdlib.h>
#include "value/int.h"

enum { NOTE_MAX = 512 << 10 };

static bool read_text(OAuth *a, const char *kind, Str name, Buf *out, Error *err) {
    if (!a->config.shelf.get) return true;
    Buf key = { 0 };
    buf_add_fmt(&key, "oauth:%s:" STR_FMT, kind, STR_ARG(name));
    bool ok = a->config.shelf.get(a->config.shelf.ctx, buf_str(&key), out, err);
    buf_clear(&key);
    return ok;
}

static bool read_note(OAuth *a, const char *kind, Str name, bool *there, Heap *heap, Value *out, Error *err) {
    *out = VALUE_GONE;
    Buf text = { 0 };
    bool ok = read_text(a, kind, name, &text, err);
    Value json;
    if (ok && text.n && text.n <= NOTE_MAX && json_read(heap, buf_str(&text), NULL, &json, NULL) && value_is_dict(json)) *out = json;
    if (there) *there = ok && text.n > 0;
    buf_clear(&text);
    return ok;
}

static bool write_note(OAuth *a, const char *kind, Str name, Str text, Error *err) {
    if (!a->config.shelf.put) return true;
    Buf key = { 0 };
    buf_add_fmt(&key, "oauth:%s:" STR_FMT, kind, STR_ARG(name));
    bool ok = a->config.shelf.put(a->config.shelf.ctx, buf_str(&key), text, err);
    buf_clear(&key);
    return ok;
}

static void add_text(Buf *out, const char *key, Str value) {
    if (value.n == 0) return;
    buf_add_fmt(out, "%s\"%s\":", out->n > 1 ? "," : "", key);
    json_write_string(out, value, false);
}

/* X(member of OAuthToken) */
#define TOKEN_TEXTS(X) X(access) X(refresh) X(issuer) X(resource) X(scope) X(client_id) X(client_secret) X(auth) X(endpoint)

static bool fits_settings(const OAuth *a, Value note) {    /* the settings may have changed since */
    const OAuthSettings *s = &a->settings;
    OAuthUrl u;
    return oauth_url_trusted(value_member_text(note, "endpoint"), "token_endpoint", &u, NULL) && value_member_text(note, "issuer").n
           && (!s->issuer.n || str_eq(s->issuer, value_member_text(note, "issuer")))
           && (!s->client_id.n || str_eq(s->client_id, value_member_text(note, "client_id")));
}

static void take_texts(OAuth *a, Value note, OAuthToken *out) {
#define X(member) out->member = value_member_text(note, #member).n ? str_dup(value_member_text(note, #member)) : NULL;
    TOKEN_TEXTS(X)
#undef X
    oauth_secret(a, str_from(out->access));
    oauth_secret(a, str_from(out->refresh));
    oauth_secret(a, str_from(out->client_secret));
}

bool oauth_shelf_look(OAuth *a, bool *there, OAuthToken *out, Error *err) {
    Heap *heap = heap_new(8 << 20);
    Value note;
    bool ok = read_note(a, "token", a->config.server, there, heap, &note, err);
    if (ok && !value_is_gone(note)) take_texts(a, note, out);
    heap_free(heap);
    return ok;
}

bool oauth_shelf_forget(OAuth *a, const OAuthToken *t, Error *err) {
    return write_note(a, "token", a->config.server, STR(""), err) && (!t->issuer || oauth_shelf_save_client(a, str_from(t->issuer), NULL, err));
}

bool oauth_shelf_load(OAuth *a, OAuthToken *out, JwtKey **dpop, Error *err) {
    Heap *heap = heap_new(8 << 20);
    Value note;
    bool ok = read_note(a, "token", a->config.server, NULL, heap, &note, err);
    if (ok && !value_is_gone(note) && fits_settings(a, note)) {
        take_texts(a, note, out);
        const Value *expires = dict_find_str(value_dict(note), STR("expires"));
        out->expires_ns = expires && value_is_small(*expires) && value_small(*expires) < INT64_MAX / 1000000000 ? value_small(*expires) * 1000000000 : 0;
        out->dpop = oauth_json_flag(note, "dpop");
        if (value_member_text(note, "dpop_key").n) *dpop = jwt_key_read(value_member_text(note, "dpop_key"), NULL);
        if (out->dpop && !*dpop) oauth_token_clear(out);   /* bound to a key that is lost */
    }
    heap_free(heap);
    return ok;
}

bool oauth_shelf_save(OAuth *a, const OAuthToken *t, Error *err) {
    Buf note = { 0 }, key = { 0 };
    buf_add_char(&note, '{');
#define X(member) add_text(&note, #member, str_from(t->member));
    TOKEN_TEXTS(X)
#undef X
    if (t->expires_ns) buf_add_fmt(&note, ",\"expires\":%lld", (long long)(t->expires_ns / 1000000000));
    bool ok = !t->dpop || jwt_key_write(a->dpop, &key, err);
    if (t->dpop) {
        buf_add(&note, STR(",\"dpop\":true"));
        add_text(&note, "dpop_key", buf_str(&key));
        oauth_secret(a, buf_str(&key));
    }
    buf_add_char(&note, '}');
    ok = ok && write_note(a, "token", a->config.server, buf_str(&note), err);
    buf_clear(&note);
    buf_clear(&key);
    return ok;
}

bool oauth_shelf_client(OAuth *a, Str issuer, Arena *arena, OAuthClient *out, Error *err) {
    if (a->registered.id.n && str_eq(a->registrar, issuer)) return *out = a->registered, true;
    Heap *heap = heap_new(8 << 20);
    Value note;
    bool ok = read_note(a, "client", issuer, NULL, heap, &note, err);
    if (ok && !value_is_gone(note)) {
        const Value *port = dict_find_str(value_dict(note), STR("port"));
        out->id = arena_str(arena, value_member_text(note, "id"));
        out->secret = arena_str(arena, value_member_text(note, "secret"));
        out->auth = arena_str(arena, value_member_text(note, "auth"));
        out->port = port && value_is_small(*port) ? (uint16_t)value_small(*port) : 0;
        oauth_secret(a, out->secret);
    }
    heap_free(heap);
    return ok;
}

bool oauth_shelf_save_client(OAuth *a, Str issuer, const OAuthClient *c, Error *err) {
    a->registered = (OAuthClient){ 0 };
    if (!c) return write_note(a, "client", issuer, STR(""), err);
    a->registrar = arena_str(&a->arena, issuer);
    a->registered = (OAuthClient){ arena_str(&a->arena, c->id), arena_str(&a->arena, c->secret), arena_str(&a->arena, c->auth), c->port, false };
    Buf note = { 0 };
    buf_add_char(&note, '{');
    add_text(&note, "id", c->id);
    add_text(&note, "secret", c->secret);
    add_text(&note, "auth", c->auth);
    buf_add_fmt(&note, ",\"port\":%u}", c->port);
    bool ok = write_note(a, "client", issuer, buf_str(&note), err);
    buf_clear(&note);
    return ok;
}
