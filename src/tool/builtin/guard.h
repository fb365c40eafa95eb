/* Checks a shell command against the rules of guard.def before the tool `bash` runs it.
 *
 * The rules see what shell_commands() lists: literal commands, also behind wrappers and in inline shell text. Files,
 * output of programs, values of variables and code in other languages are not checked. The sandbox is the security
 * boundary; these rules catch accidents. */
#pragma once
#include "base/arena.h"
#include "base/str.h"

typedef enum {
    GUARD_RUN,                          /* not destructive, and all known */
    GUARD_CONFIRM,                      /* a command, or the input of a shell, is unknown before it runs */
    GUARD_REFUSE,                       /* destructive: recursive forced removal, forced push, creating a file system,
                                         * writing to a device, a fork bomb, shutting down */
} GuardVerdict;

/* The worst verdict of any command in `command`. *reason (in `arena`, one line of valid UTF-8, "" for GUARD_RUN) says why.
 * Never fails: text that cannot be parsed, or is too long or too complex, is GUARD_CONFIRM. `reason` may be NULL. */
GuardVerdict guard_command(Str command, Arena *arena, Str *reason);
