/* context.summarize: what has left the context stays as a summary, made by a model.
 *
 * `true`: the agent's own model; a string: that one. The summary stands behind the first user message. It is made when
 * messages leave, and again only when SUMMARY_STEP more have left; a summary that cannot be made is left out, with a
 * warning, because the conversation is worth more than it. */
#pragma once
#include "agent/frame.h"

enum { SUMMARY_STEP = 8 };

/* `fitting` is what is left of the frame's messages, as `report` says; the summary of the rest is added to it. */
bool summary_add(Frame *f, Heap *heap, const ContextReport *report, List *fitting, Cancel *cancel, Error *err);
