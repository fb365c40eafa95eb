/* Private to the PostgreSQL driver. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include "base/vec.h"
#include "store/postgres.h"
#include "store/store_private.h"

/* The format of the tables that this program writes, and the oldest one that it can use. `compatible_from` in the database is the oldest format
 * that a program must know to use the tables. */
enum { POSTGRES_FORMAT = 3, POSTGRES_OLDEST = 3, POSTGRES_SERVER_MIN = 140000 };

/* ---- postgres_url.c ---- */

/* What a location says: postgresql://USER@HOST/DB?…#PROJECT. All owned; `shown` has no password. */
typedef struct PostgresPlace { char *url, *project, *shown; } PostgresPlace;
bool postgres_place_parse(const char *location, PostgresPlace *out, Error *err);      /* ERR_CONFIG; no message contains a password */
void postgres_place_clear(PostgresPlace *p);

/* ---- postgres_connection.c ----
 * One connection. It never blocks longer than `wait_ns` in one call, except while the system looks up the name of a host. */
typedef struct PostgresConnection {
    const Postgres *api;
    PGconn *conn;                        /* NULL: none */
    const PostgresPlace *place;
    int64_t wait_ns;
    bool direct;                         /* no pooler in between: prepared statements stay */
    bool prepared[SQL_COUNT];
    char state[6];                       /* SQLSTATE of the last failure; "": the connection was lost */
    char problem[400];                   /* its text */
} PostgresConnection;

enum { POSTGRES_PARAMS_MAX = 20 };
/* What a statement gets. All values are binary. */
typedef struct PostgresParams {
    int n;
    Oid type[POSTGRES_PARAMS_MAX];
    const char *value[POSTGRES_PARAMS_MAX];
    int length[POSTGRES_PARAMS_MAX], format[POSTGRES_PARAMS_MAX];
    uint64_t number[POSTGRES_PARAMS_MAX];                    /* memory for integers */
} PostgresParams;
void postgres_add_int(PostgresParams *p, int64_t v);
void postgres_add_double(PostgresParams *p, double v);
bool postgres_add_str(PostgresParams *p, Str v, bool bytes); /* borrows v; false: too long for a message of the protocol */

bool postgres_connect(PostgresConnection *c);                /* false: `problem` says why */
void postgres_disconnect(PostgresConnection *c);
bool postgres_is_lost(PostgresConnection *c);                /* closed by the server while it was idle, or by a failure */
/* Executes a statement. `sql` is its number if it stays prepared, or -1. NULL: failed, see `state`. */
PGresult *postgres_execute(PostgresConnection *c, int sql, const char *text, const PostgresParams *p);
int64_t postgres_int_at(const Postgres *api, const PGresult *r, int row, int column);
Str postgres_text_at(const Postgres *api, const PGresult *r, int row, int column);

/* ---- the store ---- */

typedef struct PostgresHeld { char *id; int64_t epoch; bool queued; } PostgresHeld;   /* queued: taken from the queue, and not started yet */

/* The lease of this process. The thread renews it on a connection of its own. */
typedef struct PostgresLease {
    char owner[32];                      /* random; "": not registered */
    char host_id[17];                    /* store_queue_host; "": none */
    const char *kind;                    /* as `harness workers` shows it; NULL: process */
    PostgresConnection beat;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool started, over;
    int64_t ttl_ns;
    _Atomic int64_t until;               /* CLOCK_BOOTTIME, counted from before the renewal was sent */
    _Atomic bool lost, cancelled;        /* cancelled: of one of its runs */
} PostgresLease;

typedef struct PostgresStore {
    Store store;
    PostgresConnection main;
    PostgresPlace place;
    char *tenant;
    char *text[SQL_COUNT];               /* statements with $1 … instead of ?1 and @tenant; owned */
    bool in_transaction, broken;         /* broken: the connection was lost during the transaction */
    bool unsure;                         /* it was lost during COMMIT */
    int64_t changes;
    VEC(PostgresHeld) held;              /* runs that this process leased, with their epochs */
    struct { char *id; uint64_t last; uint8_t hash[SHA256_BYTES]; } grown;   /* the last run that a transaction appended events to */
    PostgresLease lease;
    struct { PostgresConnection connection; int64_t again_ns; } hints;       /* postgres_listen.c; again_ns: not connected before this time */
} PostgresStore;

bool postgres_open(const char *location, Store **out, Error *err);
/* Sets the error of the last statement; returns false. */
bool postgres_failed(PostgresStore *s, const char *doing, Error *err);
bool postgres_read(PostgresStore *s, const char *text, const PostgresParams *p, PGresult **out);      /* a statement without a number */
void postgres_common(PostgresStore *s, PostgresParams *p);   /* adds $1 tenant, $2 project, $3 owner */

/* ---- postgres_schema.c ---- */
bool postgres_schema_check(PostgresStore *s, Error *err);    /* also reads the tenant */
bool postgres_schema_migrate(PostgresStore *s, int *from, Error *err);

/* ---- postgres_lease.c ---- */
enum { POSTGRES_HOST_SIZE = 280 };
void postgres_host(const PostgresStore *s, char out[POSTGRES_HOST_SIZE]);    /* the name of this host, "#", and its id */
bool postgres_lease_check(Error *err);                       /* ERR_CONFIG: HARNESS_LEASE */
void postgres_lease_init(PostgresStore *s);
void postgres_lease_end(PostgresStore *s);                   /* ends the thread and gives the lease back */
/* Registers this process as a holder of leases, once; again under another name after its lease ended. */
bool postgres_register(PostgresStore *s, Error *err);
void postgres_hold(PostgresStore *s, Str id, int64_t epoch, bool queued);
bool postgres_run_start(Store *s, Str id, Str agent, Str session, Error *err);
bool postgres_run_lease(Store *s, Str id, Error *err);
bool postgres_lease_free(Store *s, Str id);
void postgres_lease_drop(Store *s, Str id);
bool postgres_fence(Store *s, Str run, const char *doing, Error *err);
bool postgres_fence_events(Store *s, const StoreQuery *head, StoreWriter *w, Error *err);
bool postgres_lost(Store *s);
bool postgres_alive(const StoreQuery *q, int column);        /* columns: the lease holds, boot, pid, pid_start */

/* ---- postgres_artifact.c ---- */
bool postgres_artifact_put(Store *s, Str key, Str run, Str tool, Str mime, Str bytes, bool *fresh, Error *err);
bool postgres_artifact_get(Store *s, Str run, Str key, uint64_t offset, uint64_t limit, Buf *out, uint64_t *total, Error *err);
