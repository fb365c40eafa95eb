/* What of a conversation goes to the model when all of it would be too much.
 *
 * Results that are kept as artifacts shrink to one line, oldest first. When that is not enough, or there are more than max_history messages,
 * whole exchanges leave, oldest first: a user's message with everything up to the next one; inside the exchange that goes on, an answer with
 * the results of its calls. So a call never stands without its result. The system prompt, the first user message and the one that is being
 * answered always stay.
 *
 * A conversation over its limit is cut to half of it at once, and stays as it was cut until it is over the limit again. So most requests begin
 * with the bytes of the one before, and the provider's cache is hit.
 *
 * The cost of a fit depends on what stays, not on the length of the conversation. */
#pragma once
#include "base/vec.h"
#include "model/request.h"
#include "value/list.h"

/* A message, measured once, when it is added. */
typedef struct ContextMessage {
    Value value;                         /* {role, content, …} */
    Role role;
    uint32_t asked;                      /* the index of the last user message up to this one; 0: none so far */
    int64_t tokens, least;               /* as it is, and shortened */
} ContextMessage;

/* Without the system prompt; the first message is a user's. Zero-initialise. */
typedef struct History {
    ContextMessage *at;
    size_t n, cap;
    uint32_t from, plain;                /* how it was cut: messages before `from` have left, results before `plain` are shortened */
} History;

void history_add(History *h, Value message);                           /* borrowed: it must live as long as the history refers to it */
void history_cut(History *h, size_t n);                                /* leaves the first n */
void history_clear(History *h);

typedef struct ContextLimits { int64_t max_history, max_tokens; } ContextLimits;    /* messages beside the system's; 0: no limit */

typedef struct ContextReport {
    int64_t tokens;
    uint32_t kept, dropped, shortened;   /* the system prompt counts among those kept */
    uint32_t asked, from;                /* the first message stays, this one, and all since `from` */
} ContextReport;

/* An estimate: about four bytes a token, with some for each message. Exact numbers are the provider's. */
int64_t context_tokens(Str text);
int64_t context_message_tokens(Value message);

/* *out is a new list in `heap` that refers to `system` (GONE: none) and the messages given (shortened ones are new). `reserved`: tokens that
 * tools and the answer take. Never fails for a budget that is too small: then only what must stay is left. */
bool context_fit(Heap *heap, Value system, History *history, ContextLimits limits, int64_t reserved, List **out, ContextReport *report, Error *err);
bool context_left(const ContextReport *r, uint32_t i);                 /* has message i of the history left the context? */
