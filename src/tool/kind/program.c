/* Shared by command, argv and bash tools: runs a program and converts its result. */
#include "base/utf8.h"
#include "tool/pipeline/pipe.h"

static bool emit_applied(Pipe *p, const SandboxRules *rules, const SandboxCommand *command, Error *err) {
    if (!pipe_listened(p) && !pipe_traced(p)) return true;
    Buf layers = { 0 }, data = { 0 }, keys = { 0 };
    sandbox_layers(rules, &layers);
    pipe_trace(p, STEP_SANDBOX, STR_FMT, STR_ARG(buf_str(&layers)));
    buf_add_char(&keys, '[');
    for (size_t i = 0; command->env && command->env[i]; i++)
        buf_add_fmt(&keys, "%s\"%.*s\"", i ? "," : "", (int)strcspn(command->env[i], "="), command->env[i]);
    buf_add_char(&keys, ']');
    event_data_start(&data);
    event_data_str(&data, "id", p->f.call_id);
    event_data_str(&data, "program", str_from(command->argv[0]));
    event_data_str(&data, "layers", str_trim(buf_str(&layers)));
    event_data_raw(&data, "envKeys", buf_str(&keys));
    event_data_end(&data);
    bool ok = event_emit(p->f.run->events, pipe_place(p), EVENT_SANDBOX_APPLIED, buf_str(&data), err);
    buf_clear(&layers);
    buf_clear(&keys);
    buf_clear(&data);
    return ok;
}

/* Writes one event per operation that the supervisor denied: "connect to 192.0.2.1 port 80". */
static bool emit_denied(Pipe *p, Str denied, Error *err) {
    bool ok = true;
    for (Str line; ok && pipe_listened(p) && str_next_line(&denied, &line);) {
        ptrdiff_t tab = str_find_char(line, '\t');
        Buf data = { 0 };
        event_data_start(&data);
        event_data_str(&data, "id", p->f.call_id);
        event_data_str(&data, "what", str_sub(line, 0, tab < 0 ? line.n : (size_t)tab));
        event_data_end(&data);
        ok = event_emit(p->f.run->events, pipe_place(p), EVENT_SANDBOX_DENIED, buf_str(&data), err);
        buf_clear(&data);
    }
    return ok;
}

/* A result has no hint, so the advice for a missing kernel feature is added to its text. */
static bool no_sandbox(Error *err) {
    Error why = *err;
    return why.kind == ERR_SANDBOX && why.hint[0] && error_set(err, ERR_SANDBOX, "%s (%s)", why.msg, why.hint);
}

bool pipe_run_program(Pipe *p, const SandboxRules *rules, const SandboxCommand *command, Cancel *cancel, SandboxResult *out, Error *err) {
    return emit_applied(p, rules, command, err) && (sandbox_run(p->f.runtime->sandbox, rules, command, cancel, out, err) || no_sandbox(err))
        && emit_denied(p, buf_str(&out->denied), err);
}

bool kind_run_program(ToolCallFrame *f, const SandboxCommand *command, SandboxResult *out, Error *err) {
    Pipe *p = f->host->call;
    SandboxRules rules;
    const char *reads[2];
    if (!runtime_rules(f->runtime, &rules, err)) return false;
    confine_rules(p->root, f->entry->def.kind == TOOL_ARGV ? command->argv[0] : NULL, &rules, reads);
    if (!pipe_run_program(p, &rules, command, f->cancel, out, err)) return false;
    if (out->timed_out) f->timed_out = f->retryable = true;
    f->exit_code = out->exit_code;
    return true;
}

/* ---- environment ---- */

static void add_pair(Arena *arena, const char **env, size_t *n, const char *prefix, Str name, Value v) {
    char *line = NULL;
    if (value_is_string(v)) line = arena_fmt(arena, "HARNESS_ARG_%s" STR_FMT "=" STR_FMT, prefix, STR_ARG(name), STR_ARG(value_str(v)));
    else if (value_is_small(v)) line = arena_fmt(arena, "HARNESS_ARG_%s" STR_FMT "=%lld", prefix, STR_ARG(name), (long long)value_small(v));
    if (!line || *n >= KIND_PROTECTED_MAX + KIND_INJECTED_MAX) return;
    for (char *c = line; *c && *c != '='; c++)
        if (*c >= 'a' && *c <= 'z') *c = (char)(*c - 'a' + 'A');
    env[(*n)++] = line;
}

/* HARNESS_ARG_RUN_ID; a secret is both HARNESS_ARG_NAME and HARNESS_ARG_SECRETS_NAME. */
void kind_injected_env(const ToolCallFrame *f, Arena *arena, const char **env, size_t *n) {
    Entry *e, *s;
    if (!value_is_dict(f->injected)) return;
    for (uint32_t i = 0; dict_next(value_dict(f->injected), &i, &e);) {
        if (!value_is_dict(e->value)) {
            add_pair(arena, env, n, "", value_str(e->key), e->value);
            continue;
        }
        for (uint32_t k = 0; dict_next(value_dict(e->value), &k, &s);) {
            add_pair(arena, env, n, "", value_str(s->key), s->value);
            add_pair(arena, env, n, "SECRETS_", value_str(s->key), s->value);
        }
    }
}

/* Keeps Python from writing bytecode to the protected folder and from loading modules from folders that calls can write. */
const char *const *kind_protected_env(const ToolDef *def) {
    static const char *const none[] = { NULL }, *const closed[] = { "PYTHONDONTWRITEBYTECODE=1", NULL },
        *const open[KIND_PROTECTED_MAX + 1] = { "PYTHONDONTWRITEBYTECODE=1", "PYTHONSAFEPATH=1", NULL };
    return !def->closed ? none : def->safe_path ? open : closed;
}

/* ---- values ---- */

bool kind_text_value(Heap *h, Str text, Value *out, Error *err) {
    Buf clean = { 0 };
    bool bad = !utf8_valid(text);
    for (size_t i = 0, n; bad && i < text.n; i += n) buf_add_utf8(&clean, utf8_decode(str_sub(text, i, text.n), &n));
    String *s = string_new(h, bad ? buf_str(&clean) : text, err);
    buf_clear(&clean);
    if (s) *out = value_from_object(s);
    return s != NULL;
}

bool kind_error_value(ToolCallFrame *f, Str message, Error *err) {
    Value text;
    Dict *d = dict_new(f->heap, 2, err);
    if (!d || !kind_text_value(f->heap, message, &text, err) || !dict_put_str(f->heap, d, STR("error"), text, err)) return false;
    f->value = value_from_object(d);
    f->is_error = true;
    return true;
}

static void describe_end(const SandboxResult *r, Buf *out) {
    if (r->timed_out) buf_add(out, STR("timed out"));
    else if (sandbox_result_limit(r)) buf_add(out, str_from(sandbox_result_limit(r)));
    else if (r->signal) buf_add_fmt(out, "ended by signal %d", r->signal);
    else buf_add_fmt(out, "exit status %d", r->exit_code);
}

bool kind_process_value(ToolCallFrame *f, const SandboxResult *r, Error *err) {
    Heap *h = f->heap;
    Value out, errors, message;
    Dict *d = dict_new(h, 8, err);
    bool failed = r->exit_code != 0 || r->timed_out || sandbox_result_limit(r);
    bool ok = d && kind_text_value(h, buf_str(&r->out), &out, err) && kind_text_value(h, buf_str(&r->err), &errors, err) &&
              dict_put_str(h, d, STR("stdout"), out, err) && dict_put_str(h, d, STR("stderr"), errors, err) &&
              dict_put_str(h, d, STR("exit_code"), value_from_small(r->exit_code), err);
    if (ok && (r->out_truncated || r->err_truncated)) ok = dict_put_str(h, d, STR("truncated"), VALUE_TRUE, err);
    if (ok && r->timed_out) ok = dict_put_str(h, d, STR("timed_out"), VALUE_TRUE, err);
    if (ok && failed) {
        Buf text = { 0 };
        describe_end(r, &text);
        ok = kind_text_value(h, buf_str(&text), &message, err) && dict_put_str(h, d, STR("error"), message, err);
        buf_clear(&text);
    }
    if (!ok) return false;
    f->value = value_from_object(d);
    f->is_error = failed;
    return true;
}
