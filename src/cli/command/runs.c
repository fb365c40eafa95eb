/* harness runs: what is in the store. */
#include <ctype.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/report.h"
#include "cli/terminal/timeline.h"
#include "cli/terminal/width.h"
#include "model/model.h"
#include "model/request.h"
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

enum { SHORT_ID = 8, AGE_COLUMNS = 6, STATUS_COLUMNS = 11 };

typedef struct Listing {
    Cli *cli;
    size_t n, hidden, limit, width;
    bool all;
    const char *status, *search;         /* NULL: any */
    int64_t since_ns;                    /* 0: any */
    ModelUsage usage;                    /* of all replies so far */
    Heap *heap;
} Listing;

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
    buf_add(b, STR(",\"title\":"));
    json_write_string(b, r->title, false);
    buf_add_fmt(b, ",\"cost\":%.6f,\"turns\":%lld,\"tool_calls\":%lld,\"usage\":" STR_FMT "}", r->cost, (long long)r->turns, (long long)r->tool_calls,
                STR_ARG(r->usage.n ? r->usage : STR("{}")));
    return true;
}

/* ---- as text: one line a run, which fits ---- */

/* Ids of one day have the same beginning: shows the end. */
static Str short_id(Str id) { return id.n > SHORT_ID ? str_sub(id, id.n - SHORT_ID, id.n) : id; }

static void add_age(Buf *out, int64_t ns) {
    long long s = (long long)((clock_wall_ns() - ns) / 1000000000);
    if (s < 60) buf_add_fmt(out, "%lld s", s < 0 ? 0 : s);
    else if (s < 3600) buf_add_fmt(out, "%lld min", s / 60);
    else if (s < 172800) buf_add_fmt(out, "%lld h", s / 3600);
    else buf_add_fmt(out, "%lld d", s / 86400);
}

static void add_cell(Buf *out, Str text, size_t columns) {
    Buf cell = { 0 };
    width_add_cut(&cell, text, columns);
    buf_add(out, buf_str(&cell));
    width_add_spaces(out, columns - width_of(buf_str(&cell)) + 2);
    buf_clear(&cell);
}

static bool list_text(void *ctx, const StoreRun *r) {
    Listing *l = ctx;
    Buf *b = &l->cli->out, age = { 0 }, title = { 0 }, tail = { 0 };
    add_age(&age, r->started_ns);
    if (r->agent.n) cli_escape_all(&title, r->agent, false), buf_add(&title, r->title.n ? STR(": ") : STR(""));
    cli_escape_all(&title, r->title, false);
    buf_add_fmt(&tail, "%3lld turns %4lld calls", (long long)r->turns, (long long)r->tool_calls);
    if (r->cost > 0) buf_add_fmt(&tail, "  $%.2f", r->cost);
    size_t fixed = SHORT_ID + 2 + AGE_COLUMNS + 2 + STATUS_COLUMNS + 2, end = width_of(buf_str(&tail));
    add_cell(b, short_id(r->id), SHORT_ID);
    add_cell(b, buf_str(&age), AGE_COLUMNS);
    add_cell(b, r->status, STATUS_COLUMNS);
    if (l->width >= fixed + end + 12) {
        add_cell(b, buf_str(&title), l->width - fixed - end - 2);
        buf_add(b, buf_str(&tail));
    } else {
        width_add_cut(b, buf_str(&title), l->width > fixed ? l->width - fixed : 8);
    }
    buf_add_char(b, '\n');
    buf_clear(&age);
    buf_clear(&title);
    buf_clear(&tail);
    return true;
}

/* ---- which ---- */

static bool contains(Str text, Str part) {
    for (size_t i = 0; i + part.n <= text.n; i++) {
        size_t k = 0;
        while (k < part.n && tolower((unsigned char)text.at[i + k]) == tolower((unsigned char)part.at[k])) k++;
        if (k == part.n) return true;
    }
    return false;
}

/* Runs of `harness call` and of MCP clients have no prompt. */
static bool wanted(const Listing *l, const StoreRun *r) {
    if (!l->all && r->title.n == 0 && r->turns == 0) return false;
    if (l->status && !str_eq(r->status, str_from(l->status))) return false;
    if (l->since_ns && r->started_ns < l->since_ns) return false;
    return !l->search || contains(r->title, str_from(l->search)) || contains(r->agent, str_from(l->search));
}

static bool list_one(void *ctx, const StoreRun *r) {
    Listing *l = ctx;
    if (!wanted(l, r)) return l->hidden++, true;
    if (l->cli->json) list_json(l, r);
    else list_text(l, r), l->n++;
    return l->n < l->limit;
}

/* 30s, 15m, 12h, 7d. */
static bool read_age(const char *flag, const char *text, int64_t *ns, Error *err) {
    char *end;
    long long n = strtoll(text, &end, 10);
    int64_t unit = *end == 's' ? 1 : *end == 'm' ? 60 : *end == 'h' ? 3600 : *end == 'd' ? 86400 : 0;
    if (end == text || n < 0 || n > 100000 || !unit
        || end[1]) return error_set(err, ERR_VALIDATION, "%s: \"%s\" is not an age like 90s, 15m, 12h or 7d", flag, text);
    return *ns = n * unit * 1000000000, true;
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
    *l = (Listing){ .cli = cli, .all = args_has(&cli->args, "--all"), .status = args_value(&cli->args, "--status"),
        .search = args_value(&cli->args, "--search"),
                    .limit = SIZE_MAX, .width = width_of_terminal(1) };
    if ((since && !read_age("--since", since, &age, err)) || (limit && !read_limit(limit, &l->limit, err))) return false;
    if (since) l->since_ns = clock_wall_ns() - age;
    return true;
}

int command_runs(Cli *cli) {
    Store *s;
    Error err = { 0 };
    Listing l;
    if (!read_flags(cli, &l, &err)) return cli_fail(cli, CLI_WRONG_USE, &err);
    if (!open_store(cli, &s, &err)) return CLI_FAILED;
    if (cli->json) buf_add(&cli->out, STR("[\n"));
    bool ok = store_run_each(s, list_one, &l, &err);
    if (cli->json) buf_add(&cli->out, STR("\n]\n"));
    else if (ok && l.n == 0 && l.hidden) cli_say(cli, SAY_HINT, STR("no such runs; harness runs --all also lists those of harness call and of MCP clients"));
    else if (ok && l.n == 0) cli_say(cli, SAY_HINT, STR("no runs yet: start one with harness run -p \"…\""));
    store_close(s);
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}

/* ---- one run ---- */

static void add_usage(Listing *l, const Event *e) {
    Value data;
    if (!str_eq(e->type, STR("completion.completed"))) return;
    heap_reset(l->heap);
    if (!json_read(l->heap, e->data, NULL, &data, NULL)) return;
    Value usage = value_member(data, "usage"), usd = value_member(usage, "usd");
    l->usage.input += request_int(usage, "input");
    l->usage.output += request_int(usage, "output");
    l->usage.cached += request_int(usage, "cached");
    l->usage.written += request_int(usage, "written");
    l->usage.reasoning += request_int(usage, "reasoning");
    l->usage.usd += value_is_float(usd) ? value_float(usd) : 0;
}

static bool show_json(void *ctx, const Event *e) {
    Listing *l = ctx;
    add_usage(l, e);
    buf_add(&l->cli->out, l->n++ ? STR(",\n  ") : STR("  "));
    event_write_json(&l->cli->out, e);
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
    Listing l = { .cli = cli, .heap = heap_new(0) };
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
    Timeline *t = cli->json ? NULL : timeline_new();
    ok = ok && store_event_each(s, buf_str(&id), 0, t ? timeline_take : show_json, t ? (void *)t : &l, err);
    TimelineStyle style = { width_of_terminal(1), cli->color_out, args_has(&cli->args, "--all") };
    if (ok && t && args_has(&cli->args, "--waterfall")) timeline_write_waterfall(t, &cli->out, &style);
    else if (ok && t) timeline_write(t, &cli->out, &style);
    timeline_free(t);
    if (ok && cli->json) {
        buf_add(&cli->out, STR("\n],\"usage\":"));
        model_usage_write(&l.usage, &cli->out);
        buf_add(&cli->out, STR("}\n"));
    }
    heap_free(l.heap);
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

/* ---- steering ---- */

static bool send_command(Cli *cli, Store *s, const char *kind, Str body, Error *err) {
    Buf id = { 0 }, by = { 0 };
    Finding f = { 0 };
    bool ok = store_run_find(s, str_from(cli->args.operands[0]), &id, err);
    f.id = buf_str(&id);
    ok = ok && store_run_each(s, note_status, &f, err);
    if (ok && !str_eq(buf_str(&f.status), STR("running"))) {
        ok = error_set(err, ERR_VALIDATION, "run " STR_FMT " is not running: it is " STR_FMT, STR_ARG(short_id(f.id)), STR_ARG(buf_str(&f.status)));
        error_hint(err, "harness runs resume " STR_FMT " continues it", STR_ARG(short_id(f.id)));
    }
    buf_add_fmt(&by, "command line, uid %u", (unsigned)getuid());
    ok = ok && store_command_put(s, f.id, str_from(kind), body, buf_str(&by), err);
    buf_clear(&id);
    buf_clear(&by);
    buf_clear(&f.status);
    return ok;
}

static int steer(Cli *cli, const char *kind, Str body) {
    Store *s;
    Error err = { 0 };
    if (!open_store(cli, &s, &err)) return CLI_FAILED;
    bool ok = send_command(cli, s, kind, body, &err);
    store_close(s);
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}

int command_runs_cancel(Cli *cli) { return steer(cli, "cancel", STR("")); }

int command_runs_say(Cli *cli) {
    Error err = { 0 };
    Str text = str_trim(str_from(cli->args.operands[1]));
    if (text.n) return steer(cli, "message", text);
    error_set(&err, ERR_VALIDATION, "the text is empty");
    return cli_fail(cli, CLI_WRONG_USE, &err);
}
