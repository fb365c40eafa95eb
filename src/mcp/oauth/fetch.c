/* Requests to authorization servers. Responses are JSON of limited size. */
#include "mcp/oauth/oauth_private.h"
#include "value/list.h"

bool oauth_fetch_allowed(const OAuthFetch *f, Str url, const char *what, Error *err) {
    char shown[TARGET_QUOTE_SIZE];
    OAuthUrl u;
    if (!oauth_url_trusted(url, what, &u, err)) return false;
    return f->local || !oauth_url_local(&u)
           || error_set(err, ERR_POLICY, "%s \"%s\" is on this machine, but the server is not: rejected", what, target_quote(url, shown));
}

static bool fetch(const OAuthFetch *f, ClientRequest *request, OAuthAnswer *out, Error *err) {
    char shown[TARGET_QUOTE_SIZE];
    if (!oauth_fetch_allowed(f, request->url, "the address", err)) return false;
    request->rules = f->rules;
    request->max_body = OAUTH_ANSWER_MAX;
    request->timeout_ms = OAUTH_TIMEOUT_MS;
    ClientResponse r = { 0 };
    *out = (OAuthAnswer){ .json = VALUE_GONE };
    bool ok = client_send(f->client, request, f->cancel, &r, err) || error_wrap(err, "%s", target_quote(request->url, shown));
    if (ok) {
        out->status = r.status;
        Str nonce = client_header(&r, STR("dpop-nonce"));
        String *kept = string_new(f->heap, nonce, err);
        ok = kept != NULL;
        if (ok) out->dpop_nonce = string_str(kept);
        Value json;
        Error ignored;
        if (ok && json_read(f->heap, buf_str(&r.body), &(JsonRead){ .max_depth = 64 }, &json, &ignored) && value_is_dict(json)) out->json = json;
    }
    client_response_clear(&r);
    return ok;
}

bool oauth_fetch_get(const OAuthFetch *f, Str url, OAuthAnswer *out, Error *err) {
    ClientHeader accept = { STR("Accept"), STR("application/json") };
    return fetch(f, &(ClientRequest){ .method = STR("GET"), .url = url, .headers = &accept, .n_headers = 1 }, out, err);
}

bool oauth_fetch_post(const OAuthFetch *f, Str url, Str type, Str body, const ClientHeader *headers, size_t n, OAuthAnswer *out, Error *err) {
    ClientHeader all[4] = { { STR("Accept"), STR("application/json") }, { STR("Content-Type"), type } };
    for (size_t i = 0; i < n && i < 2; i++) all[2 + i] = headers[i];
    return fetch(f, &(ClientRequest){ .method = STR("POST"), .url = url, .headers = all, .n_headers = 2 + n, .body = body, .has_body = true }, out, err);
}

bool oauth_json_flag(Value json, const char *key) {
    Value v = value_member(json, key);
    return value_is_bool(v) && value_bool(v);
}

bool oauth_json_has(Value json, const char *key) { return !value_is_gone(value_member(json, key)); }

bool oauth_json_lists(Value json, const char *key, Str word) {
    Value v = value_member(json, key);
    for (uint32_t i = 0; value_is_list(v) && i < value_list(v)->n; i++)
        if (value_is_string(value_list(v)->at[i]) && str_eq(value_str(value_list(v)->at[i]), word)) return true;
    return false;
}
