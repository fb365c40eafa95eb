#include "hook/ask.h"

enum { NONE = 0, A = 1 << HOOK_ALLOW, B = 1 << HOOK_BLOCK, M = 1 << HOOK_MODIFY, D = 1 << HOOK_DELEGATE };

static const HookEventInfo events[] = {
#define HOOK_EVENT(id, name, decisions, changes, failure) [HOOK_##id] = { name, decisions, changes, HOOK_FAILS_##failure },
#define HOOK_FAMILY HOOK_EVENT
#include "artifact/hook_events.def"
#undef HOOK_EVENT
#undef HOOK_FAMILY
};

const HookEventInfo *hook_event_info(HookEvent e) { return &events[e]; }
const char *hook_event_name(HookEvent e) { return events[e].name; }

const char *hook_decision_name(HookDecision d) {
    static const char *const names[] = {
#define HOOK_DECISION(id, name) [HOOK_##id] = name,
#include "hook/decisions.def"
#undef HOOK_DECISION
    };
    return names[d];
}

bool hook_decision_find(Str name, HookDecision *out) {
    for (int d = 0; d < HOOK_DECISION_COUNT; d++)
        if (str_eq(name, str_from(hook_decision_name((HookDecision)d)))) return *out = (HookDecision)d, true;
    return false;
}

bool hook_event_find(Str name, HookEvent *out) {
    for (int e = 0; e < HOOK_EVENT_COUNT; e++) {
        Str known = str_from(events[e].name);
        bool family = str_ends(known, STR(".*"));
        if (family ? str_starts(name, str_sub(known, 0, known.n - 1)) && name.n >= known.n : str_eq(name, known))
            return *out = (HookEvent)e, true;
    }
    return false;
}
