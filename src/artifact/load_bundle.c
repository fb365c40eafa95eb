/* Bundles: several tools, hooks and agents in one file below plugins/, builtins/ or overrides/. */
#include "artifact/load.h"
#include "value/json.h"
#include "value/list.h"

typedef struct Parts { Str name, type, description, condition; Value version, tools, hooks, agents, rules; } Parts;

#define AT(member) offsetof(Parts, member)
static const Field fields[] = {
    { KEY(bundle, name), .type = FIELD_STRING, .offset = AT(name) },
    { KEY(bundle, type), .type = FIELD_STRING, .offset = AT(type) },
    { KEY(bundle, version), .type = FIELD_ANY, .offset = AT(version) },
    { KEY(bundle, description), .type = FIELD_STRING, .offset = AT(description) },
    { KEY(bundle, condition), .type = FIELD_STRING, .offset = AT(condition) },
    { KEY(bundle, tools), .type = FIELD_LIST, .offset = AT(tools) },
    { KEY(bundle, hooks), .type = FIELD_LIST, .offset = AT(hooks) },
    { KEY(bundle, agents), .type = FIELD_LIST, .offset = AT(agents) },
    { KEY(bundle, rules), .type = FIELD_LIST, .offset = AT(rules), .flags = FIELD_NOT_NULL },
};

/* YAML reads 1.2 as a number, but the author means text. */
static Str version_text(Loader *l, const LoaderPlace *at, Value v) {
    if (value_is_gone(v)) return (Str){ 0 };
    if (value_is_string(v)) return value_str(v);
    Buf text = { 0 };
    if (value_is_dict(v) || value_is_list(v) || value_is_bool(v) || !json_write(&text, v, NULL, NULL))
        loader_error(l, at, "version", "version: expected string, got %s", field_type_name(v));
    Str out = arena_str(l->docs.arena, buf_str(&text));
    buf_clear(&text);
    return out;
}

static void load_list(Loader *l, const LoaderPlace *at, const char *key, Value list, void load(Loader *, const LoaderPlace *)) {
    for (uint32_t i = 0; value_is_list(list) && i < value_list(list)->n; i++) {
        LoaderPlace item = loader_item_place(l, at, key, list, i);
        load(l, &item);
    }
}

void load_bundle(Loader *l, const Document *d, Str kind, SourceKind source) {
    static const Str params[] = { { "ctx", 3 } };
    Parts in = { .version = VALUE_GONE, .tools = VALUE_GONE, .hooks = VALUE_GONE, .agents = VALUE_GONE, .rules = VALUE_GONE };
    LoaderPlace at = loader_file_place(l, d, source);
    loader_read(l, &at, fields, sizeof fields / sizeof *fields, &in);
    Bundle *b = ARENA_NEW(l->docs.arena, Bundle);
    *b = (Bundle){ .name = in.name.n ? in.name : d->name, .type = in.type.n ? in.type : kind, .description = in.description,
                   .version = version_text(l, &at, in.version), .body = arena_str(l->docs.arena, d->body), .origin = at.origin };
    char *what = arena_fmt(l->docs.arena, "bundle \"" STR_FMT "\"", STR_ARG(b->name));
    if (in.condition.n) b->condition = loader_expression(l, &at, "condition", what, params, 1);
    VEC_PUSH(&l->bundles, b);
    at.bundle = b;
    at.overriding = str_eq(kind, STR("override"));
    at.origin.source = source == SOURCE_PROJECT ? SOURCE_BUNDLE : source;
    load_list(l, &at, "tools", in.tools, load_tool);
    load_list(l, &at, "hooks", in.hooks, load_hook);
    load_list(l, &at, "agents", in.agents, load_agent);
    loader_rule_rows(l, &at, in.rules);                  /* like hooks, rules apply whatever the bundle's condition is */
}
