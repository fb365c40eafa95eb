/* Starts programs that the kernel confines to the workspace.
 *
 *   harness ── request over a socket ──> launcher ── fork ──> supervisor (one per call) ── fork ──> the program
 *
 * The launcher is forked early, before harness restricts itself or starts threads, and holds only the socket. The supervisor
 * is the subreaper of all processes of the call: it counts them, performs connect() where that is filtered and chmod() and
 * similar calls always, and ends the whole tree when the call ends, times out, is cancelled, or harness dies. Between fork
 * and exec the child only makes prepared system calls and does not allocate. */
#pragma once
#include <limits.h>
#include "base/cancel.h"
#include "base/str.h"

typedef struct Sandbox Sandbox;

typedef enum { SANDBOX_STRICT, SANDBOX_BEST_EFFORT, SANDBOX_OFF } SandboxMode;
typedef enum { SANDBOX_MOUNTS_AUTO, SANDBOX_MOUNTS_REQUIRED, SANDBOX_MOUNTS_OFF } SandboxMounts;
typedef enum { SANDBOX_NET_NONE, SANDBOX_NET_OPEN, SANDBOX_NET_PROXY } SandboxNet;

/* What a call may access. Paths are absolute; lists are NULL-terminated and may be NULL. Zero for a number means the
 * default of the settings. */
typedef struct SandboxRules {
    SandboxMode mode;
    SandboxMounts mounts;               /* private mounts: if available, required, or never */
    SandboxNet net;
    uint16_t proxy_port;                /* SANDBOX_NET_PROXY: the only loopback TCP port that connect() may reach */
    const char *workspace;              /* with links resolved */
    const char *const *read_roots;
    const char *const *write_roots;
    const char *const *protect;         /* with private mounts: read-only, if they exist (shield.h) */
    const char *const *hidden;          /* harness's own folders: no call may reach them. With real_home, mounts cover
                                         * them */
    const char *state;                  /* the same for this file and those next to it whose names start with its name;
                                         * may be NULL */
    bool real_home;                     /* HOME is the real one, writable; else a private folder per call, as TMPDIR
                                         * always is */
    uint64_t memory_bytes, file_bytes;
    uint32_t cpu_seconds, open_files, processes;
} SandboxRules;

typedef struct SandboxCommand {
    const char *const *argv;            /* argv[0] with a slash is a path (relative: to cwd), else searched in the
                                         * sandbox's PATH */
    const char *const *env;             /* "NAME=value" in addition to PATH, HOME, TMPDIR and the proxy variables; later
                                         * ones win */
    const char *cwd;                    /* NULL: the workspace */
    Str input;                          /* for its stdin, unless streams are passed */
    bool pass_streams;                  /* use in_fd, out_fd, err_fd as stdin, stdout, stderr; capture nothing */
    int in_fd, out_fd, err_fd;
    size_t max_output;                  /* limit of stdout, and of stderr; 0: 1 MiB; further output is read and
                                         * dropped */
    int64_t timeout_ms;                 /* 0: only the token's deadline */
    bool explain;                       /* collect what was denied */
    /* A long-lived program (an MCP server): see sandbox_spawn. */
} SandboxCommand;

typedef struct SandboxResult {          /* zero-initialise, sandbox_result_clear at the end */
    Buf out, err;
    bool out_truncated, err_truncated;
    int exit_code;                      /* as in a shell: 128 + signal if killed */
    int signal;                         /* 0: it exited normally */
    bool timed_out;
    bool process_limit;                 /* too many processes: the tree was ended */
    bool memory_limit;                  /* total memory exceeded memory_bytes: the tree was ended */
    Buf denied;                         /* explain: lines "what<TAB>flag that would allow it" */
} SandboxResult;

/* Resolves a folder for read_roots and write_roots (relative: to the workspace). ERR_IO when it does not exist;
 * ERR_SANDBOX when a link inside the workspace leads out of it: an earlier call may have created that link. */
bool sandbox_root(const char *workspace, const char *path, char real[PATH_MAX], Error *err);

/* Checks that a workspace or root written as `path` (absolute) may be opened when calls can write `places` (absolute, NULL-terminated).
 * ERR_SANDBOX if a link on the path is in one of these places and leads out of it: a call may have created it. */
bool sandbox_root_steady(const char *const *places, const char *path, Error *err);

/* Checks that no folder that `rules` make accessible contains, or is inside, `rules->hidden` or `rules->state`, also under the other names that mounts
 * give them. Otherwise fails and names both paths: ERR_CONFIG, or ERR_SANDBOX if real_home needs private mounts that are not available. */
bool sandbox_reach(const SandboxRules *rules, Error *err);

/* Forks the launcher. Once per process that starts programs, as early as possible: the process is then small, and no
 * other thread holds a lock. */
bool sandbox_start(Sandbox **out, Error *err);
void sandbox_stop(Sandbox *s);          /* ends the launcher and every running call; NULL is fine */

/* The launcher and every supervisor it starts from now on keep the mark's file open; a second call with the same one
 * releases it. */
bool sandbox_hold(Sandbox *s, int mark_fd, Error *err);
/* Kills every call with all its processes at once and waits until they are gone; false on timeout. For a process about
 * to exit: threads that wait for a call get its result as usual. */
bool sandbox_kill(Sandbox *s, int timeout_ms);

/* True if calls with these rules are possible here, else ERR_SANDBOX that names what the kernel lacks and what to do.
 * Strict mode: every layer or a substitute; best-effort: always true; the caller reports sandbox_layers(). */
bool sandbox_available(const SandboxRules *rules, Error *err);
/* The layers that apply to these rules on this kernel, one line each: "landlock<TAB>ABI 7: files, truncate, …". */
void sandbox_layers(const SandboxRules *rules, Buf *out);

/* Runs one program to its end. False only when it could not be started (ERR_SANDBOX, ERR_IO: program not found or not
 * executable, named), the token fired (ERR_CANCELLED: all its processes have ended), or its deadline had passed before
 * the start (ERR_TIMEOUT). A timeout of the running program, a signal or a non-zero exit is a result. Thread-safe. */
bool sandbox_run(Sandbox *s, const SandboxRules *rules, const SandboxCommand *command, Cancel *cancel, SandboxResult *out,
                 Error *err);
void sandbox_result_clear(SandboxResult *r);
/* Why the supervisor ended the tree, naming the setting; NULL: it did not, or because of a timeout. */
const char *sandbox_result_limit(const SandboxResult *r);

/* Starts a long-running program under the same rules, with its stdin and stdout as pipes and its stderr on err_fd. */
typedef struct SandboxProcess SandboxProcess;
bool sandbox_spawn(Sandbox *s, const SandboxRules *rules, const SandboxCommand *command, SandboxProcess **out, Error *err);
int sandbox_process_stdin(SandboxProcess *p);           /* owned by the process */
int sandbox_process_stdout(SandboxProcess *p);
void sandbox_process_close_stdin(SandboxProcess *p);
bool sandbox_process_wait(SandboxProcess *p, Cancel *cancel, int *exit_code, Error *err);
const char *sandbox_process_limit(const SandboxProcess *p);      /* as sandbox_result_limit(), once it has ended */
void sandbox_process_end(SandboxProcess *p, int64_t grace_ms);   /* SIGTERM, grace, SIGKILL to the whole tree; frees p */
/* True if a protected path is no longer mounted read-only for it, although it was at its start: a file replaced
 * outside, as editors do, has lost its mount. Restart the program then. Always false without private mounts. */
bool sandbox_process_exposed(const SandboxProcess *p);
