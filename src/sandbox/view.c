#include "sandbox/view.h"
#include <errno.h>
#include <limits.h>
#include "base/arena.h"
#include "base/nearly.h"
#include "base/path.h"

enum { LINKS_MAX = 40 };

void view_clear(View *v) {
    for (size_t i = 0; i < v->n; i++) snapshot_clear(&v->at[i]);
    VEC_CLEAR(v);
}

static bool inside(Str path, Str base) {
    return base.n == 1 || (str_starts(path, base) && (path.n == base.n || path.at[base.n] == '/'));
}

static const SnapshotNode *child_of(const SnapshotNode *n, Str name) {
    for (size_t i = 0; i < n->child.n; i++)
        if (str_eq(str_from(n->child.at[i]->name), name)) return n->child.at[i];
    return NULL;
}

/* Replaces the part of the path that named the link by the link's target. */
static Str follow(Arena *arena, Str above, const SnapshotNode *link, Str rest) {
    Str to = buf_str(&link->content);
    if (str_starts(to, STR("/"))) return path_normal(arena, str_from(arena_fmt(arena, STR_FMT "/" STR_FMT, STR_ARG(to), STR_ARG(rest))));
    return path_normal(arena, str_from(arena_fmt(arena, STR_FMT "/" STR_FMT "/" STR_FMT, STR_ARG(above), STR_ARG(to), STR_ARG(rest))));
}

/* A name that did not exist and that no call may create. */
static bool is_new(const SnapshotNode *folder, Str name) {
    return child_of(folder, STR(NEARLY_NAMES)) && (nearly_project_file(name, true).n || nearly_project_file(name, false).n);
}

/* One walk down from the top. False: not covered. *path changes, and *again is set, when it met a link. */
static bool step_down(Arena *arena, const Snapshot *s, Str *path, ViewEntry *out, bool *again) {
    const SnapshotNode *n = s->top;
    bool whole = false;
    *again = false;
    for (size_t at = 0; at < path->n;) {
        size_t from = at + 1, end = from;
        while (end < path->n && path->at[end] != '/') end++;
        if (end == from) break;                            /* the top itself */
        if (n->kind != 'd' && whole) return out->error = n->kind == '-' ? ENOENT : ENOTDIR, true;
        const SnapshotNode *next = child_of(n, str_sub(*path, from, end));
        if (!next) return out->error = ENOENT, whole || is_new(n, str_sub(*path, from, end));
        whole = whole || next->whole;
        if (next->kind == 'l') {
            *path = follow(arena, str_sub(*path, 0, at), next, str_sub(*path, end, path->n));
            return *again = true;
        }
        n = next;
        at = end;
    }
    if (!whole) return false;
    out->error = n->kind == '-' ? ENOENT : 0;
    out->node = n->kind == '-' ? NULL : n;
    return true;
}

static bool find_in(const Snapshot *s, Arena *arena, Str base, Str path, ViewEntry *out) {
    bool again = true;
    *out = (ViewEntry){ .snapshot = s };
    for (int links = 0; again; links++) {
        if (links > LINKS_MAX) return out->error = ELOOP, true;
        if (!inside(path, base)) return out->error = EXDEV, true;
        if (!step_down(arena, s, &path, out, &again)) return false;
    }
    return true;
}

bool view_find(const View *v, const char *base, Str path, ViewEntry *out) {
    Arena arena = { 0 };
    bool found = false;
    Str root = path_normal(&arena, str_from(base));
    Str whole = path_normal(&arena, str_from(arena_fmt(&arena, "%s/" STR_FMT, base, STR_ARG(path))));
    for (size_t i = 0; !found && inside(whole, root) && i < v->n; i++) found = find_in(&v->at[i], &arena, root, whole, out);
    arena_clear(&arena);
    return found;
}

bool view_is_content(const ViewEntry *e, Str disk) {
    uint8_t mac[SNAPSHOT_MAC];
    if (e->node->known) return str_eq(disk, buf_str(&e->node->content));
    snapshot_mac(e->snapshot, disk, mac);
    return e->node->has_mac && memcmp(mac, e->node->mac, sizeof mac) == 0;
}
