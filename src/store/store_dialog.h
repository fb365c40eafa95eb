/* Dialogs, file pickers and notifications that a run shows in a page of the console, and the pages that are open.
 *
 * They are rows of the table of questions whose args_hash is "bridge", so that the first answer counts, as with approvals. They are not approvals: the
 * functions store_approval_* neither list, find, read nor answer them, and these functions do not read approvals. */
#pragma once
#include "store/store.h"

/* `body` is a JSON object that says what to show, `answer` the one that was passed to store_dialog_answer. */
typedef struct StoreDialog { Str id, run, call, tool, body; int64_t asked_ns, expires_ns; Str state, answer, by; } StoreDialog;
typedef bool StoreDialogEach(void *ctx, const StoreDialog *d);
bool store_dialog_ask(Store *s, const StoreDialog *d, Error *err);            /* d->id is new */
bool store_dialog_get(Store *s, Str id, StoreDialogEach *each, void *ctx, Error *err);                       /* no such row: `each` is not called */
bool store_dialog_each(Store *s, StoreDialogEach *each, void *ctx, Error *err);                              /* the open ones, oldest first */
bool store_dialog_answer(Store *s, Str id, Str answer, Str by, bool *first, Error *err);                     /* *first: it was open */
bool store_dialog_withdraw(Store *s, Str id, Error *err);                     /* only if it is open */

/* Open pages. A console that shows pages says so every few seconds; one that has not for STORE_VIEWER_S seconds shows none. */
enum { STORE_VIEWER_S = 15 };
bool store_viewer_put(Store *s, Str console, Error *err);
bool store_viewer_remove(Store *s, Str console, Error *err);
bool store_viewer_any(Store *s, bool *any, Error *err);
