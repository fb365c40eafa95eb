/* Protected files around whatever could write them: a call, a hook's program.
 *
 * What differs when nobody is at work was changed by a person: it is kept, and what comes later is compared with that. What differs
 * while somebody is at work is put back, whoever did it. Once something could not be put back, nothing counts as a person's. */
#include "tool/nested.h"
#include "tool/state.h"

/* The snapshot is in the state, and its mark held by the launcher, before anything can write. */
static bool put_on_record(Runtime *rt, Protect *p, Error *err) {
    if (!rt->record) return *err = rt->record_problem, false;
    if (!rt->mark && (!mark_new(rt->record, rt->project->root.at, &rt->mark, err) || !sandbox_hold(rt->sandbox, mark_fd(rt->mark), err))) return false;
    protect_displaced(p, rt->record);
    return protect_record(p, rt->mark, err);
}

static bool take_snapshot(Runtime *rt, Protect **out, Error *err) {
    Protect *p;
    if (!protect_new(rt->rules.workspace, rt->rules.protect, &p, err)) return false;
    if (put_on_record(rt, p, err)) return *out = p, true;
    return protect_free(p), false;
}

static bool take_over(Runtime *rt, Error *err) {
    Protect *now;
    Error why = { 0 };
    if (protect_same(rt->protect, &why)) return true;
    if (!take_snapshot(rt, &now, err)) return false;
    protect_free(rt->protect);
    rt->protect = now;
    LOG_WRITE(rt->config.log, LOG_WARN, "%s; what was loaded before goes on until it is loaded again",
              strncmp(why.msg, "sandbox.tampered: ", 18) == 0 ? why.msg + 18 : why.msg);
    return true;
}

/* Nobody is at work. */
static bool begin(Runtime *rt, Error *err) {
    nested_look(rt->rules.workspace, &rt->nested, NULL);
    if (rt->spoilt) return true;                          /* the mark is busy still */
    bool ok = rt->protect ? take_over(rt, err) : take_snapshot(rt, &rt->protect, err);
    return ok && mark_set(rt->mark, true, err);
}

/* Reading all of it takes a while, and most scripts cannot write: so it is done before the first call that can. */
bool runtime_guard(Runtime *rt, bool programs, Error *err) {
    SandboxRules rules;
    if (programs && !runtime_rules(rt, &rules, err)) return false;
    pthread_mutex_lock(&rt->guarding);
    bool ok = rt->at_work > 0 || begin(rt, err);
    if (ok) rt->at_work++, rt->unverified = true;
    pthread_mutex_unlock(&rt->guarding);
    return ok;
}

/* Under the lock. */
static bool compare(Runtime *rt, Error *err) {
    bool same = protect_verify(rt->protect, err);
    rt->spoilt = !same && !protect_same(rt->protect, NULL);
    return same;
}

bool runtime_verify(Runtime *rt, Error *err) {
    pthread_mutex_lock(&rt->guarding);
    bool same = !rt->protect || compare(rt, err);
    if (rt->at_work <= 1) rt->unverified = false;
    pthread_mutex_unlock(&rt->guarding);
    return same;
}

void runtime_nested(Runtime *rt, Buf *fresh) {
    pthread_mutex_lock(&rt->guarding);
    nested_look(rt->rules.workspace, &rt->nested, fresh);
    pthread_mutex_unlock(&rt->guarding);
}

bool runtime_suspects(Runtime *rt) {
    pthread_mutex_lock(&rt->guarding);
    bool suspect = rt->at_work > 0 || rt->spoilt;
    pthread_mutex_unlock(&rt->guarding);
    return suspect;
}

/* Under the lock, when the last one is done: the mark may rest only after a comparison. */
static void finish(Runtime *rt) {
    Error err = { 0 };
    if (rt->unverified && !compare(rt, &err)) LOG_WRITE(rt->config.log, LOG_ERROR, "%s", err.msg);
    rt->unverified = false;
    if (!rt->spoilt && !mark_set(rt->mark, false, &err)) LOG_WRITE(rt->config.log, LOG_ERROR, "%s", err.msg);
}

void runtime_unguard(Runtime *rt) {
    pthread_mutex_lock(&rt->guarding);
    if (--rt->at_work == 0) finish(rt);
    pthread_mutex_unlock(&rt->guarding);
}

bool runtime_abandon(Runtime *rt, int timeout_ms) {
    Error err = { 0 };
    bool gone = sandbox_kill(rt->sandbox, timeout_ms), fine = true;
    pthread_mutex_lock(&rt->guarding);
    if (rt->protect) fine = compare(rt, &err) || !rt->spoilt;
    if (err.msg[0]) LOG_WRITE(rt->config.log, LOG_ERROR, "%s", err.msg);
    fine = fine && gone && (!rt->mark || mark_set(rt->mark, false, &err));
    if (fine && rt->mark) mark_free(rt->mark), rt->mark = NULL;
    return fine;                                          /* and nothing of ours begins any more: the lock stays */
}

void runtime_guard_end(Runtime *rt) {
    if (rt->spoilt && compare(rt, NULL)) (void)mark_set(rt->mark, false, NULL);
    if (rt->mark) (void)sandbox_hold(rt->sandbox, mark_fd(rt->mark), NULL);
    mark_free(rt->mark);
    protect_free(rt->protect);
}
