/* The tables. Every one has tenant and project in its key, and shows each role its own rows only. */
#include <stdio.h>
#include <stdlib.h>
#include "store/postgres_private.h"

#define TEXT_OF(x) #x
#define NUMBER_TEXT(x) TEXT_OF(x)
#define KEY "tenant text NOT NULL, project text NOT NULL, "
#define TEXT(name) #name " text NOT NULL DEFAULT '', "
#define NUMBER(name) #name " bigint NOT NULL DEFAULT 0, "

/* `boot` of a worker names its boot and its namespace of processes: a process with the same one can see whether it lives.
 * `id` of an event: n of its run << 32 | its number, as in SQLite. Texts that may hold any bytes, and those that hashes cover, are bytea. */
static const char *const tables[] = {
    "CREATE SCHEMA harness",
    "CREATE TABLE harness.about (format int NOT NULL, compatible_from int NOT NULL)",
    "CREATE TABLE harness.workers (tenant text NOT NULL, id text NOT NULL, project text NOT NULL, host text NOT NULL, boot text NOT NULL, pid bigint NOT NULL, "
    "pid_start bigint NOT NULL, kind text NOT NULL, "
    "started_at timestamptz NOT NULL DEFAULT now(), lease_until timestamptz NOT NULL, PRIMARY KEY (tenant, id))",
    "CREATE TABLE harness.runs (" KEY "id text NOT NULL, n bigint GENERATED ALWAYS AS IDENTITY, status text NOT NULL, " TEXT(agent) TEXT(parent) TEXT(session)
    TEXT(title) NUMBER(started_ns) NUMBER(ended_ns) NUMBER(turns) NUMBER(tool_calls) TEXT(usage) "cost float8 NOT NULL DEFAULT 0, " NUMBER(last)
    "hash bytea, owner text, " NUMBER(epoch) "PRIMARY KEY (tenant, project, id), UNIQUE (tenant, project, n))",
    "CREATE INDEX runs_by_time ON harness.runs (tenant, project, started_ns)",
    "CREATE INDEX runs_by_owner ON harness.runs (tenant, owner) WHERE owner IS NOT NULL",
    "CREATE TABLE harness.events (" KEY "id bigint NOT NULL, time_ns bigint NOT NULL, agent text NOT NULL, parent text NOT NULL, depth int8 NOT NULL, "
    "type text NOT NULL, data bytea NOT NULL, hash bytea, PRIMARY KEY (tenant, project, id))",
    "CREATE TABLE harness.artifacts (" KEY "key text NOT NULL, run text NOT NULL, tool text NOT NULL, mime text NOT NULL, time_ns bigint NOT NULL, "
    "size bigint NOT NULL, PRIMARY KEY (tenant, project, key))",
    "CREATE INDEX artifacts_by_run ON harness.artifacts (tenant, project, run)",
    "CREATE TABLE harness.artifact_chunks (" KEY "key text NOT NULL, n bigint NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (tenant, project, key, n))",
    "CREATE TABLE harness.tasks (" KEY "run text NOT NULL, task text NOT NULL, tool text NOT NULL, status text NOT NULL, result bytea NOT NULL, "
    "PRIMARY KEY (tenant, project, run, task))",
    "CREATE TABLE harness.hooks (" KEY NUMBER(calls) NUMBER(blocks) NUMBER(errors) NUMBER(ns) "hook text NOT NULL, PRIMARY KEY (tenant, project, hook))",
    "CREATE TABLE harness.notes (" KEY "scope text NOT NULL, key text NOT NULL, text bytea NOT NULL, PRIMARY KEY (tenant, project, scope, key))",
    "CREATE TABLE harness.approvals (" KEY "id text NOT NULL, run text NOT NULL, call text NOT NULL, tool text NOT NULL, args bytea NOT NULL, "
    "args_hash text NOT NULL, why text NOT NULL, rule text NOT NULL, asked bigint NOT NULL, expires bigint NOT NULL, state text NOT NULL DEFAULT 'open' "
    "CHECK (state IN ('open', 'answered', 'used', 'withdrawn')), answer bytea NOT NULL DEFAULT '', " TEXT(by) "PRIMARY KEY (tenant, project, id))",
    "CREATE INDEX approvals_by_run ON harness.approvals (tenant, project, run)",
    "CREATE INDEX approvals_open ON harness.approvals (tenant, project, asked) WHERE state = 'open'",
    "CREATE TABLE harness.commands (" KEY "run text NOT NULL, n bigint NOT NULL, kind text NOT NULL CHECK (kind IN ('cancel', 'message')), "
    "body bytea NOT NULL, by text NOT NULL, PRIMARY KEY (tenant, project, run, n))",
    "CREATE TABLE harness.pruned (" KEY "run text NOT NULL, ended_ns bigint NOT NULL, last bigint NOT NULL, hash bytea, PRIMARY KEY (tenant, project, run))",
    "CREATE TABLE harness.changes (" KEY "n bigint NOT NULL, PRIMARY KEY (tenant, project))",
    "CREATE TABLE harness.decisions (" KEY "n bigint NOT NULL, time_ns bigint NOT NULL, " TEXT(vendor) TEXT(session) TEXT(call) TEXT(event) TEXT(tool)
    TEXT(vendor_tool) TEXT(subject) TEXT(verdict) TEXT(rule) TEXT(reason) TEXT(root) "hash bytea NOT NULL, PRIMARY KEY (tenant, project, n), "
    "UNIQUE (tenant, project, vendor, session, call, event))",
};

/* Format 2: the queue. `state` is '' for a run that is not queued, `journal` the format of its events, `claimed` the number of its last event when a worker
 * took it, `attempts` how often the worker died since without an event. A run of an older harness is not in the queue. */
static const char *const queue[] = {
    "ALTER TABLE harness.runs ADD COLUMN state text NOT NULL DEFAULT '' CHECK (state IN ('', 'ready', 'taken', 'ended')), "
    "ADD COLUMN priority bigint NOT NULL DEFAULT 0, ADD COLUMN wake_at timestamptz NOT NULL DEFAULT now(), ADD COLUMN attempts bigint NOT NULL DEFAULT 0, "
    "ADD COLUMN claimed bigint NOT NULL DEFAULT 0, ADD COLUMN journal bigint NOT NULL DEFAULT 1, ADD COLUMN cancel boolean NOT NULL DEFAULT false, "
    "ADD COLUMN job bytea NOT NULL DEFAULT ''",
    "CREATE INDEX runs_ready ON harness.runs (tenant, project, priority DESC, wake_at) WHERE state = 'ready'",
    "CREATE INDEX runs_taken ON harness.runs (tenant, project) WHERE state = 'taken'",
};

/* Format 3: the calls that were decided about. */
static const char input[] = "ALTER TABLE harness.decisions ADD COLUMN input text NOT NULL DEFAULT ''";

static const char *const guarded[] = { "workers", "runs", "events", "artifacts", "artifact_chunks", "tasks", "hooks", "notes", "approvals", "commands", "pruned",
                                       "changes", "decisions" };

static bool run(PostgresStore *s, const char *sql, Error *err) {
    PGresult *r;
    if (!postgres_read(s, sql, &(PostgresParams){ 0 }, &r)) return postgres_failed(s, "migrate", err);
    s->main.api->clear(r);
    return true;
}

/* Forced: it also holds for the owner of the tables. A role with BYPASSRLS sees all tenants. */
static bool guard(PostgresStore *s, const char *table, Error *err) {
    char sql[256];
    snprintf(sql, sizeof sql, "ALTER TABLE harness.%s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY", table);
    if (!run(s, sql, err)) return false;
    snprintf(sql, sizeof sql, "CREATE POLICY tenant ON harness.%s USING (tenant = current_user::text) WITH CHECK (tenant = current_user::text)", table);
    return run(s, sql, err);
}

static bool create(PostgresStore *s, Error *err) {
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof tables / sizeof *tables; i++) ok = run(s, tables[i], err);
    for (size_t i = 0; ok && i < sizeof guarded / sizeof *guarded; i++) ok = guard(s, guarded[i], err);
    return ok && run(s, "INSERT INTO harness.about VALUES (1, 1)", err);
}

/* Each format is reached from the one before it. */
static bool update(PostgresStore *s, int from, Error *err) {
    bool ok = from > 0 || create(s, err);
    for (size_t i = 0; ok && from < 2 && i < sizeof queue / sizeof *queue; i++) ok = run(s, queue[i], err);
    if (ok && from < 3) ok = run(s, input, err);
    char sql[96];
    snprintf(sql, sizeof sql, "UPDATE harness.about SET format = %d, compatible_from = %d", POSTGRES_FORMAT, POSTGRES_OLDEST);
    return ok && run(s, sql, err);
}

/* *format is 0 without tables. */
static bool read_format(PostgresStore *s, int *format, int *compatible, Error *err) {
    PGresult *r;
    const Postgres *api = s->main.api;
    *format = *compatible = 0;
    if (!postgres_read(s, "SELECT to_regclass('harness.about') IS NOT NULL", &(PostgresParams){ 0 }, &r)) return postgres_failed(s, "open", err);
    bool there = postgres_int_at(api, r, 0, 0);
    api->clear(r);
    if (!there) return true;
    if (!postgres_read(s, "SELECT format, compatible_from FROM harness.about", &(PostgresParams){ 0 }, &r)) return postgres_failed(s, "open", err);
    if (api->ntuples(r) == 1) *format = (int)postgres_int_at(api, r, 0, 0), *compatible = (int)postgres_int_at(api, r, 0, 1);
    api->clear(r);
    return true;
}

static bool check_newest(PostgresStore *s, int format, int compatible, Error *err) {
    if (compatible <= POSTGRES_FORMAT) return true;
    error_set(err, ERR_IO, "open: %s has tables of a newer harness (format %d; this one supports %d)", s->store.name, format, POSTGRES_FORMAT);
    return error_hint(err, "update harness");
}

static bool check_format(PostgresStore *s, int format, int compatible, Error *err) {
    if (!check_newest(s, format, compatible, err)) return false;
    if (format >= POSTGRES_OLDEST) return true;
    if (format == 0) error_set(err, ERR_IO, "open: %s has no tables of harness", s->store.name);
    else error_set(err, ERR_IO, "open: %s has tables of an older harness (format %d; this one needs %d)", s->store.name, format, POSTGRES_OLDEST);
    return error_hint(err, "run: harness store migrate");
}

static bool check_server(PostgresStore *s, Error *err) {
    int version = s->main.api->serverVersion(s->main.conn);
    if (version >= POSTGRES_SERVER_MIN) return true;
    error_set(err, ERR_IO, "open: %s: PostgreSQL %d is too old", s->store.name, version / 10000);
    return error_hint(err, "use version %d or a later one", POSTGRES_SERVER_MIN / 10000);
}

/* Without synchronous_commit, a crash of the server loses events that a call was started after. */
static bool check_session(PostgresStore *s, Error *err) {
    PGresult *r;
    const Postgres *api = s->main.api;
    if (!postgres_read(s, "SELECT current_user::text, current_setting('synchronous_commit'), pg_is_in_recovery()", &(PostgresParams){ 0 }, &r))
        return postgres_failed(s, "open", err);
    free(s->tenant);
    s->tenant = str_dup(postgres_text_at(api, r, 0, 0));
    bool sync = !str_eq(postgres_text_at(api, r, 0, 1), STR("off")), replica = postgres_int_at(api, r, 0, 2);
    api->clear(r);
    if (replica) {
        error_set(err, ERR_IO, "open: %s is a replica, which cannot be written", s->store.name);
        return error_hint(err, "connect to the primary server");
    }
    if (sync) return true;
    error_set(err, ERR_IO, "open: %s: synchronous_commit is off: a crash of the server would lose what was committed", s->store.name);
    return error_hint(err, "ALTER ROLE … SET synchronous_commit = on");
}

bool postgres_schema_check(PostgresStore *s, Error *err) {
    int format, compatible;
    return check_server(s, err) && check_session(s, err) && read_format(s, &format, &compatible, err) && check_format(s, format, compatible, err);
}

/* One process at a time, in one transaction. */
bool postgres_schema_migrate(PostgresStore *s, int *from, Error *err) {
    int compatible;
    bool ok = check_server(s, err) && check_session(s, err) && run(s, "BEGIN", err) && run(s, "SELECT pg_advisory_xact_lock(7522528173291155315)", err) &&
              read_format(s, from, &compatible, err) && check_newest(s, *from, compatible, err);
    if (ok && *from < POSTGRES_FORMAT) ok = update(s, *from, err);
    return ok && run(s, "COMMIT", err);                      /* without it, closing the connection rolls back */
}
