/* harness mcp serve: the project's tools, resources and prompts for MCP clients. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/random.h"
#include "cli/interrupt.h"
#include "cli/opening.h"
#include "cli/report.h"
#include "harness.h"
#include "mcp/server.h"

enum { GRACE_MS = 5000, SECRET_BYTES = 24 };

typedef struct Serving {
    Cli *cli;
    Opening open;                        /* only its flags: the server has the runtime */
    McpServer *server;
    McpHttpConfig http;
    char address[256], token[SECRET_BYTES * 2 + 1];
    VEC(Str) origins;
} Serving;

/* ---- flags ---- */

static bool read_port(Str s, uint16_t *out) {
    uint32_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.at[i] < '0' || s.at[i] > '9' || n > 65535) return false;
        n = n * 10 + (uint32_t)(s.at[i] - '0');
    }
    *out = (uint16_t)n;
    return s.n > 0 && n <= 65535;
}

/* ADDR:PORT, [ADDR]:PORT, :PORT or PORT. */
static bool read_address(Serving *v, const char *text, Error *err) {
    Str s = str_from(text), host = STR("127.0.0.1"), port = s;
    const char *colon = strrchr(text, ':');
    if (colon) {
        host = (Str){ text, (size_t)(colon - text) };
        port = str_from(colon + 1);
        if (host.n > 1 && host.at[0] == '[' && host.at[host.n - 1] == ']') host = str_sub(host, 1, host.n - 1);
        else if (host.n == 0) host = STR("127.0.0.1");
        else if (str_find_char(host, ':') >= 0) host.n = sizeof v->address;
    }
    if (!read_port(port, &v->http.port) || host.n >= sizeof v->address)
        return error_set(err, ERR_VALIDATION, "--http: \"%s\" is not an address: write 127.0.0.1:8080, [::1]:8080 or 8080", text);
    memcpy(v->address, host.at, host.n);
    v->address[host.n] = 0;
    v->http.address = v->address;
    return true;
}

static bool is_local(const char *address) {
    return strcmp(address, "localhost") == 0 || strcmp(address, "::1") == 0 || strncmp(address, "127.", 4) == 0;
}

/* Nobody reaches a server from elsewhere, or without a token, unless that was said in so many words. */
static bool check_exposure(const Serving *v, Error *err) {
    const Args *a = &v->cli->args;
    bool local = is_local(v->address);
    if (!local && !args_has(a, "--allow-remote"))
        return error_set(err, ERR_VALIDATION, "--http %s: other machines could reach it: say --allow-remote, or use 127.0.0.1", v->address);
    if (!local && args_has(a, "--no-auth")) return error_set(err, ERR_VALIDATION, "--no-auth works on 127.0.0.1, ::1 and localhost only");
    return true;
}

static void make_token(Serving *v) {
    const char *given = getenv("HARNESS_MCP_TOKEN");
    uint8_t random[SECRET_BYTES];
    if (given && given[0]) {
        v->http.token = str_from(given);
        return;
    }
    random_fill(random, sizeof random);
    for (size_t i = 0; i < sizeof random; i++) snprintf(v->token + 2 * i, 3, "%02x", random[i]);
    v->http.token = str_from(v->token);
    Buf text = { 0 };
    buf_add_fmt(&text, "token %s (set HARNESS_MCP_TOKEN to choose one)", v->token);
    cli_say(v->cli, SAY_HINT, buf_str(&text));
    buf_clear(&text);
}

static bool http_flags(Serving *v, Error *err) {
    const Args *a = &v->cli->args;
    static const char *const only[] = { "--no-auth", "--allow-remote", "--origin" };
    const char *http = args_value(a, "--http");
    for (size_t i = 0; !http && i < sizeof only / sizeof *only; i++)
        if (args_has(a, only[i])) return error_set(err, ERR_VALIDATION, "%s is about --http ADDR", only[i]);
    if (!http) return true;
    if (!read_address(v, http, err) || !check_exposure(v, err)) return false;
    for (size_t i = 0; i < a->n_flags; i++)
        if (strcmp(a->flags[i].flag->name, "--origin") == 0) VEC_PUSH(&v->origins, str_from(a->flags[i].value));
    v->http.origins = (StrList){ v->origins.at, v->origins.n };
    return true;
}

/* ---- serving ---- */

static void say_where(void *ctx, uint16_t port) {
    Serving *v = ctx;
    Buf text = { 0 };
    bool six = strchr(v->address, ':');
    buf_add_fmt(&text, "serving http://%s%s%s:%u/mcp", six ? "[" : "", v->address, six ? "]" : "", port);
    cli_say(v->cli, SAY_HINT, buf_str(&text));
    buf_clear(&text);
}

static int serve(Serving *v) {
    Error err = { 0 };
    Cancel *stop = cancel_new(NULL, 0);
    Interrupt *interrupt = interrupt_start(stop);
    bool http = v->http.address != NULL, ok;
    if (http && !args_has(&v->cli->args, "--no-auth")) make_token(v);
    v->http.bound = say_where;
    v->http.ctx = v;
    ok = http ? mcp_serve_http(v->server, &v->http, stop, &err) : mcp_serve_stdio(v->server, STDIN_FILENO, STDOUT_FILENO, stop, &err);
    mcp_server_close(v->server, GRACE_MS);
    interrupt_stop(interrupt);
    cancel_free(stop);
    return ok ? CLI_OK : cli_fail(v->cli, CLI_FAILED, &err);
}

static int open_server(Serving *v) {
    McpServerConfig config = { .events = -1, .watch = true, .version = harness_version(), .log = &v->cli->log };
    Error err = { 0 };
    Problems problems = { 0 };
    int status = opening_config(&v->open, v->cli, &config.runtime);
    if (status >= 0) return status;
    config.events = v->open.events;
    bool ok = mcp_server_new(&config, &v->server, &problems, &err);
    if (!ok && err.kind == ERR_NONE) report_failure(v->cli, &problems);
    else if (!ok) cli_fail(v->cli, CLI_FAILED, &err);
    problems_clear(&problems);
    return ok ? -1 : CLI_FAILED;
}

int command_mcp_serve(Cli *cli) {
    Serving v = { .cli = cli, .open = { .events = -1 } };
    Error err = { 0 };
    int status;
    if (!http_flags(&v, &err)) status = cli_fail(cli, CLI_WRONG_USE, &err);
    else if ((status = open_server(&v)) < 0) status = serve(&v);
    opening_close(&v.open);
    VEC_CLEAR(&v.origins);
    return status;
}
