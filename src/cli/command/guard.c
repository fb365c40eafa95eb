/* harness guard: the hook (if global flags precede it), the log of decisions, and replay of recorded envelopes. */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/report.h"
#include "guard/anchor.h"
#include "guard/recorded.h"
#include "store/store_decision.h"
#include "value/json.h"
#include "value/list.h"

/* main() runs a hook before it parses flags; this function runs after a global flag, or without a vendor. */
int command_guard(Cli *cli) {
    char *argv[5];
    int n = 0;
    const char *project = args_value(&cli->args, "--project"), *event = args_value(&cli->args, "--event");
    argv[n++] = str_dup(str_from(cli->args.operands[0]));
    Buf flags[2] = { 0 };
    if (project) {
        buf_add_fmt(&flags[0], "--project=%s", project);
        argv[n++] = flags[0].at;
    }
    if (event) {
        buf_add_fmt(&flags[1], "--event=%s", event);
        argv[n++] = flags[1].at;
    }
    int status = guard_hook(n, argv);
    free(argv[0]);
    buf_clear(&flags[0]);
    buf_clear(&flags[1]);
    return status;
}

/* ---- guard log ---- */

static bool open_log(Cli *cli, Buf *path, Store **out, Error *err) {
    Arena arena = { 0 };
    char here[PATH_MAX];
    GuardRoot root = { 0 };
    if (!getcwd(here, sizeof here)) return error_set(err, ERR_IO, "the working folder: %m");
    GuardEnvelope e = { .vendor = VENDOR_HARNESS, .cwd = str_from(here), .roots = VALUE_GONE };
    bool ok = guard_root_find(&e, NULL, &arena, &root, err);
    Str project = root.project && !args_has(&cli->args, "--user") ? root.path : STR("");
    buf_reset(path);
    ok = ok && guard_session_store_path(project, path, err);
    *out = NULL;
    if (ok && access(path->at, F_OK) == 0) ok = store_open(path->at, false, out, err);       /* reading creates no file */
    arena_clear(&arena);
    return ok;
}

typedef struct Listing { Cli *cli; int64_t last; } Listing;

static void add_field(Buf *b, const char *name, Str value) {
    buf_add_fmt(b, ",\"%s\":", name);
    json_write_string(b, value, false);
}

static void add_json(Buf *b, const StoreDecision *d) {
    char time[CLOCK_TEXT_SIZE];
    clock_format(d->time_ns, time);
    buf_add_fmt(b, "{\"n\":%lld,\"time\":\"%s\"", (long long)d->n, time);
    add_field(b, "vendor", d->vendor);
    add_field(b, "session", d->session);
    add_field(b, "call", d->call);
    add_field(b, "event", d->event);
    add_field(b, "tool", d->tool);
    add_field(b, "vendor_tool", d->vendor_tool);
    add_field(b, "subject", d->subject);
    add_field(b, "verdict", d->verdict);
    add_field(b, "rule", d->rule);
    add_field(b, "reason", d->reason);
    add_field(b, "root", d->root);
    buf_add(b, STR("}\n"));
}

static void add_text(Buf *b, const StoreDecision *d) {
    char time[CLOCK_TEXT_SIZE];
    clock_format(d->time_ns, time);
    buf_add_fmt(b, "%.19sZ  %-5.*s  %-8.*s  ", time, STR_ARG(d->verdict), STR_ARG(d->vendor));
    cli_escape_all(b, d->tool.n ? d->tool : d->vendor_tool, false);
    if (d->subject.n) buf_add(b, STR("  "));
    cli_escape_all(b, str_sub(d->subject, 0, 80), false);
    if (d->rule.n) {
        buf_add(b, STR("  ["));
        cli_escape_all(b, d->rule, false);
        buf_add_char(b, ']');
    }
    buf_add_char(b, '\n');
}

static bool list_one(void *ctx, const StoreDecision *d) {
    Listing *l = ctx;
    l->last = d->n;
    if (l->cli->json) add_json(&l->cli->out, d);
    else add_text(&l->cli->out, d);
    return true;
}

static void add_anchor_fault(Cli *cli, int64_t n, bool first) {
    if (cli->json) buf_add_fmt(&cli->out, "%s{\"fault\":\"anchor\",\"from\":%lld,\"to\":%lld}", first ? "" : ",", (long long)n, (long long)n);
    else buf_add_fmt(&cli->out, "decision %lld is not the one that audit.anchor names: decisions were rewritten or removed\n", (long long)n);
}

/* Compares the chain with what audit.anchor of the machine's and the user's guard.md wrote elsewhere. The system's log is not read. */
static bool check_anchors(Cli *cli, Store *store, const char *path, size_t *faults, Error *err) {
    GuardLayer layers[2] = { 0 };
    GuardAnchored found;
    Buf folder = { 0 };
    bool ok = guard_layer_read(GUARD_SYSTEM_FOLDER, 0, &layers[0], err);
    if (ok && guard_layer_user_folder(&folder)) ok = guard_layer_read(folder.at, (uint32_t)geteuid(), &layers[1], err);
    for (int i = 0; ok && i < 2; i++) {
        if (!guard_anchor_is_file(layers[i].anchor)) continue;
        ok = guard_anchor_check(layers[i].anchor, store, path, &found, err);
        if (ok && found.differs) add_anchor_fault(cli, found.number, (*faults)++ == 0);
    }
    for (int i = 0; i < 2; i++) guard_layer_clear(&layers[i]);
    buf_clear(&folder);
    return ok;
}

static const char *fault_name(StoreDecisionFault f) {
    return f == STORE_DECISION_CHANGED ? "changed" : f == STORE_DECISION_REMOVED ? "removed" : "end";
}

typedef struct Faults { Cli *cli; size_t n; } Faults;

static void add_fault(void *ctx, StoreDecisionFault f, int64_t from, int64_t to) {
    Faults *all = ctx;
    Buf *b = &all->cli->out;
    if (all->cli->json) {
        buf_add_fmt(b, "%s{\"fault\":\"%s\",\"from\":%lld,\"to\":%lld}", all->n ? "," : "", fault_name(f), (long long)from, (long long)to);
    } else if (f == STORE_DECISION_CHANGED) {
        buf_add_fmt(b, "decision %lld was changed or inserted\n", (long long)from);
    } else if (f == STORE_DECISION_REMOVED) {
        buf_add_fmt(b, "decisions %lld to %lld were removed\n", (long long)from, (long long)to);
    } else {
        buf_add_fmt(b, "the log ends at decision %lld, but %lld was the last one written\n", (long long)from, (long long)to);
    }
    all->n++;
}

static int verify(Cli *cli, Store *store, const char *path) {
    StoreDecisionCheck check = { 0 };
    Faults faults = { .cli = cli };
    Error err = { 0 };
    if (cli->json) buf_add(&cli->out, STR("{\"faults\":["));
    bool ok = (!store || store_decision_verify(store, &check, add_fault, &faults, &err)) && check_anchors(cli, store, path, &faults.n, &err);
    if (!ok) {
        buf_reset(&cli->out);
        return cli_fail(cli, CLI_FAILED, &err);
    }
    if (cli->json) buf_add_fmt(&cli->out, "],\"decisions\":%lld,\"hash\":\"", (long long)check.decisions);
    else report_count(&cli->out, (size_t)check.decisions, "decision"), buf_add(&cli->out, STR(", last hash "));
    for (int i = 0; i < 32; i++) buf_add_fmt(&cli->out, "%02x", check.hash[i]);
    buf_add(&cli->out, cli->json ? STR("\"}\n") : STR("\n"));
    return faults.n ? CLI_FAILED : CLI_OK;
}

int command_guard_log(Cli *cli) {
    enum { POLL_US = 200000 };
    Store *store = NULL;
    Buf path = { 0 };
    Error err = { 0 };
    Listing l = { .cli = cli };
    int status = CLI_OK;
    cli->listing = true;
    if (!open_log(cli, &path, &store, &err)) status = cli_fail(cli, CLI_FAILED, &err);
    else if (args_has(&cli->args, "--verify")) status = verify(cli, store, path.at);
    else if (store && !store_decision_each(store, 0, list_one, &l, &err)) status = cli_fail(cli, CLI_FAILED, &err);
    while (status == CLI_OK && args_has(&cli->args, "--follow") && !args_has(&cli->args, "--verify")) {
        if (!cli_flush(cli)) break;
        buf_reset(&cli->out);
        usleep(POLL_US);
        if (!store && !open_log(cli, &path, &store, &err)) status = cli_fail(cli, CLI_FAILED, &err);
        else if (store && !store_decision_each(store, l.last, list_one, &l, &err)) status = cli_fail(cli, CLI_FAILED, &err);
    }
    store_close(store);
    buf_clear(&path);
    return status;
}

/* ---- guard replay ---- */

typedef struct Replay { Cli *cli; const char *project, *file; size_t n, failed; } Replay;

static void show(Replay *r, const GuardRecorded *g, Str expected, Str rule, bool ok) {
    Buf *b = &r->cli->out;
    if (r->cli->json) {
        buf_add(b, r->n ? STR(",\n  {\"file\":") : STR("  {\"file\":"));
        json_write_string(b, str_from(r->file), false);
        add_field(b, "vendor", buf_str(&g->vendor));
        add_field(b, "tool", buf_str(&g->tool));
        add_field(b, "decision", buf_str(&g->decision));
        add_field(b, "rule", buf_str(&g->rule));
        add_field(b, "reason", buf_str(&g->reason));
        add_field(b, "expected", expected);
        add_field(b, "expected_rule", rule);
        buf_add_fmt(b, ",\"ok\":%s}", ok ? "true" : "false");
        return;
    }
    cli_escape_all(b, str_from(r->file), false);
    buf_add_fmt(b, ": %s ", g->decision.at);
    cli_escape_all(b, buf_str(&g->tool), false);
    if (g->rule.n) {
        buf_add(b, STR(" ["));
        cli_escape_all(b, buf_str(&g->rule), false);
        buf_add_char(b, ']');
    }
    if (!ok) {
        buf_add(b, STR(", recorded "));
        cli_escape_all(b, expected, false);
        if (rule.n) buf_add(b, STR(" ["));
        cli_escape_all(b, rule, false);
        if (rule.n) buf_add_char(b, ']');
    }
    if (g->reason.n) {
        buf_add(b, STR(": "));
        cli_escape_all(b, buf_str(&g->reason), false);
    }
    buf_add_char(b, '\n');
}

static bool replay_one(Replay *r, Value recorded, Error *err) {
    GuardRecorded g;
    Str expected = value_member_text(recorded, "decision"), rule = value_member_text(recorded, "rule");
    if (!guard_recorded_judge(recorded, NULL, r->project, &g, err)) return false;
    bool ok = (!expected.n || str_eq(expected, buf_str(&g.decision))) && (!rule.n || str_eq(rule, buf_str(&g.rule)));
    show(r, &g, expected, rule, ok);
    r->n++;
    if (!ok) r->failed++;
    guard_recorded_clear(&g);
    return true;
}

static bool replay_file(Replay *r, Error *err) {
    enum { FILE_MAX = 64 << 20 };
    Buf text = { 0 };
    Heap *heap = heap_new(0);
    Value v;
    bool ok = cli_read(r->file, FILE_MAX, &text, err) && json_read(heap, buf_str(&text), &(JsonRead){ 0 }, &v, err);
    if (ok && value_is_list(v)) {
        for (uint32_t i = 0; ok && i < value_list(v)->n; i++) ok = replay_one(r, value_list(v)->at[i], err) || error_wrap(err, "[%u]", i);
    } else if (ok) {
        ok = replay_one(r, v, err);
    }
    heap_free(heap);
    buf_clear(&text);
    return ok || error_wrap(err, "%s", r->file);
}

int command_guard_replay(Cli *cli) {
    Error err = { 0 };
    const char *project = args_value(&cli->args, "--project"), *found = project ? project : cli_project(cli);
    Replay r = { .cli = cli, .project = found ? found : "." };
    cli->listing = true;
    if (cli->json) buf_add(&cli->out, STR("[\n"));
    for (size_t i = 0; i < cli->args.n_operands; i++) {
        r.file = cli->args.operands[i];
        if (!replay_file(&r, &err)) {
            buf_reset(&cli->out);
            return cli_fail(cli, CLI_FAILED, &err);
        }
    }
    if (cli->json) buf_add(&cli->out, STR("\n]\n"));
    return r.failed ? CLI_FAILED : CLI_OK;
}
