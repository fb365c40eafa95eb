/* What is at work is on record: a file that says which snapshot of the protected files holds while children may write them.
 *
 *   FOLDER/mark-ID        "harness mark 1\n", 'b' (busy) or 'i' (idle), "\n", the snapshot's name, "\n", the project's root, a NUL, and the
 *                         device, inode and birth time of that folder
 *   FOLDER/snapshot-NAME  named after its content: snapshot_write()
 *   FOLDER/lock           see mark_hold()
 *   FOLDER/displaced/     see displaced.h
 *
 * The mark's file has an OFD lock that harness, the launcher and every supervisor hold and no program does. A free lock means that
 * all of them are dead. Then a busy mark tells the next start that nobody has compared after the last call: it does so itself.
 *
 * The content of protected files can be believed only while no mark of the project is busy. So a process that loads the project holds the lock
 * of the project shared, and one whose mark becomes busy holds it alone for that moment. What is busy when loading begins is not read from the
 * disk but from its snapshot (view.h). */
#pragma once
#include "base/cancel.h"
#include "base/error.h"
#include "base/str.h"

typedef struct Mark Mark;
typedef struct Snapshot Snapshot;
typedef struct View View;

enum { MARK_CONTENT_MAX = 16 << 20 };   /* a larger snapshot keeps digests only: a difference then waits for a person */

/* Makes the folder and an idle mark in it. ERR_IO; ERR_SANDBOX when locks do not work there. */
bool mark_new(const char *folder, const char *root, Mark **out, Error *err);
/* Removes the mark if it is idle. A busy one stays, for whoever starts next. NULL is fine. */
void mark_free(Mark *m);
int mark_fd(const Mark *m);             /* for sandbox_hold() */
/* Which snapshot holds from now on. Only while it is idle. */
bool mark_record(Mark *m, Snapshot *s, Error *err);
bool mark_set(Mark *m, bool busy, Error *err);
/* Another snapshot holds from now on, while it is busy: a person has decided so. */
bool mark_replace(Mark *m, Snapshot *s);
/* Has a person, in another process, decided that other files hold? Then *out is their snapshot, to be cleared. */
bool mark_replaced(Mark *m, Snapshot *out);

typedef enum {
    MARK_SHARED,                        /* nobody becomes busy meanwhile */
    MARK_SHARED_MAKE,                   /* the same; the lock is made if the folder is there */
    MARK_ALONE,                         /* nobody loads meanwhile either; the lock is made */
} MarkHold;

/* Waits until it can hold the lock of the project at `root`. *fd is -1 when there is no lock, because nothing was ever begun in the folder, and it is not made.
 * ERR_SANDBOX: locks do not work, or another process has held it for too long. mark_release takes -1 too. */
bool mark_hold(const char *folder, const char *root, MarkHold how, int *fd, Error *err);
void mark_release(int fd);

typedef enum {
    MARK_RECOVER,                       /* puts files back, removes dead marks; live ones go into the view */
    MARK_READ,                          /* changes nothing: every busy mark goes into the view */
    MARK_BEGIN,                         /* recovers from dead marks; live ones go into the view without being compared */
} MarkPurpose;

typedef enum { MARK_DEAD, MARK_LIVE, MARK_OWN } MarkState;     /* whose call it was: a process that is dead, another one that is not, this one */
typedef struct MarkDifference { const char *root; MarkState state; Str diff; Cancel *cancel; /* ends the question; NULL: nothing does */ } MarkDifference;
typedef bool MarkAsk(void *ctx, const MarkDifference *d);      /* true: what is on the disk is kept; false: it is put back */

typedef struct MarkLook {
    const char *folder, *root, *workspace;
    const Mark *own;                    /* is passed over; NULL: none */
    MarkPurpose purpose;
    MarkAsk *ask;                       /* MARK_RECOVER, for files whose content is on record; NULL: they are put back */
    void *ask_ctx;
    View *view;                         /* gets snapshots; the caller clears it */
    Buf *told;                          /* gets a sentence for every mark that had differences */
    size_t *found;                      /* counts the marks of the project, without `own`; NULL: not wanted */
    Buf *diff;                          /* gets the differences as a person reads them; NULL: not wanted */
} MarkLook;

/* Looks at the marks of the project: those with its path, or with the device, inode and birth time of its folder, which may have been moved. The folder
 * of marks may not be there. False: nothing may be loaded or begun; *err names the mark and says what to do. */
bool mark_look(const MarkLook *l, Error *err);
