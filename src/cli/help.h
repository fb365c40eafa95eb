/* Help and usage, generated from the command table. */
#pragma once
#include "base/str.h"
#include "cli/command.h"

void help_program(Buf *out);
void help_command(Buf *out, const Command *c);
void help_group(Buf *out, const char *group);          /* the commands that start with that word */
void help_page(Buf *out);                              /* help_page.c: the whole reference, as Markdown */
