/* Protected files: what was loaded must be unchanged after every call.
 *
 * A snapshot records, for every protected path, whether it exists and if so its type, mode, owner, times, inode and
 * content (for a folder: everything below it), and the folders and links that lead to it. After a call that could have
 * written, protect_verify() compares and restores whatever differs: changed, removed, renamed, replaced by a link, or
 * newly created. Content is compared every time: a shared mapping changes a file without changing its times or size. A
 * file with new times or a new inode but the old content is not a difference, but it gets a new inode, so that no
 * descriptor or mapping kept by a program refers to it. Restoring walks down from "/" by single names, never through a
 * link; files are replaced, not rewritten. New files inside a protected path are removed; an object in the place of a
 * folder that only leads to one is renamed to NAME.displaced-…. */
#pragma once
#include "base/error.h"
#include "base/str.h"
#include "sandbox/mark.h"

typedef struct Protect Protect;

enum { PROTECT_BYTES_MAX = 256 << 20 };

/* `paths`: absolute, NULL-terminated, existing or not. Messages show paths relative to `workspace` (may be NULL).
 * `view` (NULL: no call is running) has the valid content of files that others could write meanwhile. ERR_LIMIT when
 * the files exceed PROTECT_BYTES_MAX; ERR_SANDBOX when the view has only a digest of a file that differs. */
bool protect_new(const char *workspace, const char *const *paths, const View *view, Protect **out, Error *err);
void protect_free(Protect *p);
/* Keeps what is found in place of a protected file of the project at `root` below this folder (displaced.h). Before the
 * first verification; copies both. */
void protect_displaced(Protect *p, const char *folder, const char *root);
bool protect_record(Protect *p, Mark *mark, Error *err);      /* records the snapshot in the mark */
/* Before a verification: if the user has accepted other files in another process, those become the reference. */
void protect_follow(Protect *p, Mark *mark);
/* True when nothing changed. Otherwise everything was restored and ERR_SANDBOX "sandbox.tampered: .harness/hooks/x.md
 * was changed by the call and has been put back" lists the paths (and says so when one could not be restored). Calls
 * may run concurrently; verifications are serialized. */
bool protect_verify(Protect *p, Error *err);
/* Before a verification: asks the user about the differences. On yes, exactly what was shown, from one read, becomes
 * the reference, also in the mark. Returns the answer. Holds no lock while the user decides. */
bool protect_review(Protect *p, Mark *mark, MarkAsk *ask, void *ctx, Cancel *cancel);
/* Only compares. Used before a call: a difference then was made by something else (the user's editor), and is not
 * restored but loaded, with a new snapshot. */
bool protect_same(Protect *p, Error *err);
