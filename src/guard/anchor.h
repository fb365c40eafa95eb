/* The end of the chain of decisions, written elsewhere: a program that can write the store can compute a new chain, but cannot change what the system's
 * log or a file of another owner says (audit.anchor in guard.md). */
#pragma once
#include "guard/layers.h"
#include "store/store_decision.h"

/* Writes the number and hash of the last decision of the store at `path` where the layers say: "TIME decision N HASH PATH" in a file, or the same
 * without the time in the system's log. Nothing to do if no layer has an anchor. */
bool guard_anchor_write(const GuardLayer *layers, size_t n_layers, Store *store, const char *path, Error *err);

typedef struct GuardAnchored { int64_t number; bool differs; } GuardAnchored;   /* number 0: the file does not name the store */
/* Compares the store (NULL: there is none any more) with the last line about it in the file `anchor`. */
bool guard_anchor_check(Str anchor, Store *store, const char *path, GuardAnchored *out, Error *err);
static inline bool guard_anchor_is_file(Str anchor) { return anchor.n && anchor.at[0] == '/'; }
