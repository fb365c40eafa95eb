/* Tools by name: the project's, built-in ones, those of MCP servers and embedders, and those registered at run time.
 * Entries never change, and only those of an ended run are removed, so a found entry may be used without a lock. */
#pragma once
#include "artifact/project.h"
#include "policy/redact.h"
#include "policy/safety.h"

typedef struct Registry Registry;
typedef struct ToolEntry ToolEntry;
struct ToolCallFrame;                    /* tool/kind/kind.h */

/* Executes a call that passed every check, under frame->cancel. Sets frame->value; false with *err is also an error
 * result. */
typedef bool ToolExecute(struct ToolCallFrame *frame, Error *err);

/* Inspects the final arguments, after the hooks and before execution. False refuses the call (*err says why). A
 * non-empty `why` requires confirmation; `shown` is what the user sees (a command, a diff), unescaped. */
typedef struct ToolInspection {
    char why[256];
    Buf shown;
    bool judged;                         /* input: the call will not run, so only `why` and the verdict are wanted */
    bool asked;                          /* input: confirmation is needed anyway, so `shown` is wanted */
    Buf path;                            /* the resolved path that was checked; the executor may use no other; may be
                                          * empty */
} ToolInspection;
typedef bool ToolInspect(struct ToolCallFrame *frame, ToolInspection *out, Error *err);

/* The purpose of a tool that is listed only when needed. */
typedef enum { SERVICE_NONE, SERVICE_TASKS, SERVICE_ARTIFACTS } ToolService;
/* Which delegation tool it is: waits for the other agent, starts it in the background, or queries a started one. */
typedef enum { DELEGATES_NOT, DELEGATES_AND_WAITS, DELEGATES_IN_BACKGROUND, DELEGATES_ASKS } ToolDelegates;

struct ToolEntry {
    ToolDef def;                         /* a copy; its values are in frozen heaps */
    Safety safety;
    ToolExecute *execute;
    ToolInspect *inspect;                /* NULL: nothing to add */
    void *data;                          /* for the executor */
    Redactor *redact;                    /* patterns of safety.redact; may be NULL. Owned by the registry */
    const struct ToolRoot *root;         /* confine.h; NULL: the whole workspace */
    Str scope;                           /* a run's id for one registered at run time, an agent's name for a private
                                          * one; empty: visible to all */
    ToolService service;
    bool user_only;                      /* not enabled by the project: available only with Call.by_user */
    ToolDelegates delegates;
    bool fills;                          /* its parameters have defaults; set by the registry */
    bool held;                           /* an MCP tool whose definition changed: refused until approved */
    void (*recheck)(void *data);         /* called when a held tool is called or listed: replaces it if it was approved; may be NULL */
};

Registry *registry_new(void);
void registry_free(Registry *r);
/* Copies the entry; strings and values are borrowed for the registry's lifetime. Fails when a name or alias is taken by
 * a tool visible together with it, or when a pattern of safety.redact does not compile. Thread-safe. */
bool registry_add(Registry *r, const ToolEntry *entry, Error *err);
/* Adds an executor to a project's definition that has none ("has no implementation"). Thread-safe. */
bool registry_implement(Registry *r, Str name, ToolExecute *execute, void *data, Error *err);
/* Refuses calls of a tool (ToolEntry.held), or allows them again. Ignores unknown names. Thread-safe. */
void registry_hold(Registry *r, Str name, bool held);
/* Replaces the definition with this name and `data`, keeping aliases and patterns. Thread-safe. */
void registry_redefine(Registry *r, const ToolEntry *entry);
void registry_drop(Registry *r, Str scope);                  /* removes everything registered by an ended run */
/* By canonical name or alias, among global tools and those of `scopes`. NULL: none. Thread-safe. */
const ToolEntry *registry_find(Registry *r, Str name, const Str *scopes, size_t n_scopes);
/* True if a resumed run may repeat an interrupted call of it: the tool is repeatable, or it is `delegate`, which
 * resumes the sub-agent. */
bool tool_may_resume(const ToolEntry *e);
Str registry_nearest(Registry *r, Str name, const Str *scopes, size_t n_scopes);   /* for "did you mean"; empty: none */
size_t registry_list(Registry *r, const Str *scopes, size_t n_scopes, const ToolEntry ***out);   /* in order of registration; free() it */
