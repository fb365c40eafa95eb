/* Shows the work of an agent: the streamed answer, a line for each tool, and, on a terminal, a live line with what runs
 * and for how long.
 *
 * The live line is the terminal's last line (screen.h); there is none while an answer is in the middle of a line. It is cut
 * to the current width of the terminal; answers are broken at words to fit it. While work runs, keys are not echoed. */
#pragma once
#include "agent/session.h"
#include "cli/cli.h"

typedef struct Show Show;

Show *show_new(Cli *cli);
void show_free(Show *s);                             /* NULL is fine */
bool show_streams(const Show *s);                    /* true if the answer is shown while it is streamed (standard output is a terminal, without --json) */
SessionWatch show_watch(Show *s);
/* Wraps `inner`: the answer's line ends before a question; progress becomes part of the live line. */
Person show_person(Show *s, Person inner);

void show_begin(Show *s, Str model);                 /* work starts */
void show_end(Show *s);                              /* work has ended: the cursor is at the start of a line */
