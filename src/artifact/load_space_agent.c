#include "artifact/space.h"
#include "value/int.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const Field agent_fields[] = {
    { KEY(space_agent, id), .type = FIELD_STRING, .offset = offsetof(AgentDef, name), .flags = FIELD_REQUIRED },
    { KEY(space_agent, name), .type = FIELD_STRING, .offset = offsetof(AgentDef, title) },
    { KEY(space_agent, description), .type = FIELD_STRING, .offset = offsetof(AgentDef, description) },
    { KEY(space_agent, model), .type = FIELD_STRING, .offset = offsetof(AgentDef, model) },
    { KEY(space_agent, provider), .type = FIELD_STRING, .offset = offsetof(AgentDef, provider) },
    { KEY(space_agent, maxIterations), .type = FIELD_INT, .offset = offsetof(AgentDef, max_iterations), .flags = FIELD_NOT_NULL },
    { KEY(space_agent, blockedTools), .type = FIELD_STRINGS, .offset = offsetof(AgentDef, blocked_tools), .flags = FIELD_NOT_NULL },
    { KEY(space_agent, canInvokeAgents), .type = FIELD_STRINGS, .offset = offsetof(AgentDef, can_invoke), .flags = FIELD_NOT_NULL },
    { KEY(space_agent, canSpawn), .type = FIELD_BOOL, .offset = offsetof(AgentDef, can_spawn), .flags = FIELD_NOT_NULL },
    { KEY(space_agent, tools), .type = FIELD_STRINGS, .offset = offsetof(AgentDef, tools), .flags = FIELD_NOT_NULL },
};

static bool given(const FieldInput *in, const char *name) {
    Value *v = dict_find_str(value_dict(in->map), str_from(name));
    return v && !value_is_none(*v);
}

/* Checks the value itself: a 0 in `a` may only mean that it was not an int, which was reported already. */
static bool check_iterations(Space *s, const LoaderPlace *at, const AgentDef *a) {
    Value *v = dict_find_str(value_dict(at->map), STR("maxIterations"));
    if (!v || !value_is_int(*v) || int_sign(*v) > 0) return true;
    loader_error(s->l, at, "maxIterations", "agent \"" STR_FMT "\" maxIterations must be >= 1", STR_ARG(a->name));
    return false;
}

static void refer(Space *s, const LoaderPlace *at, LoaderReferenceKind kind, const char *key, Str agent, StrList names) {
    Value *list = dict_find_str(value_dict(at->map), str_from(key));
    for (size_t i = 0; i < names.n; i++)
        VEC_PUSH(&s->l->references, (LoaderReference){ kind, agent, names.at[i], at->origin.file, document_item_place(at->document, *list, i) });
}

/* ---- prompt ---- */

/* The paths that src/agent/prompt.c provides to the template of a prompt. */
static const char *const context_paths[] = {
    "context.project.name", "context.project.description", "context.space.name", "context.space.description", "context.agent.name",
    "context.agent.description", "context.user.name", "context.user.description", "context.tools[].name", "context.tools[].description",
    "context.tools[].parameters.*", NULL,
};

typedef struct PromptCheck { Space *s; const LoaderPlace *at; } PromptCheck;

static bool is_context_path(const char *path) {
    for (size_t i = 0; context_paths[i]; i++)
        if (strcmp(context_paths[i], path) == 0) return true;
    return false;
}

/* An unknown path renders as nothing, so the author would not notice it. */
static void report_path(void *ctx, Str path, uint32_t line, uint32_t column) {
    PromptCheck *c = ctx;
    Loader *l = c->s->l;
    const Document *d = c->at->document;
    Source source = { .file = d->file, .text = d->body, .first_line = d->body_line };
    SourcePlace place = source_place(&source, (Pos){ line, column });
    const char *whole = arena_fmt(l->docs.arena, "context." STR_FMT, STR_ARG(path));
    Str hint = is_context_path(whole) ? str_from(arena_fmt(l->docs.arena, "did you mean \"%s\"?", whole))
                                      : STR("known are context.project, space, agent and user, each with name and description, and the list context.tools");
    document_report(&l->docs, d, PROBLEM_WARNING, (Place){ place.line, place.column }, hint, "template: unknown path \"" STR_FMT "\"", STR_ARG(path));
}

static Template *load_prompt_template(Space *s, const LoaderPlace *at) {
    Template *t = loader_template(s->l, at, NULL, at->document->body);
    if (t) template_unknown_paths(t, context_paths, report_path, &(PromptCheck){ s, at });
    return t;
}

void space_load_agent(Space *s, const Document *d) {
    LoaderPlace at = loader_file_place(s->l, d, SOURCE_SPACE);
    AgentDef a = { .origin = at.origin, .from_space = true };
    FieldInput in = loader_input(s->l, &at);
    (void)field_read(&in, agent_fields, COUNT(agent_fields), &a);        /* errors were reported and stop the load */
    (void)check_iterations(s, &at, &a);
    if (a.name.at) (void)loader_name_ok(s->l, &at, "agent", a.name);
    a.prompt = arena_str(s->l->docs.arena, d->body);
    a.prompt_template = load_prompt_template(s, &at);
    a.has_tools = given(&in, "tools");
    a.has_can_invoke = given(&in, "canInvokeAgents");
    loader_rules(s->l, &at, "blockedTools", a.blocked_tools);
    refer(s, &at, REFERENCE_TOOL, "tools", a.name, a.tools);
    refer(s, &at, REFERENCE_AGENT, "canInvokeAgents", a.name, a.can_invoke);
    /* Its blockedTools apply to the whole project, so it is never skipped. */
    if (a.name.n) VEC_PUSH(&s->l->agents, a);
}
