/* Runs the hooks of an agent: the project's, those of the enclosing agents, and those added by name. */
#include "agent/frame.h"

bool frame_hooked(Frame *f, HookEvent event) { return hook_list_any(run_hooks(f->s->run), event, STR("")); }

void frame_ask(Frame *f, HookEvent event, Heap *heap, Value payload, Cancel *cancel, HookOutcome *out) {
    Call who = { 0 };
    frame_call(f, &who);
    *out = (HookOutcome){ 0 };
    run_ask_hooks(f->s->run, &who, event, heap, payload, cancel, out);
}
