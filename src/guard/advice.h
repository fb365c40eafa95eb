/* Advice for the user of a guarded agent (advice.def): what to do after install, and what the hook cannot stop. */
#pragma once
#include "artifact/call_kind.h"

typedef struct GuardAdvice { const char *program, *next, *payload, *holes; } GuardAdvice;
const GuardAdvice *guard_advice(Vendor v);               /* NULL for VENDOR_HARNESS */
/* The payload that the hook must deny, for a session in the folder `cwd`. */
void guard_advice_payload(Vendor v, Str cwd, Buf *out);
/* True if this output and exit status of the hook make the agent refuse the call. */
bool guard_advice_denies(Vendor v, Str out, Str err, int status);
