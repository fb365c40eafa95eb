/* Files that no agent may write: its own hooks and settings, ours, and files that the user's programs execute automatically. */
#pragma once
#include "artifact/project.h"
#include "guard/guard.h"

typedef struct GuardProtect {
    Str root, home;                      /* absolute, without links; home "": unknown */
    const Project *project;              /* NULL: none is loaded */
    Arena *arena;
    bool anywhere;                       /* also protect files that make a project in any folder: a new project could govern instead */
    Str anchors[2];                      /* absolute: files of audit.anchor; "": none */
    const char *const *more;             /* absolute: the state folder, our program, programs of hooks; NULL-terminated */
} GuardProtect;

/* `project` may be NULL. */
void guard_protect_init(GuardProtect *p, Str root, const Project *project, Arena *arena);
/* True if a call may not write the file. `path` is absolute, without links. */
bool guard_protect_covers(const GuardProtect *p, Str path);
/* The verdict on a shell command, from `cwd`: GUARD_DENY if it writes such a file or changes what harness trusts, GUARD_ASK if that depends
 * on something unknown; else GUARD_PASS. `why` gets the reason. */
GuardVerdict guard_protect_shell(const GuardProtect *p, Str command, Str cwd, Buf *why);
