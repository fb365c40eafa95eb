/* The folder of a queued run: a copy of the workspace, on the host that took the run first (queue.workspace: host).
 *
 *     $XDG_STATE_HOME/harness-runs/       0700, beside the state: tools may reach a run's files, and never the state
 *         id                              tells this host from others with the same name
 *         RUN/                            one for each run; RUN-2 … if the run was adopted by this host later
 *             lock                        held by the process that works on the run
 *             made                        written when the copy is complete: a digest, for queue_folder_changed
 *             work/                       the workspace
 *
 * It is a copy and not a git worktree: a worktree shares objects, references, hooks and configuration with the main repository, so git in the sandbox
 * would need to write there, and what a run writes there is executed or read by git outside of the sandbox; and creating a worktree runs the
 * repository's hooks and filters. A copy has a repository of its own. */
#pragma once
#include "artifact/project.h"
#include "base/cancel.h"
#include "store/store_queue.h"

typedef struct QueueHost { char *folder; char id[STORE_QUEUE_HOST + 1]; } QueueHost;
bool queue_host_open(QueueHost *out, Error *err);            /* creates it if it is missing */
void queue_host_clear(QueueHost *h);

typedef struct QueueFolder {
    char *folder, *work;                 /* owned */
    char host[65], host_id[STORE_QUEUE_HOST + 1];
    Buf from;                            /* the host that had the run's files before; empty: none */
    int64_t n;                           /* 1: RUN, 2: RUN-2 … */
    int lock;                            /* -1: not open */
    bool fresh;                          /* no event of the run tells about it yet */
} QueueFolder;

typedef struct QueueFolderInput {
    const QueueHost *host;
    Store *store;                        /* with the events of the run, if it was started before */
    Str run;
    bool started;
    const char *root, *workspace;        /* of the project; the workspace without links */
    Cancel *cancel;                      /* ends the copying; may be NULL */
} QueueFolderInput;
/* Finds the folder of a run that this process has taken, or makes it. ERR_IO: it cannot be used or made now. ERR_LIMIT: the workspace is too large.
 * ERR_VALIDATION: it was here and is gone, so the run cannot continue. *out is set in any case. */
bool queue_folder_open(const QueueFolderInput *in, QueueFolder *out, Error *err);
/* True if anything below work/ differs from what was copied, or if that cannot be determined. */
bool queue_folder_changed(const QueueFolder *f);
bool queue_folder_remove(QueueFolder *f, Error *err);        /* keeps what changed meanwhile: ERR_POLICY */
void queue_folder_close(QueueFolder *f);                     /* keeps the files */
/* The data of run.workspace. */
void queue_folder_event(const QueueFolder *f, const char *state, Buf *out);
