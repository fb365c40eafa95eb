#include "policy/queue_tools.h"
#include "policy/safety.h"
#include "value/dict.h"

typedef struct Checking { const Project *project; Problems *problems; bool ok; } Checking;

static const char *use_of(const ToolDef *def) {
    Safety s;
    safety_detect(def, &s);
    if (s.process) return "starts programs";
    return s.files == SAFETY_FILES_WRITE ? "writes files" : s.files == SAFETY_FILES_READ ? "reads files" : NULL;
}

static void add(Checking *c, Str file, Place place, const char *what, Str name, const char *does) {
    c->ok = false;
    problems_add(c->problems, PROBLEM_ERROR, file, place, STR("remove it, or set queue.workspace to host or shared"),
                 "%s \"" STR_FMT "\" %s, and queue.workspace: none gives queued runs no files", what, STR_ARG(name), does);
}

static bool is_listed(const Project *p, Str name, bool by_name_only) {
    bool all = p->settings.builtin_all || (p->has_space && !p->settings.builtin_set);
    if (all && !by_name_only) return true;
    for (size_t i = 0; i < p->settings.builtin_tools.n; i++)
        if (str_eq(p->settings.builtin_tools.at[i], name)) return true;
    return false;
}

static void check_builtin(Checking *c, Str name, ToolKind kind) {
    ToolDef def = { .name = name, .kind = kind, .safety = VALUE_GONE };
    const char *does = use_of(&def);
    if (does && is_listed(c->project, name, kind == TOOL_BRIDGE)) add(c, c->project->settings.file, (Place){ 0, 0 }, "built-in tool", name, does);
}

static void check_builtins(Checking *c) {
#define BUILTIN(name) check_builtin(c, STR(#name), TOOL_BUILTIN);
#define SERVICE(name)
#define BRIDGE(name) check_builtin(c, STR(#name), TOOL_BRIDGE);
#include "artifact/builtin_names.def"
#undef BUILTIN
#undef SERVICE
#undef BRIDGE
}

/* Tools that scripts register are not known yet. */
static void check_meta(Checking *c) {
    Value on = value_member(c->project->settings.meta, "enabled");
    if (!value_is_bool(on) || !value_bool(on)) return;
    c->ok = false;
    problems_add(c->problems, PROBLEM_ERROR, c->project->settings.file, (Place){ 0, 0 }, STR("remove meta.enabled, or set queue.workspace to host or shared"),
                 "meta.enabled: scripts could register tools that use files, and queue.workspace: none gives queued runs no files");
}

bool queue_tools_check(const Project *p, Problems *problems) {
    Checking c = { p, problems, true };
    if (!str_eq(value_member_text(p->settings.queue, "workspace"), STR("none"))) return true;
    for (size_t i = 0; i < p->n_tools; i++) {
        const ToolDef *t = &p->tools[i];
        const char *does = use_of(t);
        if (does) add(&c, t->origin.file, (Place){ t->origin.line, t->origin.column }, "tool", t->name, does);
    }
    check_builtins(&c);
    for (size_t i = 0; i < p->n_servers; i++) {
        const ServerDef *s = &p->servers[i];
        if (s->command.n) add(&c, s->origin.file, (Place){ s->origin.line, s->origin.column }, "server", s->name, "is a program");
    }
    check_meta(&c);
    return c.ok;
}
