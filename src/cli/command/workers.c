/* harness workers: the processes that hold runs of the project in a database. */
#include "base/clock.h"
#include "cli/queue.h"
#include "cli/state.h"
#include "event/event.h"
#include "store/store_queue.h"

typedef struct Listing { Cli *cli; size_t n; } Listing;

static void add_runs_json(Buf *out, Str runs) {
    buf_add_char(out, '[');
    for (size_t n = 0; runs.n; n++) {
        ptrdiff_t space = str_find_char(runs, ' ');
        if (n) buf_add_char(out, ',');
        json_write_string(out, str_sub(runs, 0, space < 0 ? runs.n : (size_t)space), false);
        runs = str_sub(runs, space < 0 ? runs.n : (size_t)space + 1, runs.n);
    }
    buf_add_char(out, ']');
}

static void add_json(Buf *out, const StoreWorker *w) {
    Buf runs = { 0 };
    char since[CLOCK_TEXT_SIZE];
    clock_format(w->started_ns, since);
    add_runs_json(&runs, w->runs);
    event_data_start(out);
    event_data_str(out, "id", w->id);
    event_data_str(out, "host", w->host);
    event_data_int(out, "pid", w->pid);
    event_data_str(out, "kind", w->kind);
    event_data_str(out, "since", str_from(since));
    event_data_int(out, "lease_ms", w->lease_ms);
    event_data_raw(out, "runs", buf_str(&runs));
    event_data_end(out);
    buf_clear(&runs);
}

/* The ends of the ids, as in `harness runs`. */
static void add_short_ids(Buf *out, Str runs) {
    while (runs.n) {
        ptrdiff_t space = str_find_char(runs, ' ');
        buf_add_char(out, ' ');
        buf_add(out, state_short_id(str_sub(runs, 0, space < 0 ? runs.n : (size_t)space)));
        runs = str_sub(runs, space < 0 ? runs.n : (size_t)space + 1, runs.n);
    }
}

static void add_text(Buf *out, const StoreWorker *w) {
    Buf age = { 0 }, host = { 0 };
    report_age(&age, w->started_ns);
    cli_escape_all(&host, w->host, false);
    buf_add_fmt(out, "%-24s %8lld  %-7.*s  %-6s ", host.n ? host.at : "", (long long)w->pid, STR_ARG(w->kind), age.n ? age.at : "");
    add_short_ids(out, w->runs);
    while (out->n && out->at[out->n - 1] == ' ') out->n--;
    buf_add_char(out, '\n');
    buf_clear(&age);
    buf_clear(&host);
}

static bool list(void *ctx, const StoreWorker *w) {
    Listing *l = ctx;
    if (l->cli->json) buf_add(&l->cli->out, l->n ? STR(",\n  ") : STR("  ")), add_json(&l->cli->out, w);
    else add_text(&l->cli->out, w);
    l->n++;
    return true;
}

/* Runs that wait for a user have no process. */
static bool say_waiting(Cli *cli, Store *s, Error *err) {
    int64_t n = 0;
    Buf line = { 0 };
    if (!store_queue_waiting(s, &n, err)) return false;
    buf_add_fmt(&line, "%lld %s for an answer: harness approvals", (long long)n, n == 1 ? "run waits" : "runs wait");
    if (n) cli_say(cli, SAY_HINT, buf_str(&line));
    buf_clear(&line);
    return true;
}

int command_workers(Cli *cli) {
    State s;
    Error err = { 0 };
    Listing l = { .cli = cli };
    if (!state_open(cli, &s)) return CLI_FAILED;
    if (cli->json) buf_add(&cli->out, STR("[\n"));
    bool ok = store_queue_workers(s.store, list, &l, &err);
    if (cli->json) buf_add(&cli->out, STR("\n]\n"));
    else if (ok && l.n == 0) cli_say(cli, SAY_HINT, STR("no worker is alive: start one with harness worker"));
    if (ok && !cli->json) ok = say_waiting(cli, s.store, &err);
    if (ok && !cli->json) queue_say_stranded(cli, s.store);
    state_close(&s);
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}
