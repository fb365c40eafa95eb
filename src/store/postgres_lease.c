/* Which process has a run. The lease belongs to the process, not to its runs: a row of `workers` that a thread renews on a connection of its own. A run
 * names its owner, and its epoch grows each time that it gets a new one. Every write locks the row of its run and compares both, so a process that
 * was stopped longer than its lease, and whose runs another one has taken, writes nothing more. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/random.h"
#include "base/thread.h"
#include "store/postgres_private.h"
#include "store/sqlite_private.h"

enum { LEASE_S = 30, LEASE_S_MAX = 3600 };
static const int64_t SECOND_NS = 1000000000;

static PostgresStore *own(Store *s) { return (PostgresStore *)s; }

/* Unlike CLOCK_MONOTONIC, it also counts while the machine sleeps. */
static int64_t boot_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return t.tv_sec * SECOND_NS + t.tv_nsec;
}

/* A part of the lease is left for ending the runs. */
bool postgres_lost(Store *store) {
    PostgresLease *l = &own(store)->lease;
    return l->owner[0] && (atomic_load(&l->lost) || boot_ns() > atomic_load(&l->until) - l->ttl_ns / 6);
}

/* ---- the heartbeat ---- */

/* Also reads whether a user has cancelled one of its runs. */
static const char renew_sql[] =
    "WITH w AS (UPDATE harness.workers SET lease_until = now() + make_interval(secs => $3) WHERE tenant = $1 AND id = $2 AND lease_until > now() RETURNING 1) "
    "SELECT EXISTS (SELECT 1 FROM w), EXISTS (SELECT 1 FROM harness.runs WHERE tenant = $1 AND owner = $2 AND cancel)";

static void add_lease(PostgresStore *s, PostgresParams *p) {
    postgres_add_str(p, str_from(s->tenant), false);
    postgres_add_str(p, str_from(s->lease.owner), false);
    postgres_add_double(p, (double)s->lease.ttl_ns / 1e9);
}

/* The lease counts from before the renewal was sent. A server that cannot be reached is asked again until the lease ends. */
static void renew(PostgresStore *s) {
    PostgresLease *l = &s->lease;
    PostgresParams p = { 0 };
    int64_t asked = boot_ns();
    add_lease(s, &p);
    if (postgres_is_lost(&l->beat) && !postgres_connect(&l->beat)) return;
    PGresult *r = postgres_execute(&l->beat, -1, renew_sql, &p);
    if (!r) return;
    if (postgres_int_at(l->beat.api, r, 0, 0)) atomic_store(&l->until, asked + l->ttl_ns);
    else atomic_store(&l->lost, true);
    atomic_store(&l->cancelled, postgres_int_at(l->beat.api, r, 0, 1) != 0);
    l->beat.api->clear(r);
}

static void *keep_renewing(void *arg) {
    PostgresStore *s = arg;
    PostgresLease *l = &s->lease;
    pthread_mutex_lock(&l->lock);
    while (!l->over) {
        bool late = atomic_load(&l->until) - boot_ns() < l->ttl_ns * 6 / 10;             /* the last renewal failed */
        if (thread_cond_wait(&l->changed, &l->lock, clock_mono_ns() + l->ttl_ns / (late ? 30 : 3)) || atomic_load(&l->lost)) continue;
        pthread_mutex_unlock(&l->lock);
        renew(s);
        pthread_mutex_lock(&l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static void stop_thread(PostgresLease *l) {
    if (!l->started) return;
    pthread_mutex_lock(&l->lock);
    l->over = true;
    pthread_cond_signal(&l->changed);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    l->started = l->over = false;
}

/* 0: HARNESS_LEASE is not valid. */
static long lease_seconds(void) {
    const char *given = getenv("HARNESS_LEASE");
    char *end;
    if (!given || !given[0]) return LEASE_S;
    long seconds = strtol(given, &end, 10);
    return *end == 0 && seconds >= 1 && seconds <= LEASE_S_MAX ? seconds : 0;
}

bool postgres_lease_check(Error *err) {
    return lease_seconds() > 0 || error_set(err, ERR_CONFIG, "HARNESS_LEASE: \"%s\" is not a number of seconds from 1 to %d", getenv("HARNESS_LEASE"), LEASE_S_MAX);
}

void postgres_lease_init(PostgresStore *s) {
    PostgresLease *l = &s->lease;
    l->ttl_ns = lease_seconds() * SECOND_NS;
    l->beat = (PostgresConnection){ .api = s->main.api, .place = &s->place, .wait_ns = l->ttl_ns / 6 };
    pthread_mutex_init(&l->lock, NULL);
    thread_cond_init(&l->changed);
}

void postgres_lease_end(PostgresStore *s) {
    PostgresLease *l = &s->lease;
    PostgresParams p = { 0 };
    stop_thread(l);
    if (l->owner[0] && s->main.conn && !s->in_transaction) {
        postgres_add_str(&p, str_from(s->tenant), false);
        postgres_add_str(&p, str_from(l->owner), false);
        PGresult *r = postgres_execute(&s->main, -1, "DELETE FROM harness.workers WHERE tenant = $1 AND id = $2", &p);
        if (r) s->main.api->clear(r);
    }
    postgres_disconnect(&l->beat);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->changed);
}

/* ---- who is alive ---- */

enum { BOOT_SIZE = 120 };

/* Process ids mean something only within a namespace. */
static void boot_name(const SqliteHolder *me, char out[BOOT_SIZE]) {
    char space[64];
    ssize_t n = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    space[n > 0 ? n : 0] = 0;
    snprintf(out, BOOT_SIZE, "%s %s", me->boot, space);
}

/* A lease of a process on this machine ends with the process; others end with time. */
bool postgres_alive(const StoreQuery *q, int column) {
    char boot[BOOT_SIZE];
    SqliteHolder other;
    if (!store_int(q, column)) return false;
    sqlite_holder_self(&other);
    boot_name(&other, boot);
    if (!str_eq(store_text(q, column + 1), str_from(boot))) return true;
    other.pid = store_int(q, column + 2);
    other.start = store_int(q, column + 3);
    return sqlite_holder_alive(&other);
}

/* ---- registering ---- */

static const char register_sql[] =
    "WITH old AS (DELETE FROM harness.workers WHERE tenant = $1 AND lease_until < now() - interval '1 day') "
    "INSERT INTO harness.workers (tenant, id, project, host, boot, pid, pid_start, kind, lease_until) "
    "VALUES ($1, $2, $4, $5, $6, $7, $8, $9, now() + make_interval(secs => $3))";

static void new_owner(PostgresLease *l) {
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    size_t n = sizeof l->owner - 8;
    for (size_t i = 0; i < n; i++) l->owner[i] = letters[random_below(sizeof letters - 1)];
    l->owner[n] = 0;
}

void postgres_host(const PostgresStore *s, char out[POSTGRES_HOST_SIZE]) {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    for (char *c = name; *c; c++)
        if (*c == '#' || (unsigned char)*c <= ' ' || (unsigned char)*c >= 127) *c = '-';
    snprintf(out, POSTGRES_HOST_SIZE, "%s#%s", name, s->lease.host_id);
}

/* A process that lost its lease starts over under another name. It keeps none of its runs. */
bool postgres_register(PostgresStore *s, Error *err) {
    PostgresLease *l = &s->lease;
    char host[POSTGRES_HOST_SIZE], boot[BOOT_SIZE];
    SqliteHolder me;
    PostgresParams p = { 0 };
    PGresult *r = NULL;
    if (l->owner[0] && !postgres_lost(&s->store)) return true;
    StoreQuery ping = store_query(&s->store, SQL_VERSION, "register", err);  /* connects again if the server was restarted */
    if (!store_run(&ping)) return false;
    stop_thread(l);
    new_owner(l);
    postgres_host(s, host);
    sqlite_holder_self(&me);
    boot_name(&me, boot);
    add_lease(s, &p);
    postgres_add_str(&p, str_from(s->place.project), false);
    postgres_add_str(&p, str_from(host), false);
    postgres_add_str(&p, str_from(boot), false);
    postgres_add_int(&p, me.pid);
    postgres_add_int(&p, me.start);
    postgres_add_str(&p, str_from(l->kind ? l->kind : "process"), false);
    atomic_store(&l->until, boot_ns() + l->ttl_ns);
    atomic_store(&l->lost, false);
    if (!postgres_read(s, register_sql, &p, &r)) return l->owner[0] = 0, postgres_failed(s, "register", err);
    s->main.api->clear(r);
    int problem = thread_start(&l->thread, keep_renewing, s);
    l->started = problem == 0;
    return l->started || error_set(err, ERR_IO, "start a thread: %s", strerror(problem));
}

/* ---- runs ---- */

static PostgresHeld *find(PostgresStore *s, Str id) {
    for (size_t i = 0; i < s->held.n; i++)
        if (str_eq(str_from(s->held.at[i].id), id)) return &s->held.at[i];
    return NULL;
}

void postgres_hold(PostgresStore *s, Str id, int64_t epoch, bool queued) {
    PostgresHeld *h = find(s, id);
    if (h) h->epoch = epoch, h->queued = queued;
    else VEC_PUSH(&s->held, ((PostgresHeld){ str_dup(id), epoch, queued }));
}

void postgres_lease_drop(Store *store, Str id) {
    PostgresStore *s = own(store);
    PostgresHeld *h = find(s, id);
    if (!h) return;
    free(h->id);
    *h = VEC_LAST(&s->held);
    (void)VEC_POP(&s->held);
}

bool postgres_run_start(Store *store, Str id, Str agent, Str session, Error *err) {
    PostgresStore *s = own(store);
    PostgresHeld *h = find(s, id);
    if (h && h->queued) return h->queued = false, true;      /* store_queue_take has done it */
    if (!postgres_register(s, err)) return false;
    StoreQuery q = store_query(store, SQL_RUN_START, "start run", err);
    bool ok = store_bind(&q, "sssi", id, agent, session, clock_wall_ns()) && store_row(&q, &(bool){ 0 });
    if (!ok && store->driver->is_taken(store)) error_set(err, ERR_IO, "start run: %s already has run " STR_FMT, store->name, STR_ARG(id));
    if (ok) postgres_hold(s, id, 1, false);
    return store_end(&q, ok);
}

/* The row of the run stays locked until the end of the transaction. */
static bool free_to_take(Store *store, Str id, bool *mine, Error *err) {
    bool some = false;
    StoreQuery q = store_query(store, SQL_RUN_HOLDER, "lease run", err);
    bool ok = store_bind(&q, "s", id) && store_row(&q, &some);
    if (ok && !some) ok = store_no_such("run", id, err);
    if (ok) {
        *mine = str_eq(store_text(&q, 5), str_from(own(store)->lease.owner)) && own(store)->lease.owner[0];
        if (!*mine && postgres_alive(&q, 0)) ok = error_set(err, ERR_POLICY, "run " STR_FMT " is in use by process %lld on " STR_FMT, STR_ARG(id),
                                                            (long long)store_int(&q, 2), STR_ARG(store_text(&q, 4)));
    }
    if (ok && str_eq(store_text(&q, 6), STR("ready"))) {
        ok = error_set(err, ERR_POLICY, "run " STR_FMT " is in the queue", STR_ARG(id));
        error_hint(err, "harness worker works on it; harness runs cancel removes it from the queue");
    }
    return store_end(&q, ok);
}

static bool take(Store *store, Str id, Error *err) {
    PostgresStore *s = own(store);
    bool mine = false, some = false;
    if (!free_to_take(store, id, &mine, err)) return false;
    if (mine && find(s, id)) return true;
    StoreQuery q = store_query(store, SQL_RUN_LEASE, "lease run", err);
    bool ok = store_bind(&q, "s", id) && store_row(&q, &some);
    if (ok && some) postgres_hold(s, id, store_int(&q, 0), false);
    return store_end(&q, ok);
}

bool postgres_run_lease(Store *s, Str id, Error *err) {
    bool known = find(own(s), id);
    if (!postgres_register(own(s), err) || !store_begin(s, "lease run", err)) return false;
    bool ok = store_commit(s, take(s, id, err), "lease run", err);
    if (!ok && !known) postgres_lease_drop(s, id);
    return ok;
}

bool postgres_lease_free(Store *store, Str id) {
    bool mine = false;
    return free_to_take(store, id, &mine, NULL) && !mine;
}

/* ---- the fence ---- */

/* A run that this process leased must have the epoch of that time, and no other owner: after its end it has none. One that it never leased (a fork, a
 * note about an ended run) must have no owner. */
static bool allowed(PostgresStore *s, Str run, Str owner, int64_t epoch, const char *doing, Error *err) {
    const PostgresHeld *h = find(s, run);
    bool mine = h && owner.n && str_eq(owner, str_from(s->lease.owner)) && !postgres_lost(&s->store);
    if (h ? epoch == h->epoch && (mine || !owner.n) : !owner.n) return true;
    error_set(err, ERR_POLICY, "%s: run " STR_FMT " belongs to another process now, or the lease of this process ended", doing, STR_ARG(run));
    return error_hint(err, "nothing was written; harness runs shows who has it");
}

bool postgres_fence(Store *store, Str run, const char *doing, Error *err) {
    bool some = false;
    StoreQuery q = store_query(store, SQL_RUN_HEAD, doing, err);
    bool ok = store_bind(&q, "s", run) && store_row(&q, &some);
    ok = ok && (!some || allowed(own(store), run, store_text(&q, 3), store_int(&q, 4), doing, err));
    return store_end(&q, ok);
}

bool postgres_fence_events(Store *store, const StoreQuery *head, StoreWriter *w, Error *err) {
    w->last = (uint64_t)store_int(head, 2);
    return allowed(own(store), w->id, store_text(head, 3), store_int(head, 4), "write events", err);
}
