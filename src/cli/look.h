/* For commands that show what a model would get: the project's conversation, open but never begun. Nothing is stored, and no model is needed. */
#pragma once
#include "agent/session.h"
#include "cli/opening.h"

typedef struct Look { Opening opening; Agents *agents; Session *session; } Look;

/* Of --agent and --model, when the command has them. Exit status, or -1; look_close in any case. */
int look_open(Look *l, Cli *cli);
void look_close(Look *l);
