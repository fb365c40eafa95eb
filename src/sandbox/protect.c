#include "sandbox/protect.h"
#include <errno.h>
#include <pthread.h>
#include "base/mem.h"
#include "sandbox/snapshot.h"
#include "sandbox/view.h"

struct Protect {
    pthread_mutex_t lock;
    Snapshot snapshot;
    char *workspace, *displaced, *root;
};

/* Reads from disk only what is not in the view: other processes could write the rest, and redirect us by a link. */
static bool take(Protect *p, const char *const *paths, const View *view, Error *err) {
    VEC(const char *) rest = { 0 };
    ViewEntry e;
    for (; paths && *paths; paths++)
        if (!view || !view_find(view, "/", str_from(*paths), &e))
            VEC_PUSH(&rest, *paths);
    VEC_PUSH(&rest, NULL);
    bool ok = snapshot_take(&p->snapshot, rest.at, PROTECT_BYTES_MAX, err);
    VEC_CLEAR(&rest);
    for (size_t i = 0; ok && view && i < view->n; i++)
        ok = snapshot_merge(&p->snapshot, &view->at[i], err);
    if (ok && view) {
        SnapshotCheck learn = { .look_only = true, .learn = true };
        snapshot_verify(&p->snapshot, &learn);
        buf_clear(&learn.text);
    }
    return ok;
}

bool protect_new(const char *workspace, const char *const *paths, const View *view, Protect **out, Error *err) {
    Protect *p = mem_zero(1, sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    p->workspace = str_dup(str_from(workspace));
    if (!take(p, paths, view, err))
        return protect_free(p), false;
    return *out = p, true;
}

void protect_free(Protect *p) {
    if (!p)
        return;
    snapshot_clear(&p->snapshot);
    pthread_mutex_destroy(&p->lock);
    free(p->workspace);
    free(p->displaced);
    free(p->root);
    free(p);
}

void protect_displaced(Protect *p, const char *folder, const char *root) {
    free(p->displaced);
    free(p->root);
    p->displaced = str_dup(str_from(folder));
    p->root = str_dup(str_from(root));
}

void protect_follow(Protect *p, Mark *mark) {
    Snapshot other;
    pthread_mutex_lock(&p->lock);
    if (mark_replaced(mark, &other)) {
        snapshot_clear(&p->snapshot);
        p->snapshot = other;
    }
    pthread_mutex_unlock(&p->lock);
}

bool protect_record(Protect *p, Mark *mark, Error *err) {
    pthread_mutex_lock(&p->lock);
    bool ok = mark_record(mark, &p->snapshot, err);
    pthread_mutex_unlock(&p->lock);
    return ok;
}

/* The caller holds the lock. */
static void find_differences(Protect *p, Snapshot *now, Buf *diff) {
    SnapshotCheck check = { .look_only = true };
    snapshot_verify(&p->snapshot, &check);
    buf_clear(&check.text);
    if (check.differences && snapshot_take_again(&p->snapshot, PROTECT_BYTES_MAX, now))
        snapshot_diff(&p->snapshot, now, str_from(p->root), diff);
}

bool protect_review(Protect *p, Mark *mark, MarkAsk *ask, void *ctx, Cancel *cancel) {
    Snapshot now = { .nowhere = { .top = -1 } };
    Buf diff = { 0 };
    pthread_mutex_lock(&p->lock);
    find_differences(p, &now, &diff);
    pthread_mutex_unlock(&p->lock);
    bool keep = diff.n && ask(ctx, &(MarkDifference){ p->root ? p->root : "", MARK_OWN, buf_str(&diff), cancel });
    pthread_mutex_lock(&p->lock);
    keep = keep && mark_replace(mark, &now);
    if (keep) {
        Snapshot old = p->snapshot;
        p->snapshot = now;
        now = old;
    }
    pthread_mutex_unlock(&p->lock);
    snapshot_clear(&now);
    buf_clear(&diff);
    return keep;
}

static bool verify(Protect *p, bool look_only, Error *err) {
    SnapshotCheck check = { .look_only = look_only, .workspace = str_from(p->workspace), .displaced = p->displaced, .root = p->root };
    pthread_mutex_lock(&p->lock);
    snapshot_verify(&p->snapshot, &check);
    pthread_mutex_unlock(&p->lock);
    bool same = check.differences == 0;
    if (check.kept)
        buf_add(&check.text, STR("; what was there is kept for 30 days (`harness trust --displaced`)"));
    if (!same)
        error_set(err, ERR_SANDBOX, "sandbox.tampered: %s", buf_str(&check.text).at);
    buf_clear(&check.text);
    return same;
}

bool protect_verify(Protect *p, Error *err) { return verify(p, false, err); }
bool protect_same(Protect *p, Error *err) { return verify(p, true, err); }
