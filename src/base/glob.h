/* Path patterns: `*` and `?` within one part of a path, `**` across parts, [classes] with ranges, negation and
 * [:names:], {a,b} alternatives (nested), backslash escapes.
 *
 * A pattern is compiled into alternatives of parts; matching takes at most the product of the lengths of pattern and
 * path. A Glob is immutable, so thread-safe. */
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

/* Drops a leading "/" or "./": patterns are relative to the base folder. NULL with ERR_PARSE "glob: at 5: [ is not
 * closed", or ERR_LIMIT. `arena` holds the Glob. */
const Glob *glob_new(Str pattern, unsigned flags, Arena *arena, Error *err);

/* True if the whole path matches. `path` is relative, with parts separated by "/". */
bool glob_match(const Glob *g, Str path);

/* False if nothing below this folder can match: the walk may skip it. "" is the base folder. */
bool glob_match_below(const Glob *g, Str folder);

/* One word, which is not a path: `*` is any text, `?` one character. */
bool glob_word(Str pattern, Str text);

/* Hints for walking a folder. */
Str glob_base(const Glob *g);           /* the leading folders of every match, without wildcards: "src/lib"; may be
                                         * "" */
size_t glob_depth(const Glob *g);       /* parts of the longest match; SIZE_MAX with ** */
bool glob_names_hidden(const Glob *g);  /* has a part that starts with a period */
