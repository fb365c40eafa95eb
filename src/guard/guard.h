/* `harness guard VENDOR`: the policy of a project in front of another agent. The agent runs this process as a hook before a tool call, with
 * an envelope (JSON) on standard input, and reads the verdict from standard output and the exit status.
 *
 *   fuse.c       deadline and crash handler: whatever happens to the process, the agent reads a refusal
 *   envelope.c   reads the envelope of any vendor           vendors.def events.def
 *   calls.c      translates its call into our names                 tools.def patch.c paths.c
 *   layers.c     the policies that apply: /etc/harness/guard.md, ~/.config/harness/guard.md, the project
 *   judge.c      the verdict                                protect.c
 *   answer.c     the bytes that the vendor understands      answers.def
 *   session.c    all of that for one envelope; recorded.c, trial.c: for recorded ones
 *   kept.c       the envelope as it is stored
 *   anchor.c     the end of the chain of decisions, written elsewhere
 *   hook.c       one hook process, from start to end; the decision in the store */
#pragma once
#include "artifact/call_kind.h"
#include "base/arena.h"
#include "base/error.h"
#include "value/dict.h"

/* ---- vendors ---- */

typedef enum GuardFormat { GUARD_FORMAT_CLAUDE, GUARD_FORMAT_CURSOR, GUARD_FORMAT_COPILOT, GUARD_FORMAT_KIMI, GUARD_FORMAT_PLUGIN } GuardFormat;
typedef struct GuardVendor {             /* a row of guard/vendors.def */
    const char *project, *user, *managed;
    GuardFormat format;
    const char *timeout_key;
    int timeout_ms;
    const char *closed, *root_variable, *install;
} GuardVendor;
const GuardVendor *guard_vendor(Vendor v);               /* NULL for VENDOR_HARNESS */

typedef enum GuardEvent {
    GUARD_EVENT_UNKNOWN, GUARD_EVENT_CALL, GUARD_EVENT_PERMISSION, GUARD_EVENT_PROMPT, GUARD_EVENT_RESULT, GUARD_EVENT_STOP, GUARD_EVENT_NOTE,
    GUARD_EVENT_SHELL, GUARD_EVENT_MCP, GUARD_EVENT_READ, GUARD_EVENT_AGENT,
} GuardEvent;
GuardEvent guard_event_find(Vendor v, Str name);
bool guard_event_calls(GuardEvent e);                    /* a tool call is waiting for the answer */

/* ---- envelopes ---- */

enum { GUARD_INPUT_MAX = 4 << 20 };                      /* bytes of an envelope; a longer one is refused */

typedef struct GuardEnvelope {
    Vendor vendor;                       /* whose envelope it is */
    bool mismatch;                       /* the envelope is from another vendor than the command line says: answer with an exit status and no JSON */
    GuardEvent event;
    Str event_name;                      /* as the vendor spells it */
    Str session, call_id, cwd, mode, tool, server;       /* "" if absent */
    Str prompt;                          /* the user's message; at a stop: the agent's answer */
    Value input;                         /* the arguments, a dict; GONE: none */
    Value result;                        /* of the call; GONE: none */
    Value roots;                         /* workspace_roots; GONE: none */
    Value whole;                         /* the envelope itself, a dict; GONE: it could not be read */
    bool stop_active;                    /* the agent is still running because a hook refused an earlier stop */
    bool attended;                       /* a person can be asked in this mode */
    bool camel;                          /* Copilot's own form, not Claude's */
} GuardEnvelope;

/* Reads an envelope. `said`: the vendor of the command line; VENDOR_HARNESS: recognise it by the envelope (`auto`). `event`: from the command
 * line, for vendors that do not name it; "": none. Unknown fields and values are ignored; a missing tool name, an unknown event, an envelope
 * of an unsupported agent or text that is not JSON is an error. Even then *out has the vendor and event, as far as they are known, so that the
 * refusal has the right format. Strings live in `heap`. */
bool guard_envelope_read(Str text, Vendor said, Str event, Heap *heap, GuardEnvelope *out, Error *err);

/* ---- calls ---- */

typedef struct GuardCall {
    Str tool;                            /* in our vocabulary: "bash", "mcp:SERVER:TOOL" */
    Str vendor_tool;
    CallKind kind;
    Value args;                          /* with our names of fields */
    Str path;                            /* file kinds and searches: relative to the root if inside of it, else absolute; links resolved. "": none */
    Str absolute;                        /* the same, absolute */
    Str written;                         /* the path as the agent wrote it */
    Str filter;                          /* a search: the pattern of file names, absolute; "": none */
    Str cwd;                             /* a shell command: the folder that it starts in, absolute */
    Str command, url;                    /* at NULL: none, or unknown */
    const char *fields;                  /* names of fields: a row of tools.def; NULL: none */
    bool unknown;                        /* the tool is not in the table and not known to belong to an MCP server */
    bool any_server;                     /* "mcp:?:TOOL": the agent does not say which server */
} GuardCall;
typedef struct GuardCalls { GuardCall *at; size_t n; } GuardCalls;        /* each call must pass. An ambiguous name gives one call for each reading */

/* The calls of an envelope. A patch is one call for each file. `root` is absolute. On an error the effect of the call is unknown, and the
 * caller must refuse it. */
bool guard_calls(const GuardEnvelope *e, Str root, Heap *heap, Arena *arena, GuardCalls *out, Error *err);
/* The vendor's arguments after a hook changed args of call `c` to `now`; an error: the change cannot be expressed. */
bool guard_calls_input(const GuardEnvelope *e, const GuardCall *c, Value now, Str root, Heap *heap, Value *out, Error *err);

/* A file of a patch in the format of apply_patch. */
typedef enum GuardPatchKind { GUARD_PATCH_ADD, GUARD_PATCH_UPDATE, GUARD_PATCH_DELETE } GuardPatchKind;
typedef struct GuardPatchFile {
    GuardPatchKind kind;
    Str path, to;                        /* to: the new name of an updated file; "": the same */
    Str added;                           /* the lines of an added file, with their marks */
} GuardPatchFile;
typedef struct GuardPatch { GuardPatchFile *at; size_t n; } GuardPatch;
/* Strings point into `text`. Strict: everything that a vendor could read differently is an error. */
bool guard_patch_read(Str text, Arena *arena, GuardPatch *out, Error *err);

/* The absolute path of `path` seen from the folder `from`, with `..` and links resolved as far as the files exist; "~/" is the home folder. */
Str guard_path_resolve(Str path, Str from, Arena *arena);
Str guard_path_relative(Str absolute, Str root);         /* `absolute` itself outside of the root; "." for the root */

/* ---- answers ---- */

typedef enum GuardVerdict { GUARD_PASS, GUARD_ALLOW /* a rule in the user's or the machine's policy allows it */, GUARD_ASK, GUARD_DENY } GuardVerdict;
const char *guard_verdict_name(GuardVerdict v);          /* "allow", "allow", "ask", "deny" */

enum { GUARD_REASON_MAX = 1024 };
typedef struct GuardAnswer { Buf out, err; int status; } GuardAnswer;
/* The bytes and the exit status for a verdict. What the vendor cannot express becomes a refusal. `changed`: the vendor's arguments, or the
 * text that replaces a result; GONE: unchanged. Returns the verdict as answered. */
GuardVerdict guard_answer(const GuardEnvelope *e, GuardVerdict v, Str reason, Value changed, GuardAnswer *out);
void guard_answer_clear(GuardAnswer *a);
bool guard_answer_asks(const GuardEnvelope *e);          /* the vendor can ask its user here */
/* One line of at most GUARD_REASON_MAX bytes without control or deceptive characters; never empty. */
void guard_reason_clean(Str reason, Buf *out);

/* ---- the process ---- */

/* Arms the deadline and the crash handler. `vendor`: as far as the command line says; VENDOR_HARNESS: unknown. */
void guard_fuse_arm(Vendor vendor, int64_t deadline_ms);
void guard_fuse_prepare(const GuardEnvelope *e);         /* sets the refusal that they write */
/* Writes the answer, unless the deadline has. Afterwards a crash or the deadline ends the process with the answer's exit status. */
void guard_fuse_write(const GuardAnswer *a);
int guard_fuse_status(void);                             /* the exit status after guard_fuse_write */

enum { GUARD_DEADLINE_MS = 20000 };
/* The whole hook process: argv after "guard". Does not return 1. */
int guard_hook(int argc, char **argv);
/* True if these arguments of the program are those of a hook: `guard VENDOR …`. */
bool guard_is_hook(int argc, char **argv);
