/* PostgreSQL: statements on one connection, which is opened again when it was lost. An answer is kept in memory as a whole, so that statements may
 * nest. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "store/postgres_private.h"

/* RETRY_NS: how long a transaction is repeated after the connection was lost. */
enum { WAIT_MS = 10000, PAUSE_US = 50000, TYPE_TEXT = 25, PAGE = 200 };
static const int64_t RETRY_NS = 20000000000;

typedef struct Query { int sql; PostgresParams params; PGresult *result; int row, rows; } Query;

static PostgresStore *own(Store *s) { return (PostgresStore *)s; }

/* ---- errors ---- */

static bool is(const PostgresConnection *c, const char *prefix) { return strncmp(c->state, prefix, strlen(prefix)) == 0; }

bool postgres_failed(PostgresStore *s, const char *doing, Error *err) {
    const PostgresConnection *c = &s->main;
    const char *name = s->store.name;
    if (!c->state[0]) {
        error_set(err, ERR_IO, "%s: %s: %s", doing, name, c->problem);
        return error_hint(err, "check that the server runs and that the URL of the store is right");
    }
    if (is(c, "42501")) {
        error_set(err, ERR_IO, "%s: %s: %s", doing, name, c->problem);
        return error_hint(err, "give the role USAGE on the schema harness, and SELECT, INSERT, UPDATE and DELETE on its tables");
    }
    if (is(c, "3F000") || is(c, "42P01")) {
        error_set(err, ERR_IO, "%s: %s has no tables of harness", doing, name);
        return error_hint(err, "create them with: harness store migrate");
    }
    if (is(c, "53100")) {
        error_set(err, ERR_IO, "%s: no space left for %s", doing, name);
        return error_hint(err, "free some space on the disk of the server");
    }
    if (is(c, "25006")) {
        error_set(err, ERR_IO, "%s: %s is read-only", doing, name);
        return error_hint(err, "is it a replica? Connect to the primary server");
    }
    if (is(c, "26000") || is(c, "42P05")) {
        error_set(err, ERR_IO, "%s: %s: %s", doing, name, c->problem);
        return error_hint(err, "a pooler between harness and the server exchanges connections inside a session");
    }
    return error_set(err, ERR_IO, "%s: %s: %s (%s)", doing, name, c->problem, c->state);
}

/* ---- connecting ---- */

/* Whether a pooler is in between: then the server process is another one than the one that was announced. */
static bool find_pooler(PostgresConnection *c) {
    PGresult *r = postgres_execute(c, -1, "SELECT pg_backend_pid()", &(PostgresParams){ 0 });
    if (!r) return false;
    c->direct = postgres_int_at(c->api, r, 0, 0) == c->api->backendPID(c->conn);
    c->api->clear(r);
    return true;
}

static bool connect_now(PostgresConnection *c) { return postgres_connect(c) && find_pooler(c); }

/* Outside of transactions. A server that restarts refuses connections for a moment. */
static bool connected(PostgresStore *s) {
    if (!postgres_is_lost(&s->main)) return true;
    int64_t until = clock_mono_ns() + s->main.wait_ns;
    while (!connect_now(&s->main)) {
        if (!s->store.ready || clock_mono_ns() > until || postgres_lost(&s->store)) return false;
        usleep(PAUSE_US);
    }
    return true;
}

/* ---- statements ---- */

void postgres_common(PostgresStore *s, PostgresParams *p) {
    postgres_add_str(p, str_from(s->tenant), false);
    postgres_add_str(p, str_from(s->place.project), false);
    postgres_add_str(p, str_from(s->lease.owner), false);
    for (int i = 0; i < 3; i++) p->type[i] = TYPE_TEXT;      /* a statement may use only some of them */
}

/* ?1 becomes $4, after @tenant, @project and @owner. */
static char *translate(const char *sql) {
    static const char *const common[] = { "@tenant", "@project", "@owner" };
    Buf out = { 0 };
    while (*sql) {
        size_t i = 0;
        while (i < 3 && strncmp(sql, common[i], strlen(common[i])) != 0) i++;
        if (i < 3) {
            buf_add_fmt(&out, "$%zu", i + 1);
            sql += strlen(common[i]);
        } else if (*sql == '?') {
            char *end;
            buf_add_fmt(&out, "$%ld", strtol(sql + 1, &end, 10) + 3);
            sql = end;
        } else {
            buf_add_char(&out, *sql++);
        }
    }
    return buf_take(&out);
}

static void prepare(StoreQuery *q, StoreSql sql) {
    static const char *const statements[] = {
#define SQL(id, kept, sqlite, postgres) [id] = postgres,
#include "store/store_statements.def"
    };
    PostgresStore *s = own(q->store);
    if (!s->text[sql]) s->text[sql] = translate(statements[sql]);
    Query *own_query = mem_zero(1, sizeof *own_query);
    own_query->sql = (int)sql;
    if (strchr(s->text[sql], '$')) postgres_common(s, &own_query->params);
    q->stmt = own_query;
}

static bool bind(StoreQuery *q, const char *types, va_list ap) {
    Query *x = q->stmt;
    bool ok = true;
    if (x->params.n == 0) postgres_common(own(q->store), &x->params);
    for (; *types; types++) {
        if (*types == 'i') postgres_add_int(&x->params, va_arg(ap, int64_t));
        else if (*types == 'd') postgres_add_double(&x->params, va_arg(ap, double));
        else ok = postgres_add_str(&x->params, va_arg(ap, Str), *types == 'b') && ok;
    }
    return ok || error_set(q->err, ERR_LIMIT, "%s: too large for %s", q->doing, q->store->name);
}

static bool broken(StoreQuery *q) { return postgres_failed(own(q->store), q->doing, q->err); }

/* Outside of a transaction, only a statement that changes nothing may be repeated when the connection was lost while it ran. */
static bool may_repeat(const char *text) { return strncmp(text, "SELECT", 6) == 0 || strncmp(text, "BEGIN", 5) == 0; }

static PGresult *execute(PostgresStore *s, Query *x) {
    const char *text = s->text[x->sql];
    PGresult *r = postgres_execute(&s->main, x->sql, text, &x->params);
    if (r || s->in_transaction || s->main.conn || !may_repeat(text) || !connected(s)) return r;
    return postgres_execute(&s->main, x->sql, text, &x->params);
}

static void note_transaction(PostgresStore *s, int sql, bool ok) {
    if (sql == SQL_BEGIN || sql == SQL_BEGIN_READ) s->in_transaction = ok, s->broken = !ok && !s->main.conn;
    else if (!s->main.conn && s->in_transaction) s->broken = true;
    if (sql != SQL_COMMIT) return;
    s->unsure = !ok && s->broken && s->grown.id;
    s->in_transaction = !ok;
}

static bool row(StoreQuery *q, bool *some) {
    PostgresStore *s = own(q->store);
    Query *x = q->stmt;
    if (!x->result) {
        if (s->in_transaction ? s->broken : !connected(s)) return s->broken = true, broken(q);
        x->result = execute(s, x);
        note_transaction(s, x->sql, x->result != NULL);
        if (!x->result) return broken(q);
        x->rows = s->main.api->ntuples(x->result);
        s->changes = strtoll(s->main.api->cmdTuples(x->result), NULL, 10);
        x->row = -1;
    }
    return *some = ++x->row < x->rows, true;
}

static void end(StoreQuery *q) {
    Query *x = q->stmt;
    if (x->result) own(q->store)->main.api->clear(x->result);
    free(x);
}

static Str text(const StoreQuery *q, int column) {
    const Query *x = q->stmt;
    return postgres_text_at(own(q->store)->main.api, x->result, x->row, column);
}

static int64_t integer(const StoreQuery *q, int column) {
    const Query *x = q->stmt;
    return postgres_int_at(own(q->store)->main.api, x->result, x->row, column);
}

static double real(const StoreQuery *q, int column) {
    int64_t bits = integer(q, column);
    double out;
    memcpy(&out, &bits, sizeof out);
    return out;
}

static int64_t changes(Store *s) { return own(s)->changes; }
static bool is_taken(Store *s) { return is(&own(s)->main, "23505"); }

/* A connection that was lost has rolled back. */
static void roll_back(Store *store) {
    PostgresStore *s = own(store);
    if (!s->in_transaction) return;
    s->in_transaction = false;
    if (s->broken || !s->main.conn) return;
    PGresult *r = postgres_execute(&s->main, -1, "ROLLBACK", &(PostgresParams){ 0 });
    if (r) s->main.api->clear(r);
    else postgres_disconnect(&s->main);
}

static bool again(Store *store, int64_t since_ns) {
    PostgresStore *s = own(store);
    if (!s->broken || clock_mono_ns() - since_ns > RETRY_NS || postgres_lost(store)) return false;
    usleep(PAUSE_US);
    return true;
}

/* ---- events whose commit has an unknown outcome ---- */

static void wrote(Store *store, const StoreWriter *w) {
    PostgresStore *s = own(store);
    free(s->grown.id);
    s->grown.id = str_dup(w->id);
    s->grown.last = w->last;
    memcpy(s->grown.hash, w->hash, SHA256_BYTES);
}

static bool was_unsure(Store *store) {
    PostgresStore *s = own(store);
    bool yes = s->unsure;
    s->unsure = false;
    return yes;
}

/* The transaction wrote all its runs or none, so one of them tells. SQL_RUN_HEAD waits for the row until the server has ended that transaction. */
static bool committed(Store *store, bool *yes, Error *err) {
    PostgresStore *s = own(store);
    bool some = false;
    StoreQuery q = store_query(store, SQL_RUN_HEAD, "write events", err);
    bool ok = store_bind(&q, "s", str_from(s->grown.id)) && store_row(&q, &some);
    if (ok) {
        Str hash = some ? store_text(&q, 1) : STR("");
        *yes = some && (uint64_t)store_int(&q, 2) == s->grown.last && hash.n == SHA256_BYTES && memcmp(hash.at, s->grown.hash, SHA256_BYTES) == 0;
    }
    return store_end(&q, ok);
}

/* ---- the rest ---- */

static bool alive(const StoreQuery *q) { return postgres_alive(q, STORE_RUN_HOLDER); }
static bool shrink(Store *s, Error *err) { (void)s, (void)err; return true; }             /* autovacuum does it */
static bool make_decisions(Store *s, Error *err) { (void)s, (void)err; return true; }    /* part of the schema */
static void wait_at_most(Store *s, int ms) { own(s)->main.wait_ns = (int64_t)ms * 1000000; }

static void shut(Store *store) {
    PostgresStore *s = own(store);
    postgres_lease_end(s);
    postgres_disconnect(&s->main);
    postgres_disconnect(&s->hints.connection);
    for (int i = 0; i < SQL_COUNT; i++) free(s->text[i]);
    for (size_t i = 0; i < s->held.n; i++) free(s->held.at[i].id);
    VEC_CLEAR(&s->held);
    free(s->grown.id);
    free(s->tenant);
    postgres_place_clear(&s->place);
}

static const StoreDriver driver = {
    .close = shut, .prepare = prepare, .bind = bind, .row = row, .end = end, .text = text, .integer = integer, .real = real, .changes = changes,
    .is_taken = is_taken, .roll_back = roll_back, .page = PAGE, .run_start = postgres_run_start, .run_lease = postgres_run_lease,
    .lease_free = postgres_lease_free, .lease_drop = postgres_lease_drop, .alive = alive, .fence = postgres_fence, .fence_events = postgres_fence_events,
    .artifact_put = postgres_artifact_put, .artifact_get = postgres_artifact_get, .shrink = shrink, .make_decisions = make_decisions, .wait = wait_at_most,
    .again = again, .wrote = wrote, .was_unsure = was_unsure, .committed = committed, .lost = postgres_lost,
};

bool postgres_read(PostgresStore *s, const char *sql, const PostgresParams *p, PGresult **out) {
    *out = postgres_execute(&s->main, -1, sql, p);
    return *out != NULL;
}

static PostgresStore *new_store(PostgresPlace place, const Postgres *api) {
    PostgresStore *s = mem_zero(1, sizeof *s);
    s->place = place;
    s->tenant = str_dup(STR(""));
    s->main = (PostgresConnection){ .api = api, .place = &s->place, .wait_ns = (int64_t)WAIT_MS * 1000000 };
    postgres_lease_init(s);
    store_init(&s->store, &driver, "database", s->place.shown);
    return s;
}

static bool open_place(const char *location, PostgresStore **out, Error *err) {
    const Postgres *api = postgres_load(err);
    PostgresPlace place;
    if (!api || !postgres_lease_check(err) || !postgres_place_parse(location, &place, err)) return false;
    PostgresStore *s = new_store(place, api);
    if (!connect_now(&s->main)) return postgres_failed(s, "open", err), store_close(&s->store), false;
    return *out = s, true;
}

bool postgres_open(const char *location, Store **out, Error *err) {
    PostgresStore *s;
    if (!open_place(location, &s, err)) return false;
    if (!postgres_schema_check(s, err)) return store_close(&s->store), false;
    s->store.ready = true;
    return *out = &s->store, true;
}

bool store_migrate(const char *location, int *from, int *to, Error *err) {
    PostgresStore *s;
    if (!open_place(location, &s, err)) return false;
    bool ok = postgres_schema_migrate(s, from, err);
    if (ok) *to = POSTGRES_FORMAT;
    store_close(&s->store);
    return ok;
}
