#include "store/store.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/unicode.h"
#include "base/utf8.h"
#include "store/store_private.h"

enum { BUSY_MS = 5000, RETRY_US = 5000, NAME_BYTES = 200 };

/* ---- location ---- */

bool store_state_home(Buf *out, Error *err) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && state[0] == '/') return buf_add(out, str_from(state)), true;
    if (home && home[0] == '/') return buf_add_fmt(out, "%s/.local/state", home), true;
    error_set(err, ERR_CONFIG, "no location for the state file: neither XDG_STATE_HOME nor HOME is set");
    return error_hint(err, "set one of them, or set HARNESS_STATE to a file");
}

static const char *private_folder(Arena *arena, const char *variable, const char *usual) {
    const char *given = getenv(variable), *home = getenv("HOME");
    if (given && given[0] == '/') return arena_fmt(arena, "%s/harness", given);
    return home && home[0] == '/' ? arena_fmt(arena, "%s/%s/harness", home, usual) : NULL;
}

const char *const *store_private_folders(Arena *arena) {
    const char **out = ARENA_ARRAY(arena, const char *, 3);
    size_t n = 0;
    const char *state = private_folder(arena, "XDG_STATE_HOME", ".local/state"), *config = private_folder(arena, "XDG_CONFIG_HOME", ".config");
    if (state) out[n++] = state;
    if (config) out[n++] = config;
    return out;
}

/* The name helps users who list the folder; control characters are left out. */
static void add_name(Buf *out, Str name) {
    for (size_t length; name.n; name = str_sub(name, length, name.n)) {
        uint32_t c = utf8_decode(name, &length);
        bool shown = unicode_is_printable(c) && utf8_valid(str_sub(name, 0, length));
        buf_add(out, shown ? str_sub(name, 0, length) : STR("_"));
    }
}

void store_project_id(Str real_root, Buf *out) {
    static const uint8_t key[16] = { 0 };
    size_t slash = real_root.n;
    while (slash > 0 && real_root.at[slash - 1] != '/') slash--;
    Str name = str_sub(real_root, slash, real_root.n);
    if (!name.n) name = STR("root");
    add_name(out, str_sub(name, 0, NAME_BYTES));
    buf_add_fmt(out, "-%016llx", (unsigned long long)hash_sip24(real_root, key));
}

bool store_default_path(Str project_root, Buf *out, Error *err) {
    const char *given = getenv("HARNESS_STATE");
    buf_reset(out);
    if (given && given[0]) return buf_add(out, str_from(given)), true;
    char *root = str_dup(project_root), *real = realpath(root, NULL);
    bool ok = real ? store_state_home(out, err) : error_set(err, ERR_IO, "%s: %m", root);
    if (ok) {
        buf_add(out, STR("/harness/"));
        store_project_id(str_from(real), out);
        buf_add(out, STR("/harness.db"));
    }
    free(real);
    free(root);
    return ok;
}

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

/* Creates a new file with mode 0600 before SQLite opens it. Never opens an existing one: closing it would release the
 * POSIX locks of other connections in this process. */
static bool make_file(const char *path, Error *err) {
    int fd = fault_hit() ? (errno = EIO, -1) : open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) return close(fd), true;
    if (errno != EEXIST) return error_set(err, ERR_IO, "cannot create state file %s: %m", path);
    struct stat st;
    if (stat(path, &st) < 0) return error_set(err, ERR_IO, "state file %s: %m", path);
    if (!S_ISREG(st.st_mode)) return error_set(err, ERR_IO, "state file %s is not a regular file", path);
    if (st.st_uid == geteuid() && (st.st_mode & 077)) chmod(path, 0600);
    return true;
}

/* ---- errors ---- */

bool store_failed(Store *s, const char *doing, Error *err) {
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

static const char *const statements[] = {
#define X(id, sql) [id] = (sql),
    STORE_STATEMENTS(X)
#undef X
};

static sqlite3_stmt *prepare(Store *s, const char *sql, unsigned flags, const char *doing, Error *err) {
    sqlite3_stmt *stmt = NULL;
    if (s->api->prepare_v3(s->db, sql, -1, flags, &stmt, NULL) != SQLITE_OK) store_failed(s, doing, err);
    return stmt;
}

StoreQuery store_query(Store *s, StoreSql sql, const char *doing, Error *err) {
    if (!s->kept[sql]) s->kept[sql] = prepare(s, statements[sql], SQLITE_PREPARE_PERSISTENT, doing, err);
    return (StoreQuery){ s, s->kept[sql], true, doing, err };
}

StoreQuery store_walk(Store *s, const char *sql, const char *doing, Error *err) {
    return (StoreQuery){ s, prepare(s, sql, 0, doing, err), false, doing, err };
}

bool store_bind(StoreQuery *q, const char *types, ...) {
    if (!q->stmt) return false;
    va_list ap;
    int code = SQLITE_OK;
    va_start(ap, types);
    for (int i = 1; types[i - 1] && code == SQLITE_OK; i++) {
        if (types[i - 1] == 'i') {
            code = q->store->api->bind_int64(q->stmt, i, va_arg(ap, int64_t));
            continue;
        }
        if (types[i - 1] == 'd') {
            code = q->store->api->bind_double(q->stmt, i, va_arg(ap, double));
            continue;
        }
        Str s = va_arg(ap, Str);
        if (!s.at) s.at = "";
        if (types[i - 1] == 's') code = q->store->api->bind_text64(q->stmt, i, s.at, s.n, SQLITE_STATIC, SQLITE_UTF8);
        else code = q->store->api->bind_blob64(q->stmt, i, s.at, s.n, SQLITE_STATIC);
    }
    va_end(ap);
    return code == SQLITE_OK || store_failed(q->store, q->doing, q->err);
}

bool store_row(StoreQuery *q, bool *some) {
    if (!q->stmt) return false;
    if (fault_hit()) return error_set(q->err, ERR_IO, "%s: state file %s: injected fault", q->doing, q->store->path);
    int code = q->store->api->step(q->stmt);
    if (code != SQLITE_ROW && code != SQLITE_DONE) return store_failed(q->store, q->doing, q->err);
    return *some = code == SQLITE_ROW, true;
}

/* Resets a prepared statement at once: an unfinished one holds a read lock, and its bound values belong to the
 * caller. */
bool store_end(StoreQuery *q, bool ok) {
    if (!q->stmt) return false;
    if (q->kept) {
        q->store->api->reset(q->stmt);
        q->store->api->clear_bindings(q->stmt);
    } else {
        q->store->api->finalize(q->stmt);
    }
    return ok;
}

bool store_run(StoreQuery *q) {
    bool some;
    return store_end(q, store_row(q, &some));
}

Str store_text(const StoreQuery *q, int column) {
    const unsigned char *at = q->store->api->column_text(q->stmt, column);
    return (Str){ at ? (const char *)at : "", at ? (size_t)q->store->api->column_bytes(q->stmt, column) : 0 };
}

int64_t store_int(const StoreQuery *q, int column) { return q->store->api->column_int64(q->stmt, column); }
double store_double(const StoreQuery *q, int column) { return q->store->api->column_double(q->stmt, column); }

bool store_begin(Store *s, const char *doing, Error *err) {
    StoreQuery q = store_query(s, SQL_BEGIN, doing, err);
    return store_run(&q);
}

bool store_commit(Store *s, bool ok, const char *doing, Error *err) {
    if (ok) {
        StoreQuery q = store_query(s, SQL_COMMIT, doing, err);
        if (store_run(&q)) return true;
    }
    StoreQuery back = store_query(s, SQL_ROLLBACK, doing, NULL);
    if (!s->api->get_autocommit(s->db) && back.stmt) {     /* a full disk may already have ended the transaction */
        s->api->step(back.stmt);
        store_end(&back, true);
    }
    return false;
}

bool store_no_such(const char *what, Str key, Error *err) {
    return error_set(err, ERR_VALIDATION, "no such %s: " STR_FMT, what, STR_ARG(key));
}

/* ---- opening ---- */

/* While another process creates the same file, SQLite returns "busy" without calling the busy handler. */
static bool set_up_once(Store *s, bool sync_full, Error *err) {
    const char *settings = sync_full ? "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL" : "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL";
    int64_t version;
    if (!store_check(s, &version, err)) return false;
    if (fault_hit()) return error_set(err, ERR_IO, "open: state file %s: injected fault", s->path);
    if (s->api->exec(s->db, settings, NULL, NULL, NULL) != SQLITE_OK) return store_failed(s, "open", err);
    return store_migrate(s, version, err);
}

static bool set_up(Store *s, bool sync_full, Error *err) {
    int64_t deadline = clock_mono_ns() + (int64_t)BUSY_MS * 1000000;
    while (!set_up_once(s, sync_full, err)) {
        if ((s->api->extended_errcode(s->db) & 0xff) != SQLITE_BUSY || clock_mono_ns() > deadline) return false;
        usleep(RETRY_US);
    }
    return true;
}

static bool connect_to(Store *s, bool sync_full, Error *err) {
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (s->api->open_v2(s->path, &s->db, flags, NULL) != SQLITE_OK) return store_failed(s, "open", err);
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

bool store_open(const char *path, bool sync_full, Store **out, Error *err) {
    const Sqlite *api = sqlite_load(err);
    if (!api) return false;
    bool memory = strcmp(path, ":memory:") == 0;
    if (!memory && (!make_folders(path, err) || !make_file(path, err)))
        return error_hint(err, "runs are stored there: set HARNESS_STATE to a writable file, or use --ephemeral");
    Store *s = mem_zero(1, sizeof *s);
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&s->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    s->api = api;
    s->path = str_dup(str_from(path));
    s->lease_fd = memory ? -1 : open_lease(path);
    store_queue_init(&s->queue);
    if (!connect_to(s, sync_full, err)) return store_close(s), false;
    return *out = s, true;
}

/* The first process that opens the file reads the whole log, and forgets how much of it SQLite has copied into the database. So short processes,
 * one after the other, would make the log longer without end. Does not wait for others: the last one to close succeeds. */
static void shorten_log(Store *s) {
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

void store_close(Store *s) {
    if (!s) return;
    store_queue_close(s);
    shorten_log(s);
    for (int i = 0; i < SQL_COUNT; i++) s->api->finalize(s->kept[i]);
    if (s->db) s->api->close_v2(s->db);
    if (s->lease_fd >= 0) close(s->lease_fd);
    pthread_mutex_destroy(&s->lock);
    free(s->path);
    free(s);
}
