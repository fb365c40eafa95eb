/* Keywords of the JSON Schemas inside parameters. JSON Schema ignores unknown keywords; here a misspelled one would be a restriction without
 * effect. */
#include "artifact/loader.h"
#include "value/list.h"

enum { KEYS_DEPTH_MAX = 64 };

/* The value of a keyword: not a schema, a schema or a list of them, or a map of names to schemas. */
typedef enum { HOLDS_PLAIN, HOLDS_SCHEMAS, HOLDS_NAMED } Holds;

static const struct { const char *name; Holds holds; } keywords[] = {
    { "$anchor", 0 }, { "$comment", 0 }, { "$defs", HOLDS_NAMED }, { "$dynamicAnchor", 0 }, { "$dynamicRef", 0 }, { "$id", 0 }, { "$recursiveAnchor", 0 },
    { "$recursiveRef", 0 }, { "$ref", 0 }, { "$schema", 0 }, { "$vocabulary", 0 }, { "additionalItems", HOLDS_SCHEMAS },
        { "additionalProperties", HOLDS_SCHEMAS },
    { "allOf", HOLDS_SCHEMAS }, { "anyOf", HOLDS_SCHEMAS }, { "const", 0 }, { "contains", HOLDS_SCHEMAS }, { "contentEncoding", 0 }, { "contentMediaType", 0 },
    { "contentSchema", HOLDS_SCHEMAS }, { "default", 0 }, { "definitions", HOLDS_NAMED }, { "dependencies", 0 }, { "dependentRequired", 0 },
    { "dependentSchemas", HOLDS_NAMED }, { "deprecated", 0 }, { "description", 0 }, { "else", HOLDS_SCHEMAS }, { "enum", 0 }, { "examples", 0 },
    { "exclusiveMaximum", 0 }, { "exclusiveMinimum", 0 }, { "format", 0 }, { "if", HOLDS_SCHEMAS }, { "items", HOLDS_SCHEMAS },
        { "maxContains", 0 }, { "maxItems", 0 },
    { "maxLength", 0 }, { "maxProperties", 0 }, { "maximum", 0 }, { "minContains", 0 }, { "minItems", 0 }, { "minLength", 0 },
        { "minProperties", 0 }, { "minimum", 0 },
    { "multipleOf", 0 }, { "not", HOLDS_SCHEMAS }, { "oneOf", HOLDS_SCHEMAS }, { "pattern", 0 }, { "patternProperties", HOLDS_NAMED },
        { "prefixItems", HOLDS_SCHEMAS },
    { "properties", HOLDS_NAMED }, { "propertyNames", HOLDS_SCHEMAS }, { "readOnly", 0 }, { "required", 0 }, { "then", HOLDS_SCHEMAS },
        { "title", 0 }, { "type", 0 },
    { "unevaluatedItems", HOLDS_SCHEMAS }, { "unevaluatedProperties", HOLDS_SCHEMAS }, { "uniqueItems", 0 }, { "writeOnly", 0 },
};
enum { KEYWORDS = sizeof keywords / sizeof *keywords };

static bool find(Str key, Holds *holds) {
    for (size_t i = 0; i < KEYWORDS; i++)
        if (str_eq(key, str_from(keywords[i].name))) return *holds = keywords[i].holds, true;
    return false;
}

static bool refuse(Loader *l, const LoaderPlace *at, Value map, Str key, const char *path) {
    Str known[KEYWORDS];
    for (size_t i = 0; i < KEYWORDS; i++) known[i] = str_from(keywords[i].name);
    document_report(&l->docs, at->document, PROBLEM_ERROR, document_place(at->document, map, key), field_hint(l->docs.arena, key, known, KEYWORDS),
                    "%s: unknown keyword \"" STR_FMT "\"", path, STR_ARG(key));
    return false;
}

static bool check(Loader *l, const LoaderPlace *at, Value schema, const char *path, int depth);

static bool check_named(Loader *l, const LoaderPlace *at, Value map, const char *path, int depth) {
    bool ok = true;
    Entry *e;
    for (uint32_t i = 0; value_is_dict(map) && dict_next(value_dict(map), &i, &e);)
        if (value_is_string(e->key)) ok = check(l, at, e->value, arena_fmt(l->docs.arena, "%s." STR_FMT, path, STR_ARG(value_str(e->key))), depth + 1) && ok;
    return ok;
}

static bool check_each(Loader *l, const LoaderPlace *at, Value v, const char *path, int depth) {
    bool ok = true;
    if (!value_is_list(v)) return check(l, at, v, path, depth + 1);
    for (uint32_t i = 0; i < value_list(v)->n; i++) ok = check(l, at, value_list(v)->at[i], arena_fmt(l->docs.arena, "%s[%u]", path, i), depth + 1) && ok;
    return ok;
}

static bool check(Loader *l, const LoaderPlace *at, Value schema, const char *path, int depth) {
    bool ok = true;
    Entry *e;
    if (depth > KEYS_DEPTH_MAX) return true;               /* the compiler of schemas refuses it */
    for (uint32_t i = 0; value_is_dict(schema) && dict_next(value_dict(schema), &i, &e);) {
        Str key = value_is_string(e->key) ? value_str(e->key) : STR("");
        Holds holds;
        if (str_starts(key, STR("x-"))) continue;
        if (!find(key, &holds)) {
            ok = refuse(l, at, schema, key, path);
            continue;
        }
        const char *inner = arena_fmt(l->docs.arena, "%s." STR_FMT, path, STR_ARG(key));
        if (holds == HOLDS_NAMED) ok = check_named(l, at, e->value, inner, depth) && ok;
        else if (holds == HOLDS_SCHEMAS) ok = check_each(l, at, e->value, inner, depth) && ok;
    }
    return ok;
}

bool loader_schema_keys(Loader *l, const LoaderPlace *at, Value items, Value properties) {
    bool ok = check_each(l, at, items, arena_fmt(l->docs.arena, "%s.items", at->path), 0);
    return check_named(l, at, properties, arena_fmt(l->docs.arena, "%s.properties", at->path), 0) && ok;
}
