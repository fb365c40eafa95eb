/* One attempt to get a reply over HTTP: what openai.c and anthropic.c share. Each of them says only how a request is written
 * and what the documents that come back mean. */
#pragma once
#include "model/provider.h"

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
} HttpTurn;

typedef struct HttpTurnWire {
    bool (*write)(const Model *m, const ModelRequest *r, Heap *scratch, Buf *out, Error *err);
    bool (*on_event)(HttpTurn *x, Str event, Str data, Error *err);
    bool (*on_whole)(HttpTurn *x, Str body, Error *err);     /* an answer that is one document, no stream */
} HttpTurnWire;

/* The endpoint, the key and the profile's own headers; there is room for eight more. */
bool http_turn_open(Model *m, const char *default_url, const char *path, const char *default_key_env, Error *err);
bool http_turn_run(const Model *m, const HttpTurnWire *wire, const ModelRequest *request, Cancel *cancel, ModelReply *out, bool *retry,
                  int64_t *wait_ms, Error *err);

/* For the wires. */
bool http_turn_document(HttpTurn *x, Str text, Value *root, Error *err);      /* a JSON object, in x->heap until the next one */
bool http_turn_refused(HttpTurn *x, Str words, bool transient, Error *err);   /* the server's own words, without secrets; always false */
void http_turn_text(HttpTurn *x, Str piece);
ProviderCall *http_turn_call(HttpTurn *x, int64_t index, Error *err);
void http_turn_finish(HttpTurn *x, Str reason);                               /* nothing for an empty one */
