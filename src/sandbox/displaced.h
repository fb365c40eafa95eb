/* What was found in place of a protected file before it was restored: it may include an edit by the user.
 *
 * Kept for 30 days in FOLDER/displaced/TIME-RANDOM/, as the files `path` (where it was, absolute), `project` (its root)
 * and `content` (for a link: its target). Limited: files over DISPLACED_BYTES_MAX are not kept, nor more than
 * DISPLACED_MAX at a time. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "base/str.h"

enum { DISPLACED_MAX = 500, DISPLACED_DAYS = 30, DISPLACED_BYTES_MAX = 1 << 20 };

/* How many more copies there is room for. Zero-initialise it for a comparison: counting the copies again for each file would take long. */
typedef struct DisplacedRoom { bool counted; size_t left; } DisplacedRoom;
static inline bool displaced_is_full(const DisplacedRoom *r) { return r->counted && r->left == 0; }

/* Copies `name` in `dir`; a folder with all its files. `path` is its absolute path, `root` the project's (NULL:
 * unknown). Returns how many files were kept; fails silently, because restoring must not depend on it. */
size_t displaced_keep(const char *folder, const char *root, int dir, const char *name, Str path, DisplacedRoom *room);

typedef struct Displaced { int64_t when; Str path, project; const char *content; } Displaced;   /* when: seconds since 1970; content: path of the stored copy */
typedef void DisplacedEach(void *ctx, const Displaced *d);
/* Calls `each` for every kept copy, oldest first. Removes copies that are too old. */
void displaced_list(const char *folder, DisplacedEach *each, void *ctx);
