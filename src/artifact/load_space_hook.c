#include "artifact/space.h"
#include "value/list.h"

enum { HOOK_TIMEOUT_MS = 5000 };
#define COUNT(table) (sizeof(table) / sizeof *(table))

typedef struct SpaceHook { HookDef def; Str type; } SpaceHook;

#define HOOK(member) offsetof(SpaceHook, def) + offsetof(HookDef, member)
static const Field hook_fields[] = {
    { "id", FIELD_STRING, HOOK(name), FIELD_REQUIRED },
    { "type", FIELD_STRING, offsetof(SpaceHook, type), FIELD_REQUIRED },
    { "tools", FIELD_STRINGS, HOOK(tools), 0 },
    { "command", FIELD_STRING, HOOK(command), FIELD_REQUIRED },
    { "blocking", FIELD_BOOL, HOOK(blocking), 0 },
};

static bool check_type(Space *s, const LoaderPlace *at, SpaceHook *h) {
    static const Str known[] = { STR("pre_tool"), STR("post_tool") };
    if (!h->type.at) return false;
    h->def.post = str_eq(h->type, known[1]);
    h->def.event = h->def.post ? STR("tool.post") : STR("tool.pre");
    if (h->def.post || str_eq(h->type, known[0])) return true;
    document_report(&s->l->docs, at->document, PROBLEM_ERROR, document_place(at->document, at->map, STR("type")),
                    field_hint(s->l->docs.arena, h->type, known, 2), "%s.type \"" STR_FMT "\" is invalid", at->path, STR_ARG(h->type));
    return false;
}

static bool check_command(Space *s, const LoaderPlace *at, const SpaceHook *h) {
    if (!h->def.command.at) return false;
    if (str_trim(h->def.command).n && !memchr(h->def.command.at, 0, h->def.command.n)) return true;
    loader_error(s->l, at, "command", "hook \"" STR_FMT "\": command must not be empty or contain NUL", STR_ARG(h->def.name));
    return false;
}

static void load_hook_entry(Space *s, LoaderPlace *at) {
    SpaceHook h = { .def = { .kind = HOOK_COMMAND, .origin = at->origin, .timeout_ms = HOOK_TIMEOUT_MS, .blocking = true, .folder = s->folder } };
    FieldInput in = { &s->l->docs, at->document, at->map, at->path, { at->origin.line, at->origin.column }, false };
    if (!field_is_map(&in)) return;
    bool ok = field_read(&in, hook_fields, COUNT(hook_fields), &h);
    at->name = h.def.name;
    ok = h.def.name.at && loader_name_ok(s->l, at, "hook", h.def.name) && ok;
    ok = check_type(s, at, &h) && ok;
    ok = check_command(s, at, &h) && ok;
    h.def.allow_on_error = !h.def.blocking;
    if (!h.def.blocking)
        loader_warn(s->l, at, "blocking", "", "hook \"" STR_FMT "\": blocking is false, so a call goes on when the hook fails", STR_ARG(h.def.name));
    if (ok) VEC_PUSH(&s->l->hooks, h.def);
}

void space_load_hooks(Space *s, const Document *d) {
    static const Field root_fields[] = { { "hooks", FIELD_LIST, 0, FIELD_REQUIRED } };
    Value list = VALUE_GONE;
    FieldInput in = { &s->l->docs, d, d->root, "", document_item_place(d, VALUE_GONE, 0), false };
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
