/* Which files and folders are locked (not writable) or hidden (not readable).
 *
 * A tree of names from "/" on, one node per part of every fenced path, with links resolved; a node records the device
 * and inode it had when the fence was built, if it existed. A path walk carries a FenceMatch from step to step. A step
 * matches a node if it is that file (which finds other names, hard links and other spellings), or if it is the child
 * with that name of a node that the previous step matched (which finds a replaced or missing file). A missing node "*"
 * matches every name that its parent has no other child for. Immutable. */
#pragma once
#include <sys/stat.h>
#include "base/str.h"

/* Identity of a file. The kernel reuses inode numbers; the birth time tells the files apart. */
typedef struct FileId { uint64_t device, inode; int64_t born_ns; } FileId;

static inline FileId fence_id(const struct statx *st) {
    return (FileId){ .device = (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor, .inode = st->stx_ino,
                     .born_ns = st->stx_mask & STATX_BTIME ? st->stx_btime.tv_sec * 1000000000 + st->stx_btime.tv_nsec : 0 };
}
static inline bool fence_same(FileId a, FileId b) {
    return a.inode == b.inode && a.device == b.device && a.born_ns == b.born_ns;
}

typedef struct Fence Fence;
typedef struct FenceNode FenceNode;

enum { FENCE_MATCH_MAX = 4 };
typedef struct FenceMatch {
    const FenceNode *node[FENCE_MATCH_MAX];
    uint32_t n;                         /* > 0: fenced, or on the path to something fenced */
    bool locked, hidden;                /* directly or by a parent folder */
} FenceMatch;

Fence *fence_new(void);
void fence_free(Fence *f);

/* Building: finds or creates the child of that name. `id` NULL: it does not exist. */
FenceNode *fence_top(Fence *f);
FenceNode *fence_child(Fence *f, FenceNode *parent, Str name, const FileId *id);
FenceNode *fence_parent(FenceNode *node);               /* the top is its own parent */
void fence_set(FenceNode *node, const FileId *id);
void fence_close(FenceNode *node, bool hidden);         /* locked with all below; hidden too, if so */
void fence_free_name(FenceNode *node);                  /* excluded: writable, and not matched by a "*" next to it */
bool fence_is_closed(const FenceNode *node);
bool fence_is_free(const FenceNode *node);
size_t fence_children(const FenceNode *node, FenceNode *const **out);
Str fence_name(const FenceNode *node);
void fence_sort(Fence *f);                              /* after building, before matching */

/* Start of a walk: `above` is the match of the folders above, or NULL. */
FenceMatch fence_start(const Fence *f, const FileId *id, const FenceMatch *above);
/* One step down to `name`, which is the file `id`, or missing if NULL. */
FenceMatch fence_enter(const Fence *f, const FenceMatch *parent, Str name, const FileId *id);
