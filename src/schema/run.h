/* State of one validation, shared by the files that implement it. */
#pragma once
#include "schema/node.h"

/* Location in the instance: a linked list on the C stack, innermost first. */
typedef struct Path { const struct Path *up; Str name; uint32_t index; bool listed; } Path;

/* The resources entered so far, for $dynamicRef. */
typedef struct Scope { const struct Scope *outer; const Resource *resource; } Scope;

enum { RUN_WHY_SIZE = 160 };

typedef struct Run {
    const Schema *s;
    SchemaProblems *out;             /* NULL: only the result is wanted, and the first failure ends the validation */
    const Scope *scope;
    size_t steps;
    unsigned depth;
    bool broken;                     /* could not be completed: the result is invalid, even below `not` */
    char *why;                       /* RUN_WHY_SIZE bytes, set when broken */
} Run;

/* The entries (of a dict, by entry index) or items that subschemas have evaluated so far, for
 * unevaluated*. The creator of the Marks owns the bits. */
typedef struct Marks { uint64_t *bits; uint32_t n; bool all; } Marks;

static inline void marks_set(Marks *m, uint32_t i) { if (m) m->bits[i / 64] |= (uint64_t)1 << (i % 64); }
static inline bool marks_has(const Marks *m, uint32_t i) { return m->all || (m->bits[i / 64] >> (i % 64) & 1); }

/* All return false, so that callers can return their result. */
bool run_break(Run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool run_bad(Run *r, const Node *n, const char *keyword, const Path *path, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
bool run_bad_type(Run *r, const Node *n, const Path *path, unsigned type);
bool run_bad_enum(Run *r, const Node *n, const Path *path);
bool run_bad_value(Run *r, const Node *n, const char *keyword, const Path *path, const char *words, Value v);

/* Adds problems that were collected separately, with `before` in front of each message. */
void run_adopt(Run *r, const SchemaProblems *from, const Path *path, const char *before);

bool run_is_multiple(Value v, Value of);     /* exact; floats count as their decimal form */

/* True if all items are different. Otherwise *a and *b are the indices of two equal ones. */
bool run_unique_items(Run *r, const Value *v, uint32_t n, uint32_t *a, uint32_t *b);
