/* What a person has agreed to in a run: once, these arguments, or the tool. */
#pragma once
#include "base/str.h"

typedef struct Approvals Approvals;

Approvals *approval_list_new(void);
void approval_list_free(Approvals *a);
bool approval_given(Approvals *a, Str tool, Str args_json);
void approval_add(Approvals *a, Str tool, Str args_json);     /* args empty: whatever they are */
/* Sensitive names (.env*, credentials*, *.pem, *.key, id_*), case-blind, on a resolved path: any part of it. */
bool approval_sensitive(Str path);
