/* Every encoding of a secret that is redacted. */
#pragma once
#include "base/str.h"

/* Calls `each` with the secret; without surrounding white space; each line of 16 bytes or more of a multi-line secret;
 * and all of these JSON-escaped (plain and ASCII-only), percent-encoded, in base64 at any offset of a longer text (both
 * alphabets) and in hexadecimal. The texts are valid during the call only. */
void redact_forms(Str secret, void (*each)(void *ctx, Str form), void *ctx);
