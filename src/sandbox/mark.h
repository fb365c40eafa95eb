/* Records running calls: a file names the valid snapshot of the protected files while child processes may write them.
 *
 *     FOLDER/mark-ID         "harness mark 1\n", 'b' (busy) or 'i' (idle), "\n", the snapshot's name, "\n", the project's root,
 *                            a NUL, and the device, inode and birth time of that folder
 *     FOLDER/snapshot-NAME   named after its content: snapshot_write()
 *     FOLDER/lock            see mark_hold()
 *     FOLDER/displaced/      see displaced.h
 *
 * The mark's file has an OFD lock that harness, the launcher and every supervisor hold, but no program. If the lock is free,
 * all of them are dead. A busy mark then tells the next start that no verification followed the last call: it verifies.
 *
 * The content of protected files is trustworthy only while no mark of the project is busy. So a process that loads the project
 * holds the project's lock shared, and one whose mark becomes busy holds it exclusively for that moment. Files of a mark
 * that is busy when loading starts are read from its snapshot and not from disk (view.h). */
#pragma once
#include "base/cancel.h"
#include "base/error.h"
#include "base/str.h"

typedef struct Mark Mark;
typedef struct Snapshot Snapshot;
typedef struct View View;

enum { MARK_CONTENT_MAX = 16 << 20 };   /* a larger snapshot has digests only: the user must resolve differences */

/* Creates the folder and an idle mark in it. ERR_IO; ERR_SANDBOX when locks do not work there. */
bool mark_new(const char *folder, const char *root, Mark **out, Error *err);
/* Removes an idle mark. A busy one stays for the next start. NULL is fine. */
void mark_free(Mark *m);
int mark_fd(const Mark *m);             /* for sandbox_hold() */
/* Sets the valid snapshot. Only while idle. */
bool mark_record(Mark *m, Snapshot *s, Error *err);
bool mark_set(Mark *m, bool busy, Error *err);
/* Replaces the valid snapshot while busy, by the user's decision. */
bool mark_replace(Mark *m, Snapshot *s);
/* True if the user has accepted other files in another process. Then *out is their snapshot, to be cleared. */
bool mark_replaced(Mark *m, Snapshot *out);

typedef enum {
    MARK_SHARED,                        /* no mark becomes busy while it is held */
    MARK_SHARED_MAKE,                   /* the same; creates the lock if the folder exists */
    MARK_ALONE,                         /* nor does any process load the project; creates the lock */
} MarkHold;

/* Waits for the lock of the project at `root`. *fd is -1 without a lock, because no call was ever started in the folder
 * and none is created. ERR_SANDBOX: locks do not work, or another process has held it for too long. mark_release
 * accepts -1. */
bool mark_hold(const char *folder, const char *root, MarkHold how, int *fd, Error *err);
void mark_release(int fd);

typedef enum {
    MARK_RECOVER,                       /* restores files, removes dead marks; adds live ones to the view */
    MARK_READ,                          /* read-only: adds every busy mark to the view */
    MARK_BEGIN,                         /* recovers from dead marks; adds live ones to the view without comparing */
} MarkPurpose;

typedef enum { MARK_DEAD, MARK_LIVE, MARK_OWN } MarkState;     /* the process that made the call: dead, alive, or this one */
typedef struct MarkDifference { const char *root; MarkState state; Str diff; Cancel *cancel; /* cancels the question; may be NULL */ } MarkDifference;
typedef bool MarkAsk(void *ctx, const MarkDifference *d);      /* true: keep the files on disk; false: restore them */

typedef struct MarkLook {
    const char *folder, *root, *workspace;
    const Mark *own;                    /* skipped; may be NULL */
    MarkPurpose purpose;
    MarkAsk *ask;                       /* MARK_RECOVER, for files whose content was recorded; NULL: restore them */
    void *ask_ctx;
    View *view;                         /* receives snapshots; the caller clears it */
    Buf *told;                          /* receives a sentence for every mark with differences */
    size_t *found;                      /* counts the marks of the project, without `own`; may be NULL */
    Buf *diff;                          /* receives the differences in readable form; may be NULL */
} MarkLook;

/* Examines the marks of the project: those with its path, or with the device, inode and birth time of its folder, which
 * may have been moved. The folder of marks may be missing. False: nothing may be loaded or started; *err names the mark
 * and what to do. */
bool mark_look(const MarkLook *l, Error *err);
