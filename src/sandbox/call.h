/* The harness side of one call: makes the request, sends it, and listens to the supervisor. Behind sandbox_run() and
 * sandbox_spawn(). */
#pragma once
#include <pthread.h>
#include "sandbox/filter.h"
#include "sandbox/request.h"
#include "sandbox/sandbox.h"

/* `filters` are built on first use, under `lock`, and stay as they are until the end. */
struct Sandbox {
    int socket;
    pid_t launcher;
    pthread_mutex_t lock;
    Filter filters[FILTER_VARIANTS];
};

/* Sends the call with these three streams, which stay the caller's. *channel: the supervisor's messages arrive there.
 * tell_start: one of them tells that the program runs. */
bool call_send(Sandbox *s, const SandboxRules *rules, const SandboxCommand *command, const int stream[3], bool tell_start,
               int64_t deadline_ns, int *channel, Error *err);
/* One message. 1: `reply` and `text` (REPLY_TEXT_MAX bytes) hold it; 0: nothing there yet; -1: the other side is gone. *view:
 * set by a REPLY_STARTED to the root of the program's view of the file system, to be closed by the caller, if it has private mounts. NULL is
 * fine. */
int call_receive(int channel, Reply *reply, char *text, int *view);
bool call_end(int channel, int64_t grace_ms);          /* asks the supervisor to end it all */
bool call_failed(const Reply *reply, const char *text, Error *err);    /* false with what a REPLY_FAILED or REPLY_LOST says */
int call_exit_code(int status, int *signal);           /* as a shell counts; signal: 0 when it exited by itself */
bool call_has_mounts(const SandboxRules *rules);       /* do calls with these rules get private mounts on this kernel? */
/* The filter that these rules need on this kernel. */
unsigned call_filter_variant(const SandboxRules *rules, bool explain);
