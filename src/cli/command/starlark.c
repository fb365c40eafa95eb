/* harness starlark: runs a file or an expression, checks it, or measures functions. Without either, a prompt
 * (starlark_prompt.c). */
#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/starlark_session.h"
#include "starlark/vm/repr.h"

enum { FILE_MAX_BYTES = 64 << 20, BENCH_ROUNDS = 3 };

static bool read_source(Cli *cli, Buf *text, Source *out, Error *err) {
    const char *code = args_value(&cli->args, "--eval");
    *out = (Source){ .file = STR("<expr>"), .text = code ? str_from(code) : STR("") };
    if (code) return true;
    const char *path = cli->args.operands[0];
    if (!cli_read(path, FILE_MAX_BYTES, text, err)) return false;
    *out = (Source){ .file = strcmp(path, "-") == 0 ? STR("<stdin>") : str_from(path), .text = buf_str(text) };
    return true;
}

static int check_only(Cli *cli, StarlarkSession *s, const Source *source) {
    ResolverErrors *all = starlark_session_errors(s);
    Error err = { 0 };
    if (module_check(source, &s->options, all, &err)) return CLI_OK;
    return starlark_session_report(cli, s, source, &err);
}

static int run_source(Cli *cli, StarlarkSession *s, const Source *source, bool expression) {
    Error err = { 0 };
    Value v;
    s->options.expression = expression;
    if (!starlark_session_run(s, source, &v, &err)) return starlark_session_report(cli, s, source, &err);
    if (expression && !value_is_none(v) && !repr_value(s->vm, &cli->out, v, &err)) return starlark_session_report(cli, s, source, &err);
    if (expression && !value_is_none(v)) buf_add_char(&cli->out, '\n');
    return CLI_OK;
}

/* Best of three, in milliseconds. */
static bool measure(StarlarkSession *s, Str name, double *out, Error *err) {
    Value fn = module_global(starlark_session_last(s), name), v;
    if (value_is_gone(fn)) return error_set(err, ERR_SCRIPT, "no function named " STR_FMT, STR_ARG(name));
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        int64_t start = clock_mono_ns();
        if (!vm_call(s->vm, fn, NULL, 0, &v, err)) return false;
        double ms = (double)(clock_mono_ns() - start) / 1e6;
        if (i == 0 || ms < *out) *out = ms;
    }
    return true;
}

static int bench(Cli *cli, StarlarkSession *s, const Source *source) {
    Error err = { 0 };
    Value v;
    if (!starlark_session_run(s, source, &v, &err)) return starlark_session_report(cli, s, source, &err);
    for (size_t i = 1; i < cli->args.n_operands; i++) {
        double ms = 0;
        if (!measure(s, str_from(cli->args.operands[i]), &ms, &err)) return starlark_session_report(cli, s, source, &err);
        buf_add_fmt(&cli->out, "%s %.3f ms\n", cli->args.operands[i], ms);
    }
    return CLI_OK;
}

static int wrong_use(Cli *cli, const char *text) {
    Error err = { 0 };
    error_set(&err, ERR_VALIDATION, "starlark: %s", text);
    return cli_fail(cli, CLI_WRONG_USE, &err);
}

int command_starlark(Cli *cli) {
    const Args *a = &cli->args;
    bool eval = args_value(a, "--eval") != NULL, measure_it = args_has(a, "--bench");
    if (eval && a->n_operands) return wrong_use(cli, "a file and -e cannot be combined");
    if (measure_it && (eval || a->n_operands < 2)) return wrong_use(cli, "--bench needs a FILE and at least one function");
    if (!measure_it && a->n_operands > 1) return wrong_use(cli, "too many arguments");
    StarlarkSession *s = starlark_session_new(a);
    Buf text = { 0 };
    Source source;
    Error err = { 0 };
    int status;
    if (!eval && !a->n_operands) status = starlark_session_prompt(cli, s);
    else if (!read_source(cli, &text, &source, &err)) status = cli_fail(cli, CLI_FAILED, &err);
    else if (args_has(a, "--check")) status = check_only(cli, s, &source);
    else if (measure_it) status = bench(cli, s, &source);
    else status = run_source(cli, s, &source, eval && starlark_session_is_expression(s, &source));
    starlark_session_free(s);
    buf_clear(&text);
    return status;
}
