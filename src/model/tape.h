/* A recording: JSON lines {"request": …, "reply": …}. Requests are kept in a form that two runs of the same conversation
 * share: without ids, UUIDs and times, and redacted. */
#pragma once
#include "model/model.h"

/* Appends the request's comparable form, as JSON. */
void tape_request(const ModelRequest *r, Buf *out);
bool tape_reply(const ModelReply *r, Buf *out, Error *err);
/* Replaces UUIDs and RFC 3339 times by <uuid> and <time>. */
void tape_neutral(Buf *text);
