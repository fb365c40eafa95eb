/* Runs in the queue of a database: what `harness run --queue` puts there and `harness worker` reads. */
#pragma once
#include "cli/opening.h"

/* ERR_VALIDATION: a flag that has no effect on a queued run, or one that needs --queue. */
bool queue_check_flags(const Cli *cli, Error *err);
/* queue.workspace: where the files of a queued run are. */
typedef enum { QUEUE_HOST, QUEUE_SHARED, QUEUE_NONE } QueueWorkspace;
QueueWorkspace queue_workspace(const Project *p);
/* Puts a run with this prompt into the queue and prints its id; with --wait, follows it and prints its answer. Exit status. */
int queue_run(Cli *cli, Opening *o, Str prompt);

/* harness runs resume RUN --adopt: lets any host take a stranded run. Exit status. */
int queue_adopt(Cli *cli, const char *run);
/* A warning for each stranded run: where its files are, and what the user can do. Says nothing if the database cannot be read. */
void queue_say_stranded(const Cli *cli, Store *s);

/* What a worker needs to start a run. Texts are in `heap`. */
typedef struct QueueJob { Str prompt, model, effort; int64_t max_turns; const Str *only; size_t n_only; } QueueJob;
bool queue_read_job(Str json, Heap *heap, Arena *arena, QueueJob *out, Error *err);

/* The last turn of the agent that has ended: *some is false if there is none. Texts are in `heap`. */
typedef struct QueueTurn { Str status, response, reason; } QueueTurn;
bool queue_last_turn(Store *s, Str run, Heap *heap, QueueTurn *out, bool *some, Error *err);
