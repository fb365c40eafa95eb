#include "artifact/load_program.h"
#include "artifact/space.h"

#define TIMEOUT_DEFAULT 60.0
#define TIMEOUT_MAX 1e9              /* seconds; thirty years */
#define COUNT(table) (sizeof(table) / sizeof *(table))

typedef struct SpaceTool { ToolDef def; Str command, tool; double timeout; bool mcp; } SpaceTool;

/* The required keys differ between a file, an entry of the manifest and a tool with `mcp: true`; the first
 * REQUIRED rows are adjusted for each. */
#define TOOL(member) offsetof(SpaceTool, def) + offsetof(ToolDef, member)
enum { ROW_ID, ROW_NAME, ROW_DESCRIPTION, ROW_COMMAND, ROW_SERVER };
static const Field fields_of_all[] = {
    [ROW_ID] = { KEY(space_tool, id), .type = FIELD_STRING, .offset = TOOL(name), .flags = FIELD_REQUIRED },
    [ROW_NAME] = { KEY(space_tool, name), .type = FIELD_STRING, .offset = TOOL(title), .flags = FIELD_REQUIRED },
    [ROW_DESCRIPTION] = { KEY(space_tool, description), .type = FIELD_STRING, .offset = TOOL(description), .flags = FIELD_REQUIRED },
    [ROW_COMMAND] = { KEY(space_tool, command), .type = FIELD_STRING, .offset = offsetof(SpaceTool, command), .flags = FIELD_REQUIRED },
    [ROW_SERVER] = { KEY(space_tool, server), .type = FIELD_STRING, .offset = TOOL(server), .flags = FIELD_REQUIRED },
    { KEY(space_tool, tool), .type = FIELD_STRING, .offset = TOOL(server_tool) },
    { KEY(space_tool, mcp), .type = FIELD_BOOL, .offset = offsetof(SpaceTool, mcp) },
    { KEY(space_tool, category), .type = FIELD_STRING, .offset = TOOL(category) },
    { KEY(space_tool, parameters), .type = FIELD_LIST, .flags = FIELD_IGNORED },
    { KEY(space_tool, timeout), .type = FIELD_NUMBER, .offset = offsetof(SpaceTool, timeout) },
    { KEY(space_tool, icon), .type = FIELD_STRING, .offset = TOOL(icon) },
    { KEY(space_tool, environment), .type = FIELD_MAP, .offset = TOOL(environment) },
    { KEY(space_tool, unsafe_raw), .type = FIELD_BOOL, .offset = TOOL(unsafe_raw) },
    LOADER_GOVERNANCE_FIELDS,
};

static bool is_true(Value map, const char *key) {
    Value *v = dict_find_str(value_dict(map), str_from(key));
    return v && value_is_bool(*v) && value_bool(*v);
}

static bool read_fields(Space *s, const LoaderPlace *at, bool from_file, SpaceTool *t) {
    Field fields[COUNT(fields_of_all)];
    bool mcp = is_true(at->map, "mcp");
    memcpy(fields, fields_of_all, sizeof fields);
    fields[ROW_DESCRIPTION].flags = from_file ? FIELD_REQUIRED : 0;
    fields[ROW_COMMAND].flags = mcp ? 0 : FIELD_REQUIRED;
    fields[ROW_SERVER].flags = mcp ? FIELD_REQUIRED : 0;
    return loader_read_open(s->l, at, UNKNOWN_KEYS_GUARD, fields, COUNT(fields), t);
}

/* ---- checks ---- */

static bool is_kebab(Str s) {
    for (size_t i = 0; i < s.n; i++) {
        bool letter = (s.at[i] >= 'a' && s.at[i] <= 'z') || (s.at[i] >= '0' && s.at[i] <= '9');
        bool dash = s.at[i] == '-' && i > 0 && i + 1 < s.n && s.at[i - 1] != '-';
        if (!letter && !dash) return false;
    }
    return s.n > 0 && s.n <= 64;
}

static bool check_id(Space *s, const LoaderPlace *at, Str id) {
    if (!id.at) return false;                        /* missing or of the wrong type: reported already */
    if (is_kebab(id)) return true;
    loader_error(s->l, at, "id", "tool \"" STR_FMT "\": id must be kebab-case ([a-z0-9-]{1,64})", STR_ARG(id));
    return false;
}

static bool check_timeout(Space *s, const LoaderPlace *at, const SpaceTool *t, int64_t *out) {
    if (t->timeout > 0 && t->timeout <= TIMEOUT_MAX) {
        *out = (int64_t)(t->timeout * 1000);
        if (*out == 0) *out = 1;                     /* 0 would mean no timeout */
        return true;
    }
    loader_error(s->l, at, "timeout", "tool \"" STR_FMT "\" timeout must be %s", STR_ARG(t->def.name),
                 t->timeout > 0 ? "<= 1000000000" : "> 0");
    return false;
}

/* "description", a blank line and the body; the title if there is none of them. */
static Str describe(Space *s, const LoaderPlace *at, const ToolDef *t, bool from_file) {
    Str body = from_file ? str_trim(at->document->body) : STR(""), text = str_trim(t->description);
    if (body.n == 0) return text.n ? text : t->title;
    return str_from(arena_fmt(s->l->docs.arena, STR_FMT "%s" STR_FMT, STR_ARG(text), text.n ? "\n\n" : "", STR_ARG(body)));
}

static Value get(Value map, const char *key) {
    Value *v = value_is_dict(map) ? dict_find_str(value_dict(map), str_from(key)) : NULL;
    return v ? *v : VALUE_GONE;
}

/* ---- completion ---- */

static bool finish(Space *s, const LoaderPlace *at, SpaceTool *t) {
    t->def.kind = t->mcp ? TOOL_MCP : TOOL_COMMAND;
    if (t->mcp && !t->def.server_tool.at) t->def.server_tool = t->def.name;
    t->def.parameters = loader_parameters(s->l, at, "parameters", true);
    if (value_is_gone(t->def.parameters)) return false;
    t->def.schema = loader_schema(s->l, at, "parameters", t->def.parameters);
    bool ok = t->def.schema != NULL;
    if (!t->mcp && t->command.at) ok = load_program_command(s->l, at, t->command, &t->def) && ok;
    return ok;
}

/* A file replaces the entry of the manifest with the same id. */
static bool is_shadowed(Space *s, const LoaderPlace *at, Str id, bool from_file) {
    if (!id.at) return false;
    if (from_file) {
        table_put(&s->ids, id, s);
        return false;
    }
    if (!table_has(&s->ids, id)) return false;
    loader_warn(s->l, at, "id", NULL, "tool \"" STR_FMT "\": the file in agent/tools wins over this entry", STR_ARG(id));
    return true;
}

void space_load_tool(Space *s, const LoaderPlace *given, bool from_file) {
    Problems before = *s->l->docs.problems;
    LoaderPlace at = *given;
    SpaceTool t = { .timeout = TIMEOUT_DEFAULT, .def = { .origin = at.origin, .environment = VALUE_GONE, .parameters = VALUE_GONE, .folder = s->folder } };
    Value id = get(at.map, "id");
    if (value_is_string(id) && is_shadowed(s, &at, value_str(id), from_file)) return;
    bool ok = read_fields(s, &at, from_file, &t);
    at.name = t.def.name;
    ok = check_id(s, &at, t.def.name) && ok;
    ok = check_timeout(s, &at, &t, &t.def.timeout_ms) && ok;
    ok = loader_env(s->l, &at, "environment", t.def.environment, false) && ok;
    ok = loader_governance(s->l, &at, &t.def) && ok;
    ok = finish(s, &at, &t) && ok;
    ok = loader_hidden(s->l, &at, &t.def) && ok;
    ok = loader_kind(s->l, &at, &t.def) && ok;
    t.def.description = describe(s, &at, &t.def, from_file);
    /* A tool with `mcp: true` hides the tool of the server, which would be ungoverned without it. */
    bool face = !value_is_gone(get(at.map, "mcp")) || !value_is_gone(get(at.map, "server"));
    bool left_out = !ok && !face && loader_forgive(s->l, &before);
    if (!left_out && t.def.name.n) VEC_PUSH(&s->l->tools, t.def);
}
