#include "hook/ask.h"

static const HookEventInfo events[] = {
#define HOOK_EVENT(id, name, decisions, changes, failure) [HOOK_##id] = { name, decisions, changes, HOOK_FAILS_##failure },
#include "hook/events.def"
#undef HOOK_EVENT
};

const HookEventInfo *hook_event_info(HookEvent e) { return &events[e]; }
const char *hook_event_name(HookEvent e) { return events[e].name; }
HookFailure hook_event_failure(HookEvent e) { return events[e].failure; }

bool hook_event_find(Str name, HookEvent *out) {
    for (int e = 0; e < HOOK_EVENT_COUNT; e++) {
        Str known = str_from(events[e].name);
        bool family = str_ends(known, STR(".*"));
        if (family ? str_starts(name, str_sub(known, 0, known.n - 1)) && name.n >= known.n : str_eq(name, known))
            return *out = (HookEvent)e, true;
    }
    return false;
}
