/* For commands that show what a model would get: opens the project's conversation without starting it. Stores nothing,
 * and needs no model. */
#pragma once
#include "agent/session.h"
#include "cli/opening.h"

typedef struct Look { Opening opening; Agents *agents; Session *session; } Look;

/* Uses --agent and --model, if the command has them. Exit status, or -1; look_close in every case. */
int look_open(Look *l, Cli *cli);
void look_close(Look *l);
