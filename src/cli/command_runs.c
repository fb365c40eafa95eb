/* harness runs: what is in the store. */
#include <stdio.h>
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/report.h"
#include "cli/table.h"
#include "store/store.h"
#include "value/json.h"

static bool open_store(Cli *cli, Store **out, Error *err) {
    Project *p = report_project(cli);
    if (!p) return false;
    Buf path = { 0 };
    bool ok = store_default_path(p->root, &path, err) && store_open(path.at, false, out, err);
    buf_clear(&path);
    project_free(p);
    if (!ok) cli_fail(cli, CLI_FAILED, err);
    return ok;
}

typedef struct Listing { Cli *cli; size_t n; } Listing;

static void add_time(Buf *b, int64_t ns) {
    char text[CLOCK_TEXT_SIZE];
    clock_format(ns, text);
    text[19] = 'Z';
    text[20] = 0;
    buf_add(b, str_from(text));
}

static bool list_json(void *ctx, const StoreRun *r) {
    Listing *l = ctx;
    Buf *b = &l->cli->out;
    buf_add(b, l->n++ ? STR(",\n  {\"id\":") : STR("  {\"id\":"));
    json_write_string(b, r->id, false);
    buf_add(b, STR(",\"status\":"));
    json_write_string(b, r->status, false);
    buf_add(b, STR(",\"started\":\""));
    add_time(b, r->started_ns);
    buf_add(b, r->ended_ns ? STR("\",\"ended\":\"") : STR("\",\"ended\":null"));
    if (r->ended_ns) {
        add_time(b, r->ended_ns);
        buf_add_char(b, '"');
    }
    buf_add(b, STR(",\"agent\":"));
    json_write_string(b, r->agent, false);
    buf_add_fmt(b, ",\"turns\":%lld,\"tool_calls\":%lld,\"usage\":" STR_FMT "}", (long long)r->turns, (long long)r->tool_calls,
                STR_ARG(r->usage.n ? r->usage : STR("{}")));
    return true;
}

static bool list_text(void *ctx, const StoreRun *r) {
    Listing *l = ctx;
    Buf *b = &l->cli->out;
    l->n++;
    buf_add_fmt(b, STR_FMT "  ", STR_ARG(r->id));
    add_time(b, r->started_ns);
    buf_add_fmt(b, "  %-10.*s %3lld turns %4lld calls", STR_ARG(r->status), (long long)r->turns, (long long)r->tool_calls);
    if (r->agent.n) buf_add_fmt(b, "  " STR_FMT, STR_ARG(r->agent));
    buf_add_char(b, '\n');
    return true;
}

int command_runs(Cli *cli) {
    Store *s;
    Error err = { 0 };
    Listing l = { .cli = cli };
    if (!open_store(cli, &s, &err)) return CLI_FAILED;
    if (cli->json) buf_add(&cli->out, STR("[\n"));
    bool ok = store_run_each(s, cli->json ? list_json : list_text, &l, &err);
    if (cli->json) buf_add(&cli->out, STR("\n]\n"));
    else if (ok && l.n == 0) cli_say(cli, SAY_HINT, STR("no runs yet: harness run -p \"…\" makes one"));
    store_close(s);
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}

static bool show_json(void *ctx, const Event *e) {
    Listing *l = ctx;
    buf_add(&l->cli->out, l->n++ ? STR(",\n  ") : STR("  "));
    event_write_json(&l->cli->out, e);
    return true;
}

/* One line an event: when, how deep, what, and the beginning of its data. */
static bool show_text(void *ctx, const Event *e) {
    Listing *l = ctx;
    Buf *b = &l->cli->out;
    char time[CLOCK_TEXT_SIZE];
    clock_format(e->time_ns, time);
    buf_add_fmt(b, "%5llu  %.12s  %*s%-22.*s ", (unsigned long long)e->seq, time + 11, 2 * e->depth, "", STR_ARG(e->type));
    cli_escape(b, str_sub(e->data, 0, 160), false);
    if (e->data.n > 160) buf_add(b, STR("…"));
    buf_add_char(b, '\n');
    l->n++;
    return true;
}

typedef struct Finding { Str id; Buf status; } Finding;

static bool note_status(void *ctx, const StoreRun *r) {
    Finding *f = ctx;
    if (!str_eq(r->id, f->id)) return true;
    buf_add(&f->status, r->status);
    return false;
}

static bool show(Cli *cli, Store *s, Error *err) {
    Buf id = { 0 };
    Listing l = { .cli = cli };
    Finding f = { 0 };
    bool ok = store_run_find(s, str_from(cli->args.operands[0]), &id, err);
    f.id = buf_str(&id);
    ok = ok && store_run_each(s, note_status, &f, err);
    if (ok && cli->json) {
        buf_add(&cli->out, STR("{\"id\":"));
        json_write_string(&cli->out, buf_str(&id), false);
        buf_add(&cli->out, STR(",\"status\":"));
        json_write_string(&cli->out, buf_str(&f.status), false);
        buf_add(&cli->out, STR(",\"events\":[\n"));
    }
    ok = ok && store_event_each(s, buf_str(&id), 0, cli->json ? show_json : show_text, &l, err);
    if (ok && cli->json) buf_add(&cli->out, STR("\n]}\n"));
    buf_clear(&id);
    buf_clear(&f.status);
    return ok;
}

int command_runs_show(Cli *cli) {
    Store *s;
    Error err = { 0 };
    if (!open_store(cli, &s, &err)) return CLI_FAILED;
    bool ok = show(cli, s, &err);
    store_close(s);
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}
