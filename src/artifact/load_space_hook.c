#include "artifact/space.h"
#include "value/list.h"

enum { HOOK_TIMEOUT_MS = 5000 };
#define COUNT(table) (sizeof(table) / sizeof *(table))

typedef struct SpaceHook { HookDef def; Str type; } SpaceHook;

#define HOOK(member) offsetof(SpaceHook, def) + offsetof(HookDef, member)
static const Field hook_fields[] = {
    { KEY(space_hook, id), .type = FIELD_STRING, .offset = HOOK(name), .flags = FIELD_REQUIRED },
    { KEY(space_hook, type), .type = FIELD_STRING, .offset = offsetof(SpaceHook, type), .flags = FIELD_REQUIRED },
    { KEY(space_hook, tools), .type = FIELD_STRINGS, .offset = HOOK(tools) },
    { KEY(space_hook, command), .type = FIELD_STRING, .offset = HOOK(command), .flags = FIELD_REQUIRED },
    { KEY(space_hook, blocking), .type = FIELD_BOOL, .offset = HOOK(blocking) },
};

static void check_type(Space *s, const LoaderPlace *at, SpaceHook *h) {
    static const Str known[] = { STR("pre_tool"), STR("post_tool") };
    if (!h->type.at) return;
    h->def.post = str_eq(h->type, known[1]);
    h->def.event = h->def.post ? STR("tool.post") : STR("tool.pre");
    if (h->def.post || str_eq(h->type, known[0])) return;
    document_report(&s->l->docs, at->document, PROBLEM_ERROR, document_place(at->document, at->map, STR("type")),
                    field_hint(s->l->docs.arena, h->type, known, 2), "%s.type \"" STR_FMT "\" is invalid", at->path, STR_ARG(h->type));
}

static void check_command(Space *s, const LoaderPlace *at, const SpaceHook *h) {
    if (!h->def.command.at || (str_trim(h->def.command).n && !memchr(h->def.command.at, 0, h->def.command.n))) return;
    loader_error(s->l, at, "command", "hook \"" STR_FMT "\": command must not be empty or contain NUL", STR_ARG(h->def.name));
}

static void check_name(Space *s, const LoaderPlace *at, Str name) {
    if (name.n) loader_name_ok(s->l, at, "hook", name);
    else loader_error(s->l, at, "id", "%s.id cannot be empty", at->path);
}

/* A hook is a guard: its errors are never downgraded. It is added in any case, so that its name is known. */
static void load_hook_entry(Space *s, LoaderPlace *at) {
    SpaceHook h = { .def = { .kind = HOOK_COMMAND, .origin = at->origin, .timeout_ms = HOOK_TIMEOUT_MS, .blocking = true, .folder = s->folder } };
    loader_read(s->l, at, hook_fields, COUNT(hook_fields), &h);
    if (!value_is_dict(at->map)) return;
    at->name = h.def.name;
    if (h.def.name.at) check_name(s, at, h.def.name);
    check_type(s, at, &h);
    check_command(s, at, &h);
    loader_rules(s->l, at, "tools", h.def.tools);
    h.def.allow_on_error = !h.def.blocking;
    if (!h.def.blocking)
        loader_warn(s->l, at, "blocking", NULL, "hook \"" STR_FMT "\": blocking is false, so a call continues when the hook fails", STR_ARG(h.def.name));
    if (h.def.name.n) VEC_PUSH(&s->l->hooks, h.def);
}

void space_load_hooks(Space *s, const Document *d) {
    static const Field root_fields[] = { { KEY(space_hook, hooks), .type = FIELD_LIST, .flags = FIELD_REQUIRED } };
    Value list = VALUE_GONE;
    FieldInput in = { .context = &s->l->docs, .document = d, .map = d->root, .path = "", .at = document_item_place(d, VALUE_GONE, 0) };
    if (!value_is_dict(d->root)) {
        document_report(&s->l->docs, d, PROBLEM_ERROR, in.at, (Str){ 0 }, "parse hook " STR_FMT ".json: json: line %u: expected a map",
                        STR_ARG(d->name), in.at.line);
        return;
    }
    if (!field_read(&in, root_fields, 1, &list) || value_is_gone(list)) return;
    for (uint32_t i = 0; i < value_list(list)->n; i++) {
        Value map = value_list(list)->at[i];
        bool named = value_is_dict(map) && dict_find_str(value_dict(map), STR("id"));
        Place at = named ? document_place(d, map, STR("id")) : document_item_place(d, list, i);
        load_hook_entry(s, &(LoaderPlace){ .document = d, .map = map, .path = arena_fmt(s->l->docs.arena, "hooks[%u]", i),
                                           .origin = { d->file, at.line, at.column, SOURCE_SPACE } });
    }
}
