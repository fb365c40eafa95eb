/* Runs after everything is loaded: applies overrides, and checks that names are unique and references exist. */
#include "artifact/resolve.h"
#include <strings.h>
#include "artifact/builtin_names.h"

typedef struct { Str name, agent; Origin *origin; bool overriding; } Named;     /* common fields of tools, hooks and agents */
typedef struct Kind {
    const char *what;
    Named (*at)(Loader *l, size_t i);
    void (*replace)(Loader *l, size_t old, size_t with);           /* replaces one by the other */
} Kind;

static Named tool_at(Loader *l, size_t i) { ToolDef *t = &l->tools.at[i]; return (Named){ t->name, t->agent, &t->origin, t->overriding }; }
static Named hook_at(Loader *l, size_t i) { HookDef *h = &l->hooks.at[i]; return (Named){ h->name, h->agent, &h->origin, h->overriding }; }
static Named agent_at(Loader *l, size_t i) { AgentDef *a = &l->agents.at[i]; return (Named){ a->name, { 0 }, &a->origin, a->overriding }; }

static char *place_text(Loader *l, const Origin *o) {
    return arena_fmt(l->docs.arena, STR_FMT ":%u:%u", STR_ARG(o->file), o->line, o->column);
}

static void report(Loader *l, Severity severity, const Origin *at, const char *hint, const char *what, Str name, const char *rest) {
    problems_add(l->docs.problems, severity, at->file, (Place){ at->line, at->column }, str_from(hint), "%s \"" STR_FMT "\"%s", what,
                 STR_ARG(name), rest);
}

/* ---- overrides ---- */

static size_t count(Loader *l, const Kind *k) { return k->at == tool_at ? l->tools.n : k->at == hook_at ? l->hooks.n : l->agents.n; }

/* A removed entry loses its name; sweep() closes the gaps at the end. */
#define MOVE(v, old, with) ((v)->at[old] = (v)->at[with], (v)->at[with].name.n = 0)
#define SWEEP(v) \
    do { \
        size_t kept = 0; \
        for (size_t i = 0; i < (v)->n; i++) \
            if ((v)->at[i].name.n) (v)->at[kept++] = (v)->at[i]; \
        (v)->n = kept; \
    } while (0)

static void replace_tool(Loader *l, size_t old, size_t with) { MOVE(&l->tools, old, with); }
static void replace_hook(Loader *l, size_t old, size_t with) { MOVE(&l->hooks, old, with); }

/* Replacing an agent also removes its private tools, hooks and references. */
static void replace_agent(Loader *l, size_t old, size_t with) {
    AgentDef gone = l->agents.at[old];
#define FORGET(v, file_) \
    for (size_t i = 0; i < (v)->n; i++) \
        if (str_eq((v)->at[i].agent, gone.name) && str_eq((v)->at[i].file_, gone.origin.file)) (v)->at[i].name.n = 0
    FORGET(&l->tools, origin.file);
    FORGET(&l->hooks, origin.file);
    FORGET(&l->references, file);
#undef FORGET
    MOVE(&l->agents, old, with);
}

static void sweep(Loader *l) {
    SWEEP(&l->tools);
    SWEEP(&l->hooks);
    SWEEP(&l->agents);
    SWEEP(&l->references);
}

/* The first entry of each name that is neither an override nor private, as index + 1. */
static void find_bases(Loader *l, const Kind *k, Table *bases) {
    for (size_t i = 0; i < count(l, k); i++) {
        Named e = k->at(l, i);
        if (e.name.n && !e.overriding && !e.agent.n && !table_has(bases, e.name)) table_put(bases, e.name, (void *)(uintptr_t)(i + 1));
    }
}

static void apply_override(Loader *l, const Kind *k, size_t i, const Table *bases, Table *done) {
    Named e = k->at(l, i);
    if (!e.name.n || !e.overriding || e.agent.n || table_has(done, e.name)) return;      /* a second override is a duplicate */
    size_t base = (size_t)(uintptr_t)table_get(bases, e.name);
    if (base == 0) {
        if (k->at != tool_at || !builtin_names_has(e.name)) report(l, PROBLEM_ERROR, e.origin, NULL, k->what, e.name, " overrides nothing");
        return;
    }
    table_put(done, e.name, done);
    if (k->at == hook_at) {
        char *where = arena_fmt(l->docs.arena, "instead of %s", place_text(l, k->at(l, base - 1).origin));
        report(l, PROBLEM_WARNING, e.origin, where, k->what, e.name, " replaces a hook");
    }
    k->replace(l, base - 1, i);
}

static void apply_overrides(Loader *l, const Kind *k) {
    Table bases = { 0 }, done = { 0 };
    find_bases(l, k, &bases);
    for (size_t i = 0; i < count(l, k); i++)
        if (k->at(l, i).overriding) apply_override(l, k, i, &bases, &done);
    table_clear(&bases);
    table_clear(&done);
}

/* ---- names ---- */

static void duplicate(Loader *l, const char *what, Str name, const Origin *at, const Origin *first) {
    char *where = arena_fmt(l->docs.arena, "first defined at %s", place_text(l, first));
    report(l, PROBLEM_ERROR, at, where, what, name, " is defined more than once");
}

/* A unique key for a private entry; names contain no '/'. */
static Str private_key(Loader *l, Str agent, Str name) {
    return str_from(arena_fmt(l->docs.arena, STR_FMT "/" STR_FMT, STR_ARG(agent), STR_ARG(name)));
}

static void claim(Loader *l, const char *what, Table *names, Str key, Str name, Origin *origin) {
    Origin *first = table_get(names, key);
    if (first) duplicate(l, what, name, origin, first);
    else table_put(names, key, origin);
}

static void claim_private(Loader *l, const char *what, Table *names, const Named *e, Str name) {
    Origin *first = table_get(names, name);              /* the project's own? */
    if (first) duplicate(l, what, name, e->origin, first);
    else claim(l, what, names, private_key(l, e->agent, name), name, e->origin);
}

static void check_names(Loader *l, const Kind *k, Table *names) {
    for (size_t i = 0; i < count(l, k); i++) {
        Named e = k->at(l, i);
        if (!e.agent.n) claim(l, k->what, names, e.name, e.name, e.origin);
    }
    for (size_t i = 0; i < count(l, k); i++) {
        Named e = k->at(l, i);
        if (e.agent.n) claim_private(l, k->what, names, &e, e.name);
    }
}

static bool is_taken(const Loader *l, Str name) {
    const StrList *listed = &l->project->settings.builtin_tools;
    return builtin_names_taken(name, listed->at, listed->n);
}

static void check_aliases(Loader *l, Table *names) {
    for (size_t i = 0; i < l->tools.n; i++) {
        ToolDef *t = &l->tools.at[i];
        Named e = tool_at(l, i);
        for (size_t a = 0; a < t->aliases.n; a++) {
            Str alias = t->aliases.at[a];
            if (is_taken(l, alias)) report(l, PROBLEM_ERROR, &t->origin, "it is the name of a built-in tool", "tool", alias,
                " is defined more than once");
            if (t->agent.n) claim_private(l, "tool", names, &e, alias);
            else claim(l, "tool", names, alias, alias, &t->origin);
        }
    }
}

static bool is_snake_case(Str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        if (!((c >= 'a' && c <= 'z') || c == '_' || (i && c >= '0' && c <= '9'))) return false;
    }
    return true;
}

static void check_tool_names(Loader *l) {
    for (size_t i = 0; i < l->tools.n; i++) {
        const ToolDef *t = &l->tools.at[i];
        if (is_taken(l, t->name) && !t->overriding)
            report(l, PROBLEM_ERROR, &t->origin, "it is the name of a built-in tool", "tool", t->name, " is defined more than once");
        if (t->origin.source != SOURCE_SPACE && !is_snake_case(t->name))
            report(l, PROBLEM_HINT, &t->origin, NULL, "tool", t->name, ": models do best with snake_case names");
    }
}

/* A tool of the project must not replace a server's tool, whose names are known only after asking the server. */
static void check_server_alias(Loader *l, const ToolDef *t, Str name) {
    const ServerDef *first[2];
    if (!project_alias_servers(l->servers.at, l->servers.n, name, first)) return;
    char *text = arena_fmt(l->docs.arena, " has the name of a tool of MCP server \"" STR_FMT "\"", STR_ARG(first[0]->name));
    report(l, PROBLEM_ERROR, &t->origin, "names that begin with mcp__SERVER__ belong to that server", "tool", name, text);
}

static void check_server_aliases(Loader *l) {
    for (size_t i = 0; i < l->tools.n; i++) {
        const ToolDef *t = &l->tools.at[i];
        check_server_alias(l, t, t->name);
        for (size_t a = 0; a < t->aliases.n; a++) check_server_alias(l, t, t->aliases.at[a]);
    }
}

/* Prompts and resources only need unique names. */
static void check_other_names(Loader *l) {
    Table prompts = { 0 }, resources = { 0 }, uris = { 0 };
    for (size_t i = 0; i < l->prompts.n; i++) claim(l, "prompt", &prompts, l->prompts.at[i].name, l->prompts.at[i].name, &l->prompts.at[i].origin);
    for (size_t i = 0; i < l->resources.n; i++) {
        ResourceDef *r = &l->resources.at[i];
        Str uri = r->uri.n ? r->uri : r->uri_template;
        claim(l, "resource", &resources, r->name, r->name, &r->origin);
        if (uri.n) claim(l, "resource", &uris, uri, uri, &r->origin);
    }
    table_clear(&prompts);
    table_clear(&resources);
    table_clear(&uris);
}

/* ---- references ---- */

/* mcp:SERVER:TOOL: the tools of a server are known only when it runs. */
static bool is_server_tool(const Table *servers, Str name) {
    if (!str_starts(name, STR("mcp:"))) return false;
    Str rest = str_sub(name, 4, name.n);
    ptrdiff_t colon = str_find_char(rest, ':');
    return colon > 0 && table_has(servers, str_sub(rest, 0, (size_t)colon));
}

typedef struct { Table tools, hooks, agents, servers; } Names;

static bool found(Loader *l, const Names *n, const LoaderReference *r) {
    switch (r->kind) {
    case REFERENCE_TOOL:
        return table_has(&n->tools, r->name) || table_has(&n->tools, private_key(l, r->agent, r->name)) || builtin_names_has(r->name)
            || is_server_tool(&n->servers, r->name);
    case REFERENCE_HOOK: return table_has(&n->hooks, r->name) || table_has(&n->hooks, private_key(l, r->agent, r->name));
    case REFERENCE_SERVER: return table_has(&n->servers, r->name);
    case REFERENCE_AGENT: return table_has(&n->agents, r->name);
    }
    return false;
}

/* The nearest valid name, for a hint; skips keys with '/', which are private to other agents. Tools may be built in. */
static Str nearest(Loader *l, const Table *t, Str name, bool tools) {
    size_t n = 0, n_builtins;
    const Str *builtins = builtin_names_list(&n_builtins);
    Str *known = ARENA_ARRAY(l->docs.arena, Str, t->n + n_builtins + 1);
    for (size_t i = 0; tools && i < n_builtins; i++) known[n++] = builtins[i];
    for (size_t i = 0; i < t->n; i++)
        if (str_find_char(t->entry[i].key, '/') < 0) known[n++] = t->entry[i].key;
    return field_hint(l->docs.arena, name, known, n);
}

static bool unread(const Loader *l, const LoaderReference *r) {
    for (size_t i = 0; i < l->unread.n; i++)
        if (l->unread.at[i].kind == r->kind && str_eq(l->unread.at[i].name, r->name)) return true;
    return false;
}

static void check_references(Loader *l, const Names *names) {
    static const char *const what[] = { "tool", "hook", "mcp server", "agent" };
    const Table *tables[] = { &names->tools, &names->hooks, &names->servers, &names->agents };
    for (size_t i = 0; i < l->references.n; i++) {
        const LoaderReference *r = &l->references.at[i];
        if (found(l, names, r) || unread(l, r)) continue;
        Severity severity = l->in->lenient && r->kind != REFERENCE_HOOK ? PROBLEM_WARNING : PROBLEM_ERROR;
        problems_add(l->docs.problems, severity, r->file, r->place, nearest(l, tables[r->kind], r->name, r->kind == REFERENCE_TOOL),
                     "agent \"" STR_FMT "\": %s \"" STR_FMT "\" is not defined", STR_ARG(r->agent), what[r->kind], STR_ARG(r->name));
    }
}

static bool some_agent_has(const Loader *l, Str name) {
    for (size_t i = 0; i < l->tools.n; i++)
        if (str_eq(l->tools.at[i].name, name) || str_among(name, l->tools.at[i].aliases.at, l->tools.at[i].aliases.n)) return true;
    return false;
}

/* ---- rules that name a tool in another case ---- */

static bool is_glob(char c) { return c == '*' || c == '?' || c == '['; }

/* The literal start of a pattern; all of a name. */
static Str literal_start(Str pattern) {
    size_t n = 0;
    while (n < pattern.n && !is_glob(pattern.at[n])) n++;
    return str_sub(pattern, 0, n);
}

/* `touch` for "tools/touch.md". */
static Str without_path(Str name) {
    for (ptrdiff_t slash; (slash = str_find_char(name, '/')) >= 0;) name = str_sub(name, (size_t)slash + 1, name.n);
    return str_ends(name, STR(".md")) ? str_sub(name, 0, name.n - STR(".md").n) : name;
}

typedef struct CaseSearch { Str start; bool whole, exact, other; } CaseSearch;

static void compare_case(CaseSearch *s, Str name) {
    if (s->whole ? name.n != s->start.n : name.n < s->start.n) return;
    if (strncasecmp(name.at, s->start.at, s->start.n) != 0) return;
    if (memcmp(name.at, s->start.at, s->start.n) == 0) s->exact = true;
    else s->other = true;
}

/* True if the rule apparently means an existing tool, but can never match it. */
static bool misses_by_case(const Loader *l, Str rule) {
    Str name = without_path(rule);
    CaseSearch s = { .start = literal_start(name) };
    s.whole = s.start.n == name.n;
    if (s.start.n == 0 || str_starts(rule, STR("mcp:")) || str_starts(rule, STR("mcp_"))) return false;
    size_t n;
    const Str *builtins = builtin_names_list(&n);
    for (size_t i = 0; i < n; i++) compare_case(&s, builtins[i]);
    for (size_t i = 0; i < l->tools.n; i++) {
        compare_case(&s, l->tools.at[i].name);
        for (size_t k = 0; k < l->tools.at[i].aliases.n; k++) compare_case(&s, l->tools.at[i].aliases.at[k]);
    }
    return name.n < rule.n ? s.whole && (s.exact || s.other) : s.other && !s.exact;
}

/* Scripts may register tools under any name. */
static bool has_meta(const Loader *l) {
    Value meta = l->project->settings.meta;
    Value enabled = value_is_dict(meta) ? value_member(meta, "enabled") : VALUE_GONE;
    return value_is_bool(enabled) && value_bool(enabled);
}

/* For "mcp:fils:*" with a server "files": the nearest name of a server. Empty: the server exists, or none is near. */
static Str nearest_server(Loader *l, const Table *servers, Str rule) {
    if (!str_starts(rule, STR("mcp:"))) return (Str){ 0 };
    Str server = str_sub(rule, 4, rule.n);
    ptrdiff_t colon = str_find_char(server, ':');
    if (colon >= 0) server.n = (size_t)colon;
    if (literal_start(server).n < server.n || table_has(servers, server)) return (Str){ 0 };
    return nearest(l, servers, server, false);
}

/* Reports rules that name an unknown tool. An error if a known name is so near that the rule can only mean it: nothing would then restrict
 * that tool. Else a warning, because the tool may be added at run time (a program, meta.tool_register), and for `when`, where other text may
 * be compared. */
static void check_rules(Loader *l, const Names *names) {
    for (size_t i = 0; i < l->rules.n; i++) {
        const LoaderRule *r = &l->rules.at[i];
        LoaderReference as_tool = { .kind = REFERENCE_TOOL, .name = r->name };
        if (found(l, names, &as_tool) || some_agent_has(l, r->name) || unread(l, &as_tool) || str_starts(r->name, STR("resource:"))) continue;
        bool other_case = misses_by_case(l, r->name), glob = literal_start(r->name).n < r->name.n;
        Str server = nearest_server(l, &names->servers, r->name);
        if (!other_case && glob && server.n == 0) continue;                             /* a glob may match a tool that is added later */
        Str hint = server.n ? server : nearest(l, &names->tools, without_path(r->name), true);
        bool near = hint.n && r->list && !has_meta(l);
        problems_add(l->docs.problems, other_case || near ? PROBLEM_ERROR : PROBLEM_WARNING, r->file, r->place, hint,
                     STR_FMT ": there is no tool \"" STR_FMT "\"", STR_ARG(r->where), STR_ARG(r->name));
    }
}

/* ---- rules: ---- */

/* Records whether a name matches the pattern, and whether one of the matching tools has a kind that the rule is about. */
typedef struct Match { bool name, kind; } Match;

static void note_name(Match *m, const RuleDef *r, Str pattern, Str name, CallKind kind) {
    if (!pattern_matches(pattern, name)) return;
    m->name = true;
    m->kind |= !r->kinds || (r->kinds & CALL_KIND_BIT(kind));
}

static Match match_tools(const Loader *l, const RuleDef *r, Str pattern) {
    Match m = { 0 };
    size_t n;
    const Str *known = call_kind_tools(&n);
    for (size_t i = 0; i < n; i++) note_name(&m, r, pattern, known[i], call_kind_of_tool(known[i]));
    for (size_t i = 0; i < l->tools.n; i++) {
        const ToolDef *t = &l->tools.at[i];
        note_name(&m, r, pattern, t->name, project_call_kind(t));
        for (size_t a = 0; a < t->aliases.n; a++) note_name(&m, r, pattern, t->aliases.at[a], project_call_kind(t));
    }
    for (size_t i = 0; i < l->unread.n; i++)
        if (l->unread.at[i].kind == REFERENCE_TOOL && pattern_matches(pattern, l->unread.at[i].name)) m.name = m.kind = true;
    note_name(&m, r, pattern, STR("mcp:server:tool"), CALL_MCP);
    if (str_starts(pattern, STR("mcp:")) || str_starts(pattern, STR("mcp__"))) m.name = true, m.kind |= !r->kinds || (r->kinds & CALL_KIND_BIT(CALL_MCP));
    if (str_starts(pattern, STR("resource:"))) m.name = true, m.kind |= !r->kinds;
    return m;
}

/* A rule about a tool that does not exist holds for nothing, so it stops the load. Other agents have tools of their own, so for them only a
 * name that resembles a known one does. */
static void check_rule_rows(Loader *l, const Names *names) {
    for (size_t i = 0; i < l->rule_rows.n; i++) {
        const RuleDef *r = &l->rule_rows.at[i];
        bool others = r->vendors & ~VENDOR_BIT(VENDOR_HARNESS);
        if (has_meta(l)) continue;
        for (size_t k = 0; k < r->tools.n; k++) {
            Match m = match_tools(l, r, r->tools.at[k]);
            if (m.kind || (others && (m.name || !rule_near_call(l->docs.arena, r->tools.at[k]).n))) continue;
            if (m.name) {
                problems_add(l->docs.problems, PROBLEM_ERROR, r->file, r->tool_places[k], STR("declare kind: in the tool's file"),
                             "rule \"" STR_FMT "\": \"" STR_FMT "\" is not of the kind that the rule is about, so it can match no call", STR_ARG(r->name),
                             STR_ARG(r->tools.at[k]));
                continue;
            }
            Str hint = nearest(l, &names->tools, r->tools.at[k], true);
            problems_add(l->docs.problems, PROBLEM_ERROR, r->file, r->tool_places[k],
                         hint.n ? hint : STR("a tool that a program registers needs a file in .harness/tools/"),
                         "rule \"" STR_FMT "\": \"" STR_FMT "\" matches no tool", STR_ARG(r->name), STR_ARG(r->tools.at[k]));
        }
    }
}

static bool has_kind(const Loader *l, uint32_t kinds) {
    const Settings *s = &l->project->settings;
    size_t n;
    const Str *names = builtin_names_list(&n);
    bool all = s->builtin_all || (l->project->has_space && !s->builtin_set);
    for (size_t i = 0; i < n; i++)
        if ((all || str_among(names[i], s->builtin_tools.at, s->builtin_tools.n)) && (kinds & CALL_KIND_BIT(call_kind_of_tool(names[i])))) return true;
    for (size_t i = 0; i < l->tools.n; i++)
        if (kinds & CALL_KIND_BIT(project_call_kind(&l->tools.at[i]))) return true;
    return false;
}

/* Rules about commands or files do not apply to tools without a declared kind: warns about those. */
static void hint_kinds(Loader *l) {
    const uint32_t declared = CALL_KIND_BIT(CALL_MCP) | CALL_KIND_BIT(CALL_AGENT) | CALL_KIND_BIT(CALL_META);
    for (size_t i = 0; i < l->rule_rows.n && l->tools.n; i++) {
        const RuleDef *r = &l->rule_rows.at[i];
        bool own = !r->vendors || (r->vendors & VENDOR_BIT(VENDOR_HARNESS));
        if (!own || !r->kinds || (r->kinds & declared) || has_kind(l, r->kinds)) continue;
        Buf kinds = { 0 };
        for (CallKind k = CALL_KIND_NONE + 1; k < CALL_KIND_COUNT; k++)
            if (r->kinds & CALL_KIND_BIT(k)) buf_add_fmt(&kinds, "%s%s", kinds.n ? ", " : "", call_kind_name(k));
        problems_add(l->docs.problems, PROBLEM_HINT, r->file, (Place){ r->line, 1 }, STR("a tool declares its kind with kind:"),
                     "rule \"" STR_FMT "\": no tool of this project is of the kind " STR_FMT, STR_ARG(r->name), STR_ARG(buf_str(&kinds)));
        buf_clear(&kinds);
    }
}

/* Servers may be configured elsewhere or later, so only a call of such a tool fails. */
static void check_server_tools(Loader *l, const Table *servers) {
    for (size_t i = 0; i < l->tools.n; i++) {
        const ToolDef *t = &l->tools.at[i];
        if (t->kind != TOOL_MCP || t->server.n == 0 || table_has(servers, t->server)) continue;
        char *text = arena_fmt(l->docs.arena, ": mcp server \"" STR_FMT "\" is not configured", STR_ARG(t->server));
        report(l, PROBLEM_WARNING, &t->origin, NULL, "tool", t->name, text);
    }
}

/* ---- models ---- */

static bool model_known(const Settings *s, Str name) {
    if (s->n_models || s->model.n) return true;              /* a profile, or a model of the parent's provider */
    return str_starts(name, STR("claude-")) || str_starts(name, STR("gpt-")) || str_starts(name, STR("o"));
}

/* Notes which prompt a run starts with if both harness.md and a space have one. */
static void note_prompt(Loader *l) {
    const Settings *s = &l->project->settings;
    const AgentDef *a = NULL;
    for (size_t i = 0; i < l->agents.n && !a; i++)
        if (l->agents.at[i].from_space) a = &l->agents.at[i];
    if (!a || s->file.n == 0) return;
    bool body = str_trim(s->prompt).n > 0;
    char *text = arena_fmt(l->docs.arena, ": a run %s its prompt, because " STR_FMT " has %s", body ? "does not use" : "uses", STR_ARG(s->file),
                           body ? "a body" : "no body");
    report(l, PROBLEM_HINT, &a->origin, NULL, "agent", a->name, text);
}

static void check_agents(Loader *l) {
    for (size_t i = 0; i < l->agents.n; i++) {
        const AgentDef *a = &l->agents.at[i];
        if (a->model.n && !a->provider.n && !model_known(&l->project->settings, a->model)) {
            char *text = arena_fmt(l->docs.arena, ": model \"" STR_FMT "\" belongs to no known provider", STR_ARG(a->model));
            report(l, PROBLEM_WARNING, &a->origin, NULL, "agent", a->name, text);
        }
        if (!a->description.n && !a->from_space)
            report(l, PROBLEM_HINT, &a->origin, NULL, "agent", a->name, ": no description: the parent agent chooses by it");
    }
}

void resolve_project(Loader *l) {
    static const Kind tools = { "tool", tool_at, replace_tool }, hooks = { "hook", hook_at, replace_hook },
                      agents = { "agent", agent_at, replace_agent };
    Names names = { 0 };
    apply_overrides(l, &tools);
    apply_overrides(l, &hooks);
    apply_overrides(l, &agents);
    sweep(l);
    for (size_t i = 0; i < l->servers.n; i++) table_put(&names.servers, l->servers.at[i].name, &l->servers.at[i].origin);
    check_names(l, &tools, &names.tools);
    check_aliases(l, &names.tools);
    check_names(l, &hooks, &names.hooks);
    check_names(l, &agents, &names.agents);
    check_tool_names(l);
    check_server_aliases(l);
    check_other_names(l);
    check_references(l, &names);
    check_rules(l, &names);
    check_rule_rows(l, &names);
    hint_kinds(l);
    check_server_tools(l, &names.servers);
    check_agents(l);
    note_prompt(l);
    table_clear(&names.tools);
    table_clear(&names.hooks);
    table_clear(&names.agents);
    table_clear(&names.servers);
}
