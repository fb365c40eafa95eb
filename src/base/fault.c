#include "base/fault.h"

#ifdef HARNESS_FAULTS
#include <signal.h>

/* Per thread, so that a sweep in one test thread does not affect another. Besides the random keys, the only mutable
 * global, and only in test builds. */
static _Thread_local long steps_left;
static _Thread_local bool reached, kills;

void fault_arm(long nth) {
    steps_left = nth;
    reached = kills = false;
}

void fault_arm_kill(long nth) {
    fault_arm(nth);
    kills = true;
}

bool fault_disarm(void) {
    steps_left = 0;
    return reached;
}

bool fault_hit(void) {
    if (steps_left == 0 || --steps_left > 0)
        return false;
    if (kills)
        raise(SIGKILL);
    return reached = true;
}
#endif
