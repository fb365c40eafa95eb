#include "sandbox/draft.h"
#include <unistd.h>
#include "base/arena.h"
#include "sandbox/protect.h"
#include "sandbox/view.h"

static SnapshotNode *child_of(const SnapshotNode *n, Str name) {
    for (size_t i = 0; i < n->child.n; i++)
        if (str_eq(str_from(n->child.at[i]->name), name)) return n->child.at[i];
    return NULL;
}

/* What exists in the draft only belongs to this user. */
static void make(SnapshotNode *n, char kind) {
    n->kind = kind;
    n->known = true;
    n->has_mac = false;
    n->st.stx_uid = geteuid();
    n->st.stx_mode = kind == 'd' ? S_IFDIR | 0700 : S_IFREG | 0600;
}

/* The node of an absolute path, one name at a time; folders that do not exist are made. NULL: something else is in the way. */
static SnapshotNode *reach(SnapshotNode *top, Str path) {
    SnapshotNode *n = top;
    for (size_t at = 0; n && at < path.n;) {
        size_t from = at + 1, end = from;
        while (end < path.n && path.at[end] != '/') end++;
        if (end > from) {
            if (n->kind == '-') make(n, 'd');
            if (n->kind != 'd') return NULL;
            SnapshotNode *next = child_of(n, str_sub(path, from, end));
            n = next ? next : snapshot_node(n, str_sub(path, from, end));
        }
        at = end;
    }
    return n;
}

static bool put(const Snapshot *s, const char *root, const Draft *d, Error *err) {
    Arena arena = { 0 };
    SnapshotNode *n = reach(s->top, str_from(arena_fmt(&arena, "%s/" STR_FMT, root, STR_ARG(d->path))));
    arena_clear(&arena);
    if (!n || (n->kind != '-' && n->kind != 'f'))
        return error_set(err, ERR_VALIDATION, "a draft cannot replace " STR_FMT ": it is not a file, or a link leads to it", STR_ARG(d->path));
    buf_reset(&n->content);
    if (d->removed) return n->kind = '-', true;
    make(n, 'f');
    buf_add(&n->content, d->text);
    return true;
}

bool draft_take(const char *root, const Draft *at, size_t n, const View *marks, Snapshot *out, Error *err) {
    Arena arena = { 0 };
    size_t k = 0;
    const char **paths = ARENA_ARRAY(&arena, const char *, n + 2);
    paths[k++] = arena_fmt(&arena, "%s/.harness", root);
    for (size_t i = 0; i < n; i++)
        if (!str_starts(at[i].path, STR(".harness/"))) paths[k++] = arena_fmt(&arena, "%s/" STR_FMT, root, STR_ARG(at[i].path));
    paths[k] = NULL;
    bool ok = snapshot_take(out, paths, PROTECT_BYTES_MAX, err);
    for (size_t i = 0; ok && i < marks->n; i++) ok = snapshot_merge(out, &marks->at[i], err);
    for (size_t i = 0; ok && i < n; i++) ok = put(out, root, &at[i], err);
    arena_clear(&arena);
    return ok;
}
