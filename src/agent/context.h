/* Selects the part of a conversation that is sent to the model when all of it would be too much.
 *
 * Results stored as artifacts shrink to one line, oldest first. If that is not enough, or there are more than
 * max_history messages, whole exchanges are removed, oldest first: a user's message with everything up to the next one;
 * in the current exchange, a reply with the results of its calls. So a call is never sent without its result. The
 * system prompt, the first user message and the one being answered always stay.
 *
 * A conversation over its limit is cut to half of the limit at once, and stays cut like that until it exceeds the limit
 * again. So most requests start with the same bytes as the previous one, and the provider's cache is hit.
 *
 * The cost of a fit depends on what is kept, not on the length of the conversation. */
#pragma once
#include "base/vec.h"
#include "model/request.h"
#include "value/list.h"

/* A message, measured once, when it is added. */
typedef struct ContextMessage {
    Value value;                         /* {role, content, …} */
    Role role;
    uint32_t asked;                      /* index of the last user message up to this one; 0: none yet */
    int64_t tokens, least;               /* unchanged, and shortened */
} ContextMessage;

/* Without the system prompt; the first message is a user's. Zero-initialise. */
typedef struct History {
    ContextMessage *at;
    size_t n, cap;
    uint32_t from, plain;                /* how it was cut: messages before `from` are removed, results before `plain`
                                          * are shortened */
} History;

void history_add(History *h, Value message);                           /* borrowed: must live as long as the history
                                                                        * refers to it */
/* The newest message is sent as `bytes` bytes of the provider's own items, if these are more than its neutral form. A model that does not
 * get the items back is then given less than its budget, never more. */
void history_weigh(History *h, size_t bytes);
void history_cut(History *h, size_t n);                                /* keeps the first n */
void history_clear(History *h);

typedef struct ContextLimits { int64_t max_history, max_tokens; } ContextLimits;    /* messages besides the system's; 0:
                                                                                     * no limit */

typedef struct ContextReport {
    int64_t tokens;
    uint32_t kept, dropped, shortened;   /* kept includes the system prompt */
    uint32_t asked, from;                /* kept: the first message, this one, and all since `from` */
} ContextReport;

/* An estimate: about four bytes a token, plus some for each message. Only the provider knows exact numbers. */
int64_t context_tokens(Str text);
int64_t context_message_tokens(Value message);

/* *out is a new list in `heap` that refers to `system` (GONE: none) and the given messages (shortened ones are new).
 * `reserved`: tokens for tools and the reply. Never fails for too small a budget: then only the required messages are
 * left. */
bool context_fit(Heap *heap, Value system, History *history, ContextLimits limits, int64_t reserved, List **out, ContextReport *report, Error *err);
bool context_left(const ContextReport *r, uint32_t i);                 /* true if message i of the history was removed */
