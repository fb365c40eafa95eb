/* The process between the launcher and the program of one call: prepares it, starts it, answers what it asks, and ends
 * everything it left behind. */
#pragma once
#include "sandbox/request.h"
#include "sandbox/userns.h"

struct Public;

typedef struct SupervisorJob {
    const Request *request;
    int channel, stream[3];
    int base;                           /* the folder of private folders */
    int scratch;                        /* the call's own, open */
    const char *scratch_name, *scratch_path;
    const int *held;                    /* marks: open as long as anything of the call may live */
    size_t n_held;
    const struct Public *open_to_all;   /* NULL: all of /etc and /opt may be read, as far as the user may */
    int ruleset;                        /* by prepare_ruleset(); -1: to be made */
    bool isolated;                      /* in a mount and IPC namespace of its own */
    bool own_processes;                 /* in a process namespace too */
    const UsernsMaps *maps;             /* they are in a user namespace of its own, which still needs these; NULL: in none */
} SupervisorJob;

enum { SUPERVISOR_GRACE_MS = 2000 };

_Noreturn void supervisor_run(const SupervisorJob *job);
