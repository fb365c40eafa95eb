/* Questions of the server to a client, independent of how they are transported: their form, and validation of
 * answers. */
#pragma once
#include "mcp/host/serve.h"

const char *input_method(InputKind kind);                    /* "elicitation/create" … */
bool input_offered(Value client, McpVersion version, InputKind kind);        /* according to the client's
                                                                              * capabilities */

/* True if the client's result is a valid answer. Else *err says what is wrong with it (ERR_PROTOCOL) or with the
 * schema. */
bool input_fits(const InputAsk *ask, Value answer, Error *err);

/* {method, params} of each unanswered question by its key, in `h`. */
bool input_requests(Heap *h, const InputAsk *asks, size_t n, Value *out, Error *err);
/* Gives each question without a key a unique one: "input-3". Increments *counter. */
bool input_name(Heap *h, InputAsk *asks, size_t n, unsigned *counter, Error *err);

/* How the callbacks of Person ask: through a request or a task. Thread-safe: agents working for one call may ask at the
 * same time. */
typedef struct InputWay InputWay;
struct InputWay {
    bool (*ask)(InputWay *w, InputAsk *asks, size_t n, Heap *h, Cancel *cancel, Error *err);     /* answers in `h` */
    bool (*offered)(InputWay *w, InputKind kind);
};
bool input_inquire(InputWay *w, HostAsk *asks, size_t n, Heap *heap, Cancel *cancel, Error *err);
ConfirmAnswer input_confirm(InputWay *w, const ConfirmQuestion *question, Cancel *cancel);
