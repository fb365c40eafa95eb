#include "cli/listing.h"
#include "cli/report.h"

int command_agents(Cli *cli) {
    Project *p = report_project(cli);
    if (!p) return CLI_FAILED;
    if (cli->json) listing_json_agents(&cli->out, p), buf_add_char(&cli->out, '\n');
    else listing_agents(&cli->out, p, 0, cli->color_out);
    project_free(p);
    return CLI_OK;
}
