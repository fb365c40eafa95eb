/* A state file in a new folder for each test. */
#pragma once
#include "unit.h"
#include <ftw.h>
#include <unistd.h>
#include "store/sqlite_private.h"
#include "store/store.h"

typedef struct StorePlace { char dir[64], path[128]; Error err; } StorePlace;

/* The folders of the file do not exist yet. */
static inline void place_open(StorePlace *p) {
    *p = (StorePlace){ .dir = "/tmp/harness-store-XXXXXX" };
    assert_non_null(mkdtemp(p->dir));
    snprintf(p->path, sizeof p->path, "%s/deep/er/harness.db", p->dir);
}

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

/* Runs SQL on a separate connection. */
static inline void sql(const char *path, const char *text) {
    const Sqlite *api = sqlite_load(NULL);
    sqlite3 *db;
    assert_int_equal(api->open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL), SQLITE_OK);
    if (api->exec(db, text, NULL, NULL, NULL) != SQLITE_OK) fail_msg("%s: %s", text, api->errmsg(db));
    api->close_v2(db);
}

static inline int64_t number(const char *path, const char *text) {
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
