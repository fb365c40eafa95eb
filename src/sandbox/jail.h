/* Files inside roots, for code that runs in this process: built-in tools and scripts' fs functions.
 *
 * A path is walked name by name, each opened by openat2() beneath the descriptor of the folder before it, and the last
 * call is made on the folder that was reached: there is no comparison of path strings and no moment between looking and
 * doing. A relative path is taken from the workspace and may not leave it; an absolute one begins at "/" and is inside once it
 * has entered a root. Symbolic links are followed under the same rules: a relative one may not climb out of the workspace,
 * an absolute one must lead into a root. Writing needs the workspace or a write root, and never touches a protected path,
 * which is known by its place and by its device and inode. Process file systems (/proc) are never entered. A hard link to a
 * file outside cannot be told from a file inside; it can be read, but writing gives the name a file of its own.
 *
 * Errors name the path as it was given: ERR_SANDBOX for what is outside, hidden or protected ("../x: outside the
 * workspace"), ERR_LIMIT for what is too large, ERR_IO for the rest ("notes.txt: no such file"). Safe from any thread: a Jail
 * is immutable. */
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
    const char *const *protect;         /* absolute paths, existing or not: they and all below them are read-only */
    const char *const *hidden;          /* absolute paths that, with all below them, may not even be read (state).
                                         * Best made before: of one whose folder is missing too only whole paths are known */
    bool read_only;                     /* nothing may be written: for hooks */
} JailInput;

bool jail_new(const JailInput *in, Jail **out, Error *err);   /* a root that does not exist is an error that names it */
void jail_free(Jail *j);                                      /* NULL is fine */

enum { JAIL_FILE_MAX = 50 << 20 };      /* bytes that one call reads or writes */

typedef struct JailStat {
    char type;                          /* 'f' 'd' 'l' or 'o' (other) */
    int64_t size, modified_ns;
    uint32_t mode;                      /* 07777 */
    uint64_t device, inode;
} JailStat;
typedef struct JailEntry { Str name; JailStat stat; } JailEntry;

/* Where a path leads: its root's number (0: the workspace, then read roots, then write roots) and the path below that root
 * ("." for the root) with every link resolved, which is what rules about names must look at. The last parts may be missing
 * when `may_be_missing`. In `arena`. */
typedef struct JailPlace { uint32_t root; Str path; Str absolute; bool exists; } JailPlace;
bool jail_place(const Jail *j, Str path, bool may_be_missing, Arena *arena, JailPlace *out, Error *err);

int jail_open_read(const Jail *j, Str path, JailStat *st, Error *err);     /* a regular file; -1 on failure; never blocks on a FIFO */
/* The same for a file of at most `limit` bytes (never more than JAIL_FILE_MAX), which is meant to be read in pieces: ERR_LIMIT. */
int jail_open_upto(const Jail *j, Str path, size_t limit, JailStat *st, Error *err);
/* Appends up to `room` bytes from an open file; `path` is for the message. *end: there are no more. */
bool jail_read_piece(int fd, Str path, size_t room, Buf *out, bool *end, Error *err);
int jail_open_dir(const Jail *j, Str path, Error *err);                    /* for walking; -1 on failure */
/* Opens one entry of an open folder, for walking: a regular file or a folder, never through a link, never what is hidden.
 * -1 with errno set. */
int jail_open_below(const Jail *j, int dir, const char *name, bool folder);

bool jail_stat(const Jail *j, Str path, JailStat *out, Error *err);        /* follows links that stay inside */
bool jail_exists(const Jail *j, Str path, bool *out, Error *err);          /* outside is an error, missing is not */
bool jail_read(const Jail *j, Str path, size_t limit, Buf *out, JailStat *st, Error *err);
bool jail_list(const Jail *j, Str path, Arena *arena, JailEntry **out, size_t *n, Error *err);   /* sorted by name; links are themselves */

/* Replaces or makes a file: temporary file in the same folder, fsync, rename, fsync of the folder. An existing file keeps its
 * mode (not setuid) and, for root, its owner; a new one is 0644 less the umask. Missing parent folders are made when
 * `parents`. `expect`: NULL, or the stat the file must still have (size, modified, inode), else ERR_IO "PATH: changed since
 * it was read"; what is written between the look and the rename is noticed too, and stays. Nothing is half-written, whatever
 * happens: after a failure the file holds the old content, or (when only the last fsync failed) all of the new. A file that
 * its mode forbids to write is refused, though its folder would allow it. `how` and `now` may be NULL. */
typedef struct JailWrite { bool parents, must_be_new; const JailStat *expect; Cancel *cancel; /* asked last, before the rename; may be NULL */ } JailWrite;
bool jail_write(const Jail *j, Str path, Str content, const JailWrite *how, JailStat *now, Error *err);
/* In place, so that several may append; what did not fit is taken back. A missing file is made. Nothing is changed once `cancel` (may be
 * NULL, as below) has fired or its deadline has passed. */
bool jail_append(const Jail *j, Str path, Str content, Cancel *cancel, Error *err);
bool jail_mkdir(const Jail *j, Str path, Cancel *cancel, Error *err);      /* with parents; an existing folder is fine */
bool jail_remove(const Jail *j, Str path, bool recursive, Cancel *cancel, Error *err);   /* a link itself, never its target; not a root */
/* A regular file, or a folder with all in it (links as links; `to` must be missing, and appears whole or not at all). Of any
 * size. The folder of `to` must exist. */
bool jail_copy(const Jail *j, Str from, Str to, Cancel *cancel, Error *err);
/* As rename(): an existing file, link or empty folder at `to` is replaced. Copies and removes between file systems. */
bool jail_move(const Jail *j, Str from, Str to, Cancel *cancel, Error *err);
/* May this path be written? The same answer a write would give, without doing it. */
bool jail_may_write(const Jail *j, Str path, Error *err);
