/* Judges a shell command before the tool `bash` runs it.
 *
 * The text is parsed as bash reads it, and every command that can be seen to run is looked at: in lists, pipelines, groups,
 * functions, substitutions, behind env, nice, sudo, xargs, find -exec and the like, in the text given to `sh -c`, `eval`,
 * an interpreter's input, and so on, within a bound of nesting.
 *
 * This is a seat belt, not the wall: the sandbox is the boundary. What it cannot know it says. */
#pragma once
#include "base/arena.h"
#include "base/str.h"

typedef enum {
    GUARD_RUN,                          /* nothing destructive is visible, and nothing is hidden */
    GUARD_CONFIRM,                      /* a command, or a shell's input, cannot be known before it runs */
    GUARD_REFUSE,                       /* destructive: recursive forced removal, forced push, making a filesystem, writing
                                         * to a device, a fork bomb, ending the machine's run */
} GuardVerdict;

enum { GUARD_COMMAND_MAX = 1 << 18, GUARD_DEPTH_MAX = 64 };

/* The worst verdict of anything in `command`; *reason (in `arena`, one line of valid UTF-8, "" for GUARD_RUN) says why.
 * Never fails: what cannot be parsed, or is too long or too deep to judge, is GUARD_CONFIRM. `reason` may be NULL. */
GuardVerdict guard_command(Str command, Arena *arena, Str *reason);
