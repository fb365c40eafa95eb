/* harness trust: what a project asks for beyond the defaults, and the user's agreement to it. */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "cli/terminal/table.h"
#include "cli/terminal/trust_prompt.h"
#include "tool/protect/record.h"
#include "value/json.h"

/* Escapes a path, so that a line break in it cannot start a new line. */
static void add_line(Buf *out, const char *before, Str path, const char *after) {
    buf_add(out, str_from(before));
    cli_escape_all(out, path, false);
    buf_add_fmt(out, "%s\n", after);
}

/* Values of keys are JSON already; a path that was computed, or a user name, is plain text. */
static void add_value(Buf *out, const Grant *g) {
    if (g->line) buf_add(out, g->value);
    else json_write_string(out, g->value, false);
}

static void add_json_grants(Buf *out, const TrustSubject *s) {
    buf_add_char(out, '[');
    for (size_t i = 0; i < s->n_grants; i++) {
        const Grant *g = &s->grants[i];
        buf_add(out, i ? STR(",{\"group\":") : STR("{\"group\":"));
        json_write_string(out, str_from(grants_heading(g->kind)), false);
        buf_add(out, STR(",\"what\":"));
        json_write_string(out, str_from(g->words), false);
        buf_add(out, STR(",\"value\":"));
        if (g->value.n) add_value(out, g);
        else buf_add(out, STR("null"));
        buf_add(out, STR(",\"file\":"));
        json_write_string(out, g->file, false);
        buf_add_fmt(out, ",\"line\":%u,\"key\":", g->line);
        json_write_string(out, g->path, false);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

static const char *const states[] = { [TRUST_NOT_NEEDED] = "not needed", [TRUST_GIVEN] = "trusted", [TRUST_MISSING] = "not trusted",
                                      [TRUST_GRANTS_CHANGED] = "asks for more", [TRUST_CODE_CHANGED] = "files changed" };

static void print_json(Cli *cli, const TrustSubject *s, TrustState state) {
    char digest[TRUST_DIGEST_SIZE];
    Buf *out = &cli->out;
    trust_digest(s, digest);
    buf_add(out, STR("{\"root\":"));
    json_write_string(out, s->root, false);
    buf_add_fmt(out, ",\"state\":\"%s\",\"digest\":\"%s\",\"grants\":", states[state], digest);
    add_json_grants(out, s);
    buf_add(out, STR("}\n"));
}

/* ---- agreeing ---- */

static int agree(Cli *cli, const TrustSubject *s, bool always) {
    Error err = { 0 };
    if (!trust_give(s, always, &err)) return cli_fail(cli, CLI_FAILED, &err);
    if (cli->json) print_json(cli, s, TRUST_GIVEN);
    else add_line(&cli->out, "trusted: ", s->root, "");
    return CLI_OK;
}

static int accept_digest(Cli *cli, const TrustSubject *s, const char *given) {
    char digest[TRUST_DIGEST_SIZE];
    Error err = { 0 };
    trust_digest(s, digest);
    if (strcmp(given, digest) == 0) return agree(cli, s, false);
    error_set(&err, ERR_POLICY, "--accept: the project's digest is %s, not %s: it changed since", digest, given);
    return cli_fail(cli, CLI_FAILED, &err);
}

static int ask(Cli *cli, const TrustSubject *s, TrustState state) {
    Error err = { 0 };
    Buf text = { 0 };
    bool always = false;
    Terminal *terminal = cli->json ? NULL : confirm_terminal_open(cli);
    bool yes = terminal && trust_prompt_ask(terminal, s, state == TRUST_GIVEN ? TRUST_MISSING : state, &always);
    bool asked = terminal != NULL;
    confirm_terminal_close(terminal);
    if (yes) return agree(cli, s, always);
    if (asked) return CLI_FAILED;
    if (cli->json) return print_json(cli, s, state), state == TRUST_GIVEN ? CLI_OK : CLI_FAILED;
    trust_prompt_screen(s, state, &text);
    buf_add(&cli->out, buf_str(&text));
    buf_clear(&text);
    if (state == TRUST_GIVEN) return CLI_OK;
    cli_flush(cli);
    error_set(&err, ERR_POLICY, "no terminal is available");
    error_hint(&err, "`harness trust --accept DIGEST` trusts the digest that `harness trust --print` printed; HARNESS_TRUST does so for one command");
    return cli_fail(cli, CLI_FAILED, &err);
}

static int decide(Cli *cli, const TrustSubject *s) {
    Error err = { 0 };
    TrustState state;
    char digest[TRUST_DIGEST_SIZE];
    if (args_has(&cli->args, "--print")) {
        trust_digest(s, digest);
        buf_add_fmt(&cli->out, "%s\n", digest);
        return CLI_OK;
    }
    if (!trust_state(s, NULL, &state, &err)) return cli_fail(cli, CLI_FAILED, &err);
    if (state == TRUST_NOT_NEEDED) {
        if (cli->json) print_json(cli, s, state);
        else add_line(&cli->out, "", s->root, " asks for nothing beyond the defaults: it needs no trust");
        return CLI_OK;
    }
    const char *given = args_value(&cli->args, "--accept");
    return given ? accept_digest(cli, s, given) : ask(cli, s, state);
}

/* ---- pending and displaced files ---- */

/* Files that changed while a call could write them come first: showing them does not need the project. */
static bool add_waiting(Cli *cli, const char *dir, Error *err) {
    char root[PATH_MAX];
    Buf told = { 0 }, diff = { 0 };
    RecordPlaces places;
    if (!project_root(&(ProjectInput){ .dir = dir ? dir : cli_project(cli), .config = cli->config }, root)) return true;      /* loading reports this error */
    record_places(NULL, &places);
    bool ok = record_waiting(&places, root, &told, &diff, err);
    if (diff.n) {
        buf_add(&cli->out, STR("Changed while a call could write them. The next command that runs something restores them, or asks you on a terminal:\n"));
        cli_escape_all(&cli->out, buf_str(&diff), true);
    }
    buf_clear(&told);
    buf_clear(&diff);
    record_places_clear(&places);
    return ok;
}

static int show_diff(Cli *cli, const char *dir) {
    Error err = { 0 };
    Buf changes = { 0 };
    if (!add_waiting(cli, dir, &err)) return cli_fail(cli, CLI_FAILED, &err);
    size_t from = cli->out.n;
    Runtime *rt = trust_prompt_read(cli, dir, &err);
    if (rt) trust_show_changes(runtime_trust_subject(rt), &changes);
    if (from && changes.n) buf_add(&cli->out, STR("\nChanged since you agreed:\n"));
    cli_escape_all(&cli->out, buf_str(&changes), true);
    buf_clear(&changes);
    runtime_close(rt);
    return rt ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}

typedef struct Kept { Cli *cli; size_t n; } Kept;

static void show_displaced(void *ctx, const Displaced *d) {
    Kept *k = ctx;
    Buf *out = &k->cli->out;
    char when[CLOCK_TEXT_SIZE];
    clock_format(d->when * 1000000000, when);
    if (k->cli->json) {
        buf_add(out, k->n++ ? STR(",{\"when\":") : STR("{\"when\":"));
        json_write_string(out, str_from(when), false);
        buf_add(out, STR(",\"project\":"));
        json_write_string(out, d->project, false);
        buf_add(out, STR(",\"path\":"));
        json_write_string(out, d->path, false);
        buf_add(out, STR(",\"copy\":"));
        json_write_string(out, str_from(d->content), false);
        buf_add_char(out, '}');
        return;
    }
    if (k->n++) buf_add_char(out, '\n');
    add_line(out, "", d->path, "");
    buf_add_fmt(out, "  displaced %.16s, ", when);
    add_line(out, "project ", d->project.n ? d->project : STR("not known"), "");
    add_line(out, "  copy      ", str_from(d->content), "");
}

static int list_displaced(Cli *cli) {
    Kept k = { .cli = cli };
    RecordPlaces places;
    record_places(NULL, &places);
    if (cli->json) buf_add_char(&cli->out, '[');
    record_displaced(&places, show_displaced, &k);
    if (cli->json) buf_add(&cli->out, STR("]\n"));
    else if (k.n == 0) buf_add(&cli->out, STR("nothing was displaced in the last 30 days\n"));
    else buf_add(&cli->out, STR("\nTo restore one, review its copy, then copy it to its path (cp COPY PATH). Copies are removed after 30 days.\n"));
    record_places_clear(&places);
    return CLI_OK;
}

int command_trust(Cli *cli) {
    Error err = { 0 };
    const char *dir = cli->args.n_operands ? cli->args.operands[0] : NULL;
    if (args_has(&cli->args, "--displaced")) return list_displaced(cli);
    if (args_has(&cli->args, "--diff")) return show_diff(cli, dir);
    Runtime *rt = trust_prompt_read(cli, dir, &err);
    int status = rt ? decide(cli, runtime_trust_subject(rt)) : cli_fail(cli, CLI_FAILED, &err);
    runtime_close(rt);
    return status;
}

/* ---- list, forget ---- */

typedef struct Listing { Cli *cli; Table table; size_t n; } Listing;

static void list_one(void *ctx, const TrustEntry *e) {
    Listing *l = ctx;
    Buf *out = &l->cli->out;
    if (l->cli->json) {
        buf_add(out, l->n++ ? STR(",{\"root\":") : STR("{\"root\":"));
        json_write_string(out, e->root, false);
        buf_add(out, STR(",\"given\":"));
        json_write_string(out, e->given, false);
        buf_add_fmt(out, ",\"always\":%s,\"grants\":%zu}", e->always ? "true" : "false", e->grants);
        return;
    }
    l->n++;
    table_add(&l->table, e->root);
    table_add(&l->table, str_sub(e->given, 0, 10));
    table_add_fmt(&l->table, "%zu grants", e->grants);
    table_add(&l->table, e->always ? STR("always") : STR(""));
}

int command_trust_list(Cli *cli) {
    Listing l = { .cli = cli, .table = { .columns = 4 } };
    Error err = { 0 };
    if (cli->json) buf_add_char(&cli->out, '[');
    bool ok = trust_list(list_one, &l, &err);
    if (cli->json) buf_add(&cli->out, STR("]\n"));
    else table_write(&l.table, &cli->out, 0, cli->color_out);
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}

int command_trust_forget(Cli *cli) {
    Error err = { 0 };
    char real[PATH_MAX];
    bool found;
    const char *dir = cli->args.n_operands ? cli->args.operands[0] : ".";
    Str root = realpath(dir, real) ? str_from(real) : str_from(dir);     /* a missing folder is named as given */
    if (!trust_forget(root, &found, &err)) return cli_fail(cli, CLI_FAILED, &err);
    if (!found) {
        error_set(&err, ERR_VALIDATION, STR_FMT " is not trusted", STR_ARG(root));
        error_hint(&err, "see harness trust list");
        return cli_fail(cli, CLI_FAILED, &err);
    }
    add_line(&cli->out, "forgotten: ", root, "");
    return CLI_OK;
}
