/* Parking: a queued run (RunConfig.parks) that waits only for answers of a user gives its process up. It can when every open call is a call of the
 * top-level agent that asks the user, and no background task is running: such calls have not begun, and a resumed run makes them from its journal. A
 * script, a sub-agent or an MCP call on the stack could not be continued: then the process waits.
 *
 * The thread of control.h decides. Then every open call ends without a result and without an event, none can begin, and the caller of the session
 * calls session_park. The questions stay open. */
#pragma once
#include "tool/pipeline/pipe.h"

/* Around every call. False: the run is parked. */
bool park_call_start(Run *r, Error *err);
void park_call_end(Run *r);
bool park_may(const Pipe *p);                            /* true if another process can make this call from the journal */
bool park_try(Run *r, size_t asking);                    /* asking: number of its calls that ask the user and may park. True: it is parked from now on */
/* A call of a parked run that asked this question ends. Always false. */
bool park_leave(Run *r, Str question, Error *err);
