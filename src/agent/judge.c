/* Judges calls as the agents of a session would make them. */
#include "agent/delegate.h"

bool session_judge(Session *s, Str agent, Call *call, Cancel *cancel, Arena *arena, ToolJudgement *out, Error *err) {
    Frame *f = s->top;
    const AgentDef *def = agent.n ? frame_find_agent(s, agent) : NULL;
    if (agent.n && !def) {
        *out = (ToolJudgement){ .verdict = RULE_DENY, .step = STEP_RESOLVE, .rule = STR("unknown_agent"),
                                .why = str_from(arena_fmt(arena, "there is no agent \"" STR_FMT "\"", STR_ARG(agent))) };
        return true;
    }
    if (def && def != f->def) f = delegate_frame(s->top, def, STR(""));
    frame_call(f, call);
    call->removed = f->blocked;
    call->n_removed = f->n_blocked;
    bool ok = tool_judge(s->run, call, cancel, arena, out, err);
    if (f != s->top) frame_release(f);
    return ok;
}
