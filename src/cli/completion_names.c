#include "cli/completion_names.h"
#include <string.h>
#include "cli/opening.h"
#include "cli/report.h"
#include "policy/location.h"
#include "store/store.h"
#include "tool/builtin/builtin.h"

enum { RUNS_MAX = 50 };

static const struct { const char *value, *kind; } values[] = {
    { "TOOL", "tools" }, { "TOOLS", "tools" }, { "RUN", "runs" }, { "AGENT", "agents" }, { "SERVER", "servers" },
};
static const struct { const char *command, *kind; } commands[] = { { "inspect", "names" }, { "mcp remove", "servers" } };

static const char *find(Str word) {
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (str_eq(word, str_from(values[i].value))) return values[i].kind;
    return NULL;
}

const char *completion_names_of_value(const char *value) { return find(str_from(value)); }

const char *completion_names_of(const Command *c) {
    const char *at = c->operands + strspn(c->operands, "[");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].command, c->name) == 0) return commands[i].kind;
    return find((Str){ at, strcspn(at, " |]") });
}

/* Shells expand completions, so names with special characters are left out. */
static bool is_plain(Str name) {
    for (size_t i = 0; i < name.n; i++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-", name.at[i]) || !name.at[i]) return false;
    return name.n > 0 && name.at[0] != '-';
}

static void add(Cli *cli, Str name) {
    if (is_plain(name)) buf_add_fmt(&cli->out, STR_FMT "\n", STR_ARG(name));
}

static void add_tools(Cli *cli, Project *p) {
    Heap *heap = heap_new(0);
    Error err = { 0 };
    Opening o;
    int status = opening_show_servers(&o, cli, p);
    if (status < 0 && builtin_append(p, heap, &err))
        for (size_t i = 0; i < p->n_tools; i++)
            if (!p->tools[i].agent.n) add(cli, p->tools[i].name);
    opening_close(&o);
    heap_free(heap);
}

static bool add_run(void *ctx, const StoreRun *r) {
    Cli *cli = ctx;
    size_t lines = 0;
    add(cli, r->id);
    for (size_t i = 0; i < cli->out.n; i++) lines += cli->out.at[i] == '\n';
    return lines < RUNS_MAX;
}

static void add_runs(Cli *cli, const Project *p) {
    Buf path = { 0 };
    Store *s = NULL;
    Error err = { 0 };
    if (location_of(p, &path, &err) && store_open(path.at, false, &s, &err)) (void)store_run_each(s, add_run, cli, &err);
    store_close(s);
    buf_clear(&path);
}

int completion_names_print(Cli *cli, const char *kind) {
    Problems problems = { 0 };
    Project *p = NULL;
    bool names = strcmp(kind, "names") == 0;
    if (report_load(cli, false, &p, &problems)) {
        for (size_t i = 0; i < p->n_agents && (names || strcmp(kind, "agents") == 0); i++) add(cli, p->agents[i].name);
        for (size_t i = 0; i < p->n_hooks && names; i++) add(cli, p->hooks[i].name);
        for (size_t i = 0; i < p->rules.n && names; i++) add(cli, p->rules.at[i].name);
        for (size_t i = 0; i < p->n_servers && strcmp(kind, "servers") == 0; i++) add(cli, p->servers[i].name);
        if (strcmp(kind, "runs") == 0) add_runs(cli, p);
        if (names || strcmp(kind, "tools") == 0) add_tools(cli, p);
    }
    project_free(p);
    problems_clear(&problems);
    return CLI_OK;
}
