/* Behind protect.h: the tree of protected files as it was, and putting it back.
 *
 * The tree begins at "/", whose descriptor is held; every step down is one name, never through a link. Its upper nodes lead
 * to protected paths: of those only the kind matters. From a protected path on a node is `whole`: it and all below it must
 * be as it was. The nodes of a path that went through links are the links and, from where they lead, what is there.
 *
 * A name "*" on the way stands for every entry that the folder has no other node for: what is protected below it must not
 * appear there. A file "commondir" may, with the content "../..": git worktree add makes it. Where "*" is itself the end of a
 * protected path, no new entry may appear at all; those that the folder had are nodes of which nothing is compared. NEARLY_NAMES at the
 * end does the same for names that are nearly those of a project's files (base/nearly.h). A path PATH/? protects nothing: it says that a "*"
 * beside PATH does not stand for PATH.
 *
 * Files of git that may change by rule (steps.h) are never needed: they may go. */
#pragma once
#include <sys/stat.h>
#include "base/error.h"
#include "base/str.h"
#include "base/vec.h"
#include "sandbox/walk.h"

enum { SNAPSHOT_DEPTH_MAX = 200, SNAPSHOT_MAC = 16 };

typedef struct SnapshotNode SnapshotNode;
struct SnapshotNode {
    char *name;
    SnapshotNode *parent;
    VEC(SnapshotNode *) child;          /* by name */
    char kind;                          /* 'f' 'd' 'l' 'o', or '-': there was nothing */
    bool whole;
    bool needed;                        /* something at or below it existed: if it is gone it has to be made again */
    bool known;                         /* the content was read; else only times and size can be compared */
    bool recent;                        /* a folder: changed so shortly before it was looked at that its times prove nothing */
    struct statx st;
    Buf content;                        /* of a file; of a link: where it leads */
    bool has_mac;                       /* instead of the content there is only this: it can be compared and not put back */
    uint8_t mac[SNAPSHOT_MAC];
};

typedef struct Snapshot {
    Jail nowhere;                       /* no roots, no fence: for walking anywhere */
    SnapshotNode *top;
    size_t bytes;
    uint8_t key[32];                    /* of `mac` */
} Snapshot;

/* snapshot_clear() in any case. */
bool snapshot_take(Snapshot *s, const char *const *paths, size_t limit, Error *err);
void snapshot_clear(Snapshot *s);
/* As bytes, for another process; without `contents` only their keyed digests. snapshot_read: ERR_IO when the bytes are not such;
 * snapshot_clear() in any case. */
void snapshot_write(Snapshot *s, bool contents, Buf *out);
bool snapshot_read(Str bytes, Snapshot *s, Error *err);
void snapshot_mac(const Snapshot *s, Str bytes, uint8_t out[static SNAPSHOT_MAC]);
/* For the two ways to make one: without nodes; a node below `parent`. */
bool snapshot_open(Snapshot *s, Error *err);
SnapshotNode *snapshot_node(SnapshotNode *parent, Str name);
void snapshot_node_free(SnapshotNode *n);                                 /* with all below it; its parent forgets it first */
void snapshot_path(const SnapshotNode *n, Buf *out);                      /* absolute */

/* Compared with what is there now. Each difference is told; then, unless `look_only`, put right. */
typedef struct SnapshotCheck {
    bool look_only, failed;             /* failed: something could not be put right */
    bool learn;                         /* look_only: files with the same content are from now on expected with the inode and the times they have */
    size_t differences;
    Buf text;                           /* in words, "; " between them */
    Str workspace;                      /* paths are shown relative to it */
    Buf content;                        /* of the file that is compared at the moment */
    const char *root;                   /* of the project, noted with what is displaced; NULL: none */
    const char *displaced;              /* the folder for what was found in the place of a file (displaced.h); NULL: it is lost */
    size_t kept;                        /* files that were copied there */
} SnapshotCheck;
void snapshot_verify(Snapshot *s, SnapshotCheck *check);

/* What is on the disk now at the protected paths of `s`. snapshot_clear() in any case. */
bool snapshot_take_again(const Snapshot *s, size_t limit, Snapshot *now);
/* Wherever `s`, which was read while others could write, differs from `base`, which was not, `s` becomes as `base`; what `base` alone has is added.
 * ERR_SANDBOX when of a file that differs `base` has a digest only. */
bool snapshot_merge(Snapshot *s, const Snapshot *base, Error *err);
/* The folder `from` has become `to`: both absolute, real and normal. */
void snapshot_move(Snapshot *s, const char *from, const char *to);
void snapshot_forget(Snapshot *s, const char *path);                      /* with all below it */
/* What is different in `now`, a snapshot of the same paths, as a person reads it: unified differences, with paths relative to `root` where they can be. */
void snapshot_diff(const Snapshot *s, const Snapshot *now, Str root, Buf *out);

/* Makes the node, which is not there or is of the same kind, again below `dir`. False with errno. */
bool snapshot_restore(int dir, SnapshotNode *n);

/* What taking and comparing share; false with errno. */
bool snapshot_read_file(int dir, const char *name, size_t limit, struct statx *st, Buf *out);
bool snapshot_read_link(int dir, const char *name, Buf *out);
bool snapshot_settled(const struct statx *st);
char snapshot_kind(const struct statx *st);
/* A protected path by itself that may change as steps.h says. Below a folder that is protected as a whole nothing may. */
bool snapshot_is_step(const SnapshotNode *n);

typedef struct SnapshotNames { char **at; size_t n, cap; } SnapshotNames;
bool snapshot_list(int dir, SnapshotNames *out);                          /* sorted; clear in any case */
void snapshot_names_clear(SnapshotNames *names);
/* Does the node stand for names (NEARLY_NAMES, "*"), and for this one? */
bool snapshot_is_star(const SnapshotNode *n);
bool snapshot_means(const SnapshotNode *star, int dir, const char *name);
