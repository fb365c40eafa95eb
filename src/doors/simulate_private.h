/* Private to the files of the simulator. */
#pragma once
#include "doors/simulate.h"
#include "value/dict.h"

typedef struct SimulateRequest {         /* zero-initialise, simulate_request_clear at the end */
    VEC(Draft) drafts;                   /* texts in the heap */
    int64_t limit;
    Heap *heap;
} SimulateRequest;

bool simulate_request_read(Str text, SimulateRequest *out, Error *err);
void simulate_request_clear(SimulateRequest *r);
