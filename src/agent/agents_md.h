/* AGENTS.md: instructions of a repository's owner for every agent. It becomes part of the system prompt, and cannot loosen a rule. */
#pragma once
#include "artifact/project.h"

enum { AGENTS_MD_MAX = 32 << 10 };

/* Appends the nearest AGENTS.md, from the working folder up to the project's root, after a line with its path; CLAUDE.md where there is no
 * AGENTS.md at all. At most AGENTS_MD_MAX bytes. Nothing when context.agents_md is false, when there is no such file, or when it leads out of the
 * project. */
void agents_md_read(const Project *p, Buf *out);
