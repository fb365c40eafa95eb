/* A parallel walk over a folder tree, on descriptors: no link is ever followed, nothing outside the root is opened, and the
 * tree may change meanwhile. Honours ignore files (tool/ignore.h), from the root down to the start folder too; `.git` is
 * always left out.
 *
 * The visitor runs on several threads at once, in no fixed order: whoever uses it sorts what it found. */
#pragma once
#include "base/cancel.h"
#include "base/error.h"
#include "base/str.h"

enum { WALK_DEPTH_MAX = 256, WALK_THREADS_MAX = 16 };

typedef struct WalkEntry {
    Str path;                           /* relative to the root, with a NUL behind it; valid during the visit */
    const char *name;                   /* its last part */
    int dir;                            /* the open folder it lies in: openat(dir, name, O_NOFOLLOW …) */
    char type;                          /* 'f' 'd' 'l' or 'o' (other) */
    unsigned depth;                     /* 1: directly in the start folder */
    unsigned thread;                    /* 0 … threads - 1: which visitor this is, for storage per thread */
} WalkEntry;

typedef enum { WALK_ON, WALK_SKIP /* do not enter this folder */, WALK_STOP /* end the whole walk, without an error */ } WalkNext;
typedef WalkNext WalkVisit(void *state, const WalkEntry *entry);

typedef struct WalkInput {
    int root;                           /* an open folder; stays the caller's */
    Str start;                          /* where to begin: "" or "a/b" below the root, no "..", no links */
    bool hidden;                        /* also names that start with a period */
    bool no_ignore;                     /* read no ignore files */
    bool folders;                       /* folders and everything that is no regular file are visited too; else files only */
    unsigned max_depth;                 /* 0: WALK_DEPTH_MAX */
    unsigned threads;                   /* 0: one per processor, at most WALK_THREADS_MAX */
    WalkVisit *visit;
    /* May this be seen at all? NULL: yes. Asked from all threads, for folders and files alike. */
    bool (*may_see)(void *state, Str path, bool folder);
    void *state;
} WalkInput;

typedef struct WalkReport { size_t unreadable; /* folders that could not be opened or read, or are too deep */ } WalkReport;

/* Blocks until all is visited. Fails when the start folder cannot be opened (ERR_IO), or as cancel_check does; a folder
 * further down that cannot be read is counted and passed over. `report` may be NULL. */
bool walk_tree(const WalkInput *in, Cancel *cancel, WalkReport *report, Error *err);
unsigned walk_threads(const WalkInput *in);   /* how many threads a walk with this input uses */

/* Opens a folder below `root` ("." or "a/b") without following any link on the way. -1 with errno set. */
int walk_open_folder(int root, const char *folder);
