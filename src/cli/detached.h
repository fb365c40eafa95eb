/* A command that may continue after the program has returned: it runs in a child process, and the parent waits only
 * until the child detaches or ends. */
#pragma once
#include "cli/cli.h"

typedef struct Detached { int tell, null; } Detached;          /* -1: not detached */

/* Before any thread is started. Child: returns false, continues, and returns its status as if there were no parent.
 * Parent: returns true with the child's status once that has ended or detached; also when the child could not be
 * started. */
bool detached_start(Detached *a, Cli *cli, int *status);
/* In the child: the parent exits with `status` now. Detaches from terminal and standard files. */
void detached_leave(Detached *a, int status);
void detached_end(Detached *a);
