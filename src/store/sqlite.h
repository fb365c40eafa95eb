/* SQLite, loaded on first use: linking it would add half a millisecond to every start. Private to src/store/. */
#pragma once
#include <sqlite3.h>
#include "base/error.h"

/* X(name without sqlite3_) */
#define SQLITE_FUNCTIONS(X) \
    X(open_v2) X(close_v2) X(exec) X(prepare_v3) X(finalize) X(step) X(reset) X(clear_bindings) X(bind_int64) X(bind_double) X(bind_text64) \
    X(bind_blob64) X(column_int64) X(column_double) X(column_text) X(column_bytes) X(changes) X(errmsg) X(errstr) X(extended_errcode) X(system_errno) \
    X(extended_result_codes) X(busy_timeout) X(db_config) X(last_insert_rowid) X(blob_open) X(blob_read) X(blob_bytes) X(blob_close) X(get_autocommit)

typedef struct Sqlite {
#define X(name) __typeof__(sqlite3_##name) *name;
    SQLITE_FUNCTIONS(X)
#undef X
} Sqlite;

const Sqlite *sqlite_load(Error *err);   /* NULL with ERR_IO that names what is missing */
