/* The harness side of one call: makes the request, sends it, and listens to the supervisor. Behind sandbox_run() and
 * sandbox_spawn(). */
#pragma once
#include <pthread.h>
#include "base/vec.h"
#include "sandbox/filter.h"
#include "sandbox/request.h"
#include "sandbox/sandbox.h"

typedef struct Live Live;

/* `filters` are built on first use, under `lock`, and stay as they are until the end. */
struct Sandbox {
    int socket;
    pid_t launcher;
    pthread_mutex_t lock;
    Filter filters[FILTER_VARIANTS];
    pthread_mutex_t live_lock;          /* of what follows: see live.h */
    pthread_cond_t live_changed;
    VEC(Live *) live;
    uint64_t exposures, settled;        /* programs that ended and could have written a protected path; as many were looked into */
};

/* Sends the call with these three streams, which stay the caller's. *channel: from here on the supervisor is heard there. *live is on the
 * list of live programs, to be ended by the caller. */
bool call_send(Sandbox *s, const SandboxRules *rules, const SandboxCommand *command, const int stream[3], bool tell_start,
               int64_t deadline_ns, int *channel, Live **live, Error *err);
/* One message. 1: `reply` and `text` (REPLY_TEXT_MAX bytes) hold it; 0: nothing there yet; -1: the other side is gone. A message of the
 * start is noted in `live`. */
int call_receive(Live *live, int channel, Reply *reply, char *text);
bool call_end(int channel, int64_t grace_ms);          /* asks the supervisor to end it all */
bool call_failed(const Reply *reply, const char *text, Error *err);    /* false with what a REPLY_FAILED or REPLY_LOST says */
int call_exit_code(int status, int *signal);           /* as a shell counts; signal: 0 when it exited by itself */
bool call_has_mounts(const SandboxRules *rules);       /* do calls with these rules get private mounts on this kernel? */
/* The filter that these rules need on this kernel. */
unsigned call_filter_variant(const SandboxRules *rules, bool explain);
