/* harness mcp approve SERVER: accepts the current tools of a server. */
#include "cli/opening.h"
#include "cli/terminal/confirm_terminal.h"
#include "mcp/remote/remotes.h"
#include "value/json.h"

typedef struct Approving { Cli *cli; McpRemotes *servers; Terminal *terminal; size_t done; bool refused; } Approving;

static void add_result(Approving *a, Str name, Str shown) {
    Buf *out = &a->cli->out;
    if (a->cli->json) {
        buf_add(out, a->done ? STR(",{\"server\":") : STR("[{\"server\":"));
        json_write_string(out, name, false);
        buf_add(out, STR(",\"approved\":"));
        json_write_string(out, shown, false);
        buf_add_char(out, '}');
    } else if (shown.n == 0) buf_add_fmt(out, STR_FMT ": nothing to approve\n", STR_ARG(name));
    else {
        if (!a->terminal) cli_escape_all(out, shown, true);       /* a user at the terminal has seen it */
        buf_add_fmt(out, STR_FMT ": approved\n", STR_ARG(name));
    }
    a->done++;
}

/* Shows the changes at the terminal. Anything but a yes leaves them held. */
static bool agrees(const Approving *a, Str name, Str shown) {
    Buf text = { 0 }, line = { 0 };
    cli_escape_all(&text, shown, true);
    buf_add_fmt(&text, "approve these tools of server " STR_FMT "? [y/N] ", STR_ARG(name));
    bool yes = confirm_terminal_question(a->terminal, buf_str(&text), NULL, &line) && line.n && (line.at[0] == 'y' || line.at[0] == 'Y');
    buf_clear(&text);
    buf_clear(&line);
    return yes;
}

static bool approve(Approving *a, Str name, Error *err) {
    Buf shown = { 0 };
    bool ok = mcp_remotes_changes(a->servers, name, &shown, err);
    bool yes = ok && (shown.n == 0 || !a->terminal || agrees(a, name, buf_str(&shown)));
    if (ok && !yes) {
        buf_add_fmt(&a->cli->out, STR_FMT ": not approved\n", STR_ARG(name));
        a->refused = true;
    }
    ok = ok && (!yes || shown.n == 0 || mcp_remotes_approve(a->servers, name, buf_str(&shown), err));
    if (ok && yes) add_result(a, name, buf_str(&shown));
    buf_clear(&shown);
    return ok;
}

static int run(Cli *cli, McpRemotes *m, Terminal *terminal) {
    bool all = args_has(&cli->args, "--all"), ok = true, sure = args_has(&cli->args, "--yes");
    Approving a = { .cli = cli, .servers = m, .terminal = sure ? NULL : terminal };
    Error err = { 0 };
    if (!sure && (!terminal || cli->json)) {
        error_set(&err, ERR_POLICY, "approving needs a terminal to ask you");
        error_hint(&err, "--yes approves without asking");
        return cli_fail(cli, CLI_FAILED, &err);
    }
    if (all == (cli->args.n_operands > 0)) {
        error_set(&err, ERR_VALIDATION, "name one server, or use --all");
        return cli_fail(cli, CLI_WRONG_USE, &err);
    }
    if (!all) ok = approve(&a, str_from(cli->args.operands[0]), &err);
    for (size_t i = 0; all && ok && i < mcp_remotes_count(m); i++) ok = approve(&a, mcp_remotes_facts(m, i).def->name, &err);
    if (!ok) return cli_fail(cli, CLI_FAILED, &err);
    if (cli->json) buf_add(&cli->out, a.done ? STR("]\n") : STR("[]\n"));
    return a.refused ? CLI_FAILED : CLI_OK;
}

int command_mcp_approve(Cli *cli) {
    Opening o;
    int status = opening_open(&o, cli, NULL);
    if (status < 0) status = run(cli, o.servers, o.terminal);
    opening_close(&o);
    return status;
}
