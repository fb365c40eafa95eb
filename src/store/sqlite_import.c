/* Formats 1 and 2. Format 1 had no `pages`. Format 2 stored the events of served runs in rows of `pages`, many to a row, and
 * before that in FILE-tail, a memory-mapped file that survived the death of the process:
 *
 *     | half 0: used, record, record … | half 1: used, record … |
 *
 * `used` was updated after each complete record, so bytes after it are ignored. An event may be in both places. */
#include "store/sqlite_import.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/mem.h"
#include "store/sqlite_private.h"

/* ---- a row of `pages` ---- ¶ Per event: seq and time as signed deltas from the previous event, depth, agent,
 * parent, type, and data: length of the prefix shared with the previous data, then the rest. Integers are LEB128. A
 * name is the number of an earlier name of the page, or 0 followed by its length and bytes; new names are numbered
 * from 1, up to NAMES_MAX. */

enum { NAMES_MAX = 100 };
typedef struct Names { Str at[NAMES_MAX]; size_t n; } Names;

static bool get_number(Str *in, uint64_t *out) {
    *out = 0;
    for (size_t i = 0; i < in->n && i < 10; i++) {
        const unsigned char c = (unsigned char)in->at[i];
        *out |= (uint64_t)(c & 0x7f) << (7 * i);
        if (c & 0x80) continue;
        *in = str_sub(*in, i + 1, in->n);
        return true;
    }
    return false;
}

static bool get_text(Str *in, Str *out) {
    uint64_t n;
    if (!get_number(in, &n) || n > in->n) return false;
    *out = str_sub(*in, 0, n);
    *in = str_sub(*in, n, in->n);
    return true;
}

static bool get_name(Str *in, Names *names, Str *out) {
    uint64_t number;
    if (!get_number(in, &number) || number > names->n) return false;
    if (number) return *out = names->at[number - 1], true;
    if (!get_text(in, out)) return false;
    if (names->n < NAMES_MAX) names->at[names->n++] = *out;
    return true;
}

/* On entry `data` is that of the previous event. */
static bool get_data(Str *in, Buf *data, Str *out) {
    uint64_t same;
    Str rest;
    if (!get_number(in, &same) || same > data->n || !get_text(in, &rest)) return false;
    data->n = same;
    buf_add(data, rest);
    *out = buf_str(data);
    return true;
}

static bool get_event(Str *in, Names *names, Buf *data, Event *e) {
    uint64_t step, later, depth;
    if (!get_number(in, &step) || !get_number(in, &later) || !get_number(in, &depth)) return false;
    e->seq += step;
    e->time_ns = (int64_t)((uint64_t)e->time_ns + ((later >> 1) ^ (0 - (later & 1))));
    e->depth = (int)(uint32_t)depth;
    return get_name(in, names, &e->agent) && get_name(in, names, &e->parent) && get_name(in, names, &e->type) && get_data(in, data, &e->data);
}

bool sqlite_page_each(Str page, Str run, uint64_t from, bool (*each)(void *ctx, const Event *e), void *ctx, bool *whole) {
    Event e = { .run = run };
    Names names = { .n = 0 };
    Buf data = { 0 };
    bool more = true;
    for (*whole = true; more && *whole && page.n;) {
        *whole = get_event(&page, &names, &data, &e);
        if (*whole && e.seq >= from) more = each(ctx, &e);
    }
    buf_clear(&data);
    return more;
}

/* ---- into `events` ---- */

typedef struct Import { SqliteStore *s; StoreQuery put, add_run; Error *err; Buf run; int64_t n; uint64_t last; bool ok; } Import;

static Import import_new(SqliteStore *s, Error *err) {
    return (Import){ .s = s, .err = err, .ok = true,
                     .put = sqlite_walk(s, "INSERT OR IGNORE INTO events (id, time_ns, agent, parent, depth, type, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                                       "migrate", err),
                     .add_run = sqlite_walk(s, "INSERT OR IGNORE INTO runs (id, status, agent, parent, session, started_ns, ended_ns, turns, tool_calls, usage,"
                                              " pid, pid_start, boot) VALUES (?1, 'running', '', '', '', ?2, 0, 0, 0, '', 0, 0, '')", "migrate", err) };
}

static bool import_end(Import *im) {
    bool ok = store_end(&im->put, im->ok);
    buf_clear(&im->run);
    return store_end(&im->add_run, ok);
}

static bool step(StoreQuery *q, bool bound) {
    bool some, ok = bound && store_row(q, &some);
    if (q->stmt) ((SqliteStore *)q->store)->api->reset(q->stmt);
    return ok;
}

/* Creates the row of a run that is known only from the tail. */
static bool find_run(Import *im, const Event *e) {
    if (im->n && str_eq(buf_str(&im->run), e->run)) return true;
    buf_reset(&im->run);
    buf_add(&im->run, e->run);
    return step(&im->add_run, store_bind(&im->add_run, "si", buf_str(&im->run), e->time_ns)) && store_run_number(&im->s->store, buf_str(&im->run), &im->n, im->err);
}

static bool put_event(void *ctx, const Event *e) {
    Import *im = ctx;
    if (e->seq >= UINT32_MAX) return true;               /* damaged: no run has that many */
    im->ok = find_run(im, e) &&
             step(&im->put, store_bind(&im->put, "iississ", store_event_id(im->n, e->seq), e->time_ns, e->agent, e->parent,
                 (int64_t)e->depth, e->type, e->data));
    im->last = e->seq;
    return im->ok;
}

/* Records an event that names the missing ones; the copy of the file still has the page. */
static void put_damage(SqliteStore *s, Import *im, Str run, uint64_t first, uint64_t last) {
    uint64_t from = im->last >= first ? im->last + 1 : first;
    Buf message = { 0 }, data = { 0 };
    buf_add_fmt(&message, "events %llu to %llu of this run are damaged and were skipped when %s was migrated from format 2",
                (unsigned long long)from, (unsigned long long)(last > from ? last : from), s->path);
    event_data_start(&data);
    event_data_str(&data, "level", STR("error"));
    event_data_str(&data, "message", buf_str(&message));
    event_data_str(&data, "source", STR("store"));
    event_data_end(&data);
    put_event(im, &(Event){ .run = run, .seq = from, .type = STR("log"), .data = buf_str(&data) });
    buf_clear(&message);
    buf_clear(&data);
}

static bool import_pages(SqliteStore *s, Error *err) {
    Import im = import_new(s, err);
    StoreQuery q = sqlite_walk(s, "SELECT run, first, last, events FROM pages ORDER BY run, first", "migrate", err);
    bool some = true, whole, ok = true;
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        Str run = store_text(&q, 0);
        im.last = 0;
        sqlite_page_each(store_text(&q, 3), run, 0, put_event, &im, &whole);
        if (im.ok && !whole) put_damage(s, &im, run, (uint64_t)store_int(&q, 1), (uint64_t)store_int(&q, 2));
        ok = im.ok;
    }
    ok = store_end(&q, ok);
    ok = import_end(&im) && ok;
    return ok && sqlite_exec(s, "DROP TABLE pages", "migrate", err);
}

/* ---- FILE-tail ---- */

enum { HALF = 2 << 20, TEXTS = 5 };
typedef struct Record { uint32_t size; int32_t depth; uint64_t seq; int64_t time_ns; uint32_t n[TEXTS + 1]; } Record;   /* the strings follow */
static const Str tail_lease = { "tail", 4 };

static char *beside(const SqliteStore *s, const char *end) {
    char *path = NULL;
    return asprintf(&path, "%s%s", s->path, end) < 0 ? NULL : path;
}

static bool there(const char *path) { return path && access(path, F_OK) == 0; }

/* False: no complete record follows. */
static bool read_record(Str half, size_t at, Event *e, size_t *size) {
    Record r;
    if (half.n - at < sizeof r) return false;
    memcpy(&r, half.at + at, sizeof r);
    uint64_t need = sizeof r;
    for (int i = 0; i < TEXTS; i++) need += r.n[i];
    if (r.size < need || r.size > half.n - at || r.size % _Alignof(Record)) return false;
    *e = (Event){ .seq = r.seq, .time_ns = r.time_ns, .depth = r.depth };
    Str *text[TEXTS] = { &e->run, &e->agent, &e->parent, &e->type, &e->data };
    const char *from = half.at + at + sizeof r;
    for (int i = 0; i < TEXTS; from += r.n[i++]) *text[i] = (Str){ from, r.n[i] };
    return *size = r.size, true;
}

static bool import_half(Import *im, const char *at) {
    uint64_t used;
    memcpy(&used, at, sizeof used);
    if (used > HALF - sizeof used) return true;          /* not a valid length: the half is damaged */
    Str half = { at + sizeof used, used };
    Event e;
    size_t size;
    for (size_t i = 0; im->ok && read_record(half, i, &e, &size); i += size) put_event(im, &e);
    return im->ok;
}

/* NULL: absent, or too short. */
static char *read_tail(const char *path) {
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    char *all = NULL;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= 2 * HALF) {
        size_t n = 0;
        ssize_t got = 1;
        all = mem_alloc(2 * HALF);
        while (n < 2 * HALF && (got = read(fd, all + n, 2 * HALF - n)) > 0) n += (size_t)got;
        memset(all + n, 0, 2 * HALF - n);
    }
    if (fd >= 0) close(fd);
    return all;
}

static bool import_tail(SqliteStore *s, const char *path, Error *err) {
    char *all = read_tail(path);
    if (!all) return true;
    Import im = import_new(s, err);
    if (import_half(&im, all)) import_half(&im, all + HALF);
    free(all);
    return import_end(&im);
}

void sqlite_import_tail(SqliteStore *s) {
    char *path = beside(s, "-tail");
    if (there(path) && sqlite_lease_sure(s, tail_lease)) {
        bool ok = store_begin(&s->store, "migrate", NULL) && store_commit(&s->store, import_tail(s, path, NULL), "migrate", NULL);
        if (ok) unlink(path);
        sqlite_lease_drop(s, tail_lease);
    }
    free(path);
}

/* ---- backup ---- */

typedef struct Copy { char *path, *fresh, *tail, *old_tail; } Copy;

static Copy copy_names(const SqliteStore *s, int64_t version) {
    char end[48];
    Copy c = { .old_tail = beside(s, "-tail") };
    snprintf(end, sizeof end, "-format%lld", (long long)version);
    c.path = beside(s, end);
    snprintf(end, sizeof end, "-format%lld.new", (long long)version);
    c.fresh = beside(s, end);
    snprintf(end, sizeof end, "-format%lld-tail", (long long)version);
    c.tail = beside(s, end);
    return c;
}

static void copy_clear(Copy *c) {
    free(c->path);
    free(c->fresh);
    free(c->tail);
    free(c->old_tail);
}

static bool copy_failed(const SqliteStore *s, const Copy *c, const char *why, Error *err) {
    unlink(c->fresh);
    error_set(err, ERR_IO, "migrate: state file %s has an older format, and making the backup %s failed: %s", s->path, c->path, why);
    return error_hint(err, "the file was not changed: free some space on that disk, check the permissions of its folder, or set HARNESS_STATE to another file");
}

/* On a separate connection: this one is inside a transaction, so no other process writes meanwhile. */
static bool copy_database(SqliteStore *s, const Copy *c, Error *err) {
    const Sqlite *api = s->api;
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    bool ok = !fault_hit() && api->open_v2(s->path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK &&
              api->db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) == SQLITE_OK &&
              api->prepare_v3(db, "VACUUM INTO ?1", -1, 0, &stmt, NULL) == SQLITE_OK &&
              api->bind_text64(stmt, 1, c->fresh, strlen(c->fresh), SQLITE_STATIC, SQLITE_UTF8) == SQLITE_OK && api->step(stmt) == SQLITE_DONE;
    if (!ok) copy_failed(s, c, db && stmt ? api->errmsg(db) : "it cannot be read", err);
    api->finalize(stmt);
    api->close_v2(db);
    return ok;
}

/* Renames the copy only when it is complete and synced. */
static bool back_up(SqliteStore *s, const Copy *c, Error *err) {
    unlink(c->fresh);
    int fd = fault_hit() ? (errno = EIO, -1) : open(c->fresh, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return copy_failed(s, c, strerror(errno), err);
    bool ok = copy_database(s, c, err);
    if (ok && (fault_hit() || fsync(fd) < 0 || rename(c->fresh, c->path) < 0)) ok = copy_failed(s, c, strerror(errno), err);
    close(fd);
    if (!ok) return false;
    unlink(c->tail);
    if (there(c->old_tail) && link(c->old_tail, c->tail) < 0 && errno != EPERM && errno != EOPNOTSUPP) ok = copy_failed(s, c, strerror(errno), err);
    return ok;
}

/* ---- import ---- */

static const char tables_before[] =
    "ALTER TABLE runs RENAME TO old_runs; ALTER TABLE events RENAME TO old_events; DROP INDEX runs_by_time;";

static const char tables_after[] =
    "INSERT INTO runs (id, status, agent, parent, session, started_ns, ended_ns, turns, tool_calls, usage, pid, pid_start, boot)"
    "  SELECT id, status, agent, parent, session, started_ns, ended_ns, turns, tool_calls, usage, pid, pid_start, boot FROM old_runs ORDER BY started_ns, id;"
    "INSERT OR IGNORE INTO runs (id, status, agent, parent, session, started_ns, ended_ns, turns, tool_calls, usage, pid, pid_start, boot)"
    "  SELECT run, 'running', '', '', '', min(time_ns), 0, 0, 0, '', 0, 0, '' FROM old_events GROUP BY run;"
    "INSERT INTO events (id, time_ns, agent, parent, depth, type, data)"
    "  SELECT r.n << 32 | e.seq, e.time_ns, e.agent, e.parent, e.depth, e.type, e.data FROM runs r, old_events e WHERE e.run = r.id ORDER BY 1;"
    "DROP TABLE old_events; DROP TABLE old_runs;";

/* The counts of an unfinished run were only in its events. */
#define EVENTS_OF_RUN "FROM events e WHERE e.id BETWEEN n << 32 AND n << 32 | 0xffffffff"
static const char values[] =
    "UPDATE runs SET turns = (SELECT count(*) " EVENTS_OF_RUN " AND type = 'completion.completed' AND depth = 0),"
    "  tool_calls = (SELECT count(*) " EVENTS_OF_RUN " AND type = 'tool.started') WHERE status = 'running';"
    "UPDATE runs SET cost = ifnull(CAST(json_extract(usage, '$.usd') AS REAL), 0) WHERE json_valid(usage);"
    "UPDATE runs SET title = ifnull((SELECT substr(trim(replace(json_extract(data, '$.text'), char(10), ' ')), 1, 80) FROM events e"
    "  WHERE e.id BETWEEN n << 32 AND n << 32 | 20 AND type = 'turn.started' AND depth = 0 AND json_valid(data) ORDER BY e.id LIMIT 1), '');";

static bool in_use(const SqliteStore *s, Error *err) {
    error_set(err, ERR_IO, "migrate: state file %s has an older format, and an older harness is still using it", s->path);
    return error_hint(err, "end that program, then try again");
}

static bool import_all(SqliteStore *s, const Copy *c, int64_t version, Error *err) {
    if (!sqlite_exec(s, tables_before, "migrate", err) || !sqlite_exec(s, sqlite_schema_runs, "migrate", err)) return false;
    if (!sqlite_exec(s, tables_after, "migrate", err) || !sqlite_exec(s, sqlite_schema_control, "migrate", err)) return false;
    if (version >= 2 && !import_pages(s, err)) return false;
    if (there(c->old_tail) && !import_tail(s, c->old_tail, err)) return false;
    return sqlite_exec(s, values, "migrate", err);
}

/* Removes a copy only inside the transaction, which keeps other processes from making theirs. */
bool sqlite_import(SqliteStore *s, int64_t version, Error *err) {
    Copy c = copy_names(s, version);
    bool ok = (!sqlite_lease_any(s) && (!there(c.old_tail) || sqlite_lease_sure(s, tail_lease))) || in_use(s, err);
    ok = ok && back_up(s, &c, err);
    if (ok && !import_all(s, &c, version, err)) {
        ok = false;
        unlink(c.path);
        unlink(c.tail);
    }
    copy_clear(&c);
    return ok;
}

void sqlite_import_end(SqliteStore *s, bool ok) {
    char *tail = beside(s, "-tail");
    if (ok && there(tail)) unlink(tail);
    sqlite_lease_drop(s, tail_lease);
    free(tail);
}
