/* A conversation in the terminal. */
#pragma once
#include "cli/lineedit.h"
#include "cli/show.h"

typedef struct Talk {
    Cli *cli;
    Session *session;
    Show *show;
    bool kept;                           /* the run is in the store: it can be resumed */
} Talk;

/* Until the person leaves, or the input ends. Exit status. Without a person each line of the input is a message. */
int talk(const Talk *t);

/* One answer, with Ctrl-C: what is said, or what a resumed run still has to answer when `text` is empty. Everything is shown and
 * printed; *status is that of the reply. False: the journal cannot be written (*err). */
bool talk_answer(const Talk *t, Str text, RunStatus *status, Error *err);

/* talk_commands.c: is it a command (/help …)? Then it is done. *say: text to be said in its place (a prompt of the project). */
bool talk_command(const Talk *t, Str line, Buf *say, bool *leave);
void talk_complete(void *talk, Str before, LineWords *words, size_t *typed);
