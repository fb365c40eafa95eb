/* queue.workspace: none. Queued runs have no files, so no tool of the project may read or write files or start programs. */
#pragma once
#include "artifact/project.h"

/* Adds an error for each tool, built-in tool and server program that could, and for meta.enabled. False: it added one. True without checks if the project
 * has another queue.workspace. */
bool queue_tools_check(const Project *p, Problems *problems);
