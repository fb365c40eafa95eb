#include "mcp/host/auth_jwt.h"
#include <pthread.h>
#include <stdlib.h>
#include "base/base64.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/signature.h"
#include "net/client.h"
#include "value/int.h"
#include "value/json.h"
#include "value/list.h"

enum {
    TOKEN_MAX = 16 << 10, DOCUMENT_MAX = 1 << 20, KEYS_MAX = 64, FETCH_MS = 10000,
    FRESH_MS = 600000,                   /* refetch keys after this */
    AGAIN_MS = 10000,                    /* minimum interval between fetches for an unknown key */
    LEEWAY_S = 60,                       /* clock skew */
    WAITING_MAX = 2,                     /* threads that wait for a fetch: any client can send a token and make a thread
                                          * wait */
};

typedef struct Key { char *id; Buf n, e, x, y; SignatureKind kind; } Key;

typedef struct Keys { Key at[KEYS_MAX]; size_t n; } Keys;

struct ServeJwt {
    ServeAuthConfig config;
    Client *client;                      /* used by the fetching thread */
    pthread_mutex_t lock;                /* guards what follows */
    pthread_cond_t done;                 /* a fetch has ended */
    Keys keys;
    bool fetching;
    int waiting;
    int64_t fetched;                     /* monotonic; 0: never */
};

ServeJwt *serve_jwt_new(const ServeAuthConfig *config) {
    ServeJwt *j = mem_zero(1, sizeof *j);
    j->config = *config;
    j->client = client_new();
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->done, NULL);
    return j;
}

static void key_clear(Key *k) {
    free(k->id);
    buf_clear(&k->n);
    buf_clear(&k->e);
    buf_clear(&k->x);
    buf_clear(&k->y);
}

static void drop_keys(Keys *k) {
    for (size_t i = 0; i < k->n; i++) key_clear(&k->at[i]);
    k->n = 0;
}

void serve_jwt_free(ServeJwt *j) {
    if (!j) return;
    drop_keys(&j->keys);
    client_free(j->client);
    pthread_mutex_destroy(&j->lock);
    pthread_cond_destroy(&j->done);
    free(j);
}

/* ---- parsing ---- */

static bool read_json(Heap *h, Str json, Value *out, Error *err) {
    return json_read(h, json, &(JsonRead){ .max_bytes = DOCUMENT_MAX, .max_depth = 32, .reject_duplicates = true }, out, err);
}

/* ---- keys of the issuer ---- */

static bool fetch(ServeJwt *j, Str url, Heap *h, Value *out, Error *err) {
    ClientResponse r = { 0 };
    ClientHeader accept = { STR("Accept"), STR("application/json") };
    bool ok = client_send(j->client, &(ClientRequest){ .method = STR("GET"), .url = url, .headers = &accept, .n_headers = 1, .max_body = DOCUMENT_MAX,
                                                       .timeout_ms = FETCH_MS }, j->config.stop, &r, err);
    if (ok && r.status != 200) ok = error_set(err, ERR_IO, STR_FMT " answers %d", STR_ARG(url), r.status);
    ok = ok && read_json(h, buf_str(&r.body), out, err);
    client_response_clear(&r);
    return ok;
}

/* Well-known metadata locations of an issuer: RFC 8414 inserts the well-known part between host and path, OpenID
 * Connect appends it. */
static void metadata_url(Str issuer, int which, Buf *out) {
    ptrdiff_t scheme = str_find(issuer, STR("://"));
    size_t start = scheme < 0 ? 0 : (size_t)scheme + 3;
    ptrdiff_t slash = str_find_char(str_sub(issuer, start, issuer.n), '/');
    Str origin = slash < 0 ? issuer : str_sub(issuer, 0, start + (size_t)slash), path = slash < 0 ? STR("") : str_sub(issuer, start + (size_t)slash, issuer.n);
    if (str_ends(path, STR("/"))) path.n--;
    buf_reset(out);
    buf_add(out, origin);
    if (which == 2) buf_add(out, path);
    buf_add(out, which == 0 ? STR("/.well-known/oauth-authorization-server") : STR("/.well-known/openid-configuration"));
    if (which < 2) buf_add(out, path);
}

static bool find_metadata(ServeJwt *j, Heap *h, Value *out, Error *err) {
    Buf url = { 0 };
    bool ok = false;
    for (int which = 0; which < 3 && !ok; which++) {
        metadata_url(j->config.issuer, which, &url);
        ok = fetch(j, buf_str(&url), h, out, err);
    }
    buf_clear(&url);
    if (ok && !str_eq(value_member_text(*out, "issuer"), j->config.issuer))
        return error_set(err, ERR_PROTOCOL, "the authorization server's metadata names another issuer: " STR_FMT, STR_ARG(value_member_text(*out, "issuer")));
    return ok;
}

static void add_key(Keys *keys, Value v) {
    Str type = value_member_text(v, "kty"), use = value_member_text(v, "use"), alg = value_member_text(v, "alg");
    Key k = { .kind = str_eq(type, STR("RSA")) ? SIGNATURE_RS256 : SIGNATURE_ES256 };
    bool rsa = k.kind == SIGNATURE_RS256, ec = str_eq(type, STR("EC")) && str_eq(value_member_text(v, "crv"), STR("P-256"));
    if (keys->n == KEYS_MAX || (!rsa && !ec) || (use.n && !str_eq(use, STR("sig"))) || (alg.n && !str_eq(alg, rsa ? STR("RS256") : STR("ES256")))) return;
    bool ok = rsa ? base64_decode(value_member_text(v, "n"), &k.n, NULL) && base64_decode(value_member_text(v, "e"), &k.e, NULL)
                  : base64_decode(value_member_text(v, "x"), &k.x, NULL) && base64_decode(value_member_text(v, "y"), &k.y, NULL);
    k.id = str_dup(value_member_text(v, "kid"));
    if (ok) keys->at[keys->n++] = k;
    else key_clear(&k);
}

static bool fetch_keys(ServeJwt *j, Keys *out, Error *err) {
    Heap *h = heap_new(16 << 20);
    Value metadata, set;
    bool ok = find_metadata(j, h, &metadata, err) && fetch(j, value_member_text(metadata, "jwks_uri"), h, &set, err);
    Value keys = ok ? value_member(set, "keys") : VALUE_GONE;
    if (ok && !value_is_list(keys)) ok = error_set(err, ERR_PROTOCOL, "the authorization server's keys are not a list");
    for (uint32_t i = 0; ok && i < value_list(keys)->n; i++) add_key(out, value_list(keys)->at[i]);
    heap_free(h);
    return ok;
}

static const Key *find_key(const ServeJwt *j, Str id, SignatureKind kind) {
    for (size_t i = 0; i < j->keys.n; i++)
        if (j->keys.at[i].kind == kind && (id.n == 0 || str_eq(str_from(j->keys.at[i].id), id))) return &j->keys.at[i];
    return NULL;
}

/* The caller holds the lock; released during the fetch. */
static bool renew_keys(ServeJwt *j, Error *err) {
    Keys *fresh = mem_zero(1, sizeof *fresh);
    j->fetching = true;
    pthread_mutex_unlock(&j->lock);
    bool ok = fetch_keys(j, fresh, err);
    pthread_mutex_lock(&j->lock);
    if (ok) {
        drop_keys(&j->keys);
        j->keys = *fresh;
    } else {
        drop_keys(fresh);
    }
    free(fresh);
    j->fetching = false;
    j->fetched = clock_mono_ns();
    pthread_cond_broadcast(&j->done);
    return ok;
}

/* The key, or NULL. The caller holds the lock. Known keys are used during a fetch and while the server is
 * unreachable. */
static const Key *get_key(ServeJwt *j, Str id, SignatureKind kind, Error *err) {
    const Key *k = find_key(j, id, kind);
    Error problem = { 0 };
    if (!k && j->fetching && j->waiting >= WAITING_MAX) return error_set(err, ERR_IO, "keys of the authorization server are being fetched: try again"), NULL;
    j->waiting++;
    while (!(k = find_key(j, id, kind)) && j->fetching) pthread_cond_wait(&j->done, &j->lock);
    j->waiting--;
    int64_t age = (clock_mono_ns() - j->fetched) / 1000000;
    bool renewed = j->fetching || (j->fetched && age <= (k ? FRESH_MS : AGAIN_MS)) || renew_keys(j, &problem);
    k = find_key(j, id, kind);
    if (!k && !renewed) error_set(err, ERR_IO, "keys of the authorization server: %s", problem.msg);
    else if (!k) error_set(err, ERR_VALIDATION, "the token is signed with a key that its issuer does not publish");
    return k;
}

static bool check_signature(ServeJwt *j, Str id, SignatureKind kind, Str bytes, Str signature, Error *err) {
    pthread_mutex_lock(&j->lock);
    const Key *k = get_key(j, id, kind, err);
    bool ok = k && signature_check(&(SignatureKey){ kind, .n = buf_str(&k->n), .e = buf_str(&k->e), .x = buf_str(&k->x),
        .y = buf_str(&k->y) }, bytes, signature, err);
    pthread_mutex_unlock(&j->lock);
    return ok;
}

/* ---- claims ---- */

static bool holds_word(Str words, Str word) {
    while (words.n) {
        ptrdiff_t space = str_find_char(words, ' ');
        if (str_eq(str_sub(words, 0, space < 0 ? words.n : (size_t)space), word)) return true;
        words = space < 0 ? STR("") : str_sub(words, (size_t)space + 1, words.n);
    }
    return false;
}

static bool holds(Value v, Str wanted) {
    if (value_is_string(v)) return str_eq(value_str(v), wanted);
    for (uint32_t i = 0; value_is_list(v) && i < value_list(v)->n; i++) {
        Value one = value_list(v)->at[i];
        if (value_is_string(one) && str_eq(value_str(one), wanted)) return true;
    }
    return false;
}

static bool has_scope(Value claims, Str wanted) {
    for (Str rest = wanted; rest.n;) {
        ptrdiff_t space = str_find_char(rest, ' ');
        Str one = str_sub(rest, 0, space < 0 ? rest.n : (size_t)space);
        rest = space < 0 ? STR("") : str_sub(rest, (size_t)space + 1, rest.n);
        if (one.n && !holds_word(value_member_text(claims, "scope"), one) && !holds(value_member(claims, "scp"), one)) return false;
    }
    return true;
}

static double number(Value v, double without) { return value_is_int(v) ? int_to_double(v) : value_is_float(v) ? value_float(v) : without; }

static bool check_claims(const ServeJwt *j, Value claims, Error *err) {
    double now = (double)clock_wall_ns() / 1e9;
    Str resource = buf_str(j->config.resource);
    if (!str_eq(value_member_text(claims, "iss"), j->config.issuer)) return error_set(err, ERR_VALIDATION, "the token is of another issuer");
    if (!holds(value_member(claims, "aud"), resource)) return error_set(err, ERR_VALIDATION,
        "the token is for another server: its audience is not " STR_FMT, STR_ARG(resource));
    if (!(number(value_member(claims, "exp"), 0) + LEEWAY_S > now)) return error_set(err, ERR_VALIDATION, "the token has expired");
    if (number(value_member(claims, "nbf"), 0) - LEEWAY_S > now) return error_set(err, ERR_VALIDATION, "the token is not valid yet");
    return true;
}

/* Writes the length of each claim, so that adjacent claims cannot be confused. A token without a subject is its own
 * owner. */
static bool name_owner(Value claims, Str token, ServeWho *who, Error *err) {
    Buf owner = { 0 };
    Str parts[] = { value_member_text(claims, "iss"), value_member_text(claims, "sub"), value_member_text(claims, "client_id") };
    for (size_t i = 0; i < 3; i++) buf_add_fmt(&owner, "%zu:" STR_FMT, parts[i].n, STR_ARG(parts[i]));
    if (!parts[1].n && !parts[2].n) buf_add(&owner, token);
    bool ok = digest_sha256(buf_str(&owner), who->id, err);
    buf_clear(&owner);
    return ok;
}

/* ---- the token ---- */

typedef struct Parts { Buf head, claims, signature; Str signed_part; } Parts;

static bool split(Str token, Parts *p, Error *err) {
    ptrdiff_t first = str_find_char(token, '.');
    Str rest = first < 0 ? STR("") : str_sub(token, (size_t)first + 1, token.n);
    ptrdiff_t second = str_find_char(rest, '.');
    if (second < 0 || token.n > TOKEN_MAX) return error_set(err, ERR_VALIDATION, "the token is not valid for this server");
    p->signed_part = str_sub(token, 0, (size_t)first + 1 + (size_t)second);
    return base64_decode(str_sub(token, 0, (size_t)first), &p->head, err) && base64_decode(str_sub(rest, 0, (size_t)second), &p->claims, err) &&
           base64_decode(str_sub(rest, (size_t)second + 1, rest.n), &p->signature, err);
}

static bool read_kind(Value head, SignatureKind *out, Error *err) {
    Str alg = value_member_text(head, "alg");
    if (!value_is_gone(value_member(head, "crit"))) return error_set(err, ERR_VALIDATION, "the token uses unsupported extensions");
    if (str_eq(alg, STR("RS256"))) return *out = SIGNATURE_RS256, true;
    if (str_eq(alg, STR("ES256"))) return *out = SIGNATURE_ES256, true;
    return error_set(err, ERR_VALIDATION, "the token's signature algorithm is not supported: use RS256 or ES256");
}

ServeAuthAnswer serve_jwt_check(ServeJwt *j, Str token, ServeWho *who, Error *err) {
    Parts p = { 0 };
    Heap *h = heap_new(4 << 20);
    Value head, claims;
    SignatureKind kind;
    bool ok = split(token, &p, err) && read_json(h, buf_str(&p.head), &head, err) && read_json(h, buf_str(&p.claims), &claims, err) &&
              read_kind(head, &kind, err) && check_claims(j, claims, err) &&
              check_signature(j, value_member_text(head, "kid"), kind, p.signed_part, buf_str(&p.signature), err) && name_owner(claims, token, who, err);
    ServeAuthAnswer answer = !ok ? AUTH_BAD : AUTH_OK;
    if (ok && !has_scope(claims, j->config.scope)) {
        answer = AUTH_SCOPE;
        error_set(err, ERR_POLICY, "the token lacks the scope " STR_FMT, STR_ARG(j->config.scope));
    }
    buf_clear(&p.head);
    buf_clear(&p.claims);
    buf_clear(&p.signature);
    heap_free(h);
    return answer;
}
