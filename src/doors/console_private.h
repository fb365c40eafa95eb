/* Private to the files of the console. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include "base/sha256.h"
#include "base/vec.h"
#include "doors/console.h"
#include "value/json.h"

enum {
    CONSOLE_BODY_MAX = 1 << 20,
    CONSOLE_ID_MAX = 100,                /* bytes of an id in a path */
    CONSOLE_STREAMS_MAX = 32,
    CONSOLE_CHILDREN_MAX = 8,            /* that a request waits for, at the same time */
    CONSOLE_JOBS_MAX = 64,               /* of which at most CONSOLE_JOBS_RUNNING run */
    CONSOLE_JOBS_RUNNING = 8,
    CONSOLE_OUTPUT_MAX = 16 << 20,       /* of a process that a request waits for */
    CONSOLE_TAIL_MAX = 64 << 10,         /* of the output of a job */
};

typedef struct ConsoleStreams ConsoleStreams;
typedef struct ConsoleJobs ConsoleJobs;

typedef struct Console {
    const ConsoleConfig *config;
    HttpServer *net;
    Scheduler *scheduler;
    HttpGateRates *rates;                /* only used by the epoll thread */
    uint8_t token[SHA256_BYTES];           /* its hash */
    Buf by;                              /* who answers: "console, uid 1000" */
    Cancel *stop;
    ConsoleStreams *streams;
    ConsoleJobs *jobs;
    atomic_int children;
} Console;

/* One request below /api/, while its handler runs. */
typedef struct ConsoleCall {
    Console *console;
    HttpServerRequest *q;
    Str part[2];                         /* what the stars of the path stand for */
    Heap *heap;
    Value body;                          /* of a POST: a dict */
} ConsoleCall;

/* ---- console_reply.c ---- */
void console_reply(ConsoleCall *c, int status, Buf *json_take);
void console_fail(ConsoleCall *c, const Error *err);                          /* with the status of its kind */
void console_fail_with(ConsoleCall *c, int status, const Error *err);
void console_fail_text(HttpServerRequest *q, int status, ErrorKind kind, const char *message, const char *hint, const HttpServerHeader *more);
void console_error_json(Buf *out, const Error *err);                         /* {"kind":…}, as every --json error has */
bool console_read_body(ConsoleCall *c, Error *err);
/* A member of the body: text, or absent ("at" NULL). ERR_VALIDATION: not text, or over `max` bytes. */
bool console_body_text(ConsoleCall *c, const char *key, size_t max, Str *out, Error *err);
bool console_body_int(ConsoleCall *c, const char *key, int64_t min, int64_t max, int64_t *out, Error *err);   /* absent: unchanged */
bool console_body_known(ConsoleCall *c, const char *const *known, Error *err);                                /* no other keys */
/* A number of the query from min to max; absent: unchanged. */
bool console_query_int(ConsoleCall *c, const char *name, int64_t min, int64_t max, int64_t *out, Error *err);
void console_add_member(Buf *out, const char *key, Str text);                 /* ,"key":"text" */

/* ---- console_page.c ---- */
/* Answers if a file of the page has this path. */
bool console_page(HttpServerRequest *q, Str path);

/* ---- console_runs.c ---- */
void console_runs(ConsoleCall *c);
void console_run(ConsoleCall *c);
void console_events(ConsoleCall *c);
void console_artifacts(ConsoleCall *c);
void console_artifact(ConsoleCall *c);
void console_calls(ConsoleCall *c);
/* The run of the path, in any state: false if there is none, and the request is answered. */
bool console_find_run(ConsoleCall *c, Buf *status);

/* ---- console_spans.c ---- */
void console_spans(ConsoleCall *c);

/* ---- console_dialogs.c ---- */
void console_dialogs(ConsoleCall *c);
void console_dialog_answer(ConsoleCall *c);
struct StoreDialog;
bool console_dialog_shown(Store *s, const struct StoreDialog *d);              /* its process waits for it, and it has not expired */

/* ---- console_control.c ---- */
void console_approvals(ConsoleCall *c);
void console_approval(ConsoleCall *c);
void console_approve(ConsoleCall *c);
void console_deny(ConsoleCall *c);
void console_cancel(ConsoleCall *c);
void console_say(ConsoleCall *c);
/* As `harness approvals --json` prints it, with what a terminal shows of the call: the rendered command, or a diff. */
void console_question_json(Store *s, const StoreApproval *a, Buf *out);

/* ---- console_stream.c ---- */
ConsoleStreams *console_streams_new(Console *console, Error *err);           /* NULL on failure */
void console_streams_stop(ConsoleStreams *s);                                /* ends all streams and the thread; NULL is fine */
void console_streams_free(ConsoleStreams *s);
void console_stream(ConsoleCall *c);
void console_streams_changed(ConsoleStreams *s);                             /* this process wrote to the store */
void console_streams_job(ConsoleStreams *s, Str json);                       /* sends the event `job` */

/* ---- console_child.c ---- */
typedef struct ConsoleChild {            /* zero-initialise, console_child_clear at the end */
    const char *argv[32];                /* after the program's name, which console_child_run adds; NULL ends them */
    Str input;
    int64_t timeout_ms;
    Buf out, err;
    int status;                          /* of its end; 128 + the signal that ended it */
} ConsoleChild;
/* Runs this program with those arguments in the project's folder. Waits for its end, as long as the client is there. ERR_LIMIT: too many at once, or
 * too much output. ERR_TIMEOUT, ERR_CANCELLED: it was killed, with all processes of its group. */
bool console_child_run(ConsoleCall *c, ConsoleChild *child, Error *err);
void console_child_clear(ConsoleChild *child);
bool console_child_start(Console *console, const char *const *argv, int *pid, int *in, int *out, int *err_fd, Error *err);
bool console_child_error(ConsoleCall *c, const ConsoleChild *child, Error *err);      /* true: it printed an error as JSON, which *err is now */
bool console_child_explain(const ConsoleChild *child, Error *err);          /* it printed no JSON: what it said last is the reason. Always false */
void console_child_kill(int pid);                                            /* its group */
bool console_child_ended(int pid);                                           /* and console_child_reap has not been called */
int console_child_reap(int pid);                                             /* kills its group, waits for its end, returns its status as above */

/* ---- console_jobs.c ---- */
ConsoleJobs *console_jobs_new(Console *console);
void console_jobs_free(ConsoleJobs *j);                                      /* kills those that run; NULL is fine */
void console_jobs_list(ConsoleCall *c);
void console_job(ConsoleCall *c);
void console_job_stop(ConsoleCall *c);
void console_resume(ConsoleCall *c);
void console_fork(ConsoleCall *c);

/* ---- console_project.c ---- */
void console_about(ConsoleCall *c);
void console_tools(ConsoleCall *c);
void console_policy(ConsoleCall *c);
void console_project(ConsoleCall *c);
void console_trust(ConsoleCall *c);
void console_models(ConsoleCall *c);
void console_servers(ConsoleCall *c);
void console_call(ConsoleCall *c);

/* ---- console_simulate.c ---- */
void console_simulate(ConsoleCall *c);

/* ---- console_files.c ---- */
void console_files(ConsoleCall *c);
void console_file(ConsoleCall *c);
void console_test(ConsoleCall *c);

/* ---- console_cost.c ---- */
void console_cost(ConsoleCall *c);
void console_decisions(ConsoleCall *c);
/* Appends the list of guarded agents, from the newest decisions. */
bool console_guarded(Store *s, Buf *out, Error *err);
