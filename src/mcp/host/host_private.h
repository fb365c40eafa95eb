/* State of the server and its peers. Private to src/mcp/. */
#pragma once
#include "mcp/remote/remotes.h"
#include <pthread.h>
#include "agent/session.h"
#include "base/scheduler.h"
#include "mcp/host/serve.h"
#include "value/json.h"

/* A loaded project. References: the server's to the newest, and one per run of a peer. */
typedef struct ServeProject {
    Runtime *rt;
    Agents *agents;
    struct McpRemotes *servers;          /* the project's MCP servers, whose tools are served too; may be NULL */
    atomic_bool asked;                   /* its servers were asked for their tools */
    int holders;                         /* guarded by the server's lock */
    pthread_mutex_t lock;                /* guards what follows */
    struct { Buf text; const ToolEntry **shown; size_t n; } tools[MCP_NONE];   /* cached tools/list, and the entries it
                                                                                * was made from */
} ServeProject;

/* A run of a peer. New requests use the newest; older ones, of earlier versions of the project, stay until their
 * requests and tasks end. */
typedef struct PeerRun { Run *run; ServeProject *project; int users; } PeerRun;

/* A request in flight, in the peer's list. A parked one has no id. */
typedef struct Flight Flight;
struct Flight {
    McpRequest q;                        /* first, so that a request can be cast to its flight */
    const ServeMethod *method;
    PeerRun *run;
    Buf out;                             /* buffer for messages being written */
    size_t bytes;                        /* memory of the request */
    bool scheduled;                      /* run by the scheduler */
    int waits;                           /* calls of serve_wait without serve_go_on; guarded by the peer's lock */
    bool ends_with_link;                 /* its client cannot reconnect for the response; set before it is listed */
    bool quick;                          /* ends before the next message is read, so no limit applies */
    bool listed;                         /* has an id; guarded by the peer's lock */
    _Atomic bool quiet;                  /* cancelled: send nothing more */
    Flight *next, **at;                  /* in the peer's list (`at` points here), or in the free list */
};

enum { PEER_RUNS_MAX = 4, PEER_BYTES_MAX = 32 << 20 };       /* runs of older projects that are kept; total memory of
                                                              * requests in flight */

struct McpPeer {
    McpHost *server;
    McpPeer *next;                       /* guarded by the server's lock */
    McpPeerConfig config;
    char *session;                       /* the text of config.session */
    _Atomic McpVersion version;          /* from the handshake; MCP_NONE: not yet */
    _Atomic int level;                   /* McpLevel, from logging/setLevel */
    _Atomic bool ready;                  /* notifications/initialized was received */
    Heap *about;                         /* from the handshake: frozen when `version` is set */
    Value client, client_info;           /* capabilities and clientInfo, in `about`; GONE: none */

    pthread_mutex_t lock;                /* guards what follows */
    pthread_cond_t changed;              /* a flight has ended */
    McpLink *general;
    Flight *flights;
    size_t n_flights;
    size_t bytes;
    uint64_t ended, stalled;             /* number of ended flights; `stalled`: that number at the last wait that
                                          * timed out, plus 1 */
    PeerRun *runs[PEER_RUNS_MAX];        /* newest first */
    bool closing;
    struct McpInput *input;              /* owned by mcp/host/input_ask.c */
    struct McpSubscriptions *subscriptions;      /* owned by mcp/host/subscribe.c */
    struct McpTasks *tasks;              /* owned by mcp/host/tasks.c */
};

struct McpHost {
    McpHostConfig config;
    Scheduler *scheduler;                /* runs the requests; jobs are owned by their peer */
    _Atomic size_t bytes;                /* memory of requests in flight */
    _Atomic(Flight *) cached;            /* one free flight, exchanged atomically */
    JsonKeys *keys;                      /* the protocol's member names */
    _Atomic(ServeProject *) project;     /* changed under the lock; may be compared without */
    pthread_mutex_t lock;                /* guards what follows */
    McpPeer *peers;
    Flight *spare; size_t n_spare;
    bool closing;
    struct McpWatch *watch;              /* owned by mcp/host/watch.c */
};

/* host.c */
bool serve_project_open(const McpHostConfig *config, Runtime *share, Runtime **rt, Agents **agents, Problems *problems, Error *err);   /* loads the project */
ServeProject *serve_project(McpHost *s);          /* the newest, with a reference */
void serve_project_release(McpHost *s, ServeProject *p);
void serve_project_set(McpHost *s, Runtime *rt, Agents *agents);      /* replaces the current project; takes ownership
                                                                         * of both */
void peer_each(McpHost *s, void (*each)(void *ctx, McpPeer *p), void *ctx);   /* with the server's lock held: must be
                                                                                 * quick and not close peers */

/* peer.c */
PeerRun *peer_use_run(McpPeer *p, Error *err);       /* the run for a new request, of the newest project; NULL: could
                                                      * not be started */
PeerRun *peer_newest_run(McpPeer *p);                /* the same if it exists, else NULL; the caller holds the peer's
                                                      * lock */
void peer_leave_run(McpPeer *p, PeerRun *r);
void peer_send_general(McpPeer *p, Str message);     /* to the general link, if any */
void peer_drain(McpPeer *p, int64_t grace_ms);       /* refuses new requests; waits for those in flight and cancels them
                                                      * after grace_ms */

/* peer_take.c: handles one message. Returns NULL when done, else a request to pass to peer_schedule. The response goes
 * to `link`; notifications and responses need none. Malformed messages are answered on `link` with the id null. Beyond
 * MCP_REQUESTS_MAX requests in flight, new ones get an error at once. `version`: from the transport (the header
 * MCP-Protocol-Version); MCP_NONE: take it from the message. */
Flight *peer_begin(McpPeer *p, Str message, McpVersion version, McpLink *link);
/* The same for a parsed message; `message` is only used during the call and deep-copied where needed. */
Flight *peer_begin_message(McpPeer *p, const RpcMessage *message, McpVersion version, McpLink *link);
void peer_schedule(Flight *f);                       /* runs it on the scheduler; responds with an error if no thread
                                                      * can be started */
void peer_schedule_last(Flight *f);                  /* the same, as the last action of a running job */

/* Waits while too many requests are in flight and some of them end. If none ends for a while, returns, and the next one
 * is refused. For transports that can make their client wait. */
void peer_wait_for_room(McpPeer *p);

/* peer_batch.c: one link for the responses to a batch. Starts with one reference. */
McpLink *peer_batch_link(McpLink *to, size_t answers);

/* flight.c */
typedef enum { FLIGHT_IN, FLIGHT_ID_USED, FLIGHT_FULL } FlightEntry;
Flight *flight_take(McpHost *s);                   /* zeroed except for its heap and buffers */
void flight_give(McpHost *s, Flight *f);
void flight_free(Flight *f);
FlightEntry flight_enter(Flight *f, Error *err);     /* into the list of q.peer, under q.id; attaches its newest run, if
                                                      * any */
void flight_attach(Flight *f, PeerRun *run);         /* the caller holds the peer's lock; NULL: none */
void flight_finish(Flight *f, bool ok, const Error *err);        /* responds, unless done or cancelled; frees */
void flight_cancel(McpPeer *p, Value id);            /* cancelled by the client */
