/* What the files behind include/harness.h share. */
#pragma once
#include <pthread.h>
#include "agent/session.h"
#include "base/vec.h"
#include "harness.h"
#include "mcp/servers.h"
#include "tool/kind.h"

typedef struct HarnessNative HarnessNative;          /* a registered function */
void harness_native_free(HarnessNative *n);

struct HarnessRun { Harness *h; Run *run; char *id; };

/* `lock` guards the lists and the first use of `own`; `telling` lets one event through at a time, whatever run it is from. */
struct Harness {
    HarnessConfig config;                /* strings are copies */
    Runtime *rt;
    Agents *agents;
    McpServers *servers;
    pthread_mutex_t lock, telling;
    HarnessRun *own;                     /* for calls without a run; NULL until one comes */
    VEC(HarnessRun *) runs;              /* open ones */
    VEC(Project *) made;                 /* definitions of registered tools */
    VEC(HarnessNative *) natives;        /* what belongs to them */
};

bool harness_error_out(HarnessError *out, const Error *err);           /* always false; out may be NULL */
HarnessRun *harness_own_run(Harness *h, Error *err);                   /* NULL: could not be started */

/* The native tool that this thread is in the middle of, or NULL: a call that it makes in the same run must not wait for it. */
const ToolCallFrame *harness_tool_inside(void);
