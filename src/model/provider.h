/* The interface of a provider, one file each: openai.c, anthropic.c, script.c, replay.c. */
#pragma once
#include "model/model.h"

typedef struct Provider {
    const char *name;
    bool (*open)(Model *m, const Project *p, Error *err);
    void (*route)(const ModelDef *def, ModelRoute *out);     /* NULL: it does not use HTTP */
    /* One attempt. *retry: the request may be sent again (nothing of the reply was used); *wait_ms: the delay that the server requested, or -1. */
    bool (*complete)(Model *m, const ModelRequest *request, Cancel *cancel, ModelReply *out, bool *retry, int64_t *wait_ms, Error *err);
    void (*close)(Model *m);
} Provider;

extern const Provider provider_openai, provider_anthropic, provider_script, provider_replay;

/* The tools of a request, as JSON. */
bool provider_openai_tools(const List *tools, Buf *b, Error *err);
bool provider_anthropic_tools(const List *tools, Buf *b, Error *err);
bool provider_anthropic_expresses(Value schema);             /* true if its output format can express this schema */

struct HttpTurnWire;

struct Model {
    const Provider *provider;
    const struct HttpTurnWire *wire;     /* for providers that use HTTP; NULL: none */
    ModelDef def;                        /* strings in arena */
    ModelEnv env;
    Arena arena;
    Str key;                             /* empty: none needed */
    Str url;                             /* of the endpoint, with its path: each wire has its own */
    Str origin;                          /* see model_origin */
    ClientHeader *headers;               /* expanded */
    size_t n_headers;
    unsigned takes;                      /* MEDIA_IMAGE, MEDIA_PDF */
    int64_t attempts, first_ms, max_ms;  /* retry */
    double multiplier;
    bool jitter;
    void *data;                          /* private data of the provider */
};

#define PROVIDER_TIMEOUT_MS INT64_C(600000)        /* for one reply, where the model sets none */
#define PROVIDER_REPLY_MAX ((size_t)64 << 20)      /* bytes of one reply's text and arguments */

/* Gathers a reply from pieces. Tool calls are keyed by the provider's index. */
/* object: without text the arguments are {}. extra: members that only the provider understands, as JSON: ,"name":value */
typedef struct ProviderCall { Buf id, name, arguments, extra; int64_t index; bool object; } ProviderCall;
typedef struct ProviderDraft { ModelReply *reply; const ModelRequest *request; ProviderCall *calls; size_t n, cap; } ProviderDraft;
void provider_text(ProviderDraft *d, Str piece);
void provider_reasoning(ProviderDraft *d, Str piece);
ProviderCall *provider_call(ProviderDraft *d, int64_t index, Error *err);    /* the call with this index, created if new; NULL with more than 1024 calls */
/* Checks ids (missing and duplicate ones get new ones) and moves the calls into the reply. */
bool provider_finish(ProviderDraft *d, Error *err);
void provider_draft_clear(ProviderDraft *d);
/* The server and key of a profile, else those of its provider. A server of the profile's own needs no key. Leaves wire and path
 * to the caller. */
void provider_route(const ModelDef *def, ModelRoute *out);
Str model_effort(const Model *m, const ModelRequest *r);    /* the request's, else the profile's; empty: the provider's default */
/* The cost of a model's usage, from prices.def or the profile; unknown: priced stays false. */
void provider_price(const Model *m, ModelUsage *u);
