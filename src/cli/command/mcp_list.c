/* harness mcp list: the servers of the project and what is known about them. Starts none. */
#include "cli/opening.h"
#include "cli/terminal/table.h"
#include "cli/terminal/trust_prompt.h"
#include "mcp/remote/remotes.h"
#include "value/json.h"

static const char *state_of(const McpServerFacts *f, bool trusted) {
    if (!trusted) return "not trusted";
    if (f->held) return "held";
    return f->problem[0] ? "failed" : f->listed ? "ready" : "not seen yet";
}

static void add_json(Buf *out, const McpServerFacts *f, bool trusted) {
    const ServerDef *d = f->def;
    buf_add(out, STR("{\"name\":"));
    json_write_string(out, d->name, false);
    buf_add_fmt(out, ",\"transport\":\"%s\",\"target\":", d->url.n ? "http" : "stdio");
    json_write_string(out, d->url.n ? d->url : d->command, false);
    buf_add_fmt(out, ",\"state\":\"%s\",\"trusted\":%s,\"tools\":%zu,\"held\":%zu,\"file\":", state_of(f, trusted),
        trusted ? "true" : "false", f->tools, f->held);
    json_write_string(out, d->origin.file, false);
    buf_add(out, STR(",\"instructions\":"));
    if (f->instructions.n) json_write_string(out, f->instructions, false);
    else buf_add(out, STR("null"));
    buf_add(out, STR(",\"problem\":"));
    if (f->problem[0]) json_write_string(out, str_from(f->problem), false);
    else buf_add(out, STR("null"));
    buf_add_char(out, '}');
}

static void add_row(Table *t, const McpServerFacts *f, bool trusted) {
    const ServerDef *d = f->def;
    Buf target = { 0 };
    buf_add(&target, d->url.n ? d->url : d->command);
    for (size_t i = 0; !d->url.n && i < d->args.n; i++) buf_add_char(&target, ' '), buf_add(&target, d->args.at[i]);
    table_add(t, d->name);
    table_add(t, str_from(d->url.n ? "http" : "stdio"));
    table_add(t, str_from(state_of(f, trusted)));
    if (f->listed) table_add_fmt(t, "%zu tools", f->tools);
    else table_add(t, STR("-"));
    table_add(t, buf_str(&target));
    buf_clear(&target);
}

static void print(Cli *cli, McpRemotes *m, bool trusted) {
    Table t = { .columns = 5 };
    size_t n = mcp_remotes_count(m);
    if (cli->json) buf_add_char(&cli->out, '[');
    for (size_t i = 0; i < n; i++) {
        McpServerFacts f = mcp_remotes_facts(m, i);
        if (cli->json && i) buf_add_char(&cli->out, ',');
        if (cli->json) add_json(&cli->out, &f, trusted);
        else add_row(&t, &f, trusted);
    }
    if (cli->json) buf_add(&cli->out, STR("]\n"));
    else table_write(&t, &cli->out, 0, cli->color_out);
    if (!cli->json) cli_flush(cli);                      /* print the list before the message about it */
    for (size_t i = 0; !cli->json && i < n; i++) {
        McpServerFacts f = mcp_remotes_facts(m, i);
        if (f.problem[0]) cli_say(cli, SAY_WARNING, str_from(f.problem));
    }
    if (!cli->json && n == 0) cli_say(cli, SAY_HINT, STR("no MCP servers are configured (harness mcp add NAME -- CMD...)"));
}

int command_mcp_list(Cli *cli) {
    Opening o;
    int status = opening_open_reading(&o, cli);
    Error err = { 0 };
    bool trusted;
    if (status < 0 && !trust_prompt_trusted(o.rt, &trusted, &err)) status = cli_fail(cli, CLI_FAILED, &err);
    if (status < 0) {
        print(cli, o.servers, trusted);
        status = CLI_OK;
    }
    opening_close(&o);
    return status;
}
