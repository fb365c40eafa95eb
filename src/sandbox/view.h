/* The protected files as the marks have them, for a process that loads a project while the disk cannot be believed: a call that could write
 * them is under way in another process, or died before its changes were compared.
 *
 * A path is covered when it is protected by one of the snapshots, whether it existed or not. For a covered path the view is the answer and
 * the disk is not asked; for any other path the disk is. */
#pragma once
#include "base/vec.h"
#include "sandbox/snapshot.h"

typedef struct View { Snapshot *at; size_t n, cap; } View;                  /* as VEC has them */

void view_clear(View *v);

typedef struct ViewEntry {
    const SnapshotNode *node;           /* NULL: nothing is there, or `error` */
    const Snapshot *snapshot;           /* that the node belongs to */
    int error;                          /* as open() would say it: ENOENT, ENOTDIR, ELOOP, EXDEV (leads out of `base`) */
} ViewEntry;

/* What `path`, relative to the absolute folder `base`, is, through links that stay below `base`. False: not covered. */
bool view_find(const View *v, const char *base, Str path, ViewEntry *out);
/* The content of a regular file that was found. Where only a digest is kept, `disk` (what the file holds now) is compared with it: false means
 * that it differs, and that what it was is not known. */
bool view_is_content(const ViewEntry *e, Str disk);
