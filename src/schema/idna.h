/* Internationalized host names: labels of IDNA 2008 (RFC 5890 to 5893). */
#pragma once
#include "base/str.h"

enum { IDNA_LABEL_MAX = 63 };

/* Checks one label of a host name, without dots. `unicode` permits non-ASCII. An "xn--" label must decode to a valid
 * one and be its canonical encoding. Sets *right_to_left if it has right-to-left letters; *bidi_ok if it meets the
 * rules for names that contain such letters in any label. */
bool idna_label_ok(Str label, bool unicode, bool *right_to_left, bool *bidi_ok);

/* Appends one label in the form used by DNS: ASCII in lower case, anything else as "xn--…" of its lower case. Returns
 * false and appends nothing for a non-ASCII label that idna_label_ok rejects, and for an ASCII one that has other
 * characters than letters, digits, '-' and '_' or is longer than IDNA_LABEL_MAX. */
bool idna_label_encode(Str label, Buf *out);
