/* The entries that make an agent run `harness guard`, in the agent's own configuration file. These functions only compute texts: the command
 * writes the file. The user's own entries keep every byte. */
#pragma once
#include <limits.h>
#include "artifact/call_kind.h"
#include "base/error.h"

typedef enum GuardScope { GUARD_SCOPE_PROJECT, GUARD_SCOPE_USER, GUARD_SCOPE_MANAGED } GuardScope;

typedef struct GuardInstall {
    Vendor vendor;
    GuardScope scope;
    const char *program;                 /* this program, absolute */
    const char *project;                 /* its root, absolute; used with GUARD_SCOPE_PROJECT */
    const char *home;                    /* absolute */
} GuardInstall;

/* The file of this scope. ERR_VALIDATION: the agent has none. */
bool guard_install_path(const GuardInstall *g, char out[PATH_MAX], Error *err);
/* The command line of the hook, quoted for a shell: what the agent runs, and what doctor tries. */
void guard_install_command(const GuardInstall *g, Buf *out);

/* The text with exactly the entries of `g`; older entries of this program are replaced. The same text if they are there already. */
bool guard_install_text(const GuardInstall *g, Str before, Buf *after, Error *err);
/* The text without entries of this program for the vendor. *after is empty if nothing else is left, so that the caller can remove the file. */
bool guard_uninstall_text(const GuardInstall *g, Str before, Buf *after, Error *err);

/* What a configuration file says about the guard. */
typedef struct GuardInstalled {
    bool parsed;                         /* false: `problem` says why */
    Error problem;
    size_t missing;                      /* events without an entry */
    size_t found;                        /* entries of this program */
    bool current;                        /* the entries equal what guard_install_text would write */
    bool disabled;                       /* the file switches all hooks off */
    Buf command;                         /* the command line of the first entry */
} GuardInstalled;
void guard_installed_read(const GuardInstall *g, Str text, GuardInstalled *out);
void guard_installed_clear(GuardInstalled *i);

/* install_toml.c: files in TOML, where a marked block at the end holds the entries. */
bool guard_toml_install(const GuardInstall *g, Str before, Buf *after, Error *err);
bool guard_toml_uninstall(Str before, Buf *after, Error *err);      /* false: the block has no end */
bool guard_toml_has(Str text);
/* install_plugin.c: a plugin file that harness owns completely. */
void guard_plugin_text(const GuardInstall *g, Buf *out);
bool guard_plugin_is_ours(Str text);
/* The events to install, one after another. */
bool guard_install_next_event(Str *rest, Str *event);
/* True for the command line of a hook of this program for the vendor, wherever the program is. */
bool guard_install_is_command(Vendor vendor, Str command);
