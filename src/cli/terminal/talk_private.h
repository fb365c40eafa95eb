/* The parts of a conversation: talk.c (the loop), talk_commands.c (/help …), talk_info.c, talk_undo.c, talk_resume.c, talk_attach.c. */
#pragma once
#include "cli/terminal/interrupt.h"
#include "cli/terminal/talk.h"

/* A command that is being executed. */
typedef struct Doing {
    Talk *t;
    Str rest;                            /* its arguments */
    Buf out;                             /* shown on standard error at the end; text from outside is escaped already */
    Buf *say;                            /* a message to send to the agent afterwards; empty: none */
    bool typed;                          /* that message is the user's own text: @path in it names a file */
    bool *leave;
    size_t width;                        /* columns of the terminal */
} Doing;

/* talk_commands.c: executes a line that starts with "/". True: `say` is the user's own text, in which @path names a file. */
bool talk_command(Talk *t, Str line, Buf *say, bool *leave);
void talk_complete(void *talk, Str before, LineWords *words, size_t *typed);
void talk_show(Doing *d);                                    /* writes d->out now */
bool talk_fail(const Talk *t, const Error *err);             /* an error line; always false */
/* "  NAME  TEXT", cut to the width; in a narrow terminal the text has a line of its own. `column`: where the text starts. */
void talk_row(Doing *d, size_t column, Str name, Str text);
/* Shows a question and reads a line. True: the answer is yes. *answered: false after Ctrl-C, and for anything that is neither yes nor no. */
bool talk_yes(const Talk *t, Str question, bool *answered);

/* Ctrl-C handling and the live line around work that is not an answer. */
typedef struct Busy { Cancel *cancel; Interrupt *interrupt; } Busy;
void talk_busy(const Talk *t, Busy *b, Str what);
void talk_ready(const Talk *t, Busy *b);

/* talk_info.c */
void talk_tools(Doing *d);
void talk_hooks(Doing *d);
void talk_context(Doing *d);
void talk_cost(Doing *d);
void talk_model(Doing *d);
/* talk_undo.c */
void talk_undo(Doing *d);
/* talk_resume.c */
void talk_resume(Doing *d);
void talk_reload(Doing *d);

/* talk_attach.c */
/* Attaches every file that `text` names with @path, and shows the outcome for each. False: the journal cannot be written (*err). */
bool talk_attach(const Talk *t, Str text, Error *err);
/* !cmd: a call of bash, shown to the user and sent to the agent with the next message. False as above. */
bool talk_shell(const Talk *t, Str command, Error *err);
/* Completes the @path at the end of `before`; false: there is none. For talk_complete. */
bool talk_complete_path(const Talk *t, Str before, LineWords *words, size_t *typed);
