/* The user's approvals in a run: for one tool with given arguments, or for any call of a tool. Thread-safe. */
#pragma once
#include "base/str.h"

typedef struct Approvals Approvals;

Approvals *approval_list_new(void);
void approval_list_free(Approvals *a);
/* Compares arguments as text, so callers must write them in canonical form (json_write with
 * sort_keys). */
bool approval_given(Approvals *a, Str tool, Str args_json);
void approval_add(Approvals *a, Str tool, Str args_json);     /* args empty: any arguments */
/* In chronological order, for storing them with a session. `each` must not add approvals. */
/* True if any component of a resolved path is a sensitive name (sensitive.def); ignores case. */
bool approval_sensitive(Str path);
/* True if the path is AGENTS.md or CLAUDE.md in any folder: its text becomes part of a system prompt. */
bool approval_brief(Str path);
