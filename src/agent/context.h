/* What of a conversation goes to the model when all of it would be too much.
 *
 * First, results that are kept as artifacts shrink to one line, oldest first. Then whole exchanges leave, oldest first: a
 * user's message with everything up to the next one; inside the exchange that goes on, an answer with the results of its
 * calls. So a call never stands without its result. The system prompt and the first user message always stay. */
#pragma once
#include "value/list.h"

typedef struct ContextLimits { int64_t max_history, max_tokens; } ContextLimits;    /* messages beside the system's; 0: no limit */

typedef struct ContextReport { int64_t tokens; uint32_t kept, dropped, shortened; } ContextReport;

/* An estimate: about four bytes a token, with some for each message. Exact numbers are the provider's. */
int64_t context_tokens(Str text);
int64_t context_message_tokens(Value message);

/* *out is a new list in `heap` that refers to the messages given (shortened ones are new). `reserved`: tokens that tools
 * and the answer take. Never fails for a budget that is too small: then only what must stay is left. */
bool context_fit(Heap *heap, const List *messages, ContextLimits limits, int64_t reserved, List **out, ContextReport *report, Error *err);
