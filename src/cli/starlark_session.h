/* State of harness starlark: one heap, one VM, and the modules run so far. */
#pragma once
#include "cli/cli.h"
#include "starlark/module.h"

typedef struct StarlarkSession {
    Universe *universe;
    Heap *heap;
    Vm *vm;
    Dict *predeclared;           /* json, math */
    ModuleOptions options;
    VmConfig config;
    struct Module **modules;     /* all modules run; values of earlier ones stay in use */
    size_t n_modules;
    ResolverErrors *errors;
} StarlarkSession;

StarlarkSession *starlark_session_new(const Args *a);     /* takes --allow-recursion, --allow-while, --allow-toplevel */
void starlark_session_free(StarlarkSession *s);

/* Compiles and runs one text; it sees the globals of earlier ones if options.after is set. */
bool starlark_session_run(StarlarkSession *s, const Source *source, Value *out, Error *err);
/* True if the whole text is one expression. */
bool starlark_session_is_expression(StarlarkSession *s, const Source *source);
struct Module *starlark_session_last(const StarlarkSession *s);  /* NULL: none yet */
ResolverErrors *starlark_session_errors(StarlarkSession *s);     /* emptied */

/* Prints a failure of the last run: the traceback, then "Error: TEXT"; or for text that did not compile, each error
 * with its location and an excerpt. Returns CLI_FAILED. */
int starlark_session_report(Cli *cli, StarlarkSession *s, const Source *source, const Error *err);
int starlark_session_prompt(Cli *cli, StarlarkSession *s);       /* starlark_prompt.c */
