/* Questions of the server to a client, whichever way they travel: what they look like, and whether an answer fits. */
#pragma once
#include "mcp/serve.h"

const char *input_method(InputKind kind);                    /* "elicitation/create" … */
bool input_offered(Value client, McpVersion version, InputKind kind);        /* by what the client said of itself */

/* Does the client's result answer it? False: *err says what is wrong with it (ERR_PROTOCOL), or that the schema is none. */
bool input_fits(const InputAsk *ask, Value answer, Error *err);

/* {method, params} of each, by its key, in `h`; those with an answer are left out. */
bool input_requests(Heap *h, const InputAsk *asks, size_t n, Value *out, Error *err);
/* Gives each question that has none a name of its own: "input-3". *counter goes on. */
bool input_name(Heap *h, InputAsk *asks, size_t n, unsigned *counter, Error *err);

/* What a person's functions ask through: of a request, or of a task. Any thread: agents that work for a call ask at the same time. */
typedef struct InputWay InputWay;
struct InputWay {
    bool (*ask)(InputWay *w, InputAsk *asks, size_t n, Heap *h, Cancel *cancel, Error *err);     /* answers in `h` */
    bool (*offered)(InputWay *w, InputKind kind);
};
bool input_inquire(InputWay *w, HostAsk *asks, size_t n, Heap *heap, Cancel *cancel, Error *err);
ConfirmAnswer input_confirm(InputWay *w, const ConfirmQuestion *question, Cancel *cancel);
