/* Judges recorded envelopes again: {vendor, payload, event?}. payload is the envelope, an object or its text. Nothing is stored. */
#pragma once
#include "guard/session.h"

typedef struct GuardRecorded { Buf vendor, tool, decision, rule, reason; } GuardRecorded;

/* `rt`: the open project that judges, without the user's and the machine's policy; NULL: the policies that apply to the folder `project` or, if
 * that is NULL, to the envelope. Fails only if the recording itself is invalid; the verdict on an unreadable envelope is a denial. */
bool guard_recorded_judge(Value recorded, Runtime *rt, const char *project, GuardRecorded *out, Error *err);
void guard_recorded_clear(GuardRecorded *r);
