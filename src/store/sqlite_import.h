/* Imports state files of formats 1 and 2. To be removed, with sqlite_import.c, two releases after format 3. */
#pragma once
#include "store/sqlite_private.h"

/* Inside the transaction that changes the format: copies the file to FILE-formatN and converts everything to format
 * 3. */
bool sqlite_import(SqliteStore *s, int64_t version, Error *err);
void sqlite_import_end(SqliteStore *s, bool ok);                    /* after that transaction */
/* Imports FILE-tail of a killed format 2 process, unless another process is using it. Keeps the file on failure. */
void sqlite_import_tail(SqliteStore *s);
/* Iterates over the events of one row of `pages`, from seq `from` on; !*whole: the rest is damaged. False when `each`
 * returned false. */
bool sqlite_page_each(Str page, Str run, uint64_t from, bool (*each)(void *ctx, const Event *e), void *ctx, bool *whole);
