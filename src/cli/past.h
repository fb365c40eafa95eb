/* Earlier runs that a command continues. */
#pragma once
#include "cli/cli.h"
#include "store/store.h"

/* The newest run with a prompt of this project and agent ("": the project's own) that no process is running. ERR_VALIDATION: there is none. */
bool past_last(Store *s, Str root, Str agent, Buf *id, Error *err);
bool past_agent(Store *s, Str run, Buf *agent, Error *err);          /* overwrites *agent */
/* The timeline of the run for a user at a terminal, with its cost. */
bool past_read(const Cli *cli, Store *s, Str run, Buf *out, Error *err);
