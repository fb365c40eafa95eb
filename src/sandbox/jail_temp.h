/* A file in the making: it has a name of its own in the folder where it will be, until it takes the place of the old one.
 * Behind jail_write() and jail_copy(). */
#pragma once
#include <sys/types.h>
#include "sandbox/jail.h"
#include "sandbox/walk.h"

enum { JAIL_TEMP_NAME = 40 };
typedef struct JailTemp { int dir, fd; char name[JAIL_TEMP_NAME]; bool there; uint64_t written; } JailTemp;

void jail_temp_name(char out[static JAIL_TEMP_NAME]);
/* In the folder `dir`, which is borrowed. False with errno, like the others. */
bool jail_temp_open(JailTemp *t, int dir, mode_t mode);
bool jail_temp_write(JailTemp *t, Str bytes);
/* Owner and mode of `like`, if not NULL; on the disk. */
bool jail_temp_finish(JailTemp *t, const struct statx *like);
/* Takes the place of `name`. `fresh`: fails with EEXIST if there is one; `expect`: with ESTALE if that is not it. */
bool jail_temp_place(JailTemp *t, const char *name, bool fresh, const JailStat *expect);
void jail_temp_drop(JailTemp *t);                       /* removes what was not placed, closes; always */

bool jail_same(const JailStat *a, const JailStat *b);   /* size, time, inode */
