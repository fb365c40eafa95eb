#include <yaml.h>
#include "cli/cli.h"
#include "cli/commit.h"
#include "harness.h"

/* Of libraries, only the linked one: asking one that is loaded on first use would load it. */
int command_version(Cli *cli) {
    buf_add_fmt(&cli->out, cli->json ? "{\"version\":\"%s\",\"commit\":\"%s\",\"libraries\":{\"libyaml\":\"%s\"}}\n" : "harness %s (commit %s)\nlibyaml %s\n",
                harness_version(), commit_id, yaml_get_version_string());
    return CLI_OK;
}
