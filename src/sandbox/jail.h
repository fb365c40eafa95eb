/* Files inside roots, for code that runs in this process: built-in tools and scripts' fs functions.
 *
 * Every path is opened by openat2() beneath the descriptor of a root, without magic links and without leaving it; there is
 * no comparison of path strings. A relative path is taken from the workspace; an absolute one must lie in the workspace or
 * in a read or write root. Symbolic links that stay inside are followed; ones that lead out are refused by the kernel.
 * Writing needs the workspace or a write root, and never touches a protected path.
 *
 * Errors name the path as it was given: ERR_SANDBOX for what is outside or protected ("../x: outside the workspace"),
 * ERR_IO for the rest ("notes.txt: no such file"). Safe from any thread: a Jail is immutable. */
#pragma once
#include <sys/stat.h>
#include "base/arena.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/str.h"

typedef struct Jail Jail;

typedef struct JailInput {
    const char *workspace;              /* absolute */
    const char *const *read_roots;      /* NULL-terminated lists of absolute paths; may be NULL */
    const char *const *write_roots;
    const char *const *protect;         /* absolute paths, existing or not: they and all below them are read-only */
    const char *const *hidden;          /* absolute paths that may not even be read (state) */
    bool read_only;                     /* nothing may be written: for hooks */
} JailInput;

bool jail_new(const JailInput *in, Jail **out, Error *err);   /* a root that does not exist is an error that names it */
void jail_free(Jail *j);                                      /* NULL is fine */

enum { JAIL_FILE_MAX = 50 << 20 };      /* bytes that one call reads or writes */

typedef struct JailStat { char type; /* 'f' 'd' 'l' or 'o' (other) */ int64_t size, modified_ns; uint32_t mode; uint64_t device, inode; } JailStat;
typedef struct JailEntry { Str name; JailStat stat; } JailEntry;

/* Where a path leads: its root's number (0: the workspace) and the path below that root with every link resolved, which
 * is what rules about names must look at. The last part may be missing when `may_be_missing`. In `arena`. */
typedef struct JailPlace { uint32_t root; Str path; Str absolute; bool exists; } JailPlace;
bool jail_place(const Jail *j, Str path, bool may_be_missing, Arena *arena, JailPlace *out, Error *err);

int jail_open_read(const Jail *j, Str path, JailStat *st, Error *err);     /* a regular file; -1 on failure; never blocks on a FIFO */
int jail_open_dir(const Jail *j, Str path, Error *err);                    /* for walking; -1 on failure */
/* Opens one entry of an open folder, for walking: a regular file or a folder, never through a link, never what is hidden.
 * -1 with errno set. */
int jail_open_below(const Jail *j, int dir, const char *name, bool folder);

bool jail_stat(const Jail *j, Str path, JailStat *out, Error *err);        /* follows links that stay inside */
bool jail_exists(const Jail *j, Str path, bool *out, Error *err);          /* outside is an error, missing is not */
bool jail_read(const Jail *j, Str path, size_t limit, Buf *out, JailStat *st, Error *err);
bool jail_list(const Jail *j, Str path, Arena *arena, JailEntry **out, size_t *n, Error *err);   /* sorted by name; links are themselves */

/* Replaces or makes a file: temporary file in the same folder, fsync, rename. An existing file keeps its mode; a new one is
 * 0644 less the umask. Missing parent folders are made when `parents`. `expect`: NULL, or the stat the file must still have
 * (size, modified, inode), else ERR_IO "PATH: changed since it was read". Nothing is half-written, whatever happens. */
typedef struct JailWrite { bool parents, must_be_new; const JailStat *expect; } JailWrite;
bool jail_write(const Jail *j, Str path, Str content, const JailWrite *how, JailStat *now, Error *err);
bool jail_append(const Jail *j, Str path, Str content, Error *err);
bool jail_mkdir(const Jail *j, Str path, Error *err);                      /* with parents; an existing folder is fine */
bool jail_remove(const Jail *j, Str path, bool recursive, Cancel *cancel, Error *err);   /* a link itself, never its target; not a root */
bool jail_copy(const Jail *j, Str from, Str to, Cancel *cancel, Error *err);             /* a regular file, or a folder with all in it */
bool jail_move(const Jail *j, Str from, Str to, Cancel *cancel, Error *err);
/* May this path be written? The same answer a write would give, without doing it. */
bool jail_may_write(const Jail *j, Str path, Error *err);
