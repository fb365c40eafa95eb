#include "cli/starlark_session.h"

#include <stdlib.h>
#include <unistd.h>
#include "base/mem.h"

/* A user's own script may use more memory than a tool. */
#define HEAP_LIMIT ((size_t)4 << 30)
#define OUTPUT_LIMIT ((size_t)1 << 40)
enum { RECURSION_DEPTH = 10000 };

static void print_line(void *ctx, Str line) {
    (void)ctx;
    Buf text = { 0 };
    buf_add(&text, line);
    buf_add_char(&text, '\n');
    (void)cli_write(STDERR_FILENO, buf_str(&text), false);
    buf_clear(&text);
}

StarlarkSession *starlark_session_new(const Args *a) {
    StarlarkSession *s = mem_zero(1, sizeof *s);
    bool recursion = args_has(a, "--allow-recursion");
    s->universe = universe_new();
    s->heap = heap_new(HEAP_LIMIT);
    s->config = (VmConfig){ .allow_recursion = recursion, .max_depth = recursion ? RECURSION_DEPTH : 0,
                            .max_output = OUTPUT_LIMIT, .print = print_line };
    s->vm = vm_new(s->heap, &s->config);
    s->predeclared = s->universe->json_math;
    s->options = (ModuleOptions){ .universe = s->universe, .predeclared = s->predeclared,
                                  .allow_while = args_has(a, "--allow-while"), .allow_toplevel = args_has(a, "--allow-toplevel") };
    s->errors = mem_zero(1, sizeof *s->errors);
    return s;
}

void starlark_session_free(StarlarkSession *s) {
    vm_free(s->vm);
    for (size_t i = 0; i < s->n_modules; i++) module_free(s->modules[i]);
    heap_free(s->heap);
    universe_free(s->universe);
    free(s->modules);
    free(s->errors);
    free(s);
}

ResolverErrors *starlark_session_errors(StarlarkSession *s) {
    s->errors->n = s->errors->total = 0;
    return s->errors;
}

Module *starlark_session_last(const StarlarkSession *s) { return s->n_modules ? s->modules[s->n_modules - 1] : NULL; }

bool starlark_session_run(StarlarkSession *s, const Source *source, Value *out, Error *err) {
    Module *m;
    if (!module_compile(s->heap, source, &s->options, &m, starlark_session_errors(s), err)) return false;
    s->modules = mem_resize(s->modules, s->n_modules + 1, sizeof *s->modules);
    s->modules[s->n_modules++] = m;
    return module_load(s->vm, m, out, err);
}

bool starlark_session_is_expression(StarlarkSession *s, const Source *source) {
    ModuleOptions o = s->options;
    o.expression = true;
    Error ignored = { 0 };
    return module_check(source, &o, NULL, &ignored);
}

static void report_static(const Source *source, const Error *err, Buf *out) {
    char line[2048];
    error_format(err, line, sizeof line);
    buf_add_fmt(out, "%s\n", line);
    source_excerpt(source, err->line, err->column, out);
}

static bool is_static(const StarlarkSession *s, const Error *err) {
    const VmPlace *trace;
    return err->kind == ERR_PARSE && vm_traceback(s->vm, &trace) == 0;
}

int starlark_session_report(Cli *cli, StarlarkSession *s, const Source *source, const Error *err) {
    if (cli->json) return cli_fail(cli, CLI_FAILED, err);
    Buf text = { 0 };
    if (s->errors->n) {
        for (size_t i = 0; i < s->errors->n; i++) report_static(source, &s->errors->at[i], &text);
        if (s->errors->total > s->errors->n) buf_add_fmt(&text, "… and %zu more\n", s->errors->total - s->errors->n);
    } else if (is_static(s, err)) {
        report_static(source, err, &text);
    } else {
        vm_format_failure(s->vm, err, &text);
    }
    (void)cli_write(STDERR_FILENO, buf_str(&text), false);
    buf_clear(&text);
    return CLI_FAILED;
}
