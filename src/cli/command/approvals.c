/* harness approvals: open questions of all processes of the project, and stored answers. */
#include <unistd.h>
#include "cli/terminal/confirm_terminal.h"
#include "cli/state.h"
#include "cli/terminal/table.h"
#include "cli/terminal/timeline.h"
#include "cli/terminal/width.h"
#include "cli/terminal/wrap.h"
#include "store/store_page.h"
#include "tool/laid_out.h"
#include "value/dict.h"
#include "value/json.h"

/* ---- what waits ---- */

typedef struct Waiting { Cli *cli; Table table; Store *store; size_t n; } Waiting;

static void add_member(Buf *b, const char *key, Str text) {
    buf_add_fmt(b, ",\"%s\":", key);
    json_write_string(b, text, false);
}

static bool list_json(void *ctx, const StoreApproval *a) {
    Waiting *w = ctx;
    buf_add(&w->cli->out, w->n++ ? STR(",\n  ") : STR("  "));
    store_page_approval_json(w->store, a, store_page_waits(w->store, a->run), &w->cli->out);
    return true;
}

static bool list_text(void *ctx, const StoreApproval *a) {
    Waiting *w = ctx;
    Buf about = { 0 };
    timeline_about(&about, a->args);
    table_add(&w->table, a->id);
    table_add(&w->table, a->tool);
    table_add(&w->table, a->why);
    if (!store_page_waits(w->store, a->run)) buf_add(&about, STR("  (its run was interrupted)"));
    table_add(&w->table, buf_str(&about));
    buf_clear(&about);
    w->n++;
    return true;
}

int command_approvals(Cli *cli) {
    State p;
    Error err = { 0 };
    Waiting w = { .cli = cli, .table = { .columns = 4 } };
    if (!state_open(cli, &p)) return CLI_FAILED;
    w.store = p.store;
    if (cli->json) buf_add(&cli->out, STR("[\n"));
    bool ok = store_approval_each(p.store, cli->json ? list_json : list_text, &w, &err);
    if (cli->json) buf_add(&cli->out, STR("\n]\n"));
    else table_write(&w.table, &cli->out, 0, cli->color_out);
    if (ok && !cli->json && w.n == 0) cli_say(cli, SAY_HINT, STR("no question waits for an answer"));
    state_close(&p);
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}

/* ---- answering ---- */

typedef struct Found { Buf run, head, state, by, args; } Found;

static void found_clear(Found *f) {
    buf_clear(&f->run);
    buf_clear(&f->head);
    buf_clear(&f->state);
    buf_clear(&f->by);
    buf_clear(&f->args);
}

static bool take_question(void *ctx, const StoreApproval *a) {
    Found *f = ctx;
    buf_add(&f->state, a->state);
    buf_add(&f->by, a->by);
    buf_add(&f->args, a->args);
    buf_add(&f->run, a->run);
    buf_add_fmt(&f->head, "allow " STR_FMT "? (%s" STR_FMT ")", STR_ARG(a->tool), str_eq(a->why, STR("confirm: true")) ? "marked " : "", STR_ARG(a->why));
    return true;
}

/* As the process that asks shows it: a command, a diff. Else the arguments. */
static bool add_shown(Store *s, const Found *f, Str id, Buf *out, Error *err) {
    Buf shown = { 0 };
    bool found = false;
    bool ok = store_question_note_get(s, buf_str(&f->run), id, STORE_QUESTION_SHOWN, &shown, &found, err);
    if (ok && !found) {
        Heap *h = heap_new(0);
        Value v;
        if (json_read(h, buf_str(&f->args), NULL, &v, NULL)) laid_out_add(&shown, v);
        else buf_add(&shown, buf_str(&f->args));
        heap_free(h);
    }
    Buf safe = { 0 };
    cli_escape_all(&safe, buf_str(&shown), true);
    wrap_lines(out, buf_str(&safe), 2, width_of_terminal(STDERR_FILENO));
    buf_clear(&safe);
    buf_clear(&shown);
    return ok;
}

static bool check_args(const char *args, const Found *f, Error *err) {
    Heap *h = heap_new(0);
    Value v;
    if (!args) return heap_free(h), true;
    bool ok = json_read(h, str_from(args), &(JsonRead){ .reject_duplicates = true }, &v, err) ? value_is_dict(v)
        || error_set(err, ERR_VALIDATION, "expected a JSON object") : false;
    heap_free(h);
    if (!ok) return error_wrap(err, "--args");
    if (str_find(buf_str(&f->args), STR("[redacted]")) >= 0) return error_set(err, ERR_VALIDATION, "--args: arguments that held a secret cannot be changed");
    return true;
}

/* If another user answered first, the message names that user. */
static bool put_answer(Cli *cli, Store *s, Str id, Str answer, Error *err) {
    Buf by = { 0 };
    Found now = { 0 };
    bool first = false;
    buf_add_fmt(&by, "command line, uid %u", (unsigned)getuid());
    bool ok = store_approval_answer(s, id, answer, buf_str(&by), &first, err);
    if (ok && first) buf_add_fmt(&cli->out, STR_FMT ": answered\n", STR_ARG(id));
    else if (ok && store_approval_get(s, id, take_question, &now, err)) {
        ok = false;
        if (str_eq(buf_str(&now.state), STR("withdrawn"))) error_set(err, ERR_POLICY, STR_FMT " was withdrawn: the call that asked has ended", STR_ARG(id));
        else if (str_eq(buf_str(&now.state), STR("open"))) error_set(err, ERR_POLICY, STR_FMT " has expired: the call will be refused", STR_ARG(id));
        else error_set(err, ERR_POLICY, STR_FMT " was answered already, by " STR_FMT, STR_ARG(id), STR_ARG(buf_str(&now.by)));
    }
    buf_clear(&by);
    found_clear(&now);
    return ok;
}

static bool agrees(Cli *cli, Store *s, const Found *f, Str id, Error *err) {
    if (args_has(&cli->args, "--yes")) return true;
    Terminal *t = cli->json ? NULL : confirm_terminal_open(cli);
    Buf text = { 0 }, line = { 0 };
    if (!t) return error_set(err, ERR_POLICY, "approving needs a terminal to ask you"), error_hint(err, "--yes approves without asking");
    cli_escape_all(&text, buf_str(&f->head), false);
    buf_add_char(&text, '\n');
    bool shown = add_shown(s, f, id, &text, err), yes = false;
    buf_add(&text, STR("allow it? [y/N]: "));
    if (shown) yes = confirm_terminal_question(t, buf_str(&text), NULL, &line) && line.n && (line.at[0] == 'y' || line.at[0] == 'Y');
    confirm_terminal_close(t);
    buf_clear(&text);
    buf_clear(&line);
    return !shown ? false : yes || error_set(err, ERR_POLICY, "not approved: the question stays open");
}

static bool answer(Cli *cli, Store *s, bool yes, Error *err) {
    const char *args = args_value(&cli->args, "--args"), *because = args_value(&cli->args, "--because");
    Buf id = { 0 }, json = { 0 };
    Found f = { 0 };
    bool ok = store_approval_find(s, str_from(cli->args.operands[0]), &id, err) && store_approval_get(s, buf_str(&id), take_question, &f, err);
    ok = ok && (!yes || (check_args(args, &f, err) && agrees(cli, s, &f, buf_str(&id), err)));
    if (ok) {
        buf_add_fmt(&json, "{\"answer\":\"%s\"", yes ? "yes" : "no");
        if (because) add_member(&json, "reason", str_from(because));
        if (args) buf_add_fmt(&json, ",\"args\":%s", args);
        buf_add_char(&json, '}');
        ok = put_answer(cli, s, buf_str(&id), buf_str(&json), err);
    }
    buf_clear(&id);
    buf_clear(&json);
    found_clear(&f);
    return ok;
}

static int answer_with(Cli *cli, bool yes) {
    State p;
    Error err = { 0 };
    if (!state_open(cli, &p)) return CLI_FAILED;
    bool ok = answer(cli, p.store, yes, &err);
    state_close(&p);
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}

int command_approvals_approve(Cli *cli) { return answer_with(cli, true); }
int command_approvals_deny(Cli *cli) { return answer_with(cli, false); }

/* ---- kept answers ---- */

static bool list_kept(void *ctx, Str key, Str text) {
    Waiting *w = ctx;
    Heap *h = heap_new(0);
    Value v;
    Error err;
    if (w->cli->json) {
        buf_add(&w->cli->out, w->n ? STR(",\n  {\"id\":") : STR("  {\"id\":"));
        json_write_string(&w->cli->out, key, false);
        buf_add_fmt(&w->cli->out, "," STR_FMT, STR_ARG(str_sub(text, 1, text.n)));
    } else if (json_read(h, text, NULL, &v, &err)) {
        Buf about = { 0 }, args = { 0 };
        if (json_write(&args, value_member(v, "args"), NULL, &err)) timeline_about(&about, buf_str(&args));
        table_add(&w->table, key);
        table_add(&w->table, value_member_text(v, "tool"));
        table_add(&w->table, value_member_text(v, "rule"));
        table_add(&w->table, buf_str(&about));
        buf_clear(&about);
        buf_clear(&args);
    }
    w->n++;
    heap_free(h);
    return true;
}

int command_approvals_kept(Cli *cli) {
    State p;
    Error err = { 0 };
    Buf scope = { 0 };
    Waiting w = { .cli = cli, .table = { .columns = 4 } };
    if (!state_open(cli, &p)) return CLI_FAILED;
    runtime_approval_scope(p.project->root, &scope);
    if (cli->json) buf_add(&cli->out, STR("[\n"));
    bool ok = store_note_each(p.store, buf_str(&scope), list_kept, &w, &err);
    if (cli->json) buf_add(&cli->out, STR("\n]\n"));
    else table_write(&w.table, &cli->out, 0, cli->color_out);
    if (ok && !cli->json && w.n == 0) cli_say(cli, SAY_HINT, STR("no approval is kept: the answer p at a question keeps one"));
    buf_clear(&scope);
    state_close(&p);
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}

int command_approvals_revoke(Cli *cli) {
    State p;
    Error err = { 0 };
    Buf scope = { 0 }, text = { 0 };
    bool found = false;
    Str id = str_from(cli->args.operands[0]);
    if (!state_open(cli, &p)) return CLI_FAILED;
    runtime_approval_scope(p.project->root, &scope);
    bool ok = store_note_get(p.store, buf_str(&scope), id, &text, &found, &err);
    if (ok && !found) ok = error_set(&err, ERR_VALIDATION, "no approval " STR_FMT " is kept", STR_ARG(id)),
        error_hint(&err, "harness approvals kept lists them");
    ok = ok && store_note_delete(p.store, buf_str(&scope), id, &err);
    if (ok) buf_add_fmt(&cli->out, STR_FMT ": revoked\n", STR_ARG(id));
    buf_clear(&scope);
    buf_clear(&text);
    state_close(&p);
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}
