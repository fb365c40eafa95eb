/* JSON Schema, draft 2020-12: compile once, validate many values from any thread.
 *
 * Implements every keyword of the draft. `format` is an annotation unless the caller or the
 * schema's own vocabulary makes it an assertion; content* are annotations. Documents that declare
 * 2019-09, draft 7 or draft 6 follow the rules of those drafts (array `items`, `additionalItems`,
 * `dependencies`, `$ref` without siblings). Never fetches anything from a network: other documents
 * come from the caller's resolver. The meta-schemas of 2020-12 are built in. Patterns run with
 * limits (base/regex.h).
 *
 * Values: None is null, tuples are arrays like lists, a float with an integral value is an integer;
 * values outside of JSON (sets, bytes, functions) match no type. */
#pragma once
#include "base/arena.h"
#include "value/dict.h"

typedef struct Schema Schema;

/* Finds the document of an absolute URI (no fragment). *out is VALUE_GONE if there is none; an error (a file that
 * is not JSON) ends the compilation. The document must outlive the Schema. */
typedef bool SchemaResolve(void *ctx, Str uri, Value *out, Error *err);

typedef struct SchemaInput {        /* zero means the default for everything but root */
    Value root;                     /* an object or a bool; it and resolved documents are borrowed and must not change */
    Str base_uri;                   /* base URI of the root if it has no $id */
    SchemaResolve *resolve;
    void *resolve_ctx;
    bool assert_format;
    Arena *arena;                   /* for the compiled form; outlives the Schema. NULL: the Schema has its own */
    size_t max_nodes;               /* subschemas in all documents; 0: SCHEMA_NODES_MAX */
    size_t max_steps;               /* subschemas applied in one validation; 0: SCHEMA_STEPS_MAX */
} SchemaInput;

enum {
    SCHEMA_NODES_MAX = 100000,
    SCHEMA_DEPTH_MAX = 512,         /* depth of an instance (as in json_read) and of a schema */
    SCHEMA_NESTING_MAX = 1500,      /* nested applications of subschemas */
    SCHEMA_STEPS_MAX = 20000000,
    SCHEMA_PROBLEMS_MAX = 100,
};

/* schema_free accepts NULL. An invalid schema fails with ERR_VALIDATION and its location first:
 * `/properties/x/type: unknown type "strng"`, in another document `http://host/other.json#/…: …`; exceeding a
 * limit fails with ERR_LIMIT. */
bool schema_compile(const SchemaInput *in, Schema **out, Error *err);
void schema_free(Schema *s);

/* One violation. `path` is a pointer into the instance (RFC 6901, "" is the root); `schema` the location of the
 * violated keyword. */
typedef struct { Str path, message, schema; } SchemaProblem;

/* Initialize with zeros; call schema_problems_clear() at the end. */
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
