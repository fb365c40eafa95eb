/* Sub-agents: .harness/agents/NAME.md, and inline in harness.md and bundles. */
#include "artifact/load.h"
#include "value/list.h"

typedef struct Agent {
    Str description, model, effort, system_prompt;
    Value tools, hooks, output_schema;
    int64_t max_iterations;
    StrList blocked_tools, mcp;
    bool verify;
} Agent;

#define AT(member) offsetof(Agent, member)
static const Field fields[] = {
    { KEY(agent, description), .type = FIELD_STRING, .offset = AT(description), .flags = FIELD_DESCRIPTIVE },
    { KEY(agent, model), .type = FIELD_STRING, .offset = AT(model), .flags = FIELD_DESCRIPTIVE },
    { KEY(agent, effort), .type = FIELD_STRING, .offset = AT(effort), .flags = FIELD_DESCRIPTIVE },
    { KEY(agent, output_schema), .type = FIELD_MAP, .offset = AT(output_schema), .flags = FIELD_NOT_NULL },
    { KEY(agent, tools), .type = FIELD_LIST, .offset = AT(tools), .flags = FIELD_NOT_NULL },
    { KEY(agent, hooks), .type = FIELD_LIST, .offset = AT(hooks), .flags = FIELD_NOT_NULL },
    { KEY(agent, max_iterations), .type = FIELD_INT, .offset = AT(max_iterations), .flags = FIELD_NOT_NULL },
    { KEY(agent, blocked_tools), .type = FIELD_STRINGS, .offset = AT(blocked_tools), .flags = FIELD_NOT_NULL },
    { KEY(agent, mcp), .type = FIELD_STRINGS, .offset = AT(mcp), .flags = FIELD_NOT_NULL },
    { KEY(config, mcp_servers), .flags = FIELD_UNKNOWN | FIELD_REFUSED, .hint = "did you mean \"mcp\"?" },
    { KEY(config, mcpServers), .flags = FIELD_UNKNOWN | FIELD_REFUSED, .hint = "did you mean \"mcp\"?" },
    { KEY(agent, verify), .type = FIELD_BOOL, .offset = AT(verify), .flags = FIELD_NOT_NULL },
    { KEY(agent, name), .flags = FIELD_IGNORED | FIELD_DESCRIPTIVE },
    { KEY(agent, system_prompt), .type = FIELD_STRING, .offset = AT(system_prompt), .flags = FIELD_DESCRIPTIVE },
};
enum { FIELDS = sizeof fields / sizeof *fields };
static const Field file_name = { KEY(agent, name), .flags = FIELD_UNKNOWN, .hint = "the file's name is the agent's name" };
static const Field file_prompt = { KEY(agent, system_prompt), .flags = FIELD_UNKNOWN, .hint = "the text below the frontmatter is the system prompt" };

static void refer(Loader *l, const LoaderPlace *at, LoaderReferenceKind kind, Str agent, Str name, Place place) {
    VEC_PUSH(&l->references, (LoaderReference){ kind, agent, name, at->origin.file, place });
}

/* Returns the names in `list`. An entry is a name, or an inline definition that only this agent can use. */
static StrList read_list(Loader *l, const LoaderPlace *at, DefinitionKind kind, Value list, Str agent) {
    StrList names = { 0 };
    if (!value_is_list(list)) return names;
    bool tools = kind == DEFINITION_TOOL;
    names.at = ARENA_ARRAY(l->docs.arena, Str, value_list(list)->n ? value_list(list)->n : 1);
    for (uint32_t i = 0; i < value_list(list)->n; i++) {
        Value v = value_list(list)->at[i];
        LoaderPlace item = loader_item_place(l, at, project_definition(kind)->list, list, i);
        item.agent = agent;
        item.overriding = false;
        item.origin.source = SOURCE_AGENT;
        if (value_is_string(v)) {
            names.at[names.n++] = value_str(v);
            refer(l, at, tools ? REFERENCE_TOOL : REFERENCE_HOOK, agent, value_str(v), (Place){ item.origin.line, item.origin.column });
        } else if (!value_is_dict(v)) {
            loader_error(l, &item, NULL, "%s: expected string or map, got %s", item.path, field_type_name(v));
        } else {
            size_t before = tools ? l->tools.n : l->hooks.n;
            if (tools) load_tool(l, &item);
            else load_hook(l, &item);
            if (tools ? l->tools.n > before : l->hooks.n > before)
                names.at[names.n++] = tools ? VEC_LAST(&l->tools).name : VEC_LAST(&l->hooks).name;
        }
    }
    return names;
}

static void refer_servers(Loader *l, const LoaderPlace *at, const AgentDef *a) {
    Value *list = dict_find_str(value_dict(at->map), STR("mcp"));
    for (size_t i = 0; i < a->mcp.n; i++)
        refer(l, at, REFERENCE_SERVER, a->name, a->mcp.at[i], document_item_place(at->document, *list, i));
}

void load_agent(Loader *l, const LoaderPlace *at) {
    Problems before = *l->docs.problems;
    size_t tools = l->tools.n, hooks = l->hooks.n, references = l->references.n, guards = l->guard_errors;
    Agent in = { .max_iterations = INT64_MAX, .tools = VALUE_GONE, .hooks = VALUE_GONE, .output_schema = VALUE_GONE };
    AgentDef a = { .origin = at->origin, .overriding = at->overriding };
    Field all[FIELDS];
    memcpy(all, fields, sizeof fields);
    if (!at->path[0]) {
        all[FIELDS - 2] = file_name;
        all[FIELDS - 1] = file_prompt;
    }
    loader_read_open(l, at, UNKNOWN_KEYS_GUARD, all, FIELDS, &in);
    if (value_is_dict(at->map) && loader_name(l, at, "agent", "agents", &a.name)) {
        FieldInput given = loader_input(l, at);
        a.description = in.description;
        a.model = in.model;
        a.effort = in.effort;
        loader_choice(l, at, "effort", a.effort, loader_efforts);
        a.output_schema = in.output_schema;
        if (!value_is_gone(in.output_schema)) {
            (void)loader_schema_slips(l, at, "output_schema", in.output_schema);           /* reported, which stops the load */
            a.output = loader_schema(l, at, "output_schema", in.output_schema);
        }
        a.prompt = at->path[0] ? in.system_prompt : arena_str(l->docs.arena, at->document->body);
        a.blocked_tools = in.blocked_tools;
        a.mcp = in.mcp;
        a.verify = in.verify;
        a.can_spawn = true;
        a.has_tools = field_given(&given, "tools");
        a.has_mcp = field_given(&given, "mcp");
        a.max_iterations = in.max_iterations == INT64_MAX ? 0 : in.max_iterations;       /* 0: none of its own */
        if (in.max_iterations < 1) loader_error(l, at, "max_iterations", "agent \"" STR_FMT "\" max_iterations must be >= 1", STR_ARG(a.name));
        refer_servers(l, at, &a);
        loader_rules(l, at, "blocked_tools", a.blocked_tools);
        a.tools = read_list(l, at, DEFINITION_TOOL, in.tools, a.name);
        a.hooks = read_list(l, at, DEFINITION_HOOK, in.hooks, a.name);
    }
    if (at->overriding || l->guard_errors != guards || !loader_forgive(l, &before)) {   /* never skip a guard */
        if (a.name.n) VEC_PUSH(&l->agents, a);
        return;
    }
    l->tools.n = tools;              /* drop its private definitions too */
    l->hooks.n = hooks;
    l->references.n = references;
}
