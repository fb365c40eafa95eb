/* Which files and folders are locked (may not be written) or hidden (may not be read).
 *
 * A tree of names from "/" on, one node per part of every fenced path, links resolved; a node knows the device and inode
 * it had when the fence was built, if it existed. Whoever walks a path takes a FenceMatch along, step by step. A step is on
 * a node when it is that file (so other names, hard links, other spellings of case are found) or when it is the child of
 * that name of a node that the step before was on (so a file that was replaced, or was missing, is found). A node "*" that does not
 * exist stands for every name that its parent has no other child for. Immutable. */
#pragma once
#include <sys/stat.h>
#include "base/str.h"

/* Which file it is. An inode's number is given to another file when it is free; when the file was born tells them apart. */
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
    uint32_t n;                         /* > 0: fenced itself, or on the way to something that is */
    bool locked, hidden;                /* by itself or by a folder above */
} FenceMatch;

Fence *fence_new(void);
void fence_free(Fence *f);

/* Building: nodes are looked up by name below a parent, made when missing. `id` NULL: it does not exist. */
FenceNode *fence_top(Fence *f);
FenceNode *fence_child(Fence *f, FenceNode *parent, Str name, const FileId *id);
FenceNode *fence_parent(FenceNode *node);               /* of the top: the top */
void fence_set(FenceNode *node, const FileId *id);
void fence_close(FenceNode *node, bool hidden);         /* locked with all below; hidden too, if so */
void fence_free_name(FenceNode *node);                  /* not closed, and a "*" beside it does not mean it */
bool fence_is_closed(const FenceNode *node);
bool fence_is_free(const FenceNode *node);
size_t fence_children(const FenceNode *node, FenceNode *const **out);
Str fence_name(const FenceNode *node);
void fence_sort(Fence *f);                              /* after building, before matching */

/* Where a walk begins: `above` is what is known of the folders above, or NULL. */
FenceMatch fence_start(const Fence *f, const FileId *id, const FenceMatch *above);
/* One step down to `name`, which is that file, or missing when that is NULL. */
FenceMatch fence_enter(const Fence *f, const FenceMatch *parent, Str name, const FileId *id);
