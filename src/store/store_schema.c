/* The format of the file. Each entry brings it from one version to the next; one that was published is never changed. */
#include <stdio.h>
#include "store/inside.h"

#define APPLICATION_ID 0x68726e73        /* "hrns" */
#define TEXT_OF(x) #x
#define NUMBER_TEXT(x) TEXT_OF(x)

static const char *const migrations[] = {
    "CREATE TABLE runs (id TEXT NOT NULL PRIMARY KEY, status TEXT NOT NULL, agent TEXT NOT NULL, parent TEXT NOT NULL, session TEXT NOT NULL,"
    "  started_ns INTEGER NOT NULL, ended_ns INTEGER NOT NULL, turns INTEGER NOT NULL, tool_calls INTEGER NOT NULL, usage TEXT NOT NULL,"
    "  pid INTEGER NOT NULL, pid_start INTEGER NOT NULL, boot TEXT NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE INDEX runs_by_time ON runs (started_ns);"
    "CREATE TABLE events (run TEXT NOT NULL, seq INTEGER NOT NULL, time_ns INTEGER NOT NULL, agent TEXT NOT NULL, parent TEXT NOT NULL,"
    "  depth INTEGER NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (run, seq)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE artifacts (key TEXT NOT NULL UNIQUE, run TEXT NOT NULL, tool TEXT NOT NULL, mime TEXT NOT NULL, time_ns INTEGER NOT NULL,"
    "  bytes BLOB NOT NULL) STRICT;"
    "CREATE INDEX artifacts_by_run ON artifacts (run);"
    "CREATE TABLE tasks (run TEXT NOT NULL, task TEXT NOT NULL, tool TEXT NOT NULL, status TEXT NOT NULL, result TEXT NOT NULL,"
    "  PRIMARY KEY (run, task)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE hooks (hook TEXT NOT NULL PRIMARY KEY, calls INTEGER NOT NULL, blocks INTEGER NOT NULL, errors INTEGER NOT NULL,"
    "  ns INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE notes (scope TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (scope, key)) STRICT, WITHOUT ROWID;"
    "PRAGMA application_id = " NUMBER_TEXT(APPLICATION_ID) ";",
    "CREATE TABLE pages (run TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, turns INTEGER NOT NULL, tool_calls INTEGER NOT NULL,"
    "  events BLOB NOT NULL, PRIMARY KEY (run, first)) STRICT;",
};
enum { FORMAT = sizeof migrations / sizeof *migrations };

static bool number(Store *s, const char *sql, int64_t *out, Error *err) {
    StoreQuery q = store_walk(s, sql, "open", err);
    bool some = false, ok = store_row(&q, &some);
    if (ok && some) *out = store_int(&q, 0);
    return store_end(&q, ok);
}

/* Checked before anything is written: the file may belong to somebody else. */
static bool check(Store *s, int64_t *version, Error *err) {
    int64_t id = 0, tables = 0;
    *version = 0;
    if (!number(s, "PRAGMA user_version", version, err) || !number(s, "PRAGMA application_id", &id, err)) return false;
    if (!number(s, "SELECT count(*) FROM sqlite_schema", &tables, err)) return false;
    if (id != APPLICATION_ID && tables)
        return error_set(err, ERR_IO, "open: %s is a database of another program", s->path), error_hint(err, "name another file with HARNESS_STATE");
    if (*version <= FORMAT) return true;
    error_set(err, ERR_IO, "open: state file %s was written by a newer harness (format %lld; this one knows %d)", s->path, (long long)*version, FORMAT);
    return error_hint(err, "update harness, or name another file with HARNESS_STATE");
}

static bool step_up(Store *s, int64_t version, Error *err) {
    char set[48];
    snprintf(set, sizeof set, "PRAGMA user_version = %lld", (long long)version + 1);
    return (s->api->exec(s->db, migrations[version], NULL, NULL, NULL) == SQLITE_OK && s->api->exec(s->db, set, NULL, NULL, NULL) == SQLITE_OK)
           || store_failed(s, "open", err);
}

bool store_migrate(Store *s, Error *err) {
    int64_t version;
    if (!check(s, &version, err)) return false;
    if (version == FORMAT) return true;
    if (!store_begin(s, "open", err)) return false;
    bool ok = check(s, &version, err);                   /* again: somebody else may have been faster */
    while (ok && version < FORMAT) ok = step_up(s, version++, err);
    return store_commit(s, ok, "open", err);
}
