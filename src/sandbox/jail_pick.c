/* Files outside the roots that the user picked for one run. */
#include <errno.h>
#include <stdlib.h>
#include "base/mem.h"
#include "sandbox/walk.h"

struct JailPicks { pthread_mutex_t lock; VEC(FileId) ids; };     /* `lock` guards `ids` */

Jail *jail_view(const Jail *j) {
    Jail *view = mem_alloc(sizeof *view);
    *view = *j;
    view->picks = mem_zero(1, sizeof *view->picks);
    pthread_mutex_init(&view->picks->lock, NULL);
    return view;
}

Jail *jail_view_read_only(const Jail *j) {
    Jail *view = jail_view(j);
    view->read_only = true;
    return view;
}

void jail_picks_free(struct JailPicks *p) {
    VEC_CLEAR(&p->ids);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

bool jail_picked(const Jail *j, FileId id) {
    bool found = false;
    if (!j->picks) return false;
    pthread_mutex_lock(&j->picks->lock);
    for (size_t i = 0; i < j->picks->ids.n && !found; i++) found = fence_same(j->picks->ids.at[i], id);
    pthread_mutex_unlock(&j->picks->lock);
    return found;
}

static void add_path(const Walk *w, Buf *out) {
    for (size_t i = 1; i < w->step.n; i++) buf_add_fmt(out, "/" STR_FMT, STR_ARG(((Str){ w->names.at + w->step.at[i].name, w->step.at[i].length })));
    buf_add_fmt(out, "/%s", w->name);
}

/* Refuses a missing file and a forbidden one with different words: the user chose the path, so its existence is not a secret. */
static bool may_pick(const Walk *w, Str path, Error *err) {
    if (w->at.match.hidden) return walk_refuse(path, "belongs to harness and cannot be picked", err);
    if (w->at.match.locked) return walk_refuse(path, "is protected and cannot be picked", err);
    if (!S_ISREG(w->st.stx_mode)) return walk_refuse(path, S_ISDIR(w->st.stx_mode) ? "is a folder" : "is not a regular file", err);
    return true;
}

bool jail_pick_look(const Jail *view, Str path, Arena *arena, JailPick *out, Error *err) {
    Walk w = { .dir = -1, .target = -1 };
    Buf absolute = { 0 };
    if (!view->picks || path.n == 0 || path.at[0] != '/') return walk_refuse(path, "outside the workspace", err);
    if (memchr(path.at, 0, path.n)) return walk_refuse(path, "a path must not contain a NUL byte", err);
    if (path.n >= PATH_MAX) return walk_fail(path, ENAMETOOLONG, err);
    bool ok = walk_anywhere(&w, view, path, WALK_FOLLOW);
    ok = ok ? may_pick(&w, path, err) : walk_fail(path, errno, err);
    if (ok) {
        add_path(&w, &absolute);
        *out = (JailPick){ arena_str(arena, buf_str(&absolute)), w.at.id.device, w.at.id.inode, w.at.id.born_ns };
    }
    buf_clear(&absolute);
    walk_end(&w);
    return ok;
}

bool jail_pick_add(Jail *view, const JailPick *pick, Error *err) {
    FileId id = { pick->device, pick->inode, pick->born_ns };
    if (jail_picked(view, id)) return true;
    pthread_mutex_lock(&view->picks->lock);
    bool ok = vec_limit(view->picks->ids.n, JAIL_PICKS_MAX, "picked files", err);
    if (ok) VEC_PUSH(&view->picks->ids, id);
    pthread_mutex_unlock(&view->picks->lock);
    return ok;
}
