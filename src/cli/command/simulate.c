/* harness simulate: recorded calls, judged by the project as it is and by a draft of its files. */
#include "cli/opening.h"
#include "doors/simulate.h"
#include "harness.h"

int command_simulate(Cli *cli) {
    Opening o;
    RuntimeConfig config;
    Error err = { 0 };
    Buf request = { 0 };
    const char *file = cli->args.n_operands ? cli->args.operands[0] : NULL;
    int status = opening_config(&o, cli, &config);
    if (status < 0 && file && !cli_read(file, SIMULATE_REQUEST_MAX, &request, &err)) status = cli_fail(cli, CLI_FAILED, &err);
    if (!file) buf_add(&request, STR("{}"));
    if (status < 0) {                                    /* without a thread for signals: the process restricts itself, and has nothing to undo */
        bool ok = simulate_run(&config, harness_version(), buf_str(&request), &cli->out, &err);
        status = ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
    }
    buf_clear(&request);
    opening_close(&o);
    return status;
}
