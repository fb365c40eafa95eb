/* Reading the state files of formats 1 and 2. To be removed, with store_import.c, two releases after format 3. */
#pragma once
#include "store/store.h"

/* Within the transaction that changes the format: makes a copy of the file, FILE-formatN, and brings everything to format 3. */
bool store_import(Store *s, int64_t version, Error *err);
void store_import_end(Store *s, bool ok);                    /* after that transaction */
/* Takes in FILE-tail of a format 2 process that was killed, unless another process is using it. Keeps the file when that fails. */
void store_import_tail(Store *s);
/* The events of one row of `pages`, from number `from` on; !*whole: what follows is damaged. Returns false when `each` did. */
bool store_page_each(Str page, Str run, uint64_t from, bool (*each)(void *ctx, const Event *e), void *ctx, bool *whole);
