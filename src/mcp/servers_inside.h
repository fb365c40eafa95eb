/* Private to the servers' files.
 *
 *     servers.c          all servers: creating, listing in parallel, stopping
 *     servers_open.c     one connection: sandbox, environment, headers, tokens; restart after a crash
 *     servers_pin.c      pinned tool definitions in the store; approvals
 *     servers_tool.c     converts a server's tool definition
 *     servers_call.c     a call
 *     servers_answer.c   requests of a server to us */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include "base/vec.h"
#include "mcp/servers.h"
#include "tool/kind.h"

typedef struct Server Server;

/* A replaced definition, which running calls may still use. Bounded by the number of approvals. */
typedef struct OldDefinition { Heap *heap; Schema *input, *output; } OldDefinition;

/* One tool of a server. Created once and never freed before the servers: the registry points to it. */
typedef struct ServerTool {
    Server *server;
    Str name;                            /* the server's name for it */
    Str registered;                      /* the registry's name: mcp:SERVER:TOOL, or a face's; empty: dropped */
    bool face;                           /* defined by a space */
    bool dropped;                        /* its definition is invalid, or its name is taken */
    Heap *heap;                          /* holds its definition, frozen; NULL: a face, or not seen yet */
    Schema *input, *output;
    VEC(OldDefinition) old;
    /* Guarded by the server's lock, like a definition that may be replaced. */
    Str pin;                             /* the approved definition as text; empty: not seen yet */
    Str changed;                         /* the current definition if it differs, then held; else empty. Set by
                                          * servers_set_changed */
    bool gone;                           /* the server no longer has it */
    bool task;                           /* its calls must be tasks (2025-11-25) */
} ServerTool;

/* A client and its number of users; the last user of a dropped one closes it. */
typedef struct ServerLink { McpClient *client; int users; bool dropped, guarded; int64_t opened_ns; } ServerLink;

struct Server {
    McpServers *all;
    const ServerDef *def;
    char hash[65];                       /* of the entry: what would be started or connected to, and its permissions */
    Arena arena;                         /* used under `lock` */
    McpClientConfig config;              /* for the next client; filled when it is first opened */
    bool configured;
    SandboxRules rules;
    OAuth *oauth;

    pthread_mutex_t lock;                /* guards what follows */
    pthread_cond_t changed;              /* `opening` was cleared */
    bool listed, opening;
    ServerLink *link;                    /* NULL: none */
    int failures;
    int64_t not_before_ns;
    Error why;                           /* last failure */
    VEC(ServerTool *) tools;
    Str instructions;
    Str failed;                          /* why the last start by any program failed, as noted in the store; empty: it did not fail */
    uint8_t noted[32];                   /* digest of the note of its tools as last read or written; zeros: not yet */
    atomic_bool stale;                   /* the server reported that its list has changed */
    atomic_int told;                     /* number of the server's log messages written */
};

struct McpServers {
    Runtime *rt;
    McpServersConfig config;
    Arena arena;
    Server *servers;
    size_t n;
    Cancel *stop;
};

/* The call that a server's request belongs to. */
typedef struct ServerCall { Server *server; ToolCallFrame *frame; } ServerCall;

/* servers.c */
Server *servers_find(McpServers *m, Str name);                /* NULL: none */

/* servers_open.c. Returns a live connection whose tools have been compared with the pins; servers_give when done. */
bool servers_take(Server *s, Cancel *cancel, ServerLink **out, Error *err);
void servers_give(Server *s, ServerLink *l);
bool servers_list(Server *s, ServerLink *l, Cancel *cancel, Error *err);      /* and compares with the pins */

/* servers_pin.c */
bool servers_hash(Server *s, Error *err);
bool servers_load(Server *s, Error *err);                     /* reads approval and pins, and registers the pinned
                                                               * tools */
/* Takes over what other processes have pinned or approved. On failure logs a warning and changes nothing. The caller
 * holds the lock. */
void servers_refresh(Server *s);
void servers_save(Server *s);                                 /* under the lock; failing is a warning */
void servers_note_failure(Server *s, Str message);            /* under the lock: kept for mcp list; empty: it works */

/* servers_tool.c; the caller holds the lock */
void servers_apply(Server *s, const List *tools);             /* registers new ones, holds changed ones, marks missing
                                                               * ones as gone */
ServerTool *servers_tool(Server *s, Str name);                /* NULL: none */
ServerTool *servers_add_pinned(Server *s, Value tool, Str text, bool gone);   /* NULL: unusable (logged) */
bool servers_add_face(Server *s, McpServers *m, const ToolDef *def, Error *err);      /* s NULL: not configured */
void servers_set_changed(ServerTool *t, Str text);            /* empty: unchanged */
void servers_repin(Server *s, ServerTool *t, Str text);       /* approves the definition `text` */
bool servers_is_now(const ServerTool *t, const ToolDef *def); /* is this still its definition? */
void servers_tool_free(ServerTool *t);
void servers_tool_text(Value tool, Buf *out);                 /* the pinned text: sorted JSON of what a model sees */
bool servers_redact(Server *s, Heap *heap, Value *v, Error *err);             /* removes known secrets; thread-safe */

/* servers_call.c, servers_answer.c */
ToolExecute servers_call, servers_call_nowhere;
void servers_answers(Server *s, McpClientAnswers *out);
