/* Where it is on record what is at work (sandbox/mark.h): beside the state that HARNESS_STATE or a flag names; else in the user's state folder; where
 * there is none, or it cannot be written, in a private folder in /tmp. The folder in /tmp is looked at in that case alone: a tool that may write /tmp could
 * make one.
 *
 * Every project is loaded through record_load, and nothing that may write its files begins without record_begin. So one place decides which content of
 * a project's files counts. */
#pragma once
#include <time.h>
#include "artifact/project.h"
#include "sandbox/displaced.h"
#include "sandbox/mark.h"
#include "sandbox/protect.h"
#include "sandbox/sandbox.h"

enum { RECORD_FOLDERS = 2 };
typedef struct RecordPlaces { char *at[RECORD_FOLDERS]; } RecordPlaces;      /* the better one first; NULL: not possible here */

void record_places(const char *state, RecordPlaces *out);       /* state: as given by a flag; NULL: the environment says */
void record_places_clear(RecordPlaces *p);

typedef struct RecordDoor {
    const RecordPlaces *places;
    bool reading;                        /* changes nothing on the disk: files that calls changed are loaded as they were before */
    MarkAsk *ask;                        /* a person who can say what to do with such files; NULL: they are put back */
    void *ask_ctx;
    Buf *told;                           /* gets sentences for a person, one a line */
} RecordDoor;

/* project_load(), after what calls left that did not end in good order was put back. Files that a call in another process could write meanwhile are
 * loaded as they were when that call began. False with problems and err->kind ERR_NONE: the project is not valid; with *err: nothing may be loaded. */
bool record_load(const RecordDoor *door, const ProjectInput *in, Project **out, Problems *problems, Error *err);

/* What waits for a person in the project at `root`: files that changed while a call could write them, and that nobody has put back or kept yet. Changes
 * nothing. `told` gets sentences, `diff` the differences. */
bool record_waiting(const RecordPlaces *p, const char *root, Buf *told, Buf *diff, Error *err);

/* A copy of the folder `from`, which holds the project at `root`, is made by `copy` as the folder `to`, without .git. What a call in another process could write
 * meanwhile is then put right in the copy. `to` must be a place that no such call can reach. */
typedef bool RecordCopy(void *ctx, Error *err);
bool record_copy(const char *root, const char *from, const char *to, RecordCopy *copy, void *ctx, Error *err);

/* A folder of marks when it was last looked at and held no other mark of the project. Marks come and go by name, so a folder with the same time has none yet. */
typedef struct RecordSeen { bool none; struct timespec changed; } RecordSeen;

typedef struct RecordWork {
    const RecordPlaces *places;
    RecordSeen *seen;                    /* one for each place, kept from one time to the next, zeroed before the first */
    const char *folder;                  /* the place for our own mark: record_folder */
    const char *root, *workspace;
    const char *const *paths;            /* protected */
    Sandbox *sandbox;                    /* whose launcher holds the mark too */
    Buf *told;
} RecordWork;

/* Before anything may write: the snapshot of the protected files is on record, and the mark is busy. *mark is NULL or one that is idle, *protect NULL
 * or what was taken when it was busy last. *edited gets what a person has changed since, or stays empty. On failure nothing may begin. */
bool record_begin(const RecordWork *w, Mark **mark, Protect **protect, Error *edited, Error *err);

/* record_config.c: the project was loaded with -c or --tools, and what it looked at is protected from other processes' calls too. record_configs: what was
 * noted of the project at `root` and of those below it, absolute, in `arena`; the caller clears the list. */
typedef VEC(Str) RecordPaths;
bool record_note_config(const char *folder, const Project *p, const char *tools, Error *err);        /* tools: as given with --tools, or NULL */
void record_configs(const RecordPlaces *p, Str root, Arena *arena, RecordPaths *out);
bool record_is_ours(const RecordPlaces *p, size_t i);                    /* in /tmp anybody could have made the folder */

/* What was displaced, in all places. */
void record_displaced(const RecordPlaces *p, DisplacedEach *each, void *ctx);

/* The first place that can be written and lies in none of the folders in `reach` (absolute, up to NULL), made; NULL with *err: none. */
const char *record_folder(const RecordPlaces *p, const char *const *reach, Error *err);
