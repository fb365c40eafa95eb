/* Internationalised host names: labels of IDNA 2008 (RFC 5890 to 5893). */
#pragma once
#include "base/str.h"

enum { IDNA_LABEL_MAX = 63 };

/* One label of a host name, without dots. `unicode`: may it be other than ASCII? An "xn--" label must decode to a good
 * one and be its only spelling. *right_to_left is set when it has letters written that way; *bidi_ok tells whether it
 * keeps the rules of a name that has such letters anywhere. */
bool idna_label_ok(Str label, bool unicode, bool *right_to_left, bool *bidi_ok);

/* Appends one label as it is sent to name servers: an ASCII one in lower case, any other as "xn--…" of its lower case. false,
 * with nothing appended, for what idna_label_ok refuses in a label that is not ASCII, and for an ASCII one with other than
 * letters, digits, '-' and '_' or longer than IDNA_LABEL_MAX. */
bool idna_label_encode(Str label, Buf *out);
