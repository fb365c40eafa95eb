/* Private header of the implementation of include/harness.h. */
#pragma once
#include <pthread.h>
#include "agent/session.h"
#include "base/vec.h"
#include "harness.h"
#include "mcp/remote/remotes.h"
#include "tool/kind/kind.h"

typedef struct HarnessNative HarnessNative;          /* a registered function */
void harness_native_free(HarnessNative *n);

struct HarnessRun { Harness *h; Run *run; char *id; };

/* `lock` protects the lists and the creation of `own`; `telling` serializes events of all runs. */
struct Harness {
    HarnessConfig config;                /* with copies of the strings */
    Runtime *rt;
    Agents *agents;
    McpRemotes *servers;
    pthread_mutex_t lock, telling;
    HarnessRun *own;                     /* for calls without a run; NULL until the first one */
    VEC(HarnessRun *) runs;              /* open ones */
    VEC(Project *) made;                 /* definitions of registered tools */
    VEC(HarnessNative *) natives;        /* their functions and data */
};

bool harness_error_out(HarnessError *out, const Error *err);           /* always false; out may be NULL */
HarnessRun *harness_own_run(Harness *h, Error *err);                   /* NULL if it could not be started */

/* The native tool that is running on this thread, or NULL. A call that it makes in the same run must not wait for
 * it. */
const ToolCallFrame *harness_tool_inside(void);
