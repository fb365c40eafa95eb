/* harness runs: lists the runs of the project. */
#include <stdlib.h>
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/queue.h"
#include "cli/state.h"
#include "cli/terminal/width.h"
#include "store/store_page.h"

enum { AGE_COLUMNS = 6, STATUS_COLUMNS = 11 };

typedef struct Listing {
    Cli *cli;
    Store *store;
    size_t n, hidden, limit, width;
    StoreRunFilter filter;
} Listing;

static bool list_json(void *ctx, const StoreRun *r) {
    Listing *l = ctx;
    buf_add(&l->cli->out, l->n++ ? STR(",\n  ") : STR("  "));
    store_page_run_json(l->store, r, &l->cli->out);
    return true;
}

/* ---- as text: one line a run, which fits ---- */

static void add_cell(Buf *out, Str text, size_t columns) {
    Buf cell = { 0 };
    width_add_cut(&cell, text, columns);
    buf_add(out, buf_str(&cell));
    width_add_spaces(out, columns - width_of(buf_str(&cell)) + 2);
    buf_clear(&cell);
}

static bool list_text(void *ctx, const StoreRun *r) {
    Listing *l = ctx;
    Buf *b = &l->cli->out, age = { 0 }, title = { 0 }, tool = { 0 }, tail = { 0 };
    report_age(&age, r->started_ns);
    if (r->agent.n) cli_escape_all(&title, r->agent, false), buf_add(&title, r->title.n ? STR(": ") : STR(""));
    cli_escape_all(&title, r->title, false);
    store_page_tool(l->store, r, &tool);
    if (tool.n) buf_add(&title, title.n ? STR(": call ") : STR("call ")), cli_escape_all(&title, buf_str(&tool), false);
    buf_add_fmt(&tail, "%3lld %-5s %4lld %-5s", (long long)r->turns, r->turns == 1 ? "turn" : "turns", (long long)r->tool_calls,
                r->tool_calls == 1 ? "call" : "calls");
    if (r->cost > 0) buf_add_fmt(&tail, "  $%.2f", r->cost);
    size_t fixed = STATE_SHORT_ID + 2 + AGE_COLUMNS + 2 + STATUS_COLUMNS + 2, end = width_of(buf_str(&tail));
    add_cell(b, state_short_id(r->id), STATE_SHORT_ID);
    add_cell(b, buf_str(&age), AGE_COLUMNS);
    add_cell(b, r->status, STATUS_COLUMNS);
    if (l->width >= fixed + end + 12) {
        add_cell(b, buf_str(&title), l->width - fixed - end - 2);
        while (tail.n && tail.at[tail.n - 1] == ' ') tail.n--;
        buf_add(b, buf_str(&tail));
    } else {
        width_add_cut(b, buf_str(&title), l->width > fixed ? l->width - fixed : 8);
    }
    buf_add_char(b, '\n');
    buf_clear(&age);
    buf_clear(&title);
    buf_clear(&tool);
    buf_clear(&tail);
    return true;
}

/* ---- which ---- */

static bool list_one(void *ctx, const StoreRun *r) {
    Listing *l = ctx;
    if (!store_page_wanted(&l->filter, r)) return l->hidden++, true;
    if (l->cli->json) list_json(l, r);
    else list_text(l, r), l->n++;
    return l->n < l->limit;
}

static bool read_limit(const char *text, size_t *out, Error *err) {
    char *end;
    long long n = strtoll(text, &end, 10);
    if (end == text || *end || n < 1) return error_set(err, ERR_VALIDATION, "--limit: \"%s\" is not a number of 1 or more", text);
    return *out = (size_t)n, true;
}

static bool read_flags(Cli *cli, Listing *l, Error *err) {
    const char *since = args_value(&cli->args, "--since"), *limit = args_value(&cli->args, "--limit");
    int64_t age = 0;
    *l = (Listing){ .cli = cli, .limit = SIZE_MAX, .width = width_of_terminal(1) };
    l->filter = (StoreRunFilter){ .all = args_has(&cli->args, "--all"), .any_agent = true,
                                  .status = str_from(args_value(&cli->args, "--status")), .search = str_from(args_value(&cli->args, "--search")) };
    if ((since && !state_read_age("--since", since, &age, err)) || (limit && !read_limit(limit, &l->limit, err))) return false;
    if (since) l->filter.since_ns = clock_wall_ns() - age;
    return true;
}

int command_runs(Cli *cli) {
    State s;
    Error err = { 0 };
    Listing l;
    if (!read_flags(cli, &l, &err)) return cli_fail(cli, CLI_WRONG_USE, &err);
    if (!state_open(cli, &s)) return CLI_FAILED;
    l.store = s.store;
    if (cli->json) buf_add(&cli->out, STR("[\n"));
    bool ok = store_run_each(s.store, list_one, &l, &err);
    if (cli->json) buf_add(&cli->out, STR("\n]\n"));
    else if (ok && l.n == 0 && l.hidden) cli_say(cli, SAY_HINT, STR("no such runs; harness runs --all also lists those of harness call and of MCP clients"));
    else if (ok && l.n == 0) cli_say(cli, SAY_HINT, STR("no runs yet: start one with harness run -p \"…\""));
    if (ok && !cli->json) queue_say_stranded(cli, s.store);
    state_close(&s);
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}
