/* Private to the servers' files.
 *
 *     mcp/remote/remotes.c          all servers: creating, listing in parallel, stopping
 *     mcp/remote/remotes_open.c     one connection: sandbox, environment, headers, tokens; restart after a crash
 *     mcp/remote/remotes_pin.c      pinned tool definitions in the store; approvals
 *     mcp/remote/remotes_tool.c     converts a server's tool definition
 *     mcp/remote/remotes_call.c     a call
 *     mcp/remote/remotes_answer.c   requests of a server to us */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include "base/vec.h"
#include "mcp/remote/remotes.h"
#include "tool/kind/kind.h"

typedef struct Remote Remote;

/* A replaced definition, which running calls may still use. Bounded by the number of approvals. */
typedef struct OldDefinition { Heap *heap; Schema *input, *output; } OldDefinition;

/* One tool of a server. Created once and never freed before the servers: the registry points to it. */
typedef struct RemoteTool {
    Remote *server;
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
                                          * remotes_set_changed */
    bool gone;                           /* the server no longer has it */
    bool task;                           /* its calls must be tasks (2025-11-25) */
} RemoteTool;

/* A client and its number of users; the last user of a dropped one closes it. */
typedef struct RemoteLink { McpClient *client; int users; bool dropped, guarded; int64_t opened_ns; } RemoteLink;

struct Remote {
    McpRemotes *all;
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
    RemoteLink *link;                    /* NULL: none */
    int failures;
    int64_t not_before_ns;
    Error why;                           /* last failure */
    VEC(RemoteTool *) tools;
    Str instructions;
    Str failed;                          /* why the last start by any program failed, as noted in the store; empty: it did not fail */
    uint8_t noted[32];                   /* digest of the note of its tools as last read or written; zeros: not yet */
    atomic_bool stale;                   /* the server reported that its list has changed */
    atomic_int told;                     /* number of the server's log messages written */
};

struct McpRemotes {
    Runtime *rt;
    McpRemotesConfig config;
    Arena arena;
    Remote *servers;
    size_t n;
    Cancel *stop;
};

/* The call that a server's request belongs to. */
typedef struct RemoteCall { Remote *server; ToolCallFrame *frame; } RemoteCall;

/* mcp/remote/remotes.c */
Remote *remotes_find(McpRemotes *m, Str name);                /* NULL: none */

/* mcp/remote/remotes_open.c. Returns a live connection whose tools have been compared with the pins; remotes_give when done. */
bool remotes_take(Remote *s, Cancel *cancel, RemoteLink **out, Error *err);
void remotes_give(Remote *s, RemoteLink *l);
bool remotes_list(Remote *s, RemoteLink *l, Cancel *cancel, Error *err);      /* and compares with the pins */

/* mcp/remote/remotes_pin.c */
bool remotes_hash(Remote *s, Error *err);
bool remotes_load(Remote *s, Error *err);                     /* reads approval and pins, and registers the pinned
                                                               * tools */
/* Takes over what other processes have pinned or approved. On failure logs a warning and changes nothing. The caller
 * holds the lock. */
void remotes_refresh(Remote *s);
void remotes_save(Remote *s);                                 /* under the lock; failing is a warning */
void remotes_note_failure(Remote *s, Str message);            /* under the lock: kept for mcp list; empty: it works */

/* mcp/remote/remotes_tool.c; the caller holds the lock */
void remotes_apply(Remote *s, const List *tools);             /* registers new ones, holds changed ones, marks missing
                                                               * ones as gone */
RemoteTool *remotes_tool(Remote *s, Str name);                /* NULL: none */
RemoteTool *remotes_add_pinned(Remote *s, Value tool, Str text, bool gone);   /* NULL: unusable (logged) */
bool remotes_add_face(Remote *s, McpRemotes *m, const ToolDef *def, Error *err);      /* s NULL: not configured */
void remotes_set_changed(RemoteTool *t, Str text);            /* empty: unchanged */
void remotes_repin(Remote *s, RemoteTool *t, Str text);       /* approves the definition `text` */
bool remotes_is_now(const RemoteTool *t, const ToolDef *def); /* true if this is still its definition */
void remotes_tool_free(RemoteTool *t);
void remotes_tool_text(Value tool, Buf *out);                 /* the pinned text: sorted JSON of what a model sees */
bool remotes_redact(Remote *s, Heap *heap, Value *v, Error *err);             /* removes known secrets; thread-safe */

/* mcp/remote/remotes_call.c, mcp/remote/remotes_answer.c */
ToolExecute remotes_call, remotes_call_nowhere;
void remotes_answers(Remote *s, McpClientAnswers *out);
