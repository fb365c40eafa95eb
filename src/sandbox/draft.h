/* Files as they would be after a change: a project is loaded with them while the disk stays as it is. */
#pragma once
#include "base/error.h"
#include "base/str.h"

typedef struct Snapshot Snapshot;        /* sandbox/snapshot.h */
typedef struct View View;                /* sandbox/view.h */

typedef struct Draft {
    Str path;                            /* relative to the project's root, normalized: "harness.md", ".harness/hooks/x.md" */
    Str text;
    bool removed;                        /* the file does not exist in the draft; `text` is not used */
} Draft;

/* A snapshot of the folder `root` that covers the drafted files, with .harness as a whole: the disk, corrected by `marks` (calls that are running could
 * have written there), then the drafts. ERR_VALIDATION: a draft lies behind a link or a file, or names a folder. snapshot_clear() in every case. */
bool draft_take(const char *root, const Draft *at, size_t n, const View *marks, Snapshot *out, Error *err);
