#include "cli/listing.h"
#include "cli/report.h"
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
    if (!p) return buf_add(out, STR("[],\"hooks\":[],\"agents\":[]}\n")), true;
    if (!listing_json_tools(out, p, NULL, err)) return false;
    buf_add(out, STR(",\"hooks\":"));
    listing_json_hooks(out, p);
    buf_add(out, STR(",\"agents\":"));
    listing_json_agents(out, p);
    buf_add(out, STR("}\n"));
    return true;
}

static void add_section(Cli *cli, const Project *p, const char *name, size_t n, void (*list)(Buf *, const Project *, size_t, bool)) {
    if (!n) return;
    buf_add_fmt(&cli->out, "%s (%zu)\n", name, n);
    list(&cli->out, p, 2, cli->color_out);
}

static void add_summary(Cli *cli, const Project *p, const Problems *problems) {
    Buf *out = &cli->out;
    buf_add(out, cli->color_out ? STR("\033[32mok\033[0m: ") : STR("ok: "));
    report_count(out, listing_count_tools(p), "tool");
    buf_add(out, STR(", "));
    report_count(out, listing_count_hooks(p), "hook");
    buf_add(out, STR(", "));
    report_count(out, p->n_agents, "agent");
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

int command_validate(Cli *cli) {
    Project *project;
    Problems problems = { 0 };
    Error err = { 0 };
    int status = report_load(cli, args_has(&cli->args, "--strict"), &project, &problems) ? CLI_OK : CLI_FAILED;
    if (cli->json) {
        if (!add_json(&cli->out, project, &problems, &err)) status = cli_fail(cli, CLI_FAILED, &err);
    } else {
        report_problems(cli, &problems);
        if (project) {
            add_section(cli, project, "tools", listing_count_tools(project), list_tools);
            add_section(cli, project, "hooks", listing_count_hooks(project), listing_hooks);
            add_section(cli, project, "agents", project->n_agents, listing_agents);
            add_summary(cli, project, &problems);
        } else {
            say_failure(cli, &problems);
        }
    }
    project_free(project);
    problems_clear(&problems);
    return status;
}
