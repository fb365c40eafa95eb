/* Ctrl-C, SIGTERM and the other signals that end a program, while work goes on: the first fires a token, so that everything ends in good order. A
 * second one kills all that calls have started, compares the protected files, and ends the program. */
#pragma once
#include "base/cancel.h"
#include "tool/runtime.h"

typedef struct Interrupt Interrupt;

/* Starts a thread. NULL when that cannot be done: then a signal ends the program as before. */
Interrupt *interrupt_start(Cancel *cancel);
/* What is written to standard error when a second one ends the program; borrowed until interrupt_stop. NULL is fine for `i`. */
void interrupt_last_words(Interrupt *i, const char *text);
/* What is done when a second one comes, in another thread, before the program ends. NULL is fine for `i`. */
typedef void InterruptLast(void *ctx);
void interrupt_last(Interrupt *i, InterruptLast *last, void *ctx);
void interrupt_runtime(Interrupt *i, Runtime *rt);       /* runtime_abandon() of this one; NULL: of none */
/* Which signal came; 0: none. Ends the watching. NULL is fine. */
int interrupt_stop(Interrupt *i);
