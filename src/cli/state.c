#include "cli/state.h"
#include "base/clock.h"
#include "policy/location.h"

bool state_open(Cli *cli, State *out) {
    Error err = { 0 };
    Buf path = { 0 };
    *out = (State){ .project = report_project(cli) };
    if (!out->project) return false;
    bool ok = location_of(out->project, &path, &err) && store_open(path.at, false, &out->store, &err);
    buf_clear(&path);
    if (!ok) state_close(out), cli_fail(cli, CLI_FAILED, &err);
    return ok;
}

void state_close(State *s) {
    store_close(s->store);
    if (s->project) project_free(s->project);
    *s = (State){ 0 };
}

Str state_short_id(Str run) { return run.n > STATE_SHORT_ID ? str_sub(run, run.n - STATE_SHORT_ID, run.n) : run; }

bool state_read_age(const char *flag, const char *text, int64_t *ns, Error *err) {
    return clock_read_age(str_from(text), ns) || error_set(err, ERR_VALIDATION, "%s: \"%s\" is not an age like 90s, 15m, 12h or 7d", flag, text);
}
