/* Private to the SQLite driver. */
#pragma once
#include "store/sqlite.h"
#include "store/store_private.h"

typedef struct SqliteStore {
    Store store;
    const Sqlite *api;
    sqlite3 *db;
    char *path;
    sqlite3_stmt *kept[SQL_COUNT];
    int lease_fd;                        /* -1: unavailable, use pid and start time */
} SqliteStore;

bool sqlite_open(const char *path, bool sync_full, Store **out, Error *err);
/* A query with text of its own. */
StoreQuery sqlite_walk(SqliteStore *s, const char *sql, const char *doing, Error *err);
bool sqlite_failed(SqliteStore *s, const char *doing, Error *err);           /* sets the connection's error; returns false */

/* sqlite_schema.c */
#define SQLITE_FILE_FORMAT 5
extern const char sqlite_schema_runs[], sqlite_schema_control[];   /* the tables that differ from format 2, and those
                                                                  * that it did not have */
bool sqlite_check(SqliteStore *s, int64_t *version, Error *err);     /* read-only: the file may belong to another program */
bool sqlite_migrate(SqliteStore *s, int64_t version, Error *err);    /* version: from sqlite_check */
bool sqlite_exec(SqliteStore *s, const char *sql, const char *doing, Error *err);

/* sqlite_lease.c */
typedef struct SqliteHolder { int64_t pid, start; char boot[40]; } SqliteHolder;
void sqlite_holder_self(SqliteHolder *out);
bool sqlite_holder_alive(const SqliteHolder *h);
bool sqlite_lease_take(SqliteStore *s, Str run);                    /* false: another process holds the lock */
bool sqlite_lease_sure(SqliteStore *s, Str name);                   /* the same; also false on file systems without locks */
void sqlite_lease_drop(SqliteStore *s, Str run);
bool sqlite_lease_any(SqliteStore *s);                              /* true if another store holds a lease on this file */
