#include <stdlib.h>
#include <unistd.h>
#include "cli/listing.h"
#include "cli/report.h"
#include "policy/location.h"
#include "store/store.h"
#include "value/json.h"

/* ---- --stats ---- */

typedef struct Stats { Cli *cli; size_t n; } Stats;

static double mean_us(const StoreHook *h) { return h->calls ? (double)h->ns / (double)h->calls / 1000 : 0; }

static bool add_json(void *ctx, const StoreHook *h) {
    Stats *s = ctx;
    Buf *out = &s->cli->out;
    buf_add(out, s->n++ ? STR(",{\"name\":") : STR("{\"name\":"));
    json_write_string(out, h->hook, false);
    buf_add_fmt(out, ",\"calls\":%llu,\"blocks\":%llu,\"errors\":%llu,\"mean_us\":%.1f}", (unsigned long long)h->calls, (unsigned long long)h->blocks,
                (unsigned long long)h->errors, mean_us(h));
    return true;
}

static bool add_row(void *ctx, const StoreHook *h) {
    Stats *s = ctx;
    Buf *out = &s->cli->out;
    if (s->n++ == 0) buf_add_fmt(out, "%-32s %10s %10s %10s %12s\n", "hook", "calls", "blocks", "errors", "mean");
    Buf name = { 0 };
    cli_escape(&name, h->hook, false);
    buf_add_fmt(out, "%-32s %10llu %10llu %10llu %9.1f µs\n", name.at ? name.at : "", (unsigned long long)h->calls, (unsigned long long)h->blocks,
                (unsigned long long)h->errors, mean_us(h));
    buf_clear(&name);
    return true;
}

/* A project that was never run has no state file, and showing it creates none. */
static bool show_stats(Cli *cli, const Project *p, Error *err) {
    Buf path = { 0 };
    Store *store = NULL;
    Stats s = { .cli = cli };
    bool ok = location_of(p, &path, err);
    if (cli->json) buf_add_char(&cli->out, '[');
    if (ok && (store_is_url(path.at) || access(path.at, F_OK) == 0))
        ok = store_open(path.at, false, &store, err) && store_hook_each(store, cli->json ? add_json : add_row, &s, err);
    if (cli->json) buf_add(&cli->out, STR("]\n"));
    else if (ok && s.n == 0) cli_say(cli, SAY_HINT, STR("no hook has run yet"));
    if (store) store_close(store);
    buf_clear(&path);
    return ok;
}

int command_hooks(Cli *cli) {
    Error err = { 0 };
    Project *p = report_project(cli);
    if (!p) return CLI_FAILED;
    bool ok = true;
    if (args_has(&cli->args, "--stats")) ok = show_stats(cli, p, &err);
    else if (cli->json) listing_json_hooks(&cli->out, p), buf_add_char(&cli->out, '\n');
    else {
        listing_hooks(&cli->out, p, 0, cli->color_out);
        if (p->rules.n) buf_add_fmt(&cli->out, "%srules, decided before the hooks of tool.pre\n", cli->out.n ? "\n" : "");
        listing_rules(&cli->out, p, 2, cli->color_out);
    }
    project_free(p);
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}
