/* harness runs show: what a run did. */
#include <unistd.h>
#include "cli/named_file.h"
#include "cli/state.h"
#include "cli/terminal/timeline.h"
#include "cli/terminal/width.h"
#include "model/model.h"
#include "model/request.h"
#include "value/json.h"

/* ---- as JSON ---- */

typedef struct Listed { Cli *cli; size_t n; ModelUsage usage; Heap *heap; } Listed;      /* usage: of all replies so far */

static void add_usage(Listed *l, const Event *e) {
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
    Listed *l = ctx;
    add_usage(l, e);
    buf_add(&l->cli->out, l->n++ ? STR(",\n  ") : STR("  "));
    event_write_json(&l->cli->out, e);
    return true;
}

static bool show_as_json(Cli *cli, Store *s, Str id, Error *err) {
    Listed l = { .cli = cli, .heap = heap_new(0) };
    Buf status = { 0 };
    bool ok = store_run_status(s, id, &status, err);
    buf_add(&cli->out, STR("{\"id\":"));
    json_write_string(&cli->out, id, false);
    buf_add(&cli->out, STR(",\"status\":"));
    json_write_string(&cli->out, buf_str(&status), false);
    buf_add(&cli->out, STR(",\"events\":[\n"));
    ok = ok && store_event_each(s, id, 0, show_json, &l, err);
    buf_add(&cli->out, STR("\n],\"usage\":"));
    model_usage_write(&l.usage, &cli->out);
    buf_add(&cli->out, STR("}\n"));
    heap_free(l.heap);
    buf_clear(&status);
    return ok;
}

/* ---- as text ---- */

static bool show_as_text(Cli *cli, Store *s, Str id, Error *err) {
    Timeline *t = timeline_new();
    TimelineStyle style = { width_of_terminal(1), cli->color_out, args_has(&cli->args, "--all"), isatty(1) };
    bool ok = store_event_each(s, id, 0, timeline_take, t, err);
    if (ok && args_has(&cli->args, "--waterfall")) timeline_write_waterfall(t, &cli->out, &style);
    else if (ok) timeline_write(t, &cli->out, &style);
    timeline_free(t);
    return ok;
}

/* ---- as a page ---- */

typedef struct Page { Cli *cli; Timeline *t; Buf *out; } Page;

static bool take_hidden(void *ctx, const Event *e) {
    Page *p = ctx;
    Event safe = *e;
    Buf data = { 0 };
    buf_add(&data, e->data);
    cli_hide_json(p->cli, &data);
    safe.data = buf_str(&data);
    timeline_take(p->t, &safe);
    buf_clear(&data);
    return true;
}

static bool write_page(void *ctx, const StoreRun *r) {
    Page *p = ctx;
    timeline_write_html(p->t, p->out, &(TimelineAbout){ r->id, r->status, r->agent, r->title, r->started_ns, r->ended_ns, r->turns, r->tool_calls, r->cost });
    return true;
}

static bool show_as_page(Cli *cli, const State *s, Str id, const char *path, Error *err) {
    Buf out = { 0 };
    bool found = false;
    Page p = { cli, timeline_new(), &out };
    bool ok = store_event_each(s->store, id, 0, take_hidden, &p, err) && store_run_get(s->store, id, write_page, &p, &found, err);
    ok = ok && named_file_write(s->project, "--html", path, 0600, buf_str(&out), err);
    timeline_free(p.t);
    buf_clear(&out);
    return ok;
}

int command_runs_show(Cli *cli) {
    State s;
    Error err = { 0 };
    Buf id = { 0 };
    if (!state_open(cli, &s)) return CLI_FAILED;
    const char *page = args_value(&cli->args, "--html");
    bool ok = store_run_find(s.store, str_from(cli->args.operands[0]), &id, &err);
    if (ok && page) ok = show_as_page(cli, &s, buf_str(&id), page, &err);
    else ok = ok && (cli->json ? show_as_json : show_as_text)(cli, s.store, buf_str(&id), &err);
    buf_clear(&id);
    state_close(&s);
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}
