#include "cli/report.h"
#include "base/clock.h"
#include <stdlib.h>
#include <unistd.h>
#include "cli/excerpt.h"
#include "policy/queue_tools.h"
#include "policy/safety.h"
#include "tool/protect/confine.h"
#include "tool/protect/record.h"
#include "tool/protect/uses.h"

void report_count(Buf *out, size_t n, const char *noun) {
    buf_add_fmt(out, "%zu %s%s", n, noun, n == 1 ? "" : "s");
}

bool report_door(Cli *cli, bool reading, const ProjectInput *in, Project **out, Problems *problems) {
    RecordPlaces places;
    Buf told = { 0 };
    Error err = { 0 };
    record_places(NULL, &places);
    bool ok = record_load(&(RecordDoor){ .places = &places, .reading = reading, .told = &told }, in, out, problems, &err);
    Str rest = buf_str(&told), line;
    while (rest.n && str_next_line(&rest, &line)) cli_say(cli, SAY_WARNING, line);
    if (err.kind != ERR_NONE) problems_add(problems, PROBLEM_ERROR, STR(""), (Place){ 0 }, str_from(err.hint), "%s", err.msg);
    buf_clear(&told);
    record_places_clear(&places);
    cli->listing = true;
    if (ok) cli_know(cli, *out);
    return ok;
}

bool report_load(Cli *cli, bool strict, Project **out, Problems *problems) {
    bool ok = report_door(cli, true, &(ProjectInput){ .dir = cli_project(cli), .config = cli->config, .strict = strict,
        .lenient = args_has(&cli->args, "--lenient") }, out, problems);
    if (ok && !(safety_check(*out, problems) && confine_check(*out, problems) && uses_check(*out, problems) && queue_tools_check(*out, problems))) {
        project_free(*out);
        *out = NULL;
        ok = false;
    }
    problems_sort(problems);
    return ok;
}

/* `source` may be NULL: the line of the file is not shown. */
static void say_problem(const Cli *cli, const Problem *p, Excerpt *source, Buf *line) {
    static const SayLevel level[] = { [PROBLEM_ERROR] = SAY_ERROR, [PROBLEM_WARNING] = SAY_WARNING, [PROBLEM_HINT] = SAY_HINT };
    buf_reset(line);
    problem_format(p, line);
    if (p->severity != PROBLEM_ERROR) buf_add_fmt(line, " [%s]", problem_severity_name(p->severity));
    cli_say(cli, level[p->severity], buf_str(line));
    buf_reset(line);
    if (source && p->severity == PROBLEM_ERROR) excerpt_add(source, p, line);
    if (line->n) cli_write(STDERR_FILENO, buf_str(line), cli->color_err);
}

static void say_dropped(const Cli *cli, const Problems *problems) {
    if (!problems->dropped) return;
    Buf line = { 0 };
    buf_add_fmt(&line, "%zu more problems are not shown", problems->dropped);
    cli_say(cli, SAY_ERROR, buf_str(&line));
    buf_clear(&line);
}

void report_problems(Cli *cli, const Problems *problems) {
    Buf line = { 0 };
    Excerpt source;
    excerpt_open(&source, cli);
    for (size_t i = 0; i < problems->n; i++) say_problem(cli, &problems->at[i], &source, &line);
    excerpt_close(&source);
    say_dropped(cli, problems);
    buf_clear(&line);
}

void report_nothing(const Cli *cli, const Project *p) {
    if (p->settings.file.n || p->n_tools || p->n_hooks || p->n_agents || p->n_tests || p->n_servers) return;
    cli_say(cli, SAY_HINT, STR("this folder has no project (create one with: harness init)"));
}

/* Reports the first error; the hint says where to see the others. */
static void fail_with_first(Cli *cli, const Problems *problems) {
    Error err = { 0 };
    size_t i = 0;
    while (i < problems->n && problems->at[i].severity != PROBLEM_ERROR) i++;
    if (i == problems->n) {
        error_set(&err, ERR_CONFIG, "the project is not valid");
    } else {
        const Problem *p = &problems->at[i];
        char *file = str_dup(p->file);
        error_set(&err, ERR_CONFIG, STR_FMT, STR_ARG(p->message));
        error_place(&err, file, p->line, p->column);
        if (p->hint.n) error_hint(&err, STR_FMT, STR_ARG(p->hint));
        else if (problems->errors > 1) error_hint(&err, "%zu errors in total: see harness validate", problems->errors);
        free(file);
    }
    cli_fail(cli, CLI_FAILED, &err);
}

void report_failure(Cli *cli, const Problems *problems) {
    if (cli->json) {
        fail_with_first(cli, problems);
        return;
    }
    Buf line = { 0 };
    Excerpt source;
    bool terminal = isatty(STDERR_FILENO);
    if (terminal) excerpt_open(&source, cli);
    for (size_t i = 0; i < problems->n; i++)
        if (problems->at[i].severity == PROBLEM_ERROR) say_problem(cli, &problems->at[i], terminal ? &source : NULL, &line);
    if (terminal) excerpt_close(&source);
    say_dropped(cli, problems);
    buf_clear(&line);
}

Project *report_project(Cli *cli) {
    Project *project = NULL;
    Problems problems = { 0 };
    if (!report_load(cli, false, &project, &problems)) report_failure(cli, &problems);
    problems_clear(&problems);
    return project;
}

void report_age(Buf *out, int64_t since_ns) {
    long long s = (long long)((clock_wall_ns() - since_ns) / 1000000000);
    if (s < 60) buf_add_fmt(out, "%lld s", s < 0 ? 0 : s);
    else if (s < 3600) buf_add_fmt(out, "%lld min", s / 60);
    else if (s < 172800) buf_add_fmt(out, "%lld h", s / 3600);
    else buf_add_fmt(out, "%lld d", s / 86400);
}
