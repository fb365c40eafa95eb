/* Ctrl-C, SIGTERM and other terminating signals during work: the first fires a token, so that everything ends properly.
 * A second one kills all processes of calls, verifies the protected files, and exits. SIGHUP counts once: the kernel may send it repeatedly, when a
 * terminal closes, or, as PR_SET_PDEATHSIG, for each thread of a parent that dies. */
#pragma once
#include "base/cancel.h"
#include "tool/runtime.h"

typedef struct Interrupt Interrupt;

/* Starts a thread. NULL on failure: then a signal ends the program as usual. */
Interrupt *interrupt_start(Cancel *cancel);
/* Text written to standard error when a second signal ends the program; borrowed until interrupt_stop. `i` may be
 * NULL. */
void interrupt_last_words(Interrupt *i, const char *text);
/* Called on a second signal, in another thread, before the program exits. `i` may be NULL. */
typedef void InterruptLast(void *ctx);
void interrupt_last(Interrupt *i, InterruptLast *last, void *ctx);
void interrupt_runtime(Interrupt *i, Runtime *rt);       /* calls runtime_abandon() for this one; may be NULL */
/* Stops watching and returns the signal received; 0: none. NULL is fine. */
int interrupt_stop(Interrupt *i);
bool interrupt_ended(void);                              /* true after a signal other than Ctrl-C: the program should end, not only the work */

/* Ctrl-C at a prompt: the second one within two seconds leaves, unless something was typed in between. Zero-initialise; reset it when a line was
 * entered. Call it for each Ctrl-C, also for one that has stopped a step. `typed`: the prompt had text. */
typedef struct InterruptTwice { int64_t last_ns; } InterruptTwice;
bool interrupt_again(InterruptTwice *t, bool typed);
