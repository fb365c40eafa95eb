#include "tool/builtin.h"
#include "artifact/builtin_names.h"
#include "tool/state.h"
#include "value/json.h"

static const BuiltinDef *const tables[] = { builtin_services };

static bool wanted(const BuiltinDef *d, bool all, const StrList *names) {
    if (d->service || all) return true;
    for (size_t i = 0; i < names->n; i++)
        if (str_eq(names->at[i], str_from(d->name))) return true;
    return false;
}

static bool compile(Runtime *rt, const char *text, Value *root, Schema **out, Error *err) {
    if (!json_read(rt->heap, str_from(text), &(JsonRead){ .reject_duplicates = true }, root, err)) return false;
    value_freeze(*root);
    if (!schema_compile(&(SchemaInput){ .root = *root }, out, err)) return false;
    VEC_PUSH(&rt->schemas, *out);
    return true;
}

static bool register_one(Runtime *rt, const BuiltinDef *d, Error *err) {
    ToolEntry e = { .safety = d->safety, .execute = d->execute, .inspect = d->inspect, .service = d->service };
    e.def = (ToolDef){ .name = str_from(d->name), .title = str_from(d->title), .description = str_from(d->description), .kind = TOOL_BUILTIN,
                       .origin = { .source = SOURCE_BUILTIN }, .output_schema = VALUE_GONE, .timeout_ms = d->timeout_ms, .safety = VALUE_GONE,
                       .retry = VALUE_GONE, .environment = VALUE_GONE };
    bool ok = compile(rt, d->parameters, &e.def.parameters, &e.def.schema, err) &&
              (!d->output || compile(rt, d->output, &e.def.output_schema, &e.def.output, err)) && registry_add(rt->registry, &e, err);
    return ok || error_wrap(err, "built-in tool %s", d->name);
}

bool tool_builtins_register(Runtime *rt, bool all, const StrList *names, Error *err) {
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const BuiltinDef *d = tables[t]; d->name; d++)
            if (wanted(d, all, names) && !register_one(rt, d, err)) return false;
    return true;
}
