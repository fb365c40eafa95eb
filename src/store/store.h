/* Runs, events, artifacts, tasks, hook counters, approvals and sessions in one SQLite file (WAL), outside the
 * workspace, private (mode 0600, folder 0700), or in a PostgreSQL database. Thread-safe: one connection behind a lock, with prepared statements. A
 * full disk, a locked or damaged file or a server that does not answer is ERR_IO that names the store and what to do; committed data is not lost.
 * The first store_open loads SQLite or libpq. The …_each functions continue while `each` returns true; `each` may use the
 * store. */
#pragma once
#include "base/arena.h"
#include "base/cancel.h"
#include "event/event.h"

typedef struct Store Store;

/* Folders that only harness may access: $XDG_STATE_HOME/harness and $XDG_CONFIG_HOME/harness, or their defaults below
 * HOME. NULL ends the list; the arena owns it. */
const char *const *store_private_folders(Arena *arena);
/* The state file of a project: HARNESS_STATE if it is a path, else $XDG_STATE_HOME/harness/PROJECT-ID/harness.db. Overwrites *out. */
bool store_default_path(Str project_root, Buf *out, Error *err);
/* What store_open gets for a project: `given`, else HARNESS_STATE, else `url`, else the state file. A URL is followed by # and the name of the project,
 * `project` or PROJECT-ID. All but `root` may be NULL or "". Overwrites *out. */
typedef struct StoreLocation { Str root; const char *given, *url; Str project; } StoreLocation;
bool store_location(const StoreLocation *l, Buf *out, Error *err);
bool store_is_url(const char *location);                     /* postgresql://… or postgres://…: a location that is not a file */
bool store_url_check(Str url, Error *err);                   /* ERR_CONFIG: of another kind, or it contains a password. Loads no library */
/* Calls `each` with the passwords in a location and in PGPASSWORD, decoded, for a redactor. */
void store_url_secrets(const char *location, void (*each)(void *ctx, Str secret), void *ctx);
void store_url_show(const char *location, Buf *out);         /* appends it without password, options and project */
/* Creates or updates the tables of a database, which store_open never does. One process at a time. *from is 0 for a database without them. */
bool store_migrate(const char *location, int *from, int *to, Error *err);
/* Copies a state file into a database, all or nothing; tokens of OAuth and decisions of guard stay behind. `from` must be a file, `to` a
 * database. ERR_POLICY: a run is in use, or the project has runs there already. */
typedef struct StoreCopied { uint64_t runs, events, artifacts; } StoreCopied;
bool store_copy(Store *from, Store *to, StoreCopied *out, Error *err);
/* The user's state folder, $XDG_STATE_HOME or ~/.local/state, and the name of a project's folder in it: NAME-HASH. Both
 * append. */
bool store_state_home(Buf *out, Error *err);
void store_project_id(Str real_root, Buf *out);
/* `path` is a file or a URL (store_location). For a file: creates folders and tables. Rejects files of a newer harness and databases of
 * other programs. Migrates a file of an older format after copying it to FILE-formatN. ":memory:" is a store that ends with store_close. */
bool store_open(const char *path, bool sync_full, Store **out, Error *err);
void store_close(Store *s);                                  /* also releases all its leases; NULL is fine */

/* Runs. A live run is leased: by a lock that ends with the process, and by pid, start time and boot id, which identify
 * the holder. status: running, or as set by store_run_end; store_run_each reports "interrupted" for a running one whose
 * process is gone. */
typedef struct StoreRun {
    Str id, status, agent, parent, session, title;                            /* parent: the run that it was forked from */
    int64_t started_ns, ended_ns, turns, tool_calls;
    Str usage;
    double cost;
} StoreRun;
bool store_run_start(Store *s, Str id, Str agent, Str session, Error *err);   /* new, and leased */
bool store_run_lease(Store *s, Str id, Error *err);          /* to resume it. ERR_POLICY when another process holds it;
                                                              * may be repeated */
/* True if the lease of this process ended or is about to end: others may take its runs, and the caller must end them. Never with SQLite. */
bool store_lost(Store *s);
bool store_run_end(Store *s, const StoreRun *run, Error *err);                /* ended_ns 0: now. Releases the lease */
bool store_run_title(Store *s, Str id, Str title, Error *err);                /* the start of its first prompt; ignored
                                                                               * if already set */
bool store_run_each(Store *s, bool (*each)(void *ctx, const StoreRun *run), void *ctx, Error *err);   /* newest first */
/* Calls `each` with the run; *found is false, and `each` is not called, if there is none. */
bool store_run_get(Store *s, Str id, bool (*each)(void *ctx, const StoreRun *run), void *ctx, bool *found, Error *err);
bool store_run_status(Store *s, Str id, Buf *status, Error *err);             /* overwrites *status; ERR_VALIDATION: no such run */
/* Makes run `id` from another one: the events up to the end of a turn (0: of the last one that ended), with their artifacts under new keys, media,
 * finished tasks, and an event run.forked. Questions, answers and the session stay behind. The caller resumes the new run. ERR_VALIDATION: no such run
 * or turn. */
typedef struct StoreFork { Str from, id, agent; int64_t turn; } StoreFork;
typedef struct StoreForked { int64_t turn; uint64_t last; } StoreForked;      /* last: the number of the last event that was copied */
bool store_run_fork(Store *s, const StoreFork *f, StoreForked *out, Error *err);
/* By id, by the beginning or the end of one, or "last": the newest with a prompt. Else ERR_VALIDATION: no such run, or more than one. */
bool store_run_find(Store *s, Str id_or_prefix, Buf *id, Error *err);

/* Events. The sink queues them in memory, and a flush writes the whole queue in one transaction, which is never open
 * during a wait. store_flush returns when every event queued before the call is committed: callers that must not lose
 * an event call it. Others are written a few milliseconds later, and kill -9 loses them. After a failed flush,
 * appending also fails until one succeeds. */
EventSink store_event_sink(Store *s);                        /* borrows s */
bool store_flush(Store *s, Error *err);
bool store_event_each(Store *s, Str run, uint64_t from, bool (*each)(void *ctx, const Event *e), void *ctx, Error *err);
bool store_event_last(Store *s, Str run, uint64_t *seq, Error *err);          /* 0: the run has no events */

/* Checks that the events of a run are unchanged: the hash of each event covers the event and the previous hash (store_chain.h), and the run stores
 * the hash of its last event. `each` is called for each mismatch. `hash` is the run's. In a run of an earlier format the first `unchained` events have
 * no hashes; !chained: none has one. */
typedef enum { STORE_BREAK_CHANGED, STORE_BREAK_REMOVED, STORE_BREAK_INSERTED, STORE_BREAK_HEAD } StoreBreakKind;
typedef struct StoreBreak { StoreBreakKind kind; uint64_t from, to; } StoreBreak;        /* numbers of events; HEAD: the hash of the run was changed */
typedef struct StoreChecked { uint64_t events, unchained, breaks; bool chained; uint8_t hash[32]; } StoreChecked;
bool store_run_verify(Store *s, Str run, StoreChecked *out, bool (*each)(void *ctx, const StoreBreak *b), void *ctx, Error *err);
bool store_event_strays(Store *s, uint64_t *n, Error *err);                   /* events whose run is not in the store */

/* Removes a run with its events, artifacts, tasks, media, questions and commands, all or nothing. Keeps the number and hash of its last event.
 * ERR_POLICY: it is running. Keeps sessions and permanent approvals, because other runs use them. */
bool store_run_prune(Store *s, Str run, Error *err);
typedef struct StorePruned { Str run; int64_t ended_ns; uint64_t last; Str hash; } StorePruned;   /* hash: 32 bytes, or "" */
bool store_pruned_each(Store *s, bool (*each)(void *ctx, const StorePruned *p), void *ctx, Error *err);
/* Keeps the runs within `max` bytes: removes ended runs, the oldest first, until a tenth is free. Running and interrupted runs stay. over: that was not
 * enough. */
typedef struct StoreBounded { size_t removed; bool over; } StoreBounded;
bool store_bound(Store *s, int64_t max, StoreBounded *out, Error *err);
bool store_read_size(const char *text, int64_t *bytes, Error *err);           /* 500M, 2G; at least 1M */
bool store_shrink(Store *s, Error *err);                                      /* rewrites the file without free pages */

/* Artifacts: large results, readable within their own run only. key: "art_" and 12 characters. get overwrites *out; a
 * key unknown in this run is ERR_VALIDATION. */
bool store_artifact_put(Store *s, Str run, Str tool, Str mime, Str bytes, Buf *key, Error *err);
bool store_artifact_get(Store *s, Str run, Str key, uint64_t offset, uint64_t limit, Buf *out, uint64_t *total, Error *err);

/* Background tasks: status running, done, failed, cancelled; result is the JSON of a Result. */
bool store_task_put(Store *s, Str run, Str task, Str tool, Str status, Str result, Error *err);
bool store_task_get(Store *s, Str run, Str task, Buf *status, Buf *result, Error *err);   /* ERR_VALIDATION: no such task */

/* Questions about calls, which any process may answer: state open, answered, used or withdrawn. The first answer counts. `answer` is the JSON
 * object passed to store_approval_answer, `by` the user who gave it. */
typedef struct StoreApproval {
    Str id, run, call, tool, args, args_hash, why, rule;
    int64_t asked_ns, expires_ns;                            /* expires_ns 0: never */
    Str state, answer, by;
} StoreApproval;
/* Asks q->id, or asks it again after a crash: an open question that expires keeps its time. If its answer was used already, this is a new question, and
 * *id gets a number appended. An answer that arrived while no process waited is found by store_approval_get. Withdraws an open question of the same
 * call that asked about something else. */
bool store_approval_ask(Store *s, const StoreApproval *q, Buf *id, Error *err);
bool store_approval_get(Store *s, Str id, bool (*each)(void *ctx, const StoreApproval *a), void *ctx, Error *err);   /* no such row: `each` is not called */
/* *first: the question was open and not expired, and this answer was stored. A queued run that waits for it becomes ready. */
bool store_approval_answer(Store *s, Str id, Str answer, Str by, bool *first, Error *err);
bool store_approval_use(Store *s, Str id, bool *used, Error *err);            /* *used: answered, and marked as used: no other call can use it */
bool store_approval_withdraw(Store *s, Str id, Error *err);                   /* only if the question is open */
bool store_question_open(Store *s, Str id, bool *open, Error *err);           /* of a question or a dialog (store_dialog.h); unknown: unchanged */
bool store_approval_each(Store *s, bool (*each)(void *ctx, const StoreApproval *a), void *ctx, Error *err);   /* the open ones, oldest first */
/* By id, or by the beginning of one. Else ERR_VALIDATION: no such question, or more than one. */
bool store_approval_find(Store *s, Str id_or_prefix, Buf *id, Error *err);

/* What the process that asks tells others about a question: the text that it shows of the call, and a JSON object {"agent": …, "permits": …}. Questions with
 * a number appended have those of the newest one. */
typedef enum { STORE_QUESTION_SHOWN, STORE_QUESTION_ABOUT } StoreQuestionNote;
bool store_question_note_put(Store *s, Str run, Str id, StoreQuestionNote what, Str text, Error *err);
bool store_question_note_get(Store *s, Str run, Str id, StoreQuestionNote what, Buf *out, bool *found, Error *err);

/* Commands to a run: kind "cancel" or "message". Numbered from 1 in each run. */
typedef struct StoreCommand { int64_t n; Str kind, body, by; } StoreCommand;
bool store_command_put(Store *s, Str run, Str kind, Str body, Str by, Error *err);
bool store_command_each(Store *s, Str run, int64_t after, bool (*each)(void *ctx, const StoreCommand *c), void *ctx, Error *err);
/* A number that changes when another connection has written to the file: a cheap check before reading the tables. */
bool store_version(Store *s, int64_t *out, Error *err);
bool store_version_counts_all(const Store *s);               /* false, in a database: it changes only with answers and commands */

/* Hook counters, added up over runs. */
typedef struct StoreHook { Str hook; uint64_t calls, blocks, errors, ns; } StoreHook;
bool store_hook_add(Store *s, const StoreHook *counts, size_t n, Error *err);
bool store_hook_each(Store *s, bool (*each)(void *ctx, const StoreHook *h), void *ctx, Error *err);

/* Named texts of a session (its reads, approvals, cache as JSON) and of the project (MCP pins and approvals). scope:
 * "session:ID", "mcp" … */
bool store_note_put(Store *s, Str scope, Str key, Str text, Error *err);
bool store_note_get(Store *s, Str scope, Str key, Buf *out, bool *found, Error *err);
bool store_note_delete(Store *s, Str scope, Str key, Error *err);               /* succeeds also when there is none */
bool store_note_each(Store *s, Str scope, bool (*each)(void *ctx, Str key, Str text), void *ctx, Error *err);
