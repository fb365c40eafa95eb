/* The names that a shell completes: tools, runs, agents and servers of the project. */
#pragma once
#include "cli/command.h"

#define COMPLETION_KINDS "tools|runs|agents|servers|names"

/* The kind of names that complete the first operand of a command, or the value of a flag; NULL: none. "names" is for harness inspect. */
const char *completion_names_of(const Command *c);
const char *completion_names_of_value(const char *value);

/* Prints the names, one a line. Nothing when the project cannot be loaded: a shell that waits for Tab shows no errors. Exit status. */
int completion_names_print(Cli *cli, const char *kind);
