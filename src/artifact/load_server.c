/* MCP servers: mcp_servers of the settings, and mcpServers of a .mcp.json. */
#include <strings.h>
#include "artifact/load.h"
#include "artifact/oauth_settings.h"
#include "value/list.h"

enum { SERVER_TIMEOUT_MS = 60000 };

typedef struct ServerFields { ServerDef def; Value tools; Str trust, type; } ServerFields;

#define SERVER(member) offsetof(ServerFields, def) + offsetof(ServerDef, member)
static const Field server_fields[] = {
    { KEY(server, command), .type = FIELD_STRING, .offset = SERVER(command) },
    { KEY(server, args), .type = FIELD_STRINGS, .offset = SERVER(args) },
    { KEY(server, env), .type = FIELD_MAP, .offset = SERVER(env) },
    { KEY(server, cwd), .type = FIELD_STRING, .offset = SERVER(cwd) },
    { KEY(server, url), .type = FIELD_STRING, .offset = SERVER(url) },
    { KEY(server, headers), .type = FIELD_MAP, .offset = SERVER(headers) },
    { KEY(server, oauth), .type = FIELD_MAP, .offset = SERVER(oauth) },
    { KEY(server, tools), .type = FIELD_MAP, .offset = offsetof(ServerFields, tools), .flags = FIELD_NOT_NULL },
    { KEY(server, timeout_ms), .type = FIELD_INT, .offset = SERVER(timeout_ms) },
    { KEY(server, read_roots), .type = FIELD_STRINGS, .offset = SERVER(read_roots) },
    { KEY(server, write_roots), .type = FIELD_STRINGS, .offset = SERVER(write_roots) },
    { KEY(server, network), .type = FIELD_BOOL, .offset = SERVER(network) },
    { KEY(server, allow), .type = FIELD_STRINGS, .offset = SERVER(allow) },
    { KEY(server, trust), .type = FIELD_STRING, .offset = offsetof(ServerFields, trust) },
    { KEY(server, type), .type = FIELD_STRING, .offset = offsetof(ServerFields, type) },
};

static const Field tools_fields[] = {
    { KEY(server_tools, allow), .type = FIELD_STRINGS, .offset = offsetof(ServerDef, allow_tools), .flags = FIELD_NOT_NULL },
    { KEY(server_tools, deny), .type = FIELD_STRINGS, .offset = offsetof(ServerDef, deny_tools), .flags = FIELD_NOT_NULL },
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

static bool check_words(Loader *l, const LoaderPlace *at, const ServerFields *f) {
    static const char *const allowed[] = { "sampling", "elicitation", "roots", NULL };
    static const char *const types[] = { "stdio", "http", "sse", "streamable-http", NULL };
    static const char *const trusts[] = { "annotations", NULL };
    bool ok = true;
    for (size_t i = 0; i < f->def.allow.n; i++) ok = loader_choice(l, at, "allow", f->def.allow.at[i], allowed) && ok;
    ok = loader_choice(l, at, "trust", f->trust, trusts) && ok;
    return loader_choice(l, at, "type", f->type, types) && ok;
}

static bool has_nul(Str s) { return s.n && memchr(s.at, 0, s.n); }

static bool check_program(Loader *l, const LoaderPlace *at, const ServerDef *s) {
    bool ok = true;
    if (s->command.at && (s->command.n == 0 || has_nul(s->command))) {
        loader_error(l, at, "command", "%s.command: must be the name of a program", at->path);
        ok = false;
    }
    for (size_t i = 0; i < s->args.n; i++) {
        if (!has_nul(s->args.at[i])) continue;
        loader_error(l, at, "args", "%s.args[%zu]: must not contain NUL", at->path, i);
        ok = false;
    }
    return ok;
}

static bool check_url(Loader *l, const LoaderPlace *at, Str url) {
    Str rest = str_starts(url, STR("https://")) ? str_sub(url, 8, url.n) : str_starts(url, STR("http://")) ? str_sub(url, 7, url.n) : STR("");
    bool ok = rest.n && rest.at[0] != '/';
    for (size_t i = 0; i < url.n; i++) ok = ok && (unsigned char)url.at[i] > 0x20 && url.at[i] != 0x7f;
    if (!ok) loader_error(l, at, "url", "%s.url: must start with https:// or http:// and name a host", at->path);
    return ok;
}

/* A server is a program or an address; rejects keys of the other kind. */
static bool check_transport(Loader *l, const LoaderPlace *at, const ServerDef *s) {
    if (s->command.at && s->url.at) {
        loader_error(l, at, "url", "%s: command and url exclude each other", at->path);
        return false;
    }
    if (!s->command.at && !s->url.at) {
        loader_error(l, at, NULL, "%s: command or url is required", at->path);
        return false;
    }
    static const struct { const char *key; bool program; } keys[] = { { "args", true }, { "env", true }, { "cwd", true },
        { "read_roots", true }, { "write_roots", true }, { "network", true }, { "headers", false }, { "oauth", false } };
    for (size_t i = 0; i < COUNT(keys); i++)
        if (dict_find_str(value_dict(at->map), str_from(keys[i].key)) && keys[i].program != (s->command.at != NULL))
            loader_warn(l, at, keys[i].key, NULL, "%s.%s has no meaning for a server with %s", at->path, keys[i].key,
                        s->command.at ? "a command" : "a url");
    return s->command.at ? check_program(l, at, s) : check_url(l, at, s->url);
}

static bool read_tools(Loader *l, const LoaderPlace *at, Value tools, ServerDef *s) {
    if (value_is_gone(tools)) return true;
    LoaderPlace inside = *at;
    inside.map = tools;
    inside.path = arena_fmt(l->docs.arena, "%s.tools", at->path);
    if (!loader_read(l, &inside, tools_fields, COUNT(tools_fields), s)) return false;
    FieldInput in = loader_input(l, &inside);
    s->allow_only = field_given(&in, "allow");
    bool ok = loader_patterns(l, &inside, "allow", PATTERN_SERVER, s->allow_tools);
    return loader_patterns(l, &inside, "deny", PATTERN_SERVER, s->deny_tools) && ok;
}

static GrantKey oauth_grant(Str key) {
    static const struct { const char *name; GrantKey grant; } rows[] = {
#define X(key, secret) { #key, GRANT_oauth_##key },
        OAUTH_TEXTS(X)
#undef X
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (str_eq(key, str_from(rows[i].name))) return rows[i].grant;
    return GRANT_NONE;                   /* dpop, redirect_port */
}

static bool check_oauth(Loader *l, const LoaderPlace *at, Value oauth) {
    if (value_is_gone(oauth)) return true;
    LoaderPlace inside = *at;
    inside.map = oauth;
    inside.path = arena_fmt(l->docs.arena, "%s.oauth", at->path);
    Place place = document_place(at->document, at->map, STR("oauth"));
    inside.origin.line = place.line;
    inside.origin.column = place.column;
    Str key;
    Error err = { 0 };
    if (!oauth_settings_check(oauth, &key, &err)) {
        const char *name = arena_str(l->docs.arena, key).at;
        bool about = key.n && strncmp(err.msg, name, key.n) == 0 && err.msg[key.n] == ':';     /* "KEY: …" */
        loader_error(l, &inside, key.n ? name : NULL, "%s%s%s%s%s%s", inside.path, about ? "." : ": ", err.msg, err.hint[0] ? " (" : "", err.hint,
                     err.hint[0] ? ")" : "");
        return false;
    }
    bool ok = true;
    FieldInput in = loader_input(l, &inside);
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(oauth), &i, &e);) {
        field_note(&in, arena_str(l->docs.arena, value_str(e->key)).at, oauth_grant(value_str(e->key)), e->value);
        const char *problem = value_is_string(e->value) ? loader_env_problem(l, value_str(e->value), false) : NULL;
        if (!problem) continue;
        loader_error(l, &inside, arena_str(l->docs.arena, value_str(e->key)).at, "%s." STR_FMT ": %s", inside.path, STR_ARG(value_str(e->key)), problem);
        ok = false;
    }
    return ok;
}

static void warn_two_tokens(Loader *l, const LoaderPlace *at, const ServerDef *s) {
    Entry *e;
    for (uint32_t i = 0; value_is_dict(s->headers) && !value_is_gone(s->oauth) && dict_next(value_dict(s->headers), &i, &e);)
        if (value_str(e->key).n == 13 && strncasecmp(value_str(e->key).at, "authorization", 13) == 0)
            loader_warn(l, at, "oauth", NULL, "%s.oauth has no meaning with an Authorization header", at->path);
}

static const ServerDef *find(const Loader *l, Str name) {
    for (size_t i = 0; i < l->servers.n; i++)
        if (str_eq(l->servers.at[i].name, name)) return &l->servers.at[i];
    return NULL;
}

static bool is_new(Loader *l, const LoaderPlace *at) {
    const ServerDef *other = find(l, at->name);
    if (!other) return true;
    const Origin *o = &other->origin;
    Str hint = str_from(arena_fmt(l->docs.arena, "first defined at " STR_FMT ":%u:%u", STR_ARG(o->file), o->line, o->column));
    document_report(&l->docs, at->document, PROBLEM_ERROR, (Place){ at->origin.line, at->origin.column }, hint,
                    "server \"" STR_FMT "\" is defined more than once", STR_ARG(at->name));
    return false;
}

static bool check_timeout(Loader *l, const LoaderPlace *at, int64_t ms) {
    if (ms >= 0) return true;
    loader_error(l, at, "timeout_ms", "server \"" STR_FMT "\" timeout_ms must be >= 0", STR_ARG(at->name));
    return false;
}

static void load_one(Loader *l, const LoaderPlace *at) {
    ServerFields f = { .def = { .name = at->name, .origin = at->origin, .env = VALUE_GONE, .headers = VALUE_GONE, .oauth = VALUE_GONE,
                                .timeout_ms = SERVER_TIMEOUT_MS }, .tools = VALUE_GONE };
    /* Other programs also read .mcp.json, and it may have keys for them. */
    UnknownKeys unknown = at->origin.source == SOURCE_MCP ? UNKNOWN_KEYS_GUARD : UNKNOWN_KEYS_REFUSE;
    bool typed = loader_read_open(l, at, unknown, server_fields, COUNT(server_fields), &f);
    if (!value_is_dict(at->map)) return;
    bool ok = loader_name_ok(l, at, "server", at->name);
    if (typed) ok = check_transport(l, at, &f.def) && ok;     /* after an error one of the two may only appear to be missing */
    ok = check_words(l, at, &f) && ok;
    ok = check_timeout(l, at, f.def.timeout_ms) && ok;
    ok = read_tools(l, at, f.tools, &f.def) && ok;
    ok = loader_env(l, at, "env", f.def.env, false) && ok;
    ok = loader_env(l, at, "headers", f.def.headers, true) && ok;
    ok = check_oauth(l, at, f.def.oauth) && ok;
    if (ok && typed) warn_two_tokens(l, at, &f.def);
    ok = is_new(l, at) && ok && typed;
    f.def.trust_annotations = f.trust.n > 0;
    if (ok) VEC_PUSH(&l->servers, f.def);
}

void load_servers(Loader *l, const Document *d, Value servers, bool mcp_json) {
    const char *root = mcp_json ? "mcpServers" : "mcp_servers";
    if (value_is_gone(servers) || value_is_none(servers)) return;
    FieldInput in = { .context = &l->docs, .document = d, .map = servers, .path = root, .at = document_place(d, d->root, str_from(root)) };
    if (!field_is_map(&in)) return;
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(servers), &i, &e);) {
        Str name = value_str(e->key);
        Place place = document_place(d, servers, name);
        load_one(l, &(LoaderPlace){
            .document = d, .map = e->value, .name = name, .path = arena_fmt(l->docs.arena, "%s." STR_FMT, root, STR_ARG(name)),
            .origin = { d->file, place.line, place.column, mcp_json ? SOURCE_MCP : SOURCE_PROJECT },
        });
    }
}

void load_mcp_json(Loader *l, Str path) {
    static const Field root_fields[] = { { KEY(config, mcpServers), .type = FIELD_MAP, .flags = FIELD_REQUIRED } };
    Document d;
    Value servers = VALUE_GONE;
    loader_look_at(l, path);
    if (!document_read_json(&l->docs, "config", path, &d)) return;
    FieldInput in = { .context = &l->docs, .document = &d, .map = d.root, .path = "", .at = document_item_place(&d, VALUE_GONE, 0),
        .unknown = UNKNOWN_KEYS_GUARD };
    if (!value_is_dict(d.root))
        document_report(&l->docs, &d, PROBLEM_ERROR, in.at, (Str){ 0 }, "parse config " STR_FMT ": json: line %u: expected a map",
                        STR_ARG(path), in.at.line);
    else if (field_read(&in, root_fields, 1, &servers))
        load_servers(l, &d, servers, true);
    document_clear(&d);
}
