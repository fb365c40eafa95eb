/* Safety metadata: what a tool can do, declared or detected; the stricter of the two applies (tools.md, "Safety
 * metadata"). */
#pragma once
#include "artifact/project.h"
#include "base/regex.h"

typedef enum { SAFETY_FILES_NONE, SAFETY_FILES_READ, SAFETY_FILES_WRITE } SafetyFiles;

typedef struct Safety {
    bool read_only, destructive, idempotent, networked, process, spends_money, requires_confirmation, parallel_safe;
    SafetyFiles files;
    Str workspace_root;
    StrList redact;                      /* patterns as written; they compile, as load has checked */
} Safety;

/* Detects what a definition can do: from its kind, and for a script from the host functions it can reach
 * (safety_host.def); built-in tools are listed in safety_builtin.def. Unknown code counts as able to do
 * everything. */
void safety_detect(const ToolDef *def, Safety *out);

/* Combines detection and declaration. A declaration looser than the detection adds a problem at its position (an error
 * of `validate`) and returns false; *out is the stricter of both in any case. `arena` holds the lists. `problems` may
 * be NULL. parallel_safe cannot be detected, so the declaration counts (undeclared: only a read-only tool is). The same
 * holds for all flags of a native tool (or of a file whose script a program supplies). `idempotency: idempotent` or
 * `key` makes a tool idempotent; safety.idempotent alone cannot. */
bool safety_of(const ToolDef *def, Arena *arena, Safety *out, Problems *problems);
/* The same, but trusts the declaration: for MCP tools of a server with `trust: annotations`. */
void safety_trusted(const ToolDef *def, Arena *arena, Safety *out);
/* Position of a key of the tool's safety map, for messages; the position of the tool if the key is absent. */
Place safety_place(const ToolDef *def, const char *key);
/* Checks all tools of a project. False if it added a problem. */
bool safety_check(const Project *p, Problems *problems);

/* Looks up a property by name, as in limits.confirm and limits.deny: a flag, "mutating", or "filesystem" (any access).
 * Unknown names: false. */
bool safety_has(const Safety *s, Str property);
bool safety_mutating(const Safety *s);
/* True if calls of the tool change nothing, by what was detected and not only declared. The declaration alone counts for the tools of an MCP server
 * with `trust: annotations` and for native tools, whose code cannot be analysed. */
bool safety_only_reads(const ToolDef *def, const Safety *s);
/* True if a call that failed or whose outcome is unknown may be repeated. Retries, resumed runs and MCP calls to a
 * restarted server all use this function. False for a tool that is declared or detected as destructive, spending money
 * or mutating, and for one that declares `idempotency: none` or `idempotent: false`, unless it also declares
 * `idempotent: true` or `idempotency: idempotent` or `key`. A missing `idempotency` does not prevent repeating a
 * read-only tool. */
bool safety_repeatable(const Safety *s);
/* The dict that hooks and listings see, with all flags; workspace_root and redact only where given. GONE when the heap is full. */
Value safety_value(const Safety *s, Heap *heap, Error *err);
