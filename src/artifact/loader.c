#include "artifact/loader.h"
#include "value/list.h"

/* ---- positions ---- */

LoaderPlace loader_file_place(Loader *l, const Document *d, SourceKind source) {
    (void)l;
    return (LoaderPlace){ .document = d, .map = d->root, .path = "", .name = d->name, .origin = { d->file, 1, 1, source } };
}

LoaderPlace loader_item_place(Loader *l, const LoaderPlace *parent, const char *key, Value list, size_t i) {
    LoaderPlace at = *parent;
    Place place = document_item_place(parent->document, list, i);
    at.map = value_list(list)->at[i];
    at.path = arena_fmt(l->docs.arena, "%s%s%s[%zu]", parent->path, parent->path[0] ? "." : "", key, i);
    at.name = (Str){ 0 };
    at.origin.line = place.line;
    at.origin.column = place.column;
    return at;
}

FieldInput loader_input(Loader *l, const LoaderPlace *at) {
    return (FieldInput){ .context = &l->docs, .document = at->document, .map = at->map, .path = at->path,
                         .at = { at->origin.line, at->origin.column } };
}

bool loader_read(Loader *l, const LoaderPlace *at, const Field *fields, size_t n, void *out) {
    return loader_read_open(l, at, UNKNOWN_KEYS_REFUSE, fields, n, out);
}

bool loader_read_open(Loader *l, const LoaderPlace *at, UnknownKeys unknown, const Field *fields, size_t n, void *out) {
    FieldInput in = loader_input(l, at);
    in.unknown = unknown;
    return field_is_map(&in) && field_read(&in, fields, n, out);
}

/* ---- reports ---- */

static Place place_of(const LoaderPlace *at, const char *key) {
    if (key && value_is_dict(at->map) && dict_find_str(value_dict(at->map), str_from(key)))
        return document_place(at->document, at->map, str_from(key));
    return (Place){ at->origin.line, at->origin.column };
}

void loader_error(Loader *l, const LoaderPlace *at, const char *key, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    problems_add_v(l->docs.problems, PROBLEM_ERROR, at->origin.file, place_of(at, key), (Str){ 0 }, fmt, ap);
    va_end(ap);
}

void loader_warn(Loader *l, const LoaderPlace *at, const char *key, const char *hint, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    problems_add_v(l->docs.problems, PROBLEM_WARNING, at->origin.file, place_of(at, key), str_from(hint), fmt, ap);
    va_end(ap);
}

bool loader_forgive(Loader *l, const Problems *before) {
    Problems *p = l->docs.problems;
    if (!l->in->lenient || p->errors == before->errors) return false;
    for (size_t i = before->n; i < p->n; i++)
        if (p->at[i].severity == PROBLEM_ERROR) p->at[i].severity = PROBLEM_WARNING;
    p->warnings += p->errors - before->errors;
    p->errors = before->errors;
    return true;
}

/* ---- names ---- */

static bool well_formed(Str name) {
    for (size_t i = 0; i < name.n; i++) {
        char c = name.at[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-')) return false;
    }
    return name.n >= 1 && name.n <= 64;
}

bool loader_name_ok(Loader *l, const LoaderPlace *at, const char *what, Str name) {
    if (well_formed(name)) return true;
    loader_error(l, at, "name", "%s \"" STR_FMT "\": name must match [A-Za-z0-9_-]{1,64}", what, STR_ARG(name));
    return false;
}

bool loader_name(Loader *l, const LoaderPlace *at, const char *what, const char *list, Str *out) {
    Str name = at->name;
    Value *given = name.n || !value_is_dict(at->map) ? NULL : dict_find_str(value_dict(at->map), STR("name"));
    if (given && !value_is_none(*given)) {
        if (!value_is_string(*given)) {
            loader_error(l, at, "name", "%s.name: expected string, got %s", at->path, field_type_name(*given));
            return false;
        }
        name = value_str(*given);
    }
    if (name.n == 0) {
        if (at->path[0]) loader_error(l, at, "name", "%s.name cannot be empty", at->path);
        else loader_error(l, at, "name", "%s[0].name cannot be empty", list);
        return false;
    }
    return loader_name_ok(l, at, what, name) && (*out = name, true);
}

const char *const loader_efforts[] = { "none", "minimal", "low", "medium", "high", NULL };

bool loader_choice(Loader *l, const LoaderPlace *at, const char *key, Str value, const char *const *known) {
    Buf text = { 0 };
    Str names[16];
    size_t n = 0;
    if (value.n == 0) return true;
    for (; known[n]; n++) {
        if (str_eq(value, str_from(known[n]))) return true;
        names[n] = str_from(known[n]);
    }
    for (size_t i = 0; i < n; i++) buf_add_fmt(&text, "%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", known[i]);
    FieldInput in = loader_input(l, at);
    problems_add(l->docs.problems, PROBLEM_ERROR, at->origin.file, place_of(at, key), field_hint(l->docs.arena, value, names, n),
                 "%s: expected %s, got \"" STR_FMT "\"", field_path(&in, key), buf_str(&text).at, STR_ARG(value));
    buf_clear(&text);
    return false;
}

/* ---- rules ---- */

void loader_rule(Loader *l, const LoaderPlace *at, Str where, Str name, Place place) {
    VEC_PUSH(&l->rules, (LoaderRule){ where, name, at->origin.file, place, false });
}

bool loader_patterns(Loader *l, const LoaderPlace *at, const char *key, PatternKind kind, StrList names) {
    FieldInput in = loader_input(l, at);
    Value *list = dict_find_str(value_dict(at->map), str_from(key));
    bool ok = true;
    for (size_t i = 0; list && i < names.n; i++) {
        const char *hint, *problem = pattern_problem(kind, names.at[i], &hint);
        if (!problem) continue;
        document_report(&l->docs, at->document, PROBLEM_ERROR, document_item_place(at->document, *list, i), hint ? str_from(hint) : (Str){ 0 },
                        "%s[%zu]: \"" STR_FMT "\" %s", field_path(&in, key), i, STR_ARG(names.at[i]), problem);
        ok = false;
    }
    return ok;
}

void loader_rules(Loader *l, const LoaderPlace *at, const char *key, StrList names) {
    FieldInput in = loader_input(l, at);
    Value *list = dict_find_str(value_dict(at->map), str_from(key));
    if (!loader_patterns(l, at, key, PATTERN_TOOL, names)) return;
    for (size_t i = 0; list && i < names.n; i++) {
        Str where = str_from(arena_fmt(l->docs.arena, "%s[%zu]", field_path(&in, key), i));
        VEC_PUSH(&l->rules, ((LoaderRule){ where, names.at[i], at->origin.file, document_item_place(at->document, *list, i), true }));
    }
}

void loader_rule_rows(Loader *l, const LoaderPlace *at, Value rules) {
    size_t errors = l->docs.problems->errors;
    rule_rows_read(&l->docs, at->document, rules, "rules", at->origin.source == SOURCE_PULLED, &l->rule_rows);
    l->guard_errors += l->docs.problems->errors - errors;
}

/* ---- environment, protected paths ---- */

static bool in_list(Value list, Str name) {
    for (uint32_t i = 0; value_is_list(list) && i < value_list(list)->n; i++)
        if (value_is_string(value_list(list)->at[i]) && str_eq(value_str(value_list(list)->at[i]), name)) return true;
    return false;
}

static bool is_key(const Loader *l, Str name) {
    static const char *const keys[] = { "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OAI_API_KEY", "GITHUB_COPILOT_TOKEN",
                                        "HARNESS_MCP_TOKEN" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (str_eq(name, str_from(keys[i]))) return true;
    const Settings *s = &l->project->settings;
    for (size_t i = 0; i < s->n_models; i++)
        if (str_eq(name, s->models[i].api_key_env)) return true;
    return false;
}

bool loader_env_allowed(Loader *l, Str name) {
    if (!is_key(l, name)) return true;
    Value sandbox = l->project->settings.sandbox;
    Value *allowed = value_is_dict(sandbox) ? dict_find_str(value_dict(sandbox), STR("env_allow")) : NULL;
    return allowed && in_list(*allowed, name);
}

void loader_look_at(Loader *l, Str path) { VEC_PUSH(&l->looked_at, arena_str(l->docs.arena, path)); }
