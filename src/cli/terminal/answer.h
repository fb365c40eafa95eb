/* Reads the answer to a question from the terminal, which is in the modes of keys_open: shows what is typed, and handles
 * Backspace, Ctrl-U and Ctrl-W. Pasted text never sends the answer: its newlines become spaces. Bytes beyond ANSWER_MAX are dropped. */
#pragma once
#include "base/cancel.h"
#include "base/str.h"

enum { ANSWER_MAX = 1000 };              /* so that a paste does not push the question off the screen */

/* Appends one line, without its newline. False: no answer (end of input, Ctrl-C, a deadline). */
bool answer_read(int fd, Cancel *cancel, Buf *out);
