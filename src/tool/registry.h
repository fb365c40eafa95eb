/* Tools by name: the project's, the built-in ones, those of MCP servers, of an embedder, and those registered at run time.
 * Entries never change, and only those of a run are ever removed, when it has ended: a found entry may be used without a lock. */
#pragma once
#include "artifact/project.h"
#include "policy/redact.h"
#include "policy/safety.h"

typedef struct Registry Registry;
typedef struct ToolEntry ToolEntry;
struct ToolCallFrame;                    /* tool/kind.h */

/* Executes a call that passed every gate, under frame->cancel. Fills frame->value; false with *err is an error result too. */
typedef bool ToolExecute(struct ToolCallFrame *frame, Error *err);

/* Looks at the final arguments, after the hooks and before anything runs. False refuses the call (*err says why). Filling `why`
 * asks for a person's agreement; `shown` is what that person sees (a command, a diff), raw: the asker escapes it. */
typedef struct ToolInspection {
    char why[256];
    Buf shown;
    bool asked;                          /* given: a person is asked anyway, so `shown` is wanted */
    Buf path;                            /* the resolved path that was judged; the executor may go to no other; empty: none */
} ToolInspection;
typedef bool ToolInspect(struct ToolCallFrame *frame, ToolInspection *out, Error *err);

/* What a tool is for that is only shown when something needs it. */
typedef enum { SERVICE_NONE, SERVICE_TASKS, SERVICE_ARTIFACTS } ToolService;
/* Which of the delegation tools it is: waits for the other agent, starts it in the background, or asks about one that was started. */
typedef enum { DELEGATES_NOT, DELEGATES_AND_WAITS, DELEGATES_IN_BACKGROUND, DELEGATES_ASKS } ToolDelegates;

struct ToolEntry {
    ToolDef def;                         /* a copy; its values are in frozen heaps */
    Safety safety;
    ToolExecute *execute;
    ToolInspect *inspect;                /* NULL: nothing to add */
    void *data;                          /* of the executor */
    Redactor *redact;                    /* patterns of safety.redact; NULL: none. The registry's */
    const struct ToolRoot *root;         /* confine.h; NULL: the whole workspace */
    Str scope;                           /* a run's id when registered at run time, an agent's name when private; empty: everybody's */
    ToolService service;
    ToolDelegates delegates;
    bool fills;                          /* its parameters have defaults; set by the registry */
    bool held;                           /* an MCP tool whose description changed: refused until approved */
    void (*recheck)(void *data);         /* asked about a held one that is called or listed: puts another in its place when it was approved; may be NULL */
};

Registry *registry_new(void);
void registry_free(Registry *r);
/* Copies the entry; strings and values are borrowed for the registry's life. Fails when a name or alias is taken by a tool that
 * is visible together with it, or when a pattern of safety.redact does not compile. Any thread. */
bool registry_add(Registry *r, const ToolEntry *entry, Error *err);
/* A project's definition that has no script yet ("has no implementation") gets one. Any thread. */
bool registry_implement(Registry *r, Str name, ToolExecute *execute, void *data, Error *err);
/* Refuses calls of a tool (ToolEntry.held), or lets them pass again. Unknown names are fine. Any thread. */
void registry_hold(Registry *r, Str name, bool held);
/* Puts another definition in the place of the one with this name and `data`, with the same aliases and patterns. Any thread. */
void registry_redefine(Registry *r, const ToolEntry *entry);
void registry_drop(Registry *r, Str scope);                  /* everything registered by a run that has ended */
/* By canonical name or alias, among everybody's and those of `scopes`. NULL: none. Any thread. */
const ToolEntry *registry_find(Registry *r, Str name, const Str *scopes, size_t n_scopes);
/* May a resumed run make a call of it again that was under way? It may be repeated, or it is `delegate`, which goes on where the
 * sub-agent was. */
bool tool_may_resume(const ToolEntry *e);
Str registry_nearest(Registry *r, Str name, const Str *scopes, size_t n_scopes);   /* for "did you mean"; empty: none */
size_t registry_list(Registry *r, const Str *scopes, size_t n_scopes, const ToolEntry ***out);   /* in order of registration; free() it */
