#include "cli/graph.h"
#include "cli/terminal/width.h"
#include "value/json.h"

/* ---- collecting ---- */

typedef struct Building { Graph *g; Str only; bool skip; } Building;         /* skip: the current tool is not wanted */

static Str keep(Graph *g, Str text) { return arena_str(&g->arena, text); }

static void take_agent(void *ctx, const AgentDef *def) {
    Building *b = ctx;
    GraphAgent a = { .name = def ? keep(b->g, def->name) : STR("") };
    if (def) a.file = keep(b->g, def->origin.file), a.line = def->origin.line;
    VEC_PUSH(&b->g->agents, a);
}

static bool names(const ToolDef *def, Str name) { return str_eq(def->name, name) || str_among(name, def->aliases.at, def->aliases.n); }

static void take_tool(void *ctx, const ToolEntry *e) {
    Building *b = ctx;
    const ToolDef *def = &e->def;
    GraphAgent *a = &VEC_LAST(&b->g->agents);
    b->skip = b->only.n && !str_eq(a->name, b->only) && !names(def, b->only);
    if (b->skip) return;
    VEC_PUSH(&a->tools, ((GraphTool){ .name = keep(b->g, def->name), .kind = str_from(tool_kind_name(def->kind)), .file = keep(b->g, def->origin.file),
                                      .line = def->origin.line, .server = keep(b->g, def->server) }));
}

static void take_guard(void *ctx, const ToolGuard *guard) {
    Building *b = ctx;
    if (b->skip) return;
    GraphTool *t = &VEC_LAST(&VEC_LAST(&b->g->agents).tools);
    GraphGuard g = { .kind = tool_guard_name(guard->kind), .effect = guard->effect, .name = keep(b->g, guard->name), .when = keep(b->g, guard->when) };
    if (guard->origin) g.file = keep(b->g, guard->origin->file), g.line = guard->origin->line;
    if (strcmp(g.effect, "denies") == 0) t->denied = true;
    VEC_PUSH(&t->guards, g);
}

static bool covers_some(const Graph *g, Str hook) {
    for (size_t a = 0; a < g->agents.n; a++)
        for (size_t t = 0; t < g->agents.at[a].tools.n; t++) {
            const GraphTool *tool = &g->agents.at[a].tools.at[t];
            for (size_t i = 0; i < tool->guards.n; i++)
                if (strcmp(tool->guards.at[i].kind, tool_guard_name(TOOL_GUARD_HOOK)) == 0 && str_eq(tool->guards.at[i].name, hook)) return true;
        }
    return false;
}

static void find_idle(Graph *g, const Project *p) {
    for (size_t i = 0; i < p->n_hooks; i++) {
        HookEvent e;
        bool of_tools = hook_event_find(p->hooks[i].event, &e) && (e == HOOK_TOOL_PRE || e == HOOK_TOOL_POST);
        if (of_tools && !covers_some(g, p->hooks[i].name)) VEC_PUSH(&g->idle, keep(g, p->hooks[i].name));
    }
}

static bool is_empty(const Graph *g) {
    for (size_t i = 0; i < g->agents.n; i++)
        if (g->agents.at[i].tools.n) return false;
    return true;
}

bool graph_build(Graph *g, Session *s, const Limits *limits, const Project *p, Str only, Error *err) {
    Building b = { .g = g, .only = only };
    g->limits = limits;
    if (!session_guards(s, &(SessionGuards){ take_agent, take_tool, take_guard, &b }, err)) return false;
    if (only.n && is_empty(g)) {
        error_set(err, ERR_CONFIG, "no tool or agent is named \"" STR_FMT "\"", STR_ARG(only));
        return error_hint(err, "list them with: harness inspect --graph");
    }
    if (!only.n) find_idle(g, p);
    return true;
}

void graph_clear(Graph *g) {
    for (size_t a = 0; a < g->agents.n; a++) {
        for (size_t t = 0; t < g->agents.at[a].tools.n; t++) VEC_CLEAR(&g->agents.at[a].tools.at[t].guards);
        VEC_CLEAR(&g->agents.at[a].tools);
    }
    VEC_CLEAR(&g->agents);
    VEC_CLEAR(&g->idle);
    arena_clear(&g->arena);
}

/* ---- limits of every call ---- */

typedef struct GraphLimit { const char *name; double value; } GraphLimit;

/* 0: there is no such limit. */
static size_t limits_of(const Limits *l, GraphLimit out[8]) {
    const GraphLimit all[] = { { "max_turns", (double)l->max_turns }, { "max_tool_calls", (double)l->max_tool_calls },
                               { "max_tool_calls_per_turn", (double)l->max_tool_calls_per_turn }, { "max_tokens", (double)l->max_tokens },
                               { "max_spend_usd", l->max_spend_usd }, { "wall_clock_ms", (double)l->wall_clock_ms } };
    size_t n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].value > 0) out[n++] = all[i];
    return n;
}

/* ---- text ---- */

/* Ends a line, cut at the width of the terminal. */
static void add_line(Buf *out, Buf *line, size_t width) {
    if (width) width_add_cut(out, buf_str(line), width);
    else buf_add(out, buf_str(line));
    buf_add_char(out, '\n');
    buf_reset(line);
}

static void add_place(Buf *line, Str file, uint32_t number) {
    if (!file.n) return;
    buf_add(line, STR("  "));
    cli_escape_all(line, file, false);
    buf_add_fmt(line, ":%u", number);
}

static void add_head(Buf *out, Buf *line, size_t width, bool color) {
    if (color) buf_add(out, STR("\033[1m"));
    if (width) width_add_cut(out, buf_str(line), width);
    else buf_add(out, buf_str(line));
    buf_add(out, color ? STR("\033[0m\n") : STR("\n"));
    buf_reset(line);
}

static void text_guard(Buf *line, const GraphGuard *g) {
    buf_add_fmt(line, "    %s ", g->kind);
    cli_escape_all(line, g->name, false);
    buf_add_fmt(line, "  %s", g->effect);
    add_place(line, g->file, g->line);
    if (!g->when.n) return;
    buf_add(line, STR("  if "));
    cli_escape_all(line, g->when, false);
}

static void text_tool(Buf *out, Buf *line, const GraphTool *t, size_t width) {
    buf_add(line, STR("  tool "));
    cli_escape_all(line, t->name, false);
    buf_add_fmt(line, "  " STR_FMT, STR_ARG(t->kind));
    add_place(line, t->file, t->line);
    add_line(out, line, width);
    for (size_t i = 0; i < t->guards.n; i++) {
        text_guard(line, &t->guards.at[i]);
        add_line(out, line, width);
    }
    if (t->guards.n) return;
    buf_add(line, STR("    no guard"));
    add_line(out, line, width);
}

static void text_limits(const Graph *g, Buf *line) {
    GraphLimit limits[8];
    size_t n = limits_of(g->limits, limits);
    buf_add(line, STR("limits of all calls:"));
    for (size_t i = 0; i < n; i++) buf_add_fmt(line, "%s %s %.10g", i ? "," : "", limits[i].name, limits[i].value);
    if (!n) buf_add(line, STR(" none"));
}

void graph_write_text(const Graph *g, Buf *out, size_t width, bool color) {
    Buf line = { 0 };
    for (size_t i = 0; i < g->agents.n; i++) {
        const GraphAgent *a = &g->agents.at[i];
        if (!a->tools.n && g->agents.n > 1 && i) continue;
        buf_add(&line, STR("agent "));
        cli_escape_all(&line, a->name.n ? a->name : STR("(project)"), false);
        add_place(&line, a->file, a->line);
        add_head(out, &line, width, color);
        for (size_t t = 0; t < a->tools.n; t++) text_tool(out, &line, &a->tools.at[t], width);
    }
    text_limits(g, &line);
    add_line(out, &line, width);
    for (size_t i = 0; i < g->idle.n; i++) {
        buf_add(&line, STR("hook "));
        cli_escape_all(&line, g->idle.at[i], false);
        buf_add(&line, STR(" covers no tool"));
        add_line(out, &line, width);
    }
    buf_clear(&line);
}

/* ---- Graphviz ---- */

/* In a quoted string, `"` ends it and `\` starts an escape sequence; control characters are already escaped. */
static void add_quoted(Buf *out, Str text) {
    Buf safe = { 0 };
    cli_escape_all(&safe, text, false);
    buf_add_char(out, '"');
    for (size_t i = 0; i < safe.n; i++) {
        if (safe.at[i] == '"' || safe.at[i] == '\\') buf_add_char(out, '\\');
        buf_add_char(out, safe.at[i]);
    }
    buf_add_char(out, '"');
    buf_clear(&safe);
}

/* Guards that are the same for several tools are one node. */
typedef VEC(const GraphGuard *) Nodes;

static size_t node_of(Nodes *nodes, const GraphGuard *g, bool *added) {
    for (size_t i = 0; i < nodes->n; i++) {
        const GraphGuard *n = nodes->at[i];
        if (strcmp(n->kind, g->kind) == 0 && strcmp(n->effect, g->effect) == 0 && str_eq(n->name, g->name)) return *added = false, i;
    }
    VEC_PUSH(nodes, g);
    return *added = true, nodes->n - 1;
}

static void dot_guard(Buf *out, size_t id, const GraphGuard *g) {
    Buf label = { 0 };
    buf_add_fmt(&label, "%s " STR_FMT " (%s)", g->kind, STR_ARG(g->name), g->effect);
    buf_add_fmt(out, "  g%zu [shape=hexagon, label=", id);
    add_quoted(out, buf_str(&label));
    buf_add(out, STR("];\n"));
    buf_clear(&label);
}

static void dot_tool(Buf *out, const GraphTool *t, size_t agent, size_t tool, Nodes *nodes) {
    buf_add_fmt(out, "  t%zu_%zu [shape=ellipse%s, label=", agent, tool, t->denied ? ", style=dashed" : "");
    add_quoted(out, t->name);
    buf_add_fmt(out, "];\n  a%zu -> t%zu_%zu;\n", agent, agent, tool);
    for (size_t i = 0; i < t->guards.n; i++) {
        bool added;
        size_t id = node_of(nodes, &t->guards.at[i], &added);
        if (added) dot_guard(out, id, &t->guards.at[i]);
        buf_add_fmt(out, "  t%zu_%zu -> g%zu", agent, tool, id);
        if (t->guards.at[i].when.n) {
            buf_add(out, STR(" [label="));
            add_quoted(out, t->guards.at[i].when);
            buf_add_char(out, ']');
        }
        buf_add(out, STR(";\n"));
    }
}

void graph_write_dot(const Graph *g, Buf *out) {
    Nodes nodes = { 0 };
    buf_add(out, STR("digraph harness {\n  rankdir=LR;\n"));
    for (size_t i = 0; i < g->agents.n; i++) {
        const GraphAgent *a = &g->agents.at[i];
        buf_add_fmt(out, "  a%zu [shape=box, label=", i);
        add_quoted(out, a->name.n ? a->name : STR("(project)"));
        buf_add(out, STR("];\n"));
        for (size_t t = 0; t < a->tools.n; t++) dot_tool(out, &a->tools.at[t], i, t, &nodes);
    }
    buf_add(out, STR("}\n"));
    VEC_CLEAR(&nodes);
}

/* ---- JSON ---- */

static void add_text(Buf *out, const char *key, Str text) {
    buf_add_fmt(out, "\"%s\":", key);
    if (text.n) json_write_string(out, text, false);
    else buf_add(out, STR("null"));
}

static void add_file(Buf *out, Str file, uint32_t line) {
    buf_add_char(out, ',');
    add_text(out, "file", file);
    if (file.n) buf_add_fmt(out, ",\"line\":%u", line);
    else buf_add(out, STR(",\"line\":null"));
}

static void json_tool(Buf *out, const GraphTool *t) {
    buf_add_char(out, '{');
    add_text(out, "name", t->name);
    buf_add_char(out, ',');
    add_text(out, "kind", t->kind);
    add_file(out, t->file, t->line);
    buf_add_char(out, ',');
    add_text(out, "server", t->server);
    buf_add_fmt(out, ",\"denied\":%s,\"guards\":[", t->denied ? "true" : "false");
    for (size_t i = 0; i < t->guards.n; i++) {
        const GraphGuard *g = &t->guards.at[i];
        buf_add_fmt(out, "%s{\"kind\":\"%s\",", i ? "," : "", g->kind);
        add_text(out, "name", g->name);
        buf_add_fmt(out, ",\"effect\":\"%s\",", g->effect);
        add_text(out, "when", g->when);
        add_file(out, g->file, g->line);
        buf_add_char(out, '}');
    }
    buf_add(out, STR("]}"));
}

void graph_write_json(const Graph *g, Buf *out) {
    GraphLimit limits[8];
    size_t n = limits_of(g->limits, limits);
    buf_add(out, STR("{\"agents\":["));
    for (size_t i = 0; i < g->agents.n; i++) {
        const GraphAgent *a = &g->agents.at[i];
        buf_add(out, i ? STR(",{") : STR("{"));
        add_text(out, "name", a->name);
        add_file(out, a->file, a->line);
        buf_add(out, STR(",\"tools\":["));
        for (size_t t = 0; t < a->tools.n; t++) {
            if (t) buf_add_char(out, ',');
            json_tool(out, &a->tools.at[t]);
        }
        buf_add(out, STR("]}"));
    }
    buf_add(out, STR("],\"limits\":{"));
    for (size_t i = 0; i < n; i++) buf_add_fmt(out, "%s\"%s\":%.10g", i ? "," : "", limits[i].name, limits[i].value);
    buf_add(out, STR("},\"idle_hooks\":["));
    for (size_t i = 0; i < g->idle.n; i++) {
        if (i) buf_add_char(out, ',');
        json_write_string(out, g->idle.at[i], false);
    }
    buf_add(out, STR("]}\n"));
}
