/* Step 10: secrets come out, and what is too large for a model becomes an artifact. */
#include "tool/pipe.h"
#include "value/json.h"
#include "value/list.h"

/* ---- redaction ---- */

enum { REDACT_DEPTH = JSON_DEPTH_MAX + 1 };

static bool redact_string(Pipe *p, Value v, Value *out, Error *err) {
    Str s = value_str(v);
    bool hit = (!redact_empty(p->f.runtime->redactor) && redact_would(p->f.runtime->redactor, s)) ||
               (p->f.entry->redact && redact_would(p->f.entry->redact, s));
    if (!hit) return *out = v, true;
    Buf text = { 0 };
    buf_add(&text, s);
    pipe_redact_text(p, &text);
    String *clean = string_new(p->f.heap, buf_str(&text), err);
    buf_clear(&text);
    if (!clean) return false;
    *out = value_from_object(clean);
    return true;
}

static bool redact_below(Pipe *p, Value v, int depth, Value *out, Error *err);

static bool redact_list(Pipe *p, const Value *at, uint32_t n, int depth, Value *out, Error *err) {
    List *l = list_new(p->f.heap, n, err);
    for (uint32_t i = 0; l && i < n; i++) {
        Value item;
        if (!redact_below(p, at[i], depth + 1, &item, err) || !list_push(p->f.heap, l, item, err)) return false;
    }
    if (l) *out = value_from_object(l);
    return l != NULL;
}

static bool redact_dict(Pipe *p, const Dict *d, int depth, Value *out, Error *err) {
    Dict *clean = dict_new(p->f.heap, d->n, err);
    Entry *e;
    for (uint32_t i = 0; clean && dict_next(d, &i, &e);) {
        Value key, value;
        if (!redact_below(p, e->key, depth + 1, &key, err) || !redact_below(p, e->value, depth + 1, &value, err) ||
            !dict_put(p->f.heap, clean, key, value, err))
            return false;
    }
    if (clean) *out = value_from_object(clean);
    return clean != NULL;
}

static bool redact_below(Pipe *p, Value v, int depth, Value *out, Error *err) {
    if (depth > REDACT_DEPTH) return error_set(err, ERR_LIMIT, "nested too deeply");
    if (value_is_string(v)) return redact_string(p, v, out, err);
    if (value_is_list(v)) return redact_list(p, value_list(v)->at, value_list(v)->n, depth, out, err);
    if (value_is_tuple(v)) return redact_list(p, value_tuple(v)->at, value_tuple(v)->n, depth, out, err);
    if (value_is_dict(v)) return redact_dict(p, value_dict(v), depth, out, err);
    return *out = v, true;
}

bool pipe_redact_value(Pipe *p, Value v, Value *out, Error *err) { return redact_below(p, v, 0, out, err); }

static bool secrets_in(Pipe *p, Str text) {
    return (!redact_empty(p->f.runtime->redactor) && redact_would(p->f.runtime->redactor, text)) ||
           (p->f.entry && p->f.entry->redact && redact_would(p->f.entry->redact, text));
}

/* ---- text ---- */

static bool write_text(Pipe *p, Error *err) {
    buf_reset(&p->text);
    if (value_is_string(p->out->value)) return buf_add(&p->text, value_str(p->out->value)), true;
    return json_write(&p->text, p->out->value, &(JsonWrite){ 0 }, err);
}

/* A secret that is still there after every string was looked at (spread over parts, or a number) costs the value its shape. */
static bool take_out_secrets(Pipe *p, Error *err) {
    Result *r = p->out;
    if (!secrets_in(p, buf_str(&p->text))) return true;
    if (!pipe_redact_value(p, r->value, &r->value, err) || !write_text(p, err)) return false;
    if (!value_is_gone(r->content) && !pipe_redact_value(p, r->content, &r->content, err)) return false;
    if (!secrets_in(p, buf_str(&p->text))) return true;
    pipe_redact_text(p, &p->text);
    String *s = string_new(p->f.heap, buf_str(&p->text), err);
    if (s) r->value = value_from_object(s), r->content = VALUE_GONE;
    return s != NULL;
}

/* The text of an error or a value with typed blocks is what stands in its text blocks. */
static void text_of_content(Pipe *p) {
    const List *l = value_is_list(p->out->content) ? value_list(p->out->content) : NULL;
    if (!l) return;
    buf_reset(&p->text);
    for (uint32_t i = 0; i < l->n; i++) {
        Value *text = value_is_dict(l->at[i]) ? dict_find_str(value_dict(l->at[i]), STR("text")) : NULL;
        Value *type = value_is_dict(l->at[i]) ? dict_find_str(value_dict(l->at[i]), STR("type")) : NULL;
        if (p->text.n) buf_add_char(&p->text, '\n');
        if (text && value_is_string(*text)) buf_add(&p->text, value_str(*text));
        else if (type && value_is_string(*type)) buf_add_fmt(&p->text, "[" STR_FMT "]", STR_ARG(value_str(*type)));
    }
}

/* ---- size ---- */

static size_t char_start(Str s, size_t at) {
    while (at > 0 && at < s.n && ((unsigned char)s.at[at] & 0xc0) == 0x80) at--;
    return at;
}

/* Half of the room for the head, half for the tail, both at character boundaries. */
static void cut(Pipe *p, Str key, const char *why) {
    size_t limit = (size_t)p->f.runtime->limits.model_result_bytes;
    Str all = buf_str(&p->text);
    size_t head = char_start(all, limit / 2), tail = char_start(all, all.n - limit / 4);
    Buf out = { 0 };
    buf_add(&out, str_sub(all, 0, head));
    buf_add_fmt(&out, "\n… %zu of %zu bytes left out", tail - head, all.n);
    if (key.n) buf_add_fmt(&out, "; the whole result is artifact " STR_FMT " (artifact_read)", STR_ARG(key));
    else buf_add_fmt(&out, "; %s", why);
    buf_add(&out, STR(" …\n"));
    buf_add(&out, str_sub(all, tail, all.n));
    buf_reset(&p->text);
    buf_add(&p->text, buf_str(&out));
    buf_clear(&out);
}

static bool store_large(Pipe *p) {
    const Limits *l = &p->f.runtime->limits;
    Result *r = p->out;
    if (p->text.n <= (size_t)l->model_result_bytes) return true;
    if (p->text.n > (size_t)l->artifact_bytes) {
        cut(p, (Str){ 0 }, "it is over limits.artifact_bytes and was not kept");
        return true;
    }
    Buf key = { 0 };
    Error err = { 0 };
    bool ok = run_artifact_put(p->f.run, r->name, value_is_string(r->value) ? STR("text/plain") : STR("application/json"), buf_str(&p->text), &key, &err);
    if (ok) r->artifact = arena_str(&p->arena, buf_str(&key));
    buf_clear(&key);
    if (!ok) return pipe_broken(p, &err);
    cut(p, r->artifact, "");
    return true;
}

bool pipe_bound(Pipe *p) {
    Error err = { 0 };
    heap_set_limit(p->f.heap, 0);
    if (!write_text(p, &err) || !take_out_secrets(p, &err)) {
        p->out->step = STR("bound");
        p->out->cls = RESULT_REPAIRABLE;
        pipe_set_error(p, str_from(err.msg));
        if (!write_text(p, &err)) return pipe_broken(p, &err);
    }
    if (!value_is_gone(p->out->content)) text_of_content(p);
    if (p->out->error.n && secrets_in(p, p->out->error)) {
        buf_reset(&p->data);
        buf_add(&p->data, p->out->error);
        pipe_redact_text(p, &p->data);
        p->out->error = arena_str(&p->arena, buf_str(&p->data));
    }
    if (!store_large(p)) return false;
    p->out->text = buf_str(&p->text);
    pipe_trace(p, "bound", "%zu bytes%s" STR_FMT, p->text.n, p->out->artifact.n ? ", artifact " : "", STR_ARG(p->out->artifact));
    return true;
}
