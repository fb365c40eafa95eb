/* Private to the files of the simulator. */
#pragma once
#include "doors/simulate.h"
#include "guard/layers.h"
#include "tool/pipeline/judge.h"
#include "value/dict.h"

typedef struct SimulateRequest {         /* zero-initialise, simulate_request_clear at the end */
    VEC(Draft) drafts;                   /* texts in the heap */
    int64_t limit;
    Heap *heap;
} SimulateRequest;

bool simulate_request_read(Str text, SimulateRequest *out, Error *err);
void simulate_request_clear(SimulateRequest *r);

/* ---- simulate.c ---- */
bool simulate_in_time(Cancel *cancel, size_t at, size_t of, Str tool, Error *err);           /* call `at` of `of` was judged */
void simulate_add_text(Buf *out, const char *key, Str text);                                 /* ,"key":"text"; null without a text */
void simulate_add_verdicts(Buf *out, const ToolJudgement *recorded, const ToolJudgement *before, const ToolJudgement *after);

/* ---- simulate_guarded.c: calls of other agents, judged as `harness guard` judges them ---- */
typedef struct SimulateGuardedRow {
    int64_t n, time_ns;
    Vendor vendor;
    Str session, call, event, tool, vendor_tool;
    Str input;                           /* the envelope as it was stored */
    ToolJudgement recorded, before, after;
    bool outside;                        /* the machine's or the user's policy took part in `after` */
} SimulateGuardedRow;

typedef struct SimulateGuarded {         /* zero-initialise, simulate_guarded_clear at the end */
    VEC(SimulateGuardedRow) rows;        /* newest first */
    size_t without;                      /* calls whose arguments were not stored */
    bool truncated;
    Arena arena;
    GuardLayer layers[GUARD_LAYERS];
    Error refused;                       /* why the layers cannot be read */
} SimulateGuarded;

/* Reads at most `limit` calls that the project in `root` has decided about. */
bool simulate_guarded_read(SimulateGuarded *g, Store *store, Str root, int64_t limit, Error *err);
/* `after` NULL: there is no draft, and `before` is what was recorded. `done` of `of` calls were judged already. */
bool simulate_guarded_judge(SimulateGuarded *g, Runtime *before, Runtime *after, Cancel *cancel, size_t done, size_t of, Error *err);
void simulate_guarded_add(const SimulateGuardedRow *row, Str root, Buf *out);
void simulate_guarded_clear(SimulateGuarded *g);
