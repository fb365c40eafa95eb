/* Imports state files of formats 1 and 2. To be removed, with store_import.c, two releases after format 3. */
#pragma once
#include "store/store.h"

/* Inside the transaction that changes the format: copies the file to FILE-formatN and converts everything to format
 * 3. */
bool store_import(Store *s, int64_t version, Error *err);
void store_import_end(Store *s, bool ok);                    /* after that transaction */
/* Imports FILE-tail of a killed format 2 process, unless another process is using it. Keeps the file on failure. */
void store_import_tail(Store *s);
/* Iterates over the events of one row of `pages`, from seq `from` on; !*whole: the rest is damaged. False when `each`
 * returned false. */
bool store_page_each(Str page, Str run, uint64_t from, bool (*each)(void *ctx, const Event *e), void *ctx, bool *whole);
