/* One tool, hook or agent, over several lines. */
#include "cli/listing.h"
#include "cli/terminal/table.h"
#include "policy/credentials.h"
#include "value/json.h"

static void add_fact(Table *t, const char *key, Str text) {
    if (!text.n) return;
    table_add(t, str_from(key));
    table_add(t, text);
}

static void add_names(Table *t, const char *key, StrList names) {
    Buf text = { 0 };
    for (size_t i = 0; i < names.n; i++) buf_add_fmt(&text, "%s" STR_FMT, i ? ", " : "", STR_ARG(names.at[i]));
    add_fact(t, key, buf_str(&text));
    buf_clear(&text);
}

static void add_value(Table *t, const char *key, Value v) {
    Buf text = { 0 };
    if (!value_is_gone(v) && json_write(&text, v, &(JsonWrite){ 0 }, NULL)) add_fact(t, key, buf_str(&text));
    buf_clear(&text);
}

static void add_environment(Table *t, Value v) {
    Buf text = { 0 };
    if (!value_is_gone(v) && json_write(&text, v, &(JsonWrite){ 0 }, NULL)) {
        credentials_mask_json(&text);
        add_fact(t, "environment", buf_str(&text));
    }
    buf_clear(&text);
}

static void add_ms(Table *t, const char *key, int64_t ms) {
    if (ms <= 0) return;
    table_add(t, str_from(key));
    table_add_fmt(t, "%lld ms", (long long)ms);
}

/* "NAME  KIND  FILE:LINE" */
static void add_head(Buf *out, Str name, const char *kind, const Origin *o, bool color) {
    Table t = { .columns = 3 };
    table_add(&t, name);
    table_add(&t, str_from(kind));
    if (o->file.n) table_add_fmt(&t, STR_FMT ":%u", STR_ARG(o->file), o->line);
    else table_add(&t, STR("(built in)"));
    table_write(&t, out, 0, color);
}

/* A multi-line text below its name. */
static void add_block(Buf *out, const char *key, Str text) {
    Str line;
    if (!str_trim(text).n) return;
    buf_add_fmt(out, "  %s\n", key);
    while (str_next_line(&text, &line)) {
        if (line.n) buf_add(out, STR("    "));
        cli_escape(out, line, false);
        buf_add_char(out, '\n');
    }
}

static bool is_required(const Value *required, Str name) {
    if (!required || !value_is_list(*required)) return false;
    const List *list = value_list(*required);
    for (uint32_t i = 0; i < list->n; i++)
        if (value_is_string(list->at[i]) && str_eq(value_str(list->at[i]), name)) return true;
    return false;
}

static Str text_at(Value map, const char *key, Str otherwise) {
    Value *v = value_is_dict(map) ? dict_find_str(value_dict(map), str_from(key)) : NULL;
    return v && value_is_string(*v) ? value_str(*v) : otherwise;
}

/* Its description, then its allowed values and default: "How. (one of "fast", "slow"; default "fast")". */
static void add_purpose(Table *t, Value parameter) {
    Value *options = value_is_dict(parameter) ? dict_find_str(value_dict(parameter), STR("enum")) : NULL;
    Value *given = value_is_dict(parameter) ? dict_find_str(value_dict(parameter), STR("default")) : NULL;
    Buf text = { 0 }, values = { 0 };
    for (uint32_t i = 0; options && value_is_list(*options) && i < value_list(*options)->n; i++) {
        buf_add(&values, i ? STR(", ") : STR("one of "));
        json_write(&values, value_list(*options)->at[i], &(JsonWrite){ 0 }, NULL);
    }
    if (given) {
        buf_add(&values, values.n ? STR("; default ") : STR("default "));
        json_write(&values, *given, &(JsonWrite){ 0 }, NULL);
    }
    buf_add(&text, listing_summary(text_at(parameter, "description", STR(""))));
    if (values.n) buf_add_fmt(&text, "%s(" STR_FMT ")", text.n ? " " : "", STR_ARG(buf_str(&values)));
    table_add(t, buf_str(&text));
    buf_clear(&text);
    buf_clear(&values);
}

static void add_parameters(Buf *out, Value schema) {
    if (!value_is_dict(schema)) return;
    Value *properties = dict_find_str(value_dict(schema), STR("properties"));
    Value *required = dict_find_str(value_dict(schema), STR("required"));
    if (!properties || !value_is_dict(*properties) || value_dict(*properties)->n == 0) return;
    Table t = { .columns = 4 };
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(*properties), &i, &e);) {
        table_add(&t, value_str(e->key));
        table_add(&t, text_at(e->value, "type", STR("any")));
        table_add(&t, is_required(required, value_str(e->key)) ? STR("required") : STR("optional"));
        add_purpose(&t, e->value);
    }
    buf_add(out, STR("  parameters\n"));
    table_write(&t, out, 4, false);
}

/* The effective values in words: "mutating, networked, writes files". */
static void add_safety(Table *t, const ToolDef *tool) {
    static const char *const files[] = { NULL, "reads files", "writes files" };
    Arena arena = { 0 };
    Buf text = { 0 };
    Safety s;
    safety_of(tool, &arena, &s, NULL);
    const char *words[] = { s.read_only ? "read-only" : "mutating", s.destructive ? "destructive" : NULL, files[s.files],
                            s.process ? "starts programs" : NULL, s.networked ? "networked" : NULL, s.spends_money ? "spends money" : NULL,
                            s.idempotent && !s.read_only ? "idempotent" : !s.idempotent
                                && s.read_only ? "not repeatable" : NULL, s.parallel_safe && !s.read_only ? "parallel-safe" : NULL,
                            s.requires_confirmation ? "needs confirmation" : NULL };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i]) buf_add_fmt(&text, "%s%s", text.n ? ", " : "", words[i]);
    add_fact(t, "safety", buf_str(&text));
    add_fact(t, "below", s.workspace_root);
    add_names(t, "redacts", s.redact);
    buf_clear(&text);
    arena_clear(&arena);
}

void listing_tool(Buf *out, const ToolDef *t, bool full, bool color) {
    Table facts = { .columns = 2 };
    add_head(out, t->name, tool_kind_name(t->kind), &t->origin, color);
    add_fact(&facts, "title", t->title);
    if (!full) add_fact(&facts, "description", listing_summary(t->description));
    add_names(&facts, "aliases", t->aliases);
    add_fact(&facts, "calls", str_from(call_kind_name(project_call_kind(t))));
    add_fact(&facts, "category", t->category);
    add_fact(&facts, "icon", t->icon);
    add_ms(&facts, "timeout", listing_timeout(t));
    add_safety(&facts, t);
    add_value(&facts, "retry", t->retry);
    add_fact(&facts, "idempotency", t->idempotency);
    add_names(&facts, "injected", t->injected);
    if (t->confirm) add_fact(&facts, "confirm", STR("yes"));
    if (t->async) add_fact(&facts, "async", STR("yes"));
    add_fact(&facts, "agent", t->agent);
    add_fact(&facts, "bundle", t->bundle ? t->bundle->name : STR(""));
    add_names(&facts, "argv", t->argv);
    add_names(&facts, "passed on", t->env_passthrough);
    add_environment(&facts, t->environment);
    add_fact(&facts, "server", t->server);
    add_fact(&facts, "server tool", t->server_tool);
    if (full) add_value(&facts, "output schema", t->output_schema);
    table_write(&facts, out, 2, false);
    add_parameters(out, t->parameters);
    if (!full) return;
    add_block(out, "description", t->description);
    if (t->script) add_block(out, "script", module_source(t->script)->text);
    if (t->command) add_block(out, "command", template_text(t->command));
}

void listing_hook(Buf *out, const HookDef *h, bool color) {
    Table facts = { .columns = 2 };
    add_head(out, h->name, listing_hook_kind(h->kind), &h->origin, color);
    add_fact(&facts, "event", h->event);
    table_add(&facts, STR("priority"));
    table_add_fmt(&facts, "%lld", (long long)h->priority);
    add_fact(&facts, "when", str_trim(h->when_text));
    add_fact(&facts, "on_error", str_from(listing_on_error(h)));
    add_ms(&facts, "timeout", h->timeout_ms);
    add_fact(&facts, "agent", h->agent);
    add_names(&facts, "tools", h->tools);
    add_fact(&facts, "command", h->command);
    table_write(&facts, out, 2, false);
    if (h->script) add_block(out, "script", module_source(h->script)->text);
}

void listing_agent(Buf *out, const AgentDef *a, bool color) {
    Table facts = { .columns = 2 };
    add_head(out, a->name, "agent", &a->origin, color);
    add_fact(&facts, "title", a->title);
    add_fact(&facts, "description", a->description);
    add_fact(&facts, "model", a->model.n ? a->model : STR("(its parent's)"));
    add_fact(&facts, "provider", a->provider);
    add_names(&facts, "tools", a->tools);
    add_names(&facts, "hooks", a->hooks);
    add_names(&facts, "blocked tools", a->blocked_tools);
    add_names(&facts, "mcp", a->mcp);
    if (a->max_iterations) table_add(&facts, STR("iterations")), table_add_fmt(&facts, "%lld", (long long)a->max_iterations);
    if (a->verify) add_fact(&facts, "verify", STR("yes"));
    table_write(&facts, out, 2, false);
    add_block(out, "prompt", a->prompt);
}
