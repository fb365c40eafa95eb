/* The Starlark tool: .harness/tools/NAME.md, and inline in harness.md, bundles and agents. */
#include "artifact/load.h"

typedef struct Tool { Str script, description; int64_t timeout_ms; Value async; } Tool;

#define ABSENT INT64_MIN
#define AT(member) offsetof(Tool, member)
static const Field fields[] = {
    LOADER_GOVERNANCE_FIELDS,
    { KEY(tool, parameters), .flags = FIELD_IGNORED },
    { KEY(tool, script), .type = FIELD_STRING, .offset = AT(script) },
    { KEY(tool, timeout_ms), .type = FIELD_INT, .offset = AT(timeout_ms) },
    { KEY(tool, async), .type = FIELD_ANY, .offset = AT(async) },
};
enum { COMMON = sizeof fields / sizeof *fields };

/* In a file, the name and the description are not in the frontmatter. */
static const Field file_only[] = {
    { KEY(tool, name), .flags = FIELD_UNKNOWN, .hint = "the file's name is the tool's name" },
    { KEY(tool, description), .flags = FIELD_UNKNOWN, .hint = "the text below the frontmatter is the description" },
};
static const Field inline_only[] = {
    { KEY(tool, name), .flags = FIELD_IGNORED },
    { KEY(tool, description), .type = FIELD_STRING, .offset = AT(description) },
};

static bool read_fields(Loader *l, const LoaderPlace *at, Tool *out) {
    Field all[COMMON + 2];
    memcpy(all, fields, sizeof fields);
    memcpy(all + COMMON, at->path[0] ? inline_only : file_only, sizeof file_only);
    return loader_read_open(l, at, UNKNOWN_KEYS_GUARD, all, COMMON + 2, out);
}

static Str description(Loader *l, const LoaderPlace *at, const Tool *t, Str name) {
    Str text = str_trim(at->path[0] ? t->description : at->document->body);
    return text.n ? arena_str(l->docs.arena, text) : name;
}

static bool load_script(Loader *l, const LoaderPlace *at, const Tool *in, ToolDef *t) {
    if (in->script.n == 0) {
        Value *given = dict_find_str(value_dict(at->map), STR("script"));
        bool absent = !given || value_is_none(*given) || value_is_string(*given);        /* otherwise its type was reported */
        if (absent && t->name.n) loader_warn(l, at, "script", NULL, "tool \"" STR_FMT "\" has no script: calls fail until a program registers it", STR_ARG(t->name));
        return true;
    }
    char *what = arena_fmt(l->docs.arena, "tool \"" STR_FMT "\"", STR_ARG(t->name));
    t->script = loader_script(l, at, "script", what, l->predeclared);
    return t->script && loader_function(l, at, "script", t->script, what, "run(args)", 1);
}

/* true: runs in the background if the caller supports it; required: only for such callers. */
static void load_async(Loader *l, const LoaderPlace *at, Value v, ToolDef *t) {
    if (value_is_gone(v)) return;
    t->async_required = value_is_string(v) && str_eq(value_str(v), STR("required"));
    t->async = t->async_required || (value_is_bool(v) && value_bool(v));
    if (!t->async_required && !value_is_bool(v)) loader_error(l, at, "async", "async: expected bool or \"required\", got %s", field_type_name(v));
}

void load_tool(Loader *l, const LoaderPlace *at) {
    Problems before = *l->docs.problems;
    Tool in = { .timeout_ms = ABSENT, .async = VALUE_GONE };
    ToolDef t = { .kind = TOOL_STARLARK, .origin = at->origin, .agent = at->agent, .bundle = at->bundle, .overriding = at->overriding,
                  .environment = VALUE_GONE, .parameters = VALUE_GONE };
    bool ok = read_fields(l, at, &in);
    if (value_is_dict(at->map)) {
        ok = loader_name(l, at, "tool", "tools", &t.name) && ok;
        if (in.timeout_ms < 0 && in.timeout_ms != ABSENT) {
            loader_error(l, at, "timeout_ms", "tool \"" STR_FMT "\" timeout_ms must be >= 0", STR_ARG(t.name));
            ok = false;
        }
        ok = loader_governance(l, at, &t) && ok;
        t.parameters = loader_parameters(l, at, "parameters", false);
        t.schema = value_is_gone(t.parameters) ? NULL : loader_schema(l, at, "parameters", t.parameters);
        ok = t.schema && loader_hidden(l, at, &t) && ok;
        ok = load_script(l, at, &in, &t) && ok;
    }
    t.timeout_ms = in.timeout_ms == ABSENT ? -1 : in.timeout_ms;
    load_async(l, at, in.async, &t);
    t.description = description(l, at, &in, t.name);
    bool forgiven = !ok && !at->overriding && loader_forgive(l, &before);   /* an override may be stricter than its base */
    if (t.name.n && !forgiven) VEC_PUSH(&l->tools, t);   /* even if it is invalid, so that references to it are not reported */
}
