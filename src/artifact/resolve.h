/* Checks and changes that need the complete project. */
#pragma once
#include "artifact/loader.h"

/* Applies overrides, then checks that names are unique and references exist. Reports problems and adds
 * hints. */
void resolve_project(Loader *l);
