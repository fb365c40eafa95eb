/* .harness/tools/NAME.md, and inline in harness.md, bundles and agents: a script, a command template or an argument vector. */
#include "artifact/load_program.h"

typedef struct Tool { Str script, command, description; StrList argv; int64_t timeout_ms; Value async, environment; bool unsafe_raw; } Tool;

#define ABSENT INT64_MIN
#define AT(member) offsetof(Tool, member)
static const Field fields[] = {
    LOADER_GOVERNANCE_FIELDS,
    { KEY(tool, parameters), .flags = FIELD_IGNORED },
    { KEY(tool, script), .type = FIELD_STRING, .offset = AT(script) },
    { KEY(tool, command), .type = FIELD_STRING, .offset = AT(command) },
    { KEY(tool, argv), .type = FIELD_STRINGS, .offset = AT(argv) },
    { KEY(tool, environment), .type = FIELD_MAP, .offset = AT(environment) },
    { KEY(tool, unsafe_raw), .type = FIELD_BOOL, .offset = AT(unsafe_raw) },
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

/* ---- what implements it ---- */

static bool given(const LoaderPlace *at, const char *key) {
    Value v = value_member(at->map, key);
    return !value_is_gone(v) && !value_is_none(v);
}

static bool load_script(Loader *l, const LoaderPlace *at, const Tool *in, ToolDef *t) {
    if (in->script.n == 0) {
        bool absent = !given(at, "script") || value_is_string(value_member(at->map, "script"));      /* otherwise its type was reported */
        if (absent && t->name.n)
            loader_warn(l, at, "script", NULL, "tool \"" STR_FMT "\" has no script: calls fail until a program registers it", STR_ARG(t->name));
        return true;
    }
    char *what = arena_fmt(l->docs.arena, "tool \"" STR_FMT "\"", STR_ARG(t->name));
    t->script = loader_script(l, at, "script", what, l->predeclared);
    return t->script && loader_function(l, at, "script", t->script, what, "run(args)", 1);
}

static bool load_argv(Loader *l, const LoaderPlace *at, Tool *in, ToolDef *t) {
    char *label = arena_fmt(l->docs.arena, "tool \"" STR_FMT "\"", STR_ARG(t->name));
    t->kind = TOOL_ARGV;
    t->folder = STR(".");
    if (!load_program_argv(l, at, "argv", label, &in->argv)) return false;
    t->argv = in->argv;
    t->argv_place = document_place(at->document, at->map, STR("argv"));
    load_program_protect(l, t->folder, t->argv.at[0]);
    return true;
}

static bool load_command(Loader *l, const LoaderPlace *at, const Tool *in, ToolDef *t) {
    t->kind = TOOL_COMMAND;
    t->environment = in->environment;
    t->unsafe_raw = in->unsafe_raw;
    bool ok = loader_env(l, at, "environment", t->environment, false);
    return in->command.at && !value_is_gone(t->parameters) && load_program_command(l, at, in->command, t) && ok;
}

/* A definition has one implementation; `environment` and `unsafe_raw` belong to a command. */
static bool load_implementation(Loader *l, const LoaderPlace *at, Tool *in, ToolDef *t) {
    static const char *const ways[] = { "script", "command", "argv" }, *const of_command[] = { "environment", "unsafe_raw" };
    const char *way = NULL;
    for (size_t i = 0; i < 3; i++) {
        if (!given(at, ways[i])) continue;
        if (way) return loader_error(l, at, ways[i], "tool \"" STR_FMT "\" has both %s and %s: give one", STR_ARG(t->name), way, ways[i]), false;
        way = ways[i];
    }
    bool command = way == ways[1], argv = way == ways[2], ok = true;
    for (size_t i = 0; !command && i < 2; i++) {
        if (!given(at, of_command[i])) continue;
        loader_error(l, at, of_command[i], "tool \"" STR_FMT "\": %s is only for tools with command:", STR_ARG(t->name), of_command[i]);
        ok = false;
    }
    if ((command || argv) && l->defining)
        return loader_error(l, at, way, "tool \"" STR_FMT "\": a tool that is registered while the project runs has a script, not %s",
            STR_ARG(t->name), way), false;
    return (command ? load_command(l, at, in, t) : argv ? load_argv(l, at, in, t) : load_script(l, at, in, t)) && ok;
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
    Tool in = { .timeout_ms = ABSENT, .async = VALUE_GONE, .environment = VALUE_GONE };
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
        ok = load_implementation(l, at, &in, &t) && ok;
        ok = loader_kind(l, at, &t) && ok;
    }
    t.timeout_ms = in.timeout_ms == ABSENT ? -1 : in.timeout_ms;
    load_async(l, at, in.async, &t);
    t.description = description(l, at, &in, t.name);
    bool forgiven = !ok && !at->overriding && loader_forgive(l, &before);   /* an override may be stricter than its base */
    if (t.name.n && !forgiven) VEC_PUSH(&l->tools, t);   /* even if it is invalid, so that references to it are not reported */
}
