/* harness test: runs the tests of the project. */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/mem.h"
#include "cli/report.h"
#include "cli/terminal/trust_prompt.h"
#include "cli/test_suite.h"

typedef struct Testing { TestSuite suite; TestPlace place; Opening open; Project *project; Problems problems; } Testing;

/* ---- which tests ---- */

static bool names_it(const Project *p, const TestDef *def, const char *given) {
    char real[PATH_MAX];
    if (str_eq(def->name, str_from(given)) || str_eq(def->origin.file, str_from(given))) return true;
    if (!realpath(given, real)) return false;
    Buf full = { 0 };
    buf_add_fmt(&full, STR_FMT "/" STR_FMT, STR_ARG(p->root), STR_ARG(def->origin.file));
    bool same = str_eq(buf_str(&full), str_from(real));
    buf_clear(&full);
    return same;
}

static bool choose(Testing *t, Error *err) {
    const Project *p = t->project;
    const Args *a = &t->suite.cli->args;
    bool *wanted = mem_zero(p->n_tests + 1, sizeof *wanted);
    Str *names = mem_zero(p->n_tests + 1, sizeof *names);
    bool ok = true;
    for (size_t i = 0; i < p->n_tests; i++) wanted[i] = a->n_operands == 0, names[i] = p->tests[i].name;
    for (size_t k = 0; ok && k < a->n_operands; k++) {
        bool found = false;
        for (size_t i = 0; i < p->n_tests; i++)
            if (names_it(p, &p->tests[i], a->operands[k])) found = wanted[i] = true;
        if (found) continue;
        Str near = str_nearest(str_from(a->operands[k]), names, p->n_tests);
        ok = error_set(err, ERR_CONFIG, "%s is not a test of this project", a->operands[k]);
        if (near.n) error_hint(err, "did you mean \"" STR_FMT "\"?", STR_ARG(near));
        else error_hint(err, "tests are the files .harness/tests/*.md and *.yaml");
    }
    t->suite.runs = mem_zero(p->n_tests + 1, sizeof *t->suite.runs);
    for (size_t i = 0; ok && i < p->n_tests; i++)
        if (wanted[i]) t->suite.runs[t->suite.n++].def = &p->tests[i];
    free(wanted);
    free(names);
    return ok;
}

/* An unknown key, a warning in validate, is a failure here: a misspelt check would check nothing. */
static void take_warnings(Testing *t) {
    Buf text = { 0 };
    for (size_t i = 0; i < t->problems.n; i++)
        for (size_t k = 0; k < t->suite.n; k++) {
            if (t->problems.at[i].severity != PROBLEM_WARNING || !str_eq(t->problems.at[i].file, t->suite.runs[k].def->origin.file)) continue;
            buf_reset(&text);
            problem_format(&t->problems.at[i], &text);
            test_suite_fail(&t->suite, &t->suite.runs[k], "test", STR(""), buf_str(&text));
        }
    buf_clear(&text);
}

/* ---- location ---- */

/* The rest of `path` after `folder`, if it is below it or equal; else NULL. */
static const char *below(const char *path, const char *folder) {
    size_t n = strlen(folder);
    if (strncmp(path, folder, n) != 0) return NULL;
    return path[n] == 0 ? "" : path[n] == '/' ? path + n + 1 : NULL;
}

/* The folder that contains both the project and its workspace. */
static bool find_source(Testing *t, Error *err) {
    const Project *p = t->project;
    Arena *arena = &t->suite.arena;
    const char *root = arena_str(arena, p->root).at;
    Str given = p->settings.workspace;
    t->place.source = root;
    t->place.below = "";
    if (given.n && given.at[0] != '/' && given.at[0] != '~') {
        char real[PATH_MAX];
        const char *path = arena_fmt(arena, "%s/" STR_FMT, root, STR_ARG(given));
        if (!realpath(path, real)) return error_set(err, ERR_CONFIG, "workspace %s: %m", path);
        if (!below(real, root)) {
            const char *rest = below(root, real);
            if (!rest || strcmp(real, "/") == 0)
                return error_set(err, ERR_CONFIG, "tests run in a copy of the workspace, so it must be below the project's folder or around it");
            t->place.source = arena_str(arena, str_from(real)).at;
            t->place.below = rest;
        }
    } else if (given.n) {
        error_set(err, ERR_CONFIG, "tests run in a copy of the workspace, and " STR_FMT " is an absolute path", STR_ARG(given));
        return error_hint(err, "write `workspace:` relative to the project's folder");
    }
    const char *slash = strrchr(t->place.source, '/');
    t->place.name = slash && slash[1] ? slash + 1 : "workspace";
    return true;
}

static bool prepare(Testing *t, Error *err) {
    Cli *cli = t->suite.cli;
    t->place.project_file = cli->config ? arena_str(&t->suite.arena, t->project->settings.file).at : NULL;
    t->place.project = t->project;
    t->place.events = t->open.events;
    t->place.config.log = log_on(&cli->log, LOG_INFO) ? &cli->log : NULL;   /* output of concurrent tests would be
                                                                             * mixed */
    if (!find_source(t, err) || !choose(t, err)) return false;
    t->suite.project = t->place.name;
    take_warnings(t);
    return true;
}

/* Tests run scripts and programs of the project. */
static bool trusted(Testing *t, Error *err) {
    Cli *cli = t->suite.cli;
    Runtime *rt = NULL;
    Problems problems = { 0 };
    RuntimeConfig config = t->place.config;
    config.ephemeral = true;
    config.own_process = false;
    t->open.terminal = confirm_terminal_open(cli);
    if (t->open.terminal) {
        config.ask_trust = trust_prompt_ask;
        config.ask_changed = trust_prompt_changed;
        config.ask_trust_ctx = t->open.terminal;
    }
    bool ok = runtime_open(&config, &rt, &problems, err);
    if (!ok && err->kind == ERR_POLICY && !cli->json) trust_prompt_explain(cli);
    if (ok) runtime_close(rt);
    problems_clear(&problems);
    return ok;
}

/* ---- entry point ---- */

static int run(Testing *t) {
    Cli *cli = t->suite.cli;
    const char *junit = args_value(&cli->args, "--junit");
    Error err = { 0 };
    int status = opening_config(&t->open, cli, &t->place.config);
    if (status >= 0) return status;
    if (!report_load(cli, false, &t->project, &t->problems)) return report_failure(cli, &t->problems), CLI_FAILED;
    t->place.config.open_files = NULL;                    /* printed once here instead of by every test */
    if (!opening_events(&t->open, t->project, &err) || !trusted(t, &err) || !prepare(t, &err)) return cli_fail(cli, CLI_FAILED, &err);
    if (!test_suite_run(&t->suite, &t->place)) return CLI_INTERRUPTED;
    report_nothing(cli, t->project);
    if (cli->json) test_suite_report_json(&t->suite);
    else test_suite_report_text(&t->suite);
    if (junit && !test_suite_report_junit(&t->suite, t->project, junit, &err)) return cli_fail(cli, CLI_FAILED, &err);
    return t->suite.passed == t->suite.n ? CLI_OK : CLI_FAILED;
}

int command_test(Cli *cli) {
    Testing t = { .suite = { .cli = cli }, .open = { .events = -1 } };
    int status = run(&t);
    for (size_t i = 0; i < t.suite.n; i++) VEC_CLEAR(&t.suite.runs[i].failures);
    free(t.suite.runs);
    arena_clear(&t.suite.arena);
    project_free(t.project);
    problems_clear(&t.problems);
    opening_close(&t.open);
    return status;
}
