/* The result of a call (step 11). Its memory (the value, every string) is borrowed from the runtime until result_clear,
 * which must come before runtime_close. */
#pragma once
#include "value/heap.h"

typedef enum CallStep {
    STEP_NONE,
#define STEP(id, name) STEP_##id,
#include "tool/pipeline/steps.def"
#undef STEP
} CallStep;

/* Why a call was refused: a mistake of the caller (unknown tool, bad arguments), or a veto by a rule, a hook or the
 * user. */
typedef enum { RESULT_NOT_REFUSED, RESULT_FAULT, RESULT_VETO } ResultRefusal;
typedef enum { RESULT_OK, RESULT_REPAIRABLE, RESULT_RETRYABLE, RESULT_FATAL } ResultClass;

typedef struct Result {                  /* zero-initialise; result_clear at the end */
    Str call_id, name;                   /* canonical name */
    Value value;                         /* complete, after hooks and redaction */
    Value content;                       /* list of typed blocks {type, …}; GONE: one text block with `text` */
    Str media;                           /* for a model's call: the images and PDFs of `content`, as a JSON list without data; empty: none */
    Str text;                            /* what the model sees: the string itself, or compact JSON; bounded */
    Str artifact;                        /* key of the whole value when `text` is only its head and tail; empty: none */
    bool is_error;
    ResultClass cls;
    ResultRefusal refusal;
    CallStep step;                       /* of an error */
    Str error, rule;                     /* of an error: message, and the name of the rule or hook */
    Str rule_file;                       /* the file of the hook; may be empty */
    bool unknown_tool;                   /* no tool has the name of the call */
    Str nearest;                         /* then: a tool with a similar name; may be empty */
    bool timed_out;
    Str provider;                        /* name of an MCP server; may be empty */
    Str task_id;                         /* a background task was started */
    int64_t elapsed_ns;                  /* without waited_ns */
    int64_t waited_ns;                   /* time spent waiting for the user */
    const char *asked;                   /* source of the answer, as in approval.answered; NULL: no question was asked */
    Str asked_by;                        /* the user who answered; may be empty */
    Str change;                          /* what a file tool changed: {path, diff, file, before, old_sha256, new_sha256} as JSON; empty: unknown */
    struct Pipe *held;                   /* the pipe that owns the memory */
} Result;

void result_clear(Result *r);
const char *result_class_name(ResultClass c);            /* "repairable" … */
const char *result_step_name(CallStep s);                  /* "policy"; "" for STEP_NONE */
/* The whole object as JSON: {tool_call_id, name, content, value, artifacts, is_error, error?, provider?, elapsed_ms}. */
void result_write_json(Buf *out, const Result *r);
void result_write_value(Buf *out, const Result *r);      /* the value as compact JSON */
