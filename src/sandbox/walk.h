/* Following a path, one name at a time, each opened by openat2() beneath the folder before it: the walk always knows, by
 * device and inode, every folder between it and the root, and no link or rename can put it anywhere it did not step itself.
 * Links are read and followed here; an absolute one starts again at "/", like an absolute path, and is inside again
 * once it enters a root. Behind jail.h; protect.h uses the single steps. */
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
    int fd;                             /* O_PATH; -1: nothing is inside it (a process file system) */
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
    pthread_mutex_t *placing;           /* one write of this process takes its place at a time */
};

typedef struct WalkStep {
    FileId id;
    uint32_t name, length;              /* its name, in Walk.names */
    int32_t root;                       /* the innermost root it is in; the workspace wins; -1: outside */
    bool writable;                      /* in the workspace or a write root */
    FenceMatch match;
    FenceNode *node;                    /* while a fence is built */
} WalkStep;

/* Where a path leads: the folder it is in, its name there, and what is there. A folder where the path cannot be parted so
 * ("/", or "." at the start) has the name "" and is `dir` itself. */
typedef struct Walk {
    const Jail *jail;
    Fence *build;                       /* not NULL: steps are noted there, nothing fails, nothing is refused */
    VEC(WalkStep) step;                 /* [0]: where it began; the last: dir */
    Buf names;
    int dir;
    bool dir_owned;
    Buf rest;                           /* still to be walked */
    uint32_t links;

    char name[NAME_MAX + 1];
    int target;                         /* O_PATH, the link itself if it is one that is not followed; -1: missing */
    struct statx st;                    /* of the target */
    WalkStep at;                        /* what a step to the target is, or would be */
    bool is_root;
    bool force;                         /* removing: whatever it is, and opening folders that are closed */
    Buf missing;                        /* "b/c" when a/b/c was asked for and `a` is missing */
} Walk;

enum {
    WALK_FOLLOW = 1,                    /* if the last name is a link, go where it leads */
    WALK_MISSING = 2,                   /* the last name may be missing */
    WALK_PARENTS = 4,                   /* several may be */
};

/* False: outside (ERR_SANDBOX), hidden (the same words), or not there. Call walk_end() in any case. */
bool walk_to(Walk *w, const Jail *j, Str path, unsigned how, Error *err);
bool walk_anywhere(Walk *w, const Jail *j, Str path, unsigned how);     /* outside too; false with errno */
bool walk_at(Walk *w, const Jail *j, int dir, const char *name);        /* from an open folder, borrowed; false with errno */
void walk_end(Walk *w);
int walk_target(const Walk *w);         /* the target's descriptor, borrowed */
static inline bool walk_exists(const Walk *w) { return !w->name[0] || w->target >= 0; }
/* Opens what the walk found; EAGAIN: another file took its place meanwhile. -1 with errno. */
int walk_open_target(const Walk *w, int flags, JailStat *st);
bool walk_right_kind(const Walk *w, Str path, bool folder, Error *err);   /* a folder, or a regular file */

/* May the target be written; with `away`: removed, renamed or replaced by a rename? */
bool walk_may_write(const Walk *w, Str path, bool away, Error *err);

/* Single steps, for trees. Errors are in errno; EAGAIN: it moved meanwhile. */
bool walk_down(Walk *w, const char *name);              /* into the folder `name` of dir; never through a link */
bool walk_up(Walk *w);
void walk_into(Walk *w);                                /* into the target, a folder: it is then the last step, and dir */
bool walk_out(Walk *w);                                 /* the other way: the folder the walk is in becomes its target */
WalkStep walk_peek(const Walk *w, const char *name, const struct statx *st);    /* what a step there would be; st NULL: missing */

/* One name below a folder, never through a link. `flags` as for openat(). -1 with errno. */
int walk_open(int dir, const char *name, int flags, mode_t mode);
bool walk_stat(int dir, const char *name, struct statx *st);   /* name "": dir itself; links are themselves */
bool walk_is_process_fs(int fd);
bool walk_chmod(int fd, mode_t mode);                   /* fd may be O_PATH */

JailStat walk_describe(const struct statx *st);

/* Sets ERR_IO "PATH: why" for errno; returns false. */
bool walk_fail(Str path, int error, Error *err);
bool walk_refuse(Str path, const char *why, Error *err);      /* ERR_SANDBOX */
const char *walk_show(Str path, char out[static 320]);        /* fit for a message: short, no control characters */

/* Adds the path to the fence, as far as it exists and by name beyond. */
void walk_fence(const Jail *j, Fence *f, Str path, bool hidden);
