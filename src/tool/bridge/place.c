/* The places where a user can be asked, and their order. */
#include "base/clock.h"
#include "tool/bridge/bridge.h"
#include "tool/pipeline/pipe.h"

static const Person *person_of(const ToolCallFrame *f) { return pipe_person(f->host->call); }

/* ---- the terminal ---- */

static bool can_terminal(const ToolCallFrame *f, const BridgeAsk *ask, Error *why) {
    (void)ask;
    return person_of(f)->bridge || error_set(why, ERR_POLICY, "no terminal");
}

static bool show_terminal(ToolCallFrame *f, const BridgeAsk *ask, BridgeAnswer *out, Cancel *cancel, Error *err) {
    const Person *person = person_of(f);
    return person->bridge(person->ctx, ask, out, cancel, err);
}

const BridgePlace bridge_terminal_place = { "terminal", true, can_terminal, show_terminal };

/* In order of preference. */
static const BridgePlace *const places[] = { &bridge_page_place, &bridge_terminal_place, &bridge_form_place, &bridge_desktop_place };

/* ---- choosing ---- */

const BridgePlace *bridge_place(const ToolCallFrame *f, const BridgeAsk *ask, Error *err) {
    Buf reasons = { 0 };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        Error why = { 0 };
        if (places[i]->can(f, ask, &why)) return buf_clear(&reasons), places[i];
        buf_add_fmt(&reasons, "%s%s", i ? "; " : "", why.msg);
    }
    error_set(err, ERR_POLICY, "no user can be reached: " STR_FMT, STR_ARG(buf_str(&reasons)));
    buf_clear(&reasons);
    return NULL;
}

bool bridge_show(ToolCallFrame *f, const BridgePlace *place, const BridgeAsk *ask, BridgeAnswer *out, Error *err) {
    Pipe *p = f->host->call;
    int64_t since = run_wait_start(f->cancel);
    bool turns = place == &bridge_terminal_place && !person_of(f)->apart;       /* one question at a time on the terminal */
    if (turns) pthread_mutex_lock(&f->runtime->asking);
    bool ok = cancel_check(f->cancel, err) && place->show(f, ask, out, f->cancel, err);
    if (turns) pthread_mutex_unlock(&f->runtime->asking);
    p->waited_ns += run_wait_end(f->cancel, since);
    return ok;
}

void bridge_answer_clear(BridgeAnswer *a) { arena_clear(&a->arena); }

/* ---- rate ---- */

bool bridge_rate(BridgeRate *r, int64_t now_ns, Error *err) {
    int64_t *oldest = &r->at_ns[r->n % BRIDGE_RATE], free_at = *oldest + BRIDGE_RATE_MS * 1000000ll;
    if (r->n >= BRIDGE_RATE && now_ns < free_at)
        return error_set(err, ERR_LIMIT, "a run may show at most %d notifications, dialogs and pickers in %d s: the next one in %lld s", BRIDGE_RATE,
                         BRIDGE_RATE_MS / 1000, (long long)((free_at - now_ns) / 1000000000 + 1));
    *oldest = now_ns;
    r->n++;
    return true;
}
