/* Shared by the two parts of schema_compile: builder.c handles documents, resources and references;
 * keywords.c handles the keywords. */
#pragma once
#include "schema/node.h"

enum {
    VOCAB_CORE = 1, VOCAB_APPLICATOR = 2, VOCAB_UNEVALUATED = 4, VOCAB_VALIDATION = 8, VOCAB_META = 16,
    VOCAB_FORMAT = 32, VOCAB_FORMAT_ASSERTION = 64, VOCAB_CONTENT = 128,
    VOCAB_DEFAULT = 255 - VOCAB_FORMAT_ASSERTION,
};

typedef struct { Node *node; InPlaceRules *rules; Str reference; bool dynamic; } BuilderRef;
typedef struct { uint64_t key; Node *node; } BuilderSlot;

typedef struct Builder {
    Schema *s;
    const SchemaInput *in;
    Table resources;                 /* URI to Resource */
    VEC(BuilderRef) refs;            /* not resolved yet */
    BuilderSlot *slot;               /* the schema object (its address) to its Node */
    size_t n_slots, used;            /* n_slots is a power of two, or 0 */
    size_t nodes, max_nodes;
    unsigned depth;
    Error *err;
} Builder;

/* Location of a subschema; see Node. */
typedef struct { const Node *up; const char *keyword; Str name; uint32_t index; bool listed; } BuilderPlace;

bool builder_schema(Builder *c, Value v, BuilderPlace place, Resource *outer, const Node **out);
bool builder_keywords(Builder *c, Node *n, const Dict *d, Resource *r);  /* all of one schema object; keywords.c */
bool builder_later(Builder *c, Node *n, InPlaceRules *rules, Str reference, bool dynamic);
bool builder_anchor(Builder *c, Node *n, Resource *r, Str name, bool dynamic);

/* Fails with the location in front: "/properties/x/type: …". keyword may be NULL. */
bool builder_fail(Builder *c, const Node *n, const char *keyword, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
