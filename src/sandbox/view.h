/* The protected files as recorded in the marks, for a process that loads a project while the disk cannot be trusted: a
 * call in another process that could write them is running, or died before its changes were compared.
 *
 * A path is covered if it is protected in one of the snapshots, whether it existed or not. The view is authoritative
 * for covered paths, the disk for all others. */
#pragma once
#include "base/vec.h"
#include "sandbox/snapshot.h"

typedef struct View { Snapshot *at; size_t n, cap; } View;                  /* the layout of VEC */

void view_clear(View *v);

typedef struct ViewEntry {
    const SnapshotNode *node;           /* NULL: absent, or `error` */
    const Snapshot *snapshot;           /* that contains the node */
    int error;                          /* the errno of open(): ENOENT, ENOTDIR, ELOOP, EXDEV (leads out of `base`) */
} ViewEntry;

/* Looks up `path`, relative to the absolute folder `base`, through links that stay below `base`. False: not covered. */
bool view_find(const View *v, const char *base, Str path, ViewEntry *out);
/* Checks the content of a regular file that was found. If only a digest was recorded, compares `disk` (the current
 * content) with it: false means that it differs, and the recorded content is unknown. */
bool view_is_content(const ViewEntry *e, Str disk);
