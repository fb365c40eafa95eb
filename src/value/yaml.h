/* YAML 1.2 core schema, parsed through libyaml's events into values. One document; maps, sequences,
 * scalars; aliases are expanded within limits. Rejects directives, tags beyond core, `<<`, keys
 * that are not scalars, .inf and .nan, duplicate keys, and a second document. Scalar keys are read
 * as text. Each alias becomes a separate copy. U+0085, U+2028 and U+2029 are plain characters, not
 * line breaks. Errors say "yaml: line N: …", N counted from first_line, and carry line and column;
 * the kind is ERR_LIMIT when a limit was exceeded, else ERR_PARSE. */
#pragma once
#include "value/dict.h"
#include "value/places.h"

enum { YAML_NODES_MAX = 100000, YAML_DEPTH_MAX = 100 };

typedef struct YamlRead {
    uint32_t first_line;            /* line number of the first line; 0 means 1 */
    unsigned max_nodes;             /* 0: YAML_NODES_MAX; counted after alias expansion */
    unsigned max_depth;             /* 0: YAML_DEPTH_MAX; at most 1000 */
    size_t max_bytes;               /* 0: 1 MiB */
    Places *places;
    Dict *names;                    /* in the same heap: interns keys if not NULL (string_intern) */
    bool expect_map;                /* empty text is {}; any other root fails with "yaml: line N: expected a map" */
} YamlRead;

bool yaml_read(Heap *h, Str text, const YamlRead *options, Value *out, Error *err);
