#include "cli/opening.h"
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "artifact/project_find.h"
#include "base/mem.h"
#include "cli/terminal/browser.h"
#include "cli/mcp_direct.h"
#include "cli/report.h"
#include "cli/terminal/trust_prompt.h"
#include "harness.h"
#include "sandbox/named.h"
#include "tool/protect/confine.h"
#include "tool/protect/protected.h"

static void gather(Opening *o) {
    const Args *a = &o->cli->args;
    for (size_t i = 0; i < a->n_flags; i++) {
        if (strcmp(a->flags[i].flag->name, "--approve") == 0) VEC_PUSH(&o->approve, str_from(a->flags[i].value));
        if (strcmp(a->flags[i].flag->name, "--allow-domain") == 0) VEC_PUSH(&o->domains, str_from(a->flags[i].value));
    }
}

static bool timeout_flag(const Cli *cli, int64_t *out, Error *err) {
    const char *text = args_value(&cli->args, "--timeout");
    char *end;
    if (!text) return true;
    double s = strtod(text, &end);
    if (*end || end == text || !isfinite(s) || s <= 0 || s > 1e9) return error_set(err, ERR_VALIDATION, "--timeout: \"%s\" is not a number of seconds", text);
    *out = (int64_t)(s * 1000) > 0 ? (int64_t)(s * 1000) : 1;
    return true;
}

bool opening_events(void *ctx, const Project *p, Error *err) {
    Opening *o = ctx;
    Arena arena = { 0 };
    const char *path = args_value(&o->cli->args, "--events");
    if (path && protected_allows(p, path, err)) o->events = named_open(path, O_APPEND, 0600, confine_reach(p, &arena), err);
    arena_clear(&arena);
    return !path || o->events >= 0 || error_wrap(err, "--events %s", path);
}

int opening_config(Opening *o, Cli *cli, RuntimeConfig *out) {
    *o = (Opening){ .cli = cli, .events = -1 };
    Error err = { 0 };
    int64_t timeout_ms = 0;
    gather(o);
    if (args_has(&cli->args, "--ask") && args_has(&cli->args, "--ephemeral"))
        error_set(&err, ERR_VALIDATION, "--ask cannot be used with --ephemeral: the questions could not be answered");
    if (err.kind != ERR_NONE || !timeout_flag(cli, &timeout_ms, &err)) return cli_fail(cli, CLI_WRONG_USE, &err);
    *out = (RuntimeConfig){ .dir = cli_project(cli), .config = cli->config, .tools = args_value(&cli->args, "--tools"),
                            .ephemeral = args_has(&cli->args, "--ephemeral"), .own_process = true, .lenient = args_has(&cli->args, "--lenient"),
                            .yes = args_has(&cli->args, "--yes"), .approve = o->approve.at, .n_approve = o->approve.n,
                            .allow_domains = o->domains.at, .n_allow_domains = o->domains.n, .timeout_ms = timeout_ms,
                            .open_files = opening_events, .open_files_ctx = o, .log = &cli->log,
                            .trust = getenv("HARNESS_TRUST") };
    return -1;
}

static bool open_servers(Opening *o, Error *err) {
    McpRemotesConfig config = { .browse = o->terminal ? browser_open : NULL, .program = harness_version() };
    return mcp_direct_version(o->cli, &config.version, err) && mcp_remotes_new(o->rt, &config, &o->servers, err);
}

static void report_refusal(Opening *o, const Error *err) {
    if (err->kind == ERR_POLICY && !o->cli->json) trust_prompt_explain(o->cli);
    cli_fail(o->cli, CLI_FAILED, err);
}

/* The default project for a folder that has none. */
static const char default_agent[] =
    "---\n"
    "builtin_tools: [read, glob, grep, listdir, bash, write, edit]\n"
    "limits:\n"
    "  confirm: [mutating]\n"
    "---\n"
    "You help with the files of one folder. Look before you answer: read, grep, glob and listdir are free. The user is asked before each\n"
    "write, edit and bash, so do one thing at a time and say why. Answer briefly, and name the files you looked at.\n";

static bool same_folder(const char *a, const char *b) {
    struct stat x, y;
    return a && b && stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The default agent may not read the whole home folder or /. */
static bool may_default(const Cli *cli, Error *err) {
    bool home = same_folder(".", getenv("HOME"));
    if (cli->config || project_here(".") || (!home && !same_folder(".", "/"))) return true;
    error_set(err, ERR_CONFIG, "there is no project in this folder, and the default agent does not work in %s", home ? "your home folder" : "/");
    return error_hint(err, "cd into the folder of your work, or harness init NAME");
}

static void say_default(Opening *o) {
    if (!runtime_project(o->rt)->is_default || args_has(&o->cli->args, "--quiet")) return;
    cli_say(o->cli, SAY_HINT, STR("no project here: a default agent that may read, glob, grep and listdir, and asks before bash, write and edit (harness init writes a project)"));
}

/* Questions about trust and about changed files go to the terminal. */
static void ask_there(const Opening *o, RuntimeConfig *config) {
    if (!o->terminal) return;
    config->ask_trust = trust_prompt_ask;
    config->ask_changed = trust_prompt_changed;
    config->ask_trust_ctx = o->terminal;
}

static int open_runtime(Opening *o, Cli *cli, const char *const *writable, bool reading, const char *fallback) {
    RuntimeConfig config;
    int status = opening_config(o, cli, &config);
    if (status >= 0) return status;
    Error err = { 0 };
    Problems problems = { 0 };
    config.writable = writable;
    config.reading = reading;
    config.fallback = fallback;
    config.user_reads = fallback != NULL;
    o->terminal = confirm_terminal_open(cli);
    ask_there(o, &config);
    if (!runtime_open(&config, &o->rt, &problems, &err)) {
        o->rt = NULL;
        status = CLI_FAILED;
        if (err.kind == ERR_NONE) report_failure(cli, &problems);
        else report_refusal(o, &err);
    }
    problems_clear(&problems);
    cli->listing |= reading;
    if (status < 0) cli_know(cli, runtime_project(o->rt));
    if (status < 0 && !open_servers(o, &err)) status = cli_fail(cli, CLI_FAILED, &err);
    return status;
}

int opening_open(Opening *o, Cli *cli, const char *const *writable) { return open_runtime(o, cli, writable, false, NULL); }

int opening_open_agent(Opening *o, Cli *cli, const char *const *writable) {
    Error err = { 0 };
    *o = (Opening){ .cli = cli, .events = -1 };
    if (args_value(&cli->args, "--tools")) return opening_open(o, cli, writable);      /* a project of the manifest's tools: no default agent */
    if (!cli_project(cli) && !may_default(cli, &err)) return cli_fail(cli, CLI_FAILED, &err);
    int status = open_runtime(o, cli, writable, false, default_agent);
    if (status < 0) say_default(o);
    return status;
}

bool opening_reload(Opening *o, Opening *fresh, Problems *problems, Error *err) {
    RuntimeConfig config;
    if (opening_config(fresh, o->cli, &config) >= 0) return error_set(err, ERR_CONFIG, "the flags of this command cannot be used again");
    bool tools = args_value(&o->cli->args, "--tools") != NULL;
    fresh->terminal = o->terminal;
    config.fallback = tools ? NULL : default_agent;
    config.user_reads = !tools;
    config.share = o->rt;
    ask_there(fresh, &config);
    if (!runtime_open(&config, &fresh->rt, problems, err)) return fresh->rt = NULL, false;
    cli_know(o->cli, runtime_project(fresh->rt));
    return open_servers(fresh, err);
}

/* Closes the unused one. Resources that both share stay with the other. */
void opening_settle(Opening *o, Opening *fresh, bool use_fresh) {
    Opening *old = use_fresh ? o : fresh, *kept = use_fresh ? fresh : o;
    kept->events = o->events;
    kept->terminal = o->terminal;
    old->events = -1;
    old->terminal = NULL;
    opening_close(old);
    *o = *kept;
    *fresh = (Opening){ .events = -1 };
}

void opening_say_pinned(Opening *o) {
    Buf line = { 0 };
    size_t n = mcp_remotes_count(o->servers);
    for (size_t i = 0; i < n; i++) {
        McpServerFacts f = mcp_remotes_facts(o->servers, i);
        if (f.listed) continue;
        buf_reset(&line);
        buf_add_fmt(&line, "server " STR_FMT " was never asked for its tools (use --live to ask it)", STR_ARG(f.def->name));
        if (!args_has(&o->cli->args, "--quiet")) cli_say(o->cli, SAY_HINT, buf_str(&line));
    }
    if (n && !args_has(&o->cli->args, "--quiet"))
        cli_say(o->cli, SAY_HINT, STR("tools of MCP servers are shown as last listed (use --live to ask the servers)"));
    buf_clear(&line);
}

int opening_open_reading(Opening *o, Cli *cli) {
    bool live = args_has(&cli->args, "--live");
    int status = open_runtime(o, cli, NULL, !live, NULL);
    if (status < 0 && live) mcp_remotes_list(o->servers, NULL);
    return status;
}

/* --ask: the question is in the store, and the answer comes from there; `cancel` fires then. */
static ConfirmAnswer wait_for_answer(void *ctx, const ConfirmQuestion *q, Cancel *cancel) {
    (void)ctx;
    (void)q;
    while (cancel_sleep(cancel, (int64_t)3600 * 1000000000, NULL)) continue;
    return CONFIRM_NO;
}

static const Person by_store = { .confirm = wait_for_answer, .apart = true, .by_store = true, .source = "store" };

void opening_park_config(RunConfig *out) {
    out->person = by_store;
    out->parks = true;
}

void opening_run_config(Opening *o, RunConfig *out) {
    out->person = confirm_terminal_person(o->terminal);
    if (args_has(&o->cli->args, "--ask")) out->person = by_store;
    int fd = o->events < 0 ? -1 : fcntl(o->events, F_DUPFD_CLOEXEC, 3);      /* another run of this process needs it too */
    if (fd < 0) return;
    o->sink = event_sink_lines(fd, true);
    out->sinks = &o->sink;
    out->n_sinks = 1;
}

int opening_show_servers(Opening *o, Cli *cli, Project *p) {
    *o = (Opening){ .cli = cli, .events = -1 };
    if (p->n_servers == 0) return -1;
    int status = opening_open_reading(o, cli);
    if (status >= 0) return status;
    const ToolEntry **all;
    if (!args_has(&cli->args, "--live")) opening_say_pinned(o);
    size_t n = registry_list(runtime_registry(o->rt), NULL, 0, &all);
    p->tools = mem_resize(p->tools, p->n_tools + n + 1, sizeof *p->tools);
    for (size_t i = 0; i < n; i++)
        if (str_starts(all[i]->def.name, STR("mcp:"))) p->tools[p->n_tools++] = all[i]->def;
    free(all);
    return -1;
}

void opening_close(Opening *o) {
    mcp_remotes_stop(o->servers);
    runtime_close(o->rt);
    mcp_remotes_free(o->servers);
    confirm_terminal_close(o->terminal);
    if (o->events >= 0) close(o->events);
    VEC_CLEAR(&o->approve);
    VEC_CLEAR(&o->domains);
}
