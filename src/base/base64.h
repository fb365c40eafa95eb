/* Base64 (RFC 4648). Writes the standard alphabet with padding; also reads the URL alphabet and text without padding,
 * but no white space and no stray bits. */
#pragma once
#include "base/error.h"
#include "base/str.h"

void base64_encode(Str bytes, Buf *out);                  /* appends */
void base64_encode_url(Str bytes, Buf *out);              /* URL alphabet, no padding */
/* Appends. ERR_PARSE "not base64: unexpected '*' at 5"; on failure `out` is unchanged. */
bool base64_decode(Str text, Buf *out, Error *err);
