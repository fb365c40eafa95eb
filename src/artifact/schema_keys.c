/* Keywords of JSON Schemas. JSON Schema ignores unknown keywords; here a misspelled one would be a restriction without effect. Inside parameters
 * every unknown keyword is an error; whole schemas, which other programs may have written, may have keywords of their own. */
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

typedef struct Check { Loader *l; const LoaderPlace *at; bool own; } Check;        /* own: other keywords than ours may be there */

/* Keywords that describe, and short words that resemble others: "example" and "id" of other dialects, and "note", are no slips of them. */
static bool is_quiet(Str keyword) {
    static const Str quiet[] = { STR("contentEncoding"), STR("contentMediaType"), STR("default"), STR("definitions"), STR("deprecated"), STR("description"),
                                 STR("else"), STR("examples"), STR("if"), STR("not"), STR("readOnly"), STR("then"), STR("title"), STR("writeOnly") };
    return keyword.at[0] == '$' || str_among(keyword, quiet, sizeof quiet / sizeof *quiet);
}

static bool resembles_keyword(Str key) {
    for (size_t i = 0; i < KEYWORDS; i++) {
        Str known = str_from(keywords[i].name);
        if (!is_quiet(known) && (field_same(key, known) || str_within(key, known, known.n > 5 ? 2 : 1))) return true;
    }
    return false;
}

static bool refuse(const Check *c, Value map, Str key, const char *path) {
    Str known[KEYWORDS];
    if (c->own && !resembles_keyword(key)) return true;
    Loader *l = c->l;
    const LoaderPlace *at = c->at;
    for (size_t i = 0; i < KEYWORDS; i++) known[i] = str_from(keywords[i].name);
    document_report(&l->docs, at->document, PROBLEM_ERROR, document_place(at->document, map, key), field_hint(l->docs.arena, key, known, KEYWORDS),
                    "%s: unknown keyword \"" STR_FMT "\"", path, STR_ARG(key));
    return false;
}

static bool check(const Check *c, Value schema, const char *path, int depth);

static bool check_named(const Check *c, Value map, const char *path, int depth) {
    bool ok = true;
    Entry *e;
    for (uint32_t i = 0; value_is_dict(map) && dict_next(value_dict(map), &i, &e);)
        if (value_is_string(e->key)) ok = check(c, e->value, arena_fmt(c->l->docs.arena, "%s." STR_FMT, path, STR_ARG(value_str(e->key))), depth + 1) && ok;
    return ok;
}

static bool check_each(const Check *c, Value v, const char *path, int depth) {
    bool ok = true;
    if (!value_is_list(v)) return check(c, v, path, depth + 1);
    for (uint32_t i = 0; i < value_list(v)->n; i++) ok = check(c, value_list(v)->at[i], arena_fmt(c->l->docs.arena, "%s[%u]", path, i), depth + 1) && ok;
    return ok;
}

static bool check(const Check *c, Value schema, const char *path, int depth) {
    bool ok = true;
    Entry *e;
    if (depth > KEYS_DEPTH_MAX) return true;               /* the compiler of schemas refuses it */
    for (uint32_t i = 0; value_is_dict(schema) && dict_next(value_dict(schema), &i, &e);) {
        Str key = value_is_string(e->key) ? value_str(e->key) : STR("");
        Holds holds;
        if (str_starts(key, STR("x-"))) continue;
        if (!find(key, &holds)) {
            ok = refuse(c, schema, key, path) && ok;
            continue;
        }
        const char *inner = holds ? arena_fmt(c->l->docs.arena, "%s." STR_FMT, path, STR_ARG(key)) : NULL;
        if (holds == HOLDS_NAMED) ok = check_named(c, e->value, inner, depth) && ok;
        else if (holds == HOLDS_SCHEMAS) ok = check_each(c, e->value, inner, depth) && ok;
    }
    return ok;
}

bool loader_schema_keys(Loader *l, const LoaderPlace *at, Value items, Value properties) {
    const Check c = { .l = l, .at = at };
    bool ok = value_is_gone(items) || check_each(&c, items, arena_fmt(l->docs.arena, "%s.items", at->path), 0);
    return (value_is_gone(properties) || check_named(&c, properties, arena_fmt(l->docs.arena, "%s.properties", at->path), 0)) && ok;
}

bool loader_schema_slips(Loader *l, const LoaderPlace *at, const char *key, Value schema) {
    FieldInput in = loader_input(l, at);
    return check(&(Check){ .l = l, .at = at, .own = true }, schema, field_path(&in, key), 0);
}
