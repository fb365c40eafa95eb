/* Judges recorded envelopes again: {vendor, payload, event?}. payload is the envelope, an object or its text. Nothing is stored. */
#pragma once
#include "guard/session.h"

typedef struct GuardRecorded {
    Buf vendor, tool, decision, rule, reason;
    Str file; uint32_t line;             /* where the rule or hook is written; empty, 0: unknown. Borrowed from the project or the layer */
    bool outside;                        /* the machine's or the user's policy took part: the project alone could decide otherwise */
} GuardRecorded;

/* `rt`: the open project that judges, without the user's and the machine's policy; NULL: the policies that apply to the folder `project` or, if
 * that is NULL, to the envelope. Fails only if the recording itself is invalid; the verdict on an unreadable envelope is a denial. */
bool guard_recorded_judge(Value recorded, Runtime *rt, const char *project, GuardRecorded *out, Error *err);

/* Judges an envelope that was stored with its decision (guard/kept.h), with an open project and the other policies that apply. */
typedef struct GuardBench {
    Runtime *rt;
    Run *run;                            /* of `rt`: hooks are asked in it */
    Cancel *cancel;                      /* ends a hook early */
    const GuardLayer *layers;            /* GUARD_LAYERS; see guard_session_layers */
    const Error *refused;                /* ERR_NONE, or why the layers cannot be read: every call is refused, as by the guard itself */
} GuardBench;
void guard_recorded_again(Str kept, Vendor vendor, Str event, const GuardBench *with, GuardRecorded *out);
void guard_recorded_clear(GuardRecorded *r);
