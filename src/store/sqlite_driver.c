/* SQLite: one file (WAL), one connection with prepared statements. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "store/sqlite_private.h"

enum { BUSY_MS = 5000, RETRY_US = 5000 };

static SqliteStore *own(Store *s) { return (SqliteStore *)s; }
static const Sqlite *api_of(const StoreQuery *q) { return own(q->store)->api; }

/* ---- errors ---- */

bool sqlite_failed(SqliteStore *s, const char *doing, Error *err) {
    int code = s->db ? s->api->extended_errcode(s->db) : SQLITE_CANTOPEN, os = s->db ? s->api->system_errno(s->db) : 0;
    const char *text = s->db ? s->api->errmsg(s->db) : "out of memory";
    switch (code & 0xff) {
    case SQLITE_BUSY: case SQLITE_LOCKED:
        error_set(err, ERR_IO, "%s: state file %s is locked by another program", doing, s->path);
        return error_hint(err, "end that program, or set HARNESS_STATE to another file");
    case SQLITE_CORRUPT: case SQLITE_NOTADB:
        error_set(err, ERR_IO, "%s: state file %s is damaged (%s)", doing, s->path, text);
        return error_hint(err, "move it away to start with a new one, or set HARNESS_STATE to another file");
    case SQLITE_FULL:
        error_set(err, ERR_IO, "%s: no space left for state file %s", doing, s->path);
        return error_hint(err, "free some space on that disk, or set HARNESS_STATE to another file");
    case SQLITE_READONLY: case SQLITE_PERM: case SQLITE_AUTH: case SQLITE_CANTOPEN:
        error_set(err, ERR_IO, "%s: state file %s cannot be written (%s%s%s)", doing, s->path, text, os ? ": " : "", os ? strerror(os) : "");
        return error_hint(err, "check the permissions of the file and its folder, or set HARNESS_STATE to another file");
    case SQLITE_TOOBIG: return error_set(err, ERR_LIMIT, "%s: too large for state file %s", doing, s->path);
    default: return error_set(err, ERR_IO, "%s: state file %s: %s%s%s", doing, s->path, text, os ? ": " : "", os ? strerror(os) : "");
    }
}

/* ---- statements ---- */

static const struct { const char *sql; bool kept; } statements[] = {
#define SQL(id, keep, sqlite, postgres) [id] = { sqlite, keep },
#include "store/store_statements.def"
};

static sqlite3_stmt *prepare_text(SqliteStore *s, const char *sql, unsigned flags, const char *doing, Error *err) {
    sqlite3_stmt *stmt = NULL;
    if (s->api->prepare_v3(s->db, sql, -1, flags, &stmt, NULL) != SQLITE_OK) sqlite_failed(s, doing, err);
    return stmt;
}

static void prepare(StoreQuery *q, StoreSql sql) {
    SqliteStore *s = own(q->store);
    q->kept = statements[sql].kept;
    if (!q->kept) q->stmt = prepare_text(s, statements[sql].sql, 0, q->doing, q->err);
    else if (!s->kept[sql]) s->kept[sql] = prepare_text(s, statements[sql].sql, SQLITE_PREPARE_PERSISTENT, q->doing, q->err);
    if (q->kept) q->stmt = s->kept[sql];
}

StoreQuery sqlite_walk(SqliteStore *s, const char *sql, const char *doing, Error *err) {
    return (StoreQuery){ &s->store, prepare_text(s, sql, 0, doing, err), false, doing, err };
}

static bool bind(StoreQuery *q, const char *types, va_list ap) {
    const Sqlite *api = api_of(q);
    int code = SQLITE_OK;
    for (int i = 1; types[i - 1] && code == SQLITE_OK; i++) {
        if (types[i - 1] == 'i') {
            code = api->bind_int64(q->stmt, i, va_arg(ap, int64_t));
            continue;
        }
        if (types[i - 1] == 'd') {
            code = api->bind_double(q->stmt, i, va_arg(ap, double));
            continue;
        }
        Str s = va_arg(ap, Str);
        if (!s.at) s.at = "";
        if (types[i - 1] == 's') code = api->bind_text64(q->stmt, i, s.at, s.n, SQLITE_STATIC, SQLITE_UTF8);
        else code = api->bind_blob64(q->stmt, i, s.at, s.n, SQLITE_STATIC);
    }
    return code == SQLITE_OK || sqlite_failed(own(q->store), q->doing, q->err);
}

static bool row(StoreQuery *q, bool *some) {
    int code = api_of(q)->step(q->stmt);
    if (code != SQLITE_ROW && code != SQLITE_DONE) return sqlite_failed(own(q->store), q->doing, q->err);
    return *some = code == SQLITE_ROW, true;
}

/* Resets a prepared statement at once: an unfinished one holds a read lock, and its bound values belong to the
 * caller. */
static void end(StoreQuery *q) {
    if (!q->kept) {
        api_of(q)->finalize(q->stmt);
        return;
    }
    api_of(q)->reset(q->stmt);
    api_of(q)->clear_bindings(q->stmt);
}

static Str text(const StoreQuery *q, int column) {
    const unsigned char *at = api_of(q)->column_text(q->stmt, column);
    return (Str){ at ? (const char *)at : "", at ? (size_t)api_of(q)->column_bytes(q->stmt, column) : 0 };
}

static int64_t integer(const StoreQuery *q, int column) { return api_of(q)->column_int64(q->stmt, column); }
static double real(const StoreQuery *q, int column) { return api_of(q)->column_double(q->stmt, column); }
static int64_t changes(Store *s) { return own(s)->api->changes(own(s)->db); }
static bool is_taken(Store *s) { return (own(s)->api->extended_errcode(own(s)->db) & 0xff) == SQLITE_CONSTRAINT; }

static void roll_back(Store *s) {
    StoreQuery back = store_query(s, SQL_ROLLBACK, "roll back", NULL);
    if (own(s)->api->get_autocommit(own(s)->db) || !back.stmt) return;       /* a full disk may already have ended the transaction */
    own(s)->api->step(back.stmt);
    store_end(&back, true);
}

static void wait_for(Store *s, int ms) { own(s)->api->busy_timeout(own(s)->db, ms); }
static bool shrink(Store *s, Error *err) { return sqlite_exec(own(s), "VACUUM", "shrink", err); }

/* ---- runs ---- */

static bool run_start(Store *s, Str id, Str agent, Str session, Error *err) {
    SqliteHolder me;
    if (!sqlite_lease_take(own(s), id)) return error_set(err, ERR_POLICY, "run " STR_FMT " is in use", STR_ARG(id));
    sqlite_holder_self(&me);
    StoreQuery q = store_query(s, SQL_RUN_START, "start run", err);
    bool ok = store_bind(&q, "sssiiis", id, agent, session, clock_wall_ns(), me.pid, me.start, str_from(me.boot)) && store_row(&q, &(bool){ 0 });
    if (!store_end(&q, ok)) return sqlite_lease_drop(own(s), id), false;
    return true;
}

static SqliteHolder holder_at(const StoreQuery *q, int column) {
    SqliteHolder out = { .pid = store_int(q, column), .start = store_int(q, column + 1) };
    Str boot = store_text(q, column + 2);
    memcpy(out.boot, boot.at, boot.n < sizeof out.boot ? boot.n : sizeof out.boot - 1);
    return out;
}

static bool read_holder(Store *s, Str id, SqliteHolder *out, Error *err) {
    StoreQuery q = store_query(s, SQL_RUN_HOLDER, "lease run", err);
    bool some = false, ok = store_bind(&q, "s", id) && store_row(&q, &some);
    if (ok && !some) ok = error_set(err, ERR_VALIDATION, "no such run: " STR_FMT, STR_ARG(id));
    if (ok) *out = holder_at(&q, 0);
    return store_end(&q, ok);
}

static bool held(Str id, const SqliteHolder *by, Error *err) {
    return error_set(err, ERR_POLICY, "run " STR_FMT " is in use by process %lld", STR_ARG(id), (long long)by->pid);
}

static bool take_over(Store *s, Str id, Error *err) {
    SqliteHolder me, other;
    sqlite_holder_self(&me);
    if (!read_holder(s, id, &other, err)) return false;
    bool mine = other.pid == me.pid && other.start == me.start;
    if (!mine && sqlite_holder_alive(&other)) return held(id, &other, err);
    if (!sqlite_lease_take(own(s), id)) return held(id, &other, err);
    StoreQuery q = store_query(s, SQL_RUN_LEASE, "lease run", err);
    bool ok = store_end(&q, store_bind(&q, "siis", id, me.pid, me.start, str_from(me.boot)) && store_row(&q, &(bool){ 0 }));
    if (!ok && !mine) sqlite_lease_drop(own(s), id);
    return ok;
}

static bool run_lease(Store *s, Str id, Error *err) {
    return store_begin(s, "lease run", err) && store_commit(s, take_over(s, id, err), "lease run", err);
}

static bool lease_free(Store *s, Str id) { return sqlite_lease_take(own(s), id); }
static void lease_drop(Store *s, Str id) { sqlite_lease_drop(own(s), id); }

static bool alive(const StoreQuery *q) {
    SqliteHolder by = holder_at(q, STORE_RUN_HOLDER);
    return sqlite_holder_alive(&by);
}

/* ---- artifacts ---- */

static bool artifact_put(Store *s, Str key, Str run, Str tool, Str mime, Str bytes, bool *fresh, Error *err) {
    StoreQuery q = store_query(s, SQL_ARTIFACT_PUT, "store artifact", err);
    bool ok = store_end(&q, store_bind(&q, "ssssib", key, run, tool, mime, clock_wall_ns(), bytes) && store_row(&q, &(bool){ 0 }));
    *fresh = ok && changes(s) == 1;
    return ok;
}

static bool find_artifact(Store *s, Str run, Str key, int64_t *row_id, Error *err) {
    StoreQuery q = store_query(s, SQL_ARTIFACT_FIND, "read artifact", err);
    bool some = false, ok = store_bind(&q, "ss", key, run) && store_row(&q, &some);
    if (ok && some) *row_id = store_int(&q, 0);
    if (ok && !some) ok = store_no_such("artifact", key, err);
    return store_end(&q, ok);
}

static bool read_blob(SqliteStore *s, sqlite3_blob *blob, uint64_t offset, uint64_t limit, Buf *out, uint64_t *total, Error *err) {
    uint64_t size = (uint64_t)s->api->blob_bytes(blob), left = offset < size ? size - offset : 0, n = limit < left ? limit : left;
    buf_reset(out);
    char *room = n ? buf_room(out, n) : NULL;
    if (n && !room) return error_set(err, ERR_LIMIT, "read artifact: too large");
    if (n && s->api->blob_read(blob, room, (int)n, (int)offset) != SQLITE_OK) return sqlite_failed(s, "read artifact", err);
    if (n) buf_commit(out, n);
    if (total) *total = size;
    return true;
}

static bool artifact_get(Store *store, Str run, Str key, uint64_t offset, uint64_t limit, Buf *out, uint64_t *total, Error *err) {
    SqliteStore *s = own(store);
    int64_t at;
    sqlite3_blob *blob = NULL;
    bool ok = find_artifact(store, run, key, &at, err);
    if (ok && s->api->blob_open(s->db, "main", "artifacts", "bytes", at, 0, &blob) != SQLITE_OK) ok = sqlite_failed(s, "read artifact", err);
    ok = ok && read_blob(s, blob, offset, limit, out, total, err);
    if (blob) s->api->blob_close(blob);
    return ok;
}

static bool make_decisions(Store *s, Error *err) {
    return sqlite_exec(own(s), "CREATE TABLE IF NOT EXISTS decisions (n INTEGER NOT NULL PRIMARY KEY, time_ns INTEGER NOT NULL, vendor TEXT NOT NULL,"
        "  session TEXT NOT NULL, call TEXT NOT NULL, event TEXT NOT NULL, tool TEXT NOT NULL, vendor_tool TEXT NOT NULL, subject TEXT NOT NULL,"
        "  verdict TEXT NOT NULL, rule TEXT NOT NULL, reason TEXT NOT NULL, root TEXT NOT NULL, hash BLOB NOT NULL, input TEXT NOT NULL DEFAULT '',"
        "  UNIQUE (vendor, session, call, event)) STRICT", "write decision", err);
}

/* The first process that opens the file reads the whole log, and forgets how much of it SQLite has copied into the database. So short
 * processes, one after the other, would make the log grow without end. Does not wait for others: the last one to close succeeds. */
static void shorten_log(SqliteStore *s) {
    enum { LOG_MAX = 1 << 20 };
    struct stat st;
    Buf path = { 0 };
    buf_add_fmt(&path, "%s-wal", s->path);
    if (s->db && stat(path.at, &st) == 0 && st.st_size > LOG_MAX) {
        s->api->busy_timeout(s->db, 0);
        (void)s->api->exec(s->db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
    }
    buf_clear(&path);
}

static void shut(Store *store) {
    SqliteStore *s = own(store);
    shorten_log(s);
    for (int i = 0; i < SQL_COUNT; i++) s->api->finalize(s->kept[i]);
    if (s->db) s->api->close_v2(s->db);
    if (s->lease_fd >= 0) close(s->lease_fd);
    free(s->path);
}

static const StoreDriver driver = {
    .close = shut, .prepare = prepare, .bind = bind, .row = row, .end = end, .text = text, .integer = integer, .real = real, .changes = changes,
    .is_taken = is_taken, .roll_back = roll_back, .run_start = run_start, .run_lease = run_lease, .lease_free = lease_free, .lease_drop = lease_drop,
    .alive = alive, .artifact_put = artifact_put, .artifact_get = artifact_get, .shrink = shrink, .make_decisions = make_decisions, .wait = wait_for,
    .sized = true, .counts_all = true,
};

/* ---- opening ---- */

/* Creates all parent folders of the file; new ones are private. */
static bool make_folders(const char *path, Error *err) {
    char *copy = str_dup(str_from(path));
    bool ok = true;
    for (char *at = strchr(copy + 1, '/'); ok && at; at = strchr(at + 1, '/')) {
        *at = 0;
        if (mkdir(copy, 0700) < 0 && errno != EEXIST) ok = error_set(err, ERR_IO, "make folder %s: %m", copy);
        *at = '/';
    }
    free(copy);
    return ok;
}

static int create(const char *path) { return open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600); }

/* Creates a new file with mode 0600, and its folders, before SQLite opens it. Never opens an existing one: closing it would release the
 * POSIX locks of other connections in this process. */
static bool make_file(const char *path, Error *err) {
    int fd = fault_hit() ? (errno = EIO, -1) : create(path);
    if (fd < 0 && errno == ENOENT) {
        if (!make_folders(path, err)) return false;
        fd = create(path);
    }
    if (fd >= 0) return close(fd), true;
    if (errno != EEXIST) return error_set(err, ERR_IO, "cannot create state file %s: %m", path);
    struct stat st;
    if (stat(path, &st) < 0) return error_set(err, ERR_IO, "state file %s: %m", path);
    if (!S_ISREG(st.st_mode)) return error_set(err, ERR_IO, "state file %s is not a regular file", path);
    if (st.st_uid == geteuid() && (st.st_mode & 077)) chmod(path, 0600);
    return true;
}

/* While another process creates the same file, SQLite returns "busy" without calling the busy handler. */
static bool set_up_once(SqliteStore *s, bool sync_full, Error *err) {
    const char *settings = sync_full ? "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL" : "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL";
    int64_t version;
    if (!sqlite_check(s, &version, err)) return false;
    if (fault_hit()) return error_set(err, ERR_IO, "open: state file %s: injected fault", s->path);
    if (s->api->exec(s->db, settings, NULL, NULL, NULL) != SQLITE_OK) return sqlite_failed(s, "open", err);
    return sqlite_migrate(s, version, err);
}

static bool set_up(SqliteStore *s, bool sync_full, Error *err) {
    int64_t deadline = clock_mono_ns() + (int64_t)BUSY_MS * 1000000;
    while (!set_up_once(s, sync_full, err)) {
        if ((s->api->extended_errcode(s->db) & 0xff) != SQLITE_BUSY || clock_mono_ns() > deadline) return false;
        usleep(RETRY_US);
    }
    return true;
}

static bool connect_to(SqliteStore *s, bool sync_full, Error *err) {
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (s->api->open_v2(s->path, &s->db, flags, NULL) != SQLITE_OK) return sqlite_failed(s, "open", err);
    s->api->extended_result_codes(s->db, 1);
    s->api->busy_timeout(s->db, BUSY_MS);
    /* Do not checkpoint on every close: it needs three syncs, ten times the rest of a call. See shorten_log. */
    s->api->db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return set_up(s, sync_full, err);
}

/* Leases of runs are locks on a separate file, which SQLite does not use. */
static int open_lease(const char *path) {
    char *name = NULL;
    if (asprintf(&name, "%s-lease", path) < 0) return -1;
    int fd = fault_hit() ? -1 : open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    free(name);
    return fd;
}

bool sqlite_open(const char *path, bool sync_full, Store **out, Error *err) {
    const Sqlite *api = sqlite_load(err);
    if (!api) return false;
    bool memory = strcmp(path, ":memory:") == 0;
    if (!memory && !make_file(path, err))
        return error_hint(err, "runs are stored there: set HARNESS_STATE to a writable file, or use --ephemeral");
    SqliteStore *s = mem_zero(1, sizeof *s);
    s->api = api;
    s->path = str_dup(str_from(path));
    s->lease_fd = memory ? -1 : open_lease(path);
    store_init(&s->store, &driver, "state file", path);
    if (!connect_to(s, sync_full, err)) return store_close(&s->store), false;
    s->store.ready = true;
    return *out = &s->store, true;
}
