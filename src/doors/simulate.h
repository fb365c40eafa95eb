/* The simulator of policies: recorded calls, judged by the project as it is and by a draft of its files (`harness simulate`, docs/console.md).
 *
 * Every call goes through the steps of the pipeline that decide (tool/pipeline/judge.h), once for each of the two projects; a call of another agent goes
 * through those of `harness guard` (guard/recorded.h), with the machine's and the user's guard.md. Nothing has an effect: no
 * program is started, no host reached, no server asked, nothing is stored, and the process can write no file meanwhile. The draft is loaded
 * from memory. It may ask for nothing that the project is not trusted with.
 *
 *   simulate.c          the two projects, the calls, the answer      simulate_request.c  the request
 *   recorded.h          calls of a stored run                        policy_files.h      what a draft may replace
 *   simulate_guarded.c  calls of other agents */
#pragma once
#include "tool/runtime.h"

enum {
    SIMULATE_CALLS_MAX = 1000,
    SIMULATE_ARGS_MAX = 8 << 20,         /* bytes of all arguments; the calls beyond are left out */
    SIMULATE_REQUEST_MAX = 1 << 20,
    SIMULATE_SECONDS = 20,
};

/* `request`: {"files": {PATH: TEXT or null}, "limit": N}, both optional; null removes the file. Without files, `before` is what was recorded. `project`:
 * its folder, and what decides about trust. Appends the answer, as docs/reference/console-api.md describes it. A draft that does not load is
 * an answer with problems. ERR_VALIDATION: the request; ERR_POLICY: the project is not trusted; ERR_TIMEOUT: SIMULATE_SECONDS passed.
 * Restricts the process (sandbox/domain.h), so no other thread may run. */
bool simulate_run(const RuntimeConfig *project, const char *version, Str request, Buf *out, Error *err);
