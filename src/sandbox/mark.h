/* What is at work is on record: a file that says which snapshot of the protected files holds while children may write them.
 *
 *   FOLDER/mark-ID        "harness mark 1\n", 'b' (busy) or 'i' (idle), "\n", the snapshot's name, "\n", the project's root
 *   FOLDER/snapshot-NAME  named after its content: snapshot_write()
 *   FOLDER/displaced/     see displaced.h
 *
 * The mark's file has an OFD lock that harness, the launcher and every supervisor hold and no program does. A free lock means that
 * all of them are dead. Then a busy mark tells the next start that nobody has compared after the last call: it does so itself. */
#pragma once
#include "base/error.h"
#include "base/str.h"

typedef struct Mark Mark;
typedef struct Snapshot Snapshot;

enum { MARK_CONTENT_MAX = 16 << 20 };   /* a larger snapshot keeps digests only: a difference then waits for a person */

/* Makes the folder and an idle mark in it. ERR_IO; ERR_SANDBOX when locks do not work there. */
bool mark_new(const char *folder, const char *root, Mark **out, Error *err);
/* Removes the mark if it is idle. A busy one stays, for whoever starts next. NULL is fine. */
void mark_free(Mark *m);
int mark_fd(const Mark *m);             /* for sandbox_hold() */
/* Which snapshot holds from now on. Only while it is idle. */
bool mark_record(Mark *m, Snapshot *s, Error *err);
bool mark_set(Mark *m, bool busy, Error *err);

/* Looks at the marks of `root` in the folder, which may not be there. Of a busy one the files are compared with its snapshot and put back; a dead
 * one is removed when that worked. `told` gets a sentence for every one that had differences. `look_only`: nothing is put back or removed, and a
 * difference is an error. False: nothing may be loaded; *err names the mark and says what to do. */
bool mark_recover(const char *folder, const char *root, const char *workspace, bool look_only, Buf *told, Error *err);
