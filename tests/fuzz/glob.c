/* A pattern, a newline, paths. Matching must end, a walk must enter every folder of a match, and the pattern's base
 * must be a prefix of the match. The same text is parsed as an ignore file. A pattern without wildcards matches only
 * itself. */
#include <stdlib.h>
#include "base/glob.h"
#include "tool/builtin/ignore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(bool ok) { if (!ok) abort(); }

static bool is_clean(Str path) {
    return path.n && path.at[0] != '/' && path.at[path.n - 1] != '/' && str_find(path, STR("//")) < 0 && !memchr(path.at, 0, path.n);
}

static void check_match(const Glob *g, Str path) {
    require(glob_match_below(g, STR("")));
    for (size_t i = 0; i < path.n; i++)
        if (path.at[i] == '/') require(glob_match_below(g, str_sub(path, 0, i)));
    Str base = glob_base(g);
    if (base.n) require(str_starts(path, base) && path.n > base.n && path.at[base.n] == '/');
    size_t parts = 1;
    for (size_t i = 0; i < path.n; i++) parts += path.at[i] == '/';
    require(parts <= glob_depth(g));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    Arena arena = { 0 };
    Str rest = { (const char *)data, n }, pattern, path;
    if (n > 20000 || !str_next_line(&rest, &pattern)) return 0;
    for (unsigned flags = 0; flags < 4; flags++) {
        Error err = { 0 };
        Str paths = rest;
        const Glob *g = glob_new(pattern, flags, &arena, &err);
        if (!g) {
            require((err.kind == ERR_PARSE || err.kind == ERR_LIMIT) && err.msg[0]);
            continue;
        }
        while (str_next_line(&paths, &path))
            if (is_clean(path) && glob_match(g, path)) check_match(g, path);
    }
    const Ignore *rules = ignore_new(NULL, STR(""), rest, &arena), *more = ignore_new(rules, STR("x"), pattern, &arena);
    for (Str paths = rest; str_next_line(&paths, &path);) {
        ignore_match(rules, path, false);
        bool folder = ignore_match(rules, path, true);
        (void)folder;
        if (str_starts(path, STR("x/"))) ignore_match(more, path, false);
    }
    arena_clear(&arena);
    return 0;
}
