/* The envelope of a call as it is stored with the decision about it, so that the call can be judged again (`harness simulate`). */
#pragma once
#include "guard/guard.h"
#include "policy/redact.h"

enum {
    GUARD_KEPT_MAX = 32 << 10,           /* bytes; an envelope that is longer is not stored */
    GUARD_KEPT_TEXT_MAX = 4096,          /* bytes; a longer text is stored as "sha256:HEX (N bytes)" */
};

/* Appends the members of the envelope that a verdict depends on, as a JSON object. Masks the secrets that `redactor` knows, and literal credentials
 * (policy/credentials.h). Appends nothing if the event is not a call, or nothing can be stored. */
void guard_kept_write(const GuardEnvelope *e, Redactor *redactor, Buf *out);
/* True if a text in it was masked or replaced by its hash: the verdict may be another one than that on the call itself. */
bool guard_kept_partial(Value kept);
/* Appends it as a payload for a test of the project: paths below `root` become relative to the folder of the call, since a test runs in a copy. */
void guard_kept_portable(Value kept, Str root, Buf *out);
