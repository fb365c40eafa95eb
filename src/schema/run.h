/* One validation under way, shared by the files that do it. */
#pragma once
#include "schema/node.h"

/* Where in the instance: a chain on the C stack, from the inside out. */
typedef struct Path { const struct Path *up; Str name; uint32_t index; bool listed; } Path;

/* The resources that were entered on the way here, for $dynamicRef. */
typedef struct Scope { const struct Scope *outer; const Resource *resource; } Scope;

typedef struct Run {
    const Schema *s;
    SchemaProblems *out;             /* NULL: only yes or no is wanted, and the first no ends it */
    const Scope *scope;
    size_t steps;
    unsigned depth;
    bool broken;                     /* could not be finished: the answer is no, whatever `not` makes of it */
    char why[160];
} Run;

/* Which entries (of a dict, by entry index) or items an instance's schemas have looked at so
 * far: what unevaluated* is about. The bits belong to whoever made the Marks. */
typedef struct Marks { uint64_t *bits; uint32_t n; bool all; } Marks;

static inline void marks_set(Marks *m, uint32_t i) { if (m) m->bits[i / 64] |= (uint64_t)1 << (i % 64); }
static inline bool marks_has(const Marks *m, uint32_t i) { return m->all || (m->bits[i / 64] >> (i % 64) & 1); }

/* All return false, so that a failure is one statement. */
bool run_break(Run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool run_bad(Run *r, const Node *n, const char *keyword, const Path *path, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
bool run_bad_type(Run *r, const Node *n, const Path *path, unsigned type);
bool run_bad_enum(Run *r, const Node *n, const Path *path);
bool run_bad_value(Run *r, const Node *n, const char *keyword, const Path *path, const char *words, Value v);

/* The same for problems found apart: takes them over, each message with `before` in front. */
void run_adopt(Run *r, const SchemaProblems *from, const Path *path, const char *before);

bool run_is_multiple(Value v, Value of);     /* exactly, decimals taken as they are written */

/* Are no two of the items equal? When they are, *a and *b say which. */
bool run_unique_items(Run *r, const Value *v, uint32_t n, uint32_t *a, uint32_t *b);
