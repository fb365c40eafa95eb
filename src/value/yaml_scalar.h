/* Types and values of YAML scalars: the 1.2 core schema. */
#pragma once
#include "value/heap.h"

/* `tag` is NULL or the full tag ("tag:yaml.org,2002:int"). Fails, without a prefix or place in the message, on
 * a tag that is not core or does not match the text, on .inf and .nan, and on a number that is too large. */
bool yaml_scalar_read(Heap *h, Str text, bool plain, const char *tag, Value *out, Error *err);

/* The part after "tag:yaml.org,2002:" of a core tag ("str", "map", …), else NULL. */
const char *yaml_scalar_core_tag(const char *tag);
#define YAML_SCALAR_TAGS "only the core tags are supported (!!str, !!int, !!float, !!bool, !!null, !!map, !!seq)"
