/* A recording: JSON lines {"request": …, "reply": …}. Requests are stored in a form that is equal for two runs of the
 * same conversation: redacted, and without ids, UUIDs and times. */
#pragma once
#include "model/model.h"

/* Appends the comparable form of the request as JSON. */
void tape_request(const ModelRequest *r, Buf *out);
bool tape_reply(const ModelReply *r, Buf *out, Error *err);
/* Replaces UUIDs and RFC 3339 times with <uuid> and <time>. */
void tape_neutral(Buf *text);
