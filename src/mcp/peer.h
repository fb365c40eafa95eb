/* What the server and a peer hold. For this room's own files. */
#pragma once
#include "mcp/servers.h"
#include <pthread.h>
#include "agent/session.h"
#include "base/scheduler.h"
#include "mcp/serve.h"
#include "value/json.h"

/* A loaded project. Counted by the server, which has the newest, and by the runs of the peers. */
typedef struct ServeProject {
    Runtime *rt;
    Agents *agents;
    struct McpServers *servers;          /* of the project, whose tools are served too; NULL: none */
    atomic_bool asked;                   /* its servers were asked for their tools */
    int holders;                         /* guarded by the server's lock */
    pthread_mutex_t lock;                /* guards what follows */
    struct { Buf text; const ToolEntry **shown; size_t n; } tools[MCP_NONE];   /* members of tools/list, and of what they were made */
} ServeProject;

/* A run of a peer: the newest is used by new requests; older ones, of projects that were loaded before, stay for their requests and tasks. */
typedef struct PeerRun { Run *run; ServeProject *project; int users; } PeerRun;

/* A request under way, in the peer's list. One that is parked has no id that could be found. */
typedef struct Flight Flight;
struct Flight {
    McpRequest q;                        /* first: a request is its flight */
    const ServeMethod *method;
    PeerRun *run;
    Buf out;                             /* messages, while they are written */
    size_t bytes;                        /* memory of what was asked */
    bool scheduled;                      /* the scheduler runs it */
    int waits;                           /* calls of serve_wait without serve_go_on; guarded by the peer's lock */
    bool ends_with_link;                 /* its client cannot come back for the answer; set before it is listed */
    bool quick;                          /* ends before the next message is taken: no limit keeps it out */
    bool listed;                         /* has an id; guarded by the peer's lock */
    _Atomic bool quiet;                  /* cancelled: nothing more is said about it */
    Flight *next, **at;                  /* in the list of the peer (`at` is what points here), or of those that can be used again */
};

enum { PEER_RUNS_MAX = 4, PEER_BYTES_MAX = 32 << 20 };       /* runs of older projects that are kept; memory of requests under way, together */

struct McpPeer {
    McpServer *server;
    McpPeer *next;                       /* guarded by the server's lock */
    McpPeerConfig config;
    char *session;                       /* the text of config.session */
    _Atomic McpVersion version;          /* of the handshake; MCP_NONE: none yet */
    _Atomic int level;                   /* McpLevel, of logging/setLevel */
    _Atomic bool ready;                  /* notifications/initialized has come */
    Heap *about;                         /* of the handshake: frozen when `version` is set */
    Value client, client_info;           /* capabilities and clientInfo, in there; GONE: none */

    pthread_mutex_t lock;                /* guards what follows */
    pthread_cond_t changed;              /* a flight has ended */
    McpLink *general;
    Flight *flights;
    size_t n_flights;
    size_t bytes;
    uint64_t ended, stalled;             /* flights that have; how many had when it was last waited for one in vain, plus 1 */
    PeerRun *runs[PEER_RUNS_MAX];        /* the newest first */
    bool closing;
    struct McpInput *input;              /* serve_input.c's */
    struct McpSubscriptions *subscriptions;      /* serve_subscribe.c's */
    struct McpTasks *tasks;              /* serve_tasks.c's */
};

struct McpServer {
    McpServerConfig config;
    Scheduler *scheduler;                /* runs the requests; a peer is an owner */
    _Atomic size_t bytes;                /* memory of requests under way */
    _Atomic(Flight *) hand;              /* one that can be used again, and changes owner in one step */
    JsonKeys *keys;                      /* the protocol's names */
    _Atomic(ServeProject *) project;     /* held with the lock alone; may be compared without */
    pthread_mutex_t lock;                /* guards what follows */
    McpPeer *peers;
    Flight *spare; size_t n_spare;
    bool closing;
    struct McpWatch *watch;              /* serve_watch.c's */
};

/* server.c */
bool serve_project_open(const McpServerConfig *config, Runtime *share, Runtime **rt, Agents **agents, Problems *problems, Error *err);   /* a version of the project */
ServeProject *serve_project(McpServer *s);          /* the newest, held */
void serve_project_release(McpServer *s, ServeProject *p);
void serve_project_set(McpServer *s, Runtime *rt, Agents *agents);      /* the one to use from now on; both are owned */
void peer_each(McpServer *s, void (*each)(void *ctx, McpPeer *p), void *ctx);   /* with the server's lock held: must not take long, nor close one */

/* peer.c */
PeerRun *peer_use_run(McpPeer *p, Error *err);       /* the run for a new request, of the newest project; NULL: it could not be started */
PeerRun *peer_newest_run(McpPeer *p);                /* the same with the peer's lock held, if it is there already; else NULL */
void peer_leave_run(McpPeer *p, PeerRun *r);
void peer_send_general(McpPeer *p, Str message);     /* to the general link, if there is one */
void peer_drain(McpPeer *p, int64_t grace_ms);       /* no new requests; waits for those under way, and cancels them after grace_ms */

/* peer_take.c: takes one message (text as it came). NULL: all is done. Else a request that may take long, to be passed to
 * peer_schedule. The answer goes to `link`; notifications and responses need none. What cannot be read is answered on `link` with the id null. Floods: beyond
 * MCP_REQUESTS_MAX requests under way, new ones are answered with an error at once. `version`: what the transport knows (the header
 * MCP-Protocol-Version); MCP_NONE: look into the message. */
Flight *peer_begin(McpPeer *p, Str message, McpVersion version, McpLink *link);
/* The same for a message that was read already; `message` is only read during the call, deep-copied where kept. */
Flight *peer_begin_message(McpPeer *p, const RpcMessage *message, McpVersion version, McpLink *link);
void peer_schedule(Flight *f);                       /* runs it on the scheduler; answers with an error when no thread can be started */
void peer_schedule_last(Flight *f);                  /* the same, as the last action of a running job */

/* Waits as long as too many requests are under way and some of them end; when none does for a while, whoever comes next is refused. For a
 * transport that can let its client wait. */
void peer_wait_for_room(McpPeer *p);

/* peer_batch.c: one link for the answers of several requests. Made with one holder, as any. */
McpLink *peer_batch_link(McpLink *to, size_t answers);

/* flight.c */
typedef enum { FLIGHT_IN, FLIGHT_ID_USED, FLIGHT_FULL } FlightEntry;
Flight *flight_take(McpServer *s);                   /* zero but for its heap and buffers */
void flight_give(McpServer *s, Flight *f);
void flight_free(Flight *f);
FlightEntry flight_enter(Flight *f, Error *err);     /* into the list of q.peer, under q.id; with its newest run, if there is one */
void flight_attach(Flight *f, PeerRun *run);         /* with the peer's lock held; NULL: none */
void flight_finish(Flight *f, bool ok, const Error *err);        /* answers, unless that is done or unwanted; frees */
void flight_cancel(McpPeer *p, Value id);            /* the client has */
