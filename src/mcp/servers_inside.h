/* For the files of the servers: what is known of each.
 *
 *     servers.c          all of them: making, listing in parallel, stopping
 *     servers_open.c     one connection: sandbox, environment, headers, tokens; again after a crash
 *     servers_pin.c      what its tools were when they were first seen, in the store; approvals
 *     servers_tool.c     a tool's definition, made of what the server says
 *     servers_call.c     a call
 *     servers_answer.c   what a server may ask of us                                                     */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include "base/vec.h"
#include "mcp/servers.h"
#include "tool/kind.h"

typedef struct Server Server;

/* A definition that another one took the place of: calls under way may still look at it. As many as a person has approved. */
typedef struct OldDefinition { Heap *heap; Schema *input, *output; } OldDefinition;

/* One tool of a server. Made once, lives as long as the servers: the registry points at it. */
typedef struct ServerTool {
    Server *server;
    Str name;                            /* as the server calls it */
    Str registered;                      /* as the registry does: mcp:SERVER:TOOL, or a face's name; empty: not there (it was dropped) */
    bool face;                           /* a space's own definition of it */
    bool dropped;                        /* its definition cannot be used, or its name is taken */
    Heap *heap;                          /* of its definition, frozen; NULL: a face, or not seen yet */
    Schema *input, *output;
    VEC(OldDefinition) old;
    /* Guarded by the server's lock, like the definition once there may be another. */
    Str pin;                             /* the definition as text, as it was approved; empty: not seen yet */
    Str changed;                         /* the definition as it is now, when it differs: held; empty: it does not. By servers_set_changed */
    bool gone;                           /* the server does not have it any more */
    bool task;                           /* it wants its calls as tasks (2025-11-25) */
} ServerTool;

/* A client and those who use it: the last one of a dead one closes it. */
typedef struct ServerLink { McpClient *client; int users; bool dropped, guarded; int64_t opened_ns; } ServerLink;

struct Server {
    McpServers *all;
    const ServerDef *def;
    char hash[65];                       /* of the entry: what would be started or connected to, and what it may do */
    Arena arena;                         /* under `lock` */
    McpClientConfig config;              /* of the next client; filled when it is first opened */
    bool configured;
    SandboxRules rules;
    OAuth *oauth;

    pthread_mutex_t lock;                /* guards what follows */
    pthread_cond_t changed;              /* `opening` was cleared */
    bool listed, opening;
    ServerLink *link;                    /* NULL: none */
    int failures;
    int64_t not_before_ns;
    Error why;                           /* of the last failure */
    VEC(ServerTool *) tools;
    Str instructions;
    Str failed;                          /* why the last start by any program failed, as noted in the store; empty: it did not fail */
    uint8_t noted[32];                   /* digest of the note of its tools as last read or written; zeros: not yet */
    atomic_bool stale;                   /* the server says that its list has changed */
    atomic_int told;                     /* log messages of the server that were written */
};

struct McpServers {
    Runtime *rt;
    McpServersConfig config;
    Arena arena;
    Server *servers;
    size_t n;
    Cancel *stop;
};

/* What a server's question belongs to. */
typedef struct ServerCall { Server *server; ToolCallFrame *frame; } ServerCall;

/* servers.c */
Server *servers_find(McpServers *m, Str name);                /* NULL: none */

/* servers_open.c. A connection that is alive and whose list of tools has been compared with the pins; servers_give when done. */
bool servers_take(Server *s, Cancel *cancel, ServerLink **out, Error *err);
void servers_give(Server *s, ServerLink *l);
bool servers_list(Server *s, ServerLink *l, Cancel *cancel, Error *err);      /* and compares */

/* servers_pin.c */
bool servers_hash(Server *s, Error *err);
bool servers_load(Server *s, Error *err);                     /* approval, and the tools as pinned: registered */
/* Under the lock: what other programs have pinned or approved meanwhile holds here too. Failing is a warning, and changes nothing. */
void servers_refresh(Server *s);
void servers_save(Server *s);                                 /* under the lock; failing is a warning */
void servers_note_failure(Server *s, Str message);            /* under the lock: kept for mcp list; empty: it works */

/* servers_tool.c, all under the lock */
void servers_apply(Server *s, const List *tools);             /* new ones are registered, changed ones held, others gone */
ServerTool *servers_tool(Server *s, Str name);                /* NULL: none */
ServerTool *servers_add_pinned(Server *s, Value tool, Str text, bool gone);   /* NULL: it cannot be had (told in the log) */
bool servers_add_face(Server *s, McpServers *m, const ToolDef *def, Error *err);      /* s NULL: not configured */
void servers_set_changed(ServerTool *t, Str text);            /* empty: it is what it was */
void servers_repin(Server *s, ServerTool *t, Str text);       /* that is approved from now on */
bool servers_is_now(const ServerTool *t, const ToolDef *def); /* is this its definition still? */
void servers_tool_free(ServerTool *t);
void servers_tool_text(Value tool, Buf *out);                 /* what is pinned: sorted JSON of what a model sees */
bool servers_redact(Server *s, Heap *heap, Value *v, Error *err);             /* without known secrets; any thread */

/* servers_call.c, servers_answer.c */
ToolExecute servers_call, servers_call_nowhere;
void servers_answers(Server *s, McpClientAnswers *out);
