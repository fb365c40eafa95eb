/* Fault injection for tests: "fail the nth step, for every n". Steps that can fail for
 * reasons outside (open, read, write, rename, fork, commit, heap limit) ask fault_hit()
 * first. Compiled in only with HARNESS_FAULTS; otherwise it is constant false. */
#pragma once
#include <stdbool.h>

#ifdef HARNESS_FAULTS
void fault_arm(long nth);                              /* the nth step from now fails, in this thread */
bool fault_disarm(void);                               /* true if that step was reached */
void fault_arm_kill(long nth);                         /* at the nth step from now this process ends as by kill -9 */
bool fault_hit(void);
#else
static inline bool fault_hit(void) { return false; }
#endif
