/* File access inside roots, for code in this process: built-in tools and scripts' fs functions.
 *
 * Walks a path name by name, opening each with openat2() beneath the descriptor of the previous folder, and performs
 * the operation on the folder reached: no comparison of path strings, and no race between check and use. A relative
 * path starts at the workspace and may not leave it; an absolute one starts at "/" and is inside once it has entered a
 * root. Symbolic links follow the same rules: a relative one may not climb out of the workspace, an absolute one must
 * lead into a root. Writing needs the workspace or a write root, and never touches a protected path, which is
 * identified by its location and by its device and inode. Process file systems (/proc) are never entered. A hard link
 * to a file outside cannot be distinguished from a file inside; it can be read, but writing replaces the name with a
 * new file.
 *
 * Errors name the path as given: ERR_SANDBOX if it is outside, hidden or protected ("../x: outside the workspace"),
 * ERR_LIMIT if it is too large, ERR_IO otherwise ("notes.txt: no such file"). Thread-safe: a Jail is immutable. */
#pragma once
#include <sys/stat.h>
#include "base/arena.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/str.h"

typedef struct Jail Jail;

typedef struct JailInput {
    const char *workspace;              /* absolute */
    const char *const *read_roots;      /* NULL-terminated lists of absolute paths of folders; may be NULL */
    const char *const *write_roots;
    const char *const *protect;         /* absolute paths, existing or not: read-only with everything below */
    const char *const *hidden;          /* absolute paths that may not be read, with everything below (state). Create
                                         * them first: if the parent folder is missing, only the whole path is
                                         * recognized */
    bool read_only;                     /* no writes at all: for hooks */
} JailInput;

bool jail_new(const JailInput *in, Jail **out, Error *err);   /* a missing root is an error that names it */
void jail_free(Jail *j);                                      /* NULL is fine */

enum { JAIL_FILE_MAX = 50 << 20 };      /* limit of one read or write */

typedef struct JailStat {
    char type;                          /* 'f' 'd' 'l' or 'o' (other) */
    int64_t size, modified_ns;
    uint32_t mode;                      /* 07777 */
    uint64_t device, inode;
} JailStat;
typedef struct JailEntry { Str name; JailStat stat; } JailEntry;

/* Files outside the roots that the user picked: a run may read them, and do nothing else with them. A view shares the
 * roots of `j`, which must outlive it, and has its own list of picked files, empty at first. Free it with jail_free(). */
Jail *jail_view(const Jail *j);
Jail *jail_view_read_only(const Jail *j);                /* the same, and refuses every change */
typedef struct JailPick { Str absolute; uint64_t device, inode; int64_t born_ns; } JailPick;
/* Looks at a file anywhere, with all links resolved; changes nothing. It must be a regular file that is neither hidden nor
 * protected nor in a process file system, and `view` must be a view: else ERR_SANDBOX or ERR_IO. In `arena`. */
bool jail_pick_look(const Jail *view, Str path, Arena *arena, JailPick *out, Error *err);
/* From now on this file may be read by its path, as long as it is the same file. ERR_LIMIT beyond JAIL_PICKS_MAX. */
enum { JAIL_PICKS_MAX = 1000 };
bool jail_pick_add(Jail *view, const JailPick *pick, Error *err);

/* The file that a path refers to: the index of its root (0: the workspace, then read roots, then write roots) and the path below
 * that root ("." for the root) with all links resolved, for rules about names. The last parts may be missing if
 * `may_be_missing`. `picked`: outside the roots, see jail_pick_add(); `path` is then absolute. In `arena`. */
typedef struct JailPlace { uint32_t root; Str path; Str absolute; bool exists, picked; } JailPlace;
bool jail_place(const Jail *j, Str path, bool may_be_missing, Arena *arena, JailPlace *out, Error *err);

int jail_open_read(const Jail *j, Str path, JailStat *st, Error *err);     /* a regular file; -1 on failure; never blocks on a FIFO */
/* The same for a file of at most `limit` bytes (never more than JAIL_FILE_MAX) that is read in pieces: ERR_LIMIT. */
int jail_open_upto(const Jail *j, Str path, size_t limit, JailStat *st, Error *err);
/* Appends up to `room` bytes from an open file; `path` is for the message. *end: end of file. */
bool jail_read_piece(int fd, Str path, size_t room, Buf *out, bool *end, Error *err);
int jail_open_dir(const Jail *j, Str path, Error *err);                    /* for walking; -1 on failure */

bool jail_stat(const Jail *j, Str path, JailStat *out, Error *err);        /* follows links that stay inside */
bool jail_exists(const Jail *j, Str path, bool *out, Error *err);          /* an error if the path is outside the roots, but not if it is missing */
bool jail_read(const Jail *j, Str path, size_t limit, Buf *out, JailStat *st, Error *err);
bool jail_list(const Jail *j, Str path, Arena *arena, JailEntry **out, size_t *n, Error *err);   /* sorted by name; does not follow links */

/* Creates or replaces a file: temporary file in the same folder, fsync, rename, fsync of the folder. An existing file
 * keeps its mode (without setuid) and, for root, its owner; a new one has 0644 minus the umask. Creates missing parent
 * folders if `parents`. `expect`: NULL, or the stat that the file must still have (size, modified, inode), else ERR_IO
 * "PATH: changed since it was read"; also detects, and keeps, a write between the check and the rename. Atomic: after a
 * failure the file has the old content, or (if only the last fsync failed) the new. Refuses a file whose mode forbids
 * writing, even if its folder allows it. `how` and `now` may be NULL. */
typedef struct JailWrite { bool parents, must_be_new; const JailStat *expect; Cancel *cancel; /* checked last, before the rename; may be NULL */ } JailWrite;
bool jail_write(const Jail *j, Str path, Str content, const JailWrite *how, JailStat *now, Error *err);
/* Appends in place, so that several processes may append; undoes a partial write. Creates a missing file. Changes
 * nothing once `cancel` (may be NULL, as below) has fired or its deadline has passed. */
bool jail_append(const Jail *j, Str path, Str content, Cancel *cancel, Error *err);
bool jail_mkdir(const Jail *j, Str path, Cancel *cancel, Error *err);      /* with parents; an existing folder is fine */
bool jail_remove(const Jail *j, Str path, bool recursive, Cancel *cancel, Error *err);   /* a link itself, never its target; not a root */
/* A regular file, or a folder with its content (links as links; `to` must not exist, and appears atomically). Of any
 * size. The folder of `to` must exist. */
bool jail_copy(const Jail *j, Str from, Str to, Cancel *cancel, Error *err);
/* Like rename(): replaces an existing file, link or empty folder at `to`. Between file systems copies and removes. */
bool jail_move(const Jail *j, Str from, Str to, Cancel *cancel, Error *err);
/* True if a write to this path would be allowed. */
bool jail_may_write(const Jail *j, Str path, Error *err);
