/* What a call came to (tools.md, step 11). Owns its memory in an arena and a heap of its own, so it outlives the call. */
#pragma once
#include "base/arena.h"
#include "value/heap.h"

typedef enum { RESULT_OK, RESULT_REPAIRABLE, RESULT_RETRYABLE, RESULT_FATAL } ResultClass;

typedef struct Result {                  /* zero-initialise; result_clear at the end */
    Arena arena;
    Heap *heap;
    Str call_id, name;                   /* canonical name */
    Value value;                         /* in heap */
    Value content;                       /* list of typed blocks {type, …}; GONE: one text block made from the value */
    Str text;                            /* what the model sees: the string itself, or compact JSON; bounded */
    Str *artifacts;
    size_t n_artifacts;
    bool is_error;
    ResultClass cls;
    Str error, step, rule;               /* of an error: message, pipeline step ("policy"), rule */
    bool timed_out;
    Str provider;                        /* an MCP server's name; empty: none */
    Str task_id;                         /* a background task was started */
    int64_t elapsed_ns;
} Result;

void result_clear(Result *r);
/* The whole object as JSON: {tool_call_id, name, content, value, artifacts, is_error, error?, provider?, elapsed_ms}. */
void result_write_json(Buf *out, const Result *r);
void result_write_value(Buf *out, const Result *r);      /* the value as compact JSON */
