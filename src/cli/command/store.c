/* harness store: the database that keeps the runs. */
#include <unistd.h>
#include "cli/state.h"
#include "policy/location.h"
#include "value/json.h"

/* Appends the location as it may be shown. */
static void show(Buf *out, const char *location) {
    if (store_is_url(location)) store_url_show(location, out);
    else buf_add(out, str_from(location));
}

static void add_json(Buf *out, const char *location) {
    Buf text = { 0 };
    show(&text, location);
    json_write_string(out, buf_str(&text), false);
    buf_clear(&text);
}

/* ---- migrate ---- */

static bool migrate(Cli *cli, const Project *p, Error *err) {
    Buf location = { 0 };
    int from = 0, to = 0;
    bool ok = location_of(p, &location, err);
    if (ok && !store_is_url(location.at)) {
        ok = error_set(err, ERR_CONFIG, "the store is a state file, which needs no migration");
        error_hint(err, "name a database: set HARNESS_STATE or store.url to postgresql://…");
    }
    ok = ok && store_migrate(location.at, &from, &to, err);
    if (ok && cli->json) {
        buf_add(&cli->out, STR("{\"store\":"));
        add_json(&cli->out, location.at);
        buf_add_fmt(&cli->out, ",\"from\":%d,\"to\":%d}\n", from, to);
    } else if (ok) {
        show(&cli->out, location.at);
        if (from == to) buf_add_fmt(&cli->out, " already has format %d\n", to);
        else buf_add_fmt(&cli->out, "%s format %d\n", from ? " was updated to" : " now has the tables of harness,", to);
    }
    buf_clear(&location);
    return ok;
}

int command_store_migrate(Cli *cli) {
    Error err = { 0 };
    Project *p = report_project(cli);
    if (!p) return CLI_FAILED;
    bool ok = migrate(cli, p, &err);
    project_free(p);
    return ok ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
}

/* ---- check ---- */

typedef struct Checking { Store *store; Error *err; size_t runs, broken; bool ok; } Checking;

static bool ignore_break(void *ctx, const StoreBreak *b) { (void)ctx, (void)b; return true; }

static bool check_run(void *ctx, const StoreRun *r) {
    Checking *c = ctx;
    StoreChecked one;
    c->ok = store_run_verify(c->store, r->id, &one, ignore_break, NULL, c->err);
    c->runs++;
    c->broken += c->ok && one.breaks > 0;
    return c->ok;
}

static void say_checked(Cli *cli, const Checking *c, uint64_t strays, const char *location) {
    bool fits = c->broken == 0 && strays == 0;
    if (cli->json) {
        buf_add(&cli->out, STR("{\"store\":"));
        add_json(&cli->out, location);
        buf_add_fmt(&cli->out, ",\"runs\":%zu,\"broken\":%zu,\"strays\":%llu,\"ok\":%s}\n", c->runs, c->broken, (unsigned long long)strays,
                    fits ? "true" : "false");
        return;
    }
    show(&cli->out, location);
    buf_add(&cli->out, STR(": "));
    report_count(&cli->out, c->runs, "run");
    if (fits) buf_add(&cli->out, STR(", all whole\n"));
    else buf_add_fmt(&cli->out, ", %zu broken, %llu events without a run\n", c->broken, (unsigned long long)strays);
    if (!fits) cli_say(cli, SAY_HINT, STR("harness runs verify --all says what does not fit"));
}

int command_store_check(Cli *cli) {
    State s;
    Error err = { 0 };
    Buf location = { 0 };
    uint64_t strays = 0;
    if (!state_open(cli, &s)) return CLI_FAILED;
    Checking c = { .store = s.store, .err = &err, .ok = true };
    bool ok = location_of(s.project, &location, &err) && store_run_each(s.store, check_run, &c, &err) && c.ok && store_event_strays(s.store, &strays, &err);
    if (ok) say_checked(cli, &c, strays, location.at);
    state_close(&s);
    buf_clear(&location);
    if (!ok) return cli_fail(cli, CLI_FAILED, &err);
    return c.broken || strays ? CLI_FAILED : CLI_OK;
}

/* ---- copy ---- */

static bool copy(Cli *cli, const Project *p, StoreCopied *out, Error *err) {
    const char *file = cli->args.operands[0], *url = cli->args.operands[1];
    Buf location = { 0 };
    Store *from = NULL, *to = NULL;
    if (store_is_url(file) || !store_is_url(url)) return error_set(err, ERR_VALIDATION, "give a state file, then the URL of a database: postgresql://…");
    if (access(file, R_OK) < 0) return error_set(err, ERR_IO, "%s: %m", file);
    bool ok = location_given(p, url, &location, err) && store_open(file, false, &from, err) && store_open(location.at, false, &to, err) &&
              store_copy(from, to, out, err);
    store_close(from);
    store_close(to);
    buf_clear(&location);
    return ok;
}

int command_store_copy(Cli *cli) {
    Error err = { 0 };
    StoreCopied n = { 0 };
    Project *p = report_project(cli);
    if (!p) return CLI_FAILED;
    bool ok = copy(cli, p, &n, &err);
    project_free(p);
    if (!ok) return cli_fail(cli, CLI_FAILED, &err);
    unsigned long long runs = n.runs, events = n.events, artifacts = n.artifacts;
    if (cli->json) buf_add_fmt(&cli->out, "{\"runs\":%llu,\"events\":%llu,\"artifacts\":%llu}\n", runs, events, artifacts);
    else buf_add_fmt(&cli->out, "copied %llu runs, %llu events, %llu artifacts\n", runs, events, artifacts);
    return CLI_OK;
}
