/* harness console: the runs of the project in a browser. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/random.h"
#include "cli/mcp_http.h"
#include "cli/report.h"
#include "cli/terminal/browser.h"
#include "cli/terminal/interrupt.h"
#include "doors/console.h"
#include "harness.h"
#include "policy/location.h"

enum { TOKEN_MIN = 16, TOKEN_MAX = 512, REDIRECT_MAX = 4096 };

typedef struct Opened {
    Cli *cli;
    McpHttp http;                        /* its address, hosts and origins */
    Project *project;                    /* NULL: it does not load */
    Store *store, *local;                /* local: the state file, if `store` is a database; decisions of guard are there */
    Buf root;                            /* the project's folder */
    Buf token, url, redirect;            /* redirect: the file that leads a browser to the URL; removed at the end */
} Opened;

/* ---- the token ---- */

static bool is_word(Str s) {
    for (size_t i = 0; i < s.n; i++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.", s.at[i])) return false;
    return s.n >= TOKEN_MIN && s.n <= TOKEN_MAX;
}

static bool read_token(Opened *o, const char *path, Error *err) {
    Buf text = { 0 };
    struct stat st;
    bool ok = stat(path, &st) == 0 || error_set(err, ERR_IO, "--token-file %s: %m", path);
    if (ok && (st.st_mode & 077)) {
        ok = error_set(err, ERR_POLICY, "--token-file %s: other users can read it", path);
        error_hint(err, "chmod 600 it");
    }
    ok = ok && (cli_read(path, TOKEN_MAX + 2, &text, err) || error_wrap(err, "--token-file"));
    if (ok && !is_word(str_trim(buf_str(&text))))
        ok = error_set(err, ERR_VALIDATION, "--token-file %s: a token has %d to %d letters, digits, and -_.", path, TOKEN_MIN, TOKEN_MAX);
    if (ok) buf_add(&o->token, str_trim(buf_str(&text)));
    buf_clear(&text);
    return ok;
}

static void make_token(Opened *o) {
    uint8_t random[24];
    random_fill(random, sizeof random);
    for (size_t i = 0; i < sizeof random; i++) buf_add_fmt(&o->token, "%02x", random[i]);
}

static bool choose_token(Opened *o, Error *err) {
    const Args *a = &o->cli->args;
    const char *file = args_value(a, "--token-file");
    if (file) return read_token(o, file, err);
    if (args_has(a, "--allow-remote")) return error_set(err, ERR_VALIDATION, "--allow-remote needs --token-file FILE");
    return make_token(o), true;
}

/* ---- the browser ---- */

/* The URL has the token in it, and every user can read the arguments of a process: the browser gets a file instead. */
static bool write_redirect(Opened *o, Error *err) {
    const char *folder = getenv("XDG_RUNTIME_DIR");
    Buf text = { 0 };
    buf_add_fmt(&o->redirect, "%s/harness-console-XXXXXX.html", folder && folder[0] == '/' ? folder : "/tmp");
    int fd = mkostemps(o->redirect.at, 5, O_CLOEXEC);                        /* with mode 0600 */
    if (fd < 0) {
        error_set(err, ERR_IO, "--open: make %s: %m", o->redirect.at);
        return buf_clear(&o->redirect), false;
    }
    buf_add_fmt(&text, "<!doctype html>\n<meta charset=\"utf-8\">\n<title>harness console</title>\n<meta http-equiv=\"refresh\" content=\"0;url=%s\">\n", o->url.at);
    bool ok = write(fd, text.at, text.n) == (ssize_t)text.n;
    if (close(fd) != 0 || !ok) ok = error_set(err, ERR_IO, "--open: write %s: %m", o->redirect.at);
    buf_clear(&text);
    return ok;
}

static void open_browser(Opened *o) {
    Error err = { 0 };
    Buf url = { 0 };
    bool ok = write_redirect(o, &err);
    buf_add_fmt(&url, "file://%s", o->redirect.at ? o->redirect.at : "");
    if (!ok) cli_say(o->cli, SAY_WARNING, str_from(err.msg));
    else if (!browser_start(buf_str(&url))) cli_say(o->cli, SAY_HINT, STR("no browser was found: open the URL above"));
    buf_clear(&url);
}

/* ---- serving ---- */

static void say_where(void *ctx, uint16_t port) {
    Opened *o = ctx;
    bool six = strchr(o->http.address, ':');
    buf_add_fmt(&o->url, "http://%s%s%s:%u/#token=%s", six ? "[" : "", o->http.address, six ? "]" : "", port, o->token.at);
    Buf line = { 0 };
    buf_add_fmt(&line, "%s\n", o->url.at);
    (void)cli_write(STDOUT_FILENO, buf_str(&line), false);                   /* cli_flush would mask the token */
    buf_clear(&line);
    if (args_has(&o->cli->args, "--open")) open_browser(o);
}

static void hide(void *ctx, Buf *json) { cli_hide_json(((Opened *)ctx)->cli, json); }

/* A project that does not load can be looked at: its problems are what the user wants to see. */
static bool open_state(Opened *o, Error *err) {
    Problems problems = { 0 };
    Buf path = { 0 };
    char real[PATH_MAX];
    const char *dir = cli_project(o->cli);
    bool loaded = report_load(o->cli, false, &o->project, &problems);
    if (!loaded) report_problems(o->cli, &problems), o->project = NULL;
    problems_clear(&problems);
    if (loaded) cli_know(o->cli, o->project);
    if (loaded) buf_add(&o->root, o->project->root);
    else if (o->cli->config) return error_set(err, ERR_CONFIG, "%s does not load", o->cli->config);
    else if (!realpath(dir ? dir : ".", real)) return error_set(err, ERR_IO, "%s: %m", dir ? dir : ".");
    else buf_add(&o->root, str_from(real));
    bool ok = loaded ? location_of(o->project, &path, err) : store_location(&(StoreLocation){ .root = buf_str(&o->root) }, &path, err);
    ok = ok && store_open(path.at, false, &o->store, err);
    if (ok && store_is_url(path.at)) ok = store_default_path(buf_str(&o->root), &path, err) && store_open(path.at, false, &o->local, err);
    buf_clear(&path);
    return ok;
}

static int serve(Opened *o) {
    Error err = { 0 };
    if (!open_state(o, &err)) return cli_fail(o->cli, CLI_FAILED, &err);
    const McpHttpConfig *http = &o->http.config;
    ConsoleConfig config = { .names = { o->http.address, http->hosts.at, http->origins.at, http->hosts.n, http->origins.n }, .port = http->port,
                             .token = buf_str(&o->token), .root = buf_str(&o->root), .config = o->cli->config, .store = o->store,
                             .decisions = o->local ? o->local : o->store,
                             .version = harness_version(), .log = &o->cli->log, .bound = say_where, .hide = hide, .ctx = o };
    Cancel *stop = cancel_new(NULL, 0);
    Interrupt *interrupt = interrupt_start(stop);
    bool ok = console_serve(&config, stop, &err);
    interrupt_stop(interrupt);
    cancel_free(stop);
    if (o->redirect.n) unlink(o->redirect.at);
    return ok ? CLI_OK : cli_fail(o->cli, CLI_FAILED, &err);
}

int command_console(Cli *cli) {
    Opened o = { .cli = cli };
    Error err = { 0 };
    int status;
    if (!mcp_http_listen(&o.http, cli, "127.0.0.1:7717", &err) || !choose_token(&o, &err)) status = cli_fail(cli, CLI_WRONG_USE, &err);
    else status = serve(&o);
    store_close(o.store);
    store_close(o.local);
    if (o.project) project_free(o.project);
    mcp_http_clear(&o.http);
    buf_clear(&o.root);
    buf_clear(&o.token);
    buf_clear(&o.url);
    buf_clear(&o.redirect);
    return status;
}
