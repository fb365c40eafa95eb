/* Fault injection for tests: "fail the nth step, for every n". Operations that can fail for external reasons (open,
 * read, write, rename, fork, commit, heap limit) call fault_hit() first. Without HARNESS_FAULTS it is constant
 * false. */
#pragma once
#include <stdbool.h>

#ifdef HARNESS_FAULTS
void fault_arm(long nth);                              /* the nth step from now fails, in this thread */
bool fault_disarm(void);                               /* true if that step was reached */
void fault_arm_kill(long nth);                         /* at the nth step from now the process exits as by kill -9 */
bool fault_hit(void);
#else
static inline bool fault_hit(void) { return false; }
#endif
