#include "cli/look.h"

int look_open(Look *l, Cli *cli) {
    *l = (Look){ 0 };
    int status = opening_open_reading(&l->opening, cli);
    if (status >= 0) return status;
    AgentsConfig ac = { .model = str_from(args_value(&cli->args, "--model")) };
    SessionConfig sc = { .agent = str_from(args_value(&cli->args, "--agent")), .look = true };
    RunConfig rc = { .no_store = true };
    Error err = { 0 };
    bool ok = agent_set_new(l->opening.rt, &ac, &l->agents, &err) && session_open(l->agents, &sc, &rc, false, &l->session, &err);
    return ok ? -1 : cli_fail(cli, CLI_FAILED, &err);
}

void look_close(Look *l) {
    session_close(l->session, NULL);
    agent_set_free(l->agents);
    opening_close(&l->opening);
}
