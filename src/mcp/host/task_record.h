/* The record of a task; shared by mcp/host/tasks.c (the client's side) and task_call.c (the call's side). */
#pragma once
#include "base/vec.h"
#include "mcp/host/input.h"
#include "mcp/host/host_private.h"
#include "mcp/host/tasks.h"

typedef enum { TASK_WORKING, TASK_INPUT_REQUIRED, TASK_COMPLETED, TASK_FAILED, TASK_CANCELLED } McpTaskStatus;
enum { TASK_RECORDS_MAX = 1024, TASK_TTL_MS = 3600000, TASK_TTL_MOST_MS = 86400000, TASK_POLL_MS = 500, TASK_ID_SIZE = 33,
       TASK_BYTES_MAX = 64 << 20 };      /* of stored results: at this size, no new task starts */

/* In the peer's list from before its call starts until its TTL expires. Guarded by the list's lock, except for members
 * set once. */
struct McpTask {
    InputWay way;                        /* must be first: questions of the task are cast from it */
    McpTask *next;
    McpPeer *peer;
    PeerRun *run;                        /* a user until it has ended */
    McpVersion version;
    const ToolEntry *tool;
    bool offered[3];                     /* by InputKind: what the client supported when it called */
    char id[TASK_ID_SIZE];
    int64_t created_ns, ttl_ms;
    Person person;
    pthread_mutex_t asking;              /* serializes questions */

    char inner[64];                      /* its id in the run; empty: not started */
    McpTaskStatus status;
    bool at_work;                        /* its thread has not ended */
    int waiting;                         /* threads that wait for its result */
    bool cancelled;                      /* by the client */
    int64_t updated_ns;
    char message[200];                   /* statusMessage; "" none */
    Buf result;                          /* members of the result, as JSON */
    char error[ERROR_MSG_MAX];           /* of a failed task */
    /* Open questions of the asking thread, which waits for `wake`. */
    InputAsk *asks; size_t n_asks; Heap *heap; int wake;
    VEC(char *) keys;                    /* all that were ever used */
    McpLink *link;                       /* of a waiting tasks/result; NULL: none */
};

struct McpTasks {
    pthread_mutex_t lock;
    pthread_cond_t changed;              /* a status or a link */
    McpTask *first;
    size_t n, bytes;                     /* of tasks; of their results */
};

struct McpTasks *task_record_list(McpPeer *p);
bool task_record_over(const McpTask *t);
bool task_record_enter(struct McpTasks *l, McpTask *t, Error *err);
void task_record_unlink(struct McpTasks *l, McpTask *t);     /* the caller holds the lock */
void task_record_purge(struct McpTasks *l);                  /* the caller holds the lock: drops expired ones that are
                                                              * not running */
McpTask *task_record_find(struct McpTasks *l, Str id);              /* the caller holds the lock */
/* Members of the task as JSON; `detailed` adds result, error or questions (stateless versions). The caller holds the
 * lock. */
void task_record_write(const McpTask *t, bool detailed, Buf *out);
void task_record_changed(McpTask *t, struct McpTasks *l);           /* the caller holds the lock: records the time and
                                                                     * wakes waiters */
void task_record_tell(McpTask *t, struct McpTasks *l);              /* without the lock: notifies the client, if it
                                                                     * subscribed */
void task_record_free(McpTask *t);

/* task_call.c */
McpTask *task_record_new(McpRequest *q, const ToolEntry *tool);
void task_record_ended(void *ctx, const Result *r, Str why);
/* Takes answers to open questions; ignores others. The caller holds the lock. */
bool task_record_answer(McpTask *t, struct McpTasks *l, Value responses, Error *err);
