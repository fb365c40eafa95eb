#include "cli/listing.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cli/terminal/table.h"

enum { SUMMARY_CHARS = 64 };
enum { COMMAND_TIMEOUT_MS = 60000, ARGV_TIMEOUT_MS = 30000 };    /* if neither the tool nor the project sets one */

Str listing_summary(Str description) {
    Str rest = description, line, first = { "", 0 };
    while (str_next_line(&rest, &line)) {
        line = str_trim(line);
        if (!line.n) continue;
        if (line.at[0] != '#') return line;
        if (!first.n) first = line;
    }
    return first;                                        /* only headings */
}

int64_t listing_timeout(const ToolDef *t) {
    if (t->timeout_ms >= 0) return t->timeout_ms;
    switch (t->kind) {
    case TOOL_STARLARK: return 0;
    case TOOL_COMMAND: return COMMAND_TIMEOUT_MS;
    case TOOL_ARGV: return ARGV_TIMEOUT_MS;
    case TOOL_BUILTIN: case TOOL_BRIDGE: case TOOL_MCP: case TOOL_NATIVE: case TOOL_DELEGATE: break;
    }
    return -1;
}

const char *listing_hook_kind(HookKind kind) { return kind == HOOK_COMMAND ? "command" : "starlark"; }
const char *listing_on_error(const HookDef *h) { return h->allow_on_error ? "allow" : "block"; }

size_t listing_count_tools(const Project *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->n_tools; i++) n += p->tools[i].agent.n == 0;
    return n;
}

size_t listing_count_hooks(const Project *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->n_hooks; i++) n += p->hooks[i].agent.n == 0;
    return n;
}

/* ---- columns ---- */

static void add_place(Table *t, const Origin *o) {
    if (!o->file.n) table_add(t, o->source == SOURCE_BUILTIN ? STR("(built in)") : STR(""));
    else if (o->line) table_add_fmt(t, STR_FMT ":%u", STR_ARG(o->file), o->line);
    else table_add(t, o->file);
}

static void add_summary(Table *t, Str description) {
    Str line = listing_summary(description);
    size_t at = 0, n = 0, length;
    while (at < line.n && n < SUMMARY_CHARS) utf8_decode(str_sub(line, at, line.n), &length), at += length, n++;
    table_add_fmt(t, STR_FMT "%s", STR_ARG(str_sub(line, 0, at)), at < line.n ? "…" : "");
}

/* Public, and not hidden. */
bool listing_shown(const ToolDef *t, const Policy *policy) {
    return !t->agent.n && (!policy || policy_shows(policy, t));
}

Str listing_hidden_by(const ToolDef *t, const Policy *policy) {
    return policy && !policy_shows(policy, t) ? policy_decide(policy, t, NULL, false).rule : STR("");
}

void listing_tools(Buf *out, const Project *p, const Policy *policy, size_t indent, bool color) {
    Table t = { .columns = 4 };
    for (size_t i = 0; i < p->n_tools; i++) {
        const ToolDef *tool = &p->tools[i];
        if (!listing_shown(tool, policy)) continue;
        table_add(&t, tool->name);
        table_add(&t, str_from(tool_kind_name(tool->kind)));
        add_place(&t, &tool->origin);
        add_summary(&t, tool->description);
    }
    table_write(&t, out, indent, color);
}

static int run_order(const void *a, const void *b) {
    const HookDef *x = *(const HookDef *const *)a, *y = *(const HookDef *const *)b;
    int by = str_cmp(x->event, y->event);
    if (!by) by = (x->priority > y->priority) - (x->priority < y->priority);
    if (!by) by = str_cmp(x->origin.file, y->origin.file);
    if (!by) by = (x->origin.line > y->origin.line) - (x->origin.line < y->origin.line);
    return by ? by : (x > y) - (x < y);
}

/* Public hooks, sorted; free() the list. */
static const HookDef **sorted_hooks(const Project *p, size_t *n) {
    const HookDef **list = mem_alloc((p->n_hooks + 1) * sizeof *list);
    *n = 0;
    for (size_t i = 0; i < p->n_hooks; i++)
        if (!p->hooks[i].agent.n) list[(*n)++] = &p->hooks[i];
    qsort(list, *n, sizeof *list, run_order);
    return list;
}

void listing_hooks(Buf *out, const Project *p, size_t indent, bool color) {
    Table t = { .columns = 6 };
    size_t n;
    const HookDef **list = sorted_hooks(p, &n);
    for (size_t i = 0; i < n; i++) {
        table_add(&t, list[i]->name);
        table_add(&t, list[i]->event);
        table_add_fmt(&t, "priority %lld", (long long)list[i]->priority);
        table_add(&t, list[i]->allow_on_error ? STR("on_error: allow") : STR(""));
        add_place(&t, &list[i]->origin);
        if (list[i]->when_text.n) table_add_fmt(&t, "when " STR_FMT, STR_ARG(str_trim(list[i]->when_text)));
        else table_add(&t, STR(""));
    }
    free(list);
    table_write(&t, out, indent, color);
}

void listing_agents(Buf *out, const Project *p, size_t indent, bool color) {
    Table t = { .columns = 4 };
    for (size_t i = 0; i < p->n_agents; i++) {
        const AgentDef *a = &p->agents[i];
        table_add(&t, a->name);
        table_add(&t, a->model);
        add_place(&t, &a->origin);
        add_summary(&t, a->description);
    }
    table_write(&t, out, indent, color);
}

/* ---- JSON lists ---- */

bool listing_json_tools(Buf *out, const Project *p, const Policy *policy, Error *err) {
    buf_add_char(out, '[');
    for (size_t i = 0, shown = 0; i < p->n_tools; i++) {
        if (!listing_shown(&p->tools[i], policy)) continue;
        buf_add(out, shown++ ? STR(",{") : STR("{"));
        if (!listing_json_tool(out, &p->tools[i], false, err)) return false;
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
    return true;
}

void listing_json_hooks(Buf *out, const Project *p) {
    size_t n;
    const HookDef **list = sorted_hooks(p, &n);
    buf_add_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        buf_add(out, i ? STR(",{") : STR("{"));
        listing_json_hook(out, list[i], false);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
    free(list);
}

void listing_json_agents(Buf *out, const Project *p) {
    buf_add_char(out, '[');
    for (size_t i = 0; i < p->n_agents; i++) {
        buf_add(out, i ? STR(",{") : STR("{"));
        listing_json_agent(out, &p->agents[i], false);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}
