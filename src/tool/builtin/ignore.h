/* .gitignore rules with git's semantics: comments, negation, anchoring, folder-only rules, **, escapes, trailing
 * spaces; a deeper file overrides a higher one, a later rule an earlier one. In one folder, .ignore overrides
 * .gitignore, which overrides .git/info/exclude.
 *
 * An Ignore has the rules of one folder and a pointer to those of its parents: a walk creates one where it finds such a
 * file and passes it down. Immutable, so thread-safe. The parents' rules must outlive it. */
#pragma once
#include "base/arena.h"
#include "base/str.h"

typedef struct Ignore Ignore;

enum { IGNORE_FILE_MAX = 1 << 20, IGNORE_RULES_MAX = 20000 };   /* per file; further rules are ignored */

/* Rules of `text` for the folder `folder` ("" or "a/b", relative to the root of the walk), on top of `above`, which may
 * be NULL. Invalid lines are skipped, as in git. In `arena`. */
const Ignore *ignore_new(const Ignore *above, Str folder, Str text, Arena *arena);

/* True if the entry is ignored. `path` is relative to the root of the walk. Does not check its parents: a walk does not
 * enter an ignored folder. */
bool ignore_match(const Ignore *rules, Str path, bool folder);
