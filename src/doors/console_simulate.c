/* The simulator of policies: another process of this program judges, and this one passes on what it says. */
#include "doors/console_private.h"
#include "doors/simulate.h"

/* More than the process gives itself, so that its own message is the answer; loading a draft may take long, too. */
enum { LATEST_MS = (SIMULATE_SECONDS + 10) * 1000 };

void console_simulate(ConsoleCall *c) {
    ConsoleChild child = { .argv = { "simulate", "--json", "-" }, .input = http_server_body(c->q), .timeout_ms = LATEST_MS };
    Error err = { 0 };
    Value answer;
    bool ok = console_child_run(c, &child, &err) && !console_child_error(c, &child, &err);
    if (ok && (child.status != 0 || !json_read(c->heap, buf_str(&child.out), NULL, &answer, NULL))) ok = console_child_explain(&child, &err);
    if (ok) console_reply(c, 200, &child.out);
    else console_fail(c, &err);
    console_child_clear(&child);
}
