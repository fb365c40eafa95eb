#include "doors/console_private.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/mem.h"

enum { RUNNING_MAX = 16, GRACE_MS = 1000 };

/* ---- paths ---- */

typedef struct Route { const char *method, *path; void (*handle)(ConsoleCall *c); } Route;

/* Below /api/. A star stands for one part of a path. */
static const Route routes[] = {
    { "GET", "about", console_about },
    { "GET", "runs", console_runs },
    { "GET", "runs/*", console_run },
    { "GET", "runs/*/events", console_events },
    { "GET", "runs/*/spans", console_spans },
    { "GET", "runs/*/artifacts", console_artifacts },
    { "GET", "runs/*/artifacts/*", console_artifact },
    { "POST", "runs/*/cancel", console_cancel },
    { "POST", "runs/*/say", console_say },
    { "POST", "runs/*/resume", console_resume },
    { "POST", "runs/*/fork", console_fork },
    { "GET", "jobs", console_jobs_list },
    { "GET", "jobs/*", console_job },
    { "POST", "jobs/*/stop", console_job_stop },
    { "GET", "approvals", console_approvals },
    { "GET", "approvals/*", console_approval },
    { "POST", "approvals/*/approve", console_approve },
    { "POST", "approvals/*/deny", console_deny },
    { "GET", "dialogs", console_dialogs },
    { "POST", "dialogs/*/answer", console_dialog_answer },
    { "GET", "stream", console_stream },
    { "GET", "calls", console_calls },
    { "GET", "tools", console_tools },
    { "POST", "call", console_call },
    { "GET", "policy", console_policy },
    { "POST", "simulate", console_simulate },
    { "GET", "project", console_project },
    { "GET", "trust", console_trust },
    { "GET", "models", console_models },
    { "GET", "servers", console_servers },
    { "GET", "decisions", console_decisions },
    { "GET", "cost", console_cost },
    { "GET", "files", console_files },
    { "GET", "file", console_file },
    { "POST", "tests", console_test },
};
enum { ROUTES = sizeof routes / sizeof *routes };

static Str next_part(Str *rest) {
    ptrdiff_t slash = str_find_char(*rest, '/');
    Str part = slash < 0 ? *rest : str_sub(*rest, 0, (size_t)slash);
    *rest = slash < 0 ? STR("") : str_sub(*rest, (size_t)slash + 1, rest->n);
    return part;
}

/* Ids are made of letters, digits and -_. only, so that no part can be mistaken for a path. */
static bool is_id(Str s) {
    for (size_t i = 0; i < s.n; i++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.", s.at[i]) || !s.at[i]) return false;
    return s.n > 0 && s.n <= CONSOLE_ID_MAX;
}

static size_t parts_of(Str path) {
    size_t n = 1;
    for (size_t i = 0; i < path.n; i++) n += path.at[i] == '/';
    return n;
}

static bool matches(const Route *r, Str path, Str part[2]) {
    Str pattern = str_from(r->path);
    size_t n = parts_of(pattern), stars = 0;
    if (parts_of(path) != n) return false;
    for (size_t i = 0; i < n; i++) {
        Str want = next_part(&pattern), got = next_part(&path);
        if (!str_eq(want, STR("*"))) {
            if (!str_eq(want, got)) return false;
        } else if (is_id(got)) part[stars++] = got;
        else return false;
    }
    return true;
}

static const Route *find_route(Str path, Str method, Str part[2], Buf *allow) {
    for (size_t i = 0; i < ROUTES; i++) {
        Str found[2] = { { 0 } };
        if (!matches(&routes[i], path, found)) continue;
        if (str_eq(method, str_from(routes[i].method))) return part[0] = found[0], part[1] = found[1], &routes[i];
        buf_add_fmt(allow, "%s%s", allow->n ? ", " : "", routes[i].method);
    }
    return NULL;
}

static bool is_json(Str type) {
    ptrdiff_t end = str_find_char(type, ';');
    return str_eq(str_trim(end < 0 ? type : str_sub(type, 0, (size_t)end)), STR("application/json"));
}

static void run_route(Console *console, HttpServerRequest *q, const Route *r, const Str part[2]) {
    ConsoleCall c = { .console = console, .q = q, .part = { part[0], part[1] }, .heap = heap_new((size_t)64 << 20), .body = VALUE_GONE };
    Error err = { 0 };
    bool post = strcmp(r->method, "POST") == 0;
    if (post && !is_json(http_server_header(q, STR("Content-Type"))))
        console_fail_text(q, 415, ERR_VALIDATION, "a POST needs the header Content-Type: application/json", NULL, NULL);
    else if (post && !console_read_body(&c, &err)) console_fail_with(&c, 400, &err);
    else r->handle(&c);
    heap_free(c.heap);
}

static void handle(void *ctx, HttpServerRequest *q) {
    Console *console = ctx;
    Str path = http_server_path(q), part[2];
    Buf allow = { 0 };
    const Route *r = find_route(str_sub(path, STR("/api/").n, path.n), http_server_method(q), part, &allow);
    if (r) run_route(console, q, r, part);
    else if (allow.n)
        console_fail_text(q, 405, ERR_VALIDATION, "this path does not have that method", NULL, &(HttpServerHeader){ STR("Allow"), buf_str(&allow) });
    else console_fail_text(q, 404, ERR_VALIDATION, "there is no such path", "docs/reference/console-api.md lists them", NULL);
    buf_clear(&allow);
}

/* ---- the gate, on the epoll thread ---- */

static bool is_framed(const HttpServerRequest *q) {
    static const Str frames[] = { STR("iframe"), STR("frame"), STR("embed"), STR("object") };
    return str_among(http_server_header(q, STR("Sec-Fetch-Dest")), frames, sizeof frames / sizeof *frames);
}

static bool is_foreign(const HttpServerRequest *q) {
    Str site = http_server_header(q, STR("Sec-Fetch-Site"));
    return str_eq(site, STR("cross-site")) || str_eq(site, STR("same-site"));
}

static bool has_token(const Console *console, const HttpServerRequest *q) {
    Str given = http_server_header(q, STR("Authorization")), bearer = STR("Bearer ");
    uint8_t digest[SHA256_BYTES];
    if (http_server_count_header(q, STR("Authorization")) != 1 || !str_starts(given, bearer)) return false;
    sha256_of(str_sub(given, bearer.n, given.n), digest);                    /* the time that comparing digests takes says nothing about the token */
    return memcmp(digest, console->token, sizeof digest) == 0;
}

static void refuse_token(Console *console, HttpServerRequest *q) {
    char seconds[24];
    int64_t wait = http_gate_take(console->rates, http_server_peer(q), HTTP_GATE_FAILED, HTTP_GATE_FAILED_MAX);
    snprintf(seconds, sizeof seconds, "%lld", (long long)wait);
    if (wait) console_fail_text(q, 429, ERR_POLICY, "too many wrong tokens: wait as long as Retry-After says", NULL,
                                &(HttpServerHeader){ STR("Retry-After"), str_from(seconds) });
    else console_fail_text(q, 401, ERR_POLICY, "the token is missing or wrong", "open the URL that harness console printed",
                           &(HttpServerHeader){ STR("WWW-Authenticate"), STR("Bearer realm=\"harness\"") });
}

static void admit(void *ctx, HttpServerRequest *q) {
    Console *console = ctx;
    Str path = http_server_path(q), method = http_server_method(q);
    bool api = str_starts(path, STR("/api/")), reads = str_eq(method, STR("GET")) || str_eq(method, STR("HEAD"));
    if (!http_gate_host(&console->config->names, q))
        console_fail_text(q, 403, ERR_POLICY, "the Host header does not match this server", "start it with --host NAME to add a name", NULL);
    else if (!http_gate_same_origin(&console->config->names, q) || (api && is_foreign(q)))
        console_fail_text(q, 403, ERR_POLICY, "pages of another origin may not use this server", NULL, NULL);
    else if (is_framed(q)) console_fail_text(q, 403, ERR_POLICY, "the console may not be shown in a frame", NULL, NULL);
    else if (!api && !reads)
        console_fail_text(q, 405, ERR_VALIDATION, "this path does not have that method", NULL, &(HttpServerHeader){ STR("Allow"), STR("GET, HEAD") });
    else if (!api && !console_page(q, path)) console_fail_text(q, 404, ERR_VALIDATION, "there is no such file", NULL, NULL);
    else if (api && !has_token(console, q)) refuse_token(console, q);
}

/* ---- the server ---- */

static const HttpServerHeader every[] = {
    { STR("Content-Security-Policy"), STR("default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'") },
    { STR("Cache-Control"), STR("no-store") },
    { STR("X-Content-Type-Options"), STR("nosniff") },
    { STR("Referrer-Policy"), STR("no-referrer") },
    { STR("Cross-Origin-Resource-Policy"), STR("same-origin") },
    { STR("Cross-Origin-Opener-Policy"), STR("same-origin") },
};

static bool start(Console *console, Error *err) {
    const ConsoleConfig *c = console->config;
    HttpServerConfig net = { .address = c->names.address, .port = c->port, .scheduler = console->scheduler, .connections = 256,
                             .body_max = CONSOLE_BODY_MAX, .backlog_max = (size_t)8 << 20, .admit = admit, .handle = handle, .headers = every,
                             .n_headers = sizeof every / sizeof *every, .ctx = console, .log = c->log };
    sha256_of(c->token, console->token);
    console->streams = console_streams_new(console, err);
    return console->streams && http_server_start(&net, &console->net, err);
}

bool console_serve(const ConsoleConfig *config, Cancel *stop, Error *err) {
    Console console = { .config = config, .stop = stop, .scheduler = scheduler_new(RUNNING_MAX), .rates = http_gate_rates_new() };
    buf_add_fmt(&console.by, "console, uid %u", (unsigned)getuid());
    console.jobs = console_jobs_new(&console);
    bool ok = start(&console, err);
    if (ok) {
        if (config->bound) config->bound(config->ctx, http_server_port(console.net));
        struct pollfd p = { .fd = cancel_fd(stop), .events = POLLIN };
        while (!cancel_expired(stop)) poll(&p, 1, cancel_poll_ms(stop));
    }
    console_streams_stop(console.streams);
    console_jobs_free(console.jobs);
    http_server_stop(console.net, GRACE_MS);
    console_streams_free(console.streams);
    scheduler_free(console.scheduler);
    http_gate_rates_free(console.rates);
    buf_clear(&console.by);
    return ok;
}
