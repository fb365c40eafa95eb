/* What a person sees while an agent works: the answer as it is made, a line for each tool, and, on a terminal, a live line
 * that says what runs and for how long.
 *
 * The live line stands alone on the terminal's last line and is erased before anything else is written; while an answer
 * is in the middle of a line there is none. It is cut to the width that the terminal has at that moment. */
#pragma once
#include "agent/session.h"
#include "cli/cli.h"

typedef struct Show Show;

Show *show_new(Cli *cli);
void show_free(Show *s);                             /* NULL is fine */
bool show_streams(const Show *s);                    /* does the answer appear while it is made? (standard output is a terminal, not --json) */
SessionWatch show_watch(Show *s);
/* `inner`, asked while the live line is away; its progress becomes part of the live line. */
Person show_person(Show *s, Person inner);

void show_begin(Show *s, Str model);                 /* work begins */
void show_end(Show *s);                              /* it has ended: the cursor stands at the start of a line */
