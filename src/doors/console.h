/* `harness console`: a page in the browser that shows the runs of a project, and the JSON API behind it (docs/reference/console-api.md).
 *
 * It reads the store, and writes only answers to questions and dialogs, commands to runs, and that a page is open. It executes nothing itself: calls, resumed
 * and forked runs are other processes of this program, which check trust and policy as they do at a terminal.
 *
 *   console.c          the server, the gate, the table of paths
 *   console_reply.c    responses, errors, the body of a request
 *   console_page.c     the files of the page, which are compiled in
 *   console_runs.c     runs, events, artifacts      console_spans.c   the waterfall of a run
 *   console_control.c  approvals, cancel, say       console_dialogs.c what bridge tools show
 *   console_stream.c   server-sent events; tells runs that a page is open
 *   console_child.c    other processes              console_jobs.c    those in the background
 *   console_project.c  what other commands print, calls               console_files.c  its files, tests that are saved
 *   console_cost.c     costs, decisions             console_simulate.c  the simulator: simulate.h */
#pragma once
#include "base/cancel.h"
#include "base/log.h"
#include "net/http_gate.h"
#include "store/store.h"

typedef struct ConsoleConfig {
    HttpGateNames names;                 /* address: where it listens */
    uint16_t port;                       /* 0: any free one */
    Str token;                           /* of every request below /api/ */
    Str root;                            /* the project's folder */
    const char *config;                  /* the project file given by -c; NULL: none */
    Store *store;                        /* outlives the server */
    Store *decisions;                    /* of guard: the state file, also if `store` is a database; may be the same */
    const char *version;
    const Log *log;
    void (*bound)(void *ctx, uint16_t port);     /* called once it listens */
    void (*hide)(void *ctx, Buf *json);          /* masks credentials in a response, as the program does in what it prints; thread-safe */
    void *ctx;
} ConsoleConfig;

/* Serves until `stop` fires, then ends the processes that it started. */
bool console_serve(const ConsoleConfig *config, Cancel *stop, Error *err);
