/* Reading lines from a person: with editing, history and completion where standard input and standard error are
 * a terminal and libedit can be loaded (on first use); otherwise plainly, line by line. What is shown while
 * editing goes to standard error. */
#pragma once
#include "base/str.h"
#include "base/vec.h"

typedef struct LineEdit LineEdit;
typedef VEC(char *) LineWords;           /* each malloc'ed */

typedef struct LineEditConfig {
    const char *history;                 /* file to load and save; NULL: none. Trouble with it is silent */
    /* Finds the words that may stand where `before`, the line up to the cursor, ends, and tells in *typed how many
     * bytes of them are there already. NULL: no completion. */
    void (*complete)(void *ctx, Str before, LineWords *words, size_t *typed);
    void *ctx;
    bool paste;                          /* several lines that are pasted at once are one line, with "\n" inside */
} LineEditConfig;

LineEdit *lineedit_new(const LineEditConfig *config);
void lineedit_free(LineEdit *e);                         /* saves the history */
bool lineedit_terminal(const LineEdit *e);               /* is a person there? If not, no prompt is shown */

/* Appends the next line, with its newline, to `out`. LINE_INTERRUPTED: a signal whose handler does not restart
 * system calls came; what was typed of the line is dropped. */
typedef enum { LINE_READY, LINE_INTERRUPTED, LINE_END } LineRead;
LineRead lineedit_read(LineEdit *e, const char *prompt, Buf *out);
