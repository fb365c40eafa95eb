/* One attempt to get a reply over HTTP. Shared by openai.c (Chat Completions), responses.c and anthropic.c, which only write the request and
 * interpret the received documents. */
#pragma once
#include "model/provider.h"

/* A block of a reply whose parts must be sent back in order. */
/* For an unknown type, `text` is the block itself; `partial`: more of it arrived in pieces, which are not in `text`. */
typedef struct HttpBlock { int64_t index; Buf type, text, signature; bool partial; } HttpBlock;

typedef struct HttpTurn {
    const Model *m;
    ProviderDraft draft;
    Heap *heap;                          /* of the document that is being read */
    unsigned half;                       /* of a character that the next piece must complete; 0: none */
    bool started;                        /* some of the reply was delivered: no retry from here on */
    bool finished;                       /* a finish reason was received */
    bool done;                           /* the stream has sent its end event; the rest is not read */
    bool transient;                      /* the failure may be temporary */
    int64_t last;                        /* openai: the call that the last piece belonged to */
    VEC(int64_t) told;                   /* responses: output items whose text arrived in pieces */
    size_t n_items;                      /* number of items passed to http_turn_item */
    bool reasoning_back;                 /* openai: the reasoning arrived as reasoning_content, and is sent back under that name */
    Buf extra;                           /* openai: members of the message that are sent back, as JSON: ,"name":value */
    VEC(HttpBlock) blocks;               /* anthropic */
} HttpTurn;

typedef struct HttpTurnWire {
    bool (*write)(const Model *m, const ModelRequest *r, Heap *scratch, Buf *out, Error *err);
    bool (*on_event)(HttpTurn *x, Str event, Str data, Error *err);
    bool (*on_whole)(HttpTurn *x, Str body, Error *err);     /* a reply in one document instead of a stream */
    bool (*on_end)(HttpTurn *x, Error *err);                 /* the reply is complete: collects its items; may be NULL */
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
void http_turn_tell(HttpTurn *x, int64_t index);                              /* the text of this output item arrives in pieces */
bool http_turn_told(const HttpTurn *x, int64_t index);
HttpBlock *http_turn_block(HttpTurn *x, int64_t index, Str type);             /* created if new; type empty: only looks it up */
ProviderCall *http_turn_call(HttpTurn *x, int64_t index, Error *err);
void http_turn_finish(HttpTurn *x, Str reason);                               /* ignores an empty reason */
