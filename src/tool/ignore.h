/* What .gitignore files say, as git reads them: comments, negation, anchoring, folder-only rules, **, escapes, trailing
 * spaces; a rule of a deeper file beats one of a higher file, and a later one an earlier one. Beside each other in one
 * folder, .ignore beats .gitignore, which beats .git/info/exclude.
 *
 * An Ignore is the rules of one folder with a pointer to those of the folders above it: a walk makes one where it finds
 * such a file and passes it down. Immutable after it is made; safe from any thread. The rules above must outlive it. */
#pragma once
#include "base/arena.h"
#include "base/str.h"

typedef struct Ignore Ignore;

enum { IGNORE_FILE_MAX = 1 << 20, IGNORE_RULES_MAX = 20000 };   /* of one file; what is beyond is left out */

/* Rules of `text` for the folder `folder` ("" or "a/b", relative to where the walk's paths start), on top of `above`, which
 * may be NULL. Lines that are no pattern are left out, as git does. In `arena`. */
const Ignore *ignore_new(const Ignore *above, Str folder, Str text, Arena *arena);

/* Is the entry ignored? `path` is relative to where the walk's paths start. Says nothing about the folders above it: a walk
 * does not enter an ignored folder. */
bool ignore_match(const Ignore *rules, Str path, bool folder);
