/* Reads lines from the user: with editing, history and completion if standard input and standard error are a terminal
 * and libedit can be loaded (on first use); otherwise plainly, line by line. Editing output goes to standard error. */
#pragma once
#include "base/str.h"
#include "base/vec.h"

typedef struct LineEdit LineEdit;
typedef VEC(char *) LineWords;           /* each malloc'ed */

typedef struct LineEditConfig {
    const char *history;                 /* file to load and save; may be NULL. Errors are ignored */
    /* Finds completions for `before`, the line up to the cursor; *typed: how many of their bytes are already typed.
     * NULL: no completion. */
    void (*complete)(void *ctx, Str before, LineWords *words, size_t *typed);
    void *ctx;
    /* Messages of a conversation: Alt-Enter, a "\\" before Enter and pasted text put "\n" into the line. From lineedit_new to
     * lineedit_free keys are not echoed, and those typed between two lines are kept for the next one (keys.h). */
    bool multiline;
} LineEditConfig;

LineEdit *lineedit_new(const LineEditConfig *config);
void lineedit_free(LineEdit *e);                         /* saves the history */
bool lineedit_terminal(const LineEdit *e);               /* true if it is a terminal; otherwise no prompt is shown */

/* Appends the next line, with its newline, to `out`. LINE_INTERRUPTED: a signal whose handler does not restart system
 * calls arrived; the partial line is dropped. */
typedef enum { LINE_READY, LINE_INTERRUPTED, LINE_END } LineRead;
LineRead lineedit_read(LineEdit *e, const char *prompt, Buf *out);
bool lineedit_typed(const LineEdit *e);                  /* true if the line of the last LINE_INTERRUPTED had text */
