/* tools/list and tools/call. tool/ decides everything about a call; this file converts to and from the protocol. */
#include <stdlib.h>
#include "base/mem.h"
#include "mcp/host/host_private.h"
#include "mcp/host/content.h"
#include "mcp/host/tasks.h"

/* ---- listing ---- */

/* Names that every client accepts; other tools are listed under their first alias that fits. */
static bool name_fits(Str s) {
    for (size_t i = 0; i < s.n; i++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-", s.at[i])) return false;
    return s.n > 0 && s.n <= 128;
}

static Str shown_name(const ToolDef *def) {
    if (name_fits(def->name)) return def->name;
    for (size_t i = 0; i < def->aliases.n; i++)
        if (name_fits(def->aliases.at[i])) return def->aliases.at[i];
    return def->name;
}

static void add_text(Buf *out, const char *key, Str text) {
    buf_add_fmt(out, ",\"%s\":", key);
    json_write_string(out, text, false);
}

static bool add_value(Buf *out, const char *key, Value v, Error *err) {
    buf_add_fmt(out, ",\"%s\":", key);
    return json_write(out, v, &(JsonWrite){ 0 }, err);
}

static void add_flag(Buf *out, const char *key, bool b) { buf_add_fmt(out, ",\"%s\":%s", key, b ? "true" : "false"); }

static void add_annotations(Buf *out, const Policy *policy, const ToolEntry *e) {
    size_t start = out->n;
    if (e->def.title.n) add_text(out, "title", e->def.title);
    add_flag(out, "readOnlyHint", policy_hint_read_only(policy, &e->def, &e->safety));
    add_flag(out, "destructiveHint", e->safety.destructive);
    add_flag(out, "idempotentHint", e->safety.idempotent);
    add_flag(out, "openWorldHint", e->safety.networked);
    buf_add_char(out, '}');
    out->at[start] = '{';                                    /* replaces the first comma */
}

static bool is_address(Str s) { return str_starts(s, STR("https://")) || str_starts(s, STR("http://")) || str_starts(s, STR("data:")); }

/* Before 2026-07-28 structured results are objects, so other schemas are omitted. */
static bool has_output(const ToolDef *def, McpVersion v) {
    if (!mcp_structured(v) || !value_is_dict(def->output_schema)) return false;
    Value *type = dict_find_str(value_dict(def->output_schema), STR("type"));
    return mcp_stateless(v) || (type && value_is_string(*type) && str_eq(value_str(*type), STR("object")));
}

static bool add_tool(Buf *out, const Policy *policy, const ToolEntry *e, McpVersion v, Error *err) {
    const ToolDef *def = &e->def;
    buf_add(out, STR("{\"name\":"));
    json_write_string(out, shown_name(def), false);
    if (def->title.n && mcp_structured(v)) add_text(out, "title", def->title);
    if (def->description.n) add_text(out, "description", def->description);
    if (!add_value(out, "inputSchema", def->parameters, err)) return false;
    if (has_output(def, v) && !add_value(out, "outputSchema", def->output_schema, err)) return false;
    if (v >= MCP_2025_03_26) buf_add(out, STR(",\"annotations\":")), add_annotations(out, policy, e);
    if (v >= MCP_2025_11_25 && is_address(def->icon)) {
        buf_add(out, STR(",\"icons\":[{\"src\":"));
        json_write_string(out, def->icon, false);
        buf_add(out, STR("}]"));
    }
    if (v == MCP_2025_11_25 && def->async) buf_add_fmt(out, ",\"execution\":{\"taskSupport\":\"%s\"}", def->async_required ? "required" : "optional");
    buf_add_char(out, '}');
    return true;
}

/* Hides tools that only serve a model inside harness: clients have resources and tasks. */
static size_t visible(Run *run, const ToolEntry ***out) {
    Call call = { 0 };
    size_t n = tool_visible(run, &call, out), kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!(*out)[i]->service) (*out)[kept++] = (*out)[i];
    return kept;
}

static bool write_list(McpRequest *q, const ToolEntry **shown, size_t n, Buf *out, Error *err) {
    size_t from, to;
    Value next;
    if (!serve_page(q, n, &from, &to, &next, err)) return false;
    buf_add(out, STR("\"tools\":["));
    for (size_t i = from; i < to; i++) {
        if (i > from) buf_add_char(out, ',');
        if (!add_tool(out, runtime_policy(run_runtime(q->run)), shown[i], q->version, err)) return false;
    }
    buf_add_char(out, ']');
    return value_is_gone(next) || add_value(out, "nextCursor", next, err);
}

/* The list is cached until a tool is added or removed; entries never change. */
static bool cached_list(McpRequest *q, const ToolEntry **shown, size_t n, Error *err) {
    ServeProject *p = ((Flight *)q)->run->project;
    pthread_mutex_lock(&p->lock);
    Buf *text = &p->tools[q->version].text;
    bool same = text->n && p->tools[q->version].n == n && memcmp(p->tools[q->version].shown, shown, n * sizeof *shown) == 0, ok = true;
    if (!same) {
        buf_reset(text);
        ok = write_list(q, shown, n, text, err);
        if (!ok) buf_reset(text);
        p->tools[q->version].shown = mem_resize(p->tools[q->version].shown, n ? n : 1, sizeof *shown);
        if (n) memcpy(p->tools[q->version].shown, shown, n * sizeof *shown);
        p->tools[q->version].n = n;
    }
    buf_add(&q->text, buf_str(text));
    pthread_mutex_unlock(&p->lock);
    return ok;
}

bool serve_tools_list(McpRequest *q, Error *err) {
    const ToolEntry **shown;
    size_t n = visible(q->run, &shown);
    q->ttl_ms = SERVE_TTL_MS;
    bool ok = serve_param(q, "cursor") || n > SERVE_PAGE ? write_list(q, shown, n, &q->text, err) : cached_list(q, shown, n, err);
    free(shown);
    return ok;
}

/* ---- calling ---- */

static bool read_arguments(McpRequest *q, Value *out, Error *err) {
    Value *given = serve_param(q, "arguments");
    if (!given) {                                                /* also null */
        buf_add(&q->arguments, STR("{}"));
        return true;
    }
    if (!value_is_dict(*given)) return error_set(err, ERR_VALIDATION, "params.arguments must be an object");
    *out = *given;
    return json_write(&q->arguments, *given, &(JsonWrite){ 0 }, err);
}

static bool unknown(Str name, Error *err) { return error_set(err, ERR_VALIDATION, "unknown tool \"" STR_FMT "\"", STR_ARG(str_sub(name, 0, 100))); }

static void add_structured(Buf *out, const ToolEntry *e, const Result *r, McpVersion v) {
    MEM_UNSET Error err;
    if (r->is_error || !e || !has_output(&e->def, v) || !(mcp_stateless(v) || value_is_dict(r->value))) return;
    size_t before = out->n;
    buf_add(out, STR(",\"structuredContent\":"));
    if (!json_write(out, r->value, &(JsonWrite){ .max_bytes = RPC_MESSAGE_MAX }, &err)) out->n = before;
}

void serve_content_result(Buf *out, const ToolEntry *e, const Result *r, Str run, McpVersion v) {
    serve_content_write(out, r, run, v);
    add_structured(out, e, r, v);
    buf_add(out, r->is_error ? STR(",\"isError\":true") : STR(",\"isError\":false"));
}

/* Reports a missing client capability, and an unknown tool, as protocol errors. */
static bool answer(McpRequest *q, const ToolEntry *e, McpTask *task, const Result *r, Error *err) {
    if (r->unknown_tool) return error_set(err, ERR_VALIDATION, STR_FMT, STR_ARG(r->error));
    if (r->is_error && q->code == MCP_MISSING_CAPABILITY) return error_set(err, ERR_PROTOCOL, STR_FMT, STR_ARG(r->error));
    q->code = 0;
    if (task && r->task_id.n) return serve_tasks_created(q, task, r, err);
    serve_content_result(&q->text, e, r, run_id(q->run), q->version);
    return true;
}

bool serve_tools_call(McpRequest *q, Error *err) {
    Str name;
    Result r = { 0 };
    if (!serve_text(q, "name", &name, err)) return false;
    const Str scope = run_id(q->run);
    const ToolEntry *e = registry_find(runtime_registry(run_runtime(q->run)), name, &scope, 1);
    if (e && e->service) return unknown(name, err);
    Value args = VALUE_GONE;
    bool ok = read_arguments(q, &args, err);
    const Person person = serve_person(q);
    Call call = { .name = name, .entry = e, .arguments = buf_str(&q->arguments), .args = args, .person = &person, .wait = true };
    McpTask *task = NULL;
    ok = ok && (!e || serve_tasks_begin(q, e, &call, &task, err));
    bool called = ok && tool_call(q->run, &call, q->cancel, &r, err);
    ok = called && answer(q, e, task, &r, err);
    serve_tasks_drop(q, task, called ? &r : NULL);
    result_clear(&r);
    return ok;
}
