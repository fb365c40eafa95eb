/* What `harness sandbox --profile VENDOR` adds to the rules of the sandbox: a home folder of its own with the guard's hook, the program's files, hosts and
 * variables. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

typedef VEC(const char *) ProfileList;
typedef struct SandboxProfile {
    const char *home;                    /* writable, and HOME of the agent: $XDG_DATA_HOME/harness/profiles/VENDOR */
    const char *program;                 /* absolute */
    ProfileList read, protect, hosts, env;           /* folders; files below `home` that stay as they are; hosts; NAME=value */
} SandboxProfile;

/* Finds `program` in PATH, creates the home folder, and writes the hook and the user's guard.md into it. Strings live in `arena`; clear the lists with
 * sandbox_profile_clear, also after an error. ERR_VALIDATION: there is no such profile. */
bool sandbox_profile_prepare(const char *vendor, const char *program, Arena *arena, SandboxProfile *out, Error *err);
void sandbox_profile_clear(SandboxProfile *p);
