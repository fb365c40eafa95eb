/* The world-readable files below /etc and /opt, for programs that run as root.
 *
 * Root's programs may read every file that Landlock allows, so Landlock gets these folders entry by entry: a folder
 * with everything below it if nothing in it is private, else its parts. A file is private if others may not read it; a
 * folder, with everything in it, if others may not list and enter it. The walk takes milliseconds. A process that
 * starts more than one program watches all folders (inotify) to know when to repeat it; the first program is started
 * without watches, because removing them takes longer than the walk.
 *
 * The right to list a folder applies to all folders below it. A folder that contains a private one may be listed only
 * where private mounts can cover the private one. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"
#include "base/vec.h"
#include "sandbox/ruleset.h"

typedef enum { PUBLIC_WHOLE, PUBLIC_LISTED, PUBLIC_LISTED_COVERED } PublicKind;
typedef struct PublicEntry { char *path; PublicKind kind; int fd; bool folder; } PublicEntry;     /* fd: O_PATH; -1: too many */

typedef struct Public Public;
struct Public {
    VEC(PublicEntry) entries;
    VEC(char *) hidden;                 /* private folders, to be covered */
    int watches;                        /* -1: none */
    bool known;                         /* the walk is done; with watches: and nothing has changed since */
    int64_t walked_at;                  /* monotonic */
    bool partial;                       /* incomplete: too many entries, or too deep */
    size_t seen;
};

enum { PUBLIC_ENTRIES_MAX = 200000, PUBLIC_OPEN_MAX = 400 };    /* folders beyond the first limit are not allowed */

extern const char *const public_folders[];             /* NULL-terminated */
bool public_needed(void);               /* true if this process may read files that others may not */
/* Before each call. True: unchanged. `watch`: watch from now on. Zero-initialise, with .watches = -1. */
bool public_refresh(Public *p, bool watch);
/* `covered`: the private folders are covered. Directly after public_refresh(). */
bool public_allow(const Public *p, bool covered, int ruleset, const RulesetOptions *options, Error *err);
