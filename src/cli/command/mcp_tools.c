/* harness mcp tools SERVER|URL: lists the server's current tools. */
#include <stdlib.h>
#include "cli/terminal/interrupt.h"
#include "cli/listing.h"
#include "cli/mcp_direct.h"
#include "cli/terminal/table.h"
#include "mcp/remote/remotes.h"
#include "tool/kind/kind.h"
#include "value/json.h"

static bool print_direct(Cli *cli, const McpDirect *d, const List *tools, Error *err) {
    if (cli->json) {
        buf_add(&cli->out, STR("{\"protocol\":"));
        json_write_string(&cli->out, mcp_version_date(mcp_client_version(d->client)), false);
        buf_add(&cli->out, STR(",\"server\":"));
        if (!json_write(&cli->out, mcp_client_offers(d->client), &(JsonWrite){ 0 }, err)) return false;
        buf_add(&cli->out, STR(",\"tools\":"));
        if (!json_write(&cli->out, value_from_object(tools), &(JsonWrite){ 0 }, err)) return false;
        buf_add(&cli->out, STR("}\n"));
        return true;
    }
    Table t = { .columns = 2 };
    for (uint32_t i = 0; i < tools->n; i++) {
        table_add(&t, value_member_text(tools->at[i], "name"));
        table_add(&t, listing_summary(value_member_text(tools->at[i], "description")));
    }
    table_write(&t, &cli->out, 0, cli->color_out);
    return true;
}

static int direct(Cli *cli, const char *url) {
    McpDirect d = { 0 };
    Error err = { 0 };
    List *tools;
    Cancel *cancel = cancel_new(NULL, 0);
    Interrupt *interrupt = interrupt_start(cancel);
    bool ok = mcp_direct_open(&d, cli, url, cancel, &err) && mcp_client_list(d.client, STR("tools/list"), STR("tools"), cancel, d.heap, &tools, &err)
              && print_direct(cli, &d, tools, &err);
    mcp_direct_redact(&d, &cli->out, &err);
    mcp_direct_close(&d);
    bool stopped = interrupt_stop(interrupt);
    cancel_free(cancel);
    if (ok) return CLI_OK;
    return stopped ? CLI_INTERRUPTED : cli_fail(cli, err.kind == ERR_VALIDATION ? CLI_WRONG_USE : CLI_FAILED, &err);
}

static bool print_registered(Cli *cli, Runtime *rt, Str server, Error *err) {
    const ToolEntry **all;
    size_t n = registry_list(runtime_registry(rt), NULL, 0, &all), shown = 0;
    Table t = { .columns = 3 };
    bool ok = true;
    if (cli->json) buf_add_char(&cli->out, '[');
    for (size_t i = 0; ok && i < n; i++) {
        const ToolDef *d = &all[i]->def;
        if (d->kind != TOOL_MCP || !str_eq(d->server, server)) continue;
        if (cli->json) {
            buf_add_fmt(&cli->out, "%s{", shown++ ? "," : "");
            ok = listing_json_tool(&cli->out, d, true, err);
            buf_add_fmt(&cli->out, ",\"held\":%s}", all[i]->held ? "true" : "false");
            continue;
        }
        table_add(&t, d->name);
        table_add(&t, all[i]->held ? STR("held") : STR(""));
        table_add(&t, listing_summary(d->description));
    }
    if (cli->json) buf_add(&cli->out, STR("]\n"));
    else table_write(&t, &cli->out, 0, cli->color_out);
    free(all);
    return ok;
}

static int configured(Cli *cli, Str server) {
    Opening o;
    Error err = { 0 };
    int status = opening_open(&o, cli, NULL);
    if (status < 0) {
        Cancel *cancel = cancel_new(NULL, 0);
        Interrupt *interrupt = interrupt_start(cancel);
        interrupt_runtime(interrupt, o.rt);
        bool ok = mcp_remotes_ask(o.servers, server, cancel, &err) && print_registered(cli, o.rt, server, &err);
        bool stopped = interrupt_stop(interrupt);
        cancel_free(cancel);
        status = ok ? CLI_OK : stopped ? CLI_INTERRUPTED : cli_fail(cli, CLI_FAILED, &err);
    }
    opening_close(&o);
    return status;
}

int command_mcp_tools(Cli *cli) {
    const char *who = cli->args.operands[0];
    return mcp_direct_is_url(who) ? direct(cli, who) : configured(cli, str_from(who));
}
