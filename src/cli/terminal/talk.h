/* A conversation in the terminal. */
#pragma once
#include "cli/terminal/lineedit.h"
#include "cli/terminal/show.h"

typedef struct Talk {
    Cli *cli;
    Session *session;
    Show *show;
    bool kept;                           /* the run is in the store: it can be resumed */
} Talk;

/* Runs the conversation until EOF or /quit and returns the exit status. Without a terminal, each input line is a
 * message. */
int talk(const Talk *t);

/* One answer, with Ctrl-C handling: to `text`, or if it is empty, the answer that a resumed run still owes. Shows and
 * prints everything; *status is the reply's. False: the journal cannot be written (*err). */
bool talk_answer(const Talk *t, Str text, RunStatus *status, Error *err);

/* talk_commands.c: true if it was a command (/help …), which was executed. *say: text to send instead (a prompt of the
 * project). */
bool talk_command(const Talk *t, Str line, Buf *say, bool *leave);
void talk_complete(void *talk, Str before, LineWords *words, size_t *typed);
