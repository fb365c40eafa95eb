/* harness mcp serve: the project's tools, resources and prompts for MCP clients. */
#include <unistd.h>
#include "cli/terminal/interrupt.h"
#include "cli/mcp_http.h"
#include "cli/opening.h"
#include "cli/report.h"
#include "harness.h"
#include "mcp/host/host.h"

enum { GRACE_MS = 5000 };

typedef struct Serving {
    Cli *cli;
    Opening open;                        /* only its flags: the server opens the runtime */
    McpHost *server;
    McpHttp http;
} Serving;

/* Tells a user who runs this at a terminal why nothing happens. */
static void say_what_waits(const Cli *cli) {
    if (isatty(STDIN_FILENO) && !args_has(&cli->args, "--quiet"))
        cli_say(cli, SAY_HINT, STR("waiting for an MCP client on standard input (a client starts this command; for HTTP use --http ADDR); Ctrl-C ends"));
}

static void abandon(void *ctx) { mcp_host_abandon(ctx); }

static int serve(Serving *v) {
    Error err = { 0 };
    Cancel *stop = cancel_new(NULL, 0);
    Interrupt *interrupt = interrupt_start(stop);
    interrupt_last(interrupt, abandon, v->server);
    bool http = v->http.config.address != NULL, ok;
    if (!http) say_what_waits(v->cli);
    ok = http ? mcp_serve_http(v->server, &v->http.config, stop, &err) : mcp_serve_stdio(v->server, STDIN_FILENO, STDOUT_FILENO, stop, &err);
    mcp_host_close(v->server, GRACE_MS);
    interrupt_stop(interrupt);
    cancel_free(stop);
    return ok ? CLI_OK : cli_fail(v->cli, CLI_FAILED, &err);
}

typedef struct Files { Opening *open; McpHostConfig *config; } Files;

static bool open_files(void *ctx, const Project *p, Error *err) {
    Files *f = ctx;
    bool ok = opening_events(f->open, p, err);
    f->config->events = f->open->events;
    return ok;
}

static int open_server(Serving *v) {
    McpHostConfig config = { .events = -1, .watch = true, .version = harness_version(), .secret = v->http.config.token, .log = &v->cli->log };
    Error err = { 0 };
    Problems problems = { 0 };
    int status = opening_config(&v->open, v->cli, &config.runtime);
    if (status >= 0) return status;
    Files files = { &v->open, &config };
    config.runtime.open_files = open_files;
    config.runtime.open_files_ctx = &files;
    bool ok = mcp_host_new(&config, &v->server, &problems, &err);
    if (!ok && err.kind == ERR_NONE) report_failure(v->cli, &problems);
    else if (!ok) cli_fail(v->cli, CLI_FAILED, &err);
    problems_clear(&problems);
    return ok ? -1 : CLI_FAILED;
}

int command_mcp_serve(Cli *cli) {
    Serving v = { .cli = cli, .open = { .events = -1 } };
    Error err = { 0 };
    int status;
    if (!mcp_http_flags(&v.http, cli, &err)) status = cli_fail(cli, CLI_WRONG_USE, &err);
    else if ((status = open_server(&v)) < 0) status = serve(&v);
    opening_close(&v.open);
    mcp_http_clear(&v.http);
    return status;
}
