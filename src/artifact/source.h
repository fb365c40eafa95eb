/* Pinned artifact sources: which are allowed, where they are cached, what they contain.
 *
 *   STATE/sources/NAME-HEX/pin       its origin: url, ref, path, commit, one per line
 *   STATE/sources/NAME-HEX/tree/     the files
 *   STATE/sources/git-HEX/           bare repository of a URL
 *
 * All folders are private (0700) and are created atomically by rename. Loading reads the cache and never the
 * network; source_pull fills it. */
#pragma once
#include "artifact/project.h"

/* ---- rules (source_rules.c) ---- */

bool source_checksum_ok(Str checksum);                     /* sha256: and 64 hex digits */
bool source_tag_ok(Str ref);                               /* a valid tag name */
bool source_url_ok(Str url, const char **why);             /* a supported scheme, and no way around the trusted list */
/* True if a trusted entry is a prefix of `where` by whole path segments. `where` is a URL, or an absolute path if
 * `local`; entries without a scheme match any scheme; relative ones are paths below `root`. */
bool source_is_trusted(Arena *arena, Str where, bool local, const StrList *trusted, Str root);
Str source_absolute(Arena *arena, Str root, Str path);     /* joined and normalized without file system access */

/* ---- content (source_checksum.c) ---- */

/* "sha256:…" over path NUL size NUL content of each regular file in byte order of paths, without .git. Links and
 * other special files are an error, because they cannot be pinned. */
bool source_checksum(int dir_fd, Buf *out, Error *err);
bool source_verify(int dir_fd, Str checksum, Error *err);  /* accepts an empty checksum */

/* ---- the cache (source_cache.c) ---- */

Str source_state_dir(Arena *arena, const char *given);     /* given, else $XDG_STATE_HOME/harness, else ~/.local/state/harness; empty: no home */
Str source_cache_dir(Arena *arena, Str state, const SourceDef *s);
/* True if the cache contains this source; *commit is its commit (41 bytes; may be NULL). */
bool source_is_cached(Arena *arena, Str dir, const SourceDef *s, char *commit);
/* Opens the folder with the files, or returns -1: for a git source in the cache, "not pulled yet" if it is missing.
 * *shown is its path. */
int source_open(Arena *arena, Str state, Str root, const SourceDef *s, Str *shown, Error *err);

/* ---- pulling (source_pull.c) ---- */

typedef enum { SOURCE_PULL_FETCHED, SOURCE_PULL_CURRENT, SOURCE_PULL_LOCAL } SourcePullKind;
typedef struct SourcePull { SourcePullKind kind; char commit[41]; size_t files, links, submodules; } SourcePull;

/* Pulls one source into the cache unless it is already there, and verifies what is pinned. `offline` fetches
 * nothing. */
bool source_pull(Str state, Str root, const SourceDef *s, bool offline, SourcePull *out, Error *err);
