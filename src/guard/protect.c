#include "guard/protect.h"
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>
#include "guard/layers.h"
#include "store/store.h"
#include "tool/protect/protected.h"
#include "tool/protect/uses.h"

/* ---- rows ---- */

static bool below(Str path, Str folder) { return str_starts(path, folder) && (path.n == folder.n || path.at[folder.n] == '/'); }

static bool is_word(Str words, Str word) {
    for (size_t from = 0, i = 0; i <= words.n; i++)
        if (i == words.n || words.at[i] == ' ') {
            if (str_eq(str_sub(words, from, i), word)) return true;
            from = i + 1;
        }
    return false;
}

/* True for `folder`, which could be replaced, and for all paths below it except the entries `work`. */
static bool in_folder(Str path, Str folder, Str work) {
    if (!below(path, folder)) return false;
    Str rest = str_sub(path, folder.n + 1, path.n);
    ptrdiff_t slash = str_find_char(rest, '/');
    return !is_word(work, slash < 0 ? rest : str_sub(rest, 0, (size_t)slash)) || rest.n == 0;
}

static bool in_git(Str path) {
#define PROTECTED(path)
#define PROTECTED_FOLDER(path, work)
#define PROTECTED_ENDING(ending)
#define PROTECTED_GIT(row) if (below(path, STR(row))) return true;
#include "tool/protect/protected.def"
#undef PROTECTED
#undef PROTECTED_FOLDER
#undef PROTECTED_ENDING
#undef PROTECTED_GIT
    return false;
}

/* The path without its first component. */
static Str after_part(Str path) {
    ptrdiff_t slash = str_find_char(path, '/');
    return slash < 0 ? STR("") : str_sub(path, (size_t)slash + 1, path.n);
}

/* A path below a git folder; modules/NAME and worktrees/NAME are git folders too. */
static bool git_file(Str path) {
    for (unsigned depth = 0; depth < 16; depth++) {
        if (in_git(path)) return true;
        if (!str_starts(path, STR("modules/")) && !str_starts(path, STR("worktrees/"))) return false;
        path = after_part(after_part(path));
    }
    return true;
}

/* `path` is relative to a project's root. Repositories below the root are included. */
static bool in_repository(Str path) {
    for (Str rest = path; rest.n; rest = after_part(rest)) {
        if (str_eq(rest, STR(".git"))) return true;
        if (str_starts(rest, STR(".git/"))) return git_file(str_sub(rest, 5, rest.n));
    }
    return false;
}

static bool project_row(Str path) {
    static const char *const usual[] = { "harness.md", "harness.yaml", "harness.yml", ".harness", "tools.json", "space.manifest.json" };
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (below(path, str_from(usual[i]))) return true;
    bool top = str_find_char(path, '/') < 0;
#define PROTECTED(row) if (below(path, STR(row))) return true;
#define PROTECTED_FOLDER(row, work) if (in_folder(path, STR(row), STR(work))) return true;
#define PROTECTED_ENDING(ending) if (top && str_ends(path, STR(ending))) return true;
#define PROTECTED_GIT(row)
#include "tool/protect/protected.def"
#undef PROTECTED
#undef PROTECTED_FOLDER
#undef PROTECTED_ENDING
#undef PROTECTED_GIT
    return in_repository(path);
}

/* One of the names by which root.c finds a project is a part of the path. */
static bool makes_project(Str path) {
    static const Str names[] = { STR("harness.md"), STR("harness.yaml"), STR("harness.yml"), STR(".harness") };
    for (Str rest = path; rest.n; rest = after_part(rest)) {
        ptrdiff_t slash = str_find_char(rest, '/');
        if (str_among(slash < 0 ? rest : str_sub(rest, 0, (size_t)slash), names, sizeof names / sizeof *names)) return true;
    }
    return false;
}

static const char *const home_rows[] = {
#define GUARD_HOME(path) path,
#include "guard/home.def"
#undef GUARD_HOME
};

static bool home_row(Str path) {
    for (size_t i = 0; i < sizeof home_rows / sizeof *home_rows; i++)
        if (below(path, str_from(home_rows[i]))) return true;
    return false;
}

static bool managed_row(Str path) {
    for (int v = VENDOR_HARNESS + 1; v < VENDOR_COUNT; v++)
        if (str_eq(path, str_from(guard_vendor((Vendor)v)->managed))) return true;
    return below(path, STR(GUARD_SYSTEM_FOLDER));
}

/* Files of the loaded project that protected.def does not name: bundles, manifests, spaces in other folders. Notes for agents are plain
 * text and not protected. */
static bool is_note(Str path) {
    return str_eq(path, STR("AGENTS.md")) || str_eq(path, STR("CLAUDE.md")) || str_ends(path, STR("/AGENTS.md")) || str_ends(path, STR("/CLAUDE.md"));
}

static bool loaded(const GuardProtect *p, Str relative, Str absolute) {
    for (size_t i = 0; p->project && i < p->project->n_files; i++) {
        Str file = p->project->files[i].path;
        if (str_eq(file, relative) || str_eq(file, absolute)) return !is_note(file);
    }
    return false;
}

static const char *program_path(Arena *arena) {
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    return n > 0 ? arena_str(arena, (Str){ path, (size_t)n }).at : NULL;
}

void guard_protect_init(GuardProtect *p, Str root, const Project *project, Arena *arena) {
    char real[PATH_MAX];
    const char *home = getenv("HOME"), *state = getenv("HARNESS_STATE"), *self = program_path(arena);
    *p = (GuardProtect){ .root = root, .project = project, .arena = arena };
    if (home && home[0] == '/') p->home = arena_str(arena, realpath(home, real) ? str_from(real) : str_from(home));
    const char *const *folders = store_private_folders(arena);
    ProtectedList list = { .arena = arena, .project = project, .root = root, .workspace = root };
    bool named = project && (project->n_hooks || project->n_servers);
    for (size_t i = 0; project && !named && i < project->n_tools; i++) named = uses_secret(project, &project->tools[i]);
    const char *const *programs = named ? protected_programs(&list) : (const char *const[]){ NULL };
    size_t n = 0, n_folders = 0, n_programs = 0;
    while (folders[n_folders]) n_folders++;
    while (programs[n_programs]) n_programs++;
    const char **more = ARENA_ARRAY(arena, const char *, n_folders + n_programs + 3);
    for (size_t i = 0; i < n_folders; i++) more[n++] = guard_path_resolve(str_from(folders[i]), root, arena).at;
    for (size_t i = 0; i < n_programs; i++) more[n++] = programs[i];
    if (state && state[0] && !store_is_url(state)) more[n++] = guard_path_resolve(str_from(state), root, arena).at;
    if (self) more[n++] = self;
    p->more = more;
}

bool guard_protect_covers(const GuardProtect *p, Str path) {
    Str relative = guard_path_relative(path, p->root);
    bool inside = relative.at != path.at || str_eq(p->root, STR("/"));
    if (inside && project_row(relative)) return true;
    if (p->anywhere && makes_project(path)) return true;
    if (p->home.n && below(path, p->home) && path.n > p->home.n && home_row(str_sub(path, p->home.n + 1, path.n))) return true;
    for (size_t i = 0; p->more[i]; i++)
        if (below(path, str_from(p->more[i]))) return true;
    for (size_t i = 0; i < 2; i++)
        if (p->anchors[i].n && str_eq(path, p->anchors[i])) return true;
    return managed_row(path) || loaded(p, relative, path);
}
