/* Model providers behind one interface: takes a request of messages and tools, returns one reply, and
 * streams it meanwhile.
 *
 * Messages are values, as scripts and hooks see them, so nothing converts between representations of a
 * conversation:
 *
 *   {"role": "system" | "user" | "assistant" | "tool", "content": TEXT,
 *    "tool_calls": [{"id", "name", "arguments": JSON TEXT}],         assistant only
 *    "tool_call_id": ID, "is_error": BOOL,                           tool only
 *    "parts": [PART]}                                                where those are not complete: script/parts.h
 *
 * A Model is immutable after model_open; any number of threads may use it at once. */
#pragma once
#include "artifact/project.h"
#include "base/cancel.h"
#include "base/log.h"
#include "model/items.h"
#include "net/client.h"
#include "script/parts.h"
#include "script/worker.h"

typedef struct Model Model;

/* input includes cached (read from a cache) and written (written to one); output includes reasoning. */
typedef struct ModelUsage { int64_t input, output, cached, written, reasoning; double usd; bool priced; } ModelUsage;

void model_usage_write(const ModelUsage *u, Buf *out);       /* {"input", "output", "cached", "written", "reasoning", "usd"} */

typedef struct ModelRequest {
    Value messages;                      /* a list */
    Value tools;                         /* a list of {"name", "description", "parameters"}; names are provider-safe aliases */
    int64_t max_tokens;                  /* 0: the profile's */
    const Value *output_schema;          /* requested format of the reply, if the protocol supports one; NULL: any text */
    Str effort;                          /* none, minimal, low, medium, high; empty: the profile's */
    Str cache_key;                       /* the same for all requests of a conversation; empty: none */
    const ItemsTable *items;             /* of earlier replies; may be NULL */
    void (*on_text)(void *ctx, Str piece);                   /* called for each piece of the reply; may be NULL */
    void (*on_reasoning)(void *ctx, Str piece);              /* the same for the reasoning; a repeated attempt repeats it */
    void (*on_retry)(void *ctx, int attempt, int64_t wait_ms, const Error *why);
    void *ctx;
} ModelRequest;

/* A run of bytes of the text or of the reasoning, or the next call. */
typedef struct ModelPiece { enum { PIECE_TEXT, PIECE_REASONING, PIECE_CALL } kind; size_t bytes; } ModelPiece;

typedef struct ModelReply {              /* initialize with zeros; call model_reply_clear at the end */
    Heap *heap;                          /* of tool_calls */
    Buf text;
    Buf reasoning;                       /* as far as the provider shows it */
    Buf items;                           /* a JSON array in the provider's format; empty: the neutral form is complete */
    struct { ModelPiece *at; size_t n, cap; } order;         /* order of text, reasoning and calls */
    Value tool_calls;                    /* list of {"id", "name", "arguments"}; empty list: none. Ids are present and distinct */
    char finish_reason[32];              /* stop, tool_calls, length, content_filter, or the provider's own word */
    ModelUsage usage;
    int attempts;
    bool unavailable;                    /* of a failed request: the model is overloaded or unavailable, and another one may be tried */
    bool truncated;                      /* finish_reason length: the last call's arguments may be cut */
} ModelReply;

/* External services that a model needs; must outlive it. */
typedef struct ModelEnv {
    Client *client;
    Workers *workers;                    /* for `script` */
    const Log *log;
    void (*secret)(void *ctx, Str value);        /* receives keys and header values, to redact them */
    void (*redact)(void *ctx, Buf *text);        /* redacts server messages; may be NULL */
    void *secret_ctx;                            /* context of both */
    bool offline;                        /* HARNESS_OFFLINE: only script and replay */
} ModelEnv;

/* Where requests go, and with which key. Nothing is opened. */
typedef struct ModelRoute {
    const char *wire;                    /* responses, chat, anthropic, script, replay */
    Str base; const char *path;          /* of the URL; both empty for script and replay */
    Str key_env;                         /* the variable that holds the key; empty: none */
    bool needs_key;                      /* it must be set */
} ModelRoute;
ModelRoute model_route(const ModelDef *def);
bool model_priced(const ModelDef *def);  /* true if the price of its tokens is known */

/* A missing key is ERR_CONFIG that names the variable; a script that does not load reports its own error. */
bool model_open(const Project *p, const ModelDef *def, const ModelEnv *env, Model **out, Error *err);
void model_free(Model *m);

/* Gets one reply. Retries transient failures (408, 429 with Retry-After, 5xx, connection loss before the first token)
 * with exponential back-off and jitter. Fails with ERR_PROVIDER and the provider's message; authentication errors and
 * content filters are final. */
bool model_complete(Model *m, const ModelRequest *request, Cancel *cancel, ModelReply *out, Error *err);
void model_reply_clear(ModelReply *r);
/* The parts of a reply, in the order in which they came (script/parts.h). */
bool model_reply_parts(const ModelReply *r, Heap *heap, List **out, Error *err);
const char *model_wire(const Model *m);  /* as in ModelRoute */
Str model_origin(const Model *m);        /* wire, server and model family: the items of a reply may be sent to models with the same origin */

/* Writes the tools of a request in wire format: a JSON list for `format`, openai or anthropic. */
bool model_write_tools(const char *format, const List *tools, Buf *out, Error *err);

/* Resolves a model name: a profile, else a model of the parent's provider, else of the provider that its prefix
 * indicates (agents.md). An empty `name` selects the project's `model`, its first profile, else what the environment
 * offers (OPENAI_API_KEY, ANTHROPIC_API_KEY, OAI_*). Fills in *out; strings live in `arena`. */
bool model_pick(const Project *p, Str name, const ModelDef *parent, Arena *arena, ModelDef *out, Error *err);
/* A model with an explicit provider (of a space's agent). Uses the parent's connection settings if it has the same
 * provider. */
void model_of_provider(Str provider, Str name, const ModelDef *parent, ModelDef *out);

/* Records every request and reply, redacted, as JSON lines that the provider `replay` reads. The wrapper owns
 * `inner`. */
Model *model_record(Model *inner, int fd, void (*redact)(void *ctx, Buf *text), void *ctx);
