#include "tool/pipeline/park.h"

bool run_parked(const Run *r) { return atomic_load(&r->parked); }

static bool parked_error(Error *err) { return error_set(err, ERR_CANCELLED, "the run waits for an answer of a user"); }

bool park_call_start(Run *r, Error *err) {
    if (!r->config.parks) return true;
    pthread_mutex_lock(&r->lock);
    bool parked = atomic_load(&r->parked);
    if (!parked) r->open_calls++;
    pthread_mutex_unlock(&r->lock);
    return !parked || parked_error(err);
}

void park_call_end(Run *r) {
    if (!r->config.parks) return;
    pthread_mutex_lock(&r->lock);
    r->open_calls--;
    pthread_mutex_unlock(&r->lock);
}

/* Secrets are not stored: another process could not make the call. */
static bool is_stored(const Pipe *p) {
    Str args = p->f.call->arguments;
    return value_is_gone(p->f.call->args) && !redact_would(p->f.run->rt->redactor, args) && str_find(args, STR("[redacted]")) < 0;
}

bool park_may(const Pipe *p) {
    const Call *c = p->f.call;
    return p->f.run->config.parks && c->depth == 0 && !c->nested && !p->task && c->id.n && !c->person && is_stored(p);
}

static void note_running(void *ctx, Str id, bool over, bool failed) {
    (void)id;
    (void)failed;
    *(bool *)ctx |= !over;
}

bool park_try(Run *r, size_t asking) {
    bool tasks = false;
    if (asking == 0 || !r->config.parks) return false;
    task_each(r, note_running, &tasks);
    pthread_mutex_lock(&r->lock);
    bool parks = !tasks && r->open_calls == asking && !atomic_load(&r->parked);
    if (parks) atomic_store(&r->parked, true);
    pthread_mutex_unlock(&r->lock);
    return parks;
}

bool park_leave(Run *r, Str question, Error *err) {
    pthread_mutex_lock(&r->lock);
    if (r->parked_on.n) buf_add_char(&r->parked_on, ' ');
    buf_add(&r->parked_on, question);
    pthread_mutex_unlock(&r->lock);
    return parked_error(err);
}
