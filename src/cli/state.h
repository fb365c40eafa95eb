/* Opens the stored runs and questions of the project, for commands that show them. */
#pragma once
#include "cli/report.h"
#include "store/store.h"

typedef struct State { Store *store; Project *project; } State;

bool state_open(Cli *cli, State *out);                   /* false: reported; the command returns CLI_FAILED */
void state_close(State *s);

enum { STATE_SHORT_ID = 8 };
Str state_short_id(Str run);                             /* its end: ids of one day have the same beginning */
/* 90s, 15m, 12h, 7d, in nanoseconds. `flag` is for the message. */
bool state_read_age(const char *flag, const char *text, int64_t *ns, Error *err);
