#define PCRE2_CODE_UNIT_WIDTH 8
#include <gmp.h>
#include <pcre2.h>
#include <yaml.h>
#include "cli/cli.h"
#include "cli/commit.h"
#include "harness.h"
#include "value/json.h"

/* Only linked libraries: asking a library that is loaded on first use would load it. */
int command_version(Cli *cli) {
    char pcre2[64] = "";                                 /* "10.42 2022-12-11" */
    if (pcre2_config(PCRE2_CONFIG_VERSION, NULL) < (int)sizeof pcre2) pcre2_config(PCRE2_CONFIG_VERSION, pcre2);
    pcre2[strcspn(pcre2, " ")] = 0;
    const struct { const char *name, *version; } libraries[] = {
        { "libyaml", yaml_get_version_string() },
        { "GMP", gmp_version },
        { "PCRE2", pcre2 },
    };
    Buf *out = &cli->out;
    buf_add_fmt(out, cli->json ? "{\"version\":\"%s\",\"commit\":\"%s\",\"libraries\":{" : "harness %s (commit %s)\n",
                harness_version(), commit_id);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        if (!cli->json) {
            buf_add_fmt(out, "%s %s\n", libraries[i].name, libraries[i].version);
            continue;
        }
        if (i) buf_add_char(out, ',');
        json_write_string(out, str_from(libraries[i].name), false);
        buf_add_char(out, ':');
        json_write_string(out, str_from(libraries[i].version), false);
    }
    if (cli->json) buf_add(out, STR("}}\n"));
    return CLI_OK;
}
