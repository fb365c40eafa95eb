#include "sandbox/protect.h"
#include <errno.h>
#include <pthread.h>
#include "base/mem.h"
#include "sandbox/snapshot.h"

struct Protect {
    pthread_mutex_t lock;
    Snapshot snapshot;
    char *workspace, *displaced;
};

bool protect_new(const char *workspace, const char *const *paths, Protect **out, Error *err) {
    Protect *p = mem_zero(1, sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    p->workspace = str_dup(str_from(workspace));
    if (!snapshot_take(&p->snapshot, paths, PROTECT_BYTES_MAX, err))
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
    free(p);
}

void protect_displaced(Protect *p, const char *folder) {
    free(p->displaced);
    p->displaced = str_dup(str_from(folder));
}

bool protect_record(Protect *p, Mark *mark, Error *err) {
    pthread_mutex_lock(&p->lock);
    bool ok = mark_record(mark, &p->snapshot, err);
    pthread_mutex_unlock(&p->lock);
    return ok;
}

static bool verify(Protect *p, bool look_only, Error *err) {
    SnapshotCheck check = { .look_only = look_only, .workspace = str_from(p->workspace), .displaced = p->displaced };
    pthread_mutex_lock(&p->lock);
    snapshot_verify(&p->snapshot, &check);
    pthread_mutex_unlock(&p->lock);
    bool same = check.differences == 0;
    if (check.kept)
        buf_add_fmt(&check.text, "; what was there is kept for 30 days in %s/displaced", p->displaced);
    if (!same)
        error_set(err, ERR_SANDBOX, "sandbox.tampered: %s", buf_str(&check.text).at);
    buf_clear(&check.text);
    return same;
}

bool protect_verify(Protect *p, Error *err) { return verify(p, false, err); }
bool protect_same(Protect *p, Error *err) { return verify(p, true, err); }
