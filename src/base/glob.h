/* Path patterns: `*` and `?` within one part of a path, `**` across parts, [classes] with ranges, negation and [:names:],
 * {a,b} alternatives (nested), backslash escapes.
 *
 * A pattern is compiled once into alternatives of parts; matching goes part by part, so no pattern and no path can make it
 * run away (the product of their lengths at most). A Glob is immutable: any number of threads may match with it. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

typedef struct Glob Glob;

enum {                                  /* flags */
    GLOB_BRACES = 1,                    /* {a,b} are alternatives; else plain characters */
    GLOB_PERIOD = 2,                    /* a leading . of a part must be written out: *, ? and ** do not match it */
};

enum { GLOB_PATTERN_MAX = 4096, GLOB_ALTERNATIVES_MAX = 1024, GLOB_BYTES_MAX = 1 << 16 /* of all alternatives together */ };

/* A leading "/" or "./" is dropped: patterns start at the base folder. NULL with ERR_PARSE "glob: at 5: [ is not closed",
 * or ERR_LIMIT. `arena` holds the Glob. */
const Glob *glob_new(Str pattern, unsigned flags, Arena *arena, Error *err);

/* Does the whole path match? `path` is relative, parts separated by "/". */
bool glob_match(const Glob *g, Str path);

/* Could anything below this folder match? For walking: never false when something could. "" is the base folder. */
bool glob_match_below(const Glob *g, Str folder);

/* What a walk can make use of. */
Str glob_base(const Glob *g);           /* the leading folders that every match has, without wildcards: "src/lib"; may be "" */
size_t glob_depth(const Glob *g);       /* parts of the longest match; SIZE_MAX with ** */
bool glob_names_hidden(const Glob *g);  /* has a part that starts with a period */
