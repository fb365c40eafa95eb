/* What a script can reach outside of itself. The host modules (fs, exec, http …) are native functions in one frozen heap,
 * shared by all; what a call may use hangs from the Host that its Vm carries (vm_host). Things that rooms below do
 * (call a tool, ask a person, start an agent) come through the table HostCalls; a NULL entry is the error
 * "NAME is not available here". */
#pragma once
#include "artifact/project.h"
#include "base/log.h"
#include "net/client.h"
#include "sandbox/jail.h"
#include "sandbox/protect.h"
#include "sandbox/sandbox.h"
#include "script/shelf.h"

typedef struct Host Host;
/* A question to whoever is there. */
typedef enum { HOST_ASK_FORM, HOST_ASK_SAMPLE, HOST_ASK_ROOTS } HostAskKind;
typedef struct HostAsk {
    HostAskKind kind;
    Str key;                             /* a name for it, where answers are told apart by names; empty: none */
    Str message; Value schema;           /* a form; schema None: none */
    Value messages; int64_t max_tokens;  /* a sample: a list of {role, content} */
    Value answer;                        /* filled: {action, content}; a text; a list of {uri, name}. None: nobody can answer it */
} HostAsk;

typedef enum { HOST_TASK_POLL, HOST_TASK_AWAIT, HOST_TASK_CANCEL } HostTask;

/* `out` values are made in `heap`. Requests and definitions are dicts with the keyword names of starlark.md. An error should
 * be a sentence without the function's name: that is put in front. A timeout_ms
 * of call_tool that is 0, or of task that is -1: none was given. */
typedef struct HostCalls {
    bool (*call_tool)(Host *h, Str name, Value args, int64_t timeout_ms, Heap *heap, Value *out, Error *err);
    bool (*list_tools)(Host *h, Str pattern, Heap *heap, Value *out, Error *err);
    bool (*register_tool)(Host *h, Value definition, Error *err);
    bool (*register_hook)(Host *h, Value definition, Error *err);
    bool (*register_agent)(Host *h, Value definition, Error *err);
    bool (*delegate)(Host *h, Value request, Heap *heap, Value *out, Error *err);
    bool (*complete)(Host *h, Value request, Heap *heap, Value *out, Error *err);
    bool (*ask)(Host *h, HostAsk *asks, size_t n, Heap *heap, Error *err);       /* all at once where that is possible */
    bool (*progress)(Host *h, Value done, Value total, Str message, Error *err);
    bool (*task)(Host *h, HostTask what, Str id, int64_t timeout_ms, Heap *heap, Value *out, Error *err);
    bool (*emit)(Host *h, Str name, Value payload, Error *err);
    bool (*log)(Host *h, LogLevel level, Str message, Error *err);
    bool (*program)(Host *h, const SandboxCommand *command, Cancel *cancel, SandboxResult *out, Error *err);   /* runs one, with its events */
    bool (*confirm_write)(Host *h, Str path, Error *err);      /* a sensitive name: asks, or refuses */
} HostCalls;

/* One per call of a script. Everything is borrowed and outlives the call. */
struct Host {
    const HostCalls *calls;
    void *call;                          /* the owner's own record of this call */
    Cancel *cancel;
    bool hook;                           /* hooks get less; see host_names.def */
    bool safe_path;                      /* of a hook's program: Python takes no module from its folder, which calls can write */
    const Project *project;
    Jail *jail;                          /* of a hook: read-only */
    Sandbox *sandbox;                    /* NULL: exec is not available */
    const SandboxRules *rules;
    const StrList *secret_env;           /* "NAME=value" for children; NULL: none */
    Client *client;
    const Rules *net;                    /* NULL: any public host (the rule list for "no list") */
    Shelf *cache, *ctx, *metrics;        /* metrics: numbers only */
    Str workspace;
    StrList env_allow;                   /* names that env() may read */
    StrList args;                        /* os.args */
    const Log *log;
    Str source;                          /* whose lines the log gets: a hook's name; empty: the tool of the call */
    Value runtime;                       /* the frozen dict `runtime`, in a frozen heap; GONE: empty, or see worker_take */
};

/* A line for the log: to HostCalls.log, or without one to `log`. h may be NULL: nowhere. */
bool host_log(Host *h, LogLevel level, Str message, Error *err);

/* Runs a program under the host's rules: through HostCalls.program where there is one, so that events tell of it. */
bool host_run_program(Host *h, const SandboxCommand *command, Cancel *cancel, SandboxResult *out, Error *err);

/* Makes every host module, for tools and for hooks, in *heap, frozen: for ProjectInput.predeclared and hook_predeclared.
 * The heap must outlive every project loaded with it. Implements host_names.def name by name, and nothing else. All functions are
 * NATIVE_HOST: a script's top level may not call them. */
bool host_modules_new(Heap **heap, Dict **tools, Dict **hooks, Error *err);
