/* A temporary file in the target folder that replaces the old file when complete. Used by jail_write() and
 * jail_copy(). */
#pragma once
#include <sys/types.h>
#include "sandbox/jail.h"
#include "sandbox/walk.h"

enum { JAIL_TEMP_NAME = 40 };
typedef struct JailTemp { int dir, fd; char name[JAIL_TEMP_NAME]; bool there; uint64_t written; } JailTemp;

void jail_temp_name(char out[static JAIL_TEMP_NAME]);
/* In the folder `dir`, which is borrowed. On failure false with errno, like the others. */
bool jail_temp_open(JailTemp *t, int dir, mode_t mode);
bool jail_temp_write(JailTemp *t, Str bytes);
/* Sets owner and mode of `like`, if not NULL, and syncs. */
bool jail_temp_finish(JailTemp *t, const struct statx *like);
/* Replaces `name`. `fresh`: fails with EEXIST if it exists; `expect`: with ESTALE if it is another file. */
bool jail_temp_place(JailTemp *t, const char *name, bool fresh, const JailStat *expect);
void jail_temp_drop(JailTemp *t);                       /* removes the file if it was not placed; closes; always call
                                                         * it */

bool jail_same(const JailStat *a, const JailStat *b);   /* size, time, inode */
