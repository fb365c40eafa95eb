/* Step 10: redacts secrets, and stores a result that is too large for a model as an artifact. */
#include "script/content.h"
#include "script/parts.h"
#include "tool/pipeline/pipe.h"
#include "value/json.h"
#include "value/list.h"

/* ---- redaction ---- */

static bool redact_both(Pipe *p, Buf *json) {
    bool any = !redact_empty(p->f.runtime->redactor) && redact_json(p->f.runtime->redactor, json);
    return (p->f.entry && p->f.entry->redact && redact_json(p->f.entry->redact, json)) || any;
}

bool pipe_redact_value(Pipe *p, Value v, Value *out, Error *err) {
    Buf text = { 0 };
    *out = v;
    bool ok = json_write(&text, v, &(JsonWrite){ 0 }, err);
    if (ok && redact_both(p, &text)) ok = json_read(p->f.heap, buf_str(&text), &(JsonRead){ 0 }, out, err);
    buf_clear(&text);
    return ok;
}

/* Content blocks keep their mark: each is a separate dict. */
static bool redact_content(Pipe *p, Error *err) {
    Value clean;
    if (value_is_gone(p->out->content)) return true;
    if (!pipe_redact_value(p, p->out->content, &clean, err)) return false;
    for (uint32_t i = 0; value_is_list(clean) && i < value_list(clean)->n; i++)
        if (value_is_dict(value_list(clean)->at[i])) content_mark(value_dict(value_list(clean)->at[i]));
    p->out->content = clean;
    return true;
}

static bool secrets_in(Pipe *p, Str text) {
    return (!redact_empty(p->f.runtime->redactor) && redact_would(p->f.runtime->redactor, text)) ||
           (p->f.entry && p->f.entry->redact && redact_would(p->f.entry->redact, text));
}

/* ---- text ---- */

static bool write_text(Pipe *p, Error *err) {
    if (!value_is_gone(p->text_of) && value_same(p->text_of, p->out->value)) return true;
    buf_reset(&p->kept.text);
    if (value_is_string(p->out->value)) return buf_add(&p->kept.text, value_str(p->out->value)), true;
    return json_write(&p->kept.text, p->out->value, &(JsonWrite){ 0 }, err);
}

static bool take_out_secrets(Pipe *p, Error *err) {
    Result *r = p->out;
    if (redact_empty(p->f.runtime->redactor) && !p->f.entry) return true;
    if (redact_empty(p->f.runtime->redactor) && !p->f.entry->redact) return true;
    Value clean;
    if (!pipe_redact_value(p, r->value, &clean, err) || !redact_content(p, err)) return false;
    if (value_same(clean, r->value)) return true;
    r->value = clean;
    return write_text(p, err);
}

/* The text of an error or a value with typed blocks is that of its text blocks. */
static void text_of_content(Pipe *p) {
    const List *l = value_is_list(p->out->content) ? value_list(p->out->content) : NULL;
    if (!l) return;
    buf_reset(&p->kept.text);
    for (uint32_t i = 0; i < l->n; i++) {
        Value *text = value_is_dict(l->at[i]) ? dict_find_str(value_dict(l->at[i]), STR("text")) : NULL;
        Value *type = value_is_dict(l->at[i]) ? dict_find_str(value_dict(l->at[i]), STR("type")) : NULL;
        if (p->kept.text.n) buf_add_char(&p->kept.text, '\n');
        Error why = { 0 };
        if (text && value_is_string(*text)) buf_add(&p->kept.text, value_str(*text));
        else if (parts_block_refused(l->at[i], &why)) buf_add_fmt(&p->kept.text, "[" STR_FMT " that models do not get: %s]",
            STR_ARG(value_member_text(l->at[i], "type")), why.msg);
        else if (type && value_is_string(*type)) buf_add_fmt(&p->kept.text, "[" STR_FMT "]", STR_ARG(value_str(*type)));
    }
}

/* ---- size ---- */

static size_t char_start(Str s, size_t at) {
    while (at > 0 && at < s.n && ((unsigned char)s.at[at] & 0xc0) == 0x80) at--;
    return at;
}

/* Keeps the head (half of the limit) and the tail (a quarter), cut at character boundaries; the last quarter is room
 * for the line between them. */
static void cut(Pipe *p, Str key, const char *why) {
    size_t limit = (size_t)p->f.runtime->limits.model_result_bytes;
    Str all = buf_str(&p->kept.text);
    p->cut = true;
    size_t head = char_start(all, limit / 2), tail = char_start(all, all.n - limit / 4);
    Buf out = { 0 };
    buf_add(&out, str_sub(all, 0, head));
    buf_add_fmt(&out, "\n… %zu of %zu bytes left out", tail - head, all.n);
    if (key.n) buf_add_fmt(&out, "; the whole result is artifact " STR_FMT " (artifact_read)", STR_ARG(key));
    else buf_add_fmt(&out, "; %s", why);
    buf_add(&out, STR(" …\n"));
    buf_add(&out, str_sub(all, tail, all.n));
    buf_reset(&p->kept.text);
    buf_add(&p->kept.text, buf_str(&out));
    buf_clear(&out);
}

static bool store_large(Pipe *p) {
    const Limits *l = &p->f.runtime->limits;
    Result *r = p->out;
    if (p->kept.text.n <= (size_t)l->model_result_bytes) return true;
    if (p->kept.text.n > (size_t)l->artifact_bytes) {
        cut(p, (Str){ 0 }, "it exceeds limits.artifact_bytes and was not stored");
        return true;
    }
    Buf key = { 0 };
    Error err = { 0 };
    bool ok = run_artifact_put(p->f.run, r->name, value_is_string(r->value) ? STR("text/plain") : STR("application/json"), buf_str(&p->kept.text), &key, &err);
    if (ok) r->artifact = arena_str(&p->kept.arena, buf_str(&key));
    buf_clear(&key);
    if (!ok) return pipe_broken(p, &err);
    cut(p, r->artifact, "");
    return true;
}

/* Runs before the event of the result is written, because that names them. */
static bool keep_media(Pipe *p) {
    Error err = { 0 };
    List *media = NULL;
    if (!p->f.call->media || value_is_gone(p->out->content)) return true;
    Heap *heap = heap_new(0);
    Buf text = { 0 };
    bool ok = parts_from_blocks(heap, p->out->content, &media, &err) && (!media || run_media_put(p->f.run, media, &err));
    if (ok && media) {
        parts_write_media(&text, media);
        p->out->media = arena_str(&p->kept.arena, buf_str(&text));
    }
    buf_clear(&text);
    heap_free(heap);
    return ok || pipe_broken(p, &err);
}

bool pipe_bound(Pipe *p) {
    MEM_UNSET Error err;
    error_none(&err);
    heap_set_limit(p->f.heap, 0);
    if (!write_text(p, &err) || !take_out_secrets(p, &err)) {
        pipe_fail(p, STEP_BOUND, (Str){ 0 }, RESULT_REPAIRABLE, str_from(err.msg));
        if (!write_text(p, &err)) return pipe_broken(p, &err);
    }
    if (!value_is_gone(p->out->content)) text_of_content(p);
    if (p->out->error.n && secrets_in(p, p->out->error)) {
        buf_reset(&p->kept.data);
        buf_add(&p->kept.data, p->out->error);
        pipe_redact_text(p, &p->kept.data);
        p->out->error = arena_str(&p->kept.arena, buf_str(&p->kept.data));
    }
    if (!store_large(p) || !keep_media(p)) return false;
    if (p->given.n && p->started) buf_add_fmt(&p->kept.text, "\n[the user changed the arguments of this call to " STR_FMT "]", STR_ARG(p->given));
    p->out->text = buf_str(&p->kept.text);
    pipe_trace(p, STEP_BOUND, "%zu bytes%s" STR_FMT, p->kept.text.n, p->out->artifact.n ? ", artifact " : "", STR_ARG(p->out->artifact));
    return true;
}
