/* One function for each keyword, and the table that lists them. */
#include "schema/builder.h"

#include <math.h>
#include <stdlib.h>
#include "schema/format.h"
#include "value/int.h"
#include "value/list.h"

/* State while reading one schema object. Rules are allocated when first needed. */
typedef struct Reading {
    Builder *c;
    Node *n;
    Resource *r;
    const Dict *d;
    const char *keyword;                 /* current keyword */
    ValueRules *values;
    InPlaceRules *in_place;
    NumberRules *numbers;
    StringRules *strings;
    ArrayRules *arrays;
    ObjectRules *objects;
    const Dict *properties;
    const List *required;
} Reading;

typedef bool Reader(Reading *b, Value v);

static Arena *arena_of(const Reading *b) { return b->c->s->arena; }

static InPlaceRules *in_place(Reading *b) {
    if (!b->in_place) b->in_place = ARENA_NEW(arena_of(b), InPlaceRules);
    return b->in_place;
}

static ValueRules *values(Reading *b) {
    if (!b->values) b->values = ARENA_NEW(arena_of(b), ValueRules);
    return b->values;
}

static NumberRules *numbers(Reading *b) {
    if (!b->numbers) b->numbers = ARENA_NEW(arena_of(b), NumberRules);
    return b->numbers;
}

static StringRules *strings(Reading *b) {
    if (b->strings) return b->strings;
    b->strings = ARENA_NEW(arena_of(b), StringRules);
    b->strings->max_length = SIZE_MAX;
    return b->strings;
}

static ArrayRules *arrays(Reading *b) {
    if (b->arrays) return b->arrays;
    b->arrays = ARENA_NEW(arena_of(b), ArrayRules);
    *b->arrays = (ArrayRules){ .max_items = SIZE_MAX, .min_contains = 1, .max_contains = SIZE_MAX };
    return b->arrays;
}

static ObjectRules *objects(Reading *b) {
    if (b->objects) return b->objects;
    b->objects = ARENA_NEW(arena_of(b), ObjectRules);
    b->objects->max_properties = SIZE_MAX;
    return b->objects;
}

/* ---- types of keyword values ---- */

#define BAD(b, ...) builder_fail((b)->c, (b)->n, (b)->keyword, __VA_ARGS__)

static bool want_list(Reading *b, Value v, bool empty_ok) {
    if (!value_is_list(v)) return BAD(b, "must be an array, not %s", value_type_name(v));
    return empty_ok || value_list(v)->n || BAD(b, "must not be empty");
}

static bool want_object(Reading *b, Value v) {
    if (!value_is_dict(v)) return BAD(b, "must be an object, not %s", value_type_name(v));
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(v), &i, &e);)
        if (!value_is_string(e->key)) return BAD(b, "has a name that is not a string");
    return true;
}

static bool want_string(Reading *b, Value v) {
    return value_is_string(v) || BAD(b, "must be a string, not %s", value_type_name(v));
}

static bool want_strings(Reading *b, Value v) {
    if (!want_list(b, v, true)) return false;
    const List *l = value_list(v);
    for (uint32_t i = 0; i < l->n; i++)
        if (!value_is_string(l->at[i])) return BAD(b, "item %u must be a string, not %s", i, value_type_name(l->at[i]));
    return true;
}

static bool want_number(Reading *b, Value v) {
    if (value_is_int(v) || (value_is_float(v) && isfinite(value_float(v)))) return true;
    return BAD(b, "must be a number, not %s", value_type_name(v));
}

static bool want_count(Reading *b, Value v, size_t *out) {
    if (!want_number(b, v)) return false;
    bool whole = value_is_int(v) || floor(value_float(v)) == value_float(v);
    bool negative = value_is_int(v) ? int_sign(v) < 0 : value_float(v) < 0;
    if (!whole || negative) return BAD(b, "must be a whole number, 0 or more");
    if (value_is_float(v)) *out = value_float(v) < 1e15 ? (size_t)value_float(v) : SIZE_MAX - 1;
    else *out = value_is_small(v) ? (size_t)value_small(v) : SIZE_MAX - 1;
    return true;
}

static bool child(Reading *b, Value v, Str name, const Node **out) {
    return builder_schema(b->c, v, (BuilderPlace){ .up = b->n, .keyword = b->keyword, .name = name }, b->r, out);
}

static bool one(Reading *b, Value v, const Node **out) { return child(b, v, (Str){ NULL, 0 }, out); }

static bool list_of_schemas(Reading *b, Value v, NodeList *out) {
    if (!want_list(b, v, false)) return false;
    const List *l = value_list(v);
    out->at = ARENA_ARRAY(arena_of(b), const Node *, l->n);
    for (uint32_t i = 0; i < l->n; i++) {
        BuilderPlace place = { .up = b->n, .keyword = b->keyword, .index = i, .listed = true };
        if (!builder_schema(b->c, l->at[i], place, b->r, &out->at[i])) return false;
    }
    return out->n = l->n, true;
}

static bool pattern(Reading *b, Str text, const SchemaPattern **out) {
    Error err = { 0 };
    Regex *regex = regex_new(text, REGEX_ECMA, &err);
    if (!regex) return BAD(b, "\"" STR_FMT "\": %s", STR_ARG(text), err.msg);
    VEC_PUSH(&b->c->s->regexes, regex);
    SchemaPattern *p = ARENA_NEW(arena_of(b), SchemaPattern);
    *p = (SchemaPattern){ regex, text };
    return *out = p, true;
}

/* ---- core ---- */

static bool read_ref(Reading *b, Value v) {
    return want_string(b, v) && builder_later(b->c, b->n, in_place(b), value_str(v), false);
}

static bool read_dynamic_ref(Reading *b, Value v) {
    return want_string(b, v) && builder_later(b->c, b->n, in_place(b), value_str(v), true);
}

static bool anchor_name(Reading *b, Value v) {
    if (!want_string(b, v)) return false;
    Str s = value_str(v);
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        bool first = (c | 32) >= 'a' && (c | 32) <= 'z';
        if (!first && c != '_' && (i == 0 || !((c >= '0' && c <= '9') || c == '-' || c == '.')))
            return BAD(b, "\"" STR_FMT "\" is not a name", STR_ARG(s));
    }
    return s.n || BAD(b, "must not be empty");
}

static bool read_anchor(Reading *b, Value v) { return anchor_name(b, v) && builder_anchor(b->c, b->n, b->r, value_str(v), false); }
static bool read_dynamic_anchor(Reading *b, Value v) {
    return anchor_name(b, v) && builder_anchor(b->c, b->n, b->r, value_str(v), true);
}

static bool read_definitions(Reading *b, Value v) {
    if (!want_object(b, v)) return false;
    Entry *e;
    const Node *unused;
    for (uint32_t i = 0; dict_next(value_dict(v), &i, &e);)
        if (!child(b, e->value, value_str(e->key), &unused)) return false;
    return true;
}

static bool read_subschema(Reading *b, Value v) {          /* an annotation that holds a schema */
    const Node *unused;
    return one(b, v, &unused);
}

/* ---- applicators ---- */

static bool read_all_of(Reading *b, Value v) { return list_of_schemas(b, v, &in_place(b)->all_of); }
static bool read_any_of(Reading *b, Value v) { return list_of_schemas(b, v, &in_place(b)->any_of); }
static bool read_one_of(Reading *b, Value v) { return list_of_schemas(b, v, &in_place(b)->one_of); }
static bool read_not(Reading *b, Value v) { return one(b, v, &in_place(b)->not_); }
static bool read_if(Reading *b, Value v) { return one(b, v, &in_place(b)->if_); }
static bool read_then(Reading *b, Value v) { return one(b, v, &in_place(b)->then_); }
static bool read_else(Reading *b, Value v) { return one(b, v, &in_place(b)->else_); }
static bool read_prefix_items(Reading *b, Value v) { return list_of_schemas(b, v, &arrays(b)->prefix); }
static bool read_contains(Reading *b, Value v) { return one(b, v, &arrays(b)->contains); }
static bool read_additional(Reading *b, Value v) { return one(b, v, &objects(b)->additional); }
static bool read_property_names(Reading *b, Value v) { return one(b, v, &objects(b)->property_names); }
static bool read_unevaluated_items(Reading *b, Value v) { return one(b, v, &b->n->unevaluated_items); }
static bool read_unevaluated_properties(Reading *b, Value v) { return one(b, v, &b->n->unevaluated_properties); }

static bool read_items(Reading *b, Value v) {
    if (value_is_list(v) && b->r->draft < 2020)
        return value_list(v)->n == 0 || list_of_schemas(b, v, &arrays(b)->prefix);
    return one(b, v, &arrays(b)->items);
}

static bool read_additional_items(Reading *b, Value v) {   /* applies only beside an array of items */
    const Value *items = dict_find_str(b->d, STR("items"));
    const Node *unused;
    return one(b, v, items && value_is_list(*items) ? &arrays(b)->items : &unused);
}

static bool read_properties(Reading *b, Value v) {
    if (!want_object(b, v)) return false;
    objects(b);
    b->properties = value_dict(v);
    return true;                                         /* handled later, when `required` is known too */
}

static bool read_pattern_properties(Reading *b, Value v) {
    if (!want_object(b, v)) return false;
    ObjectRules *o = objects(b);
    o->patterns = ARENA_ARRAY(arena_of(b), PatternRule, value_dict(v)->n);
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(v), &i, &e); o->n_patterns++) {
        PatternRule *rule = &o->patterns[o->n_patterns];
        if (!pattern(b, value_str(e->key), &rule->pattern) || !child(b, e->value, value_str(e->key), &rule->node)) return false;
    }
    return true;
}

static bool dependent_names(Reading *b, Value v, DependentRule *rule) {
    if (!want_strings(b, v)) return false;
    const List *l = value_list(v);
    rule->needs = ARENA_ARRAY(arena_of(b), Str, l->n);
    for (uint32_t i = 0; i < l->n; i++) rule->needs[i] = value_str(l->at[i]);
    return rule->n = l->n, true;
}

static bool dependents(Reading *b, Value v, bool old, bool names) {
    if (!want_object(b, v)) return false;
    ObjectRules *o = objects(b);
    DependentRule *all = ARENA_ARRAY(arena_of(b), DependentRule, (size_t)o->n_dependents + value_dict(v)->n);
    if (o->n_dependents) memcpy(all, o->dependents, o->n_dependents * sizeof *all);
    o->dependents = all;
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(v), &i, &e); o->n_dependents++) {
        DependentRule *rule = &all[o->n_dependents];
        rule->name = value_str(e->key);
        rule->old = old;
        if (names || (old && value_is_list(e->value))) {
            if (!dependent_names(b, e->value, rule)) return false;
        } else if (!child(b, e->value, rule->name, &rule->node)) return false;
    }
    return true;
}

static bool read_dependent_required(Reading *b, Value v) { return dependents(b, v, false, true); }
static bool read_dependent_schemas(Reading *b, Value v) { return dependents(b, v, false, false); }
static bool read_dependencies(Reading *b, Value v) { return dependents(b, v, true, false); }

/* ---- validation ---- */

static bool add_type(Reading *b, Value v, unsigned *bits) {
    static const struct { const char *name; unsigned bits; } types[] = {
        { "null", TYPE_NULL }, { "boolean", TYPE_BOOLEAN }, { "integer", TYPE_INTEGER }, { "number", TYPE_NUMBER },
        { "string", TYPE_STRING }, { "array", TYPE_ARRAY }, { "object", TYPE_OBJECT },
    };
    enum { N = sizeof types / sizeof *types };
    if (!value_is_string(v)) return BAD(b, "must be a string or an array of strings");
    for (size_t i = 0; i < N; i++)
        if (str_eq(value_str(v), str_from(types[i].name))) return *bits |= types[i].bits, true;
    Str names[N];
    for (size_t i = 0; i < N; i++) names[i] = str_from(types[i].name);
    Str near = str_nearest(value_str(v), names, N);
    BAD(b, "unknown type \"" STR_FMT "\"", STR_ARG(value_str(v)));
    return near.n ? error_hint(b->c->err, "did you mean \"" STR_FMT "\"?", STR_ARG(near)) : false;
}

static bool read_type(Reading *b, Value v) {
    unsigned bits = 0;
    if (!value_is_list(v)) {
        if (!add_type(b, v, &bits)) return false;
    } else {
        if (!want_list(b, v, false)) return false;
        const List *l = value_list(v);
        for (uint32_t i = 0; i < l->n; i++)
            if (!add_type(b, l->at[i], &bits)) return false;
    }
    return b->n->types = (uint8_t)bits, true;
}

static bool read_enum(Reading *b, Value v) {
    if (!want_list(b, v, true)) return false;
    const List *l = value_list(v);
    ValueRules *r = values(b);
    Str *names = ARENA_ARRAY(arena_of(b), Str, l->n);
    Table seen = { 0 };
    size_t n = 0, strings_found = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        if (!value_is_string(l->at[i])) continue;
        strings_found++;
        if (l->n > 1 && table_has(&seen, value_str(l->at[i]))) continue;
        if (l->n > 1) table_put(&seen, value_str(l->at[i]), r);
        names[n++] = value_str(l->at[i]);
    }
    table_clear(&seen);
    names_init(&r->strings, names, n, arena_of(b));
    r->only_strings = strings_found == l->n;
    r->n = l->n;
    r->options = l->n ? l->at : &b->n->resource->root;   /* an empty enum allows nothing */
    return true;
}

static bool read_const(Reading *b, Value v) { return values(b)->constant = v, true; }

static bool read_multiple_of(Reading *b, Value v) {
    if (!want_number(b, v)) return false;
    bool positive = value_is_int(v) ? int_sign(v) > 0 : value_float(v) > 0;
    return positive ? (numbers(b)->multiple_of = v, true) : BAD(b, "must be more than 0");
}

static bool read_maximum(Reading *b, Value v) { return want_number(b, v) && (numbers(b)->maximum = v, true); }
static bool read_minimum(Reading *b, Value v) { return want_number(b, v) && (numbers(b)->minimum = v, true); }
static bool read_below(Reading *b, Value v) { return want_number(b, v) && (numbers(b)->below = v, true); }
static bool read_above(Reading *b, Value v) { return want_number(b, v) && (numbers(b)->above = v, true); }
static bool read_max_length(Reading *b, Value v) { return want_count(b, v, &strings(b)->max_length); }
static bool read_min_length(Reading *b, Value v) { return want_count(b, v, &strings(b)->min_length); }
static bool read_max_items(Reading *b, Value v) { return want_count(b, v, &arrays(b)->max_items); }
static bool read_min_items(Reading *b, Value v) { return want_count(b, v, &arrays(b)->min_items); }
static bool read_max_contains(Reading *b, Value v) { return want_count(b, v, &arrays(b)->max_contains); }
static bool read_min_contains(Reading *b, Value v) { return want_count(b, v, &arrays(b)->min_contains); }
static bool read_max_properties(Reading *b, Value v) { return want_count(b, v, &objects(b)->max_properties); }
static bool read_min_properties(Reading *b, Value v) { return want_count(b, v, &objects(b)->min_properties); }

static bool read_pattern(Reading *b, Value v) { return want_string(b, v) && pattern(b, value_str(v), &strings(b)->pattern); }

static bool read_unique(Reading *b, Value v) {
    if (!value_is_bool(v)) return BAD(b, "must be a boolean, not %s", value_type_name(v));
    if (value_bool(v)) arrays(b)->unique = true;
    return true;
}

static bool read_required(Reading *b, Value v) {
    if (!want_strings(b, v)) return false;
    objects(b);
    return b->required = value_list(v), true;
}

static bool read_format(Reading *b, Value v) {
    if (!want_string(b, v)) return false;
    if (!b->c->in->assert_format && !(b->r->vocabularies & VOCAB_FORMAT_ASSERTION)) return true;
    const Format *format = format_find(value_str(v));
    if (format) strings(b)->format = format;
    return true;
}

static bool read_text(Reading *b, Value v) { return want_string(b, v); }

/* ---- keyword table ---- */

/* Sorted by name. A keyword applies when its vocabulary is enabled and the draft is in range. */
typedef struct { const char *name; Reader *read; unsigned vocabulary; int from, to; } Keyword;
enum { LAST = 9999, FORMATS = VOCAB_FORMAT | VOCAB_FORMAT_ASSERTION };
static const Keyword keywords[] = {
    { "$anchor", read_anchor, VOCAB_CORE, 2019, LAST },
    { "$comment", read_text, VOCAB_CORE, 0, LAST },
    { "$defs", read_definitions, VOCAB_CORE, 2019, LAST },
    { "$dynamicAnchor", read_dynamic_anchor, VOCAB_CORE, 2020, LAST },
    { "$dynamicRef", read_dynamic_ref, VOCAB_CORE, 2020, LAST },
    { "$recursiveRef", read_ref, VOCAB_CORE, 2019, 2019 },
    { "$ref", read_ref, VOCAB_CORE, 0, LAST },
    { "additionalItems", read_additional_items, VOCAB_APPLICATOR, 0, 2019 },
    { "additionalProperties", read_additional, VOCAB_APPLICATOR, 0, LAST },
    { "allOf", read_all_of, VOCAB_APPLICATOR, 0, LAST },
    { "anyOf", read_any_of, VOCAB_APPLICATOR, 0, LAST },
    { "const", read_const, VOCAB_VALIDATION, 0, LAST },
    { "contains", read_contains, VOCAB_APPLICATOR, 0, LAST },
    { "contentEncoding", read_text, VOCAB_CONTENT, 7, LAST },
    { "contentMediaType", read_text, VOCAB_CONTENT, 7, LAST },
    { "contentSchema", read_subschema, VOCAB_CONTENT, 2019, LAST },
    { "definitions", read_definitions, VOCAB_CORE, 0, 7 },
    { "dependencies", read_dependencies, VOCAB_APPLICATOR, 0, LAST },
    { "dependentRequired", read_dependent_required, VOCAB_VALIDATION, 2019, LAST },
    { "dependentSchemas", read_dependent_schemas, VOCAB_APPLICATOR, 2019, LAST },
    { "else", read_else, VOCAB_APPLICATOR, 7, LAST },
    { "enum", read_enum, VOCAB_VALIDATION, 0, LAST },
    { "exclusiveMaximum", read_below, VOCAB_VALIDATION, 0, LAST },
    { "exclusiveMinimum", read_above, VOCAB_VALIDATION, 0, LAST },
    { "format", read_format, FORMATS, 0, LAST },
    { "if", read_if, VOCAB_APPLICATOR, 7, LAST },
    { "items", read_items, VOCAB_APPLICATOR, 0, LAST },
    { "maxContains", read_max_contains, VOCAB_VALIDATION, 2019, LAST },
    { "maxItems", read_max_items, VOCAB_VALIDATION, 0, LAST },
    { "maxLength", read_max_length, VOCAB_VALIDATION, 0, LAST },
    { "maxProperties", read_max_properties, VOCAB_VALIDATION, 0, LAST },
    { "maximum", read_maximum, VOCAB_VALIDATION, 0, LAST },
    { "minContains", read_min_contains, VOCAB_VALIDATION, 2019, LAST },
    { "minItems", read_min_items, VOCAB_VALIDATION, 0, LAST },
    { "minLength", read_min_length, VOCAB_VALIDATION, 0, LAST },
    { "minProperties", read_min_properties, VOCAB_VALIDATION, 0, LAST },
    { "minimum", read_minimum, VOCAB_VALIDATION, 0, LAST },
    { "multipleOf", read_multiple_of, VOCAB_VALIDATION, 0, LAST },
    { "not", read_not, VOCAB_APPLICATOR, 0, LAST },
    { "oneOf", read_one_of, VOCAB_APPLICATOR, 0, LAST },
    { "pattern", read_pattern, VOCAB_VALIDATION, 0, LAST },
    { "patternProperties", read_pattern_properties, VOCAB_APPLICATOR, 0, LAST },
    { "prefixItems", read_prefix_items, VOCAB_APPLICATOR, 2020, LAST },
    { "properties", read_properties, VOCAB_APPLICATOR, 0, LAST },
    { "propertyNames", read_property_names, VOCAB_APPLICATOR, 0, LAST },
    { "required", read_required, VOCAB_VALIDATION, 0, LAST },
    { "then", read_then, VOCAB_APPLICATOR, 7, LAST },
    { "type", read_type, VOCAB_VALIDATION, 0, LAST },
    { "unevaluatedItems", read_unevaluated_items, VOCAB_UNEVALUATED, 2019, LAST },
    { "unevaluatedProperties", read_unevaluated_properties, VOCAB_UNEVALUATED, 2019, LAST },
    { "uniqueItems", read_unique, VOCAB_VALIDATION, 0, LAST },
};

static const Keyword *keyword_find(Str name) {
    size_t low = 0, high = sizeof keywords / sizeof *keywords;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = str_cmp(name, str_from(keywords[middle].name));
        if (order == 0) return &keywords[middle];
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return NULL;
}

/* ---- completing a node ---- */

static bool require(Table *extra, const Names *known, PropertyRule *rule, Str name, uint32_t *n) {
    ptrdiff_t i = names_find(known, name);
    if (i >= 0) return *n += !rule[i].required, rule[i].required = true;
    return !table_has(extra, name) && (table_put(extra, name, rule), true);
}

/* Builds one table for the names of `properties` and `required`. */
static bool finish_names(Reading *b) {
    ObjectRules *o = b->objects;
    uint32_t n = b->properties ? b->properties->n : 0, most = n + (b->required ? b->required->n : 0);
    Str *name = ARENA_ARRAY(arena_of(b), Str, most);
    o->rule = ARENA_ARRAY(arena_of(b), PropertyRule, most);
    Entry *e;
    b->keyword = "properties";
    for (uint32_t i = 0, k = 0; b->properties && dict_next(b->properties, &i, &e); k++) {
        name[k] = value_str(e->key);
        o->rule[k] = (PropertyRule){ .name = name[k], .listed = true };
        if (!child(b, e->value, name[k], &o->rule[k].node)) return false;
    }
    names_init(&o->names, name, n, arena_of(b));
    o->n_rules = n;
    Table extra = { 0 };
    for (uint32_t i = 0; b->required && i < b->required->n; i++)
        require(&extra, &o->names, o->rule, value_str(b->required->at[i]), &o->n_required);
    for (size_t i = 0; i < extra.n; i++) {
        name[o->n_rules] = extra.entry[i].key;
        o->rule[o->n_rules++] = (PropertyRule){ .name = extra.entry[i].key, .required = true };
        o->n_required++;
    }
    if (extra.n) names_init(&o->names, name, o->n_rules, arena_of(b));
    table_clear(&extra);
    return true;
}

static void finish(Reading *b) {
    Node *n = b->n;
    n->values = b->values;
    n->in_place = b->in_place;
    n->numbers = b->numbers;
    n->strings = b->strings;
    n->arrays = b->arrays;
    n->objects = b->objects;
    n->tracks = n->unevaluated_items || n->unevaluated_properties;
    unsigned needs = 0;
    if (b->values || b->in_place) needs |= TYPE_ALL;
    if (b->numbers) needs |= TYPE_NUMBER;
    if (b->strings) needs |= TYPE_STRING;
    if (b->arrays || n->unevaluated_items) needs |= TYPE_ARRAY;
    if (b->objects || n->unevaluated_properties) needs |= TYPE_OBJECT;
    n->needs = (uint8_t)needs;
}

static bool read_keyword(Reading *b, Str name, Value v) {
    const Keyword *k = keyword_find(name);
    if (!k || !(k->vocabulary & b->r->vocabularies) || b->r->draft < k->from || b->r->draft > k->to) return true;
    b->keyword = k->name;
    return k->read(b, v);
}

bool builder_keywords(Builder *c, Node *n, const Dict *d, Resource *r) {
    Reading b = { .c = c, .n = n, .r = r, .d = d };
    const Value *ref = r->draft <= 7 ? dict_find_str(d, STR("$ref")) : NULL;
    Entry *e;
    if (ref) {                                           /* older drafts ignore everything beside $ref except definitions */
        const Value *definitions = dict_find_str(d, STR("definitions"));
        if (!read_keyword(&b, STR("$ref"), *ref) || (definitions && !read_keyword(&b, STR("definitions"), *definitions)))
            return false;
    } else {
        for (uint32_t i = 0; dict_next(d, &i, &e);)
            if (value_is_string(e->key) && !read_keyword(&b, value_str(e->key), e->value)) return false;
    }
    if (b.objects && !finish_names(&b)) return false;
    finish(&b);
    return true;
}
