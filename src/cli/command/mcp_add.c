/* harness mcp add: writes a server's entry into the project's file and leaves every other byte unchanged. */
#include <unistd.h>
#include "base/file.h"
#include "cli/mcp_direct.h"
#include "cli/mcp_entry.h"
#include "cli/opening.h"
#include "cli/terminal/interrupt.h"
#include "cli/report.h"
#include "value/json.h"

enum { FILE_MAX = 1 << 20, PROBE_S = 15, PROBE_DOWNLOAD_S = 60 };        /* seconds that a server has to answer; more if it may download */

typedef struct Adding { Cli *cli; Str name; McpEntryFile file; bool network; const char *end; Buf before, after; } Adding;

/* ---- the entry ---- */

static bool is_plain(Str s) {
    static const char *const words[] = { "true", "false", "null", "yes", "no", "on", "off" };
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '/';
        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || strchr("._-@", c)))) return false;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (s.n == strlen(words[i]) && strncasecmp(s.at, words[i], s.n) == 0) return false;
    return s.n > 0;
}

static void add_scalar(Buf *b, Str s) {
    if (is_plain(s)) buf_add(b, s);
    else json_write_string(b, s, false);
}

/* `step` is one level of the file's own indentation. */
static void add_line(Adding *a, Buf *b, Str step, int level, const char *key, Str value) {
    for (int i = 0; i < level; i++) buf_add(b, step);
    buf_add(b, str_from(key));
    buf_add(b, STR(": "));
    buf_add(b, value);
    buf_add(b, str_from(a->end));
}

static bool add_pairs(Adding *a, Buf *b, Str step, const char *flag, const char *key, char between, Error *err) {
    const Args *args = &a->cli->args;
    bool any = false;
    for (size_t i = 0; i < args->n_flags; i++) {
        if (strcmp(args->flags[i].flag->name, flag) != 0) continue;
        Str text = str_from(args->flags[i].value);
        ptrdiff_t at = str_find_char(text, between);
        if (at <= 0) return error_set(err, ERR_VALIDATION, "%s: expected NAME%cVALUE, got \"" STR_FMT "\"", flag, between, STR_ARG(text));
        if (!any) {
            buf_add(b, step), buf_add(b, step);
            buf_add_fmt(b, "%s:%s", key, a->end);
        }
        any = true;
        for (int k = 0; k < 3; k++) buf_add(b, step);
        add_scalar(b, str_trim(str_sub(text, 0, (size_t)at)));
        buf_add(b, STR(": "));
        json_write_string(b, str_trim(str_sub(text, (size_t)at + 1, text.n)), false);
        buf_add(b, str_from(a->end));
    }
    return true;
}

static bool make_entry(Adding *a, Str step, Buf *b, Error *err) {
    const Args *args = &a->cli->args;
    const char *url = args_value(args, "--url");
    Buf value = { 0 };
    buf_add(b, step);
    add_scalar(b, a->name);
    buf_add_fmt(b, ":%s", a->end);
    add_scalar(&value, str_from(url ? url : args->operands[1]));
    add_line(a, b, step, 2, url ? "url" : "command", buf_str(&value));
    buf_reset(&value);
    for (size_t i = 2; i < args->n_operands; i++) {
        buf_add(&value, i > 2 ? STR(", ") : STR("["));
        json_write_string(&value, str_from(args->operands[i]), false);
    }
    if (value.n) buf_add_char(&value, ']'), add_line(a, b, step, 2, "args", buf_str(&value));
    buf_reset(&value);
    for (size_t i = 0; i < args->n_flags; i++) {
        if (strcmp(args->flags[i].flag->name, "--read-root") != 0) continue;
        buf_add(&value, value.n ? STR(", ") : STR("["));
        json_write_string(&value, str_from(args->flags[i].value), false);
    }
    if (value.n) buf_add_char(&value, ']'), add_line(a, b, step, 2, "read_roots", buf_str(&value));
    if (a->network) add_line(a, b, step, 2, "network", STR("true"));
    buf_clear(&value);
    return add_pairs(a, b, step, "--env", "env", '=', err) && add_pairs(a, b, step, "--header", "headers", ':', err);
}

static bool is_nothing(Str rest) {
    return mcp_entry_is_block(rest) || str_eq(rest, STR("{}")) || str_eq(rest, STR("null")) || str_eq(rest, STR("~"));
}

static bool compose(Adding *a, Error *err) {
    Str text = buf_str(&a->before);
    McpEntryPlaces p;
    Buf entry = { 0 };
    a->end = str_find(text, STR("\r\n")) >= 0 ? "\r\n" : "\n";
    mcp_entry_look(&a->file, text, &p);
    bool ok = make_entry(a, p.step, &entry, err);
    if (ok && p.found && !is_nothing(p.rest)) {
        ok = error_set(err, ERR_CONFIG, "mcp_servers of %s is on one line: add the entry by hand", a->file.path);
    } else if (ok && p.found) {
        bool empty = p.rest.n && p.rest.at[0] != '#';             /* the block replaces {} */
        buf_add(&a->after, str_sub(text, 0, empty ? p.key : p.block_end));
        if (empty) buf_add_fmt(&a->after, "mcp_servers:%s", a->end);
        else if (a->after.n && a->after.at[a->after.n - 1] != '\n') buf_add(&a->after, str_from(a->end));
        buf_add(&a->after, buf_str(&entry));
        buf_add(&a->after, str_sub(text, empty ? p.key_end : p.block_end, text.n));
    } else if (ok) {
        buf_add(&a->after, str_sub(text, 0, p.end));
        if (a->after.n && a->after.at[a->after.n - 1] != '\n') buf_add(&a->after, str_from(a->end));
        buf_add_fmt(&a->after, "mcp_servers:%s", a->end);
        buf_add(&a->after, buf_str(&entry));
        buf_add(&a->after, str_sub(text, p.end, text.n));
    }
    buf_clear(&entry);
    return ok;
}

/* ---- writing ---- */

/* Loads the written file and compares the entry with the intended one; on a difference restores the old file. */
static bool verify(Adding *a, bool existed, Error *err) {
    Problems problems = { 0 };
    Project *p = NULL;
    bool ok = report_load(a->cli, false, &p, &problems) && mcp_entry_has(p, a->name);
    if (!ok) {
        Error ignored;
        error_set(err, ERR_CONFIG, "the entry does not fit into %s: %s", a->file.path,
            problems.n ? problems.at[0].message.at : "it was not found after writing");
        if (existed) (void)mcp_entry_write(a->file.path, buf_str(&a->before), &ignored);
        else (void)unlink(a->file.path);
    }
    project_free(p);
    problems_clear(&problems);
    return ok;
}

static bool check_use(const Adding *a, Error *err) {
    const Args *args = &a->cli->args;
    const char *url = args_value(args, "--url");
    if ((url != NULL) == (args->n_operands > 1)) return error_set(err, ERR_VALIDATION, "give either -- CMD or --url URL");
    if (url && !mcp_direct_is_url(url)) return error_set(err, ERR_VALIDATION, "--url: must start with https:// or http://");
    if (url && (args_has(args, "--network") || args_has(args, "--read-root")))
        return error_set(err, ERR_VALIDATION, "--network and --read-root are for a program, which runs in the sandbox; a URL needs neither");
    if (url && args_value(args, "--env")) return error_set(err, ERR_VALIDATION, "--env is for a program; a URL takes --header");
    if (!url && args_value(args, "--header")) return error_set(err, ERR_VALIDATION, "--header is for a URL; a program takes --env");
    return true;
}

/* ---- the network ---- */

/* True for arguments that keep such a program from downloading. */
static bool stays_local(const Args *args) {
    static const char *const flags[] = { "--offline", "--no-install", "--prefer-offline" };
    for (size_t i = 2; i < args->n_operands; i++)
        for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
            if (strcmp(args->operands[i], flags[k]) == 0) return true;
    return false;
}

/* A program that downloads what it runs (npx, uvx) would wait for a network that the sandbox does not have. */
static bool settle_network(Adding *a, Error *err) {
    const Args *args = &a->cli->args;
    a->network = args_has(args, "--network");
    if (a->network || args_has(args, "--no-network") || args_value(args, "--url") || !mcp_client_fetches(str_from(args->operands[1]))
        || stays_local(args)) return true;
    const char *program = args->operands[1];
    Terminal *terminal = confirm_terminal_open(a->cli);
    if (terminal) {
        Buf text = { 0 }, answer = { 0 };
        buf_add_fmt(&text, "harness: %s downloads what it starts, and the sandbox has no network. Give " STR_FMT " the network? [y/N]: ",
            program, STR_ARG(a->name));
        bool said = confirm_terminal_question(terminal, buf_str(&text), NULL, &answer);
        Str word = str_trim(buf_str(&answer));
        a->network = said && word.n && (word.at[0] == 'y' || word.at[0] == 'Y');
        buf_clear(&text);
        buf_clear(&answer);
        confirm_terminal_close(terminal);
        return true;
    }
    error_set(err, ERR_VALIDATION, "%s downloads what it starts, and the sandbox has no network", program);
    return error_hint(err, "--network gives the server the network; --no-network if the package is installed already");
}

/* ---- trying it ---- */

static size_t tools_of(McpRemotes *m, Str name) {
    for (size_t i = 0; i < mcp_remotes_count(m); i++) {
        McpServerFacts f = mcp_remotes_facts(m, i);
        if (str_eq(f.def->name, name)) return f.tools;
    }
    return 0;
}

static void say_tools(const Adding *a, size_t n) {
    Buf line = { 0 };
    buf_add_fmt(&line, "server " STR_FMT " answers: ", STR_ARG(a->name));
    report_count(&line, n, "tool");
    buf_add_fmt(&line, "; next: harness mcp tools " STR_FMT, STR_ARG(a->name));
    if (!args_has(&a->cli->args, "--quiet")) cli_say(a->cli, SAY_HINT, buf_str(&line));
    buf_clear(&line);
}

/* Starts the server once and lists its tools, so that mistakes are found now. The entry is kept in any case. */
static int probe(Adding *a) {
    Opening o;
    Error err = { 0 };
    int status = opening_open(&o, a->cli, NULL);
    if (status < 0) {
        Cancel *cancel = cancel_new_pausable(NULL, (int64_t)(a->network || args_value(&a->cli->args, "--url") ? PROBE_DOWNLOAD_S : PROBE_S) * 1000000000);
        Interrupt *interrupt = interrupt_start(cancel);
        interrupt_runtime(interrupt, o.rt);
        bool ok = mcp_remotes_ask(o.servers, a->name, cancel, &err);
        if (ok) say_tools(a, tools_of(o.servers, a->name));
        bool stopped = interrupt_stop(interrupt);
        cancel_free(cancel);
        if (!ok && !err.hint[0]) error_hint(&err, "the entry was added; correct it, or remove it with harness mcp remove " STR_FMT, STR_ARG(a->name));
        status = ok ? CLI_OK : stopped ? CLI_INTERRUPTED : cli_fail(a->cli, CLI_FAILED, &err);
    }
    opening_close(&o);
    return status;
}

static int try_it(Adding *a, bool trusted) {
    if (args_has(&a->cli->args, "--no-probe") || a->cli->json || !trusted) {
        Buf line = { 0 };
        if (trusted) buf_add_fmt(&line, "next: harness mcp tools " STR_FMT, STR_ARG(a->name));
        else buf_add(&line, STR("the server was not started, because the project is not trusted; next: harness trust"));
        if (!a->cli->json && !args_has(&a->cli->args, "--quiet")) cli_say(a->cli, SAY_HINT, buf_str(&line));
        buf_clear(&line);
        return CLI_OK;
    }
    return probe(a);
}

static int add(Adding *a, const Project *p) {
    Error err = { 0 };
    if (mcp_entry_has(p, a->name)) {
        error_set(&err, ERR_CONFIG, "server \"" STR_FMT "\" already exists", STR_ARG(a->name));
        error_hint(&err, "harness mcp remove " STR_FMT " removes it", STR_ARG(a->name));
        return cli_fail(a->cli, CLI_FAILED, &err);
    }
    bool trusted;
    mcp_entry_file(p, &a->file);
    bool existed = a->file.exists, ok = settle_network(a, &err);
    if (!ok) return cli_fail(a->cli, CLI_FAILED, &err);
    ok = mcp_entry_trusted(a->cli, &trusted, &err);
    ok = ok && (existed ? file_read(a->file.path, FILE_MAX, &a->before, &err) : (buf_add(&a->before, STR("---\n---\n")), true));
    ok = ok && compose(a, &err) && mcp_entry_write(a->file.path, buf_str(&a->after), &err) && verify(a, existed, &err)
        && (!trusted || mcp_entry_keep_trust(a->cli, &err));
    if (!ok) return cli_fail(a->cli, CLI_FAILED, &err);
    Buf *out = &a->cli->out;
    if (a->cli->json) {
        buf_add(out, STR("{\"server\":"));
        json_write_string(out, a->name, false);
        buf_add(out, STR(",\"file\":"));
        json_write_string(out, str_from(a->file.path), false);
        buf_add(out, STR("}\n"));
    } else {
        buf_add_fmt(out, "added " STR_FMT " to %s\n", STR_ARG(a->name), a->file.path);
        cli_flush(a->cli);
    }
    return try_it(a, trusted);
}

int command_mcp_add(Cli *cli) {
    Adding a = { .cli = cli, .name = str_from(cli->args.operands[0]) };
    Error err = { 0 };
    if (!check_use(&a, &err)) return cli_fail(cli, CLI_WRONG_USE, &err);
    Project *p = report_project(cli);
    if (!p) return CLI_FAILED;
    int status = add(&a, p);
    project_free(p);
    buf_clear(&a.before);
    buf_clear(&a.after);
    return status;
}
