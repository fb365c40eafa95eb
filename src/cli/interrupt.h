/* Ctrl-C, SIGTERM and SIGHUP while work goes on: the first fires a token, so that everything ends in order; a second one ends the
 * program at once (the sandbox ends what is left of its children). */
#pragma once
#include "base/cancel.h"

typedef struct Interrupt Interrupt;

/* Starts a thread. NULL when that cannot be done: then a signal ends the program as before. */
Interrupt *interrupt_start(Cancel *cancel);
/* What is written to standard error when a second one ends the program; borrowed until interrupt_stop. NULL is fine for `i`. */
void interrupt_last_words(Interrupt *i, const char *text);
/* Which signal came; 0: none. Ends the watching. NULL is fine. */
int interrupt_stop(Interrupt *i);
