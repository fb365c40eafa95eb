/* Steps 2 and 3: parses and validates the arguments. */
#include "tool/pipeline/pipe.h"
#include "value/json.h"
#include "value/list.h"

/* ---- parse ---- */

/* The text around a parse error, for the message: one line of at most 40 bytes. */
static Str place_of(Str text, const Error *err) {
    size_t at = 0;
    for (uint32_t line = 1; line < err->line && at < text.n; at++)
        if (text.at[at] == '\n') line++;
    at += err->column > 0 ? err->column - 1 : 0;
    if (at > text.n) at = text.n;
    Str rest = str_sub(text, at, at + 40);
    ptrdiff_t end = str_find_char(rest, '\n');
    return end < 0 ? rest : str_sub(rest, 0, (size_t)end);
}

static bool refuse_text(Pipe *p, const Error *err) {
    Str near = place_of(p->f.raw, err);
    buf_reset(&p->kept.data);
    buf_add_fmt(&p->kept.data, "arguments: %s", err->msg);
    if (err->column && near.n) {
        buf_add_fmt(&p->kept.data, " (column %u, at ", err->column);
        json_write_string(&p->kept.data, near, false);
        buf_add_char(&p->kept.data, ')');
    }
    return pipe_refuse(p, STEP_PARSE, STR("invalid_json"), REPAIR_ARGUMENTS, "%s", p->kept.data.at);
}

/* True if the schema has no parameters. A schema with other keywords may have some. */
static bool takes_nothing(const ToolDef *def) {
    static const char *const plain[] = { "type", "properties", "required", "additionalProperties", "title", "description", "$schema" };
    Value properties = value_member(def->parameters, "properties"), others = value_member(def->parameters, "additionalProperties");
    if (!value_is_dict(def->parameters)) return true;
    if ((value_is_dict(properties) && value_dict(properties)->n) || value_is_dict(others)) return false;
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(def->parameters), &i, &e);) {
        size_t k = 0;
        while (k < sizeof plain / sizeof *plain && !str_eq(value_str(e->key), str_from(plain[k]))) k++;
        if (k == sizeof plain / sizeof *plain) return false;
    }
    return true;
}

bool pipe_parse(Pipe *p) {
    const Call *call = p->f.call;
    MEM_UNSET Error err;
    error_none(&err);
    p->f.raw = p->given.n ? p->given : call->arguments.n ? call->arguments : STR("{}");
    p->args_changed = false;
    if (!p->given.n && call->arguments.n == 0 && value_is_gone(call->args) && !takes_nothing(&p->f.entry->def)) {
        p->f.args = VALUE_GONE;
        return pipe_refuse(p, STEP_PARSE, STR("invalid_json"), REPAIR_ARGUMENTS,
                           "arguments: expected a JSON object, got empty text (send {} for none)");
    }
    bool read = !p->given.n && !value_is_gone(call->args) ? value_copy_json_into(p->f.heap, call->args, &p->f.args, &err)
                                           : json_read(p->f.heap, p->f.raw, &(JsonRead){ .reject_duplicates = true, .cancel = p->f.cancel }, &p->f.args, &err);
    if (!read) {
        p->f.args = VALUE_GONE;
        bool stopped = err.kind == ERR_CANCELLED || err.kind == ERR_TIMEOUT;      /* the model cannot repair this */
        return stopped ? pipe_refuse(p, STEP_LIMITS, str_from(error_kind_name(err.kind)), REPAIR_NEVER, "%s", err.msg) : refuse_text(p, &err);
    }
    if (!value_is_dict(p->f.args)) {
        const char *type = field_type_name(p->f.args);
        p->f.args = VALUE_GONE;
        return pipe_refuse(p, STEP_PARSE, STR("invalid_arguments"), REPAIR_ARGUMENTS,
                           "arguments: expected object, got %s", type);
    }
    pipe_trace(p, STEP_PARSE, "%zu bytes", p->f.raw.n);
    return true;
}

/* ---- validate ---- */

/* Inserts missing defaults. Copies each default, because a script may modify its arguments. */
static bool fill(Heap *h, Value schema, Value args, bool *changed, Error *err) {
    Value *properties = value_is_dict(schema) ? dict_find_str(value_dict(schema), STR("properties")) : NULL;
    Entry *e;
    if (!properties || !value_is_dict(*properties) || !value_is_dict(args)) return true;
    for (uint32_t i = 0; dict_next(value_dict(*properties), &i, &e);) {
        if (!value_is_dict(e->value)) continue;
        Value *given = dict_find(value_dict(args), value_string(e->key)), *fallback = dict_find_str(value_dict(e->value), STR("default"));
        if (given) {
            if (!fill(h, e->value, *given, changed, err)) return false;
        } else if (fallback) {
            Value copy;
            if (!value_copy_all_into(h, *fallback, &copy, err) || !dict_put(h, value_dict(args), e->key, copy, err)) return false;
            *changed = true;
        }
    }
    return true;
}

bool pipe_violations(const Schema *s, Value v, Buf *out) {
    SchemaProblems all = { 0 };
    if (!s || schema_validate(s, v, &all)) return true;
    for (size_t i = 0; i < all.n; i++) {
        if (i) buf_add(out, STR("; "));
        buf_add_fmt(out, STR_FMT "%s" STR_FMT, STR_ARG(all.at[i].path), all.at[i].path.n ? ": " : "", STR_ARG(all.at[i].message));
    }
    if (all.more) buf_add(out, STR("; …"));
    schema_problems_clear(&all);
    return false;
}

bool pipe_check_args(Pipe *p, Buf *problems) {
    const ToolDef *def = &p->f.entry->def;
    buf_reset(problems);
    if (!value_is_dict(p->f.args)) return buf_add(problems, STR("arguments must be an object")), false;
    for (size_t i = 0; i < def->injected.n; i++)
        if (dict_find_str(value_dict(p->f.args), def->injected.at[i]))
            return buf_add_fmt(problems, "/" STR_FMT ": is supplied by the runtime and cannot be given", STR_ARG(def->injected.at[i])), false;
    return pipe_violations(def->schema, p->f.args, problems);
}

bool pipe_validate(Pipe *p) {
    const ToolDef *def = &p->f.entry->def;
    bool changed = false;
    MEM_UNSET Error err;
    error_none(&err);
    if (p->f.entry->fills && def->kind != TOOL_ARGV && !fill(p->f.heap, def->parameters, p->f.args, &changed, &err))
        return pipe_refuse(p, STEP_VALIDATE, STR("limits.script_heap_bytes"), REPAIR_NEVER, "arguments: %s", err.msg);
    if (changed) p->args_changed = true;
    if (!pipe_check_args(p, &p->kept.data))
        return pipe_refuse(p, STEP_VALIDATE, STR("invalid_arguments"), REPAIR_ARGUMENTS,
                           "invalid arguments: %s", p->kept.data.at);
    pipe_trace(p, STEP_VALIDATE, "%s", changed ? "defaults filled" : "");
    return true;
}

/* ---- JSON text ---- */

/* True if the caller's text equals the arguments and is one line. */
static bool raw_will_do(const Pipe *p) {
    return !p->args_changed && !memchr(p->f.raw.at, '\n', p->f.raw.n) && !memchr(p->f.raw.at, '\r', p->f.raw.n);
}

Str pipe_args_json(Pipe *p) {
    MEM_UNSET Error err;
    if (value_is_gone(p->f.args)) return STR("null");
    if (raw_will_do(p)) return p->f.raw;
    buf_reset(&p->kept.args_json);
    if (!json_write(&p->kept.args_json, p->f.args, &(JsonWrite){ 0 }, &err)) buf_add(&p->kept.args_json, STR("{}"));
    return buf_str(&p->kept.args_json);
}

void pipe_args_exact(Pipe *p, Buf *out) {
    Error err;
    buf_reset(out);
    if (!json_write(out, p->f.args, &(JsonWrite){ .sort_keys = true }, &err)) buf_add(out, p->f.raw);
}
