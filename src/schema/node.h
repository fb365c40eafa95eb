/* The compiled form of a schema: a graph of Nodes, one for each subschema.
 *
 * A Node itself holds what every value needs (the permitted types) and points to one block of rules
 * for each kind of value, so that a string never touches rules for objects. Everything is in the
 * Schema's arena and immutable after compiling. Property names are in one table (schema/names.h)
 * that also records which are required: one lookup per property of the instance is enough. */
#pragma once
#include "base/regex.h"
#include "base/table.h"
#include "base/vec.h"
#include "schema/names.h"
#include "schema/schema.h"

typedef struct Node Node;
typedef struct Resource Resource;

enum {
    TYPE_NULL = 1, TYPE_BOOLEAN = 2, TYPE_INTEGER = 4, TYPE_FRACTION = 8, TYPE_STRING = 16, TYPE_ARRAY = 32, TYPE_OBJECT = 64,
    TYPE_OTHER = 128,                     /* not a JSON type */
    TYPE_NUMBER = TYPE_INTEGER | TYPE_FRACTION,
    TYPE_ALL = 255,
};

typedef struct { const Node **at; uint32_t n; } NodeList;

typedef struct NumberRules {
    Value minimum, maximum, above, below; /* inclusive, exclusive; GONE: no limit */
    Value multiple_of;
} NumberRules;

typedef struct SchemaPattern { Regex *regex; Str text; } SchemaPattern;

typedef struct StringRules {
    size_t min_length, max_length;        /* in code points; SIZE_MAX: no limit */
    const SchemaPattern *pattern;         /* or NULL */
    const struct Format *format;          /* only if asserted; or NULL */
} StringRules;

typedef struct ArrayRules {
    size_t min_items, max_items, min_contains, max_contains;
    NodeList prefix;
    const Node *items, *contains;         /* or NULL */
    bool unique;
} ArrayRules;

/* Rules for one property name. `node`, if set, applies to the property's value. */
typedef struct PropertyRule {
    Str name;
    const Node *node;
    bool required, listed;                /* listed: in `properties` */
} PropertyRule;

typedef struct { const SchemaPattern *pattern; const Node *node; } PatternRule;
typedef struct { Str name; Str *needs; uint32_t n; const Node *node; bool old; } DependentRule; /* either `needs` or `node`; old: from `dependencies` */

typedef struct ObjectRules {
    size_t min_properties, max_properties;
    Names names;                          /* index into rule */
    PropertyRule *rule;
    uint32_t n_rules, n_required;
    PatternRule *patterns;
    uint32_t n_patterns, n_dependents;
    DependentRule *dependents;
    const Node *additional, *property_names;
} ObjectRules;

/* Applicators to the same location of the instance. */
typedef struct InPlaceRules {
    const Node *ref;
    const Node *dynamic_ref;              /* its initial target */
    Str dynamic_anchor;                   /* if set, search the dynamic scope for it */
    NodeList all_of, any_of, one_of;
    const Node *not_, *if_, *then_, *else_;
} InPlaceRules;

typedef struct ValueRules {               /* enum and const */
    const Value *options;                 /* or NULL: no enum */
    uint32_t n;
    Names strings;                        /* the options that are strings */
    bool only_strings;
    Value constant;                       /* GONE: no const */
} ValueRules;

struct Node {
    uint8_t types;                        /* TYPE_ bits */
    uint8_t needs;                        /* TYPE_ bits whose values need more checks than the type */
    bool never : 1;                       /* the schema `false` */
    bool tracks : 1;                      /* has unevaluatedItems or unevaluatedProperties */
    bool listed : 1;                      /* located by `index`, not by `name` */
    uint32_t index;                       /* in the list that `keyword` holds, when `listed` */
    const Node *alias;                    /* the node has no rule but a $ref to this one of the same resource; or NULL */
    const ValueRules *values;
    const InPlaceRules *in_place;
    const NumberRules *numbers;
    const StringRules *strings;
    const ArrayRules *arrays;
    const ObjectRules *objects;
    const Node *unevaluated_items, *unevaluated_properties;
    const Resource *resource;

    /* Location: under `keyword` of `up`, and there under `name` or `index`. */
    const Node *up;
    const char *keyword;                  /* NULL: a root, or `name` is the full pointer from the resource's root */
    Str name;
};

/* A schema with a URI of its own: the root of a document, or a subschema with $id. */
struct Resource {
    Str uri;
    Value root;
    Node *node;
    const Resource *document;             /* the root resource of the same document */
    Table anchors, dynamic_anchors;       /* name to Node */
    unsigned vocabularies;                /* VOCAB_ bits */
    int draft;                            /* 2020, 2019, 7 or 6 */
    bool foreign;                         /* root of a document other than the schema's own */
};

struct Schema {
    Arena *arena, own;                    /* see SchemaInput */
    Heap *heap;                           /* built-in documents that were requested; or NULL */
    VEC(Regex *) regexes;
    VEC(Resource *) resources;
    const Node *root;
    bool dynamic;                         /* has a $dynamicRef: track scopes */
    size_t max_steps;
};

/* Appends the location of a node: "/properties/x" in the schema's own document, "http://host/a.json#/items"
 * in another; then "/keyword" if that is not NULL. */
void node_where(const Node *n, const char *keyword, Buf *out);
