/* Protected files: what was loaded must be the same after every call.
 *
 * A snapshot holds, for every protected path, whether it exists and if so its kind, mode, owner, times, inode and content (of
 * a folder: all below it), and of the folders and links that lead to it that they do. After a call that could have written,
 * protect_verify() compares and puts back whatever differs: changed, removed, renamed, replaced by a link, or new where
 * nothing was. Content is compared every time: a shared mapping changes a file without a new time or size. A file with new
 * times or a new inode but the old content is no difference, but it gets a new inode, so that no descriptor or mapping that a
 * program kept reaches it. Putting back steps down from "/" by single names, never through a link; files are replaced, not
 * rewritten. New files inside a protected path are removed; what stands in the way of a folder that merely leads to one is
 * renamed NAME.displaced-…. */
#pragma once
#include "base/error.h"
#include "base/str.h"
#include "sandbox/mark.h"

typedef struct Protect Protect;

enum { PROTECT_BYTES_MAX = 256 << 20 };

/* `paths` absolute, NULL-terminated, existing or not. Messages show paths relative to `workspace` (may be NULL). Of what others could write
 * meanwhile `view` (NULL: nobody is at work) has the content that counts. ERR_LIMIT when the files hold more than PROTECT_BYTES_MAX;
 * ERR_SANDBOX when the view has only a digest of a file that differs. */
bool protect_new(const char *workspace, const char *const *paths, const View *view, Protect **out, Error *err);
void protect_free(Protect *p);
/* What is found in the place of a protected file of the project at `root` is kept below this folder (displaced.h). Before the first
 * verification; both are copied. */
void protect_displaced(Protect *p, const char *folder, const char *root);
bool protect_record(Protect *p, Mark *mark, Error *err);      /* the snapshot is the mark's from now on */
/* Before a verification: if a person has decided in another process what holds, that is what is compared from now on. */
void protect_follow(Protect *p, Mark *mark);
/* True when all is as it was. Otherwise everything was put back and ERR_SANDBOX "sandbox.tampered: .harness/hooks/x.md was
 * changed by the call and has been put back" lists the paths (and says so when one could not be put back). Calls may run at
 * the same time; one verification runs at a time. */
bool protect_verify(Protect *p, Error *err);
/* Before a verification: asks a person about what differs. A yes makes what was shown, from one read, what is compared from now on, also in the mark. True: yes.
 * Nothing is locked while the person thinks. */
bool protect_review(Protect *p, Mark *mark, MarkAsk *ask, void *ctx, Cancel *cancel);
/* Only compares. For the time before a call: what differs then was changed by somebody else (a person's editor), which is
 * not to be put back but to be loaded, with a new snapshot. */
bool protect_same(Protect *p, Error *err);
