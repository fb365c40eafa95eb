/* A command that may go on after the program has returned: it works in a child, and the program that was started waits only until
 * the child says that its caller need not. */
#pragma once
#include "cli/cli.h"

typedef struct Apart { int tell, null; } Apart;          /* -1: it is not apart */

/* Before any thread. In the child false: it goes on, and returns its status as if there were no parent. In the parent true, with
 * the child's status, once that has ended or let go; also when there could be no child. */
bool apart_start(Apart *a, Cli *cli, int *status);
/* In the child: the caller gets `status` now. Lets go of terminal and standard files. */
void apart_leave(Apart *a, int status);
void apart_end(Apart *a);
