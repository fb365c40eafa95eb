/* Stops a tool after three identical failures in a row with the same arguments. */
#include "base/hash.h"
#include "tool/runtime_private.h"

enum { REPEAT_LIMIT = 3, REPEAT_TOOLS_MAX = 1024 };

static uint64_t digest(Str s) {
    static const uint8_t key[16];
    return hash_sip24(s, key);
}

static RunFailure *find(Run *r, Str tool) {
    for (size_t i = 0; i < r->failures.n; i++)
        if (str_eq(r->failures.at[i].tool, tool)) return &r->failures.at[i];
    return NULL;
}

bool run_has_failures(Run *r) { return atomic_load_explicit(&r->failed, memory_order_relaxed); }

bool run_repeats(Run *r, Str tool, Str args_json) {
    pthread_mutex_lock(&r->lock);
    RunFailure *f = find(r, tool);
    bool yes = f && f->count >= REPEAT_LIMIT && f->args == digest(args_json);
    pthread_mutex_unlock(&r->lock);
    return yes;
}

void run_note_outcome(Run *r, Str tool, Str args_json, bool failed, Str error) {
    pthread_mutex_lock(&r->lock);
    RunFailure *f = find(r, tool);
    if (!failed) {
        if (f) f->count = 0;
    } else {
        uint64_t args = digest(args_json), how = digest(error);
        if (!f && r->failures.n < REPEAT_TOOLS_MAX) {
            VEC_PUSH(&r->failures, (RunFailure){ .tool = tool });
            f = &VEC_LAST(&r->failures);
        }
        if (f && f->args == args && f->error == how) f->count++;
        else if (f) f->args = args, f->error = how, f->count = 1;
        atomic_store(&r->failed, true);
    }
    pthread_mutex_unlock(&r->lock);
}
