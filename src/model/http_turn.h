/* One attempt to get a reply over HTTP: what the wires share: openai.c (Chat Completions), responses.c and anthropic.c. Each of them says only how a request is written
 * and what the documents that come back mean. */
#pragma once
#include "model/provider.h"

/* A block of an answer whose parts must go back in order. */
/* Of an unknown type, `text` is the block itself; `partial`: the rest of it came in pieces. */
typedef struct HttpBlock { int64_t index; Buf type, text, signature; bool partial; } HttpBlock;

typedef struct HttpTurn {
    const Model *m;
    ProviderDraft draft;
    Heap *heap;                          /* of the document that is being read */
    unsigned half;                       /* of a character that the next piece must complete; 0: none */
    bool started;                        /* some of the reply was delivered: no retry from here on */
    bool finished;                       /* a finish reason has come */
    bool done;                           /* the stream has said that it is over; what follows is not read */
    bool transient;                      /* the failure may pass */
    int64_t last;                        /* openai: the call that the last piece belonged to */
    VEC(int64_t) told;                   /* responses: output items whose text came in pieces */
    size_t n_items;                      /* that http_turn_item got */
    bool reasoning_back;                 /* openai: the reasoning came as reasoning_content, and goes back so */
    Buf extra;                           /* openai: members of the message that go back, as JSON: ,"name":value */
    VEC(HttpBlock) blocks;               /* anthropic */
} HttpTurn;

typedef struct HttpTurnWire {
    bool (*write)(const Model *m, const ModelRequest *r, Heap *scratch, Buf *out, Error *err);
    bool (*on_event)(HttpTurn *x, Str event, Str data, Error *err);
    bool (*on_whole)(HttpTurn *x, Str body, Error *err);     /* an answer that is one document, no stream */
    bool (*on_end)(HttpTurn *x, Error *err);                 /* the reply is complete: gather its items; may be NULL */
} HttpTurnWire;

/* The endpoint, the key and the profile's own headers; there is room for eight more. */
bool http_turn_open(Model *m, Error *err);
bool http_turn_run(const Model *m, const HttpTurnWire *wire, const ModelRequest *request, Cancel *cancel, ModelReply *out, bool *retry,
                  int64_t *wait_ms, Error *err);

/* For the two wire formats. */
bool http_turn_document(HttpTurn *x, Str text, Value *root, Error *err);      /* a JSON object; valid until the next call */
bool http_turn_refused(HttpTurn *x, Str words, bool transient, Error *err);   /* reports the server's message, redacted; always false */
void http_turn_text(HttpTurn *x, Str piece);
void http_turn_reasoning(HttpTurn *x, Str piece);                             /* does not forbid a retry */
bool http_turn_item(HttpTurn *x, Value item, Error *err);                     /* adds an item of the reply */
void http_turn_tell(HttpTurn *x, int64_t index);                              /* the text of this output item comes in pieces */
bool http_turn_told(const HttpTurn *x, int64_t index);
HttpBlock *http_turn_block(HttpTurn *x, int64_t index, Str type);             /* made when new; type empty: only found */
ProviderCall *http_turn_call(HttpTurn *x, int64_t index, Error *err);
void http_turn_finish(HttpTurn *x, Str reason);                               /* ignores an empty reason */
