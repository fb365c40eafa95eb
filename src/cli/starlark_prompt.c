#include "cli/starlark_session.h"

int starlark_session_prompt(Cli *cli, StarlarkSession *s) {
    (void)s;
    Error err = { 0 };
    error_set(&err, ERR_VALIDATION, "starlark: give a FILE or -e CODE");
    return cli_fail(cli, CLI_WRONG_USE, &err);
}
