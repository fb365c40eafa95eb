/* A state file in a new folder for each test; or, for those that also run on PostgreSQL, a new project in a database. */
#pragma once
#include "unit.h"
#include <ftw.h>
#include <unistd.h>
#include "store/sqlite_private.h"
#include "store/store.h"

typedef struct StorePlace { char dir[64], path[128]; Error err; } StorePlace;

/* Set while the tests run on PostgreSQL. */
static char place_server[64], place_url[64];

/* The folders of the file do not exist yet. */
static inline void place_open(StorePlace *p) {
    *p = (StorePlace){ .dir = "/tmp/harness-store-XXXXXX" };
    assert_non_null(mkdtemp(p->dir));
    if (place_url[0]) snprintf(p->path, sizeof p->path, "%s#%s", place_url, p->dir + strlen("/tmp/harness-store-"));
    else snprintf(p->path, sizeof p->path, "%s/deep/er/harness.db", p->dir);
}

/* Group fixtures: a server in a folder of its own. */
static inline int place_start_server(void **state) {
    (void)state;
    char command[160];
    int from, to;
    Error err = { 0 };
    snprintf(place_server, sizeof place_server, "/tmp/harness-pg-XXXXXX");
    if (!mkdtemp(place_server) || rmdir(place_server) < 0) return -1;
    snprintf(command, sizeof command, "scripts/postgres.sh start %s", place_server);
    FILE *out = popen(command, "re");
    if (!out || !fgets(place_url, sizeof place_url, out) || pclose(out) != 0) return -1;
    place_url[strcspn(place_url, "\n")] = 0;
    if (store_migrate(place_url, &from, &to, &err)) return 0;
    print_error("%s\n", err.msg);
    return -1;
}

static inline int place_stop_server(void **state) {
    (void)state;
    char command[160];
    snprintf(command, sizeof command, "scripts/postgres.sh stop %s", place_server);
    place_url[0] = 0;
    return system(command);
}

#define run_on_postgres(tests) cmocka_run_group_tests_name("on PostgreSQL", tests, place_start_server, place_stop_server)

static inline int place_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static inline void place_close(StorePlace *p) { nftw(p->dir, place_remove_one, 16, FTW_DEPTH | FTW_PHYS); }

static inline Store *must_open(StorePlace *p) {
    Store *s = NULL;
    if (!store_open(p->path, false, &s, &p->err)) fail_msg("%s", p->err.msg);
    return s;
}

#define must(p, ok) do { if (!(ok)) fail_msg("%s", (p)->err.msg); } while (0)

/* PostgreSQL: `text` sees the rows of the project only, under the names that the tables have in SQLite. */
static inline int64_t place_psql(const char *path, const char *text) {
    static const char *const tables[] = { "runs", "events", "artifacts", "tasks", "commands", "approvals", "notes", "decisions" };
    const char *project = strrchr(path, '#') + 1;
    Buf command = { 0 };
    char line[64] = "";
    buf_add_fmt(&command, "psql -qAtX -v ON_ERROR_STOP=1 '%.*s' -c \"", (int)(project - 1 - path), path);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        buf_add_fmt(&command, "CREATE TEMP VIEW %s AS SELECT * FROM harness.%s WHERE project = '%s';", tables[i], tables[i], project);
    buf_add_fmt(&command, "\" -c \"%s\"", text);
    FILE *out = popen(command.at, "re");
    assert_non_null(out);
    if (!fgets(line, sizeof line, out)) line[0] = 0;
    if (pclose(out) != 0) fail_msg("%s", text);
    buf_clear(&command);
    return line[0] == 't' ? 1 : strtoll(line, NULL, 10);
}

/* Runs SQL on a separate connection. */
static inline void sql(const char *path, const char *text) {
    if (place_url[0]) {
        place_psql(path, text);
        return;
    }
    const Sqlite *api = sqlite_load(NULL);
    sqlite3 *db;
    assert_int_equal(api->open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL), SQLITE_OK);
    if (api->exec(db, text, NULL, NULL, NULL) != SQLITE_OK) fail_msg("%s: %s", text, api->errmsg(db));
    api->close_v2(db);
}

static inline int64_t number(const char *path, const char *text) {
    if (place_url[0]) return place_psql(path, text);
    const Sqlite *api = sqlite_load(NULL);
    sqlite3 *db;
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(api->open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    if (api->prepare_v3(db, text, -1, 0, &stmt, NULL) != SQLITE_OK || api->step(stmt) != SQLITE_ROW) fail_msg("%s: %s", text, api->errmsg(db));
    int64_t n = api->column_int64(stmt, 0);
    api->finalize(stmt);
    api->close_v2(db);
    return n;
}

static inline bool place_count_break(void *ctx, const StoreBreak *b) { (void)b; ++*(int *)ctx; return true; }

/* The chain of the run has no break; returns the number of its events. */
static inline uint64_t place_whole(StorePlace *p, Store *s, const char *run) {
    StoreChecked c;
    int breaks = 0;
    must(p, store_run_verify(s, str_from(run), &c, place_count_break, &breaks, &p->err));
    assert_int_equal(breaks, 0);
    return c.events;
}
