/* The user at the terminal, asked on /dev/tty whatever standard input and output are. */
#pragma once
#include "cli/cli.h"
#include "tool/runtime.h"

typedef struct Terminal Terminal;

/* NULL when no terminal is available. Opens /dev/tty, so call it before the program restricts itself. */
Terminal *confirm_terminal_open(const Cli *cli);
void confirm_terminal_close(Terminal *t);          /* NULL is fine */
Person confirm_terminal_person(Terminal *t);       /* for NULL: no user */
/* Shows text, which must be safe to show. */
void confirm_terminal_say(Terminal *t, Str text);
/* Shows `text` and reads one line. False: no answer (end of file, Ctrl-C, a deadline). `cancel` may be NULL. */
bool confirm_terminal_question(Terminal *t, Str text, Cancel *cancel, Buf *answer);
