/* A parallel walk over a folder tree, on descriptors: follows no link, opens nothing outside the root, and tolerates
 * concurrent changes of the tree. Honours ignore files (tool/builtin/ignore.h), from the root down to the start folder too;
 * always skips `.git`.
 *
 * The visitor runs on several threads at once, in no fixed order, so callers sort their results. */
#pragma once
#include "base/cancel.h"
#include "base/error.h"
#include "base/str.h"

enum { WALK_DEPTH_MAX = 256, WALK_THREADS_MAX = 16 };

typedef struct WalkEntry {
    Str path;                           /* relative to the root, NUL-terminated; valid during the visit */
    const char *name;                   /* its last part */
    int dir;                            /* its open parent folder: openat(dir, name, O_NOFOLLOW …) */
    char type;                          /* 'f' 'd' 'l' or 'o' (other) */
    unsigned depth;                     /* 1: directly in the start folder */
    unsigned thread;                    /* 0 … threads - 1: index of the visiting thread, for storage per thread */
} WalkEntry;

typedef enum { WALK_ON, WALK_SKIP /* do not enter this folder */, WALK_STOP /* end the whole walk, without an error */ } WalkNext;
typedef WalkNext WalkVisit(void *state, const WalkEntry *entry);

typedef struct WalkInput {
    int root;                           /* an open folder; owned by the caller */
    Str start;                          /* where to start: "" or "a/b" below the root, no "..", no links */
    bool hidden;                        /* include names that start with a period */
    bool no_ignore;                     /* read no ignore files */
    bool folders;                       /* visit folders and other non-regular files too; else regular files only */
    unsigned max_depth;                 /* 0: WALK_DEPTH_MAX */
    unsigned threads;                   /* 0: one per processor, at most WALK_THREADS_MAX */
    WalkVisit *visit;
    /* True if this path may be visited. NULL: all. Called on all threads, for folders and files. */
    bool (*may_see)(void *state, Str path, bool folder);
    void *state;
} WalkInput;

typedef struct WalkReport { size_t unreadable; /* folders that could not be opened or read, or are too deep */ } WalkReport;

/* Blocks until all is visited. Fails when the start folder cannot be opened (ERR_IO), or as cancel_check does; counts
 * and skips unreadable folders below it. `report` may be NULL. */
bool walk_tree(const WalkInput *in, Cancel *cancel, WalkReport *report, Error *err);
unsigned walk_threads(const WalkInput *in);   /* number of threads of a walk with this input */

/* Opens a folder below `root` ("." or "a/b") without following links. -1 with errno set. */
int walk_open_folder(int root, const char *folder);
