/* The keyboard: the terminal's modes, and the keys that were typed before a prompt reads them. A process has one terminal,
 * so the state is global.
 *
 * Between keys_open and keys_close keys are not echoed and are available at once; Ctrl-C and Ctrl-Z stay signals. The
 * previous modes are restored at keys_close, while the process is stopped (Ctrl-Z), and when a signal ends it. */
#pragma once
#include "base/cancel.h"
#include "base/str.h"

enum { KEYS_TYPED_MAX = 1 << 20 };

/* Calls nest; `fd` of the outermost one counts. `keep`: until its keys_close, keys that were typed early are kept for
 * keys_take, instead of being dropped when a question begins. False: `fd` is not a terminal; then do not call keys_close. */
bool keys_open(int fd, bool keep);
void keys_close(bool keep);

/* While the agent works: a thread reads keys into the buffer if they are kept, so that the terminal's queue cannot fill up
 * (a full queue takes no Ctrl-C either). */
void keys_collect(bool on);
/* Call these before and after reading from the terminal: stops the thread, and keeps or drops keys typed before. */
void keys_ask(int fd);
void keys_answered(void);
void keys_drain(int fd);                 /* between the two, before a question is repeated: keeps or drops keys typed until now */

/* For the line editor, which sets modes of its own. */
void keys_editing(bool on);
bool keys_continued(void);               /* true once after the process was stopped and continued */
size_t keys_take(char *out, size_t n);   /* keys that were kept; 0: none */

/* Before the process ends without keys_close. */
void keys_restore(void);
