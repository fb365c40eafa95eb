/* Pinned artifact sources: which are allowed, where they are kept, what they hold.
 *
 *   STATE/sources/NAME-HEX/pin       what it was pulled from: url, ref, path, commit, one a line
 *   STATE/sources/NAME-HEX/tree/     the files
 *   STATE/sources/git-HEX/           bare repository of a URL
 *
 * Everything is private (0700) and appears by rename, whole or not at all. Loading reads the cache and never the
 * network; source_pull fills it. */
#pragma once
#include "artifact/project.h"

/* ---- rules (source_rules.c) ---- */

bool source_checksum_ok(Str checksum);                     /* sha256: and 64 hex digits */
bool source_tag_ok(Str ref);                               /* may be the name of a tag */
bool source_url_ok(Str url, const char **why);             /* a scheme that can be pulled, and no way around the trusted list */
/* Does one of the entries lead to it, by whole path segments? `where` is a URL, or an absolute path when `local`; entries
 * without scheme match any; relative ones are paths below `root`. */
bool source_is_trusted(Arena *arena, Str where, bool local, const StrList *trusted, Str root);
Str source_absolute(Arena *arena, Str root, Str path);     /* joined and cleaned by text alone */

/* ---- content (source_checksum.c) ---- */

/* "sha256:…" over path NUL size NUL content of each regular file in byte order of paths; .git is left out. A link or
 * anything else that is no file or folder is an error: what cannot be pinned must not be there. */
bool source_checksum(int dir_fd, Buf *out, Error *err);
bool source_verify(int dir_fd, Str checksum, Error *err);  /* an empty checksum is fine */

/* ---- the cache (source_cache.c) ---- */

Str source_state_dir(Arena *arena, const char *given);     /* given, else $XDG_STATE_HOME/harness, else ~/.local/state/harness; empty: no home */
Str source_cache_dir(Arena *arena, Str state, const SourceDef *s);
/* Is it this source that the cache has there, and of which commit? (41 bytes; NULL: do not tell) */
bool source_is_cached(Arena *arena, Str dir, const SourceDef *s, char *commit);
/* The folder with the files, or -1: of a git source in the cache, "not pulled yet" when it is not there. *shown is its path. */
int source_open(Arena *arena, Str state, Str root, const SourceDef *s, Str *shown, Error *err);

/* ---- pulling (source_pull.c) ---- */

typedef enum { SOURCE_PULL_FETCHED, SOURCE_PULL_CURRENT, SOURCE_PULL_LOCAL } SourcePullKind;
typedef struct SourcePull { SourcePullKind kind; char commit[41]; size_t files, links, submodules; } SourcePull;

/* Brings one source into the cache, unless it is there already; checks what is pinned. With `offline` nothing is fetched. */
bool source_pull(Str state, Str root, const SourceDef *s, bool offline, SourcePull *out, Error *err);
