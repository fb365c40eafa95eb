/* The harness side of one call: builds and sends the request, and reads the supervisor's replies. Used by sandbox_run()
 * and sandbox_spawn(). */
#pragma once
#include <pthread.h>
#include "sandbox/filter.h"
#include "sandbox/request.h"
#include "sandbox/sandbox.h"

/* `filters` are built on first use, under `lock`, and never change afterwards. */
struct Sandbox {
    int socket;
    pid_t launcher;
    pthread_mutex_t lock;
    Filter filters[FILTER_VARIANTS];
};

/* Sends the call with these three streams, which stay the caller's. *channel receives the supervisor's replies.
 * tell_start: one reply reports that the program runs. */
bool call_send(Sandbox *s, const SandboxRules *rules, const SandboxCommand *command, const int stream[3], bool tell_start,
               int64_t deadline_ns, int *channel, Error *err);
/* Receives one reply. 1: in `reply` and `text` (REPLY_TEXT_MAX bytes); 0: none yet; -1: the supervisor is gone. *view:
 * set by REPLY_STARTED to the root of the program's file system, if it has private mounts; the caller closes it. May be
 * NULL. */
int call_receive(int channel, Reply *reply, char *text, int *view);
bool call_end(int channel, int64_t grace_ms);          /* asks the supervisor to end the whole tree */
bool call_failed(const Reply *reply, const char *text, Error *err);    /* false with the error of a REPLY_FAILED or
                                                                        * REPLY_LOST */
int call_exit_code(int status, int *signal);           /* as in a shell; signal: 0 if it exited normally */
bool call_has_mounts(const SandboxRules *rules);       /* true if calls with these rules get private mounts on this kernel */
/* The filter variant for these rules on this kernel. */
unsigned call_filter_variant(const SandboxRules *rules, bool explain);
