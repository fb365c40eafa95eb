/* Protects everything in git that could make the user's next `git status` run a program chosen by a call. */
#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include "base/file.h"
#include "tool/protect/protected_git.h"

enum { CONFIG_BYTES_MAX = 1 << 20, MODULE_DEPTH = 6, MODULES_MAX = 2000, REPOSITORY_DEPTH = 8, REPOSITORIES_MAX = 500, BELOW_MAX = 200 };

static const char *join(ProtectedList *l, const char *folder, const char *name) { return protected_path(l, str_from(folder), str_from(name)); }

static char kind_of(const char *path) {
    struct stat st;
    return lstat(path, &st) != 0 ? '-' : S_ISDIR(st.st_mode) ? 'd' : S_ISREG(st.st_mode) ? 'f' : S_ISLNK(st.st_mode) ? 'l' : 'o';
}

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void add_rows(ProtectedList *l, const char *git) {
#define PROTECTED(path)
#define PROTECTED_FOLDER(path, work)
#define PROTECTED_ENDING(ending)
#define PROTECTED_GIT(path) protected_add(l, join(l, git, path));
#include "tool/protect/protected.def"
#undef PROTECTED
#undef PROTECTED_FOLDER
#undef PROTECTED_ENDING
#undef PROTECTED_GIT
}

/* The working tree of a module: core.worktree, relative to the module's git folder. */
static const char *module_top(ProtectedList *l, const char *git) {
    Buf text = { 0 };
    Str rest, line;
    const char *top = git;
    if (file_read(join(l, git, "config"), CONFIG_BYTES_MAX, &text, NULL)) {
        rest = buf_str(&text);
        while (str_next_line(&rest, &line)) {
            line = str_trim(line);
            long long equals = str_find_char(line, '=');
            if (equals > 0 && str_eq(str_trim(str_sub(line, 0, (size_t)equals)), STR("worktree")))
                top = join(l, git, arena_str(l->arena, str_trim(str_sub(line, (size_t)equals + 1, line.n))).at);
        }
    }
    buf_clear(&text);
    return top;
}

/* Protects the working tree of a submodule or a worktree, and its .git file, which decides which configuration git reads there. */
static void add_checkout(ProtectedList *l, const char *top, const char *git) {
    if (strcmp(top, git) == 0 || !protected_writable(l, top)) return;
    if (!is_folder(join(l, top, ".git"))) protected_add(l, join(l, top, ".git"));
    protected_add(l, join(l, top, ".gitmodules"));
}

/* Protects the git folders of submodules below `folder`. A folder with a HEAD is a module; its name may contain slashes, and it may have
 * modules itself. The name "*" prevents calls from adding modules. If there are too many, the whole folder is protected instead. */
static void add_modules(ProtectedList *l, const char *folder, int depth, int *left) {
    DIR *d = depth > MODULE_DEPTH ? NULL : opendir(folder);
    for (struct dirent *e; d && *left > 0 && (e = readdir(d));) {
        const char *path = join(l, folder, e->d_name);
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || kind_of(path) != 'd') continue;
        --*left;
        if (kind_of(join(l, path, "HEAD")) == '-') {
            add_modules(l, path, depth + 1, left);
            continue;
        }
        add_rows(l, path);
        add_modules(l, join(l, path, "modules"), depth + 1, left);
        add_checkout(l, module_top(l, path), path);
        protected_git_configs(l, path, module_top(l, path));
    }
    if (d) closedir(d);
    protected_add(l, depth > MODULE_DEPTH || *left <= 0 ? folder : join(l, folder, "*"));
}

static const char *first_line(ProtectedList *l, const char *path, const char *before) {
    Buf text = { 0 };
    Str line = { 0 }, rest;
    bool ok = file_read(path, PATH_MAX, &text, NULL) && (rest = buf_str(&text), str_next_line(&rest, &line)) && str_starts(line, str_from(before));
    const char *out = ok ? arena_str(l->arena, str_trim(str_sub(line, strlen(before), line.n))).at : NULL;
    buf_clear(&text);
    return out;
}

/* Protects an existing worktree: its folder's path, its .git file, and files that the configuration names relative to it. */
static void add_worktree(ProtectedList *l, const char *common, const char *git) {
    const char *file = first_line(l, join(l, git, "gitdir"), ""), *slash = file ? strrchr(file, '/') : NULL;
    add_rows(l, git);
    protected_add(l, join(l, git, "gitdir"));
    if (!slash || strcmp(slash, "/.git") != 0) return;
    const char *top = join(l, git, arena_fmt(l->arena, "%.*s", (int)(slash - file), file));
    add_checkout(l, top, git);
    protected_git_configs(l, common, top);
    protected_git_configs(l, git, top);
}

/* Calls may add a worktree (the names "*"): see sandbox/snapshot.h for the allowed content of its commondir. */
static void add_worktrees(ProtectedList *l, const char *git) {
    const char *folder = join(l, git, "worktrees");
    int left = MODULES_MAX;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && left > 0 && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        add_worktree(l, git, join(l, folder, e->d_name));
        left--;
    }
    if (d) closedir(d);
    if (left <= 0) protected_add(l, folder);
    else add_rows(l, join(l, folder, "*"));
}

static void add_git(ProtectedList *l, const char *git, const char *top) {
    int left = MODULES_MAX;
    add_rows(l, git);
    add_modules(l, join(l, git, "modules"), 0, &left);
    add_worktrees(l, git);
    protected_git_configs(l, git, top);
}

/* `.git` is a file: the git folder is elsewhere, and matters only if a call could write it. */
static void add_elsewhere(ProtectedList *l, const char *file, const char *top) {
    const char *to = first_line(l, file, "gitdir: "), *git = to ? join(l, top, to) : NULL;
    const char *common = git ? first_line(l, join(l, git, "commondir"), "") : NULL;
    if (git && protected_writable(l, git)) add_git(l, git, top);
    else if (git) protected_git_configs(l, git, top);
    if (!common) return;
    common = join(l, git, common);
    if (protected_writable(l, common)) add_git(l, common, top);
    else protected_git_configs(l, common, top);
}

/* If there is no .git, or a call can make it invalid, git treats a folder with HEAD, objects and refs as a bare repository. */
static bool is_bare(ProtectedList *l, const char *top) {
    return kind_of(join(l, top, "HEAD")) != '-' && is_folder(join(l, top, "objects")) && is_folder(join(l, top, "refs"));
}

static void add_bare(ProtectedList *l, const char *top) {
    if (is_bare(l, top)) add_git(l, top, top);
    else protected_add(l, join(l, top, "HEAD"));
}

static void add_repository(ProtectedList *l, const char *top) {
    const char *git = join(l, top, ".git");
    char kind = kind_of(git);
    if (is_folder(git)) add_git(l, git, top);
    else protected_add(l, git);
    add_bare(l, top);
    if (kind == 'f') add_elsewhere(l, git, top);
}

/* Remotes and submodules of a repository name other repositories. */
void protected_git(ProtectedList *l, Str folder) {
    Str top = arena_str(l->arena, folder);
    if (table_has(&l->repositories, top) || l->depth >= REPOSITORY_DEPTH || l->repositories.n >= REPOSITORIES_MAX) return;
    table_put(&l->repositories, top, l);
    l->depth++;
    add_repository(l, top.at);
    l->depth--;
}

/* A call may create a repository, which is reported to the user (nested.h). But if the configuration has no remote `origin`, `git push origin` uses a
 * folder of that name. */
void protected_git_below(ProtectedList *l, Str folder) {
    const char *top = arena_str(l->arena, folder).at;
    protected_git(l, str_from(join(l, top, "origin")));
    protected_git(l, str_from(join(l, top, "origin.git")));
    int left = BELOW_MAX;
    DIR *d = opendir(top);
    for (struct dirent *e; d && left > 0 && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || strcmp(e->d_name, ".git") == 0 || protected_is_sign(e->d_name)
            || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN)) continue;
        const char *path = join(l, top, e->d_name);
        if (kind_of(join(l, path, ".git")) == '-' && !is_bare(l, path)) continue;
        protected_git(l, str_from(path));
        left--;
    }
    if (d) closedir(d);
}
