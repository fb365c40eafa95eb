/* harness runs verify: checks that the stored events are unchanged. */
#include "base/digest.h"
#include "cli/state.h"
#include "value/json.h"

typedef struct Verifying { Cli *cli; Store *store; Error *err; size_t runs, broken; Buf breaks; } Verifying;

static const char *const kinds[] = { [STORE_BREAK_CHANGED] = "changed", [STORE_BREAK_REMOVED] = "removed", [STORE_BREAK_INSERTED] = "inserted",
                                     [STORE_BREAK_HEAD] = "head" };

/* ---- one run ---- */

static bool add_break_json(void *ctx, const StoreBreak *b) {
    Verifying *v = ctx;
    buf_add_fmt(&v->breaks, "%s{\"what\":\"%s\",\"from\":%llu,\"to\":%llu}", v->breaks.n ? "," : "", kinds[b->kind], (unsigned long long)b->from,
                (unsigned long long)b->to);
    return true;
}

/* Prints a line for each mismatch. A changed event and an inserted one whose followers were renumbered look the same. */
static bool add_break(void *ctx, const StoreBreak *b) {
    Verifying *v = ctx;
    unsigned long long from = b->from, to = b->to;
    buf_add(&v->breaks, STR("          "));
    if (b->kind == STORE_BREAK_HEAD) buf_add(&v->breaks, STR("the hash of the run was changed"));
    else if (from == to) buf_add_fmt(&v->breaks, "event %llu ", from);
    else buf_add_fmt(&v->breaks, "events %llu to %llu ", from, to);
    if (b->kind == STORE_BREAK_CHANGED) buf_add_fmt(&v->breaks, "was changed, or an event was inserted or removed before it");
    else if (b->kind != STORE_BREAK_HEAD) buf_add_fmt(&v->breaks, "%s %s", from == to ? "was" : "were", kinds[b->kind]);
    buf_add_char(&v->breaks, '\n');
    return true;
}

static const char *state_of(const StoreChecked *c) {
    return c->breaks ? "broken" : c->events && !c->chained ? "not chained" : c->unchained ? "partly chained" : "whole";
}

static void add_hash(Buf *out, Str hash) {
    digest_hex((const uint8_t *)hash.at, hash.n, out);
}

static void add_json(Verifying *v, Str id, const StoreChecked *c) {
    Buf *b = &v->cli->out;
    buf_add(b, v->runs ? STR(",\n  {\"id\":") : STR("  {\"id\":"));
    json_write_string(b, id, false);
    buf_add_fmt(b, ",\"state\":\"%s\",\"events\":%llu,\"unchained\":%llu,\"hash\":", state_of(c), (unsigned long long)c->events,
                (unsigned long long)c->unchained);
    if (c->chained) buf_add_char(b, '"'), add_hash(b, (Str){ (const char *)c->hash, sizeof c->hash }), buf_add_char(b, '"');
    else buf_add(b, STR("null"));
    buf_add_fmt(b, ",\"breaks\":[" STR_FMT "]}", STR_ARG(buf_str(&v->breaks)));
}

static void add_text(Verifying *v, Str id, const StoreChecked *c) {
    Buf *b = &v->cli->out;
    buf_add_fmt(b, "%-8.*s  %-14s  ", STR_ARG(state_short_id(id)), state_of(c));
    report_count(b, (size_t)c->events, "event");
    if (c->chained && c->unchained) buf_add_fmt(b, ", of which the first %llu are not chained", (unsigned long long)c->unchained);
    buf_add_char(b, '\n');
    buf_add(b, buf_str(&v->breaks));
}

static bool verify(Verifying *v, Str id) {
    StoreChecked c;
    buf_reset(&v->breaks);
    if (!store_run_verify(v->store, id, &c, v->cli->json ? add_break_json : add_break, v, v->err)) return false;
    if (v->cli->json) add_json(v, id, &c);
    else add_text(v, id, &c);
    v->runs++;
    v->broken += c.breaks > 0;
    return true;
}

/* ---- which ---- */

static bool verify_named(Verifying *v) {
    Buf id = { 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < v->cli->args.n_operands; i++)
        ok = store_run_find(v->store, str_from(v->cli->args.operands[i]), &id, v->err) && verify(v, buf_str(&id));
    buf_clear(&id);
    return ok;
}

/* Reads the ids first, because verifying inside the walk would be one long transaction. */
typedef struct Ids { Arena arena; VEC(Str) at; } Ids;

static bool add_id(void *ctx, const StoreRun *r) {
    Ids *ids = ctx;
    VEC_PUSH(&ids->at, arena_str(&ids->arena, r->id));
    return true;
}

static bool verify_all(Verifying *v) {
    Ids ids = { 0 };
    bool ok = store_run_each(v->store, add_id, &ids, v->err);
    for (size_t i = 0; ok && i < ids.at.n; i++) {
        ok = verify(v, ids.at.at[i]);
        if (!ok && v->err->kind == ERR_VALIDATION) ok = true;                /* another process has pruned it meanwhile */
    }
    VEC_CLEAR(&ids.at);
    arena_clear(&ids.arena);
    return ok;
}

/* ---- what else is there ---- */

typedef struct Pruned { Buf *out; size_t n; bool json; } Pruned;

static bool add_pruned(void *ctx, const StorePruned *r) {
    Pruned *p = ctx;
    if (p->json) {
        buf_add(p->out, p->n ? STR(",\n  {\"run\":") : STR("\n  {\"run\":"));
        json_write_string(p->out, r->run, false);
        buf_add_fmt(p->out, ",\"last\":%llu,\"hash\":\"", (unsigned long long)r->last);
        add_hash(p->out, r->hash);
        buf_add(p->out, STR("\"}"));
    }
    p->n++;
    return true;
}

static bool add_rest(Verifying *v, bool all, uint64_t *strays) {
    Buf *b = &v->cli->out;
    Pruned p = { .out = b, .json = v->cli->json };
    if (all && !store_event_strays(v->store, strays, v->err)) return false;
    if (v->cli->json) buf_add_fmt(b, "\n],\"strays\":%llu,\"pruned\":[", (unsigned long long)*strays);
    bool ok = !all || store_pruned_each(v->store, add_pruned, &p, v->err);
    if (v->cli->json) buf_add_fmt(b, "],\"ok\":%s}\n", v->broken || *strays ? "false" : "true");
    else if (*strays) buf_add_fmt(b, "%llu events belong to runs that were removed from the list\n", (unsigned long long)*strays);
    if (ok && !v->cli->json && p.n) report_count(b, p.n, "run"), buf_add(b, STR(" pruned: --json shows the last hash of each\n"));
    return ok;
}

static int verdict(const Verifying *v, uint64_t strays) {
    Buf line = { 0 };
    if (!v->broken && !strays) return CLI_OK;
    report_count(&line, v->broken, "run");
    buf_add_fmt(&line, " of %zu %s not match what was written", v->runs, v->broken == 1 ? "does" : "do");
    if (!v->cli->json) cli_say(v->cli, SAY_ERROR, buf_str(&line));
    buf_clear(&line);
    return CLI_FAILED;
}

int command_runs_verify(Cli *cli) {
    State s;
    Error err = { 0 };
    bool all = args_has(&cli->args, "--all");
    uint64_t strays = 0;
    if (all == (cli->args.n_operands > 0)) {
        error_set(&err, ERR_VALIDATION, all ? "give either runs or --all" : "name a run, or give --all");
        return cli_fail(cli, CLI_WRONG_USE, &err);
    }
    if (!state_open(cli, &s)) return CLI_FAILED;
    Verifying v = { .cli = cli, .store = s.store, .err = &err };
    if (cli->json) buf_add(&cli->out, STR("{\"runs\":[\n"));
    bool ok = (all ? verify_all : verify_named)(&v) && add_rest(&v, all, &strays);
    int status = ok ? verdict(&v, strays) : cli_fail(cli, CLI_FAILED, &err);
    buf_clear(&v.breaks);
    state_close(&s);
    return status;
}
