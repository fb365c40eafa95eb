/* The format of the file. `user_version` holds its number. */
#include "base/fault.h"
#include "store/sqlite_private.h"
#include "store/sqlite_import.h"

#define APPLICATION_ID 0x68726e73        /* "hrns" */
#define TEXT_OF(x) #x
#define NUMBER_TEXT(x) TEXT_OF(x)

/* The `id` of an event is n of its run << 32 | its seq: one integer key makes an insert half as expensive as (run,
 * seq). `hash` of an event chains it to its predecessor in the run (store_chain.h); NULL: written before format 4. `last` and `hash` of a run are the
 * number and the hash of its last event. */
const char sqlite_schema_runs[] =
    "CREATE TABLE runs (n INTEGER NOT NULL PRIMARY KEY, id TEXT NOT NULL UNIQUE, status TEXT NOT NULL, agent TEXT NOT NULL, parent TEXT NOT NULL,"
    "  session TEXT NOT NULL, title TEXT NOT NULL DEFAULT '', started_ns INTEGER NOT NULL, ended_ns INTEGER NOT NULL, turns INTEGER NOT NULL,"
    "  tool_calls INTEGER NOT NULL, usage TEXT NOT NULL, cost REAL NOT NULL DEFAULT 0, pid INTEGER NOT NULL, pid_start INTEGER NOT NULL,"
    "  boot TEXT NOT NULL, last INTEGER NOT NULL DEFAULT 0, hash BLOB) STRICT;"
    "CREATE INDEX runs_by_time ON runs (started_ns);"
    "CREATE TABLE events (id INTEGER NOT NULL PRIMARY KEY, time_ns INTEGER NOT NULL, agent TEXT NOT NULL, parent TEXT NOT NULL,"
    "  depth INTEGER NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL, hash BLOB) STRICT;";

/* `asked` and `expires` are nanoseconds since 1970, like all times. A row of `pruned` stays when its run is removed. */
const char sqlite_schema_control[] =
    "CREATE TABLE approvals (id TEXT NOT NULL PRIMARY KEY, run TEXT NOT NULL, call TEXT NOT NULL, tool TEXT NOT NULL, args TEXT NOT NULL,"
    "  args_hash TEXT NOT NULL, why TEXT NOT NULL, rule TEXT NOT NULL, asked INTEGER NOT NULL, expires INTEGER NOT NULL,"
    "  state TEXT NOT NULL CHECK (state IN ('open', 'answered', 'used', 'withdrawn')), answer TEXT NOT NULL, by TEXT NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE INDEX approvals_by_run ON approvals (run);"
    "CREATE INDEX approvals_open ON approvals (asked) WHERE state = 'open';"
    "CREATE TABLE commands (run TEXT NOT NULL, n INTEGER NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('cancel', 'message')), body TEXT NOT NULL,"
    "  by TEXT NOT NULL, PRIMARY KEY (run, n)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE pruned (run TEXT NOT NULL PRIMARY KEY, ended_ns INTEGER NOT NULL, last INTEGER NOT NULL, hash BLOB) STRICT, WITHOUT ROWID;";

/* Formats 3 and 4 differ from format 5 only in what they lack: `last` and `hash` of runs, and `input` of decisions, a table that a file need not have. */
static const char format_4[] = "ALTER TABLE runs ADD COLUMN last INTEGER NOT NULL DEFAULT 0; ALTER TABLE runs ADD COLUMN hash BLOB;";

static const char schema[] =
    "CREATE TABLE artifacts (key TEXT NOT NULL UNIQUE, run TEXT NOT NULL, tool TEXT NOT NULL, mime TEXT NOT NULL, time_ns INTEGER NOT NULL,"
    "  bytes BLOB NOT NULL) STRICT;"
    "CREATE INDEX artifacts_by_run ON artifacts (run);"
    "CREATE TABLE tasks (run TEXT NOT NULL, task TEXT NOT NULL, tool TEXT NOT NULL, status TEXT NOT NULL, result TEXT NOT NULL,"
    "  PRIMARY KEY (run, task)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE hooks (hook TEXT NOT NULL PRIMARY KEY, calls INTEGER NOT NULL, blocks INTEGER NOT NULL, errors INTEGER NOT NULL,"
    "  ns INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE notes (scope TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (scope, key)) STRICT, WITHOUT ROWID;"
    "PRAGMA application_id = " NUMBER_TEXT(APPLICATION_ID) ";";

static bool read_number(SqliteStore *s, const char *sql, int64_t *out, Error *err) {
    StoreQuery q = sqlite_walk(s, sql, "open", err);
    bool some = false, ok = store_row(&q, &some);
    if (ok && some) *out = store_int(&q, 0);
    return store_end(&q, ok);
}

/* One statement, because another process may be creating the file: three could read different states of it. */
static bool read_all(SqliteStore *s, int64_t *version, int64_t *id, int64_t *tables, Error *err) {
    StoreQuery q = sqlite_walk(s, "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version, pragma_application_id",
                              "open", err);
    bool some = false, ok = store_row(&q, &some);
    if (ok && some) *version = store_int(&q, 0), *id = store_int(&q, 1), *tables = store_int(&q, 2);
    return store_end(&q, ok);
}

/* A file with our id was created completely, in one transaction. Most are, and a plain PRAGMA takes a fifth of the time of that statement. */
static bool read_format(SqliteStore *s, int64_t *version, int64_t *id, int64_t *tables, Error *err) {
    if (!read_number(s, "PRAGMA application_id", id, err)) return false;
    return *id == APPLICATION_ID ? read_number(s, "PRAGMA user_version", version, err) : read_all(s, version, id, tables, err);
}

bool sqlite_check(SqliteStore *s, int64_t *version, Error *err) {
    int64_t id = 0, tables = 0;
    *version = 0;
    if (!read_format(s, version, &id, &tables, err)) return false;
    if (id != APPLICATION_ID && tables)
        return error_set(err, ERR_IO, "open: %s is a database of another program", s->path), error_hint(err, "set HARNESS_STATE to another file");
    if (*version <= SQLITE_FILE_FORMAT) return true;
    error_set(err, ERR_IO, "open: state file %s was written by a newer harness (format %lld; this one supports %d)", s->path,
        (long long)*version, SQLITE_FILE_FORMAT);
    return error_hint(err, "update harness, or set HARNESS_STATE to another file");
}

bool sqlite_exec(SqliteStore *s, const char *sql, const char *doing, Error *err) {
    if (fault_hit()) return error_set(err, ERR_IO, "%s: state file %s: injected fault", doing, s->path);
    return s->api->exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK || sqlite_failed(s, doing, err);
}

static bool create(SqliteStore *s, Error *err) {
    return sqlite_exec(s, sqlite_schema_runs, "open", err) && sqlite_exec(s, schema, "open", err) && sqlite_exec(s, sqlite_schema_control, "open", err) &&
           sqlite_exec(s, "PRAGMA user_version = " NUMBER_TEXT(SQLITE_FILE_FORMAT), "open", err);
}

static bool add_input(SqliteStore *s, Error *err) {
    bool table = false;
    StoreQuery q = sqlite_walk(s, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'decisions'", "migrate", err);
    bool ok = store_row(&q, &table);
    if (!store_end(&q, ok)) return false;
    return !table || sqlite_exec(s, "ALTER TABLE decisions ADD COLUMN input TEXT NOT NULL DEFAULT ''", "migrate", err);
}

/* Each format is reached from the one before it; an import writes the tables of runs as they are now. */
static bool update(SqliteStore *s, int64_t from, Error *err) {
    if (from < 3 && !sqlite_import(s, from, err)) return false;
    if (from == 3 && !sqlite_exec(s, format_4, "migrate", err)) return false;
    return add_input(s, err) && sqlite_exec(s, "PRAGMA user_version = " NUMBER_TEXT(SQLITE_FILE_FORMAT), "migrate", err);
}

bool sqlite_migrate(SqliteStore *s, int64_t version, Error *err) {
    if (version == SQLITE_FILE_FORMAT) return sqlite_import_tail(s), true;
    if (!store_begin(&s->store, "open", err)) return false;
    bool ok = sqlite_check(s, &version, err);                /* check again: another process may have migrated it */
    bool old = ok && version > 0 && version < SQLITE_FILE_FORMAT;
    if (ok && version == 0) ok = create(s, err);
    if (old) ok = update(s, version, err);
    ok = store_commit(&s->store, ok, old ? "migrate" : "open", err);
    if (old && version < 3) sqlite_import_end(s, ok);
    if (ok && old && version >= 3) sqlite_import_tail(s);
    return ok;
}
