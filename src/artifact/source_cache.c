#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "artifact/source.h"
#include "base/file.h"
#include "base/hash.h"

enum { NAME_MAX_SHOWN = 40, PIN_BYTES_MAX = 8192, COMMIT_DIGITS = 40 };

Str source_state_dir(Arena *arena, const char *given) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (given) return arena_str(arena, str_from(given));
    if (state && state[0] == '/') return str_from(arena_fmt(arena, "%s/harness", state));
    if (home && home[0] == '/') return str_from(arena_fmt(arena, "%s/.local/state/harness", home));
    return STR("");
}

/* The repository's name, restricted to characters valid in a path. */
static Str readable(Arena *arena, Str url) {
    while (str_ends(url, STR("/"))) url.n--;
    if (str_ends(url, STR(".git"))) url.n -= 4;
    size_t from = url.n;
    while (from && url.at[from - 1] != '/' && url.at[from - 1] != ':') from--;
    Str name = arena_str(arena, str_sub(url, from, from + NAME_MAX_SHOWN));
    char *at = arena_fmt(arena, STR_FMT, STR_ARG(name));
    for (char *c = at; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '-' || *c == '_')) *c = '_';
    return *at ? str_from(at) : STR("source");
}

Str source_cache_dir(Arena *arena, Str state, const SourceDef *s) {
    static const uint8_t key[16] = { 0 };
    const char *text = arena_fmt(arena, STR_FMT "\n" STR_FMT "\n" STR_FMT, STR_ARG(s->url), STR_ARG(s->ref), STR_ARG(s->path));
    return str_from(arena_fmt(arena, STR_FMT "/sources/" STR_FMT "-%016llx", STR_ARG(state), STR_ARG(readable(arena, s->url)),
                              (unsigned long long)hash_sip24(str_from(text), key)));
}

/* Two sources may have the same hash; the pin file identifies the one in the cache. */
bool source_is_cached(Arena *arena, Str dir, const SourceDef *s, char *commit) {
    Buf pin = { 0 };
    Str want = str_from(arena_fmt(arena, STR_FMT "\n" STR_FMT "\n" STR_FMT "\n", STR_ARG(s->url), STR_ARG(s->ref), STR_ARG(s->path)));
    bool ok = file_read(arena_fmt(arena, STR_FMT "/pin", STR_ARG(dir)), PIN_BYTES_MAX, &pin, NULL) && str_starts(buf_str(&pin), want)
              && pin.n == want.n + COMMIT_DIGITS + 1;
    if (ok && commit) {
        memcpy(commit, pin.at + want.n, COMMIT_DIGITS);
        commit[COMMIT_DIGITS] = 0;
    }
    buf_clear(&pin);
    return ok;
}

static int open_local(Arena *arena, Str root, const SourceDef *s, Str *shown, Error *err) {
    Str path = source_absolute(arena, root, s->path);
    int fd = open(path.at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) error_set(err, ERR_IO, "open " STR_FMT ": %m", STR_ARG(s->path));
    Str as_written = s->path;
    while (as_written.n > 1 && str_ends(as_written, STR("/"))) as_written.n--;
    while (str_starts(as_written, STR("./"))) as_written = str_sub(as_written, 2, as_written.n);
    *shown = as_written;
    return fd;
}

int source_open(Arena *arena, Str state, Str root, const SourceDef *s, Str *shown, Error *err) {
    if (s->local) return open_local(arena, root, s, shown, err);
    Str dir = state.n ? source_cache_dir(arena, state, s) : STR("");
    int fd = -1;
    *shown = str_from(arena_fmt(arena, STR_FMT "/tree", STR_ARG(dir)));
    if (dir.n && source_is_cached(arena, dir, s, NULL)) fd = open(shown->at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        error_set(err, ERR_CONFIG, STR_FMT " is not pulled yet", STR_ARG(s->url));
        error_hint(err, "run harness pull");
    }
    return fd;
}
