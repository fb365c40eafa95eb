/* harness runs prune: removes old runs. */
#include "base/clock.h"
#include "cli/state.h"
#include "value/json.h"

typedef enum { PRUNE_REMOVE, PRUNE_RUNNING, PRUNE_OPEN } PruneKind;
typedef struct Old { Str id; PruneKind kind; } Old;
typedef struct Pruning { Cli *cli; Arena arena; VEC(Old) old; int64_t before_ns; bool open_too, live; size_t removed, running, open; } Pruning;

/* ---- which ---- */

/* Keeps interrupted runs: their answer is not finished, and their questions may still be open. */
static bool add_old(void *ctx, const StoreRun *r) {
    Pruning *p = ctx;
    bool running = str_eq(r->status, STR("running")), open = str_eq(r->status, STR("interrupted"));
    if (running) p->live = true;
    if ((r->ended_ns && !open ? r->ended_ns : r->started_ns) >= p->before_ns) return true;
    PruneKind kind = running ? PRUNE_RUNNING : open && !p->open_too ? PRUNE_OPEN : PRUNE_REMOVE;
    VEC_PUSH(&p->old, ((Old){ arena_str(&p->arena, r->id), kind }));
    p->running += kind == PRUNE_RUNNING;
    p->open += kind == PRUNE_OPEN;
    return true;
}

/* ---- removal ---- */

static bool remove_old(Pruning *p, Store *s, Error *err) {
    bool ok = true;
    for (size_t i = 0; ok && i < p->old.n; i++) {
        Old *o = &p->old.at[i];
        if (o->kind != PRUNE_REMOVE) continue;
        ok = args_has(&p->cli->args, "--dry-run") || store_run_prune(s, o->id, err);
        if (!ok && err->kind == ERR_POLICY) o->kind = PRUNE_RUNNING, p->running++, ok = true;      /* it was resumed meanwhile */
        else p->removed += ok;
    }
    return ok;
}

static void write_json(Pruning *p) {
    static const char *const why[] = { [PRUNE_RUNNING] = "running", [PRUNE_OPEN] = "interrupted" };
    Buf *b = &p->cli->out;
    size_t n = 0;
    buf_add_fmt(b, "{\"dry_run\":%s,\"removed\":[", args_has(&p->cli->args, "--dry-run") ? "true" : "false");
    for (size_t i = 0; i < p->old.n; i++) {
        if (p->old.at[i].kind != PRUNE_REMOVE) continue;
        if (n++) buf_add_char(b, ',');
        json_write_string(b, p->old.at[i].id, false);
    }
    buf_add(b, STR("],\"kept\":["));
    for (size_t i = n = 0; i < p->old.n; i++) {
        if (p->old.at[i].kind == PRUNE_REMOVE) continue;
        buf_add(b, n++ ? STR(",{\"id\":") : STR("{\"id\":"));
        json_write_string(b, p->old.at[i].id, false);
        buf_add_fmt(b, ",\"why\":\"%s\"}", why[p->old.at[i].kind]);
    }
    buf_add(b, STR("]}\n"));
}

static void write_text(Pruning *p) {
    Buf *b = &p->cli->out;
    buf_add(b, args_has(&p->cli->args, "--dry-run") ? STR("would remove ") : STR("removed "));
    report_count(b, p->removed, "run");
    buf_add_char(b, '\n');
    for (size_t i = 0; i < p->old.n; i++) {
        const Old *o = &p->old.at[i];
        if (o->kind == PRUNE_REMOVE && args_has(&p->cli->args, "--dry-run")) buf_add_fmt(b, "  " STR_FMT "\n", STR_ARG(o->id));
        if (o->kind != PRUNE_REMOVE)
            buf_add_fmt(b, "kept " STR_FMT ": it %s\n", STR_ARG(o->id), o->kind == PRUNE_OPEN ? "was interrupted and can be resumed" : "is running");
    }
    if (p->open) cli_say(p->cli, SAY_HINT, STR("--interrupted also removes interrupted runs"));
}

static int prune(Pruning *p, Store *s, Error *err) {
    bool ok = store_run_each(s, add_old, p, err) && remove_old(p, s, err);
    /* Not while a process is running: rewriting the file would block it. */
    if (ok && p->removed && !p->live && !args_has(&p->cli->args, "--dry-run")) ok = store_shrink(s, err);
    if (!ok) return cli_fail(p->cli, CLI_FAILED, err);
    if (p->cli->json) write_json(p);
    else write_text(p);
    return CLI_OK;
}

int command_runs_prune(Cli *cli) {
    State s;
    Error err = { 0 };
    const char *age = args_value(&cli->args, "--older-than");
    int64_t ns = 0;
    if (!age) error_set(&err, ERR_VALIDATION, "--older-than is required"), error_hint(&err, "for example --older-than 30d");
    if (!age || !state_read_age("--older-than", age, &ns, &err)) return cli_fail(cli, CLI_WRONG_USE, &err);
    if (!state_open(cli, &s)) return CLI_FAILED;
    Pruning p = { .cli = cli, .before_ns = clock_wall_ns() - ns, .open_too = args_has(&cli->args, "--interrupted") };
    int status = prune(&p, s.store, &err);
    VEC_CLEAR(&p.old);
    arena_clear(&p.arena);
    state_close(&s);
    return status;
}
