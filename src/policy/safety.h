/* Safety metadata: what a tool can do, declared or detected; the stricter of the two holds (tools.md, "Safety metadata"). */
#pragma once
#include "artifact/project.h"
#include "base/regex.h"

typedef enum { SAFETY_FILES_NONE, SAFETY_FILES_READ, SAFETY_FILES_WRITE } SafetyFiles;

typedef struct Safety {
    bool read_only, destructive, idempotent, networked, process, spends_money, requires_confirmation, parallel_safe;
    SafetyFiles files;
    Str workspace_root;
    StrList redact;                      /* patterns, as written; checked to compile */
} Safety;

/* What the definition can do by itself: from its kind, and for a script from the host functions it can reach. */
void safety_detect(const ToolDef *def, Safety *out);
/* Detection and declaration together. A declaration looser than what is detected is a problem at its place (and an error of
 * `validate`); *out is the stricter of both anyway. `arena` holds the strings. `problems` may be NULL. */
bool safety_of(const ToolDef *def, Arena *arena, Safety *out, Problems *problems);
bool safety_has(const Safety *s, Str property);               /* by name, as in limits.confirm and limits.deny; "mutating" too */
bool safety_mutating(const Safety *s);
Value safety_value(const Safety *s, Heap *heap, Error *err);  /* the dict that hooks and listings see */
