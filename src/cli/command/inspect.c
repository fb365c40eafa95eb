#include <stdlib.h>
#include "base/mem.h"
#include "cli/graph.h"
#include "cli/listing.h"
#include "cli/look.h"
#include "cli/opening.h"
#include "cli/report.h"
#include "cli/terminal/width.h"
#include "tool/builtin/builtin.h"

typedef struct Found { const ToolDef *tool; const HookDef *hook; const AgentDef *agent; const RuleDef *rule; } Found;

/* Tools private to a sub-agent come second. */
static const ToolDef *find_tool(const Project *p, Str name) {
    const ToolDef *t = project_tool(p, name);
    for (size_t i = 0; !t && i < p->n_tools; i++)
        if (str_eq(p->tools[i].name, name)) t = &p->tools[i];
    return t;
}

static const HookDef *find_hook(const Project *p, Str name) {
    const HookDef *h = project_hook(p, name);
    for (size_t i = 0; !h && i < p->n_hooks; i++)
        if (str_eq(p->hooks[i].name, name)) h = &p->hooks[i];
    return h;
}

static const RuleDef *find_rule(const Project *p, Str name) {
    for (size_t i = 0; i < p->rules.n; i++)
        if (str_eq(p->rules.at[i].name, name)) return &p->rules.at[i];
    return NULL;
}

static Found find(const Project *p, Str name, const char *type) {
    Found f = { 0 };
    if (!type || strcmp(type, "tool") == 0) f.tool = find_tool(p, name);
    if (!type || strcmp(type, "hook") == 0) f.hook = find_hook(p, name);
    if (!type || strcmp(type, "agent") == 0) f.agent = project_agent(p, name);
    if (!type || strcmp(type, "rule") == 0) f.rule = find_rule(p, name);
    return f;
}

static bool fail_unknown(const Project *p, Str name, const char *type, Error *err) {
    Str *names = mem_alloc((p->n_tools + p->n_hooks + p->n_agents + p->rules.n + 1) * sizeof *names);
    size_t n = 0;
    for (size_t i = 0; i < p->n_tools; i++) names[n++] = p->tools[i].name;
    for (size_t i = 0; i < p->n_hooks; i++) names[n++] = p->hooks[i].name;
    for (size_t i = 0; i < p->n_agents; i++) names[n++] = p->agents[i].name;
    for (size_t i = 0; i < p->rules.n; i++) names[n++] = p->rules.at[i].name;
    Str near = str_nearest(name, names, n);
    free(names);
    error_set(err, ERR_CONFIG, "no %s is named \"" STR_FMT "\"", type ? type : "tool, hook, agent or rule", STR_ARG(name));
    if (near.n && !str_eq(near, name)) error_hint(err, "did you mean \"" STR_FMT "\"?", STR_ARG(near));
    return false;
}

/* Names are unique among tools, hooks, agents and rules, but not across them. */
static bool fail_ambiguous(const Found *f, Str name, Error *err) {
    const struct { bool there; const char *type, *words; } all[] = {
        { f->tool, "tool", "a tool" }, { f->hook, "hook", "a hook" }, { f->agent, "agent", "an agent" }, { f->rule, "rule", "a rule" },
    };
    Buf words = { 0 }, flags = { 0 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i].there) continue;
        buf_add_fmt(&words, "%s%s", words.n ? " and " : "", all[i].words);
        buf_add_fmt(&flags, "%s--type %s", flags.n ? " or " : "add ", all[i].type);
    }
    error_set(err, ERR_CONFIG, "\"" STR_FMT "\" names " STR_FMT, STR_ARG(name), STR_ARG(buf_str(&words)));
    error_hint(err, STR_FMT, STR_ARG(buf_str(&flags)));
    buf_clear(&words);
    buf_clear(&flags);
    return false;
}

static bool show(Cli *cli, const Found *f, Error *err) {
    Buf *out = &cli->out;
    if (!cli->json) {
        if (f->tool) listing_tool(out, f->tool, true, cli->color_out);
        if (f->hook) listing_hook(out, f->hook, cli->color_out);
        if (f->agent) listing_agent(out, f->agent, cli->color_out);
        if (f->rule) listing_rule(out, f->rule, cli->color_out);
        return true;
    }
    buf_add_fmt(out, "{\"type\":\"%s\"", f->tool ? "tool" : f->hook ? "hook" : f->agent ? "agent" : "rule");
    if (f->tool && !listing_json_tool(out, f->tool, true, err)) return false;
    if (f->hook) listing_json_hook(out, f->hook, true);
    if (f->agent) listing_json_agent(out, f->agent, true);
    if (f->rule) buf_add_char(out, ','), listing_json_rule(out, f->rule);
    buf_add(out, STR("}\n"));
    return true;
}

static int show_graph(Cli *cli, Str only) {
    Look look;
    Graph g = { 0 };
    Error err = { 0 };
    int status = look_open(&look, cli);
    if (status < 0) {
        Runtime *rt = look.opening.rt;
        if (!args_has(&cli->args, "--live")) opening_say_pinned(&look.opening);
        bool ok = graph_build(&g, look.session, runtime_limits(rt), runtime_project(rt), only, &err);
        if (ok && cli->json) graph_write_json(&g, &cli->out);
        else if (ok && args_has(&cli->args, "--dot")) graph_write_dot(&g, &cli->out);
        else if (ok) graph_write_text(&g, &cli->out, cli->terminal_out ? width_of_terminal(1) : 0, cli->color_out);
        status = ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
    }
    graph_clear(&g);
    look_close(&look);
    return status;
}

int command_inspect(Cli *cli) {
    if (args_has(&cli->args, "--graph") || args_has(&cli->args, "--dot"))
        return show_graph(cli, cli->args.n_operands ? str_from(cli->args.operands[0]) : STR(""));
    if (cli->args.n_operands == 0) {
        Error wrong = { 0 };
        error_set(&wrong, ERR_VALIDATION, "inspect needs the name of a tool, hook or agent, or --graph");
        return cli_fail(cli, CLI_WRONG_USE, &wrong);
    }
    Str name = str_from(cli->args.operands[0]);
    const char *type = args_value(&cli->args, "--type");
    Error err = { 0 };
    Project *p = report_project(cli);
    if (!p) return CLI_FAILED;
    Heap *heap = heap_new(0);
    Opening o = { .events = -1 };
    int status = str_starts(name, STR("mcp")) ? opening_show_servers(&o, cli, p) : -1;
    bool ok = status < 0 && builtin_append(p, heap, &err);
    if (ok) {
        Found f = find(p, name, type);
        int kinds = (f.tool != NULL) + (f.hook != NULL) + (f.agent != NULL) + (f.rule != NULL);
        ok = kinds == 0 ? fail_unknown(p, name, type, &err) : kinds > 1 ? fail_ambiguous(&f, name, &err) : show(cli, &f, &err);
    }
    project_free(p);
    opening_close(&o);
    heap_free(heap);
    if (status >= 0) return status;
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}
