/* Private to protect.h: the recorded tree of protected files, and restoring it.
 *
 * The tree starts at "/", whose descriptor is kept open; every step down is one name, never through a link. Its upper
 * nodes lead to protected paths: only their type matters. From a protected path on a node is `whole`: it and everything
 * below it must not change. A path through links has nodes for the links and for their targets.
 *
 * A name "*" inside a path matches every entry of the folder that has no other node: the protected names below it must not
 * appear there. The exception is a file "commondir" with the content "../..", which git worktree add creates. A "*" at the end of a
 * path means that no new entry may appear in the folder; its existing entries are nodes whose content is not compared. NEARLY_NAMES at the
 * end does the same for names that resemble those of a project's files (base/nearly.h). A path PATH/? protects nothing: it excludes PATH from a "*"
 * in the same folder.
 *
 * Files of git that may change (git_steps.h) may also be removed. */
#pragma once
#include <sys/stat.h>
#include "base/error.h"
#include "base/str.h"
#include "base/table.h"
#include "base/vec.h"
#include "sandbox/displaced.h"
#include "sandbox/walk.h"

enum { SNAPSHOT_DEPTH_MAX = 200, SNAPSHOT_MAC = 16 };

typedef struct SnapshotNode SnapshotNode;
struct SnapshotNode {
    char *name;
    SnapshotNode *parent;
    VEC(SnapshotNode *) child;          /* sorted by name */
    char kind;                          /* 'f' 'd' 'l' 'o', or '-': did not exist */
    bool whole;
    bool needed;                        /* something at or below it existed: recreate it if it is missing */
    bool known;                         /* the content was read; else only times and size can be compared */
    bool recent;                        /* a folder: changed so shortly before that its times are inconclusive */
    struct statx st;
    Buf content;                        /* of a file; for a link: its target */
    bool has_mac;                       /* only this digest, no content: it can be compared but not restored */
    uint8_t mac[SNAPSHOT_MAC];
};

typedef struct Snapshot {
    Jail nowhere;                       /* no roots, no fence: for walking anywhere */
    SnapshotNode *top;
    size_t bytes;
    uint8_t key[32];                    /* for `mac` */
} Snapshot;

/* snapshot_clear() in every case. */
bool snapshot_take(Snapshot *s, const char *const *paths, size_t limit, Error *err);
void snapshot_clear(Snapshot *s);
/* Serialized for another process; without `contents` only with keyed digests. snapshot_read: ERR_IO for malformed
 * bytes; snapshot_clear() in every case. */
void snapshot_write(Snapshot *s, bool contents, Buf *out);
bool snapshot_read(Str bytes, Snapshot *s, Error *err);
void snapshot_mac(const Snapshot *s, Str bytes, uint8_t out[static SNAPSHOT_MAC]);
/* For both constructors: an empty snapshot; a node below `parent`. */
bool snapshot_open(Snapshot *s, Error *err);
SnapshotNode *snapshot_node(SnapshotNode *parent, Str name);
void snapshot_node_free(SnapshotNode *n);                                 /* with everything below it; remove it from
                                                                           * its parent first */
void snapshot_path(const SnapshotNode *n, Buf *out);                      /* absolute */

/* Comparison with the current state. Reports each difference; then, unless `look_only`, restores it. */
typedef struct SnapshotCheck {
    bool look_only, failed;             /* failed: something could not be restored */
    bool learn;                         /* look_only: accept the current inode and times of files with the same
                                         * content */
    size_t differences;
    Buf text;                           /* readable, separated by "; " */
    Str workspace;                      /* paths are shown relative to it */
    Buf content;                        /* of the file being compared */
    const char *root;                   /* the project's root, recorded with displaced files; may be NULL */
    const char *displaced;              /* the folder for displaced files (displaced.h); NULL: they are lost */
    size_t kept;                        /* number of files copied there */
    DisplacedRoom room;
} SnapshotCheck;
void snapshot_verify(Snapshot *s, SnapshotCheck *check);

/* The current state of the protected paths of `s`. snapshot_clear() in every case. */
bool snapshot_take_again(const Snapshot *s, size_t limit, Snapshot *now);
/* Replaces the parts of `s`, which was read while others could write, that differ from `base`, which was not; adds entries that only `base` has.
 * ERR_SANDBOX when `base` has only a digest of a file that differs. */
bool snapshot_merge(Snapshot *s, const Snapshot *base, Error *err);
/* The folder `from` was renamed to `to`: both absolute, resolved and normalized. */
void snapshot_move(Snapshot *s, const char *from, const char *to);
void snapshot_forget(Snapshot *s, const char *path);                      /* with everything below it */
void snapshot_only(Snapshot *s, const char *path);                        /* forgets all but this path and what is below it */
/* The differences in `now`, a snapshot of the same paths, in readable form: unified diffs, with paths relative to
 * `root` where possible. */
void snapshot_diff(const Snapshot *s, const Snapshot *now, Str root, Buf *out);

/* Recreates the node below `dir`, where it is missing or has the same type. False with errno. */
bool snapshot_restore(int dir, SnapshotNode *n);

/* Shared by recording and comparing; false with errno. */
bool snapshot_read_file(int dir, const char *name, size_t limit, struct statx *st, Buf *out);
bool snapshot_read_link(int dir, const char *name, Buf *out);
bool snapshot_settled(const struct statx *st);
char snapshot_kind(const struct statx *st);
/* True for a protected path whose content may change as git_steps.h allows. Nothing may change below a folder that is protected as a whole. */
bool snapshot_is_step(const SnapshotNode *n);

typedef struct SnapshotNames { char **at; size_t n, cap; } SnapshotNames;
bool snapshot_list(int dir, SnapshotNames *out);                          /* sorted; clear in every case */
void snapshot_names_clear(SnapshotNames *names);
void snapshot_index(const SnapshotNode *folder, const SnapshotNode *except, Table *out);      /* its children by name; the names are borrowed */
/* snapshot_is_star: true if the node is a wildcard (NEARLY_NAMES or "*"). snapshot_means: true if the wildcard matches `name` in `dir`. */
bool snapshot_is_star(const SnapshotNode *n);
bool snapshot_means(const SnapshotNode *star, int dir, const char *name);
