/* For protected*.c: files and programs that git would run. */
#pragma once
#include "tool/protect/protected.h"

/* Protects what the configuration of the git folder `git` names, for the working tree `top`. */
void protected_git_configs(ProtectedList *l, const char *git, const char *top);
