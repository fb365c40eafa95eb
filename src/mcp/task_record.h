/* What is known of a task; shared by serve_tasks.c (what clients say) and task_call.c (what the call does). */
#pragma once
#include "base/vec.h"
#include "mcp/input.h"
#include "mcp/peer.h"
#include "mcp/serve_tasks.h"

typedef enum { TASK_WORKING, TASK_INPUT_REQUIRED, TASK_COMPLETED, TASK_FAILED, TASK_CANCELLED } McpTaskStatus;
enum { TASK_RECORDS_MAX = 1024, TASK_TTL_MS = 3600000, TASK_TTL_MOST_MS = 86400000, TASK_POLL_MS = 500, TASK_ID_SIZE = 33,
       TASK_BYTES_MAX = 64 << 20 };      /* of results that are kept: with more of them, no new task starts */

/* In the peer's list from before its call starts until its time is over. Guarded by the list's lock, but for what is set once. */
struct McpTask {
    InputWay way;                        /* first: its questions go this way */
    McpTask *next;
    McpPeer *peer;
    PeerRun *run;                        /* used until it has ended */
    McpVersion version;
    const ToolEntry *tool;
    bool offered[3];                     /* by InputKind: what the client could be asked when it called */
    char id[TASK_ID_SIZE];
    int64_t created_ns, ttl_ms;
    Person person;
    pthread_mutex_t asking;              /* one question after another */

    char inner[64];                      /* its id in the run; empty: it has not begun */
    McpTaskStatus status;
    bool at_work;                        /* its thread has not ended */
    int waiting;                         /* for its result */
    bool cancelled;                      /* the client has */
    int64_t updated_ns;
    char message[200];                   /* statusMessage; "" none */
    Buf result;                          /* members of the result, as JSON */
    char error[ERROR_MSG_MAX];           /* of a failed one */
    /* Questions that are open: of the thread that asks, which waits for `wake`. */
    InputAsk *asks; size_t n_asks; Heap *heap; int wake;
    VEC(char *) keys;                    /* all that were ever used */
    McpLink *link;                       /* of a tasks/result that waits; NULL: none */
};

struct McpTasks {
    pthread_mutex_t lock;
    pthread_cond_t changed;              /* some status, or some link */
    McpTask *first;
    size_t n, bytes;                     /* of them; of their results */
};

struct McpTasks *task_record_list(McpPeer *p);
bool task_record_over(const McpTask *t);
bool task_record_enter(struct McpTasks *l, McpTask *t, Error *err);
void task_record_unlink(struct McpTasks *l, McpTask *t);     /* with the lock held */
void task_record_purge(struct McpTasks *l);                  /* with the lock held: those whose time is over; not one that its call still has in hands */
McpTask *task_record_find(struct McpTasks *l, Str id);              /* with the lock held */
/* Members of the task as JSON, with the lock held: `detailed` with result, error or questions (without sessions). */
void task_record_write(const McpTask *t, bool detailed, Buf *out);
void task_record_changed(McpTask *t, struct McpTasks *l);           /* with the lock held: notes the time, wakes who waits */
void task_record_tell(McpTask *t, struct McpTasks *l);              /* without it: tells the client, where it wants to hear of it */
void task_record_free(McpTask *t);

/* task_call.c */
McpTask *task_record_new(McpRequest *q, const ToolEntry *tool);
void task_record_ended(void *ctx, const Result *r, Str why);
/* Answers to open questions, with the lock held; those to others are passed over. */
bool task_record_answer(McpTask *t, struct McpTasks *l, Value responses, Error *err);
