/* Starts programs that the kernel keeps inside the workspace.
 *
 *   harness ── request over a socket ──> launcher ── fork ──> supervisor (one per call) ── fork ──> the program
 *
 * The launcher is forked early, before harness restrains itself or starts threads, and holds nothing but the socket. The
 * supervisor is subreaper of everything the call starts: it counts processes, performs connect() where that is filtered and
 * chmod() and its like always, and ends the whole tree when the call ends, times out, is cancelled, or harness dies. Between fork
 * and exec the child only makes system calls prepared beforehand: nothing there allocates. */
#pragma once
#include <limits.h>
#include "base/cancel.h"
#include "base/str.h"

typedef struct Sandbox Sandbox;

typedef enum { SANDBOX_STRICT, SANDBOX_BEST_EFFORT, SANDBOX_OFF } SandboxMode;
typedef enum { SANDBOX_MOUNTS_AUTO, SANDBOX_MOUNTS_REQUIRED, SANDBOX_MOUNTS_OFF } SandboxMounts;
typedef enum { SANDBOX_NET_NONE, SANDBOX_NET_OPEN, SANDBOX_NET_PROXY } SandboxNet;

/* What a call may touch. Paths are absolute; lists end with NULL and may be NULL. The zero value of a number means the
 * default of tools.md, "Settings". */
typedef struct SandboxRules {
    SandboxMode mode;
    SandboxMounts mounts;               /* private mounts: where they can be had, else no call, or never */
    SandboxNet net;
    uint16_t proxy_port;                /* SANDBOX_NET_PROXY: the one loopback TCP port that connect() may reach */
    const char *workspace;              /* without links */
    const char *const *read_roots;
    const char *const *write_roots;
    const char *const *protect;         /* with private mounts: read-only, as far as they exist (shield.h) */
    const char *const *hidden;          /* harness's own folders: no call may reach them. With real_home mounts cover them */
    const char *state;                  /* the same for this file and those beside it whose names begin with its name; may be NULL */
    bool real_home;                     /* HOME is the real one, writable; else the private folder per call, which TMPDIR always is */
    uint64_t memory_bytes, file_bytes;
    uint32_t cpu_seconds, open_files, processes;
} SandboxRules;

typedef struct SandboxCommand {
    const char *const *argv;            /* argv[0] with a slash is a path (relative: to cwd), else searched in the sandbox's PATH */
    const char *const *env;             /* "NAME=value" beside PATH, HOME, TMPDIR and the proxy variables; later ones win */
    const char *cwd;                    /* NULL: the workspace */
    Str input;                          /* for its stdin, unless streams are passed */
    bool pass_streams;                  /* its stdin, stdout, stderr are in_fd, out_fd, err_fd; nothing is captured */
    int in_fd, out_fd, err_fd;
    size_t max_output;                  /* bytes kept of stdout, and of stderr; 0: 1 MiB; what comes after is read and dropped */
    int64_t timeout_ms;                 /* 0: only the token's deadline */
    bool explain;                       /* gather what was denied */
    /* A long-lived program (an MCP server): see sandbox_spawn. */
} SandboxCommand;

typedef struct SandboxResult {          /* zero-initialise, sandbox_result_clear at the end */
    Buf out, err;
    bool out_truncated, err_truncated;
    int exit_code;                      /* as a shell counts: 128 + signal when killed by one */
    int signal;                         /* 0: it exited by itself */
    bool timed_out;
    bool process_limit;                 /* more processes than allowed: the tree was ended */
    bool memory_limit;                  /* all of them together held more than memory_bytes: the tree was ended */
    Buf denied;                         /* explain: lines "what<TAB>flag that would allow it" */
} SandboxResult;

/* A folder for read_roots and write_roots, as somebody has written it (relative: to the workspace), without links: fails with
 * ERR_IO when it is not there, and with ERR_SANDBOX when a link inside the workspace leads out of it. Whatever ran in the workspace
 * before may have made that link. */
bool sandbox_root(const char *workspace, const char *path, char real[PATH_MAX], Error *err);

/* May a workspace or root that is written as `path` (absolute) be opened, when calls can write `places` (absolute, up to NULL)? Not if a link on the way lies
 * in one of these and leads out of it: a call may have made it. ERR_SANDBOX. */
bool sandbox_root_steady(const char *const *places, const char *path, Error *err);

/* Is all that `rules` open apart from `rules->hidden` and `rules->state`, by every name that mounts give them? Else an error that
 * names both paths: ERR_CONFIG, or ERR_SANDBOX where real_home needs mounts that cannot be had. */
bool sandbox_reach(const SandboxRules *rules, Error *err);

/* Forks the launcher. Once per process that wants to start programs, as early as possible: it is then small, and inherits
 * no threads' locks. */
bool sandbox_start(Sandbox **out, Error *err);
void sandbox_stop(Sandbox *s);          /* ends the launcher and every call that still runs; NULL is fine */

/* The launcher and every supervisor it starts from now on keep the mark's file open; called again with the same one, no longer. */
bool sandbox_hold(Sandbox *s, int mark_fd, Error *err);
/* Kills every call with all it has started, at once, and waits until they are gone: false when they are not within the time. For the last moments of
 * a program: whoever waits for one of the calls hears of its end as usual. */
bool sandbox_kill(Sandbox *s, int timeout_ms);

/* Can calls with these rules be made here? Else ERR_SANDBOX that names what the kernel lacks and what to do. Strict mode:
 * every layer or a substitute; best-effort: always true; the caller reports sandbox_layers(). */
bool sandbox_available(const SandboxRules *rules, Error *err);
/* The layers that apply to these rules on this kernel, one line each: "landlock<TAB>ABI 7: files, truncate, …". */
void sandbox_layers(const SandboxRules *rules, Buf *out);

/* Runs one program to its end. False only when it could not be run (ERR_SANDBOX, ERR_IO: program not found or not
 * executable, named), the token fired (ERR_CANCELLED: by then nothing of it is alive), or its deadline had passed before the program
 * was started (ERR_TIMEOUT). A timeout of the running program, a signal or a non-zero exit is a result. Safe from any thread. */
bool sandbox_run(Sandbox *s, const SandboxRules *rules, const SandboxCommand *command, Cancel *cancel, SandboxResult *out,
                 Error *err);
void sandbox_result_clear(SandboxResult *r);
/* Why the supervisor ended the tree, in words that name the setting; NULL: it did not, or for the time. */
const char *sandbox_result_limit(const SandboxResult *r);

/* Starts a program that goes on, under the same rules, with its stdin and stdout as pipes and its stderr on err_fd. */
typedef struct SandboxProcess SandboxProcess;
bool sandbox_spawn(Sandbox *s, const SandboxRules *rules, const SandboxCommand *command, SandboxProcess **out, Error *err);
int sandbox_process_stdin(SandboxProcess *p);           /* owned by the process */
int sandbox_process_stdout(SandboxProcess *p);
void sandbox_process_close_stdin(SandboxProcess *p);
bool sandbox_process_wait(SandboxProcess *p, Cancel *cancel, int *exit_code, Error *err);
const char *sandbox_process_limit(const SandboxProcess *p);      /* as sandbox_result_limit(), once it has ended */
void sandbox_process_end(SandboxProcess *p, int64_t grace_ms);   /* SIGTERM, grace, SIGKILL to the whole tree; frees p */
/* Is a protected path no longer mounted read-only for it, although it was when it started? A file that was replaced outside, as editors do
 * it, has lost its mount: start the program again. Always false without private mounts. */
bool sandbox_process_exposed(const SandboxProcess *p);
