/* Governance settings that all Markdown tool formats share. */
#include "artifact/loader.h"
#include "base/regex.h"
#include "value/int.h"
#include "value/list.h"

typedef struct Governance {
    Value safety, retry, output_schema;
    Str idempotency, title;
    StrList injected, aliases;
    bool confirm;
} Governance;

#define AT(member) offsetof(Governance, member)
static const Field fields[] = {
    { KEY(tool, safety), .type = FIELD_MAP, .offset = AT(safety), .flags = FIELD_NOT_NULL },
    { KEY(tool, retry), .type = FIELD_MAP, .offset = AT(retry) },
    { KEY(tool, idempotency), .type = FIELD_STRING, .offset = AT(idempotency) },
    { KEY(tool, injected), .type = FIELD_STRINGS, .offset = AT(injected) },
    { KEY(tool, confirm), .type = FIELD_BOOL, .offset = AT(confirm), .flags = FIELD_NOT_NULL },
    { KEY(tool, aliases), .type = FIELD_STRINGS, .offset = AT(aliases) },
    { KEY(tool, title), .type = FIELD_STRING, .offset = AT(title) },
    { KEY(tool, output_schema), .type = FIELD_MAP, .offset = AT(output_schema) },
};

static LoaderPlace inside(Loader *l, const LoaderPlace *at, const char *key, Value map) {
    FieldInput in = loader_input(l, at);
    LoaderPlace below = *at;
    Place place = document_place(at->document, at->map, str_from(key));
    below.map = map;
    below.path = field_path(&in, key);
    below.origin.line = place.line;
    below.origin.column = place.column;
    return below;
}

/* ---- safety ---- */

typedef struct { bool flag; Str filesystem, workspace_root; StrList redact; } Safety;
#define FLAG(key) { KEY(safety, key), .type = FIELD_BOOL, .offset = offsetof(Safety, flag), .flags = FIELD_NOT_NULL }
static const Field safety_fields[] = {
    FLAG(read_only), FLAG(destructive), FLAG(idempotent), FLAG(networked), FLAG(process), FLAG(spends_money),
    FLAG(requires_confirmation), FLAG(parallel_safe),
    { KEY(safety, filesystem), .type = FIELD_STRING, .offset = offsetof(Safety, filesystem), .flags = FIELD_NOT_NULL },
    { KEY(safety, workspace_root), .type = FIELD_STRING, .offset = offsetof(Safety, workspace_root), .flags = FIELD_NOT_NULL },
    { KEY(safety, redact), .type = FIELD_STRINGS, .offset = offsetof(Safety, redact), .flags = FIELD_NOT_NULL },
};

static bool check_patterns(Loader *l, const LoaderPlace *at, const char *key, StrList patterns) {
    bool ok = true;
    for (size_t i = 0; i < patterns.n; i++) {
        Error err = { 0 };
        Regex *re = patterns.at[i].n ? regex_new(patterns.at[i], 0, &err) : NULL;
        if (patterns.at[i].n == 0) error_set(&err, ERR_CONFIG, "an empty pattern redacts nothing");
        if (!re) loader_error(l, at, key, "%s.%s[%zu]: %s", at->path, key, i, err.msg);
        ok = ok && re;
        regex_free(re);
    }
    return ok;
}

static bool check_safety(Loader *l, const LoaderPlace *tool, Value map) {
    static const char *const access[] = { "none", "read", "write", NULL };
    if (value_is_gone(map)) return true;
    Safety s = { 0 };
    LoaderPlace at = inside(l, tool, "safety", map);
    bool ok = loader_read(l, &at, safety_fields, sizeof safety_fields / sizeof *safety_fields, &s);
    ok = loader_choice(l, &at, "filesystem", s.filesystem, access) && ok;
    return check_patterns(l, &at, "redact", s.redact) && ok;
}

/* Positions for reporting a declaration that is too loose, after the document has been freed. */
static const Place *safety_places(Loader *l, const LoaderPlace *tool, Value map) {
    if (!value_is_dict(map)) return NULL;
    Place *places = ARENA_ARRAY(l->docs.arena, Place, value_dict(map)->n + 1);
    Entry *e;
    size_t n = 0;
    for (uint32_t i = 0; dict_next(value_dict(map), &i, &e);) places[n++] = document_place(tool->document, map, value_str(e->key));
    return places;
}

/* ---- retry ---- */

typedef struct { int64_t max_attempts, initial, max; double multiplier; bool jitter; Value on_exit; } Retry;
static const Field retry_fields[] = {
    { KEY(retry, max_attempts), .type = FIELD_INT, .offset = offsetof(Retry, max_attempts) },
    { KEY(retry, initial_backoff_ms), .type = FIELD_INT, .offset = offsetof(Retry, initial) },
    { KEY(retry, max_backoff_ms), .type = FIELD_INT, .offset = offsetof(Retry, max) },
    { KEY(retry, multiplier), .type = FIELD_NUMBER, .offset = offsetof(Retry, multiplier) },
    { KEY(retry, jitter), .type = FIELD_BOOL, .offset = offsetof(Retry, jitter) },
    { KEY(retry, on_exit), .type = FIELD_LIST, .offset = offsetof(Retry, on_exit) },
};

static bool at_least(Loader *l, const LoaderPlace *at, const char *key, int64_t value, int64_t least) {
    if (value >= least) return true;
    loader_error(l, at, key, "%s.%s must be >= %lld", at->path, key, (long long)least);
    return false;
}

static bool check_exits(Loader *l, const LoaderPlace *at, Value list) {
    bool ok = true;
    for (uint32_t i = 0; value_is_list(list) && i < value_list(list)->n; i++) {
        Value v = value_list(list)->at[i];
        int64_t code;
        if (value_is_int(v) && int_to_i64(v, &code) && code >= 0 && code <= 255) continue;
        if (value_is_int(v)) loader_error(l, at, "on_exit", "%s.on_exit[%u] must be between 0 and 255", at->path, i);
        else loader_error(l, at, "on_exit", "%s.on_exit[%u]: expected int, got %s", at->path, i, field_type_name(v));
        ok = false;
    }
    return ok;
}

bool loader_retry(Loader *l, const LoaderPlace *owner, Value map) {
    if (value_is_gone(map)) return true;
    Retry r = { .max_attempts = 1, .multiplier = 1, .on_exit = VALUE_GONE };
    LoaderPlace at = inside(l, owner, "retry", map);
    bool ok = loader_read(l, &at, retry_fields, sizeof retry_fields / sizeof *retry_fields, &r);
    ok = at_least(l, &at, "max_attempts", r.max_attempts, 1) && ok;
    ok = at_least(l, &at, "initial_backoff_ms", r.initial, 0) && ok;
    ok = at_least(l, &at, "max_backoff_ms", r.max, 0) && ok;
    ok = at_least(l, &at, "multiplier", r.multiplier >= 1 ? 1 : 0, 1) && ok;
    return check_exits(l, &at, r.on_exit) && ok;
}

/* ---- injected values ---- */

static bool known_secret(const Loader *l, Str name) {
    Value secrets = l->project->settings.secrets;
    return value_is_dict(secrets) && dict_find_str(value_dict(secrets), name);
}

static const Str injected_names[] = {
#define INJECTED(id, name) [INJECTED_##id] = { name, sizeof(name) - 1 },
#include "artifact/injected.def"
#undef INJECTED
};

InjectedKind project_injected_find(Str name, Str *secret) {
    const Str prefix = STR("secrets.");
    *secret = str_starts(name, prefix) ? str_sub(name, prefix.n, name.n) : STR("");
    for (int i = 0; i < INJECTED_SECRET; i++)
        if (str_eq(name, injected_names[i])) return (InjectedKind)i;
    return secret->n ? INJECTED_SECRET : INJECTED_UNKNOWN;
}

static bool check_injected(Loader *l, const LoaderPlace *at, const Governance *g) {
    bool ok = true;
    FieldInput in = loader_input(l, at);
    for (size_t i = 0; i < g->injected.n; i++) {
        Str name = g->injected.at[i];
        Str secret_name;
        InjectedKind kind = project_injected_find(name, &secret_name);
        bool secret = kind == INJECTED_SECRET;
        if (secret ? known_secret(l, secret_name) : kind != INJECTED_UNKNOWN) continue;
        Str hint = secret ? STR("add it to secrets: in harness.md") : field_hint(l->docs.arena, name, injected_names, INJECTED_SECRET);
        Value list = *dict_find_str(value_dict(at->map), STR("injected"));
        problems_add(l->docs.problems, PROBLEM_ERROR, at->origin.file, document_item_place(at->document, list, i), hint,
                     secret ? "%s[%zu]: secret \"" STR_FMT "\" is not defined" : "%s[%zu]: unknown value \"" STR_FMT "\"",
                     field_path(&in, "injected"), i, STR_ARG(secret ? secret_name : name));
        ok = false;
    }
    return ok;
}

static bool check_aliases(Loader *l, const LoaderPlace *at, StrList aliases) {
    bool ok = true;
    for (size_t i = 0; i < aliases.n; i++) {
        LoaderPlace item = loader_item_place(l, at, "aliases", *dict_find_str(value_dict(at->map), STR("aliases")), i);
        ok = loader_name_ok(l, &item, "tool", aliases.at[i]) && ok;
    }
    return ok;
}

bool loader_governance(Loader *l, const LoaderPlace *at, ToolDef *t) {
    static const char *const kinds[] = { "none", "idempotent", "key", NULL };
    Governance g = { .safety = VALUE_GONE, .retry = VALUE_GONE, .output_schema = VALUE_GONE };
    FieldInput in = loader_input(l, at);
    bool ok = true;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) ok = field_read_one(&in, &fields[i], &g) && ok;
    ok = check_safety(l, at, g.safety) && ok;
    ok = loader_retry(l, at, g.retry) && ok;
    ok = loader_choice(l, at, "idempotency", g.idempotency, kinds) && ok;
    ok = check_injected(l, at, &g) && ok;
    ok = check_aliases(l, at, g.aliases) && ok;
    ok = loader_schema_slips(l, at, "output_schema", g.output_schema) && ok;
    t->output = value_is_gone(g.output_schema) ? NULL : loader_schema(l, at, "output_schema", g.output_schema);
    ok = (value_is_gone(g.output_schema) || t->output) && ok;
    t->safety = g.safety;
    t->safety_places = safety_places(l, at, g.safety);
    t->retry = g.retry;
    t->idempotency = g.idempotency;
    t->injected = g.injected;
    t->aliases = g.aliases;
    if (g.title.n) t->title = g.title;
    t->output_schema = g.output_schema;
    t->confirm = g.confirm;
    return ok;
}

bool loader_hidden(Loader *l, const LoaderPlace *at, const ToolDef *t) {
    bool ok = true;
    if (value_is_gone(t->parameters)) return true;
    const Dict *properties = value_dict(*dict_find_str(value_dict(t->parameters), STR("properties")));
    for (size_t i = 0; i < t->injected.n; i++) {
        if (!dict_find_str(properties, t->injected.at[i])) continue;
        loader_error(l, at, "injected", "tool \"" STR_FMT "\": \"" STR_FMT "\" is both a parameter and injected", STR_ARG(t->name),
                     STR_ARG(t->injected.at[i]));
        ok = false;
    }
    return ok;
}

/* ---- kind ---- */

/* The argument that says what a call of this kind acts on must be required. */
static bool check_argument(Loader *l, const LoaderPlace *at, const ToolDef *t, CallKind kind) {
    Str name = str_from(call_kind_argument(kind));
    if (name.n == 0 || value_is_gone(t->parameters)) return true;
    if (kind == CALL_SHELL && t->kind == TOOL_COMMAND) return true;      /* the rendered command */
    Value *parameter = dict_find_str(value_dict(value_member(t->parameters, "properties")), name);
    bool text = parameter && str_eq(value_member_text(*parameter, "type"), STR("string"));
    Value required = value_member(t->parameters, "required");
    bool always = kind == CALL_SEARCH;
    for (uint32_t i = 0; value_is_list(required) && i < value_list(required)->n; i++)
        always |= value_is_string(value_list(required)->at[i]) && str_eq(value_str(value_list(required)->at[i]), name);
    if (text && always) return true;
    if (kind == CALL_SEARCH && !parameter) return true;                  /* searches the whole workspace */
    loader_error(l, at, "kind", "tool \"" STR_FMT "\": kind %s needs a %sparameter \"" STR_FMT "\" of type string, which rules compare",
                 STR_ARG(t->name), call_kind_name(kind), kind == CALL_SEARCH ? "" : "required ", STR_ARG(name));
    return false;
}

bool loader_kind(Loader *l, const LoaderPlace *at, ToolDef *t) {
    static const Field field = { KEY(tool, kind), .type = FIELD_STRING, .flags = FIELD_NOT_NULL };
    FieldInput in = loader_input(l, at);
    Str name = { 0 };
    size_t n;
    const Str *known = call_kind_list(&n);
    if (!field_read_one(&in, &field, &name)) return false;
    if (!name.at) return true;
    t->call_kind = call_kind_find(name);
    if (t->call_kind == CALL_KIND_NONE) {
        problems_add(l->docs.problems, PROBLEM_ERROR, at->origin.file, document_place(at->document, at->map, STR("kind")),
                     field_hint(l->docs.arena, name, known, n), "%s: \"" STR_FMT "\" is not a kind of call", field_path(&in, "kind"), STR_ARG(name));
        return false;
    }
    if (t->call_kind == CALL_MCP || t->kind == TOOL_MCP) {
        loader_error(l, at, "kind", "tool \"" STR_FMT "\": %s", STR_ARG(t->name),
                     t->kind == TOOL_MCP ? "its kind is mcp: remove the key" : "only tools of MCP servers are of kind mcp");
        return false;
    }
    return check_argument(l, at, t, t->call_kind);
}
