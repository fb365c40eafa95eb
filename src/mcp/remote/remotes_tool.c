/* A server's tool as a tool of the project: its name, its definition, and comparison with its pin. */
#include <stdlib.h>
#include "base/digest.h"
#include "base/mem.h"
#include "mcp/remote/client_private.h"
#include "mcp/remote/remotes_private.h"

enum { NAME_MAX_BYTES = 128, ALIAS_MAX = 64, DEFINITION_MAX = 256 << 10, TOOLS_MAX = 1000 };

static const char *const pinned_members[] = { "name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution" };

/* ---- text of a definition ---- */

void remotes_tool_text(Value tool, Buf *out) {
    Error err;
    bool any = false;
    buf_add_char(out, '{');
    for (size_t i = 0; i < sizeof pinned_members / sizeof *pinned_members; i++) {
        Value v = value_member(tool, pinned_members[i]);
        size_t before = out->n;
        if (value_is_gone(v)) continue;
        buf_add_fmt(out, "%s\"%s\":", any ? "," : "", pinned_members[i]);
        if (!json_write(out, v, &(JsonWrite){ .sort_keys = true }, &err)) out->n = before;
        else any = true;
    }
    buf_add_char(out, '}');
}

bool remotes_redact(Remote *s, Heap *heap, Value *v, Error *err) {
    Redactor *r = runtime_redactor(s->all->rt);
    Buf text = { 0 };
    if (redact_empty(r)) return true;
    bool ok = json_write(&text, *v, &(JsonWrite){ 0 }, err);
    if (ok && redact_json(r, &text)) ok = json_read(heap, buf_str(&text), &(JsonRead){ .max_depth = RPC_DEPTH_MAX }, v, err);
    buf_clear(&text);
    return ok;
}

/* ---- names ---- */

/* The characters that the specification allows, plus the slash and colon that servers use. Others have a meaning in
 * globs, shells and listings. */
static bool name_ok(Str name) {
    for (size_t i = 0; i < name.n; i++) {
        char c = name.at[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (!c || !strchr("_-./:", c))) return false;
    }
    return name.n > 0 && name.n <= NAME_MAX_BYTES;
}

/* Ends an alias with a part of a digest of `text`, within ALIAS_MAX. */
static void end_in_digest(Buf *b, Str text, size_t bytes) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    Buf hex = { 0 };
    Error err;
    if (digest_sha256(text, digest, &err)) digest_hex(digest, bytes, &hex);
    if (b->n > ALIAS_MAX - 1 - hex.n) b->n = ALIAS_MAX - 1 - hex.n;
    buf_add_char(b, '_');
    buf_add(b, buf_str(&hex));
    buf_clear(&hex);
}

/* True if the alias could belong to another configured server (a and a__b, a and a_), running or not. */
static bool is_ambiguous(const Remote *s, Str alias) {
    const Project *p = runtime_project(s->all->rt);
    const ServerDef *first[2];
    return project_alias_servers(p->servers, p->n_servers, alias, first) > 1;
}

/* mcp__SERVER__TOOL in the characters that providers accept. An alias that was too long or had other characters ends
 * with a digest; one that could belong to another server ends with a digest of both names, and *ambiguous is the alias
 * without it. */
static Str alias_of(Remote *s, Str name, Str canonical, Str *ambiguous) {
    Buf b = { 0 };
    bool same = true;
    buf_add_fmt(&b, "mcp__" STR_FMT "__", STR_ARG(s->def->name));
    for (size_t i = 0; i < name.n; i++) {
        char c = name.at[i];
        bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
        buf_add_char(&b, fine ? c : '_');
        same = same && fine;
    }
    *ambiguous = is_ambiguous(s, buf_str(&b)) ? arena_str(&s->arena, buf_str(&b)) : (Str){ 0 };
    if (ambiguous->n || b.n > ALIAS_MAX) end_in_digest(&b, canonical, 8);   /* cutting may remove what distinguishes two
                                                                             * servers */
    else if (!same) end_in_digest(&b, name, 4);
    Str out = arena_str(&s->arena, buf_str(&b));
    buf_clear(&b);
    return out;
}

RemoteTool *remotes_tool(Remote *s, Str name) {
    for (size_t i = 0; i < s->tools.n; i++)
        if (str_eq(s->tools.at[i]->name, name)) return s->tools.at[i];
    return NULL;
}

static bool listed(StrList globs, Str name) {
    for (size_t i = 0; i < globs.n; i++)
        if (policy_name_matches(globs.at[i], name)) return true;
    return false;
}

static bool allowed(const Remote *s, Str name) {
    return (!s->def->allow_only || listed(s->def->allow_tools, name)) && !listed(s->def->deny_tools, name);
}

/* ---- definitions ---- */

static void warn(const Remote *s, Str tool, const char *why) {
    LOG_WRITE(runtime_log(s->all->rt), LOG_WARN, "server " STR_FMT ": tool \"" STR_FMT "\" is skipped: %s", STR_ARG(s->def->name),
              STR_ARG(str_sub(tool, 0, NAME_MAX_BYTES)), why);
}

static bool flag(Value map, const char *key, bool fallback) {
    Value v = value_member(map, key);
    return value_is_bool(v) ? value_bool(v) : fallback;
}

/* Uses the annotations of a trusted server as safety. */
static bool trusted_safety(RemoteTool *t, Value tool, ToolDef *def, Error *err) {
    Value hints = value_member(tool, "annotations");
    Dict *d = dict_new(t->heap, 4, err);
    bool reads = flag(hints, "readOnlyHint", false), again = flag(hints, "idempotentHint", false);
    if (!d || !dict_put_str(t->heap, d, STR("read_only"), value_from_bool(reads), err)
        || !dict_put_str(t->heap, d, STR("destructive"), value_from_bool(!reads && flag(hints, "destructiveHint", true)), err)
        || !dict_put_str(t->heap, d, STR("networked"), value_from_bool(flag(hints, "openWorldHint", true)), err)
        || !dict_put_str(t->heap, d, STR("parallel_safe"), value_from_bool(reads), err)) return false;
    def->safety = value_from_object(d);
    if (again || reads) def->idempotency = STR("idempotent");
    return true;
}

static bool make_schemas(RemoteTool *t, ToolDef *def, Error *err) {
    if (!value_is_dict(def->parameters)) return error_set(err, ERR_PROTOCOL, "it has no inputSchema");
    if (!schema_compile(&(SchemaInput){ .root = def->parameters }, &t->input, err)) return error_wrap(err, "inputSchema");
    if (value_is_dict(def->output_schema) && !schema_compile(&(SchemaInput){ .root = def->output_schema }, &t->output,
        err)) return error_wrap(err, "outputSchema");
    def->schema = t->input;
    def->output = t->output;
    return true;
}

/* A held tool was requested: checks whether the user approved it in another process. */
static void recheck(void *data) {
    Remote *s = ((RemoteTool *)data)->server;
    pthread_mutex_lock(&s->lock);
    remotes_refresh(s);
    pthread_mutex_unlock(&s->lock);
}

static bool define(RemoteTool *t, Str text, ToolEntry *e, Error *err) {
    Remote *s = t->server;
    Value tool;
    t->heap = heap_new((size_t)64 << 20);
    if (!json_read(t->heap, text, &(JsonRead){ .max_depth = RPC_DEPTH_MAX }, &tool, err)) return false;
    Str title = value_member_text(tool, "title"), words = value_member_text(tool, "description");
    if (!title.n) title = value_member_text(value_member(tool, "annotations"), "title");
    Str *alias = ARENA_ARRAY(&s->arena, Str, 1);
    Str canonical = str_from(arena_fmt(&s->arena, "mcp:" STR_FMT ":" STR_FMT, STR_ARG(s->def->name), STR_ARG(t->name))), ambiguous;
    *alias = alias_of(s, t->name, canonical, &ambiguous);
    e->def = (ToolDef){ .name = canonical, .title = title,
                        .description = words.n ? words : t->name, .aliases = { alias, 1 }, .ambiguous = ambiguous, .kind = TOOL_MCP,
                        .origin = { s->def->origin.file, s->def->origin.line, s->def->origin.column, SOURCE_MCP },
                        .parameters = value_member(tool, "inputSchema"), .output_schema = value_member(tool, "outputSchema"),
                        .timeout_ms = s->def->timeout_ms, .safety = VALUE_GONE, .retry = VALUE_GONE, .environment = VALUE_GONE,
                        .server = s->def->name, .server_tool = t->name };
    if (s->def->trust_annotations && !trusted_safety(t, tool, &e->def, err)) return false;
    heap_freeze_all(t->heap);
    if (!make_schemas(t, &e->def, err)) return false;
    if (s->def->trust_annotations) safety_trusted(&e->def, &s->arena, &e->safety);
    else (void)safety_of(&e->def, &s->arena, &e->safety, NULL);
    if (!s->def->url.n) e->safety.process = true;
    e->execute = remotes_call;
    e->recheck = recheck;
    e->data = t;
    return true;
}

static void undefine(RemoteTool *t) {
    schema_free(t->input);
    schema_free(t->output);
    if (t->heap) heap_free(t->heap);
    t->input = t->output = NULL;
    t->heap = NULL;
}

void remotes_tool_free(RemoteTool *t) {
    undefine(t);
    for (size_t i = 0; i < t->old.n; i++) {
        schema_free(t->old.at[i].input);
        schema_free(t->old.at[i].output);
        heap_free(t->old.at[i].heap);
    }
    VEC_CLEAR(&t->old);
    remotes_set_changed(t, (Str){ 0 });
    free(t);
}

static RemoteTool *add(Remote *s, Str name) {
    RemoteTool *t = mem_zero(1, sizeof *t);
    t->server = s;
    t->name = arena_str(&s->arena, name);
    VEC_PUSH(&s->tools, t);
    return t;
}

static bool wants_task(Value tool) { return str_eq(value_member_text(value_member(tool, "execution"), "taskSupport"), STR("required")); }

/* Only once: the registry never removes an entry. */
static void enter(Remote *s, RemoteTool *t) {
    ToolEntry e = { 0 };
    Error err = { 0 };
    if (t->registered.n || t->dropped) return;
    if (define(t, t->pin, &e, &err) && registry_add(runtime_registry(s->all->rt), &e, &err)) {
        t->registered = e.def.name;
        return;
    }
    undefine(t);
    t->dropped = true;
    warn(s, t->name, err.msg);
}

RemoteTool *remotes_add_pinned(Remote *s, Value tool, Str text, bool gone) {
    Str name = value_member_text(tool, "name");
    RemoteTool *t = remotes_tool(s, name);                 /* a face was added before */
    const char *wrong = t ? NULL : s->tools.n >= TOOLS_MAX ? "the server has too many" : !name_ok(name)
        ? "a tool's name is 1 to 128 of A-Z a-z 0-9 _ - . / :" : NULL;
    if (wrong) return warn(s, name, wrong), NULL;
    if (!t) t = add(s, name);
    t->pin = arena_str(&s->arena, text);
    t->task = wants_task(tool);
    t->gone = gone;
    if (!gone) enter(s, t);
    return t;
}

bool remotes_add_face(Remote *s, McpRemotes *m, const ToolDef *def, Error *err) {
    ToolEntry e = { .def = *def, .execute = s ? remotes_call : remotes_call_nowhere, .scope = def->agent };
    if (!safety_of(def, &m->arena, &e.safety, NULL)) return error_set(err, ERR_CONFIG,
        "tool \"" STR_FMT "\": safety declares less than the tool does", STR_ARG(def->name));
    if (!s) return registry_add(runtime_registry(m->rt), &e, err);
    if (!s->def->url.n) e.safety.process = true;
    if (e.def.timeout_ms < 0) e.def.timeout_ms = s->def->timeout_ms;
    RemoteTool *t = remotes_tool(s, def->server_tool);
    if (!t) t = add(s, def->server_tool);
    t->face = true;
    t->registered = def->name;
    e.data = t;
    e.recheck = recheck;
    return registry_add(runtime_registry(m->rt), &e, err);
}

/* ---- comparing ---- */

/* Not in the arena: a server may change its definition any number of times. */
void remotes_set_changed(RemoteTool *t, Str text) {
    Str old = t->changed;
    t->changed = text.n ? (Str){ str_dup(text), text.n } : (Str){ 0 };
    free((char *)(uintptr_t)old.at);
}

static void hold(Remote *s, RemoteTool *t, Str text) {
    bool differs = !str_eq(t->pin, text);
    if (differs && t->changed.n == 0)
        LOG_WRITE(runtime_log(s->all->rt), LOG_WARN,
                  "server " STR_FMT ": tool \"" STR_FMT "\" changed since you approved it; to review it, run: harness mcp approve " STR_FMT,
                  STR_ARG(s->def->name), STR_ARG(t->name), STR_ARG(s->def->name));
    if (!differs) remotes_set_changed(t, (Str){ 0 });
    else if (!str_eq(t->changed, text)) remotes_set_changed(t, text);
    if (t->registered.n && !t->dropped) registry_hold(runtime_registry(s->all->rt), t->registered, differs);
}

/* Replaces a definition in the registry; removes it when the new one is invalid. */
static void redefine(Remote *s, RemoteTool *t) {
    ToolEntry e = { 0 };
    Error err = { 0 };
    if (t->face) return;
    t->dropped = false;
    if (!t->registered.n) {                               /* the earlier definition was invalid */
        if (!t->gone) enter(s, t);
        return;
    }
    if (t->heap) VEC_PUSH(&t->old, ((OldDefinition){ t->heap, t->input, t->output }));
    t->heap = NULL;
    t->input = t->output = NULL;
    if (define(t, t->pin, &e, &err)) {
        e.held = true;                                    /* until the server's current definition was compared */
        registry_redefine(runtime_registry(s->all->rt), &e);
        return;
    }
    undefine(t);
    t->dropped = true;
    registry_hold(runtime_registry(s->all->rt), t->registered, true);
    warn(s, t->name, err.msg);
}

void remotes_repin(Remote *s, RemoteTool *t, Str text) {
    Str said = t->changed.n ? t->changed : t->pin;        /* the server's last definition */
    Buf now = { 0 };
    Heap *h = heap_new(0);
    Value tool;
    Error err;
    buf_add(&now, said);
    t->pin = arena_str(&s->arena, text);
    if (json_read(h, t->pin, &(JsonRead){ .max_depth = RPC_DEPTH_MAX }, &tool, &err)) t->task = wants_task(tool);
    heap_free(h);
    redefine(s, t);
    hold(s, t, buf_str(&now));
    buf_clear(&now);
}

bool remotes_is_now(const RemoteTool *t, const ToolDef *def) { return t->face || t->input == def->schema; }

/* A tool whose definition is too long counts as missing: its pin stays until it comes back. */
void remotes_apply(Remote *s, const List *tools) {
    for (size_t i = 0; i < s->tools.n; i++) s->tools.at[i]->gone = true;
    for (uint32_t i = 0; i < tools->n; i++) {
        Str name = value_member_text(tools->at[i], "name");
        RemoteTool *t = remotes_tool(s, name);
        Buf text = { 0 };
        if (!allowed(s, name)) continue;
        remotes_tool_text(tools->at[i], &text);
        if (text.n > DEFINITION_MAX) warn(s, name, "its definition is too long");
        else if (t && t->pin.n) {
            t->gone = false;
            enter(s, t);
            hold(s, t, buf_str(&text));
        } else (void)remotes_add_pinned(s, tools->at[i], buf_str(&text), false);
        buf_clear(&text);
    }
}
