/* JSON Schema, draft 2020-12: compile once, validate many values from any thread.
 *
 * Every keyword of the draft is there. `format` is an annotation unless the caller or the
 * schema's own vocabulary makes it an assertion; content* are annotations. Documents that
 * declare 2019-09, draft 7 or draft 6 are read as those drafts mean it (array `items`,
 * `additionalItems`, `dependencies`, `$ref` without siblings). Nothing is ever fetched from
 * a network: other documents come from the caller's resolver. The meta-schemas of 2020-12
 * are built in. Patterns run with limits (base/regex.h).
 *
 * Values: None is null, tuples are arrays like lists, a float with a whole value is an
 * integer; whatever JSON does not have (sets, bytes, functions) fits no type. */
#pragma once
#include "base/arena.h"
#include "value/dict.h"

typedef struct Schema Schema;

/* Finds the document of an absolute URI (no fragment). *out is VALUE_GONE when there is none; an error (a file that
 * is not JSON) ends the compilation. The document must live as long as the Schema. */
typedef bool SchemaResolve(void *ctx, Str uri, Value *out, Error *err);

typedef struct SchemaInput {        /* the zero value of everything but root is the default */
    Value root;                     /* an object or a bool; it and what the resolver gives are borrowed, and must not change */
    Str base_uri;                   /* of the root, when it has no $id */
    SchemaResolve *resolve;
    void *resolve_ctx;
    bool assert_format;
    Arena *arena;                   /* for the compiled form; outlives the Schema. NULL: one of its own */
    size_t max_nodes;               /* subschemas in all documents; 0: SCHEMA_NODES_MAX */
    size_t max_steps;               /* subschemas applied in one validation; 0: SCHEMA_STEPS_MAX */
} SchemaInput;

enum {
    SCHEMA_NODES_MAX = 100000,
    SCHEMA_DEPTH_MAX = 512,         /* of an instance, as json_read allows, and of a schema */
    SCHEMA_NESTING_MAX = 1500,      /* subschemas being applied inside one another */
    SCHEMA_STEPS_MAX = 20000000,
    SCHEMA_PROBLEMS_MAX = 100,
};

/* NULL-safe to free. A bad schema fails with ERR_VALIDATION and its place first: `/properties/x/type: unknown type
 * "strng"`, in another document `http://host/other.json#/…: …`; passing a bound is ERR_LIMIT. */
bool schema_compile(const SchemaInput *in, Schema **out, Error *err);
void schema_free(Schema *s);

/* One violation. `path` points into the instance (RFC 6901, "" is all of it); `schema` at the keyword that says so. */
typedef struct { Str path, message, schema; } SchemaProblem;

/* Zero-initialise, schema_problems_clear() at the end. */
typedef struct SchemaProblems {
    Arena arena;
    SchemaProblem *at;
    size_t n, cap;
    size_t limit;                   /* 0: SCHEMA_PROBLEMS_MAX */
    bool more;                      /* there were more than `limit` */
} SchemaProblems;

/* True when `instance` is valid. Otherwise `out` has every violation, in the order of the instance: at least one,
 * also when a bound was passed (a validation that could not be finished never counts as valid). With `out` NULL it stops at
 * the first violation. A valid instance allocates nothing (unless unevaluated* meets a container of more than 256 entries,
 * or uniqueItems an array of more than 32). */
bool schema_validate(const Schema *s, Value instance, SchemaProblems *out);
void schema_problems_clear(SchemaProblems *p);

/* Does the text have this format ("date-time", "ipv4", …)? Unknown formats take anything. */
bool schema_format_ok(Str format, Str text);
