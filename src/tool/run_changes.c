/* Records what write and edit changed in files, and restores the old content for /undo. */
#include <stdio.h>
#include "base/digest.h"
#include "base/sha256.h"
#include "tool/runtime_private.h"
#include "value/json.h"

/* ---- noting ---- */

void run_change_put(Run *r, const RunChange *c) {
    RunChange copy = *c;
    pthread_mutex_lock(&r->lock);
    copy.file = arena_str(&r->arena, c->file);
    copy.before = arena_str(&r->arena, c->before);
    VEC_PUSH(&r->changes, copy);
    pthread_mutex_unlock(&r->lock);
}

static bool hash_from(Str hex, uint8_t out[CHANGE_HASH]) {
    static const char digits[] = "0123456789abcdef";
    if (hex.n != 2 * CHANGE_HASH) return false;
    for (size_t i = 0; i < hex.n; i++) {
        const char *d = memchr(digits, hex.at[i], sizeof digits - 1);
        if (!d) return false;
        out[i / 2] = (uint8_t)(out[i / 2] << 4 | (d - digits));
    }
    return true;
}

void run_change_restore(Run *r, Value change) {
    RunChange c = { .file = value_member_text(change, "file"), .before = value_member_text(change, "before") };
    Str old = value_member_text(change, "old_sha256");
    c.created = old.n == 0;
    c.kept = hash_from(value_member_text(change, "new_sha256"), c.new_hash) && (c.created || (c.before.n && hash_from(old, c.old_hash)));
    if (c.file.n) run_change_put(r, &c);
}

static void scope_of(const Run *r, Buf *out) { buf_add_fmt(out, "changes:" STR_FMT, STR_ARG(r->id)); }

bool run_change_intend(Run *r, Str call, Str json, Error *err) {
    Buf scope = { 0 }, text = { 0 };
    if (!r->store) return true;
    scope_of(r, &scope);
    buf_add(&text, json);
    if (!redact_empty(r->rt->redactor)) redact_json(r->rt->redactor, &text);
    bool ok = store_note_put(r->store, buf_str(&scope), call, buf_str(&text), err);
    buf_clear(&scope);
    buf_clear(&text);
    return ok;
}

bool run_change_intended(Run *r, Str call, Error *err) {
    Buf scope = { 0 }, text = { 0 };
    bool found = false;
    if (!r->store) return true;
    scope_of(r, &scope);
    bool ok = store_note_get(r->store, buf_str(&scope), call, &text, &found, err);
    if (ok && found) {
        Heap *h = heap_new((size_t)1 << 20);
        Value change;
        if (json_read(h, buf_str(&text), NULL, &change, &(Error){ 0 })) run_change_restore(r, change);
        heap_free(h);
    }
    buf_clear(&scope);
    buf_clear(&text);
    return ok;
}

size_t run_change_count(Run *r) {
    pthread_mutex_lock(&r->lock);
    size_t n = r->changes.n;
    pthread_mutex_unlock(&r->lock);
    return n;
}

void run_change_cut(Run *r, size_t n) {
    pthread_mutex_lock(&r->lock);
    if (n < r->changes.n) r->changes.n = n;
    pthread_mutex_unlock(&r->lock);
}

bool run_change_keep(Run *r, Str tool, Str bytes, Buf *key) {
    Redactor *redactor = r->rt->redactor;
    size_t limit = (size_t)r->rt->limits.artifact_bytes;
    if (!redact_empty(redactor) && redact_would(redactor, bytes)) return false;
    pthread_mutex_lock(&r->lock);
    bool fits = bytes.n <= limit && r->undo_bytes <= limit - bytes.n;
    if (fits) r->undo_bytes += bytes.n;
    pthread_mutex_unlock(&r->lock);
    return fits && run_artifact_put(r, tool, STR("application/octet-stream"), bytes, key, &(Error){ 0 });
}

/* ---- putting back ---- */

const char *run_revert_name(RevertState s) {
    static const char *const names[] = { [REVERT_READY] = "can be put back", [REVERT_DONE] = "already as before",
        [REVERT_CHANGED] = "changed by another program",
                                         [REVERT_NOT_KEPT] = "its old content was not kept", [REVERT_REFUSED] = "may not be written" };
    return names[s];
}

static bool same_hash(const uint8_t a[CHANGE_HASH], const uint8_t b[CHANGE_HASH]) { return memcmp(a, b, CHANGE_HASH) == 0; }

/* `why` may start with the path, which is shown anyway. */
static void refuse(RunRevert *f, RevertState state, const char *why) {
    Str text = str_from(why);
    f->state = state;
    if (str_starts(text, f->file) && text.n > f->file.n + 2 && text.at[f->file.n] == ':') text = str_sub(text, f->file.n + 2, text.n);
    snprintf(f->why, sizeof f->why, STR_FMT, STR_ARG(text));
}

/* Compares the file with what the last call wrote. *now: its state then, for jail_write. */
static void judge(const Run *r, RunRevert *f, JailStat *now) {
    const Jail *jail = r->rt->jail;
    Arena arena = { 0 };
    JailPlace place;
    Buf content = { 0 };
    Error err = { 0 };
    uint8_t hash[CHANGE_HASH];
    f->state = REVERT_READY;
    if (!jail_place(jail, f->file, true, &arena, &place, &err) || !jail_may_write(jail, f->file, &err)) {
        refuse(f, REVERT_REFUSED, err.msg);
    } else if (approval_sensitive(place.path)) {
        refuse(f, REVERT_REFUSED, "its name is sensitive");
    } else if (!str_eq(place.absolute, f->file)) {
        refuse(f, REVERT_CHANGED, "the path leads to another file now");
    } else if (!place.exists) {
        if (f->created) refuse(f, REVERT_DONE, "it does not exist any more");
        else refuse(f, REVERT_CHANGED, "it was removed since");
    } else if (!jail_read(jail, f->file, JAIL_FILE_MAX, &content, now, &err)) {
        refuse(f, REVERT_REFUSED, err.msg);
    } else {
        sha256_of(buf_str(&content), hash);
        if (!f->created && same_hash(hash, f->old_hash)) refuse(f, REVERT_DONE, "it already has its old content");
        else if (!same_hash(hash, f->new_hash)) refuse(f, REVERT_CHANGED, "another program has changed it since");
    }
    buf_clear(&content);
    arena_clear(&arena);
}

static Str shown_name(const Run *r, Str file) {
    Str workspace = runtime_workspace(r->rt);
    bool below = str_starts(file, workspace) && file.n > workspace.n + 1 && file.at[workspace.n] == '/';
    return below ? str_sub(file, workspace.n + 1, file.n) : file;
}

/* True if only calls changed the file up to this change: its old content is the new content of the previous change. An interrupted change may have
 * left the file unmodified. */
static bool follows(const RunRevert *f, const RunChange *c) {
    if (c->created || f->created) return c->created ? f->created : same_hash(f->new_hash, c->old_hash);
    return same_hash(f->new_hash, c->old_hash) || same_hash(f->old_hash, c->old_hash);
}

/* Adds a change to its file. */
static void add_change(const Run *r, RunRevert *list, size_t *n, const RunChange *c, Arena *arena) {
    size_t i = 0;
    while (i < *n && !str_eq(list[i].file, c->file)) i++;
    RunRevert *f = &list[i];
    if (i == *n) {
        *f = (RunRevert){ .file = arena_str(arena, c->file), .before = arena_str(arena, c->before), .created = c->created };
        f->name = shown_name(r, f->file);
        memcpy(f->old_hash, c->old_hash, CHANGE_HASH);
        ++*n;
    } else if (!follows(f, c)) {
        refuse(f, REVERT_CHANGED, "another program has changed it in between");
    }
    if (!c->kept) refuse(f, REVERT_NOT_KEPT, "its old content was not kept: a sensitive name, a secret, or too large");
    memcpy(f->new_hash, c->new_hash, CHANGE_HASH);
}

size_t run_revert_list(Run *r, size_t from, Arena *arena, RunRevert **out) {
    size_t n = 0;
    pthread_mutex_lock(&r->lock);
    size_t all = r->changes.n > from ? r->changes.n - from : 0;
    RunRevert *list = ARENA_ARRAY(arena, RunRevert, all + 1);
    for (size_t i = 0; i < all; i++) add_change(r, list, &n, &r->changes.at[from + i], arena);
    pthread_mutex_unlock(&r->lock);
    for (size_t i = 0; i < n; i++)
        if (list[i].state == REVERT_READY) judge(r, &list[i], &(JailStat){ 0 });
    *out = list;
    return n;
}

bool run_revert(Run *r, const RunRevert *f, Error *err) {
    RunRevert now = *f;
    JailStat stat = { 0 };
    Buf old = { 0 };
    uint8_t hash[CHANGE_HASH];
    uint64_t total = 0;
    judge(r, &now, &stat);
    if (now.state == REVERT_DONE) return true;
    if (now.state != REVERT_READY) return error_set(err, ERR_POLICY, STR_FMT ": %s", STR_ARG(f->name), now.why);
    if (f->created) return jail_remove(r->rt->jail, f->file, false, NULL, err);
    bool ok = run_artifact_get(r, f->before, 0, JAIL_FILE_MAX, &old, &total, err);
    if (ok) {
        sha256_of(buf_str(&old), hash);
        ok = same_hash(hash, f->old_hash) || error_set(err, ERR_IO, STR_FMT ": its kept content is damaged", STR_ARG(f->name));
    }
    ok = ok && jail_write(r->rt->jail, f->file, buf_str(&old), &(JailWrite){ .expect = &stat }, NULL, err);
    buf_clear(&old);
    return ok;
}
