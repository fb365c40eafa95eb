#include "artifact/settings_check.h"
#include "base/clock.h"
#include "net/rule.h"
#include "store/store.h"
#include "value/int.h"
#include "value/list.h"

typedef enum {
    SETTING_BOOL, SETTING_INT, SETTING_NUMBER, SETTING_STRING, SETTING_STRINGS, SETTING_INTS,
    SETTING_CHOICE,              /* one of `choices` */
    SETTING_CHOICES,             /* a list of `choices` */
    SETTING_TOOLS,               /* names of tools, or patterns of them */
    SETTING_MAP,                 /* a map; its keys are the rows of the section named "SECTION_KEY" */
    SETTING_ANY,
} SettingType;

typedef struct { const char *section, *key; GrantKey grant; SettingType type; int64_t least; const char *const *choices; } Setting;

static const char *const modes[] = { "strict", "best-effort", "off", NULL };
static const char *const homes[] = { "private", "real", NULL };
static const char *const mounts[] = { "required", "auto", "off", NULL };
static const char *const policies[] = { "denylist", "allowlist", NULL };
static const char *const syncs[] = { "normal", "full", NULL };
static const char *const workspaces[] = { "shared", "host", "snapshot", "none", NULL };
static const char *const unknowns[] = { "deny", NULL }, *const audits[] = { "required", NULL };    /* a project can only tighten this: see guard.md */
static const char *const dangers[] = { "destructive", "spends_money", "networked", "process", "mutating", "filesystem", NULL };

#define SETTING(section, key, type, least, choices) { #section, #key, GRANT_##section##_##key, SETTING_##type, least, choices }
static const Setting settings[] = {
    SETTING(context, agents_md, BOOL, 0, NULL),
    SETTING(context, max_history, INT, 1, NULL),
    SETTING(context, max_tokens, INT, 1, NULL),
    SETTING(context, summarize, ANY, 0, NULL),
    SETTING(limits, max_turns, INT, 1, NULL),
    SETTING(limits, max_tool_calls, INT, 0, NULL),
    SETTING(limits, max_tool_calls_per_turn, INT, 0, NULL),
    SETTING(limits, max_concurrency, INT, 1, NULL),
    SETTING(limits, max_tasks, INT, 0, NULL),
    SETTING(limits, max_tokens, INT, 1, NULL),
    SETTING(limits, max_spend_usd, NUMBER, 0, NULL),
    SETTING(limits, wall_clock_ms, INT, 1, NULL),
    SETTING(limits, model_result_bytes, INT, 1, NULL),
    SETTING(limits, artifact_bytes, INT, 1, NULL),
    SETTING(limits, script_heap_bytes, INT, 1, NULL),
    SETTING(limits, script_depth, INT, 1, NULL),
    SETTING(limits, tool_timeout_ms, INT, 0, NULL),
    SETTING(limits, confirm, CHOICES, 0, dangers),
    SETTING(limits, deny, CHOICES, 0, dangers),
    SETTING(limits, repair, MAP, 0, NULL),
    SETTING(limits_repair, invalid_arguments, BOOL, 0, NULL),
    SETTING(limits_repair, unknown_tool, BOOL, 0, NULL),
    SETTING(limits_repair, refused, BOOL, 0, NULL),
    SETTING(limits_repair, max_per_turn, INT, 0, NULL),
    SETTING(delegation, max_depth, INT, 0, NULL),
    SETTING(delegation, max_concurrent, INT, 1, NULL),
    SETTING(delegation, iterations_per_depth, INTS, 1, NULL),
    SETTING(delegation, timeout_ms, INT, 0, NULL),
    SETTING(meta, enabled, BOOL, 0, NULL),
    SETTING(meta, max_tools, INT, 0, NULL),
    SETTING(meta, max_hooks, INT, 0, NULL),
    SETTING(meta, max_agents, INT, 0, NULL),
    SETTING(meta, max_call_depth, INT, 0, NULL),
    SETTING(network, allowed_domains, STRINGS, 0, NULL),
    SETTING(sandbox, mode, CHOICE, 0, modes),
    SETTING(sandbox, network, BOOL, 0, NULL),
    SETTING(sandbox, home, CHOICE, 0, homes),
    SETTING(sandbox, mounts, CHOICE, 0, mounts),
    SETTING(sandbox, read_roots, STRINGS, 0, NULL),
    SETTING(sandbox, write_roots, STRINGS, 0, NULL),
    SETTING(sandbox, env_allow, STRINGS, 0, NULL),
    SETTING(sandbox, allow_self_edit, BOOL, 0, NULL),
    SETTING(sandbox, memory_bytes, INT, 1, NULL),
    SETTING(sandbox, cpu_seconds, INT, 1, NULL),
    SETTING(sandbox, file_bytes, INT, 1, NULL),
    SETTING(sandbox, open_files, INT, 1, NULL),
    SETTING(sandbox, processes, INT, 1, NULL),
    SETTING(tools_policy, mode, CHOICE, 0, policies),
    SETTING(tools_policy, allow, TOOLS, 0, NULL),
    SETTING(tools_policy, deny, TOOLS, 0, NULL),
    SETTING(store, sync, CHOICE, 0, syncs),
    SETTING(store, url, STRING, 0, NULL),
    SETTING(store, project, STRING, 0, NULL),
    SETTING(queue, workspace, CHOICE, 0, workspaces),
    SETTING(approvals, hold, STRING, 0, NULL),
    SETTING(guard, unknown, CHOICE, 0, unknowns),
    SETTING(guard, audit, CHOICE, 0, audits),
};
enum { SETTINGS = sizeof settings / sizeof *settings, SECTION_MAX = 24 };

static const FieldType field_types[] = {
    [SETTING_BOOL] = FIELD_BOOL,       [SETTING_INT] = FIELD_INT,   [SETTING_NUMBER] = FIELD_NUMBER, [SETTING_STRING] = FIELD_STRING,
    [SETTING_STRINGS] = FIELD_STRINGS, [SETTING_INTS] = FIELD_LIST, [SETTING_CHOICE] = FIELD_STRING, [SETTING_CHOICES] = FIELD_STRINGS,
    [SETTING_MAP] = FIELD_MAP,         [SETTING_ANY] = FIELD_ANY,   [SETTING_TOOLS] = FIELD_STRINGS,
};

typedef union { bool yes; int64_t i; double d; Str s; StrList list; Value v; } Any;

bool settings_check_number(Value v, double *out) {
    if (!value_is_int(v) && !value_is_float(v)) return false;
    *out = value_is_int(v) ? int_to_double(v) : value_float(v);
    return true;
}

LoaderPlace settings_check_below(Loader *l, const LoaderPlace *at, const char *key, Value map) {
    FieldInput in = loader_input(l, at);
    LoaderPlace inner = *at;
    Place place = document_place(at->document, at->map, str_from(key));
    inner.map = map;
    inner.path = field_path(&in, key);
    inner.origin.line = place.line;
    inner.origin.column = place.column;
    return inner;
}

static Value value_of(const LoaderPlace *at, const char *key) {
    Value *v = value_is_dict(at->map) ? dict_find_str(value_dict(at->map), str_from(key)) : NULL;
    return v && !value_is_none(*v) ? *v : VALUE_GONE;
}

static void too_small(Loader *l, const LoaderPlace *at, const Setting *s) {
    loader_error(l, at, s->key, "%s.%s must be >= %lld", at->path, s->key, (long long)s->least);
}

static void check_ints(Loader *l, const LoaderPlace *at, const Setting *s, Value list) {
    for (uint32_t i = 0; i < value_list(list)->n; i++) {
        Value v = value_list(list)->at[i];
        int64_t n;
        if (!value_is_int(v)) loader_error(l, at, s->key, "%s.%s[%u]: expected int, got %s", at->path, s->key, i, field_type_name(v));
        else if (!int_to_i64(v, &n) || n < s->least) loader_error(l, at, s->key, "%s.%s[%u] must be >= %lld", at->path, s->key, i, (long long)s->least);
    }
    if (value_list(list)->n == 0) loader_error(l, at, s->key, "%s.%s: needs at least one number", at->path, s->key);
}

static void check_section(Loader *l, const LoaderPlace *at, const char *section);

static void check_value(Loader *l, const LoaderPlace *at, const Setting *s, const Any *v) {
    switch (s->type) {
    case SETTING_INT:
        if (v->i < s->least) too_small(l, at, s);
        break;
    case SETTING_NUMBER:
        if (!(v->d > (double)s->least)) loader_error(l, at, s->key, "%s.%s must be > %lld", at->path, s->key, (long long)s->least);
        break;
    case SETTING_INTS: check_ints(l, at, s, v->v); break;
    case SETTING_CHOICE: loader_choice(l, at, s->key, v->s, s->choices); break;
    case SETTING_CHOICES:
        for (size_t i = 0; i < v->list.n; i++) loader_choice(l, at, s->key, v->list.at[i], s->choices);
        break;
    case SETTING_TOOLS: loader_rules(l, at, s->key, v->list); break;
    case SETTING_MAP: {
        LoaderPlace inner = settings_check_below(l, at, s->key, v->v);
        check_section(l, &inner, arena_fmt(l->docs.arena, "%s_%s", s->section, s->key));
        break;
    }
    default: break;
    }
}

/* Rows of one section are adjacent. Each is read twice: with all others, to find unknown keys, and alone, for its
 * value. */
static void check_section(Loader *l, const LoaderPlace *at, const char *section) {
    Field fields[SECTION_MAX];
    size_t n = 0;
    for (size_t i = 0; i < SETTINGS; i++)
        if (strcmp(settings[i].section, section) == 0 && n < SECTION_MAX)
            fields[n++] = (Field){ .name = settings[i].key, .flags = FIELD_IGNORED };
    if (!value_is_dict(at->map)) return;
    loader_read(l, at, fields, n, NULL);
    FieldInput in = loader_input(l, at);
    for (size_t i = 0; i < SETTINGS; i++) {
        const Setting *s = &settings[i];
        Field f = { .name = s->key, .grant = s->grant, .type = field_types[s->type], .flags = FIELD_NOT_NULL };
        Any v = { 0 };
        if (strcmp(s->section, section) != 0 || !field_given(&in, s->key)) continue;
        if (field_read_one(&in, &f, &v)) check_value(l, at, s, &v);
    }
}

/* ---- special cases ---- */

static bool is_variable(Str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || (i && c >= '0' && c <= '9'))) return false;
    }
    return s.n > 0;
}

typedef struct { Str env; } Secret;

static void check_secrets(Loader *l, const LoaderPlace *at) {
    static const Field fields[] = { { KEY(secret, env), .type = FIELD_STRING, .offset = offsetof(Secret, env), .flags = FIELD_REQUIRED } };
    Entry *e;
    for (uint32_t i = 0; value_is_dict(at->map) && dict_next(value_dict(at->map), &i, &e);) {
        char *name = arena_fmt(l->docs.arena, STR_FMT, STR_ARG(value_str(e->key)));
        LoaderPlace inner = settings_check_below(l, at, name, e->value);
        Secret s = { 0 };
        if (!is_variable(value_str(e->key))) loader_error(l, at, name, "%s: name must match [A-Za-z_][A-Za-z0-9_]*", inner.path);
        if (loader_read(l, &inner, fields, 1, &s) && !is_variable(s.env))
            loader_error(l, &inner, "env", "%s.env: \"" STR_FMT "\" is not the name of a variable", inner.path, STR_ARG(s.env));
    }
}

static void check_hosts(Loader *l, const LoaderPlace *network) {
    Value list = value_of(network, "allowed_domains");
    for (uint32_t i = 0; value_is_list(list) && i < value_list(list)->n; i++) {
        Value host = value_list(list)->at[i];
        Rules *rules = NULL;
        Error err = { 0 };
        if (!value_is_string(host)) continue;          /* reported already */
        Str text = value_str(host);
        if (!rule_list_new(&text, 1, &rules, &err)) loader_error(l, network, "allowed_domains", "network.allowed_domains[%u]: %s", i, err.msg);
        rule_list_free(rules);
    }
}

/* A list of hosts has no effect with an open network, so it is an error. */
static void check_network(Loader *l, const LoaderPlace *at) {
    LoaderPlace sandbox = settings_check_below(l, at, "sandbox", value_of(at, "sandbox"));
    LoaderPlace network = settings_check_below(l, at, "network", value_of(at, "network"));
    Value open = value_of(&sandbox, "network");
    check_hosts(l, &network);
    if (!value_is_bool(open) || !value_bool(open) || value_is_gone(value_of(&network, "allowed_domains"))) return;
    loader_error(l, &sandbox, "network", "sandbox.network and network.allowed_domains cannot be used together");
}

/* With `mode: denylist`, an allow list would allow everything. */
static void check_mode(Loader *l, const LoaderPlace *at) {
    LoaderPlace policy = settings_check_below(l, at, "tools_policy", value_of(at, "tools_policy"));
    Value mode = value_of(&policy, "mode");
    if (!value_is_string(mode) || !str_eq(value_str(mode), STR("denylist")) || value_is_gone(value_of(&policy, "allow"))) return;
    loader_error(l, &policy, "allow", "tools_policy.allow has no effect with mode: denylist (remove mode, or write mode: allowlist)");
}

static void check_store(Loader *l, const LoaderPlace *at) {
    LoaderPlace store = settings_check_below(l, at, "store", value_of(at, "store"));
    Value url = value_of(&store, "url"), project = value_of(&store, "project");
    Error err = { 0 };
    if (value_is_string(url) && !store_url_check(value_str(url), &err))
        loader_error(l, &store, "url", "store.url: %s%s%s%s", err.msg, err.hint[0] ? " (" : "", err.hint, err.hint[0] ? ")" : "");
    if (value_is_string(project) && (value_str(project).n == 0 || str_find_char(value_str(project), '#') >= 0))
        loader_error(l, &store, "project", "store.project: expected a name without #");
}

/* A promise that no worker keeps yet. */
static void check_queue(Loader *l, const LoaderPlace *at) {
    LoaderPlace queue = settings_check_below(l, at, "queue", value_of(at, "queue"));
    Value workspace = value_of(&queue, "workspace");
    if (!value_is_string(workspace) || !str_eq(value_str(workspace), STR("snapshot"))) return;
    loader_error(l, &queue, "workspace", "queue.workspace: this version has only host, shared and none");
}

static void check_approvals(Loader *l, const LoaderPlace *at) {
    LoaderPlace approvals = settings_check_below(l, at, "approvals", value_of(at, "approvals"));
    Value hold = value_of(&approvals, "hold");
    int64_t ns;
    if (value_is_string(hold) && !clock_read_age(value_str(hold), &ns)) loader_error(l, &approvals, "hold", "approvals.hold: expected a time such as 90s, 15m, 12h or 7d");
}

void settings_check(Loader *l, const LoaderPlace *at) {
    static const char *const sections[] = { "context", "limits", "delegation", "meta", "network", "sandbox", "tools_policy", "store", "queue", "approvals", "guard" };
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        LoaderPlace inner = settings_check_below(l, at, sections[i], value_of(at, sections[i]));
        check_section(l, &inner, sections[i]);
    }
    LoaderPlace secrets = settings_check_below(l, at, "secrets", value_of(at, "secrets"));
    check_secrets(l, &secrets);
    check_network(l, at);
    check_store(l, at);
    check_queue(l, at);
    check_approvals(l, at);
    check_mode(l, at);
}
