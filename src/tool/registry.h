/* Tools by name: the project's, the built-in ones, those of MCP servers, of an embedder, and those registered at run time.
 * Entries are never removed or changed while the registry lives, so a found entry may be used without a lock. */
#pragma once
#include "artifact/project.h"
#include "policy/safety.h"

typedef struct Registry Registry;
typedef struct ToolEntry ToolEntry;
struct ToolCallFrame;                    /* tool/kind.h */

/* Executes a call that passed every gate. Fills frame->value (or frame->error). */
typedef bool ToolExecute(struct ToolCallFrame *frame, Error *err);

struct ToolEntry {
    ToolDef def;                         /* a copy; its values are in frozen heaps */
    Safety safety;
    ToolExecute *execute;
    void *data;                          /* of the executor */
    Str scope;                           /* a run's id when registered at run time, an agent's name when private; empty: everybody's */
    bool held;                           /* an MCP tool whose description changed: refused until approved */
    int64_t failures;                    /* see tool/repeat.c */
};

Registry *registry_new(void);
void registry_free(Registry *r);
/* Copies the entry; strings and values are borrowed for the registry's life. Fails when a name or alias is taken. Any thread. */
bool registry_add(Registry *r, const ToolEntry *entry, Error *err);
/* By canonical name or alias, among those visible in `scopes`. NULL: none. */
const ToolEntry *registry_find(Registry *r, Str name, const Str *scopes, size_t n_scopes);
Str registry_nearest(Registry *r, Str name, const Str *scopes, size_t n_scopes);   /* for "did you mean"; empty: none */
size_t registry_list(Registry *r, const Str *scopes, size_t n_scopes, const ToolEntry ***out);   /* in order of registration; free() it */
