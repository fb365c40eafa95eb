/* The workspace of a queued run: a copy of the project's. Everything that names the original, or a path below it, names the copy afterwards: what
 * programs may write, the files that are protected, the folders of tools, hooks and servers. */
#include <limits.h>
#include <stdlib.h>
#include "sandbox/reach.h"
#include "tool/protect/confine.h"
#include "tool/runtime_private.h"

static bool is_below(const char *path, const char *folder) {
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == 0);
}

const char *runtime_moved(const Runtime *rt, const char *path, Arena *arena) {
    if (!rt->original || !is_below(path, rt->original)) return path;
    return arena_fmt(arena, "%s%s", rt->rules.workspace, path + strlen(rt->original));
}

Str runtime_root(const Runtime *rt) { return rt->moved_root.n ? rt->moved_root : rt->project->root; }
Str runtime_original(const Runtime *rt) { return str_from(rt->original); }

/* Roots inside the original are in the copy already; one that the copy does not have is left out. */
static const char *const *move_roots(Runtime *rt, const char *const *list) {
    size_t n = 0, kept = 0;
    while (list && list[n]) n++;
    const char **out = ARENA_ARRAY(&rt->arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        char real[PATH_MAX];
        const char *path = runtime_moved(rt, list[i], &rt->arena);
        if (path == list[i] || (realpath(path, real) && strcmp(real, path) == 0)) out[kept++] = path;
    }
    return out;
}

/* True if calls can still write this path of the original: through a write root, a server's, or without a sandbox. */
static bool still_reached(const Runtime *rt, const char *const *places, const char *path) {
    if (rt->rules.mode == SANDBOX_OFF) return true;
    for (size_t i = 0; places[i]; i++)
        if (strcmp(places[i], rt->original) != 0 && is_below(path, places[i])) return true;
    return false;
}

/* The paths of the original have their counterparts in the copy. The originals themselves stay protected only where calls can write them: another
 * process or the user may change them while this run works. */
static void move_protected(Runtime *rt) {
    const char *const *old = rt->rules.protect, *const *fresh = runtime_protected(rt, rt->limits.sandbox.allow_self_edit);
    const char *const *places = confine_places(rt->project, &rt->arena);
    size_t n = 0, room = 0;
    while (old[room]) room++;
    for (size_t i = 0; fresh[i]; i++) room++;
    const char **out = ARENA_ARRAY(&rt->arena, const char *, 2 * room + 1);
    Table seen = { 0 };
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; (k ? fresh : old)[i]; i++) {
            const char *path = (k ? fresh : old)[i], *both[] = { runtime_moved(rt, path, &rt->arena), path };
            for (size_t b = both[0] == path; b < 2; b++) {
                bool gone = is_below(both[b], rt->original) && !still_reached(rt, places, both[b]);
                if (gone || table_has(&seen, str_from(both[b]))) continue;
                table_put(&seen, str_from(both[b]), rt);
                out[n++] = both[b];
            }
        }
    table_clear(&seen);
    rt->rules.protect = out;
}

/* Tools hold pointers to these. */
static bool move_confined(Runtime *rt, Error *err) {
    for (size_t i = 0; i < rt->roots.n; i++) {
        ToolRoot *root = rt->roots.at[i];
        char real[PATH_MAX];
        const char *path = runtime_moved(rt, root->path.at, &rt->arena);
        if (!realpath(path, real)) return error_set(err, ERR_IO, "safety.workspace_root: %s: %m", path);
        if (strcmp(real, path) != 0) return error_set(err, ERR_SANDBOX, "safety.workspace_root: %s is reached through a link", path);
        jail_free(root->jail);
        root->jail = NULL;
        root->path = str_from(path);
        JailInput in = { .workspace = path, .protect = rt->rules.protect, .hidden = rt->hidden };
        if (!jail_new(&in, &root->jail, err)) return false;
    }
    return true;
}

bool runtime_move(Runtime *rt, const char *folder, Error *err) {
    char real[PATH_MAX];
    if (!realpath(folder, real)) return error_set(err, ERR_IO, "%s: %m", folder);
    rt->original = rt->rules.workspace;
    rt->rules.workspace = arena_str(&rt->arena, str_from(real)).at;
    const char *root = arena_str(&rt->arena, rt->project->root).at, *there = runtime_moved(rt, root, &rt->arena);
    if (there != root) rt->moved_root = str_from(there);
    rt->rules.read_roots = move_roots(rt, rt->rules.read_roots);
    rt->rules.write_roots = move_roots(rt, rt->rules.write_roots);
    move_protected(rt);
    if (!sandbox_reach(&rt->rules, err)) return false;
    jail_free(rt->hook_jail);
    jail_free(rt->jail);
    rt->hook_jail = rt->jail = NULL;
    return runtime_make_jails(rt, err) && move_confined(rt, err);
}
