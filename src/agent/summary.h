/* context.summarize: replaces messages removed from the context by a summary, written by a model.
 *
 * `true`: the agent's own model; a string: that one. The summary follows the first user message. It is created when
 * messages are removed, and again only when SUMMARY_STEP more were removed; if it cannot be created, the conversation
 * continues without it, with a warning. */
#pragma once
#include "agent/frame.h"

enum { SUMMARY_STEP = 8 };

/* A summary of all messages, for /compact. */
bool summary_of_all(Frame *f, Cancel *cancel, Buf *out, Error *err);
/* `fitting` has the kept messages, as in `report`; adds the summary of the others to it. */
bool summary_add(Frame *f, Heap *heap, const ContextReport *report, List *fitting, Cancel *cancel, Error *err);
