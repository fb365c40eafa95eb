/* tools.json: argv tools. The messages follow the reference page of the manifest, so they identify
 * an entry by index and name, not by path. */
#include "artifact/load_program.h"
#include "value/int.h"
#include "value/list.h"

typedef struct ManifestEntry {
    Str name, description;
    Value schema;
    StrList command, env;
    int64_t timeout;
} ManifestEntry;

#define SCHEMA "the parameters of a tool are \"schema\" in tools.json"
static const Field entry_fields[] = {
    { KEY(manifest, name), .type = FIELD_STRING, .offset = offsetof(ManifestEntry, name) },
    { KEY(manifest, description), .type = FIELD_STRING, .offset = offsetof(ManifestEntry, description) },
    { KEY(manifest, schema), .type = FIELD_MAP, .offset = offsetof(ManifestEntry, schema) },
    { KEY(manifest, command), .type = FIELD_STRINGS, .offset = offsetof(ManifestEntry, command) },
    { KEY(manifest, timeoutSec), .type = FIELD_INT, .offset = offsetof(ManifestEntry, timeout) },
    { KEY(manifest, envPassthrough), .type = FIELD_STRINGS, .offset = offsetof(ManifestEntry, env) },
    { KEY(tool, parameters), .flags = FIELD_UNKNOWN | FIELD_REFUSED, .hint = SCHEMA },
    { .name = "inputSchema", .flags = FIELD_UNKNOWN | FIELD_REFUSED, .hint = SCHEMA },
    { .name = "input_schema", .flags = FIELD_UNKNOWN | FIELD_REFUSED, .hint = SCHEMA },
};

typedef struct Manifest {
    Loader *l;
    LoaderPlace at;              /* position of the current entry */
    const char *label;           /* tool[3] "name" */
    Str folder;
    Table names;
} Manifest;

/* ---- environment ---- */

static bool is_env_name(Str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        if (!((c >= 'A' && c <= 'Z') || c == '_' || (i && c >= '0' && c <= '9'))) return false;
    }
    return s.n > 0;
}

static Str upper(Arena *arena, Str s) {
    char *out = arena_alloc(arena, s.n + 1);
    for (size_t i = 0; i < s.n; i++) out[i] = (char)(s.at[i] >= 'a' && s.at[i] <= 'z' ? s.at[i] - ('a' - 'A') : s.at[i]);
    out[s.n] = 0;
    return (Str){ out, s.n };
}

/* Checks the names: upper case, each once. */
static bool check_env(Manifest *m, StrList *env) {
    Table seen = { 0 };
    size_t n = 0;
    bool ok = true;
    for (size_t i = 0; i < env->n; i++) {
        Str name = upper(m->l->docs.arena, env->at[i]);
        if (!is_env_name(name)) {
            loader_error(m->l, &m->at, "envPassthrough", "%s: envPassthrough[%zu]: invalid name \"" STR_FMT "\" (must match [A-Z_][A-Z0-9_]*)",
                         m->label, i, STR_ARG(env->at[i]));
            ok = false;
        } else if (!loader_env_allowed(m->l, name)) {
            loader_warn(m->l, &m->at, "envPassthrough", "sandbox.env_allow of harness.md can name it",
                        "%s: envPassthrough[%zu]: %s is a key or token and is withheld from the tool", m->label, i, name.at);
        } else if (!table_has(&seen, name)) {
            table_put(&seen, name, m);
            env->at[n++] = name;
        }
    }
    table_clear(&seen);
    env->n = n;
    return ok;
}

/* ---- entries ---- */

/* Checks the name first, so that all messages about the entry can show it. */
static bool check_name(Manifest *m, ManifestEntry *e, size_t i) {
    Value *given = dict_find_str(value_dict(m->at.map), STR("name"));
    m->label = arena_fmt(m->l->docs.arena, "tool[%zu]", i);
    if (given && !value_is_string(*given) && !value_is_none(*given)) return false;   /* wrong type: field_read reports it */
    if (!given || value_is_none(*given) || value_string(*given)->n == 0) {
        loader_error(m->l, &m->at, "name", "%s: name is required", m->label);
        return false;
    }
    e->name = m->at.name = value_str(*given);
    m->label = arena_fmt(m->l->docs.arena, "tool[%zu] \"" STR_FMT "\"", i, STR_ARG(e->name));
    if (table_put(&m->names, e->name, m)) {
        loader_error(m->l, &m->at, "name", "%s: duplicate name", m->label);
        return false;
    }
    return loader_name_ok(m->l, &m->at, "tool", e->name);
}

/* In milliseconds; -1, the default of the kind, if absent or 0. */
static bool check_timeout(Manifest *m, int64_t *out) {
    Value *given = dict_find_str(value_dict(m->at.map), STR("timeoutSec"));
    int64_t seconds;
    *out = -1;
    if (!given || value_is_none(*given)) return true;
    if (!value_is_int(*given) || !int_to_i64(*given, &seconds)) return false;        /* field_read reports it */
    if (seconds == 0) return true;
    if (seconds < 0) loader_error(m->l, &m->at, "timeoutSec", "%s: timeoutSec must be >= 1", m->label);
    else if (seconds > INT64_MAX / 1000) loader_error(m->l, &m->at, "timeoutSec", "%s: timeoutSec is too large", m->label);
    else return *out = seconds * 1000, true;
    return false;
}

static Value empty_schema(Heap *h) {
    Dict *schema = dict_new(h, 2, NULL), *properties = dict_new(h, 0, NULL);
    String *object = string_new(h, STR("object"), NULL);
    if (!schema || !properties || !object || !dict_put_str(h, schema, STR("type"), value_from_object(object), NULL)
        || !dict_put_str(h, schema, STR("properties"), value_from_object(properties), NULL))
        return VALUE_GONE;
    return value_from_object(schema);
}

static void load_entry(Manifest *m, size_t i) {
    ManifestEntry e = { .schema = VALUE_GONE };
    Problems before = *m->l->docs.problems;
    int64_t timeout_ms;
    bool named = check_name(m, &e, i), ok = named;
    ok = loader_read_open(m->l, &m->at, UNKNOWN_KEYS_GUARD, entry_fields, sizeof entry_fields / sizeof *entry_fields, &e) && ok;
    ok = load_program_argv(m->l, &m->at, "command", m->label, &e.command) && ok;
    ok = check_timeout(m, &timeout_ms) && ok;
    ok = check_env(m, &e.env) && ok;
    if (value_is_gone(e.schema)) e.schema = empty_schema(m->l->docs.heap);
    ok = loader_schema_slips(m->l, &m->at, "schema", e.schema) && ok;
    Schema *schema = loader_schema(m->l, &m->at, "schema", e.schema);
    ok = schema && ok;
    if (!ok && (loader_forgive(m->l, &before) || !named)) return;
    ToolDef tool = {
        .name = e.name, .description = e.description.n ? e.description : e.name, .kind = TOOL_ARGV, .origin = m->at.origin,
        .parameters = e.schema, .schema = schema, .output_schema = VALUE_GONE, .safety = VALUE_GONE, .retry = VALUE_GONE,
        .environment = VALUE_GONE, .timeout_ms = timeout_ms, .argv = e.command, .env_passthrough = e.env, .folder = m->folder,
        .argv_place = document_place(m->at.document, m->at.map, STR("command")),
    };
    if (tool.argv.n) load_program_protect(m->l, m->folder, tool.argv.at[0]);
    VEC_PUSH(&m->l->tools, tool);
}

static Origin origin_of(const Document *d, Value map, Place fallback) {
    Place at = value_is_dict(map) && dict_find_str(value_dict(map), STR("name")) ? document_place(d, map, STR("name")) : fallback;
    return (Origin){ d->file, at.line, at.column, SOURCE_MANIFEST };
}

static void load_entries(Loader *l, const Document *d, Value list, Str folder) {
    Manifest m = { .l = l, .folder = folder };
    const List *entries = value_list(list);
    for (uint32_t i = 0; i < entries->n; i++) {
        Place place = document_item_place(d, list, i);
        const char *path = arena_fmt(l->docs.arena, "tools[%u]", i);
        FieldInput in = { .context = &l->docs, .document = d, .map = entries->at[i], .path = path, .at = place };
        if (!field_is_map(&in)) continue;
        m.at = (LoaderPlace){ .document = d, .map = entries->at[i], .path = path, .origin = origin_of(d, entries->at[i], place) };
        load_entry(&m, i);
    }
    table_clear(&m.names);
}

static Str folder_of(Str path) {
    for (size_t i = path.n; i-- > 0;)
        if (path.at[i] == '/') return str_sub(path, 0, i);
    return STR(".");
}

void load_manifest_document(Loader *l, const Document *d, Str folder) {
    static const Field root_fields[] = { { KEY(manifest, tools), .type = FIELD_LIST, .flags = FIELD_REQUIRED } };
    Value tools = VALUE_GONE;
    FieldInput in = { .context = &l->docs, .document = d, .map = d->root, .path = "", .at = document_item_place(d, VALUE_GONE, 0),
                      .unknown = UNKNOWN_KEYS_GUARD };
    if (!value_is_dict(d->root))
        document_report(&l->docs, d, PROBLEM_ERROR, in.at, (Str){ 0 }, "parse manifest " STR_FMT ".json: json: line %u: expected a map",
                        STR_ARG(d->name), in.at.line);
    else if (field_read(&in, root_fields, 1, &tools) && !value_is_gone(tools))
        load_entries(l, d, tools, folder);
}

void load_manifest(Loader *l, Str path) {
    Document d;
    loader_look_at(l, path);
    if (!document_read_json(&l->docs, "manifest", path, &d)) return;
    load_manifest_document(l, &d, arena_str(l->docs.arena, folder_of(path)));
    document_clear(&d);
}
