/* Runs, events, artifacts, tasks, hook counters, approvals and sessions in one SQLite file (WAL), outside the workspace.
 * Private (0600, its folder 0700). Any thread: one connection behind a lock, with prepared statements. A full disk, a locked or
 * damaged database is ERR_IO that names the file and what to do; nothing that was committed is lost. */
#pragma once
#include "base/cancel.h"
#include "event/event.h"

typedef struct Store Store;

/* Where a project's state is: HARNESS_STATE, else $XDG_STATE_HOME/harness/PROJECT-ID/harness.db. */
bool store_default_path(Str project_root, Buf *out, Error *err);
bool store_open(const char *path, bool sync_full, Store **out, Error *err);   /* makes folders and tables; refuses newer formats */
void store_close(Store *s);
const char *store_path(const Store *s);

/* Runs. A run is leased by (pid, start time) while it lives. */
typedef struct StoreRun { Str id, status, agent, parent; int64_t started_ns, ended_ns, turns, tool_calls; Str usage; } StoreRun;
bool store_run_start(Store *s, Str id, Str agent, Str session, Error *err);
bool store_run_lease(Store *s, Str id, Error *err);          /* ERR_POLICY when a live process holds it */
bool store_run_end(Store *s, const StoreRun *run, Error *err);
bool store_run_each(Store *s, bool (*each)(void *ctx, const StoreRun *run), void *ctx, Error *err);   /* newest first */
bool store_run_find(Store *s, Str id_or_prefix, Buf *id, Error *err);

EventSink store_event_sink(Store *s);                        /* borrows s; durable before it returns for tool.executing and results */
bool store_event_each(Store *s, Str run, uint64_t from, bool (*each)(void *ctx, const Event *e), void *ctx, Error *err);

/* Artifacts: large results, readable within their own run only. key: "art_" and 12 characters. */
bool store_artifact_put(Store *s, Str run, Str tool, Str mime, Str bytes, Buf *key, Error *err);
bool store_artifact_get(Store *s, Str run, Str key, uint64_t offset, uint64_t limit, Buf *out, uint64_t *total, Error *err);
bool store_artifact_each(Store *s, Str run, bool (*each)(void *ctx, Str key, Str tool, Str mime, uint64_t size), void *ctx, Error *err);

/* Background tasks: status running, done, failed, cancelled; result is the JSON of a Result. */
bool store_task_put(Store *s, Str run, Str task, Str tool, Str status, Str result, Error *err);
bool store_task_get(Store *s, Str run, Str task, Buf *status, Buf *result, Error *err);

/* Hook counters, added up over runs. */
typedef struct StoreHook { Str hook; uint64_t calls, blocks, errors, ns; } StoreHook;
bool store_hook_add(Store *s, const StoreHook *counts, size_t n, Error *err);
bool store_hook_each(Store *s, bool (*each)(void *ctx, const StoreHook *h), void *ctx, Error *err);

/* Named texts of a session (its reads, approvals, cache as JSON) and of the project (MCP pins and approvals). scope "session:ID", "mcp" … */
bool store_note_put(Store *s, Str scope, Str key, Str text, Error *err);
bool store_note_get(Store *s, Str scope, Str key, Buf *out, bool *found, Error *err);
bool store_note_delete(Store *s, Str scope, Str key, Error *err);
