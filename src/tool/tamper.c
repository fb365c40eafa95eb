/* Protected files around whatever could write them: a call, a hook's program.
 *
 * What differs when nobody is at work was changed by a person: it is kept, and what comes later is compared with that. What differs
 * while somebody is at work is put back, whoever did it. Once something could not be put back, nothing counts as a person's. */
#include "tool/nested.h"
#include "tool/state.h"

static bool take_over(Runtime *rt, Error *err) {
    Protect *now;
    Error why = { 0 };
    if (protect_same(rt->protect, &why)) return true;
    if (!protect_new(rt->rules.workspace, rt->rules.protect, &now, err)) return false;
    protect_free(rt->protect);
    rt->protect = now;
    LOG_WRITE(rt->config.log, LOG_WARN, "%s; what was loaded before goes on until it is loaded again",
              strncmp(why.msg, "sandbox.tampered: ", 18) == 0 ? why.msg + 18 : why.msg);
    return true;
}

static bool look(Runtime *rt, Error *err) {
    if (!rt->at_work) nested_look(rt->rules.workspace, &rt->nested, NULL);
    if (!rt->protect) return protect_new(rt->rules.workspace, rt->rules.protect, &rt->protect, err);
    return rt->at_work > 0 || rt->spoilt || take_over(rt, err);
}

/* Reading all of it takes a while, and most scripts cannot write: so it is done before the first call that can. */
bool runtime_guard(Runtime *rt, bool programs, Error *err) {
    SandboxRules rules;
    if (programs && !runtime_rules(rt, &rules, err)) return false;
    pthread_mutex_lock(&rt->guarding);
    bool ok = look(rt, err);
    if (ok) rt->at_work++;
    pthread_mutex_unlock(&rt->guarding);
    return ok;
}

bool runtime_verify(Runtime *rt, Error *err) {
    if (!rt->protect || protect_verify(rt->protect, err)) return true;
    pthread_mutex_lock(&rt->guarding);
    rt->spoilt = rt->spoilt || !protect_same(rt->protect, NULL);
    pthread_mutex_unlock(&rt->guarding);
    return false;
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

void runtime_unguard(Runtime *rt) {
    pthread_mutex_lock(&rt->guarding);
    rt->at_work--;
    pthread_mutex_unlock(&rt->guarding);
}
