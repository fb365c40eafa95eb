/* Headers that repeat parts of the body of a stateless request, for routers that do not read bodies. */
#include "mcp/host/http_private.h"
#include <stdlib.h>
#include <strings.h>
#include "base/base64.h"
#include "value/int.h"

enum { QUOTED = 80, DEPTH_MAX = 16 };

static bool mismatch(int *code, Error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static bool mismatch(int *code, Error *err, const char *fmt, ...) {
    va_list ap;
    *code = MCP_HEADER_MISMATCH;
    va_start(ap, fmt);
    error_set_v(err, ERR_PROTOCOL, fmt, ap);
    va_end(ap);
    return false;
}

/* Visible characters, spaces and tabs; decodes =?base64?…?=. Appends to `out`. */
static bool decode(Str value, Buf *out) {
    Str prefix = STR("=?base64?"), suffix = STR("?=");
    for (size_t i = 0; i < value.n; i++)
        if ((value.at[i] < 0x20 && value.at[i] != '\t') || value.at[i] > 0x7e) return false;
    if (value.n < prefix.n + suffix.n || !str_starts(value, prefix) || !str_ends(value, suffix)) return buf_add(out, value), true;
    Str coded = str_sub(value, prefix.n, value.n - suffix.n);
    return coded.n % 4 == 0 && base64_decode(coded, out, NULL);          /* padding is required here */
}

/* The only header of that name, decoded; false: none, several, or undecodable. */
static bool header_value(const HttpServerRequest *q, Str name, Buf *out, int *code, Error *err) {
    size_t n = http_server_count_header(q, name);
    if (n != 1) return mismatch(code, err, "the header " STR_FMT " is %s", STR_ARG(name), n ? "present more than once" : "missing");
    return decode(http_server_header(q, name), out) || mismatch(code, err, "the header " STR_FMT " cannot be decoded", STR_ARG(name));
}

static bool check_text(const HttpServerRequest *q, Str name, Str body, int *code, Error *err) {
    Buf value = { 0 };
    bool ok = header_value(q, name, &value, code, err);
    if (ok && !str_eq(buf_str(&value), body))
        ok = mismatch(code, err, "the header " STR_FMT " says \"%.*s\", the body \"%.*s\"", STR_ARG(name),
                      (int)(value.n < QUOTED ? value.n : QUOTED), buf_str(&value).at, (int)(body.n < QUOTED ? body.n : QUOTED), body.at);
    buf_clear(&value);
    return ok;
}

/* ---- tool parameters as headers (x-mcp-header) ---- */

static bool is_true(Str s) { return str_eq(s, STR("true")); }

static bool same_value(Value v, Str text) {
    if (value_is_string(v)) return str_eq(value_str(v), text);
    if (value_is_bool(v)) return value_bool(v) ? is_true(text) : str_eq(text, STR("false"));
    char number[64], *end;
    if (text.n == 0 || text.n >= sizeof number) return false;
    memcpy(number, text.at, text.n);
    number[text.n] = 0;
    double got = strtod(number, &end);
    if (*end || strspn(number, "+-.0123456789eE") != text.n) return false;
    return value_is_int(v) ? int_compare_double(v, got) == 0 : value_is_float(v) && value_float(v) == got;
}

static bool check_param(const HttpServerRequest *q, Str header, Value v, int *code, Error *err) {
    Buf name = { 0 }, text = { 0 };
    buf_add(&name, STR("Mcp-Param-"));
    buf_add(&name, header);
    bool absent = value_is_gone(v) || value_is_none(v), there = http_server_has_header(q, buf_str(&name)), ok = !absent || !there;
    if (!ok) mismatch(code, err, "the header %s has no value in the arguments", name.at);
    if (!absent) {
        ok = header_value(q, buf_str(&name), &text, code, err);
        if (ok && !same_value(v, buf_str(&text))) ok = mismatch(code, err, "the header %s does not match the arguments", name.at);
    }
    buf_clear(&name);
    buf_clear(&text);
    return ok;
}

static bool check_properties(const HttpServerRequest *q, Value schema, Value arguments, int depth, int *code, Error *err) {
    Value properties = value_member(schema, "properties");
    if (!value_is_dict(properties) || depth == DEPTH_MAX) return true;
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(properties), &i, &e);) {
        if (!value_is_string(e->key)) continue;
        Value *at = value_is_dict(arguments) ? dict_find_str(value_dict(arguments), value_str(e->key)) : NULL;
        Value v = at ? *at : VALUE_GONE, header = value_member(e->value, "x-mcp-header");
        if (value_is_string(header) && !check_param(q, value_str(header), v, code, err)) return false;
        if (!check_properties(q, e->value, v, depth + 1, code, err)) return false;
    }
    return true;
}

static bool check_params(Http *h, const HttpServerRequest *q, Str tool, Value arguments, int *code, Error *err) {
    ServeProject *project = serve_project(h->server);
    const ToolEntry *entry = registry_find(runtime_registry(project->rt), tool, NULL, 0);
    bool ok = !entry || check_properties(q, entry->def.parameters, arguments, 0, code, err);
    serve_project_release(h->server, project);
    return ok;
}

/* ---- public ---- */

static const struct { const char *method, *param; } named[] = {
    { "tools/call", "name" }, { "prompts/get", "name" }, { "resources/read", "uri" },
    { "tasks/get", "taskId" }, { "tasks/update", "taskId" }, { "tasks/cancel", "taskId" },
};

bool http_check_headers(Http *h, const HttpServerRequest *q, const RpcMessage *m, int *code, Error *err) {
    if (m->kind == RPC_NOTIFICATION && !http_server_has_header(q, STR("Mcp-Method"))) return true;
    if (!check_text(q, STR("Mcp-Method"), m->method, code, err)) return false;
    if (m->kind == RPC_NOTIFICATION) return true;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (!str_eq(m->method, str_from(named[i].method))) continue;
        Value name = value_member(m->params, named[i].param);
        if (!value_is_string(name)) return true;       /* the method reports it */
        if (!check_text(q, STR("Mcp-Name"), value_str(name), code, err)) return false;
        return i > 0 || check_params(h, q, value_str(name), value_member(m->params, "arguments"), code, err);
    }
    return true;
}

/* True if `type` is in the Accept header. No header at all accepts everything; ranges are understood. */
bool http_accepts(const HttpServerRequest *q, Str type) {
    Str rest = http_server_header(q, STR("Accept"));
    if (!http_server_has_header(q, STR("Accept"))) return true;
    ptrdiff_t slash = str_find_char(type, '/');
    while (rest.n) {
        ptrdiff_t comma = str_find_char(rest, ',');
        Str one = str_sub(rest, 0, comma < 0 ? rest.n : (size_t)comma);
        rest = comma < 0 ? STR("") : str_sub(rest, (size_t)comma + 1, rest.n);
        ptrdiff_t parameters = str_find_char(one, ';');
        one = str_trim(parameters < 0 ? one : str_sub(one, 0, (size_t)parameters));
        if (str_eq(one, STR("*/*")) || (one.n == type.n && strncasecmp(one.at, type.at, type.n) == 0)) return true;
        if (one.n == (size_t)slash + 2 && strncasecmp(one.at, type.at, (size_t)slash + 1) == 0 && one.at[slash + 1] == '*') return true;
    }
    return false;
}
