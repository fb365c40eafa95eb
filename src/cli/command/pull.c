#include <stdio.h>
#include <stdlib.h>
#include "artifact/source.h"
#include "cli/report.h"
#include "cli/terminal/trust_prompt.h"
#include "value/json.h"

static const char *const statuses[] = {
    [SOURCE_PULL_FETCHED] = "fetched", [SOURCE_PULL_CURRENT] = "current", [SOURCE_PULL_LOCAL] = "local",
};

static void add_field(Buf *out, const char *key, Str value) {
    buf_add_fmt(out, "\"%s\":", key);
    json_write_string(out, value, false);
    buf_add_char(out, ',');
}

static void show_json(Buf *out, const SourceDef *s, const SourcePull *p, bool first) {
    buf_add(out, first ? STR("{") : STR(",{"));
    add_field(out, "type", s->type);
    add_field(out, "url", s->url);
    add_field(out, "path", s->path);
    add_field(out, "ref", s->ref);
    add_field(out, "commit", str_from(p->commit));
    add_field(out, "status", str_from(statuses[p->kind]));
    buf_add_fmt(out, "\"files\":%zu}", p->files);
}

static void show_text(Buf *out, const SourceDef *s, const SourcePull *p) {
    bool local = p->kind == SOURCE_PULL_LOCAL;
    buf_add_fmt(out, "%-8s " STR_FMT, statuses[p->kind], STR_ARG(local ? s->path : s->url));
    if (!local) buf_add_fmt(out, " " STR_FMT " (%zu %s)", STR_ARG(s->ref), p->files, p->files == 1 ? "file" : "files");
    if (p->links) buf_add_fmt(out, ", %zu %s skipped", p->links, p->links == 1 ? "link" : "links");
    if (p->submodules) buf_add_fmt(out, ", %zu %s skipped", p->submodules, p->submodules == 1 ? "submodule" : "submodules");
    buf_add_char(out, '\n');
}

static bool is_offline(void) {
    const char *offline = getenv("HARNESS_OFFLINE");
    return offline && *offline && strcmp(offline, "0") != 0;
}

/* Tries every source: an unreachable one does not stop the others. */
static void pull_all(Cli *cli, const Project *project, Problems *problems) {
    Arena arena = { 0 };
    Str state = source_state_dir(&arena, NULL);
    size_t shown = 0;
    if (cli->json) buf_add_char(&cli->out, '[');
    for (size_t i = 0; i < project->n_sources; i++) {
        const SourceDef *s = &project->sources[i];
        SourcePull pulled;
        Error err = { 0 };
        if (!source_pull(state, project->root, s, is_offline(), &pulled, &err)) {
            error_wrap(&err, "artifact_sources[%zu]", i);
            error_place(&err, NULL, s->origin.line, s->origin.column);
            problems_add_error(problems, s->origin.file, &err);
        } else if (cli->json) {
            show_json(&cli->out, s, &pulled, shown++ == 0);
        } else {
            show_text(&cli->out, s, &pulled);
        }
    }
    if (cli->json) buf_add(&cli->out, STR("]\n"));
    arena_clear(&arena);
}

/* Errors only: `validate` reports everything else about the settings. */
static int report(Cli *cli, const Problems *problems) {
    Buf line = { 0 };
    for (size_t i = 0; i < problems->n; i++) {
        const Problem *p = &problems->at[i];
        if (p->severity != PROBLEM_ERROR) continue;
        if (cli->json) {
            Error err = { .kind = ERR_CONFIG };
            error_set_at(&err, ERR_CONFIG, p->line, p->column, STR_FMT, STR_ARG(p->message));
            if (p->hint.n) error_hint(&err, STR_FMT, STR_ARG(p->hint));
            char *file = str_dup(p->file);
            error_place(&err, file, p->line, p->column);
            free(file);
            return cli_fail(cli, CLI_FAILED, &err);
        }
        buf_reset(&line);
        problem_format(p, &line);
        cli_say(cli, SAY_ERROR, buf_str(&line));
    }
    buf_clear(&line);
    return CLI_FAILED;
}

/* Fetching contacts a host that the project names. Asks about the sources only: the other grants are unknown before
 * they are fetched, and are checked when something runs. A yes applies only once. */
static bool allowed(Cli *cli, const Project *p, Error *err) {
    Grants sources = { 0 };
    for (size_t i = 0; i < p->n_grants; i++)
        if (p->grants[i].kind == GRANT_KIND_SOURCE) grants_add(&sources, &p->grants[i]);
    TrustSubject s = { .root = p->root, .grants = sources.at, .n_grants = sources.n };
    bool ok, always, known = trust_covers(&s, getenv("HARNESS_TRUST"), &ok, err);
    if (known && !ok) {
        Terminal *terminal = cli->json ? NULL : confirm_terminal_open(cli);
        ok = terminal && trust_prompt_ask(terminal, &s, TRUST_MISSING, &always);
        confirm_terminal_close(terminal);
        if (!ok) error_set(err, ERR_POLICY, "the artifact sources of " STR_FMT " are not trusted", STR_ARG(p->root));
        if (!ok) error_hint(err, "run harness pull on a terminal, or set HARNESS_TRUST to a folder whose projects are trusted");
    }
    VEC_CLEAR(&sources);
    return known && ok;
}

int command_pull(Cli *cli) {
    ProjectInput in = { .dir = cli_project(cli), .config = cli->config, .sources_only = true };
    Problems problems = { 0 };
    Project *project;
    Error err = { 0 };
    int status = CLI_OK;
    if (report_door(cli, false, &in, &project, &problems)) {
        if (allowed(cli, project, &err)) pull_all(cli, project, &problems);
        else status = cli_fail(cli, CLI_FAILED, &err);
    }
    if (problems.errors) status = report(cli, &problems);
    project_free(project);
    problems_clear(&problems);
    return status;
}
