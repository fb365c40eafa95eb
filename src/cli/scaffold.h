/* The files that init and scaffold write. */
#pragma once
#include "base/error.h"
#include "base/vec.h"
#include "base/str.h"

typedef struct ScaffoldFile { const char *path, *text; } ScaffoldFile;
extern const ScaffoldFile scaffold_files[];                        /* scaffold_files.c */
extern const size_t scaffold_count;

/* The outcome for each file, in the order of the table. `kept` is the existing path: the file itself, or for harness.md
 * another project file. */
typedef struct ScaffoldOutcome { const char *created, *kept; } ScaffoldOutcome;

/* Writes missing files below the folder `root_fd`; results in outcome[scaffold_count]. Never changes an existing file,
 * follows no link, and writes files atomically. Checks everything before the first write. After a failure half-way, a
 * second run completes it. */
bool scaffold_write(int root_fd, ScaffoldOutcome *outcome, Error *err);
/* The same for one file: sets outcome->created or outcome->kept. */
bool scaffold_write_one(int root_fd, const ScaffoldFile *file, ScaffoldOutcome *outcome, Error *err);
/* "create PATH: why", from errno; always false. */
bool scaffold_cannot_create(const char *path, Error *err);
