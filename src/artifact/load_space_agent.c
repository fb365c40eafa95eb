#include "artifact/space.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const Field agent_fields[] = {
    { "id", FIELD_STRING, offsetof(AgentDef, name), FIELD_REQUIRED },
    { "name", FIELD_STRING, offsetof(AgentDef, title), 0 },
    { "description", FIELD_STRING, offsetof(AgentDef, description), 0 },
    { "model", FIELD_STRING, offsetof(AgentDef, model), 0 },
    { "provider", FIELD_STRING, offsetof(AgentDef, provider), 0 },
    { "maxIterations", FIELD_INT, offsetof(AgentDef, max_iterations), 0 },
    { "blockedTools", FIELD_STRINGS, offsetof(AgentDef, blocked_tools), 0 },
    { "canInvokeAgents", FIELD_STRINGS, offsetof(AgentDef, can_invoke), 0 },
    { "canSpawn", FIELD_BOOL, offsetof(AgentDef, can_spawn), 0 },
    { "tools", FIELD_STRINGS, offsetof(AgentDef, tools), 0 },
};

static bool given(const FieldInput *in, const char *name) {
    Value *v = dict_find_str(value_dict(in->map), str_from(name));
    return v && !value_is_none(*v);
}

static bool check_iterations(Space *s, const LoaderPlace *at, const AgentDef *a, bool is_given) {
    if (!is_given || a->max_iterations >= 1) return true;
    loader_error(s->l, at, "maxIterations", "agent \"" STR_FMT "\" maxIterations must be >= 1", STR_ARG(a->name));
    return false;
}

static bool compile_prompt(Space *s, const LoaderPlace *at, AgentDef *a) {
    Error err = { 0 };
    a->prompt = arena_str(s->l->docs.arena, at->document->body);
    if (!template_compile(at->document->body, NULL, &a->prompt_template, &err)) {
        error_wrap(&err, "agent \"" STR_FMT "\": system prompt", STR_ARG(a->name));
        space_template_error(s, at, NULL, &err);
        return false;
    }
    VEC_PUSH(&s->l->templates, a->prompt_template);
    return true;
}

/* Where an int was given but could not be read, max_iterations is still 0: that has been reported. */
void space_load_agent(Space *s, const Document *d) {
    Place place = document_place(d, d->root, STR("id"));
    AgentDef a = { .origin = { d->file, place.line, place.column, SOURCE_SPACE }, .from_space = true };
    LoaderPlace at = { .document = d, .map = d->root, .path = "", .origin = a.origin };
    FieldInput in = { &s->l->docs, d, d->root, "", place, false };
    bool ok = field_read(&in, agent_fields, COUNT(agent_fields), &a);
    if (ok) ok = check_iterations(s, &at, &a, given(&in, "maxIterations"));
    at.name = a.name;
    ok = a.name.at && loader_name_ok(s->l, &at, "agent", a.name) && ok;
    ok = compile_prompt(s, &at, &a) && ok;
    a.has_tools = given(&in, "tools");
    a.has_can_invoke = given(&in, "canInvokeAgents");
    if (ok) VEC_PUSH(&s->l->agents, a);
}
