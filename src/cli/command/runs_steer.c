/* harness runs cancel, runs say: commands to a run of another process. */
#include <unistd.h>
#include "cli/state.h"
#include "store/store_queue.h"

static bool send_command(Cli *cli, Store *s, const char *kind, Str body, Error *err) {
    Buf id = { 0 }, by = { 0 }, status = { 0 };
    bool ok = store_run_find(s, str_from(cli->args.operands[0]), &id, err) && store_run_status(s, buf_str(&id), &status, err);
    Str name = state_short_id(buf_str(&id));
    bool queued = false, ended = false, running = ok && str_eq(buf_str(&status), STR("running"));
    if (ok && strcmp(kind, "cancel") == 0) ok = store_queue_cancel(s, buf_str(&id), &queued, &ended, err);
    if (ok && !running && !queued) {
        ok = error_set(err, ERR_VALIDATION, "run " STR_FMT " is not running: it is " STR_FMT, STR_ARG(name), STR_ARG(buf_str(&status)));
        if (str_eq(buf_str(&status), STR("queued"))) error_hint(err, "harness worker works on it");
        else if (str_eq(buf_str(&status), STR("stranded"))) error_hint(err, "its host has no worker: see harness runs");
        else if (str_eq(buf_str(&status), STR("waiting"))) error_hint(err, "harness approvals shows the question that it waits for");
        else error_hint(err, "harness runs resume " STR_FMT " continues it", STR_ARG(name));
    }
    buf_add_fmt(&by, "command line, uid %u", (unsigned)getuid());
    ok = ok && (ended || store_command_put(s, buf_str(&id), str_from(kind), body, buf_str(&by), err));
    buf_clear(&id);
    buf_clear(&by);
    buf_clear(&status);
    return ok;
}

static int steer(Cli *cli, const char *kind, Str body) {
    State s;
    Error err = { 0 };
    if (!state_open(cli, &s)) return CLI_FAILED;
    bool ok = send_command(cli, s.store, kind, body, &err);
    state_close(&s);
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
