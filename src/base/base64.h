/* Base64 (RFC 4648): the standard alphabet with padding when writing; reading also takes the alphabet for URLs and text
 * without padding, and nothing else (no white space, no stray bits). */
#pragma once
#include "base/error.h"
#include "base/str.h"

void base64_encode(Str bytes, Buf *out);                  /* appends */
void base64_encode_url(Str bytes, Buf *out);              /* the alphabet for URLs, no padding */
/* Appends. ERR_PARSE "not base64: unexpected '*' at 5"; then `out` is as long as before. */
bool base64_decode(Str text, Buf *out, Error *err);
