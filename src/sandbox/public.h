/* What everybody may read below /etc and /opt, for programs that run as root.
 *
 * Root's programs keep the right to read every file that Landlock allows, so for them Landlock gets these folders entry by entry: a
 * folder with all below it when nothing in it is private, else its parts. Private is a file that others may not read, and a folder that
 * others may not list and enter, with all in it. The walk takes milliseconds. A process that starts more than one program watches all
 * folders (inotify), which tell when it has to be made again; the first program is started without, because taking watches away takes
 * longer than the walk.
 *
 * The right to list a folder holds for all folders below it. One with a private folder in it is opened for listing only where
 * private mounts can cover that one. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"
#include "base/vec.h"
#include "sandbox/ruleset.h"

typedef enum { PUBLIC_WHOLE, PUBLIC_LISTED, PUBLIC_LISTED_COVERED } PublicKind;
typedef struct PublicEntry { char *path; PublicKind kind; int fd; bool folder; } PublicEntry;     /* fd: O_PATH; -1: there are too many */

typedef struct Public Public;
struct Public {
    VEC(PublicEntry) entries;
    VEC(char *) hidden;                 /* private folders, to be covered */
    int watches;                        /* -1: none */
    bool known;                         /* the walk was made; with watches: and nothing has changed since */
    int64_t walked_at;                  /* monotonic */
    bool partial;                       /* it was not made to the end: too many entries, or too deep */
    size_t seen;
};

enum { PUBLIC_ENTRIES_MAX = 200000, PUBLIC_OPEN_MAX = 400 };    /* folders beyond the first number are left closed */

extern const char *const public_folders[];             /* NULL ends it */
bool public_needed(void);               /* may this process read what others may not? */
/* Before each call. True: still as it was. `watch`: from now on. Zero-initialise, with .watches = -1. */
bool public_refresh(Public *p, bool watch);
/* `covered`: the private folders are. Right after public_refresh(). */
bool public_allow(const Public *p, bool covered, int ruleset, const RulesetOptions *options, Error *err);
void public_clear(Public *p);
