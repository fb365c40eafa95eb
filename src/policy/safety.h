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

/* What the definition can do by itself: from its kind, and for a script from the host functions it can reach
 * (safety_host.def); built-in tools say it in safety_builtin.def. What is not known may do everything. */
void safety_detect(const ToolDef *def, Safety *out);

/* Detection and declaration together. A declaration looser than what is detected is a problem at its place (an error of
 * `validate`) and false; *out is the stricter of both anyway. `arena` holds the lists. `problems` may be NULL.
 * parallel_safe is a promise that nothing can detect, so it counts as declared (undeclared: only a read-only tool is); so does everything that is said of
 * a native tool (or of a file whose script a program supplies). `idempotency: idempotent` or `key` makes a tool idempotent; safety.idempotent alone cannot. */
bool safety_of(const ToolDef *def, Arena *arena, Safety *out, Problems *problems);
/* The same, but believed: for MCP tools of a server with `trust: annotations`. */
void safety_trusted(const ToolDef *def, Arena *arena, Safety *out);
/* Where a key of the tool's safety map is written, for messages; the tool's own place when it is not. */
Place safety_place(const ToolDef *def, const char *key);
/* All tools of a project. False when a problem was added. */
bool safety_check(const Project *p, Problems *problems);

/* By name, as in limits.confirm and limits.deny: a flag's name, "mutating", or "filesystem" (any access). Unknown names: false. */
bool safety_has(const Safety *s, Str property);
bool safety_mutating(const Safety *s);
/* May a call whose outcome is unknown or failed be made again? Retries, resumed runs and MCP calls to a restarted server all ask this
 * function. False for a tool that is declared or detected destructive, spending money or mutating, and for one that declares
 * `idempotency: none` or `idempotent: false`, unless it also declares `idempotent: true` or `idempotency: idempotent` or `key`. An absent
 * `idempotency` does not forbid repeating a read-only tool. */
bool safety_repeatable(const Safety *s);
/* The dict that hooks and listings see, with all flags; workspace_root and redact only where given. GONE when the heap is full. */
Value safety_value(const Safety *s, Heap *heap, Error *err);
