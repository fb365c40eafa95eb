/* Parts of the store, for programs that show it: pages of runs by key, artifacts, costs; and the JSON of what it holds. Every query reads a bounded
 * number of rows, however many there are. */
#pragma once
#include "store/store.h"
#include "store/store_decision.h"

/* `n` numbers the runs in the order in which they were stored. */
typedef bool StoreRunEach(void *ctx, int64_t n, const StoreRun *run);
/* Which runs a list shows. */
typedef struct StoreRunFilter {
    bool all;                     /* also runs without a prompt: those of `harness call` and of MCP clients */
    Str status, search;           /* empty: any. `search` is a part of the prompt, the agent's name or the id, in any case */
    Str agent;
    bool any_agent;
    int64_t since_ns;
} StoreRunFilter;
bool store_page_wanted(const StoreRunFilter *f, const StoreRun *r);

/* Runs with numbers below `before` (0: from the newest), newest first. */
bool store_page_runs(Store *s, int64_t before, size_t max, StoreRunEach *each, void *ctx, Error *err);
bool store_page_run_number(Store *s, Str id, int64_t *n, Error *err);         /* 0: there is no such run */

typedef struct StoreArtifact { Str key, tool, mime; int64_t time_ns, bytes; } StoreArtifact;
bool store_page_artifacts(Store *s, Str run, size_t max, bool (*each)(void *ctx, const StoreArtifact *a), void *ctx, Error *err);    /* oldest first */

/* Decisions of `harness guard` with numbers below `before` (0: from the newest), newest first. */
bool store_page_decisions(Store *s, int64_t before, size_t max, bool (*each)(void *ctx, const StoreDecision *d), void *ctx, Error *err);

/* Sums over the runs that started at or after `since_ns`: by day (UTC) or by agent, the largest key first. */
typedef struct StoreCost { Str key; int64_t runs, turns, tool_calls, input, output, cached; double cost; } StoreCost;
bool store_page_costs(Store *s, bool by_day, int64_t since_ns, size_t max, bool (*each)(void *ctx, const StoreCost *c), void *ctx, Error *err);

/* Adds the tool that a run without a prompt (harness call, an MCP client) called first; nothing for other runs. */
void store_page_tool(Store *s, const StoreRun *r, Buf *out);
/* As `harness runs --json` and `harness approvals --json` print them. `waiting`: store_page_waits. */
void store_page_run_json(Store *s, const StoreRun *r, Buf *out);
bool store_page_waits(Store *s, Str run);                    /* for a question of this run: its process waits, or a worker will use the answer */
void store_page_approval_json(Store *s, const StoreApproval *a, bool waiting, Buf *out);
void store_page_time(Buf *out, int64_t ns);                                   /* quoted, to the second; 0: null */
