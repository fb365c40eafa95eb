/* Extracts pinned trees from git repositories with libgit2, which is loaded on first use. Only
 * these functions use it, and only `harness pull` calls them.
 *
 * A repository is fetched into a bare one in the cache; configuration of the user or the machine
 * (url.insteadOf, hooks, filters) has no effect. Our own code writes the files: regular files only,
 * so a tree cannot contain a link or a submodule. */
#pragma once
#include "base/error.h"
#include "base/str.h"

enum {
    GIT_PIN_FILES_MAX = 20000,
    GIT_PIN_DEPTH_MAX = 64,
    GIT_PIN_COMMIT_SIZE = 41,                /* 40 digits and a NUL */
};
#define GIT_PIN_BYTES_MAX ((size_t)256 << 20)

typedef struct GitPin {
    const char *cache;                       /* folder of the bare repository; created if missing */
    const char *url;
    const char *ref;                         /* 40 hex digits: a commit; else a tag's name */
} GitPin;

typedef struct GitPinTally { size_t files, bytes, links, submodules; } GitPinTally;

bool git_pin_is_commit(Str ref);

/* Ensures that the cache holds what `ref` names and returns the commit. Contacts the remote for a commit only if the
 * cache lacks it, and always for a tag. Blocks until the remote responds. */
bool git_pin_fetch(const GitPin *pin, char commit[GIT_PIN_COMMIT_SIZE], Error *err);

/* Writes the regular files of folder `path` ("" or ".": all) of a commit below dir_fd, an empty folder. Skips and
 * counts links and submodules. */
bool git_pin_extract(const GitPin *pin, const char *commit, Str path, int dir_fd, GitPinTally *tally, Error *err);
