#include "sandbox/live.h"
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "sandbox/shield.h"

enum { START_WAIT_MS = 10000 };

/* `known`: the rest is. `exposed`: it could write a protected path from the start. `sandbox`: NULL once that has stopped. */
struct Live { bool known, exposed; int view; Sandbox *sandbox; };

Live *live_add(Sandbox *s, bool told) {
    Live *l = mem_zero(1, sizeof *l);
    *l = (Live){ .known = !told, .exposed = !told, .view = -1, .sandbox = s };
    pthread_mutex_lock(&s->live_lock);
    VEC_PUSH(&s->live, l);
    pthread_mutex_unlock(&s->live_lock);
    return l;
}

void live_started(Live *l, int view, bool exposed) {
    Sandbox *s = l->sandbox;
    if (!s) {
        if (view >= 0) close(view);
        return;
    }
    pthread_mutex_lock(&s->live_lock);
    l->view = view;
    l->exposed = exposed || view < 0;
    l->known = true;
    pthread_cond_broadcast(&s->live_changed);
    pthread_mutex_unlock(&s->live_lock);
}

static void remove_live(Sandbox *s, const Live *l, bool exposed) {
    pthread_mutex_lock(&s->live_lock);
    for (size_t i = 0; i < s->live.n; i++)
        if (s->live.at[i] == l) {
            s->live.at[i] = s->live.at[--s->live.n];
            break;
        }
    if (exposed) s->exposures++;
    pthread_cond_broadcast(&s->live_changed);
    pthread_mutex_unlock(&s->live_lock);
}

void live_ended(Live *l, bool exposed) {
    if (!l) return;
    if (l->sandbox) remove_live(l->sandbox, l, exposed);
    if (l->view >= 0) close(l->view);
    free(l);
}

void live_stop(Sandbox *s) {
    for (size_t i = 0; i < s->live.n; i++) s->live.at[i]->sandbox = NULL;
    VEC_CLEAR(&s->live);
}

bool live_stands(const Live *l, const char *path) { return l->view >= 0 && shield_stands(l->view, path); }

static bool is_starting(const Sandbox *s) {
    for (size_t i = 0; i < s->live.n; i++)
        if (!s->live.at[i]->known) return true;
    return false;
}

/* Under the lock. What is only being started will be known soon. */
static bool wait_until_known(Sandbox *s) {
    int64_t until = clock_wall_ns() + (int64_t)START_WAIT_MS * 1000000;
    struct timespec t = { until / 1000000000, until % 1000000000 };
    while (is_starting(s))
        if (pthread_cond_timedwait(&s->live_changed, &s->live_lock, &t) == ETIMEDOUT) return false;
    return true;
}

bool sandbox_kept(Sandbox *s, const char *path) {
    pthread_mutex_lock(&s->live_lock);
    bool kept = wait_until_known(s) && s->exposures == s->settled;
    for (size_t i = 0; kept && i < s->live.n; i++) kept = !s->live.at[i]->exposed && live_stands(s->live.at[i], path);
    pthread_mutex_unlock(&s->live_lock);
    return kept;
}

uint64_t sandbox_exposures(Sandbox *s) {
    pthread_mutex_lock(&s->live_lock);
    uint64_t n = s->exposures;
    pthread_mutex_unlock(&s->live_lock);
    return n;
}

void sandbox_settled(Sandbox *s, uint64_t exposures) {
    pthread_mutex_lock(&s->live_lock);
    if (exposures > s->settled) s->settled = exposures;
    pthread_mutex_unlock(&s->live_lock);
}
