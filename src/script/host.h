/* Access of scripts to the outside. The host modules (fs, exec, http …) are native functions in one frozen heap, shared
 * by all scripts; the Host that a Vm carries (vm_host) determines what a call may use. Operations that rooms below
 * implement (call a tool, ask the user, start an agent) go through the table HostCalls; a NULL entry fails with "NAME
 * is not available here". */
#pragma once
#include "artifact/project.h"
#include "base/log.h"
#include "net/client.h"
#include "sandbox/jail.h"
#include "sandbox/protect.h"
#include "sandbox/sandbox.h"
#include "script/shelf.h"

typedef struct Host Host;
/* A question to the user, the client or its model. */
typedef enum { HOST_ASK_FORM, HOST_ASK_SAMPLE, HOST_ASK_ROOTS } HostAskKind;
typedef struct HostAsk {
    HostAskKind kind;
    Str key;                             /* a name that identifies the answer, or empty */
    Str message; Value schema;           /* a form; schema may be None */
    Value messages; int64_t max_tokens;  /* a sample: a list of {role, content} */
    Value answer;                        /* result: {action, content}; a text; a list of {uri, name}. None: not available */
} HostAsk;

typedef enum { HOST_TASK_POLL, HOST_TASK_AWAIT, HOST_TASK_CANCEL } HostTask;

/* `out` values are allocated in `heap`. Requests and definitions are dicts with the keyword names of starlark.md. An
 * error must be a sentence without the function's name, which the caller prefixes. timeout_ms of call_tool is 0, and of
 * task -1, if not given. */
typedef struct HostCalls {
    bool (*call_tool)(Host *h, Str name, Value args, int64_t timeout_ms, Heap *heap, Value *out, Error *err);
    bool (*list_tools)(Host *h, Str pattern, Heap *heap, Value *out, Error *err);
    bool (*register_tool)(Host *h, Value definition, Error *err);
    bool (*register_hook)(Host *h, Value definition, Error *err);
    bool (*register_agent)(Host *h, Value definition, Error *err);
    bool (*delegate)(Host *h, Value request, Heap *heap, Value *out, Error *err);
    bool (*complete)(Host *h, Value request, Heap *heap, Value *out, Error *err);
    bool (*ask)(Host *h, HostAsk *asks, size_t n, Heap *heap, Error *err);       /* concurrently where possible */
    bool (*progress)(Host *h, Value done, Value total, Str message, Error *err);
    bool (*task)(Host *h, HostTask what, Str id, int64_t timeout_ms, Heap *heap, Value *out, Error *err);
    bool (*emit)(Host *h, Str name, Value payload, Error *err);
    bool (*log)(Host *h, LogLevel level, Str message, Error *err);
    bool (*program)(Host *h, const SandboxCommand *command, Cancel *cancel, SandboxResult *out, Error *err);   /* runs it and emits its events */
    bool (*confirm_write)(Host *h, Str path, Error *err);      /* a sensitive name: asks, or fails */
} HostCalls;

/* One per call of a script. Everything is borrowed and outlives the call. */
struct Host {
    const HostCalls *calls;
    void *call;                          /* the owner's record of this call */
    Cancel *cancel;
    bool hook;                           /* hooks have fewer functions; see host_names.def */
    bool judging;                        /* a simulation: missing functions say so, and env() is one of them */
    const Project *project;
    Jail *jail;                          /* read-only for a hook */
    Sandbox *sandbox;                    /* NULL: exec is not available */
    const SandboxRules *rules;
    const char *const *child_env;        /* "NAME=value" for programs of exec.run, NULL-terminated; NULL: none */
    Client *client;
    const Rules *net;                    /* NULL: any public host */
    Shelf *cache, *ctx, *metrics;        /* metrics: numbers only */
    Str workspace;
    Str root;                            /* of the project, as programs see it; empty: project->root */
    StrList env_allow;                   /* names that env() may read */
    StrList args;                        /* os.args */
    const Log *log;
    Str source;                          /* source of log lines: a hook's name; empty: the tool of the call */
    Value runtime;                       /* the frozen dict `runtime`, in a frozen heap; GONE: empty, or see worker_take */
};

/* Writes a log line to HostCalls.log or, if that is NULL, to `log`. Discards it if h is NULL. */
bool host_log(Host *h, LogLevel level, Str message, Error *err);

/* Runs a program under the host's rules: through HostCalls.program if set, which emits events. */
bool host_run_program(Host *h, const SandboxCommand *command, Cancel *cancel, SandboxResult *out, Error *err);

/* Creates every host module, for tools and for hooks, in *heap, and freezes it: for ProjectInput.predeclared and
 * hook_predeclared. The heap must outlive every project loaded with it. Implements exactly the names in host_names.def.
 * All functions are NATIVE_HOST: the top level of a script may not call them. */
bool host_modules_new(Heap **heap, Dict **tools, Dict **hooks, Error *err);
