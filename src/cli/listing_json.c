/* The objects of --json, and the schemas of tools --format. */
#include "cli/listing.h"
#include "policy/credentials.h"
#include "value/json.h"

static void add_key(Buf *out, const char *key) {
    if (out->n && out->at[out->n - 1] != '{') buf_add_char(out, ',');
    buf_add_fmt(out, "\"%s\":", key);
}

static void add_text(Buf *out, const char *key, Str text) {
    add_key(out, key);
    json_write_string(out, text, false);
}

static void add_null(Buf *out, const char *key) {
    add_key(out, key);
    buf_add(out, STR("null"));
}

static void add_text_or_null(Buf *out, const char *key, Str text) {
    if (text.n) add_text(out, key, text);
    else add_null(out, key);
}

static void add_int(Buf *out, const char *key, int64_t n) {
    add_key(out, key);
    buf_add_fmt(out, "%lld", (long long)n);
}

static void add_bool(Buf *out, const char *key, bool b) {
    add_key(out, key);
    buf_add(out, b ? STR("true") : STR("false"));
}

static void add_names(Buf *out, const char *key, StrList names) {
    add_key(out, key);
    buf_add_char(out, '[');
    for (size_t i = 0; i < names.n; i++) {
        if (i) buf_add_char(out, ',');
        json_write_string(out, names.at[i], false);
    }
    buf_add_char(out, ']');
}

static bool add_value(Buf *out, const char *key, Value v, Error *err) {
    if (value_is_gone(v)) return add_null(out, key), true;
    add_key(out, key);
    return json_write(out, v, &(JsonWrite){ 0 }, err);
}

static bool add_environment(Buf *out, Value v, Error *err) {
    Buf text = { 0 };
    bool ok = add_value(&text, "environment", v, err);
    credentials_mask_json(&text);
    buf_add_char(out, ',');
    buf_add(out, buf_str(&text));
    buf_clear(&text);
    return ok;
}

static void add_origin(Buf *out, const Origin *o) {
    add_text_or_null(out, "file", o->file);
    if (o->file.n && o->line) add_int(out, "line", o->line);
    else add_null(out, "line");
}

static void add_script(Buf *out, const char *key, const Module *m) {
    add_text_or_null(out, key, m ? module_source(m)->text : (Str){ 0 });
}

/* The effective values: declared and detected together. */
static bool add_safety(Buf *out, const ToolDef *t, Error *err) {
    Heap *heap = heap_new(0);
    Arena arena = { 0 };
    Safety s;
    safety_of(t, &arena, &s, NULL);
    Value v = safety_value(&s, heap, err);
    bool ok = !value_is_gone(v) && add_value(out, "safety", v, err);
    arena_clear(&arena);
    heap_free(heap);
    return ok;
}

static bool add_tool_extra(Buf *out, const ToolDef *t, Error *err) {
    if (!add_value(out, "output_schema", t->output_schema, err)) return false;
    if (!add_value(out, "retry", t->retry, err)) return false;
    add_text_or_null(out, "idempotency", t->idempotency);
    add_names(out, "injected", t->injected);
    add_bool(out, "async", t->async);
    add_bool(out, "confirm", t->confirm);
    add_text_or_null(out, "calls", str_from(call_kind_name(project_call_kind(t))));
    add_text_or_null(out, "agent", t->agent);
    add_text_or_null(out, "bundle", t->bundle ? t->bundle->name : (Str){ 0 });
    add_script(out, "script", t->script);
    add_text_or_null(out, "command", t->command ? template_text(t->command) : (Str){ 0 });
    add_names(out, "argv", t->argv);
    add_names(out, "env_passthrough", t->env_passthrough);
    if (!add_environment(out, t->environment, err)) return false;
    add_text_or_null(out, "folder", t->folder);
    add_text_or_null(out, "server", t->server);
    add_text_or_null(out, "server_tool", t->server_tool);
    return true;
}

bool listing_json_tool(Buf *out, const ToolDef *t, bool extra, Error *err) {
    int64_t timeout = listing_timeout(t);
    add_text(out, "name", t->name);
    add_text_or_null(out, "title", t->title);
    add_names(out, "aliases", t->aliases);
    add_text(out, "kind", str_from(tool_kind_name(t->kind)));
    add_origin(out, &t->origin);
    add_text(out, "description", t->description);
    if (!add_value(out, "parameters", t->parameters, err)) return false;
    if (!add_safety(out, t, err)) return false;
    add_text_or_null(out, "category", t->category);
    add_text_or_null(out, "icon", t->icon);
    if (timeout >= 0) add_int(out, "timeout_ms", timeout);
    else add_null(out, "timeout_ms");
    return !extra || add_tool_extra(out, t, err);
}

void listing_json_hook(Buf *out, const HookDef *h, bool extra) {
    add_text(out, "name", h->name);
    add_text(out, "kind", str_from(listing_hook_kind(h->kind)));
    add_text(out, "event", h->event);
    add_int(out, "priority", h->priority);
    add_text_or_null(out, "when", h->when_text);
    add_text(out, "on_error", str_from(listing_on_error(h)));
    add_int(out, "timeout_ms", h->timeout_ms);
    add_origin(out, &h->origin);
    if (!extra) return;
    add_text_or_null(out, "agent", h->agent);
    add_script(out, "script", h->script);
    add_text_or_null(out, "command", h->command);
    add_text_or_null(out, "folder", h->folder);
    add_names(out, "tools", h->tools);
}

void listing_json_agent(Buf *out, const AgentDef *a, bool extra) {
    add_text(out, "name", a->name);
    add_text(out, "description", a->description);
    add_text_or_null(out, "model", a->model);
    add_names(out, "tools", a->tools);
    add_names(out, "hooks", a->hooks);
    add_origin(out, &a->origin);
    if (!extra) return;
    add_text_or_null(out, "title", a->title);
    add_text_or_null(out, "provider", a->provider);
    add_text(out, "prompt", a->prompt);
    add_names(out, "blocked_tools", a->blocked_tools);
    if (a->has_mcp) add_names(out, "mcp", a->mcp);
    else add_null(out, "mcp");
    add_bool(out, "verify", a->verify);
    if (a->max_iterations) add_int(out, "max_iterations", a->max_iterations);
    else add_null(out, "max_iterations");
}

/* ---- schemas for clients ---- */

static void add_annotations(Buf *out, const Policy *policy, const ToolDef *t) {
    Arena arena = { 0 };
    Safety s;
    safety_of(t, &arena, &s, NULL);
    add_key(out, "annotations");
    buf_add_char(out, '{');
    if (t->title.n) add_text(out, "title", t->title);
    add_bool(out, "readOnlyHint", policy_hint_read_only(policy, t, &s));
    add_bool(out, "destructiveHint", s.destructive);
    add_bool(out, "idempotentHint", s.idempotent);
    add_bool(out, "openWorldHint", s.networked);
    buf_add_char(out, '}');
    arena_clear(&arena);
}

static bool add_mcp(Buf *out, const Policy *policy, const ToolDef *t, Error *err) {
    buf_add_char(out, '{');
    add_text(out, "name", t->name);
    if (t->title.n) add_text(out, "title", t->title);
    add_text(out, "description", t->description);
    if (!add_value(out, "inputSchema", t->parameters, err)) return false;
    if (!value_is_gone(t->output_schema) && !add_value(out, "outputSchema", t->output_schema, err)) return false;
    add_annotations(out, policy, t);
    buf_add_char(out, '}');
    return true;
}

bool listing_mcp(Buf *out, const Project *p, const Policy *policy, Error *err) {
    buf_add(out, STR("{\"tools\":["));
    for (size_t i = 0, shown = 0; i < p->n_tools; i++) {
        if (!listing_shown(&p->tools[i], policy)) continue;
        if (shown++) buf_add_char(out, ',');
        if (!add_mcp(out, policy, &p->tools[i], err)) return false;
    }
    buf_add(out, STR("]}"));
    return true;
}
