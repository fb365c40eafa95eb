/* The process between the launcher and the program of one call: prepares and starts it, handles its filtered calls, and
 * ends everything it left behind. */
#pragma once
#include "sandbox/request.h"
#include "sandbox/userns.h"

struct Public;

typedef struct SupervisorJob {
    const Request *request;
    int channel, stream[3];
    int base;                           /* the folder of private folders */
    int scratch;                        /* the call's private folder, open */
    const char *scratch_name, *scratch_path;
    const int *held;                    /* marks: kept open as long as any process of the call may live */
    size_t n_held;
    const struct Public *open_to_all;   /* NULL: all of /etc and /opt may be read, as far as the user may */
    int ruleset;                        /* from prepare_ruleset(); -1: to be created */
    bool isolated;                      /* in its own mount and IPC namespace */
    bool own_processes;                 /* and process namespace */
    const UsernsMaps *maps;             /* in its own user namespace, whose maps are still to be written; NULL: none */
} SupervisorJob;

enum { SUPERVISOR_GRACE_MS = 2000 };

_Noreturn void supervisor_run(const SupervisorJob *job);
