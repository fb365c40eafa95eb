/* Shared by tools that start programs: .harness/tools, tools.json and spaces. */
#pragma once
#include "artifact/load.h"

/* Compiles the template of the key `command` into t->command. The parameters and unsafe_raw of `t` must be set. */
bool load_program_command(Loader *l, const LoaderPlace *at, Str command, ToolDef *t);
/* Checks an argument vector: at least a program, which is absolute or below ./tools/bin/. Normalizes its path. `label` names the tool. */
bool load_program_argv(Loader *l, const LoaderPlace *at, const char *key, const char *label, StrList *argv);
void load_program_protect(Loader *l, Str folder, Str program);   /* a program of the project is a protected file */
