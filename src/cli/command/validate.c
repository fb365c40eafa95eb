#include <errno.h>
#include <unistd.h>
#include "cli/listing.h"
#include "cli/report.h"
#include "model/model.h"
#include "tool/builtin/builtin.h"
#include "value/json.h"

static void add_json_problems(Buf *out, const Problems *problems) {
    for (size_t i = 0; i < problems->n; i++) {
        const Problem *p = &problems->at[i];
        buf_add_fmt(out, "%s{\"severity\":\"%s\",\"file\":", i ? "," : "", problem_severity_name(p->severity));
        if (p->file.n) json_write_string(out, p->file, false);
        else buf_add(out, STR("null"));
        if (p->line) buf_add_fmt(out, ",\"line\":%u,\"column\":%u,\"message\":", p->line, p->column);
        else buf_add(out, STR(",\"line\":null,\"column\":null,\"message\":"));
        json_write_string(out, p->message, false);
        buf_add(out, STR(",\"hint\":"));
        if (p->hint.n) json_write_string(out, p->hint, false);
        else buf_add(out, STR("null"));
        buf_add_char(out, '}');
    }
}

/* A project that does not load has empty lists. */
static bool add_json(Buf *out, const Project *p, const Problems *problems, Error *err) {
    buf_add_fmt(out, "{\"ok\":%s,\"problems\":[", p ? "true" : "false");
    add_json_problems(out, problems);
    buf_add(out, STR("],\"tools\":"));
    if (!p) return buf_add(out, STR("[],\"hooks\":[],\"agents\":[],\"rules\":[]}\n")), true;
    if (!listing_json_tools(out, p, NULL, err)) return false;
    buf_add(out, STR(",\"hooks\":"));
    listing_json_hooks(out, p);
    buf_add(out, STR(",\"agents\":"));
    listing_json_agents(out, p);
    buf_add(out, STR(",\"rules\":"));
    listing_json_rules(out, p);
    buf_add(out, STR("}\n"));
    return true;
}

static void add_section(Cli *cli, const Project *p, const char *name, size_t n, void (*list)(Buf *, const Project *, size_t, bool)) {
    if (!n) return;
    buf_add_fmt(&cli->out, "%s (%zu)\n", name, n);
    list(&cli->out, p, 2, cli->color_out);
}

/* Number of built-in tools of the project. They are added to it, so nothing may be listed afterwards. */
static size_t count_builtins(Project *p) {
    Heap *heap = heap_new(0);
    size_t own = p->n_tools;
    Error err = { 0 };
    size_t n = builtin_append(p, heap, &err) ? p->n_tools - own : 0;
    p->n_tools = own;                                    /* their values are freed with the heap */
    heap_free(heap);
    return n;
}

static void add_summary(Cli *cli, Project *p, const Problems *problems) {
    Buf *out = &cli->out;
    size_t builtins = count_builtins(p);
    buf_add(out, cli->color_out ? STR("\033[32mok\033[0m: ") : STR("ok: "));
    report_count(out, listing_count_tools(p), "tool");
    if (builtins) buf_add(out, STR(", ")), report_count(out, builtins, "built-in tool");
    buf_add(out, STR(", "));
    report_count(out, listing_count_hooks(p), "hook");
    buf_add(out, STR(", "));
    report_count(out, p->n_agents, "agent");
    if (p->rules.n) buf_add(out, STR(", ")), report_count(out, p->rules.n, "rule");
    if (problems->warnings) buf_add(out, STR(", ")), report_count(out, problems->warnings, "warning");
    buf_add_char(out, '\n');
}

static void say_failure(const Cli *cli, const Problems *problems) {
    Buf line = { 0 };
    buf_add(&line, STR("not valid: "));
    report_count(&line, problems->errors, "error");
    if (problems->warnings) buf_add(&line, STR(", ")), report_count(&line, problems->warnings, "warning");
    cli_say(cli, SAY_ERROR, buf_str(&line));
    buf_clear(&line);
}

static void list_tools(Buf *out, const Project *p, size_t indent, bool color) { listing_tools(out, p, NULL, indent, color); }

/* Only checks files; an inline script is checked when it runs. */
static void check_script(const Project *p, const ModelDef *m, Problems *problems) {
    if (m->provider != PROVIDER_SCRIPT || m->script.n == 0 || str_find_char(m->script, '\n') >= 0) return;
    Arena arena = { 0 };
    const char *path = m->script.at[0] == '/' ? arena_str(&arena, m->script).at : arena_fmt(&arena, STR_FMT "/" STR_FMT, STR_ARG(p->root), STR_ARG(m->script));
    if (access(path, R_OK) < 0)
        problems_add(problems, PROBLEM_WARNING, p->settings.file, (Place){ 0, 0 }, (Str){ 0 }, "model.script: " STR_FMT ": %s",
            STR_ARG(m->script), strerror(errno));
    arena_clear(&arena);
}

/* A name that implies no provider may belong to one configured elsewhere: a warning here, an error at run time. */
static void check_models(const Project *p, Problems *problems) {
    Arena arena = { 0 };
    ModelDef top, own;
    Error err = { 0 };
    bool known = model_pick(p, STR(""), NULL, &arena, &top, &err);
    if (!known && p->settings.model.n) problems_add(problems, PROBLEM_WARNING, p->settings.file, (Place){ 0, 0 }, str_from(err.hint), "%s", err.msg);
    if (known) check_script(p, &top, problems);
    for (size_t i = 0; i < p->n_agents; i++) {
        const AgentDef *a = &p->agents[i];
        if (a->model.n == 0 || a->provider.n || model_pick(p, a->model, known ? &top : NULL, &arena, &own, &err)) continue;
        problems_add(problems, PROBLEM_WARNING, a->origin.file, (Place){ a->origin.line, a->origin.column }, str_from(err.hint),
                     "agent \"" STR_FMT "\": %s", STR_ARG(a->name), err.msg);
    }
    problems_sort(problems);
    arena_clear(&arena);
}

/* Programs of a manifest are often built later, so a missing one is a warning here and an error of the call. */
static void check_programs(const Project *p, Problems *problems) {
    Arena arena = { 0 };
    for (size_t i = 0; i < p->n_tools; i++) {
        const ToolDef *t = &p->tools[i];
        if (t->kind != TOOL_ARGV || t->argv.n == 0) continue;
        Str program = t->argv.at[0];
        const char *path = program.at[0] == '/' ? arena_str(&arena, program).at
                         : arena_fmt(&arena, STR_FMT "/" STR_FMT "/" STR_FMT, STR_ARG(p->root), STR_ARG(t->folder), STR_ARG(program));
        if (access(path, X_OK) == 0) continue;
        bool missing = errno == ENOENT || errno == ENOTDIR;
        problems_add(problems, PROBLEM_WARNING, t->origin.file, t->argv_place,
                     missing ? STR("calls fail until it exists") : STR("calls fail until it is executable"),
                     "tool \"" STR_FMT "\": program " STR_FMT " %s", STR_ARG(t->name), STR_ARG(program),
                     missing ? "was not found" : "is not executable");
    }
    arena_clear(&arena);
}

/* Nothing was found: probably the wrong folder, or a new user. */
static void check_empty(const Project *p, Problems *problems) {
    if (p->settings.file.n || p->n_tools || p->n_hooks || p->n_agents || p->n_prompts || p->n_resources || p->n_tests || p->n_servers) return;
    problems_add(problems, PROBLEM_HINT, (Str){ 0 }, (Place){ 0, 0 }, STR("create one with: harness init"), "this folder has no project");
}

int command_validate(Cli *cli) {
    Project *project;
    Problems problems = { 0 };
    Error err = { 0 };
    int status = report_load(cli, args_has(&cli->args, "--strict"), &project, &problems) ? CLI_OK : CLI_FAILED;
    if (project) {
        check_programs(project, &problems);
        check_models(project, &problems);
        check_empty(project, &problems);
    }
    if (cli->json) {
        if (!add_json(&cli->out, project, &problems, &err)) status = cli_fail(cli, CLI_FAILED, &err);
    } else {
        report_problems(cli, &problems);
        if (project) {
            add_section(cli, project, "tools", listing_count_tools(project), list_tools);
            add_section(cli, project, "hooks", listing_count_hooks(project), listing_hooks);
            add_section(cli, project, "agents", project->n_agents, listing_agents);
            add_section(cli, project, "rules", project->rules.n, listing_rules);
            add_summary(cli, project, &problems);
        } else {
            say_failure(cli, &problems);
        }
    }
    project_free(project);
    problems_clear(&problems);
    return status;
}
