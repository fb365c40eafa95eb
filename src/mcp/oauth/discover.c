/* From a server's URL to the endpoints of its authorization server: RFC 9728, RFC 8414, OpenID Connect Discovery, and
 * the fixed paths of 2025-03-26 for servers without metadata. */
#include "mcp/oauth/oauth_private.h"
#include "value/list.h"

enum { SCOPES_LISTED_MAX = 200 };

static Str arena_join(Arena *arena, Str a, const char *b, Str c) {
    Buf text = { 0 };
    buf_add(&text, a);
    buf_add(&text, str_from(b));
    buf_add(&text, c);
    Str out = arena_str(arena, buf_str(&text));
    buf_clear(&text);
    return out;
}

static Str origin_of(const OAuthUrl *u, Arena *arena) {
    Buf text = { 0 };
    oauth_url_origin(u, &text);
    Str out = arena_str(arena, buf_str(&text));
    buf_clear(&text);
    return out;
}

static Str bare_path(Str path) {                           /* without a trailing "/" */
    while (path.n && path.at[path.n - 1] == '/') path = str_sub(path, 0, path.n - 1);
    return path;
}

/* The document is absent: try the next well-known location. 5xx is an error. */
static bool is_absent(int status) { return (status >= 300 && status < 500) || status == 501; }

static bool get_document(const OAuthFetch *f, Str url, const char *what, Value *out, Error *err) {
    char shown[TARGET_QUOTE_SIZE];
    OAuthAnswer answer;
    *out = VALUE_GONE;
    if (!oauth_fetch_get(f, url, &answer, err)) return error_wrap(err, "%s", what);
    if (is_absent(answer.status)) return true;
    if (answer.status != 200) return error_set(err, ERR_PROTOCOL, "%s: %s answered %d", what, target_quote(url, shown), answer.status);
    return *out = answer.json, true;                       /* some servers answer every path with a page: not
                                                            * metadata */
}

bool oauth_discover_issuer(const OAuthFetch *f, Str issuer, Arena *arena, Value *metadata, Error *err) {
    static const char oauth[] = "/.well-known/oauth-authorization-server", openid[] = "/.well-known/openid-configuration";
    OAuthUrl u;
    if (!oauth_url_trusted(issuer, "the authorization server", &u, err)) return false;
    Str origin = origin_of(&u, arena), path = bare_path(u.path);
    Str places[3] = { arena_join(arena, origin, oauth, path), arena_join(arena, origin, openid, path) };
    if (path.n) places[2] = arena_join(arena, arena_join(arena, origin, "", path), openid, STR(""));
    *metadata = VALUE_GONE;
    for (size_t i = 0; i < 3 && places[i].n && value_is_gone(*metadata); i++)
        if (!get_document(f, places[i], "metadata of the authorization server", metadata, err)) return false;
    return true;
}

/* The resource must have the server's origin, and its path must be the server's or a prefix of it. */
static bool resource_matches(Str resource, const OAuthUrl *server) {
    OAuthUrl r;
    if (!oauth_url_parse(resource, &r, NULL) || !oauth_url_same_origin(&r, server)) return false;
    Str path = bare_path(r.path), whole = bare_path(server->path);
    return str_starts(whole, path) && (whole.n == path.n || whole.at[path.n] == '/') && (r.query.n == 0 || str_eq(r.query, server->query));
}

static bool find_resource(const OAuthFetch *f, const OAuthUrl *server, Str told, Arena *arena, Value *out, Error *err) {
    static const char where[] = "/.well-known/oauth-protected-resource", what[] = "metadata of the protected resource";
    *out = VALUE_GONE;
    if (told.n) return get_document(f, told, what, out, err);
    Str origin = origin_of(server, arena), path = bare_path(server->path);
    if (path.n && !get_document(f, arena_join(arena, origin, where, path), what, out, err)) return false;
    return !value_is_gone(*out) || get_document(f, arena_join(arena, origin, where, STR("")), what, out, err);
}

static bool pick_issuer(Value resource, const OAuthSettings *settings, Str *out, Error *err) {
    char first[TARGET_QUOTE_SIZE], wanted[TARGET_QUOTE_SIZE];
    const Value *v = dict_find_str(value_dict(resource), STR("authorization_servers"));
    const List *list = v && value_is_list(*v) ? value_list(*v) : NULL;
    if (!list || list->n == 0 || !value_is_string(list->at[0])) {
        if (settings->issuer.n) return *out = settings->issuer, true;
        return error_set(err, ERR_PROTOCOL, "the server's metadata names no authorization server; set oauth.issuer");
    }
    if (settings->issuer.n && !oauth_json_lists(resource, "authorization_servers", settings->issuer))
        return error_set(err, ERR_POLICY, "the server now names the authorization server %s, but oauth.issuer is %s: not sending its "
                         "client to another server; change oauth.issuer and the client if this is expected", target_quote(value_str(list->at[0]), first),
                         target_quote(settings->issuer, wanted));
    return *out = settings->issuer.n ? settings->issuer : value_str(list->at[0]), true;
}

static Str join_list(Value json, const char *key, Arena *arena) {
    const Value *v = dict_find_str(value_dict(json), str_from(key));
    Buf text = { .limit = OAUTH_SCOPE_MAX };
    for (uint32_t i = 0; v && value_is_list(*v) && i < value_list(*v)->n && i < SCOPES_LISTED_MAX; i++) {
        if (!value_is_string(value_list(*v)->at[i])) continue;
        if (text.n) buf_add_char(&text, ' ');
        buf_add(&text, value_str(value_list(*v)->at[i]));
    }
    Str out = arena_str(arena, buf_str(&text));
    buf_clear(&text);
    return out;
}

static bool set_endpoints(const OAuthFetch *f, Value metadata, OAuthSite *s, Arena *arena, Error *err) {
    const struct { const char *key; Str *to; } ends[] = { { "authorization_endpoint", &s->authorization_endpoint },
        { "token_endpoint", &s->token_endpoint }, { "registration_endpoint", &s->registration_endpoint } };
    for (size_t i = 0; i < 3; i++) {
        *ends[i].to = arena_str(arena, value_member_text(metadata, ends[i].key));
        if (ends[i].to->n && !oauth_fetch_allowed(f, *ends[i].to, ends[i].key, err)) return false;
    }
    return true;
}

/* A server of 2025-03-26 is its own authorization server, with metadata at the root or fixed paths. */
static bool use_own_paths(const OAuthFetch *f, const OAuthUrl *server, Arena *arena, OAuthSite *s, Error *err) {
    Str origin = origin_of(server, arena);
    if (!oauth_discover_issuer(f, origin, arena, &s->metadata, err)) return false;
    s->issuer = origin;
    if (value_is_gone(s->metadata)) {
        s->authorization_endpoint = arena_join(arena, origin, "/authorize", STR(""));
        s->token_endpoint = arena_join(arena, origin, "/token", STR(""));
        s->registration_endpoint = arena_join(arena, origin, "/register", STR(""));
        return true;
    }
    char shown[TARGET_QUOTE_SIZE];
    OAuthUrl u;
    Str issuer = value_member_text(s->metadata, "issuer");
    if (!oauth_url_parse(issuer, &u, NULL) || !oauth_url_same_origin(&u, server))
        return error_set(err, ERR_POLICY, "the server's metadata names \"%s\", which is another host", target_quote(issuer, shown));
    s->issuer = arena_str(arena, issuer);
    return set_endpoints(f, s->metadata, s, arena, err);
}

static bool use_issuer(const OAuthFetch *f, Str issuer, Arena *arena, OAuthSite *s, Error *err) {
    char said[TARGET_QUOTE_SIZE], asked[TARGET_QUOTE_SIZE];
    s->issuer = arena_str(arena, issuer);
    if (!oauth_discover_issuer(f, s->issuer, arena, &s->metadata, err)) return false;
    if (value_is_gone(s->metadata))
        return error_set(err, ERR_PROTOCOL, "the authorization server %s has no metadata at its well-known addresses", target_quote(issuer, asked));
    Str own = value_member_text(s->metadata, "issuer");
    if (!str_eq(own, s->issuer))                           /* exact comparison: RFC 8414, 3.3 */
        return error_set(err, ERR_POLICY, "the metadata of %s belongs to \"%s\": rejected", target_quote(issuer, asked), target_quote(own, said));
    return set_endpoints(f, s->metadata, s, arena, err);
}

bool oauth_discover(const OAuthFetch *f, Str url, const OAuthSettings *settings, const OAuthChallenge *challenge, Arena *arena,
                    OAuthSite *out, Error *err) {
    char shown[TARGET_QUOTE_SIZE];
    OAuthUrl server;
    OAuthSite s = { .metadata = VALUE_GONE, .wants_dpop = challenge->dpop };
    if (!oauth_url_trusted(url, "the server", &server, err)) return false;
    Value resource;
    if (!find_resource(f, &server, challenge->resource_metadata, arena, &resource, err)) return false;
    if (value_is_gone(resource)) {
        if (challenge->resource_metadata.n)
            return error_set(err, ERR_PROTOCOL, "the server says that its metadata is at %s, but there is none",
                             target_quote(challenge->resource_metadata, shown));
        s.resource = arena_join(arena, origin_of(&server, arena), "", bare_path(server.path));
        if (!(settings->issuer.n ? use_issuer(f, settings->issuer, arena, &s, err) : use_own_paths(f, &server, arena, &s, err))) return false;
        return *out = s, true;
    }
    Str name = value_member_text(resource, "resource"), issuer;
    if (!resource_matches(name, &server))
        return error_set(err, ERR_POLICY, "the server's metadata is for \"%s\", which is another server: rejected", target_quote(name, shown));
    s.resource = arena_str(arena, name);
    s.scopes = join_list(resource, "scopes_supported", arena);
    s.wants_dpop = s.wants_dpop || oauth_json_flag(resource, "dpop_bound_access_tokens_required");
    if (!pick_issuer(resource, settings, &issuer, err) || !use_issuer(f, issuer, arena, &s, err)) return false;
    return *out = s, true;
}
