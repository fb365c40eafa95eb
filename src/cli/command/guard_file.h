/* The configuration file of an agent, for guard install, uninstall and doctor. */
#pragma once
#include <limits.h>
#include "cli/cli.h"
#include "guard/install.h"

typedef struct GuardFile {
    GuardInstall install;                /* its strings are below */
    char program[PATH_MAX], project[PATH_MAX];
    char full[PATH_MAX];                 /* as the agent names it */
    char path[PATH_MAX];                 /* with links resolved */
} GuardFile;

/* False: the agent has no such file, or the path leads out of the project. */
bool guard_file_find(Cli *cli, Vendor vendor, GuardScope scope, GuardFile *f, Error *err);
bool guard_file_vendor(const char *name, Vendor *out, Error *err);     /* of the command line */
