/* Paths of a call against the globs of a rule. Links and .. are resolved first; rows that deny or ask apply if one
 * spelling matches, rows that allow only if all do. */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/glob.h"
#include "base/path.h"
#include "policy/rules_private.h"

enum { LINKS_MAX = 40 };

static Str join(Str folder, Str path, Arena *arena) {
    if (path.n && path.at[0] == '/') return arena_str(arena, path);
    return str_from(arena_fmt(arena, STR_FMT "/" STR_FMT, STR_ARG(folder), STR_ARG(path)));
}

/* The longest part of an absolute path that exists, with links resolved; *end: how long it is in `path`. */
static Str existing(Str path, size_t *end, Arena *arena) {
    char real[PATH_MAX], part[PATH_MAX];
    memcpy(part, path.at, path.n);
    for (size_t n = path.n; n > 0; n--) {
        bool whole = n == path.n || part[n] == '/';
        part[n] = 0;
        if (whole && realpath(part, real)) return *end = n, arena_str(arena, str_from(real));
        part[n] = path.at[n];
    }
    return *end = 0, STR("");
}

/* Resolves the links of the part that exists. The rest, which a call may create, is appended; it may begin with a link to a
 * file that does not exist yet. */
static Str resolve(Str path, Arena *arena) {
    char target[PATH_MAX];
    for (unsigned links = 0; links < LINKS_MAX && path.n > 0 && path.n < PATH_MAX - 1; links++) {
        size_t end;
        path = arena_str(arena, path);
        Str real = existing(path, &end, arena);
        if (end == path.n) return real;
        while (end < path.n && path.at[end] == '/') end++;
        Str rest = str_sub(path, end, path.n);
        ptrdiff_t slash = str_find_char(rest, '/');
        Str name = str_sub(rest, 0, slash < 0 ? rest.n : (size_t)slash);
        Str whole = join(real, name, arena);
        ssize_t n = readlink(whole.at, target, sizeof target);
        if (n <= 0) return path_normal(arena, join(real, rest, arena));
        path = join(join(real, (Str){ target, (size_t)n }, arena), str_sub(rest, name.n + 1, rest.n), arena);
    }
    return path_normal(arena, path);
}

RulesRoots rules_path_roots(const RulesCall *call, Arena *arena) {
    RulesRoots r = { .home = call->home.n ? path_normal(arena, call->home) : STR("") };
    const Str folders[] = { call->root, call->workspace };
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (folders[i].n == 0 || (i && str_eq(folders[i], folders[0]))) continue;
        r.at[r.n++] = path_normal(arena, folders[i]);
        r.at[r.n++] = resolve(folders[i], arena);
    }
    return r;
}

/* The path relative to the folder; false if it is not below it. */
static bool below(Str folder, Str path, Str *out) {
    if (str_eq(folder, STR("/"))) return *out = str_sub(path, 1, path.n), true;
    if (!str_starts(path, folder) || (path.n > folder.n && path.at[folder.n] != '/')) return false;
    return *out = str_sub(path, folder.n + 1, path.n), true;
}

RulesSpelling rules_path_spell(const RulesCall *call, Str path, Arena *arena) {
    Str whole = join(call->cwd.n ? call->cwd : call->root, path, arena);
    RulesSpelling s = { path_normal(arena, whole), resolve(whole, arena), STR(""), STR("") };
    Str rest;
    if (call->copy.n && below(call->copy, s.real, &rest)) s.original = path_normal(arena, join(call->original, rest, arena));
    bool tilde = call->home.n && (str_eq(path, STR("~")) || str_starts(path, STR("~/")));
    if (tilde) s.tilde = resolve(join(call->home, str_sub(path, 2, path.n), arena), arena);
    return s;
}

static Str fold(Str s, Arena *arena) {
    char *out = arena_alloc(arena, s.n + 1);
    for (size_t i = 0; i < s.n; i++) out[i] = (char)(s.at[i] >= 'A' && s.at[i] <= 'Z' ? s.at[i] + ('a' - 'A') : s.at[i]);
    out[s.n] = 0;
    return (Str){ out, s.n };
}

/* A pattern that ends in a slash or in two stars is about a folder, so it also matches the folder itself. */
static bool names_folder(Str pattern) { return str_ends(pattern, STR("/**")) || str_ends(pattern, STR("/")); }

static bool glob_may(const RulePath *p, Str path, Arena *arena) {
    Str folded = fold(path, arena);
    if (glob_match(p->glob, path) || glob_match(p->folded, folded)) return true;
    return names_folder(p->text) && glob_match(p->folded, str_from(arena_fmt(arena, STR_FMT "/x", STR_ARG(folded))));
}

static bool spelling_may(const RulePath *p, const RulesRoots *roots, Str path, Arena *arena) {
    Str rest;
    if (path.n == 0) return false;
    if (p->absolute) return glob_may(p, str_sub(path, 1, path.n), arena);
    if (p->home) return roots->home.n && below(roots->home, path, &rest) && glob_may(p, rest, arena);
    for (size_t i = 0; i < roots->n; i++)
        if (below(roots->at[i], path, &rest) && glob_may(p, rest, arena)) return true;
    return str_starts(p->text, STR("**")) && glob_may(p, str_sub(path, 1, path.n), arena);
}

bool rules_path_may(const RulePath *p, const RulesRoots *roots, const RulesSpelling *s, Arena *arena) {
    return spelling_may(p, roots, s->lexical, arena) || spelling_may(p, roots, s->real, arena) || spelling_may(p, roots, s->tilde, arena) ||
           spelling_may(p, roots, s->original, arena);
}

/* For a folder to search: true if the patterns match any file name below it, at any depth. */
static bool glob_must(const Glob *g, Str path, bool folder, Arena *arena) {
    if (!folder) return glob_match(g, path);
    const char *slash = path.n ? "/" : "";
    return glob_match(g, str_from(arena_fmt(arena, STR_FMT "%s\1", STR_ARG(path), slash)))
        && glob_match(g, str_from(arena_fmt(arena, STR_FMT "%s\1/\1", STR_ARG(path), slash)));
}

bool rules_path_must(const RulePath *p, const RulesRoots *roots, Str path, bool folder, Arena *arena) {
    Str rest;
    if (p->absolute) return glob_must(p->glob, str_sub(path, 1, path.n), folder, arena);
    if (p->home) return roots->home.n && below(roots->home, path, &rest) && glob_must(p->glob, rest, folder, arena);
    for (size_t i = 0; i < roots->n; i++)
        if (below(roots->at[i], path, &rest) && glob_must(p->glob, rest, folder, arena)) return true;
    return false;
}
