#include "artifact/space.h"
#include "value/int.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const Field agent_fields[] = {
    { .name = "id", .type = FIELD_STRING, .offset = offsetof(AgentDef, name), .flags = FIELD_REQUIRED },
    { .name = "name", .type = FIELD_STRING, .offset = offsetof(AgentDef, title) },
    { .name = "description", .type = FIELD_STRING, .offset = offsetof(AgentDef, description) },
    { .name = "model", .type = FIELD_STRING, .offset = offsetof(AgentDef, model) },
    { .name = "provider", .type = FIELD_STRING, .offset = offsetof(AgentDef, provider) },
    { .name = "maxIterations", .type = FIELD_INT, .offset = offsetof(AgentDef, max_iterations) },
    { .name = "blockedTools", .type = FIELD_STRINGS, .offset = offsetof(AgentDef, blocked_tools) },
    { .name = "canInvokeAgents", .type = FIELD_STRINGS, .offset = offsetof(AgentDef, can_invoke) },
    { .name = "canSpawn", .type = FIELD_BOOL, .offset = offsetof(AgentDef, can_spawn) },
    { .name = "tools", .type = FIELD_STRINGS, .offset = offsetof(AgentDef, tools) },
};

static bool given(const FieldInput *in, const char *name) {
    Value *v = dict_find_str(value_dict(in->map), str_from(name));
    return v && !value_is_none(*v);
}

/* Asks the value itself: in `a` a 0 may only mean that it was no int, which has been said. */
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

void space_load_agent(Space *s, const Document *d) {
    Problems before = *s->l->docs.problems;
    size_t references = s->l->references.n;
    LoaderPlace at = loader_file_place(s->l, d, SOURCE_SPACE);
    AgentDef a = { .origin = at.origin, .from_space = true };
    FieldInput in = loader_input(s->l, &at);
    bool ok = field_read(&in, agent_fields, COUNT(agent_fields), &a);
    ok = check_iterations(s, &at, &a) && ok;
    if (a.name.at) ok = loader_name_ok(s->l, &at, "agent", a.name) && ok;
    a.prompt = arena_str(s->l->docs.arena, d->body);
    a.prompt_template = loader_template(s->l, &at, NULL, d->body);
    a.has_tools = given(&in, "tools");
    a.has_can_invoke = given(&in, "canInvokeAgents");
    refer(s, &at, REFERENCE_TOOL, "tools", a.name, a.tools);
    refer(s, &at, REFERENCE_AGENT, "canInvokeAgents", a.name, a.can_invoke);
    if ((ok && a.prompt_template) || (!loader_forgive(s->l, &before) && a.name.n)) VEC_PUSH(&s->l->agents, a);
    else s->l->references.n = references;
}
