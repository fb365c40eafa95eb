#include "cli/mcp_http.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/random.h"
#include "net/address.h"

enum { RATE_MAX = 10000000, POLL_MAX_S = 3600 };

/* ---- the address ---- */

static bool read_number(Str s, uint32_t max, uint32_t *out) {
    uint64_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.at[i] < '0' || s.at[i] > '9' || n > max) return false;
        n = n * 10 + (uint64_t)(s.at[i] - '0');
    }
    *out = (uint32_t)n;
    return s.n > 0 && n <= max;
}

/* ADDR:PORT, [ADDR]:PORT, :PORT or PORT. */
static bool read_address(McpHttp *h, const char *text, Error *err) {
    Str s = str_from(text), host = STR("127.0.0.1"), port = s;
    uint32_t number;
    const char *colon = strrchr(text, ':');
    if (colon) {
        host = (Str){ text, (size_t)(colon - text) };
        port = str_from(colon + 1);
        if (host.n > 1 && host.at[0] == '[' && host.at[host.n - 1] == ']') host = str_sub(host, 1, host.n - 1);
        else if (host.n == 0 || str_eq(host, STR("localhost"))) host = STR("127.0.0.1");
        else if (str_find_char(host, ':') >= 0) host.n = sizeof h->address;
    }
    if (!read_number(port, 65535, &number) || host.n >= sizeof h->address)
        return error_set(err, ERR_VALIDATION, "--http: \"%s\" is not an address: write 127.0.0.1:8080, [::1]:8080 or 8080", text);
    memcpy(h->address, host.at, host.n);
    h->address[host.n] = 0;
    h->config.address = h->address;
    h->config.port = (uint16_t)number;
    return true;
}

static bool is_local(const char *text) {
    Address a;
    return address_parse(str_from(text), &a) && address_is_loopback(&a);
}

/* A server reachable from other machines, or without a token, must be requested explicitly. */
static bool check_exposure(const McpHttp *h, Error *err) {
    const Args *a = &h->cli->args;
    bool local = is_local(h->address);
    if (!local && !args_has(a, "--allow-remote"))
        return error_set(err, ERR_VALIDATION, "--http %s: other machines could reach it: add --allow-remote, or use 127.0.0.1", h->address);
    if (!local && args_has(a, "--no-auth")) return error_set(err, ERR_VALIDATION, "--no-auth works on 127.0.0.1, ::1 and localhost only");
    if (args_has(a, "--auth-server") && args_has(a, "--no-auth"))
        return error_set(err, ERR_VALIDATION, "--auth-server and --no-auth contradict each other");
    return true;
}

/* ---- the other flags ---- */

static bool check_url(const Args *a, const char *flag, Error *err) {
    const char *url = args_value(a, flag);
    if (!url || strncmp(url, "https://", 8) == 0 || strncmp(url, "http://", 7) == 0) return true;
    return error_set(err, ERR_VALIDATION, "%s: \"%s\" is not a URL: it must start with https:// or http://", flag, url);
}

static bool read_limits(McpHttp *h, Error *err) {
    const Args *a = &h->cli->args;
    const char *rate = args_value(a, "--rate"), *poll = args_value(a, "--sse-poll");
    uint32_t n;
    if (rate && (!read_number(str_from(rate), RATE_MAX, &n) || n == 0))
        return error_set(err, ERR_VALIDATION, "--rate: \"%s\" is not a number of requests from 1 to %d", rate, RATE_MAX);
    if (rate) h->config.requests_per_minute = n;
    if (poll && (!read_number(str_from(poll), POLL_MAX_S, &n) || n == 0))
        return error_set(err, ERR_VALIDATION, "--sse-poll: \"%s\" is not a number of seconds from 1 to %d", poll, POLL_MAX_S);
    if (poll) h->config.poll_ms = (int64_t)n * 1000;
    return true;
}

static void read_lists(McpHttp *h) {
    const Args *a = &h->cli->args;
    for (size_t i = 0; i < a->n_flags; i++) {
        if (strcmp(a->flags[i].flag->name, "--origin") == 0) VEC_PUSH(&h->origins, str_from(a->flags[i].value));
        if (strcmp(a->flags[i].flag->name, "--host") == 0) VEC_PUSH(&h->hosts, str_from(a->flags[i].value));
    }
    h->config.origins = (StrList){ h->origins.at, h->origins.n };
    h->config.hosts = (StrList){ h->hosts.at, h->hosts.n };
}

static void make_token(McpHttp *h) {
    const char *given = getenv("HARNESS_MCP_TOKEN");
    uint8_t random[MCP_HTTP_SECRET];
    if (given && given[0]) h->config.token = str_from(given);
    if ((given && given[0]) || h->config.authorization_server.n) return;
    random_fill(random, sizeof random);
    for (size_t i = 0; i < sizeof random; i++) snprintf(h->token + 2 * i, 3, "%02x", random[i]);
    h->config.token = str_from(h->token);
}

static void say_where(void *ctx, uint16_t port) {
    McpHttp *h = ctx;
    Buf text = { 0 };
    if (h->token[0]) {
        buf_add_fmt(&text, "token %s (set HARNESS_MCP_TOKEN to choose one)", h->token);
        cli_say(h->cli, SAY_HINT, buf_str(&text));
        buf_reset(&text);
    }
    bool six = strchr(h->address, ':');
    buf_add_fmt(&text, "serving http://%s%s%s:%u/mcp", six ? "[" : "", h->address, six ? "]" : "", port);
    cli_say(h->cli, SAY_HINT, buf_str(&text));
    buf_clear(&text);
}

/* ---- public ---- */

bool mcp_http_flags(McpHttp *h, Cli *cli, Error *err) {
    static const char *const only[] = { "--no-auth", "--allow-remote", "--origin", "--host", "--auth-server", "--resource-url", "--scope",
        "--rate", "--sse-poll" };
    const Args *a = &cli->args;
    const char *http = args_value(a, "--http");
    h->cli = cli;
    for (size_t i = 0; !http && i < sizeof only / sizeof *only; i++)
        if (args_has(a, only[i])) return error_set(err, ERR_VALIDATION, "%s needs --http ADDR", only[i]);
    if (!http) return true;
    if (!read_address(h, http, err) || !check_exposure(h, err) || !check_url(a, "--auth-server", err)
        || !check_url(a, "--resource-url", err) || !read_limits(h, err))
        return false;
    if (args_has(a, "--scope") && !args_has(a, "--auth-server")) return error_set(err, ERR_VALIDATION, "--scope needs --auth-server URL");
    h->config.authorization_server = str_from(args_value(a, "--auth-server"));
    h->config.resource = str_from(args_value(a, "--resource-url"));
    h->config.scope = str_from(args_value(a, "--scope"));
    read_lists(h);
    if (!args_has(a, "--no-auth")) make_token(h);
    h->config.bound = say_where;
    h->config.ctx = h;
    return true;
}

bool mcp_http_listen(McpHttp *h, Cli *cli, const char *usual, Error *err) {
    const char *http = args_value(&cli->args, "--http");
    h->cli = cli;
    if (!read_address(h, http ? http : usual, err) || !check_exposure(h, err)) return false;
    read_lists(h);
    return true;
}

void mcp_http_clear(McpHttp *h) {
    VEC_CLEAR(&h->origins);
    VEC_CLEAR(&h->hosts);
}
