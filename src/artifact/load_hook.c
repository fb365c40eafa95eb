/* Hooks: .harness/hooks/NAME.md, and inline. */
#include "artifact/load.h"

typedef struct Hook { Str event, script, when, on_error; int64_t priority, timeout_ms; } Hook;

#define AT(member) offsetof(Hook, member)
static const Field fields[] = {
    { KEY(hook, event), .type = FIELD_STRING, .offset = AT(event) },
    { KEY(hook, script), .type = FIELD_STRING, .offset = AT(script) },
    { KEY(hook, when), .type = FIELD_STRING, .offset = AT(when), .flags = FIELD_NOT_NULL },
    { KEY(hook, priority), .type = FIELD_INT, .offset = AT(priority) },
    { KEY(hook, on_error), .type = FIELD_STRING, .offset = AT(on_error) },
    { KEY(hook, timeout_ms), .type = FIELD_INT, .offset = AT(timeout_ms) },
    { KEY(hook, name), .flags = FIELD_IGNORED },
    { KEY(hook, description), .flags = FIELD_IGNORED },
};
enum { FIELDS = sizeof fields / sizeof *fields };
static const Field file_name = { KEY(hook, name), .flags = FIELD_UNKNOWN, .hint = "the file's name is the hook's name" };
static const Field file_text = { KEY(hook, description), .flags = FIELD_UNKNOWN, .hint = "the text below the frontmatter says what it is for" };

static const Str events[] = {
#define HOOK_EVENT(id, name, decisions, changes, failure) { name, sizeof(name) - 1 },
#define HOOK_FAMILY(id, name, decisions, changes, failure)
#include "artifact/hook_events.def"
#undef HOOK_EVENT
#undef HOOK_FAMILY
#define DEFINITION(id, kind, list, event) { event, sizeof(event) - 1 },
#include "artifact/definitions.def"
#undef DEFINITION
};
enum { EVENTS = sizeof events / sizeof *events };

/* ^custom\.[a-z0-9_.]+$ */
static bool is_open_event(Str e) {
    size_t from = str_starts(e, STR("custom.")) ? 7 : 0;
    for (size_t i = from; i < e.n; i++)
        if (!((e.at[i] >= 'a' && e.at[i] <= 'z') || (e.at[i] >= '0' && e.at[i] <= '9') || e.at[i] == '_' || e.at[i] == '.')) return false;
    return from && e.n > from;
}

static bool is_event(Str e) {
    for (size_t i = 0; i < EVENTS; i++)
        if (str_eq(e, events[i])) return true;
    return is_open_event(e);
}

static bool event_given(const LoaderPlace *at) {
    Value *v = dict_find_str(value_dict(at->map), STR("event"));
    return v && !value_is_none(*v);
}

/* Script functions have names such as meta.register_tool too; events do not. */
static Str meta_hint(Str event) {
#define DEFINITION(id, kind, list, name) if (str_find(event, STR(kind)) >= 0) return STR("did you mean \"" name "\"?");
#include "artifact/definitions.def"
#undef DEFINITION
    return STR("one of meta.tool_register, meta.hook_register, meta.agent_register");
}

/* Names of the same events in other programs. */
static const struct { const char *foreign, *event; } foreign_events[] = {
    { "pre_tool", "tool.pre" }, { "PreToolUse", "tool.pre" }, { "before_tool", "tool.pre" }, { "tool_pre", "tool.pre" }, { "preToolUse", "tool.pre" },
    { "post_tool", "tool.post" }, { "PostToolUse", "tool.post" }, { "after_tool", "tool.post" }, { "tool_post", "tool.post" }, { "postToolUse", "tool.post" },
    { "SessionStart", "session.start" }, { "sessionStart", "session.start" }, { "SessionEnd", "session.end" }, { "sessionEnd", "session.end" },
    { "UserPromptSubmit", "turn.start" }, { "userPromptSubmitted", "turn.start" }, { "Stop", "agent.stop" }, { "stop", "agent.stop" },
    { "SubagentStop", "delegation.post" }, { "SubagentStart", "delegation.pre" }, { "on_error", "error" },
};

/* Suggests the nearest event. */
static Str event_hint(Arena *arena, Str event) {
    for (size_t i = 0; i < sizeof foreign_events / sizeof *foreign_events; i++)
        if (str_eq(event, str_from(foreign_events[i].foreign))) return str_from(arena_fmt(arena, "did you mean \"%s\"?", foreign_events[i].event));
    Str near = field_hint(arena, event, events, EVENTS);
    if (near.n) return near;
    if (str_starts(event, STR("meta."))) return meta_hint(event);
    if (str_starts(event, STR("custom."))) return STR("custom. is followed by [a-z0-9_.]");
    Buf all = { 0 };
    buf_add(&all, STR("one of "));
    for (size_t i = 0; i < EVENTS; i++) buf_add_fmt(&all, STR_FMT ", ", STR_ARG(events[i]));
    buf_add(&all, STR("custom.NAME"));
    Str out = arena_str(arena, buf_str(&all));
    buf_clear(&all);
    return out;
}

static bool check_event(Loader *l, const LoaderPlace *at, const HookDef *h) {
    if (!event_given(at) || (h->event.at && h->event.n == 0)) {
        loader_error(l, at, "event", "hook \"" STR_FMT "\": event field is required in frontmatter", STR_ARG(h->name));
        return false;
    }
    if (h->event.n == 0 || is_event(h->event)) return h->event.n > 0;      /* otherwise its type was wrong */
    problems_add(l->docs.problems, PROBLEM_ERROR, at->origin.file, document_place(at->document, at->map, STR("event")),
                 event_hint(l->docs.arena, h->event), "%s.event \"" STR_FMT "\" is invalid",
                 at->path[0] ? at->path : "hooks[0]", STR_ARG(h->event));
    return false;
}

/* A failing hook blocks. One with on_error: allow does not guard anything, which validate should show. */
static void note_allow(Loader *l, const LoaderPlace *at, HookDef *h) {
    if (!h->allow_on_error) return;
    if (at->origin.source == SOURCE_PULLED) {
        h->allow_on_error = false;
        loader_warn(l, at, "on_error", NULL, "hook \"" STR_FMT "\": on_error: allow is ignored in an artifact source", STR_ARG(h->name));
        return;
    }
    problems_add(l->docs.problems, PROBLEM_HINT, at->origin.file, document_place(at->document, at->map, STR("on_error")), (Str){ 0 },
                 "hook \"" STR_FMT "\": on_error: allow lets everything pass when the hook fails", STR_ARG(h->name));
}

/* True if the script has another type, which was reported already. */
static bool script_mistyped(const LoaderPlace *at) {
    Value *v = dict_find_str(value_dict(at->map), STR("script"));
    return v && !value_is_none(*v) && !value_is_string(*v);
}

static void load_code(Loader *l, const LoaderPlace *at, const Hook *in, HookDef *h) {
    static const Str params[] = { { "payload", 7 }, { "event", 5 } };
    char *what = arena_fmt(l->docs.arena, "hook \"" STR_FMT "\"", STR_ARG(h->name));
    if (in->when.n) h->when = loader_expression(l, at, "when", what, params, 2);
    h->when_text = str_trim(in->when);
    if (h->when && (str_eq(h->event, STR("tool.pre")) || str_eq(h->event, STR("tool.post")))) loader_when(l, at, what);
    if (str_trim(in->script).n == 0 && !script_mistyped(at)) loader_error(l, at, "script", "%s: script is required", what);
    else h->script = loader_script(l, at, "script", what, l->hook_predeclared);
    if (h->script) loader_function(l, at, "script", h->script, what, "handle(event, payload)", 2);
}

/* Inside an agent a hook needs no name. */
static bool read_name(Loader *l, const LoaderPlace *at, Str *out) {
    Value *given = dict_find_str(value_dict(at->map), STR("name"));
    if (!at->agent.n || (given && !value_is_none(*given))) return loader_name(l, at, "hook", "hooks", out);
    const char *bracket = strrchr(at->path, '[');
    *out = str_from(arena_fmt(l->docs.arena, STR_FMT ".hooks%s", STR_ARG(at->agent), bracket ? bracket : "[0]"));
    return true;
}

static void load_definition(Loader *l, const LoaderPlace *at) {
    static const char *const outcomes[] = { "block", "allow", NULL };
    Field all[FIELDS];
    Hook in = { .timeout_ms = 5000 };
    HookDef h = { .kind = HOOK_STARLARK, .origin = at->origin, .agent = at->agent, .overriding = at->overriding, .blocking = true };
    memcpy(all, fields, sizeof fields);
    if (!at->path[0]) {
        all[FIELDS - 2] = file_name;
        all[FIELDS - 1] = file_text;
    }
    loader_read(l, at, all, FIELDS, &in);
    if (!value_is_dict(at->map) || !read_name(l, at, &h.name)) return;
    h.event = in.event;
    h.priority = in.priority;
    h.timeout_ms = in.timeout_ms;
    check_event(l, at, &h);
    if (h.timeout_ms < 0) loader_error(l, at, "timeout_ms", "hook \"" STR_FMT "\" timeout_ms must be >= 0", STR_ARG(h.name));
    loader_choice(l, at, "on_error", in.on_error, outcomes);
    h.allow_on_error = str_eq(in.on_error, STR("allow"));
    note_allow(l, at, &h);
    load_code(l, at, &in, &h);
    VEC_PUSH(&l->hooks, h);
}

void load_hook(Loader *l, const LoaderPlace *at) {
    size_t errors = l->docs.problems->errors;
    load_definition(l, at);
    l->guard_errors += l->docs.problems->errors - errors;
}
