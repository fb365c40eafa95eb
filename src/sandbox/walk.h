/* Follows a path one name at a time, opening each with openat2() beneath the previous folder: the walk knows the device
 * and inode of every folder between it and the root, and no link or rename can divert it. Reads and follows links
 * itself; an absolute one restarts at "/", like an absolute path, and is inside again once it enters a root. Private to
 * jail.h; protect.h uses the single steps. */
#pragma once
#include <pthread.h>
#include <limits.h>
#include <sys/stat.h>
#include "base/error.h"
#include "base/str.h"
#include "base/vec.h"
#include "sandbox/fence.h"
#include "sandbox/jail.h"

typedef struct JailRoot {
    int fd;                             /* O_PATH; -1: nothing in it is accessible (a process file system) */
    FileId id;
    bool writable;
    FenceMatch match;
    char *path;                         /* absolute, links resolved; "" for "/" */
} JailRoot;

struct Jail {
    int top;                            /* "/" */
    FileId top_id;
    VEC(JailRoot) root;                 /* [0]: the workspace */
    Fence *fence;
    bool read_only, any_hidden;
    pthread_mutex_t *placing;           /* serializes the final step of writes in this process */
    struct JailPicks *picks;            /* of a view, which owns nothing else; NULL: not a view */
};

bool jail_picked(const Jail *j, FileId id);             /* jail_pick.c */
void jail_picks_free(struct JailPicks *p);

typedef struct WalkStep {
    FileId id;
    uint32_t name, length;              /* its name, in Walk.names */
    int32_t root;                       /* the innermost root it is in; the workspace wins; -1: outside */
    bool writable;                      /* in the workspace or a write root */
    FenceMatch match;
    FenceNode *node;                    /* while building a fence */
} WalkStep;

/* The target of a path: its folder, its name there, and the file. A folder without a separate name ("/", or "." at the
 * start) has the name "" and is `dir` itself. */
typedef struct Walk {
    const Jail *jail;
    Fence *build;                       /* not NULL: records steps there and refuses nothing */
    VEC(WalkStep) step;                 /* [0]: where it started; the last: dir */
    Buf names;
    int dir;
    bool dir_owned;
    Buf rest;                           /* still to walk */
    uint32_t links;

    char name[NAME_MAX + 1];
    int target;                         /* O_PATH, the link itself if it is not followed; -1: missing */
    struct statx st;                    /* of the target */
    WalkStep at;                        /* the step to the target, existing or not */
    bool is_root;
    bool force;                         /* removing: any file type, opening inaccessible folders */
    Buf missing;                        /* "b/c" for a/b/c when `a` is missing */
} Walk;

enum {
    WALK_FOLLOW = 1,                    /* follow a link as the last name */
    WALK_MISSING = 2,                   /* the last name may be missing */
    WALK_PARENTS = 4,                   /* several may be missing */
};

/* False: outside (ERR_SANDBOX), hidden (same message), or missing. Call walk_end() in every case. */
bool walk_to(Walk *w, const Jail *j, Str path, unsigned how, Error *err);
bool walk_anywhere(Walk *w, const Jail *j, Str path, unsigned how);     /* also outside; false with errno */
bool walk_at(Walk *w, const Jail *j, int dir, const char *name);        /* from an open folder, borrowed; false with
                                                                         * errno */
void walk_end(Walk *w);
int walk_target(const Walk *w);         /* the target's descriptor, borrowed */
static inline bool walk_exists(const Walk *w) { return !w->name[0] || w->target >= 0; }
/* Opens the target; EAGAIN: another file replaced it meanwhile. -1 with errno. */
int walk_open_target(const Walk *w, int flags, JailStat *st);
bool walk_right_kind(const Walk *w, Str path, bool folder, Error *err);   /* a folder, or a regular file */

/* True if the target may be written; with `away`: removed, renamed or replaced by a rename. */
bool walk_may_write(const Walk *w, Str path, bool away, Error *err);

/* Single steps, for trees. Errors in errno; EAGAIN: it moved meanwhile. */
bool walk_down(Walk *w, const char *name);              /* into the folder `name` of dir; never through a link */
bool walk_up(Walk *w);
void walk_into(Walk *w);                                /* into the target, a folder, which becomes the last step and
                                                         * dir */
bool walk_out(Walk *w);                                 /* the inverse: the current folder becomes the target */
WalkStep walk_peek(const Walk *w, const char *name, const struct statx *st);    /* the step to `name`; st NULL:
                                                                                 * missing */

/* One name below a folder, never through a link. `flags` as for openat(). -1 with errno. */
int walk_open(int dir, const char *name, int flags, mode_t mode);
bool walk_stat(int dir, const char *name, struct statx *st);   /* name "": dir itself; does not follow links */
bool walk_is_process_fs(int fd);
bool walk_chmod(int fd, mode_t mode);                   /* fd may be O_PATH */

JailStat walk_describe(const struct statx *st);

/* Sets ERR_IO "PATH: why" for errno; returns false. */
bool walk_fail(Str path, int error, Error *err);
bool walk_refuse(Str path, const char *why, Error *err);      /* ERR_SANDBOX */
const char *walk_show(Str path, char out[static 320]);        /* for messages: short, without control characters */

/* Adds the paths (NULL-terminated; NULL: none) to the fence: existing parts by identity, the rest by name. */
void walk_fence(const Jail *j, Fence *f, const char *const *paths, bool hidden);
