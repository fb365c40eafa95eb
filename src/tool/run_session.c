/* --session ID: reads, approvals and cache are kept between runs, as notes in the store. */
#include "base/digest.h"
#include "base/sha256.h"
#include "tool/runtime_private.h"
#include "value/int.h"
#include "value/json.h"
#include "value/list.h"

/* Per project: several may share a state file, and an approval in one does not apply to a tool of that name in
 * another. */
static Str scope_of(Run *r) {
    if (r->config.session.n == 0) return str_from(arena_fmt(&r->arena, "questions:" STR_FMT, STR_ARG(r->id)));       /* removed with the run */
    return str_from(arena_fmt(&r->arena, "session:" STR_FMT ":" STR_FMT, STR_ARG(r->config.session), STR_ARG(r->rt->project->root)));
}

static bool load_note(Run *r, const char *key, Heap *h, Value *out, Error *err) {
    Buf text = { 0 };
    bool found = false;
    *out = VALUE_GONE;
    bool ok = store_note_get(r->store, scope_of(r), str_from(key), &text, &found, err) &&
              (!found || json_read(h, buf_str(&text), &(JsonRead){ 0 }, out, err));
    buf_clear(&text);
    return ok;
}

static int64_t int_of(Value list, uint32_t i) {
    int64_t n = 0;
    return i < value_list(list)->n && value_is_int(value_list(list)->at[i]) && int_to_i64(value_list(list)->at[i], &n) ? n : 0;
}

/* {path: [type, size, modified, mode, device, inode]} */
static void take_reads(Run *r, Value v) {
    Entry *e;
    for (uint32_t i = 0; value_is_dict(v) && dict_next(value_dict(v), &i, &e);) {
        if (!value_is_list(e->value)) continue;
        JailStat st = { .type = (char)int_of(e->value, 0), .size = int_of(e->value, 1), .modified_ns = int_of(e->value, 2),
                        .mode = (uint32_t)int_of(e->value, 3), .device = (uint64_t)int_of(e->value, 4), .inode = (uint64_t)int_of(e->value, 5) };
        run_read_put(r, value_str(e->key), &st);
    }
}

static void print_part(Buf *all, Str part) {
    buf_add_fmt(all, "%zu:", part.n);
    buf_add(all, part);
}

/* An approval applies to this digest and not to the name alone. */
void run_tool_print(Run *r, Str name, Buf *out) {
    const ToolEntry *e = registry_find(r->rt->registry, name, NULL, 0);
    Buf all = { 0 };
    uint8_t digest[DIGEST_SHA256_BYTES];
    if (!e) return;
    const ToolDef *d = &e->def;
    Str parts[] = { d->name, str_from(tool_kind_name(d->kind)), d->script ? module_source(d->script)->text : (Str){ 0 },
                    d->command ? template_text(d->command) : (Str){ 0 }, d->folder, d->server, d->server_tool };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) print_part(&all, parts[i]);
    for (size_t i = 0; i < d->argv.n; i++) print_part(&all, d->argv.at[i]);
    if (digest_sha256(buf_str(&all), digest, NULL)) digest_hex(digest, sizeof digest, out);
    buf_clear(&all);
}

/* Independent of the order of the files. */
void run_project_print(Run *r, Buf *out) {
    const Project *p = r->rt->project;
    uint8_t all[SHA256_BYTES] = { 0 }, one[SHA256_BYTES];
    for (size_t i = 0; i < p->n_files; i++) {
        Sha256 s;
        sha256_init(&s);
        sha256_add(&s, (Str){ (const char *)p->files[i].digest, sizeof p->files[i].digest });
        sha256_add(&s, p->files[i].path);
        sha256_end(&s, one);
        for (size_t k = 0; k < sizeof all; k++) all[k] ^= one[k];
    }
    digest_hex(all, sizeof all, out);
}

/* Tools of MCP servers are registered later, and are held when they change. */
static bool is_still(Run *r, Str tool, Str print) {
    Buf now = { 0 };
    if (str_starts(tool, STR("mcp:"))) return true;
    run_tool_print(r, tool, &now);
    bool same = now.n && str_eq(buf_str(&now), print);
    buf_clear(&now);
    return same;
}

/* [[tool, args, print], …] */
static void take_grants(Run *r, Value v) {
    for (uint32_t i = 0; value_is_list(v) && i < value_list(v)->n; i++) {
        Value g = value_list(v)->at[i];
        bool fits = value_is_list(g) && value_list(g)->n == 3;
        for (uint32_t k = 0; fits && k < 3; k++) fits = value_is_string(value_list(g)->at[k]);
        if (!fits || !is_still(r, value_str(value_list(g)->at[0]), value_str(value_list(g)->at[2]))) continue;
        Str tool = arena_str(&r->arena, value_str(value_list(g)->at[0])), args = arena_str(&r->arena, value_str(value_list(g)->at[1]));
        approval_add(r->approvals, tool, args);
        VEC_PUSH(&r->grants, (RunGrant){ tool, args });
    }
}

bool run_session_load(Run *r, Error *err) {
    if (!r->store) return error_set(err, ERR_CONFIG, "a session needs the store: it cannot be used with --ephemeral");
    Heap *h = heap_new(0);
    Value cache, reads, grants;
    bool ok = load_note(r, "cache", h, &cache, err) && load_note(r, "reads", h, &reads, err) && load_note(r, "approvals", h, &grants, err);
    if (ok && value_is_dict(cache)) ok = shelf_restore(r->cache, cache, err);
    if (ok) take_reads(r, reads), take_grants(r, grants);
    heap_free(h);
    return ok || error_wrap(err, "session " STR_FMT, STR_ARG(r->config.session));
}

static void write_reads(Run *r, Buf *out) {
    buf_add_char(out, '{');
    for (size_t i = 0; i < r->reads.n; i++) {
        const JailStat *s = &r->reads.at[i].stat;
        if (i) buf_add_char(out, ',');
        json_write_string(out, r->reads.at[i].path, false);
        buf_add_fmt(out, ":[%d,%lld,%lld,%u,%lld,%lld]", s->type, (long long)s->size, (long long)s->modified_ns, s->mode, (long long)s->device,
                    (long long)s->inode);
    }
    buf_add_char(out, '}');
}

static void write_grants(Run *r, Buf *out) {
    buf_add_char(out, '[');
    for (size_t i = 0, n = 0; i < r->grants.n; i++) {
        /* Secrets are not stored, and a tool registered by this run may differ next time: those approvals are
         * dropped. */
        if (redact_would(r->rt->redactor, r->grants.at[i].args) || !registry_find(r->rt->registry, r->grants.at[i].tool, NULL, 0)) continue;
        buf_add(out, n++ ? STR(",[") : STR("["));
        json_write_string(out, r->grants.at[i].tool, false);
        buf_add_char(out, ',');
        json_write_string(out, r->grants.at[i].args, false);
        buf_add(out, STR(",\""));
        run_tool_print(r, r->grants.at[i].tool, out);
        buf_add(out, STR("\"]"));
    }
    buf_add_char(out, ']');
}

bool run_session_save(Run *r, Error *err) {
    Buf cache = { 0 }, reads = { 0 }, grants = { 0 };
    Heap *h = heap_new(0);
    Value v;
    Str scope = scope_of(r);
    write_reads(r, &reads);
    write_grants(r, &grants);
    bool ok = shelf_snapshot(r->cache, h, &v, err) && json_write(&cache, v, &(JsonWrite){ 0 }, err);
    redact_json(r->rt->redactor, &cache);                 /* the cache is kept, without secrets */
    ok = ok && store_note_put(r->store, scope, STR("cache"), buf_str(&cache), err) && store_note_put(r->store, scope, STR("reads"), buf_str(&reads), err) &&
              store_note_put(r->store, scope, STR("approvals"), buf_str(&grants), err);
    heap_free(h);
    buf_clear(&cache);
    buf_clear(&reads);
    buf_clear(&grants);
    return ok;
}

/* ---- from one run to the next in one process ---- */

bool run_session_follow(Run *r, Run *old, Error *err) {
    Heap *h = heap_new(0);
    Value cache;
    bool ok = shelf_snapshot(old->cache, h, &cache, err) && shelf_restore(r->cache, cache, err);
    heap_free(h);
    pthread_mutex_lock(&old->lock);
    for (size_t i = 0; i < old->reads.n; i++) run_read_put(r, old->reads.at[i].path, &old->reads.at[i].stat);
    for (size_t i = 0; i < old->grants.n; i++) {
        Buf was = { 0 };
        run_tool_print(old, old->grants.at[i].tool, &was);
        bool same = is_still(r, old->grants.at[i].tool, buf_str(&was));
        buf_clear(&was);
        if (!same) continue;
        RunGrant g = { arena_str(&r->arena, old->grants.at[i].tool), arena_str(&r->arena, old->grants.at[i].args) };
        approval_add(r->approvals, g.tool, g.args);
        VEC_PUSH(&r->grants, g);
    }
    pthread_mutex_unlock(&old->lock);
    return ok;
}

bool run_hook_cache_restore(Run *r, Value dict, Error *err) { return !value_is_dict(dict) || shelf_restore(r->hook_cache, dict, err); }
bool run_hook_cache_snapshot(Run *r, Heap *heap, Value *out, Error *err) { return shelf_snapshot(r->hook_cache, heap, out, err); }
