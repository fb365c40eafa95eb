#include "doors/console_private.h"
#include "base/number.h"
#include "value/int.h"

static const HttpServerHeader json_type = { STR("Content-Type"), STR("application/json") };

void console_reply(ConsoleCall *c, int status, Buf *json_take) {
    const ConsoleConfig *config = c->console->config;
    if (config->hide) config->hide(config->ctx, json_take);
    http_server_answer(c->q, status, &json_type, 1, json_take);
}

/* ---- errors ---- */

static void add_or_null(Buf *out, const char *key, const char *text) {
    buf_add_fmt(out, ",\"%s\":", key);
    if (text[0]) json_write_string(out, str_from(text), false);
    else buf_add(out, STR("null"));
}

static void add_number(Buf *out, const char *key, uint32_t n) {
    buf_add_fmt(out, ",\"%s\":", key);
    if (n) buf_add_fmt(out, "%u", n);
    else buf_add(out, STR("null"));
}

void console_error_json(Buf *out, const Error *err) {
    buf_add_fmt(out, "{\"kind\":\"%s\",\"message\":", error_kind_name(err->kind));
    json_write_string(out, str_from(err->msg), false);
    add_or_null(out, "file", err->file);
    add_number(out, "line", err->line);
    add_number(out, "column", err->column);
    add_or_null(out, "hint", err->hint);
    buf_add_char(out, '}');
}

static void fail(HttpServerRequest *q, int status, const Error *err, const HttpServerHeader *more) {
    Buf body = { 0 };
    HttpServerHeader headers[2] = { json_type };
    if (more) headers[1] = *more;
    buf_add(&body, STR("{\"error\":"));
    console_error_json(&body, err);
    buf_add_char(&body, '}');
    http_server_answer(q, status, headers, more ? 2 : 1, &body);
}

static int status_of(const Error *err) {
    switch (err->kind) {
    case ERR_VALIDATION: return strncmp(err->msg, "no such ", 8) == 0 || strncmp(err->msg, "there is no ", 12) == 0 ? 404 : 400;
    case ERR_PARSE: return 400;
    case ERR_POLICY: return 403;
    case ERR_LIMIT: return 503;
    case ERR_TIMEOUT: return 504;
    default: return 500;
    }
}

void console_fail_with(ConsoleCall *c, int status, const Error *err) { fail(c->q, status, err, NULL); }
void console_fail(ConsoleCall *c, const Error *err) { fail(c->q, status_of(err), err, NULL); }

void console_fail_text(HttpServerRequest *q, int status, ErrorKind kind, const char *message, const char *hint, const HttpServerHeader *more) {
    Error err = { 0 };
    error_set(&err, kind, "%s", message);
    if (hint) error_hint(&err, "%s", hint);
    fail(q, status, &err, more);
}

/* ---- requests ---- */

bool console_read_body(ConsoleCall *c, Error *err) {
    JsonRead options = { .reject_duplicates = true, .max_depth = 100 };
    if (!json_read(c->heap, http_server_body(c->q), &options, &c->body, err)) return error_wrap(err, "the body of the request");
    return value_is_dict(c->body) || error_set(err, ERR_VALIDATION, "the body of the request is not a JSON object");
}

bool console_body_text(ConsoleCall *c, const char *key, size_t max, Str *out, Error *err) {
    Value v = value_member(c->body, key);
    *out = (Str){ 0 };
    if (value_is_gone(v) || value_is_none(v)) return true;
    if (!value_is_string(v)) return error_set(err, ERR_VALIDATION, "\"%s\" is not a string", key);
    *out = value_str(v);
    if (out->n > max) return error_set(err, ERR_VALIDATION, "\"%s\" is longer than %zu bytes", key, max);
    return memchr(out->at, 0, out->n) == NULL || error_set(err, ERR_VALIDATION, "\"%s\" has a NUL character", key);
}

bool console_body_int(ConsoleCall *c, const char *key, int64_t min, int64_t max, int64_t *out, Error *err) {
    Value v = value_member(c->body, key);
    int64_t n;
    if (value_is_gone(v) || value_is_none(v)) return true;
    if (!value_is_int(v) || !int_to_i64(v, &n) || n < min || n > max)
        return error_set(err, ERR_VALIDATION, "\"%s\" is not a whole number from %lld to %lld", key, (long long)min, (long long)max);
    return *out = n, true;
}

bool console_body_known(ConsoleCall *c, const char *const *known, Error *err) {
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(c->body), &i, &e);) {
        size_t k = 0;
        while (known[k] && !str_eq(value_str(e->key), str_from(known[k]))) k++;
        Str key = str_sub(value_str(e->key), 0, 64);
        if (!known[k]) return error_set(err, ERR_VALIDATION, "the body has an unknown member \"" STR_FMT "\"", STR_ARG(key));
    }
    return true;
}

bool console_query_int(ConsoleCall *c, const char *name, int64_t min, int64_t max, int64_t *out, Error *err) {
    Str text = http_server_query(c->q, str_from(name));
    int64_t n = 0;
    bool ok = text.n > 0 && text.n <= 18;
    if (!http_server_has_query(c->q, str_from(name))) return true;
    for (size_t i = 0; ok && i < text.n; i++) {
        ok = text.at[i] >= '0' && text.at[i] <= '9';
        n = n * 10 + (text.at[i] - '0');
    }
    if (!ok || n < min || n > max) return error_set(err, ERR_VALIDATION, "%s is not a whole number from %lld to %lld", name, (long long)min, (long long)max);
    return *out = n, true;
}

void console_add_member(Buf *out, const char *key, Str text) {
    buf_add_fmt(out, ",\"%s\":", key);
    json_write_string(out, text, false);
}
