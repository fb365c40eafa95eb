#include "tool/builtin/builtin.h"
#include <unistd.h>
#include "base/mem.h"
#include "tool/pipeline/pipe.h"
#include "tool/runtime_private.h"
#include "value/int.h"
#include "value/json.h"

static const BuiltinDef *const tables[] = { builtin_bash, builtin_read, builtin_write, builtin_find, builtin_list, builtin_bridge, builtin_services };

static bool wanted(const BuiltinDef *d, bool all, const StrList *names) {
    if (d->service || (all && !d->bridge)) return true;
    for (size_t i = 0; i < names->n; i++)
        if (str_eq(names->at[i], str_from(d->name))) return true;
    return false;
}

static bool compile(Runtime *rt, const char *text, Value *root, Schema **out, Error *err) {
    if (!json_read(rt->heap, str_from(text), &(JsonRead){ .reject_duplicates = true }, root, err)) return false;
    value_freeze(*root);
    if (!schema_compile(&(SchemaInput){ .root = *root }, out, err)) return false;
    VEC_PUSH(&rt->schemas, *out);
    return true;
}

static ToolDef definition(const BuiltinDef *d) {
    return (ToolDef){ .name = str_from(d->name), .title = str_from(d->title), .description = str_from(d->description),
                      .kind = d->bridge ? TOOL_BRIDGE : TOOL_BUILTIN,
                      .origin = { .source = SOURCE_BUILTIN }, .output_schema = VALUE_GONE, .timeout_ms = d->timeout_ms, .safety = VALUE_GONE,
                      .retry = VALUE_GONE, .environment = VALUE_GONE };
}

static bool register_one(Runtime *rt, const BuiltinDef *d, bool user_only, Error *err) {
    ToolEntry e = { .def = definition(d), .execute = d->execute, .inspect = d->inspect, .service = d->service, .user_only = user_only };
    safety_detect(&e.def, &e.safety);
    e.safety.parallel_safe |= d->parallel_safe;
    bool ok = compile(rt, d->parameters, &e.def.parameters, &e.def.schema, err) &&
              (!d->output || compile(rt, d->output, &e.def.output_schema, &e.def.output, err)) && registry_add(rt->registry, &e, err);
    return ok || error_wrap(err, "built-in tool %s", d->name);
}

bool tool_builtins_register(Runtime *rt, bool all, const StrList *names, Error *err) {
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const BuiltinDef *d = tables[t]; d->name; d++)
            if (wanted(d, all, names) && !register_one(rt, d, false, err)) return false;
    /* A project's own tool of that name replaces the built-in one. */
    if (rt->config.user_reads && !registry_find(rt->registry, STR("read"), NULL, 0)) return register_one(rt, builtin_read, true, err);
    return true;
}

/* ---- listing ---- */

static bool append_one(Project *p, const BuiltinDef *d, Heap *heap, Error *err) {
    ToolDef def = definition(d);
    if (!json_read(heap, str_from(d->parameters), &(JsonRead){ 0 }, &def.parameters, err)) return false;
    if (d->output && !json_read(heap, str_from(d->output), &(JsonRead){ 0 }, &def.output_schema, err)) return false;
    p->tools = mem_resize(p->tools, p->n_tools + 1, sizeof *p->tools);
    p->tools[p->n_tools++] = def;
    return true;
}

bool builtin_append(Project *p, Heap *heap, Error *err) {
    bool all = p->settings.builtin_all || (p->has_space && !p->settings.builtin_set);
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const BuiltinDef *d = tables[t]; d->name; d++)
            if (!d->service && wanted(d, all, &p->settings.builtin_tools) && !append_one(p, d, heap, err)) return false;
    return true;
}

/* ---- arguments ---- */

Value builtin_arg(const ToolCallFrame *f, const char *key) {
    Value *v = dict_find_str(value_dict(f->args), str_from(key));
    return v ? *v : VALUE_GONE;
}

Str builtin_arg_text(const ToolCallFrame *f, const char *key, Str fallback) {
    Value v = builtin_arg(f, key);
    return value_is_string(v) ? value_str(v) : fallback;
}

/* "integer" in JSON Schema includes numbers like 2.0. */
int64_t builtin_arg_int(const ToolCallFrame *f, const char *key, int64_t fallback) {
    Value v = builtin_arg(f, key);
    int64_t n;
    if (value_is_int(v) && int_to_i64(v, &n)) return n;
    if (value_is_float(v) && value_float(v) > -1e15 && value_float(v) < 1e15) return (int64_t)value_float(v);
    return fallback;
}

bool builtin_arg_flag(const ToolCallFrame *f, const char *key) {
    Value v = builtin_arg(f, key);
    return value_is_bool(v) && value_bool(v);
}

/* ---- paths ---- */

/* The part of `path` below `folder`; "." for the folder itself; empty if it is elsewhere. */
static Str part_below(Str path, Str folder) {
    if (str_eq(path, folder)) return STR(".");
    if (str_eq(folder, STR("/"))) return str_sub(path, 1, path.n);
    if (!str_starts(path, folder) || path.at[folder.n] != '/') return (Str){ 0 };
    return str_sub(path, folder.n + 1, path.n);
}

Str builtin_name(const ToolCallFrame *f, Str absolute) {
    Str below = part_below(absolute, f->host->workspace);
    return below.n ? below : absolute;
}

bool builtin_start_open(const ToolCallFrame *f, Arena *arena, BuiltinStart *out, Error *err) {
    const Jail *j = f->host->jail;
    Str given = builtin_arg_text(f, "path", STR(".")), root = f->host->workspace;
    JailPlace place;
    *out = (BuiltinStart){ .root = -1 };
    if (!jail_place(j, given, false, arena, &place, err)) return false;
    if (place.picked) return error_set(err, ERR_SANDBOX, STR_FMT ": a picked file can only be read", STR_ARG(given));
    Str below = part_below(place.absolute, root);
    if (!below.n) {                                       /* in another root */
        below = place.path;
        root = str_eq(below, STR(".")) ? place.absolute : str_sub(place.absolute, 0, place.absolute.n - below.n);
        out->prefix = str_from(arena_fmt(arena, STR_FMT "%s", STR_ARG(root), str_ends(root, STR("/")) ? "" : "/"));
    }
    out->start = str_eq(below, STR(".")) ? STR("") : arena_str(arena, below);
    if (str_eq(root, STR("/"))) out->careful = j;
    out->root = jail_open_dir(j, root, err);
    return out->root >= 0;
}

void builtin_start_close(BuiltinStart *s) {
    if (s->root >= 0) close(s->root);
    s->root = -1;
}

/* Applies the rules about reading to every file that a search would show. */
static bool may_read(const BuiltinStart *s, Str path) {
    const Pipe *p = s->reads->host->call;
    Buf whole = { 0 };
    if (!pipe_rules_read(p)) return true;
    if (s->prefix.n) buf_add(&whole, s->prefix);
    else buf_add_fmt(&whole, STR_FMT "/", STR_ARG(s->reads->host->workspace));
    buf_add(&whole, path);
    bool may = pipe_rules_may_read(p, buf_str(&whole));
    buf_clear(&whole);
    return may;
}

bool builtin_may_see(void *start, Str path, bool folder) {
    const BuiltinStart *s = start;
    if (s->reads && !folder && !may_read(s, path)) return false;
    if (!s->careful) return true;
    Buf whole = { 0 };
    JailStat st;
    buf_add(&whole, s->prefix.n ? s->prefix : STR("/"));
    buf_add(&whole, path);
    bool seen = jail_stat(s->careful, buf_str(&whole), &st, NULL) && (st.type == 'd') == folder;
    buf_clear(&whole);
    return seen;
}

/* ---- results ---- */

bool builtin_end(ToolCallFrame *f, bool ok, Error *err) {
    if (ok || err->kind != ERR_IO) return ok;
    Error own = *err;
    return kind_error_value(f, str_from(own.msg), err);
}

bool builtin_put_text(Heap *h, Dict *d, const char *key, Str text, Error *err) {
    Value v;
    return kind_text_value(h, text, &v, err) && dict_put_str(h, d, str_from(key), v, err);
}
