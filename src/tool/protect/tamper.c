/* Guards protected files around anything that could write them: a call, a hook's program.
 *
 * A difference found while no call is running was made by the user: it becomes the new reference. A difference found
 * while one is running is reverted in any case. Once a file could not be restored, no change counts as the
 * user's. */
#include "tool/protect/nested.h"
#include "tool/runtime_private.h"

/* Messages for the user while a runtime is open. */
static void say_told(const Runtime *rt, const Buf *told) {
    Str rest = buf_str(told), line;
    while (rest.n && str_next_line(&rest, &line)) LOG_WRITE(rt->config.log, LOG_WARN, STR_FMT, STR_ARG(line));
}

static void say_edited(const Runtime *rt, const Error *edited) {
    if (!edited->msg[0]) return;
    LOG_WRITE(rt->config.log, LOG_WARN, "%s; the loaded version stays in use until the project is loaded again",
              strncmp(edited->msg, "sandbox.tampered: ", 18) == 0 ? edited->msg + 18 : edited->msg);
}

/* No call of this process is running. */
static bool begin(Runtime *rt, Error *err) {
    Error edited = { 0 };
    Buf told = { 0 };
    nested_look(rt->rules.workspace, &rt->nested, NULL);
    if (rt->spoilt) return true;                          /* the mark is still busy */
    if (!rt->record) return *err = rt->record_problem, false;
    RecordWork w = { .places = &rt->places, .seen = rt->seen, .folder = rt->record, .root = rt->project->root.at, .workspace = rt->rules.workspace,
                     .paths = rt->rules.protect, .sandbox = rt->sandbox, .told = &told };
    bool ok = record_begin(&w, &rt->mark, &rt->protect, &edited, err);
    say_told(rt, &told);
    if (ok) say_edited(rt, &edited);
    buf_clear(&told);
    return ok;
}

/* Reading all files takes a while, and most scripts cannot write, so it is done before the first call that can. */
bool runtime_guard(Runtime *rt, bool programs, Error *err) {
    SandboxRules rules;
    if (programs && !runtime_rules(rt, &rules, err)) return false;
    pthread_mutex_lock(&rt->guarding);
    bool ok = rt->at_work > 0 || begin(rt, err);
    if (ok) rt->at_work++, rt->unverified = true;
    pthread_mutex_unlock(&rt->guarding);
    return ok;
}

/* The caller holds the lock. */
static bool compare(Runtime *rt, Error *err) {
    if (rt->mark) protect_follow(rt->protect, rt->mark);
    bool same = protect_verify(rt->protect, err);
    rt->spoilt = !same && !protect_same(rt->protect, NULL);
    return same;
}

/* A call is running, so `protect` and `mark` do not change. Asks one question at a time. */
void runtime_review(Runtime *rt, Cancel *cancel, int64_t *waited_ns) {
    if (!rt->config.ask_changed || !rt->mark) return;
    int64_t since = run_wait_start(cancel);
    pthread_mutex_lock(&rt->asking);
    bool kept = protect_review(rt->protect, rt->mark, rt->config.ask_changed, rt->config.ask_trust_ctx, cancel);
    pthread_mutex_unlock(&rt->asking);
    *waited_ns += run_wait_end(cancel, since);
    if (kept) LOG_WRITE(rt->config.log, LOG_WARN, "the loaded version stays in use until the project is loaded again");
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

/* When the last call has ended: the mark becomes idle only after a verification. The caller holds the lock. */
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
    return fine;                                          /* and keeps the lock, so that no call can start */
}

void runtime_guard_end(Runtime *rt) {
    if (rt->spoilt && compare(rt, NULL)) (void)mark_set(rt->mark, false, NULL);
    if (rt->mark) (void)sandbox_hold(rt->sandbox, mark_fd(rt->mark), NULL);
    mark_free(rt->mark);
    protect_free(rt->protect);
}
