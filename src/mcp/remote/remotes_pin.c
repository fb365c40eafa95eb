/* Persistent state of a server, as notes in the store: its pinned tools, pending changes, and the approval of its
 * entry. */
#include <stdio.h>
#include "base/diff.h"
#include "base/digest.h"
#include "mcp/remote/client_private.h"
#include "mcp/remote/remotes_private.h"

#define SCOPE STR("mcp")

/* ---- the entry ---- */

static void add_list(Buf *b, const char *key, StrList list) {
    buf_add_fmt(b, "\"%s\":[", key);
    for (size_t i = 0; i < list.n; i++) {
        if (i) buf_add_char(b, ',');
        json_write_string(b, list.at[i], false);
    }
    buf_add(b, STR("],"));
}

static void add_map(Buf *b, const char *key, Value map) {
    Error err;
    buf_add_fmt(b, "\"%s\":", key);
    if (!value_is_dict(map) || !json_write(b, map, &(JsonWrite){ .sort_keys = true }, &err)) buf_add(b, STR("{}"));
    buf_add_char(b, ',');
}

static void entry_text(const ServerDef *d, Buf *b) {
    buf_add(b, STR("{\"command\":"));
    json_write_string(b, d->command, false);
    buf_add(b, STR(",\"url\":"));
    json_write_string(b, d->url, false);
    buf_add(b, STR(",\"cwd\":"));
    json_write_string(b, d->cwd, false);
    buf_add_char(b, ',');
    add_list(b, "args", d->args);
    add_map(b, "env", d->env);
    add_map(b, "headers", d->headers);
    add_map(b, "oauth", d->oauth);
    add_list(b, "read_roots", d->read_roots);
    add_list(b, "write_roots", d->write_roots);
    add_list(b, "allow", d->allow);
    buf_add_fmt(b, "\"network\":%s,\"trust\":%s}", d->network ? "true" : "false", d->trust_annotations ? "true" : "false");
}

/* The selection of tools is not part of the hash: changing it keeps the pins. */
bool remotes_hash(Remote *s, Error *err) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    Buf text = { 0 }, hex = { 0 };
    entry_text(s->def, &text);
    bool ok = digest_sha256(buf_str(&text), digest, err);
    if (ok) digest_hex(digest, sizeof digest, &hex);
    if (ok) memcpy(s->hash, hex.at, sizeof s->hash);
    buf_clear(&text);
    buf_clear(&hex);
    return ok;
}

/* ---- reading ---- */

typedef struct NoteKey { char at[300]; } NoteKey;         /* names are short: loader_name_ok */

static Str key_of(const Remote *s, const char *what, NoteKey *key) {
    snprintf(key->at, sizeof key->at, "%s:" STR_FMT, what, STR_ARG(s->def->name));
    return str_from(key->at);
}

/* An unreadable note counts as absent: the server is listed again. Pins of a changed entry belong to another server. */
static void load_pins(Remote *s, Value list, bool gone) {
    for (uint32_t i = 0; value_is_list(list) && i < value_list(list)->n; i++) {
        Buf text = { 0 };
        remotes_tool_text(value_list(list)->at[i], &text);
        remotes_add_pinned(s, value_list(list)->at[i], buf_str(&text), gone);
        buf_clear(&text);
    }
}

static void load_tools(Remote *s, Value root) {
    Value changed = value_member(root, "changed");
    if (!str_eq(value_member_text(root, "entry"), str_from(s->hash))) return;
    load_pins(s, value_member(root, "tools"), false);
    load_pins(s, value_member(root, "gone"), true);
    for (uint32_t i = 0; value_is_list(changed) && i < value_list(changed)->n; i++) {
        RemoteTool *t = remotes_tool(s, value_member_text(value_list(changed)->at[i], "name"));
        Buf text = { 0 };
        remotes_tool_text(value_list(changed)->at[i], &text);
        if (t) remotes_set_changed(t, buf_str(&text));
        if (t && t->registered.n) registry_hold(runtime_registry(s->all->rt), t->registered, true);
        buf_clear(&text);
    }
    s->instructions = arena_str(&s->arena, value_member_text(root, "instructions"));
    s->listed = true;
}

/* A failure of another entry with the same name is not this one's. */
static void load_failure(Remote *s, Store *store) {
    Buf text = { 0 };
    Error err = { 0 };
    NoteKey key;
    bool found = false;
    Str hash = str_from(s->hash);
    if (store_note_get(store, SCOPE, key_of(s, "failed", &key), &text, &found, &err) && found && str_starts(buf_str(&text), hash))
        s->failed = arena_str(&s->arena, str_sub(buf_str(&text), hash.n + 1, text.n));
    buf_clear(&text);
}

void remotes_note_failure(Remote *s, Str message) {
    Error err = { 0 };
    Store *store = runtime_store(s->all->rt, &err);
    NoteKey key;
    Buf text = { 0 };
    if (!store || (!message.n && !s->failed.n)) return;
    buf_add_fmt(&text, "%s " STR_FMT, s->hash, STR_ARG(message));
    bool ok = message.n ? store_note_put(store, SCOPE, key_of(s, "failed", &key), buf_str(&text), &err)
        : store_note_delete(store, SCOPE, key_of(s, "failed", &key), &err);
    if (!ok) LOG_WRITE(runtime_log(s->all->rt), LOG_WARN, "server " STR_FMT ": %s", STR_ARG(s->def->name), err.msg);
    s->failed = message.n ? arena_str(&s->arena, message) : STR("");
    buf_clear(&text);
}

bool remotes_load(Remote *s, Error *err) {
    Error why = { 0 };
    Store *store = runtime_store(s->all->rt, &why);
    Buf text = { 0 };
    NoteKey key;
    bool found = false;
    if (!store && why.kind != ERR_NONE) return *err = why, false;
    bool ok = !store || store_note_get(store, SCOPE, key_of(s, "tools", &key), &text, &found, err);
    Heap *h = heap_new(0);
    Value root;
    pthread_mutex_lock(&s->lock);
    if (ok && found && json_read(h, buf_str(&text), &(JsonRead){ 0 }, &root, &why) && remotes_redact(s, h, &root, &why)) load_tools(s, root);
    if (ok && store) load_failure(s, store);
    pthread_mutex_unlock(&s->lock);
    heap_free(h);
    buf_clear(&text);
    return ok;
}

/* ---- refreshing ---- */

/* False: unchanged since it was last read or written. */
static bool is_news(Remote *s, Str note) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    Error err;
    if (!digest_sha256(note, digest, &err)) return true;
    bool news = memcmp(digest, s->noted, sizeof digest) != 0;
    memcpy(s->noted, digest, sizeof digest);
    return news;
}

/* Pins tools that are unknown here; they become available if the server has them. */
static void refresh_pins(Remote *s, Value list) {
    for (uint32_t i = 0; value_is_list(list) && i < value_list(list)->n; i++) {
        Value tool = value_list(list)->at[i];
        RemoteTool *t = remotes_tool(s, value_member_text(tool, "name"));
        Buf text = { 0 };
        remotes_tool_text(tool, &text);
        if (!t || !t->pin.n) (void)remotes_add_pinned(s, tool, buf_str(&text), true);
        else if (!str_eq(t->pin, buf_str(&text))) remotes_repin(s, t, buf_str(&text));
        buf_clear(&text);
    }
}

void remotes_refresh(Remote *s) {
    Error err = { 0 };
    Store *store = runtime_store(s->all->rt, &err);
    Buf text = { 0 };
    NoteKey key;
    bool found = false;
    Heap *h = heap_new(0);
    Value root;
    bool ok = !store || store_note_get(store, SCOPE, key_of(s, "tools", &key), &text, &found, &err);
    if (ok && found && is_news(s, buf_str(&text)) && json_read(h, buf_str(&text), &(JsonRead){ 0 }, &root, &err)
        && remotes_redact(s, h, &root, &err) && str_eq(value_member_text(root, "entry"), str_from(s->hash))) {
        refresh_pins(s, value_member(root, "tools"));
        refresh_pins(s, value_member(root, "gone"));
    }
    if (err.kind != ERR_NONE) LOG_WRITE(runtime_log(s->all->rt), LOG_WARN, "server " STR_FMT ": %s", STR_ARG(s->def->name), err.msg);
    heap_free(h);
    buf_clear(&text);
}

/* ---- writing ---- */

/* A missing tool keeps its pin: it may come back with another definition. */
static bool pinned(const RemoteTool *t) { return t->pin.n && !t->gone; }
static bool pinned_once(const RemoteTool *t) { return t->pin.n && t->gone; }
static bool differs(const RemoteTool *t) { return t->changed.n > 0; }

static void add_tools(const Remote *s, Buf *b, const char *key, bool (*which)(const RemoteTool *t)) {
    size_t n = 0;
    buf_add_fmt(b, ",\"%s\":[", key);
    for (size_t i = 0; i < s->tools.n; i++) {
        const RemoteTool *t = s->tools.at[i];
        if (!which(t)) continue;
        if (n++) buf_add_char(b, ',');
        buf_add(b, which == differs ? t->changed : t->pin);
    }
    buf_add_char(b, ']');
}

void remotes_save(Remote *s) {
    Error err = { 0 };
    Store *store = runtime_store(s->all->rt, &err);
    Buf b = { 0 };
    NoteKey key;
    if (!store) return;
    buf_add_fmt(&b, "{\"entry\":\"%s\",\"instructions\":", s->hash);
    json_write_string(&b, s->instructions, false);
    add_tools(s, &b, "tools", pinned);
    add_tools(s, &b, "gone", pinned_once);
    add_tools(s, &b, "changed", differs);
    buf_add_char(&b, '}');
    if (is_news(s, buf_str(&b)) && !store_note_put(store, SCOPE, key_of(s, "tools", &key), buf_str(&b), &err)) {
        memset(s->noted, 0, sizeof s->noted);
        LOG_WRITE(runtime_log(s->all->rt), LOG_WARN, "server " STR_FMT ": %s", STR_ARG(s->def->name), err.msg);
    }
    buf_clear(&b);
}

/* ---- approving ---- */

/* One item per line, so that a diff shows what changed. */
static void spread(Str json, Buf *out) {
    Heap *h = heap_new(0);
    Value v;
    Error err;
    if (json_read(h, json, &(JsonRead){ 0 }, &v, &err) && json_write(out, v, &(JsonWrite){ .indent = 2 }, &err)) buf_add_char(out, '\n');
    heap_free(h);
}

static void show_change(const RemoteTool *t, Buf *out) {
    Buf before = { 0 }, now = { 0 };
    spread(t->pin, &before);
    spread(t->changed, &now);
    buf_add_fmt(out, "tool " STR_FMT ":\n", STR_ARG(t->name));
    diff_unified(buf_str(&before), buf_str(&now), &(DiffStyle){ .from = "approved", .to = "now", .context = 2 }, out);
    buf_clear(&before);
    buf_clear(&now);
}

static Remote *find_pinned(McpRemotes *m, Str server, Error *err) {
    Remote *s = remotes_find(m, server);
    Error why = { 0 };
    if (!s) return error_set(err, ERR_VALIDATION, "no MCP server is named \"" STR_FMT "\" (see harness mcp list)", STR_ARG(server)), NULL;
    if (runtime_store(m->rt, &why)) return s;
    if (why.kind == ERR_NONE) error_set(err, ERR_CONFIG, "an approval cannot be used with --ephemeral");
    else *err = why;
    return NULL;
}

/* The lock is held. */
static void show_changes(const Remote *s, Buf *shown) {
    for (size_t i = 0; i < s->tools.n; i++)
        if (s->tools.at[i]->changed.n) show_change(s->tools.at[i], shown);
}

bool mcp_remotes_changes(McpRemotes *m, Str server, Buf *shown, Error *err) {
    Remote *s = find_pinned(m, server, err);
    if (!s) return false;
    pthread_mutex_lock(&s->lock);
    show_changes(s, shown);
    pthread_mutex_unlock(&s->lock);
    return true;
}

bool mcp_remotes_approve(McpRemotes *m, Str server, Str seen, Error *err) {
    Remote *s = find_pinned(m, server, err);
    Buf now = { 0 };
    if (!s) return false;
    pthread_mutex_lock(&s->lock);
    show_changes(s, &now);
    bool same = str_eq(buf_str(&now), seen);
    for (size_t i = 0; same && i < s->tools.n; i++)
        if (s->tools.at[i]->changed.n) remotes_repin(s, s->tools.at[i], s->tools.at[i]->changed);
    if (same && s->listed) remotes_save(s);
    pthread_mutex_unlock(&s->lock);
    buf_clear(&now);
    return same || error_set(err, ERR_POLICY, "the tools of server " STR_FMT " changed while you looked at them (approve them again)", STR_ARG(server));
}
