/* harness mcp logout SERVER|URL: revokes and deletes its stored token. */
#include "cli/terminal/interrupt.h"
#include "cli/mcp_direct.h"
#include "mcp/remote/remotes.h"
#include "value/json.h"

static void tell(Cli *cli, Str who, const OAuthForgotten *f) {
    if (cli->json) {
        buf_add(&cli->out, STR("{\"server\":"));
        json_write_string(&cli->out, who, false);
        buf_add_fmt(&cli->out, ",\"forgotten\":%s,\"revoked\":%s", f->kept ? "true" : "false", f->revoked ? "true" : "false");
        if (f->kept && !f->revoked) buf_add(&cli->out, STR(",\"reason\":")), json_write_string(&cli->out, str_from(f->why.msg), false);
        buf_add(&cli->out, STR("}\n"));
        return;
    }
    buf_add(&cli->out, who);
    buf_add(&cli->out, !f->kept ? STR(": no token is stored") : f->revoked ? STR(": signed out; its token was revoked")
                                                             : STR(": signed out; its token was deleted here, but not revoked: "));
    if (f->kept && !f->revoked) cli_escape_all(&cli->out, str_from(f->why.msg), false);
    buf_add_char(&cli->out, '\n');
}

/* For a URL `direct`, else for a server of the project. */
static int logout(Cli *cli, McpRemotes *m, OAuth *direct, Str who) {
    OAuthForgotten forgotten;
    Error err = { 0 };
    Cancel *cancel = cancel_new(NULL, 0);
    Interrupt *interrupt = interrupt_start(cancel);
    bool ok = direct ? oauth_forget(direct, cancel, &forgotten, &err) : mcp_remotes_logout(m, who, cancel, &forgotten, &err);
    bool stopped = interrupt_stop(interrupt);
    cancel_free(cancel);
    if (ok) return tell(cli, who, &forgotten), CLI_OK;
    return stopped ? CLI_INTERRUPTED : cli_fail(cli, CLI_FAILED, &err);
}

static int direct(Cli *cli, Str url) {
    OAuthDirect d = { 0 };
    Error err = { 0 };
    Client *http = client_new();
    Heap *heap = heap_new(0);
    int status = oauth_direct_open(&d, cli, url, http, heap, &err) ? logout(cli, NULL, d.oauth, url)
                                                                   : cli_fail(cli, err.kind == ERR_VALIDATION ? CLI_WRONG_USE : CLI_FAILED, &err);
    oauth_direct_close(&d);
    heap_free(heap);
    client_free(http);
    return status;
}

static int configured(Cli *cli, Str server) {
    Opening o;
    int status = opening_open(&o, cli, NULL);
    if (status < 0) status = logout(cli, o.servers, NULL, server);
    opening_close(&o);
    return status;
}

int command_mcp_logout(Cli *cli) {
    const char *who = cli->args.operands[0];
    return mcp_direct_is_url(who) ? direct(cli, str_from(who)) : configured(cli, str_from(who));
}
