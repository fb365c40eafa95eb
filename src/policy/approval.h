/* What a person has agreed to in a run: once, these arguments, or the tool. Any thread. */
#pragma once
#include "base/str.h"

typedef struct Approvals Approvals;

Approvals *approval_list_new(void);
void approval_list_free(Approvals *a);
/* Arguments are compared as text: give them in one form (json_write with sort_keys). */
bool approval_given(Approvals *a, Str tool, Str args_json);
void approval_add(Approvals *a, Str tool, Str args_json);     /* args empty: whatever they are */
/* In order of time, for keeping them with a session. `each` must not add. */
void approval_each(Approvals *a, void (*each)(void *ctx, Str tool, Str args_json), void *ctx);
/* Sensitive names (sensitive.def), case-blind, on a resolved path: any part of it. */
bool approval_sensitive(Str path);
