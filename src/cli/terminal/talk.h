/* A conversation in the terminal. */
#pragma once
#include "artifact/problem.h"
#include "cli/terminal/confirm_terminal.h"
#include "cli/terminal/lineedit.h"
#include "cli/terminal/show.h"

typedef struct Talk {
    Cli *cli;
    Session *session;                    /* /resume and /reload replace it */
    Show *show;
    bool kept;                           /* the run is in the store: it can be resumed */
    Terminal *terminal;                  /* asks the user; NULL: none */
    /* Continues the run `id` instead, or this run with the project's files loaded again. On failure the conversation stays as it is; problems of the
     * project are added to `problems`. reload: *session is NULL if the run could not be continued at all. NULL: not available. */
    bool (*resume)(void *owner, Str id, Session **session, Error *err);
    bool (*reload)(void *owner, Session **session, Problems *problems, Error *err);
    void *owner;
} Talk;

/* Runs the conversation until EOF or /quit and returns the exit status. Without a terminal, each input line is a
 * message. */
int talk(Talk *t);

/* One answer, with Ctrl-C handling: to `text`, or if it is empty, the unfinished answer of a resumed run. Shows and
 * prints everything; *status is the reply's. False: the journal cannot be written (*err). */
bool talk_answer(const Talk *t, Str text, RunStatus *status, Error *err);
