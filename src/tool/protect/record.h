/* Location of the record of running calls (sandbox/mark.h): next to the state file that HARNESS_STATE or a flag names; else in the user's state
 * folder; if that is missing or read-only, in a private folder in /tmp. The folder in /tmp is used only in that case, because a tool that may write /tmp could
 * create one.
 *
 * Every project is loaded through record_load, and work that may write its files starts with record_begin. So this file
 * alone decides which version of a project's files is valid. */
#pragma once
#include <time.h>
#include "artifact/project.h"
#include "sandbox/displaced.h"
#include "sandbox/draft.h"
#include "sandbox/mark.h"
#include "sandbox/protect.h"
#include "sandbox/sandbox.h"

enum { RECORD_FOLDERS = 2 };
typedef struct RecordPlaces { char *at[RECORD_FOLDERS]; } RecordPlaces;      /* possible folders, the
                                                                              * preferred one first; NULL: that one is not available */

void record_places(const char *state, RecordPlaces *out);       /* state: from a flag; NULL: use the environment */
void record_places_clear(RecordPlaces *p);

typedef struct RecordDoor {
    const RecordPlaces *places;
    bool reading;                        /* read-only: files changed by calls are loaded as they were before */
    MarkAsk *ask;                        /* asks the user what to do with such files; NULL: restore them */
    void *ask_ctx;
    Buf *told;                           /* receives messages for the user, one per line */
    const Draft *drafts; size_t n_drafts;        /* loaded instead of what is on the disk */
} RecordDoor;

/* project_load(), after restoring what unfinished calls left behind. Files that a running call in another process could
 * write are loaded as they were when that call started. False with problems and err->kind ERR_NONE: the project is
 * invalid; with *err: nothing may be loaded. */
bool record_load(const RecordDoor *door, const ProjectInput *in, Project **out, Problems *problems, Error *err);

/* Pending changes in the project at `root`: files that changed while a call could write them and were neither restored
 * nor kept. Read-only. `told` gets messages, `diff` the differences. */
bool record_waiting(const RecordPlaces *p, const char *root, Buf *told, Buf *diff, Error *err);

/* Copies the folder `from` of the project at `root` to `to` with `copy`. Then corrects in the copy what a call in another process could have written
 * meanwhile. No such call may be able to reach `to`. git: `copy` also copies the folder .git. */
typedef struct RecordCopying { const char *root, *from, *to; bool git; } RecordCopying;
typedef bool RecordCopy(void *ctx, Error *err);
bool record_copy(const RecordCopying *c, RecordCopy *copy, void *ctx, Error *err);

/* A folder of marks when it last had no other mark of the project. Marks are created and removed by name, so the same
 * modification time means there is still none. */
typedef struct RecordSeen { bool none; struct timespec changed; } RecordSeen;

typedef struct RecordWork {
    const RecordPlaces *places;
    RecordSeen *seen;                    /* one per place, kept between calls, initially zero */
    const char *folder;                  /* the place of our own mark: record_folder */
    const char *root, *workspace;
    const char *const *paths;            /* the protected paths */
    Sandbox *sandbox;                    /* its launcher process holds the mark, too */
    Buf *told;
} RecordWork;

/* Before anything may write: records the snapshot of the protected files and marks work as running. *mark is NULL or
 * idle; *protect is NULL or from the last time. *edited gets what the user has changed since, or stays empty. On
 * failure nothing may start. */
bool record_begin(const RecordWork *w, Mark **mark, Protect **protect, Error *edited, Error *err);

/* record_config.c: for a project loaded with -c or --tools, protects the files that it looked at from calls of other processes, too. record_configs: the
 * files recorded for the project at `root` and for those below it, absolute, in `arena`; the caller clears the list. */
typedef VEC(Str) RecordPaths;
bool record_note_config(const char *folder, const Project *p, const char *tools, Error *err);        /* tools: as given with --tools, or NULL */
void record_configs(const RecordPlaces *p, Str root, Arena *arena, RecordPaths *out);
bool record_is_ours(const RecordPlaces *p, size_t i);                    /* any user could have created the folder in
                                                                          * /tmp */

/* Displaced files, in all places. */
void record_displaced(const RecordPlaces *p, DisplacedEach *each, void *ctx);

/* The first writable place outside of the folders in `reach` (absolute, NULL-terminated), created if missing; NULL with
 * *err: none. */
const char *record_folder(const RecordPlaces *p, const char *const *reach, Error *err);
