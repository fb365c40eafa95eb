/* harness mcp approve SERVER: accepts the current tools of a server. */
#include "cli/opening.h"
#include "mcp/remote/remotes.h"
#include "value/json.h"

static bool approve(Cli *cli, McpRemotes *m, Str name, size_t *done, Error *err) {
    Buf shown = { 0 };
    bool ok = mcp_remotes_approve(m, name, &shown, err);
    if (ok && cli->json) {
        buf_add(&cli->out, *done ? STR(",{\"server\":") : STR("[{\"server\":"));
        json_write_string(&cli->out, name, false);
        buf_add(&cli->out, STR(",\"approved\":"));
        json_write_string(&cli->out, buf_str(&shown), false);
        buf_add_char(&cli->out, '}');
    } else if (ok && shown.n == 0) buf_add_fmt(&cli->out, STR_FMT ": nothing to approve\n", STR_ARG(name));
    else if (ok) {
        cli_escape_all(&cli->out, buf_str(&shown), true);
        buf_add_fmt(&cli->out, STR_FMT ": approved\n", STR_ARG(name));
    }
    *done += ok;
    buf_clear(&shown);
    return ok;
}

static int run(Cli *cli, McpRemotes *m, bool has_terminal) {
    bool all = args_has(&cli->args, "--all"), ok = true;
    Error err = { 0 };
    size_t done = 0;
    if (!has_terminal && !args_has(&cli->args, "--yes")) {
        error_set(&err, ERR_POLICY, "approving needs a terminal");
        error_hint(&err, "--yes approves without asking");
        return cli_fail(cli, CLI_FAILED, &err);
    }
    if (all == (cli->args.n_operands > 0)) {
        error_set(&err, ERR_VALIDATION, "name one server, or use --all");
        return cli_fail(cli, CLI_WRONG_USE, &err);
    }
    if (!all) ok = approve(cli, m, str_from(cli->args.operands[0]), &done, &err);
    for (size_t i = 0; all && ok && i < mcp_remotes_count(m); i++) ok = approve(cli, m, mcp_remotes_facts(m, i).def->name, &done, &err);
    if (ok && cli->json) buf_add(&cli->out, done ? STR("]\n") : STR("[]\n"));
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}

int command_mcp_approve(Cli *cli) {
    Opening o;
    int status = opening_open(&o, cli, NULL);
    if (status < 0) status = run(cli, o.servers, o.terminal != NULL);
    opening_close(&o);
    return status;
}
