#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "artifact/git.h"
#include "artifact/source.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/random.h"

/* State of one pull. Temporary files are removed unless they became the cache entry. */
typedef struct Pull { Arena arena; Str state, dir, fresh; const SourceDef *s; SourcePull *out; Error *err; } Pull;

/* ---- folders ---- */

/* Creates each missing component of the path, private to the user. */
static bool make_folders(Arena *arena, Str path, Error *err) {
    char *text = arena_fmt(arena, STR_FMT, STR_ARG(path));
    for (char *c = text + 1;; c++) {
        char at = *c;
        if (at != '/' && at != 0) continue;
        *c = 0;
        if (fault_hit() || (mkdir(text, 0700) < 0 && errno != EEXIST)) return error_set(err, ERR_IO, "make folder %s: %m", text);
        *c = at;
        if (at == 0) return true;
    }
}

/* Removes a folder and its contents; never follows a link. Extraction bounds the depth. */
static void remove_all(int parent, const char *name, int depth) {
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT || depth > GIT_PIN_DEPTH_MAX + 8) return;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d && fd >= 0) close(fd);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) remove_all(fd, e->d_name, depth + 1);
    if (d) closedir(d);
    unlinkat(parent, name, AT_REMOVEDIR);
}

static const char *below(Pull *p, Str dir, const char *name) { return arena_fmt(&p->arena, STR_FMT "/%s", STR_ARG(dir), name); }

/* One pull at a time: closing the descriptor releases the lock. */
static int lock_cache(Pull *p) {
    const char *path = below(p, p->state, "sources/lock");
    int fd = fault_hit() ? -1 : open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) error_set(p->err, ERR_IO, "open %s: %m", path);
    while (fd >= 0 && flock(fd, LOCK_EX) < 0 && errno == EINTR) {}
    return fd;
}

/* ---- cached content ---- */

/* Closes `fd`. */
static size_t count_files(int fd) {
    DIR *d = fdopendir(fd);
    size_t n = 0;
    if (!d) return close(fd), 0;
    for (struct dirent *e; (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        int inner = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        n += inner < 0 ? 1 : count_files(inner);
    }
    closedir(d);
    return n;
}

/* Pinned content does not change: if the cache has it and it is intact, there is nothing to fetch. */
static bool is_current(Pull *p) {
    Str shown;
    int fd = source_open(&p->arena, p->state, STR("/"), p->s, &shown, NULL);
    if (fd < 0) return false;
    if (!source_verify(fd, p->s->checksum, NULL)) return close(fd), false;
    p->out->kind = SOURCE_PULL_CURRENT;
    p->out->files = count_files(fd);
    return source_is_cached(&p->arena, p->dir, p->s, p->out->commit);
}

/* ---- fetching ---- */

static bool write_pin(Pull *p) {
    const char *path = below(p, p->fresh, "pin");
    int fd = fault_hit() ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return error_set(p->err, ERR_IO, "write %s: %m", path);
    const SourceDef *s = p->s;
    int n = dprintf(fd, STR_FMT "\n" STR_FMT "\n" STR_FMT "\n%s\n", STR_ARG(s->url), STR_ARG(s->ref), STR_ARG(s->path), p->out->commit);
    bool ok = n > 0 && fsync(fd) == 0;
    if (!ok) error_set(p->err, ERR_IO, "write %s: %m", path);
    close(fd);
    return ok;
}

static bool extract(Pull *p, const GitPin *pin) {
    const char *tree = below(p, p->fresh, "tree");
    GitPinTally tally = { 0 };
    if (mkdir(p->fresh.at, 0700) < 0 || mkdir(tree, 0700) < 0) return error_set(p->err, ERR_IO, "make folder %s: %m", tree);
    int fd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return error_set(p->err, ERR_IO, "open %s: %m", tree);
    bool ok = git_pin_extract(pin, p->out->commit, p->s->path, fd, &tally, p->err) && source_verify(fd, p->s->checksum, p->err);
    p->out->files = tally.files;
    p->out->links = tally.links;
    p->out->submodules = tally.submodules;
    close(fd);
    return ok;
}

static bool fetch(Pull *p) {
    static const uint8_t key[16] = { 0 };
    GitPin pin = {
        .cache = below(p, p->state, arena_fmt(&p->arena, "sources/git-%016llx", (unsigned long long)hash_sip24(p->s->url, key))),
        .url = arena_fmt(&p->arena, STR_FMT, STR_ARG(p->s->url)), .ref = arena_fmt(&p->arena, STR_FMT, STR_ARG(p->s->ref)),
    };
    p->out->kind = SOURCE_PULL_FETCHED;
    if (!git_pin_fetch(&pin, p->out->commit, p->err)) return false;
    p->fresh = str_from(below(p, p->state, arena_fmt(&p->arena, "sources/new-%016llx", (unsigned long long)random_u64())));
    bool ok = extract(p, &pin) && write_pin(p);
    if (ok) {
        remove_all(AT_FDCWD, p->dir.at, 0);            /* a damaged or different entry */
        if (fault_hit() || rename(p->fresh.at, p->dir.at) < 0) ok = error_set(p->err, ERR_IO, "rename to %s: %m", p->dir.at);
    }
    if (!ok) remove_all(AT_FDCWD, p->fresh.at, 0);
    return ok;
}

static bool pull_git(Pull *p, bool offline) {
    if (p->state.n == 0) return error_set(p->err, ERR_CONFIG, "no place for the cache: neither XDG_STATE_HOME nor HOME is set");
    p->dir = source_cache_dir(&p->arena, p->state, p->s);
    if (is_current(p)) return true;
    if (offline) return error_set(p->err, ERR_CONFIG, STR_FMT " is not in the cache, and HARNESS_OFFLINE is set", STR_ARG(p->s->url));
    if (!make_folders(&p->arena, str_from(below(p, p->state, "sources")), p->err)) return false;
    int lock = lock_cache(p);
    bool ok = lock >= 0 && (is_current(p) || fetch(p));           /* another process may have pulled it meanwhile */
    if (lock >= 0) close(lock);
    return ok;
}

/* A local source is read in place; pulling it only verifies it. */
static bool pull_local(Pull *p, Str root) {
    Str shown;
    int fd = source_open(&p->arena, p->state, root, p->s, &shown, p->err);
    if (fd < 0) return false;
    p->out->kind = SOURCE_PULL_LOCAL;
    bool ok = source_verify(fd, p->s->checksum, p->err);
    close(fd);
    return ok;
}

bool source_pull(Str state, Str root, const SourceDef *s, bool offline, SourcePull *out, Error *err) {
    *out = (SourcePull){ 0 };
    Pull p = { .state = state, .s = s, .out = out, .err = err };
    bool ok = s->local ? pull_local(&p, root) : pull_git(&p, offline);
    arena_clear(&p.arena);
    return ok;
}
