/* Every way in which a secret may look when it comes back: as it is, and as programs write it into other texts. */
#pragma once
#include "base/str.h"

/* Calls `each` with the secret; without white space around it; each line of 16 bytes or more of one with several lines; and
 * all of these inside JSON (plain and ASCII-only), percent-encoded, in base64 at any position of a longer text (both alphabets),
 * in hexadecimal. The texts end with the call. */
void redact_forms(Str secret, void (*each)(void *ctx, Str form), void *ctx);
