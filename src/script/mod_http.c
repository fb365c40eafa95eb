/* The module http: requests to the hosts that network.allowed_domains permits. */
#include <strings.h>
#include "base/vec.h"
#include "script/script.h"
#include "starlark/library/lib_json.h"

static NativeFn http_get, http_post, http_request;
#define HEADERS { "headers", NATIVE_DICT | NATIVE_NONE_IS_ABSENT }
#define TIMEOUT { "timeout_seconds", NATIVE_INT | NATIVE_FLOAT | NATIVE_NONE_IS_ABSENT }
static const NativeParam get_params[] = { { "url", NATIVE_STRING }, HEADERS, TIMEOUT };
static const NativeParam post_params[] = { { "url", NATIVE_STRING }, { "body", NATIVE_ANY }, HEADERS, TIMEOUT };
static const NativeParam request_params[] = { { "method", NATIVE_STRING }, { "url", NATIVE_STRING }, { "body", NATIVE_ANY }, HEADERS, TIMEOUT };

const NativeDef script_http[] = {
    { "http.get", http_get, SCRIPT_PARAMS(get_params), 1, SCRIPT_FN,
      "{status, headers, body}; header names are in lower case. A status of 400 or more is not an error. timeout_seconds defaults to 30." },
    { "http.post", http_post, SCRIPT_PARAMS(post_params), 1, SCRIPT_FN, "The same with POST; a body that is neither string nor bytes is sent as JSON." },
    { "http.request", http_request, SCRIPT_PARAMS(request_params), 2, SCRIPT_FN, "The same with any method." },
};
const size_t script_http_n = sizeof script_http / sizeof *script_http;

enum { REDIRECTS_MAX = 10, HEADERS_MAX = 200, TIMEOUT_DEFAULT_MS = 30000 };

/* Index of each argument among the function's parameters; -1: not a parameter. */
typedef struct { int method, url, body, headers, timeout; } Order;
typedef struct { Vm *vm; const NativeArgs *a; Order at; VEC(ClientHeader) headers; Buf json; ClientRequest request; } Call;

static bool given(const Call *c, int i) { return i >= 0 && native_given(c->a, (uint32_t)i) && !value_is_none(c->a->at[i]); }
static Value arg(const Call *c, int i) { return c->a->at[i]; }

static bool take_headers(Call *c, Error *err) {
    Entry *e;
    if (!given(c, c->at.headers)) return true;
    if (value_dict(arg(c, c->at.headers))->n > HEADERS_MAX) return error_set(err, ERR_LIMIT, "too many headers (limit %d)", HEADERS_MAX);
    for (uint32_t i = 0; dict_next(value_dict(arg(c, c->at.headers)), &i, &e);) {
        if (!value_is_string(e->key) || !value_is_string(e->value))
            return error_set(err, ERR_SCRIPT, "for parameter headers: names and values must be strings");
        VEC_PUSH(&c->headers, (ClientHeader){ value_str(e->key), value_str(e->value) });
    }
    return true;
}

static bool has_header(const Call *c, Str name) {
    for (size_t i = 0; i < c->headers.n; i++)
        if (c->headers.at[i].name.n == name.n && strncasecmp(c->headers.at[i].name.at, name.at, name.n) == 0) return true;
    return false;
}

static bool take_body(Call *c, Error *err) {
    if (!given(c, c->at.body)) return true;
    Value body = arg(c, c->at.body);
    c->request.has_body = true;
    if (value_is_string(body) || value_is_bytes(body)) return c->request.body = value_str(body), true;
    if (!lib_json_write(c->vm, &c->json, body, err)) return error_wrap(err, "for parameter body");
    c->request.body = buf_str(&c->json);
    if (!has_header(c, STR("content-type"))) VEC_PUSH(&c->headers, (ClientHeader){ STR("content-type"), STR("application/json") });
    return true;
}

static bool prepare(Call *c, Error *err) {
    int64_t ns = (int64_t)TIMEOUT_DEFAULT_MS * 1000000;
    if (!script_arg_seconds(c->a, (uint32_t)c->at.timeout, 1e6, &ns, err) || !take_headers(c, err) || !take_body(c, err)) return false;
    if (ns == 0) return error_set(err, ERR_SCRIPT, "for parameter timeout_seconds: must be more than 0");
    c->request.method = c->at.method >= 0 ? value_str(arg(c, c->at.method)) : c->at.body >= 0 ? STR("POST") : STR("GET");
    c->request.url = value_str(arg(c, c->at.url));
    c->request.headers = c->headers.at;
    c->request.n_headers = c->headers.n;
    c->request.max_redirects = REDIRECTS_MAX;
    c->request.timeout_ms = (ns + 999999) / 1000000;
    return true;
}

static bool response_value(Vm *vm, const ClientResponse *r, Value *out, Error *err) {
    ScriptDict d = script_dict(vm, err), headers = script_dict(vm, err);
    Value v;
    for (size_t i = 0; headers.ok && i < r->n_headers; i++) {
        Value name;
        headers.ok = script_clean(vm, r->headers[i].name, &name, err) && script_clean(vm, r->headers[i].value, &v, err) &&
                     dict_put(vm_heap(vm), headers.dict, name, v, err);
    }
    script_dict_int(&d, "status", r->status);
    if (!script_dict_end(&headers, &v)) return false;
    script_dict_put(&d, "headers", v);
    script_dict_clean(&d, "body", buf_str(&r->body));
    return script_dict_end(&d, out);
}

/* Without a list in the project, any public host is allowed. A client without rules would allow all hosts. */
static bool exchange(Call *c, const Host *h, ClientResponse *r, Error *err) {
    Rules *public = NULL;
    if (!h->net && !rule_list_new(NULL, 0, &public, err)) return false;
    c->request.rules = h->net ? h->net : public;
    bool ok = client_send(h->client, &c->request, vm_cancel(c->vm), r, err);
    rule_list_free(public);
    return ok;
}

static bool call(Vm *vm, const NativeArgs *a, Order at, Value *out, Error *err) {
    const Host *h = script_host(vm);
    if (!h || !h->client) return error_set(err, ERR_SCRIPT, "not available %s", h && h->judging ? "in a simulation" : "here");
    Call c = { .vm = vm, .a = a, .at = at };
    ClientResponse r = { 0 };
    bool ok = prepare(&c, err) && exchange(&c, h, &r, err) && response_value(vm, &r, out, err);
    client_response_clear(&r);
    VEC_CLEAR(&c.headers);
    buf_clear(&c.json);
    return ok;
}

static bool http_get(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return call(vm, a, (Order){ -1, 0, -1, 1, 2 }, out, err); }
static bool http_post(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return call(vm, a, (Order){ -1, 0, 1, 2, 3 }, out, err); }
static bool http_request(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return call(vm, a, (Order){ 0, 1, 2, 3, 4 }, out, err); }
