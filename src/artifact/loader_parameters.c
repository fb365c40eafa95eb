/* Converts the parameters of a tool, as authors write them, to the JSON Schema for the model. */
#include "artifact/loader.h"
#include "value/list.h"

typedef struct Param {
    Str name, type, description, pattern;
    bool required;
    Value choices, fallback, minimum, maximum, items, properties;
} Param;

#define AT(member) offsetof(Param, member)
static const Field param_fields[] = {
    { KEY(parameter, type), .type = FIELD_STRING, .offset = AT(type), .flags = FIELD_REQUIRED },
    { KEY(parameter, description), .type = FIELD_STRING, .offset = AT(description) },
    { KEY(parameter, required), .type = FIELD_BOOL, .offset = AT(required) },
    { KEY(parameter, enum), .type = FIELD_LIST, .offset = AT(choices) },
    { KEY(parameter, default), .type = FIELD_ANY, .offset = AT(fallback) },
    { KEY(parameter, pattern), .type = FIELD_STRING, .offset = AT(pattern) },
    { KEY(parameter, minimum), .type = FIELD_ANY, .offset = AT(minimum) },
    { KEY(parameter, maximum), .type = FIELD_ANY, .offset = AT(maximum) },
    { KEY(parameter, items), .type = FIELD_ANY, .offset = AT(items) },
    { KEY(parameter, properties), .type = FIELD_MAP, .offset = AT(properties) },
    { KEY(parameter, name), .type = FIELD_STRING, .offset = AT(name), .flags = FIELD_REQUIRED },   /* list form only */
};
enum { MAP_FIELDS = sizeof param_fields / sizeof *param_fields - 1 };

/* The type as written, and in JSON Schema. Spaces have no objects, because a command cannot take one. */
static const struct { Str written, meant; bool in_spaces; } types[] = {
    { { "string", 6 }, { "string", 6 }, true },    { { "number", 6 }, { "number", 6 }, true },
    { { "boolean", 7 }, { "boolean", 7 }, true },  { { "array", 5 }, { "array", 5 }, true },
    { { "integer", 7 }, { "integer", 7 }, true },  { { "int", 3 }, { "integer", 7 }, true },
    { { "bool", 4 }, { "boolean", 7 }, true },     { { "object", 6 }, { "object", 6 }, false },
};
enum { TYPES = sizeof types / sizeof *types };

typedef struct { Loader *l; const LoaderPlace *at; Dict *properties; List *required; bool list_form; } Building;

/* Names of types in other languages. */
static const struct { Str written; const char *hint; } foreign_types[] = {
    { { "str", 3 }, "did you mean \"string\"?" }, { { "text", 4 }, "did you mean \"string\"?" }, { { "float", 5 }, "did you mean \"number\"?" },
    { { "double", 6 }, "did you mean \"number\"?" }, { { "dict", 4 }, "did you mean \"object\"?" }, { { "map", 3 }, "did you mean \"object\"?" },
    { { "list", 4 }, "did you mean \"array\"?" },
};

static bool is_type(Str word) {
    for (size_t i = 0; i < TYPES; i++)
        if (str_eq(word, types[i].written)) return true;
    return false;
}

static Str type_hint(Building *b, Str written, const Str *known, size_t n) {
    for (size_t i = 0; i < sizeof foreign_types / sizeof *foreign_types; i++)
        if (str_eq(written, foreign_types[i].written)) return str_from(foreign_types[i].hint);
    return field_hint(b->l->docs.arena, written, known, n);
}

static Str meant_type(Building *b, const LoaderPlace *at, Str written) {
    Str known[TYPES];
    size_t n = 0;
    for (size_t i = 0; i < TYPES; i++) {
        if (b->list_form && !types[i].in_spaces) continue;
        if (str_eq(written, types[i].written)) return types[i].meant;
        known[n++] = types[i].written;
    }
    Document const *d = at->document;
    problems_add(b->l->docs.problems, PROBLEM_ERROR, d->file, document_place(d, at->map, STR("type")),
                 type_hint(b, written, known, n), "%s.type: unknown type \"" STR_FMT "\"", at->path, STR_ARG(written));
    return (Str){ 0 };
}

static bool put(Building *b, Dict *to, const char *key, Value v, Error *err) {
    return value_is_gone(v) || dict_put_str(b->l->docs.heap, to, str_from(key), v, err);
}

static bool put_text(Building *b, Dict *to, const char *key, Str text, Error *err) {
    if (text.at == NULL) return true;
    String *s = string_new(b->l->docs.heap, text, err);
    return s && put(b, to, key, value_from_object(s), err);
}

static Dict *property(Building *b, const Param *p, Str type, Error *err) {
    Dict *d = dict_new(b->l->docs.heap, 4, err);
    bool ok = d && put_text(b, d, "type", type, err) && put_text(b, d, "description", p->description, err)
        && put(b, d, "enum", p->choices, err) && put(b, d, "default", p->fallback, err) && put_text(b, d, "pattern", p->pattern, err)
        && put(b, d, "minimum", p->minimum, err) && put(b, d, "maximum", p->maximum, err) && put(b, d, "items", p->items, err)
        && put(b, d, "properties", p->properties, err);
    return ok ? d : NULL;
}

/* Parts copied into the schema must be valid, and a default must match its own parameter: otherwise every call without
 * the parameter would fail. */
static bool check_extras(Building *b, const LoaderPlace *at, Value schema, const Param *p) {
    bool plain = value_is_gone(p->fallback) && value_is_gone(p->items) && value_is_gone(p->properties) && value_is_gone(p->minimum)
        && value_is_gone(p->maximum) && p->pattern.at == NULL;
    Schema *s;
    Error err = { 0 };
    SchemaProblems found = { .limit = 1 };
    if (plain) return true;
    if (!loader_schema_keys(b->l, at, p->items, p->properties)) return false;
    if (!schema_compile(&(SchemaInput){ .root = schema }, &s, &err)) {
        loader_schema_error(b->l, at, at->path, at->map, (Place){ at->origin.line, at->origin.column }, &err);
        return false;
    }
    bool ok = value_is_gone(p->fallback) || schema_validate(s, p->fallback, &found);
    if (!ok) loader_error(b->l, at, "default", "%s.default: " STR_FMT, at->path, STR_ARG(found.at[0].message));
    schema_problems_clear(&found);
    schema_free(s);
    return ok;
}

static bool check_choices(Building *b, const LoaderPlace *at, Value choices) {
    if (!value_is_list(choices) || value_list(choices)->n) return true;
    loader_error(b->l, at, "enum", "%s.enum: needs at least one value", at->path);
    return false;
}

static bool out_of_memory(Building *b, const Error *err) {
    loader_error(b->l, b->at, NULL, "%s", err->msg);
    return false;
}

static bool add(Building *b, const LoaderPlace *at, Str name, const Param *p) {
    Error err = { 0 };
    Heap *h = b->l->docs.heap;
    Str type = meant_type(b, at, p->type);
    if (type.n == 0 || !check_choices(b, at, p->choices)) return false;
    Dict *d = property(b, p, type, &err);
    String *key = d ? string_new(h, name, &err) : NULL;
    if (!key || !dict_put(h, b->properties, value_from_object(key), value_from_object(d), &err)) return out_of_memory(b, &err);
    if (p->required && !list_push(h, b->required, value_from_object(key), &err)) return out_of_memory(b, &err);
    return check_extras(b, at, value_from_object(d), p);
}

static Param empty_param(void) {
    return (Param){ .choices = VALUE_GONE, .fallback = VALUE_GONE, .minimum = VALUE_GONE, .maximum = VALUE_GONE, .items = VALUE_GONE,
                    .properties = VALUE_GONE };
}

static bool add_from_map(Building *b, const char *key, Value map) {
    bool ok = true;
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(map), &i, &e);) {
        Param p = empty_param();
        Str name = value_str(e->key);
        LoaderPlace at = *b->at;
        Place place = document_place(at.document, map, name);
        at.map = e->value;
        at.path = arena_fmt(b->l->docs.arena, "%s%s%s." STR_FMT, b->at->path, b->at->path[0] ? "." : "", key, STR_ARG(name));
        at.origin.line = place.line;
        at.origin.column = place.column;
        if (!value_is_dict(e->value)) {
            Str type = value_is_string(e->value) && is_type(value_str(e->value)) ? value_str(e->value) : STR("string");
            Str hint = str_from(arena_fmt(b->l->docs.arena, "write " STR_FMT ": { type: " STR_FMT " }", STR_ARG(name), STR_ARG(type)));
            problems_add(b->l->docs.problems, PROBLEM_ERROR, at.origin.file, place, hint, "%s: expected map, got %s", at.path, field_type_name(e->value));
            ok = false;
            continue;
        }
        ok = loader_read(b->l, &at, param_fields, MAP_FIELDS, &p) && add(b, &at, name, &p) && ok;
    }
    return ok;
}

static bool add_from_list(Building *b, const char *key, Value list) {
    bool ok = true;
    for (uint32_t i = 0; i < value_list(list)->n; i++) {
        Param p = empty_param();
        LoaderPlace at = loader_item_place(b->l, b->at, key, list, i);
        if (!loader_read(b->l, &at, param_fields, MAP_FIELDS + 1, &p)) { ok = false; continue; }
        if (p.name.n == 0 || dict_find_str(b->properties, p.name)) {
            if (p.name.n) loader_error(b->l, &at, "name", "%s: duplicate name \"" STR_FMT "\"", at.path, STR_ARG(p.name));
            else loader_error(b->l, &at, "name", "%s.name cannot be empty", at.path);
            ok = false;
            continue;
        }
        ok = add(b, &at, p.name, &p) && ok;
    }
    return ok;
}

static bool wrong_shape(Building *b, const char *key, Value given) {
    FieldInput in = loader_input(b->l, b->at);
    const char *want = b->list_form ? "list" : "map", *got = field_type_name(given), *path = field_path(&in, key);
    const Document *d = b->at->document;
    if (b->at->path[0]) loader_error(b->l, b->at, key, "%s: expected %s, got %s", path, want, got);
    else loader_error(b->l, b->at, key, "parse " STR_FMT " " STR_FMT ".md: %s: expected %s, got %s", STR_ARG(d->kind), STR_ARG(d->name), path,
                      want, got);
    return false;
}

Value loader_parameters(Loader *l, const LoaderPlace *at, const char *key, bool list_form) {
    Error err = { 0 };
    Heap *h = l->docs.heap;
    Building b = { l, at, dict_new(h, 4, &err), NULL, list_form };
    Dict *schema = b.properties ? dict_new(h, 3, &err) : NULL;
    b.required = schema ? list_new(h, 0, &err) : NULL;
    if (!b.required || !put_text(&b, schema, "type", STR("object"), &err)
        || !put(&b, schema, "properties", value_from_object(b.properties), &err)
        || !put(&b, schema, "required", value_from_object(b.required), &err))
        return out_of_memory(&b, &err), VALUE_GONE;

    Value *given = dict_find_str(value_dict(at->map), str_from(key));
    bool ok = true;
    if (given && !value_is_none(*given)) {
        if (list_form ? !value_is_list(*given) : !value_is_dict(*given)) ok = wrong_shape(&b, key, *given);
        else ok = list_form ? add_from_list(&b, key, *given) : add_from_map(&b, key, *given);
    }
    return ok ? value_from_object(schema) : VALUE_GONE;
}
