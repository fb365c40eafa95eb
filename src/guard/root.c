/* Which project governs a call. If the vendor names the project, the agent's current folder does not matter. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "guard/layers.h"
#include "value/list.h"

static bool exists(const char *folder, const char *name) {
    char path[PATH_MAX];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
    return n > 0 && (size_t)n < sizeof path && lstat(path, &st) == 0;
}

static bool has_project(const char *folder) {
    return exists(folder, "harness.md") || exists(folder, "harness.yaml") || exists(folder, "harness.yml") || exists(folder, ".harness");
}

static bool read_line(const char *path, char out[PATH_MAX]) {
    Buf b = { 0 };
    bool ok = file_read(path, PATH_MAX - 1, &b, NULL);
    Str s = ok ? str_trim(buf_str(&b)) : STR("");
    if (ok && s.n && s.n < PATH_MAX) {
        memcpy(out, s.at, s.n);
        out[s.n] = 0;
    }
    buf_clear(&b);
    return ok && s.n > 0;
}

/* The main checkout of a linked worktree: its .git is a file with "gitdir: MAIN/.git/worktrees/NAME", and MAIN/.git/worktrees/NAME/gitdir
 * names that file again. Both must agree, since any program can write the first file. */
static bool main_checkout(const char *top, char out[PATH_MAX]) {
    char path[PATH_MAX + 16], line[PATH_MAX], back[PATH_MAX], real[PATH_MAX], here[PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "%s/.git", top);
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || !read_line(path, line) || strncmp(line, "gitdir: ", 8) != 0) return false;
    if (!realpath(path, here) || line[8] != '/') return false;
    snprintf(path, sizeof path, "%.*s/gitdir", PATH_MAX - 16, line + 8);
    if (!read_line(path, back) || !realpath(back, real) || strcmp(real, here) != 0) return false;
    char *worktrees = strstr(line + 8, "/.git/worktrees/");
    if (!worktrees) return false;
    *worktrees = 0;
    return realpath(line + 8, out) != NULL;
}

/* Searches from `from` upwards for the first folder with a project, not above the top of a repository. `top`: where the search ended. */
static bool search(const char *from, char found[PATH_MAX], char top[PATH_MAX]) {
    char at[PATH_MAX];
    if (!realpath(from, at)) return false;
    memcpy(top, at, strlen(at) + 1);
    for (;;) {
        if (has_project(at)) return memcpy(found, at, strlen(at) + 1), true;
        bool is_top = exists(at, ".git");
        if (is_top) {
            memcpy(top, at, strlen(at) + 1);
            return main_checkout(at, found) && has_project(found);
        }
        char *slash = strrchr(at, '/');
        if (!slash || strcmp(at, "/") == 0) return false;
        slash[slash == at] = 0;
    }
}

static const char *root_variable(const GuardEnvelope *e) {
    const GuardVendor *v = guard_vendor(e->vendor);
    const char *value = v && v->root_variable[0] ? getenv(v->root_variable) : NULL;
    return value && value[0] == '/' ? value : NULL;
}

static bool set(GuardRoot *out, const char *path, bool project, bool searched, Arena *arena) {
    *out = (GuardRoot){ arena_str(arena, str_from(path)), project, searched };
    return true;
}

/* The agent's own folder of the project is `from`, and cannot be changed by a call. */
static bool set_named(GuardRoot *out, const char *from, const char *found, Arena *arena) {
    char real[PATH_MAX];
    return set(out, found, true, !realpath(from, real) || strcmp(real, found) != 0, arena);
}

static bool given_root(const char *given, Arena *arena, GuardRoot *out, Error *err) {
    char real[PATH_MAX];
    struct stat st;
    if (!realpath(given, real) || stat(real, &st) != 0) return error_set(err, ERR_CONFIG, "--project %s: %m", given);
    if (!S_ISDIR(st.st_mode)) return error_set(err, ERR_CONFIG, "--project %s is not a folder", given);
    return set(out, real, has_project(real), false, arena);
}

static Str root_item(const GuardEnvelope *e, uint32_t i) {
    if (!value_is_list(e->roots) || i >= value_list(e->roots)->n) return STR("");
    Value v = value_list(e->roots)->at[i];
    return value_is_string(v) ? value_str(v) : STR("");
}

bool guard_root_find(const GuardEnvelope *e, const char *given, Arena *arena, GuardRoot *out, Error *err) {
    char found[PATH_MAX], top[PATH_MAX] = "", first[PATH_MAX] = "";
    if (given) return given_root(given, arena, out, err);
    const char *variable = root_variable(e);
    if (variable) {
        if (search(variable, found, top)) return set_named(out, variable, found, arena);
        memcpy(first, top, sizeof first);
    }
    for (uint32_t i = 0; root_item(e, i).n; i++) {
        const char *item = arena_str(arena, root_item(e, i)).at;
        if (search(item, found, top)) return set_named(out, item, found, arena);
        if (!first[0]) memcpy(first, top, sizeof first);
    }
    if (!first[0] && e->cwd.n) {
        if (search(arena_str(arena, e->cwd).at, found, top)) return set(out, found, true, true, arena);
        memcpy(first, top, sizeof first);
    }
    if (!first[0] && (!getcwd(found, sizeof found) || !realpath(found, first))) return error_set(err, ERR_IO, "the working folder: %m");
    if (search(first, found, top)) return set(out, found, true, true, arena);
    return set(out, first, false, true, arena);
}
