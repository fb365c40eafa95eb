/* safety.workspace_root: the folder that a tool, its programs and its nested calls are confined to. The tool sees it as
 * its workspace: relative paths start there, and the rest of the workspace and the roots of sandbox.* are
 * inaccessible. */
#pragma once
#include <limits.h>
#include "artifact/project.h"
#include "sandbox/jail.h"
#include "sandbox/sandbox.h"
#include "tool/registry.h"

struct Runtime;
struct Pipe;

typedef struct ToolRoot { Str path; Jail *jail; } ToolRoot;      /* path: absolute, no links, NUL-terminated; in the
                                                                  * runtime's arena */

/* The workspace of a project, with links resolved. */
bool confine_workspace(const Project *p, char real[PATH_MAX], Error *err);
/* Every place that calls, hooks and servers of a project can write, for sandbox_root_steady(): absolute paths, NULL-terminated, in `arena`.
 * confine_reach adds the project's root, for named_open(). */
const char *const *confine_places(const Project *p, Arena *arena);
const char *const *confine_reach(const Project *p, Arena *arena);
/* Checks that every workspace_root of a project is a folder of the workspace to which the sandbox can confine a tool. False: a problem was added. */
bool confine_check(const Project *p, Problems *problems);

/* Sets e->root of a tool that declares one, before it is registered. */
bool confine_entry(struct Runtime *rt, ToolEntry *e, Error *err);
void confine_free(struct Runtime *rt);

/* Applies the narrower of the tool's root and its caller's to the call. False: refused, because the two do not overlap
 * or the tool cannot be confined. */
bool confine_call(struct Pipe *p);
/* Sandbox rules for a program of a confined call. `program`: a file outside that it may also read and run; may be
 * NULL. */
void confine_rules(const ToolRoot *root, const char *program, SandboxRules *rules, const char *reads[2]);
