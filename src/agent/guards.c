/* Lists the guards of the tools of each agent, for `harness inspect --graph`. */
#include <stdlib.h>
#include "agent/delegate.h"

/* Passes the blocked tools in the same way as loop.c does for a call. */
static bool visit_frame(Frame *f, const SessionGuards *visit, Error *err) {
    Call call = { 0 };
    const ToolEntry **known;
    frame_call(f, &call);
    size_t n = tool_known(f->s->run, &call, &known);
    call.removed = f->blocked;
    call.n_removed = f->n_blocked;
    bool ok = true;
    visit->agent(visit->ctx, f->def);
    for (size_t i = 0; ok && i < n; i++) {
        if (!frame_has_use(f, known[i])) continue;
        visit->tool(visit->ctx, known[i]);
        ok = tool_guards(f->s->run, &call, known[i], visit->guard, visit->ctx, err);
    }
    free(known);
    return ok;
}

bool session_guards(Session *s, const SessionGuards *visit, Error *err) {
    const Project *p = runtime_project(s->agents->rt);
    bool ok = visit_frame(s->top, visit, err);
    for (size_t i = 0; ok && i < p->n_agents; i++) {
        if (&p->agents[i] == s->top->def) continue;
        Frame *child = delegate_frame(s->top, &p->agents[i], STR(""));
        ok = visit_frame(child, visit, err);
        frame_release(child);
    }
    return ok;
}
