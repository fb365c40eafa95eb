/* Of git: everything that makes a person's next `git status` run a program that a call has chosen. */
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "base/file.h"
#include "tool/protected.h"

enum { CONFIG_BYTES_MAX = 1 << 20, INCLUDE_DEPTH = 10, MODULE_DEPTH = 6, MODULES_MAX = 2000 };

static const char *join(ProtectedList *l, const char *folder, const char *name) { return protected_path(l, str_from(folder), str_from(name)); }

static char kind_of(const char *path) {
    struct stat st;
    return lstat(path, &st) != 0 ? '-' : S_ISDIR(st.st_mode) ? 'd' : S_ISREG(st.st_mode) ? 'f' : S_ISLNK(st.st_mode) ? 'l' : 'o';
}

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ---- what the configuration names ---- */

typedef struct GitConfig { ProtectedList *l; const char *file, *top; int depth; } GitConfig;

static void read_config(ProtectedList *l, const char *file, const char *top, int depth);

/* "*" has a meaning of its own in protected paths. */
static bool is_plain(Str value) { return str_find_char(value, '*') < 0; }

static const char *expand(ProtectedList *l, const char *base, Str value) {
    const char *home = getenv("HOME");
    if (str_starts(value, STR("~/")) && home) return join(l, home, arena_str(l->arena, str_sub(value, 2, value.n)).at);
    return join(l, base, arena_str(l->arena, value).at);
}

typedef enum GitKind { GIT_NONE, GIT_RUN, GIT_PATH, GIT_INCLUDE, GIT_REMOTE, GIT_BASE } GitKind;

/* Names in lower case. */
static GitKind key_kind(Str section, Str key) {
    static const struct { const char *section, *key; GitKind kind; } rows[] = {
#define GIT_KEY(section, key, kind) { section, key, GIT_##kind },
#include "tool/git_keys.def"
#undef GIT_KEY
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!str_eq(section, str_from(rows[i].section))) continue;
        if (rows[i].key[0] == '*' || str_eq(key, str_from(rows[i].key))) return rows[i].kind;
    }
    return GIT_NONE;
}

static void add_remote(const GitConfig *c, Str url) {
    if (str_starts(url, STR("ext::"))) protected_words(c->l, str_from(c->top), str_sub(url, 5, url.n));
}

static void add_include(const GitConfig *c, Str value) {
    ProtectedList *l = c->l;
    const char *folder = arena_fmt(l->arena, "%.*s", (int)(strrchr(c->file, '/') - c->file), c->file);
    const char *path = expand(l, folder[0] ? folder : "/", value);
    if (protected_writable(l, path) && is_plain(value)) protected_add(l, path);
    if (c->depth < INCLUDE_DEPTH) read_config(l, path, c->top, c->depth + 1);
}

static void take_setting(const GitConfig *c, Str section, Str subsection, Str key, Str value) {
    const char *path;
    switch (key_kind(section, key)) {
    case GIT_NONE:
        break;
    case GIT_RUN:
        protected_words(c->l, str_from(c->top), str_starts(value, STR("!")) ? str_sub(value, 1, value.n) : value);
        break;
    case GIT_PATH:
        path = expand(c->l, c->top, value);
        if (protected_writable(c->l, path) && strcmp(path, c->top) != 0 && is_plain(value)) protected_add(c->l, path);
        break;
    case GIT_INCLUDE:
        add_include(c, value);
        break;
    case GIT_REMOTE:
        add_remote(c, value);
        break;
    case GIT_BASE:
        add_remote(c, subsection);
        break;
    }
}

static void lower(Buf *b) {
    for (size_t i = 0; i < b->n; i++) b->at[i] = (char)tolower((unsigned char)b->at[i]);
}

/* One value from `text`, which begins behind "="; quotes, escapes, comments and lines that go on. Returns where it ends. */
static size_t read_value(Str text, Buf *out) {
    bool quoted = false;
    size_t i = 0, keep = 0;
    buf_reset(out);
    for (; i < text.n && (quoted || text.at[i] != '\n'); i++) {
        char c = text.at[i];
        if (c == '\\' && i + 1 < text.n) {
            c = text.at[++i];
            if (c == '\n') continue;
            buf_add_char(out, c == 't' ? '\t' : c == 'n' ? '\n' : c);
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && (c == '#' || c == ';')) {
            while (i < text.n && text.at[i] != '\n') i++;
            break;
        } else if (quoted || !isspace((unsigned char)c) || out->n) {
            buf_add_char(out, c);
        }
        if (quoted || !isspace((unsigned char)c)) keep = out->n;
    }
    out->n = keep;
    return i;
}

/* "[section]", "[section "subsection"]" or the old "[section.subsection]". Returns where the header ends. */
static size_t read_section(Str text, Buf *section, Buf *subsection) {
    size_t i = 1;
    buf_reset(section);
    buf_reset(subsection);
    while (i < text.n && (isalnum((unsigned char)text.at[i]) || text.at[i] == '-')) buf_add_char(section, text.at[i++]);
    lower(section);
    for (bool quoted = false; i < text.n && text.at[i] != '\n' && (quoted || text.at[i] != ']'); i++) {
        if (text.at[i] == '"') {
            quoted = !quoted;
            continue;
        }
        if (text.at[i] == '\\' && i + 1 < text.n) i++;
        if (quoted) buf_add_char(subsection, text.at[i]);
    }
    return i < text.n ? i + 1 : i;
}

static void read_settings(const GitConfig *c, Str text) {
    Buf section = { 0 }, subsection = { 0 }, key = { 0 }, value = { 0 };
    buf_add(&value, STR(""));
    for (size_t i = 0; i < text.n;) {
        char at = text.at[i];
        if (at == '[') {
            i += read_section(str_sub(text, i, text.n), &section, &subsection);
        } else if (at == '#' || at == ';') {
            while (i < text.n && text.at[i] != '\n') i++;
        } else if (!isalpha((unsigned char)at)) {
            i++;
        } else {
            buf_reset(&key);
            while (i < text.n && (isalnum((unsigned char)text.at[i]) || text.at[i] == '-')) buf_add_char(&key, text.at[i++]);
            while (i < text.n && (text.at[i] == ' ' || text.at[i] == '\t')) i++;
            if (i >= text.n || text.at[i] != '=') continue;
            i += 1 + read_value(str_sub(text, i + 1, text.n), &value);
            lower(&key);
            if (value.n) take_setting(c, buf_str(&section), buf_str(&subsection), buf_str(&key), buf_str(&value));
        }
    }
    buf_clear(&section);
    buf_clear(&subsection);
    buf_clear(&key);
    buf_clear(&value);
}

static void read_config(ProtectedList *l, const char *file, const char *top, int depth) {
    Buf text = { 0 };
    if (file_read(file, CONFIG_BYTES_MAX, &text, NULL)) read_settings(&(GitConfig){ l, file, top, depth }, buf_str(&text));
    buf_clear(&text);
}

static void read_variable(ProtectedList *l, const char *name, const char *top) {
    const char *path = getenv(name);
    if (path && path[0] == '/') read_config(l, path, top, 0);
}

/* The person's own configuration applies to every repository, and may name files of this one (core.hooksPath = .githooks). */
static void read_configs(ProtectedList *l, const char *git, const char *top) {
    const char *home = getenv("HOME"), *xdg = getenv("XDG_CONFIG_HOME");
    read_config(l, join(l, git, "config"), top, 0);
    read_config(l, join(l, git, "config.worktree"), top, 0);
    read_config(l, join(l, top, ".gitmodules"), top, 0);
    read_config(l, "/etc/gitconfig", top, 0);
    if (home && home[0] == '/') read_config(l, join(l, home, ".gitconfig"), top, 0);
    if (xdg && xdg[0] == '/') read_config(l, join(l, xdg, "git/config"), top, 0);
    else if (home && home[0] == '/') read_config(l, join(l, home, ".config/git/config"), top, 0);
    read_variable(l, "GIT_CONFIG_GLOBAL", top);
    read_variable(l, "GIT_CONFIG_SYSTEM", top);
}

/* ---- folders of git ---- */

static void add_rows(ProtectedList *l, const char *git) {
#define PROTECTED(path)
#define PROTECTED_GIT(path) protected_add(l, join(l, git, path));
#include "tool/protected.def"
#undef PROTECTED
#undef PROTECTED_GIT
}

/* Where the working tree of a module is: core.worktree, relative to the module's git folder. */
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

/* Names of modules may have slashes, and modules have modules: a folder with a HEAD is one. A call may not add any (the name "*").
 * Where there are too many to look at, nothing in the folder may change. */
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
        read_configs(l, path, module_top(l, path));
    }
    if (d) closedir(d);
    protected_add(l, depth > MODULE_DEPTH || *left <= 0 ? folder : join(l, folder, "*"));
}

/* A call may add a worktree (the names "*"): see sandbox/snapshot.h for what its commondir may hold. */
static void add_worktrees(ProtectedList *l, const char *git) {
    const char *folder = join(l, git, "worktrees");
    int left = MODULES_MAX;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && left > 0 && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        add_rows(l, join(l, folder, e->d_name));
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
    read_configs(l, git, top);
}

static const char *first_line(ProtectedList *l, const char *path, const char *before) {
    Buf text = { 0 };
    Str line = { 0 }, rest;
    bool ok = file_read(path, PATH_MAX, &text, NULL) && (rest = buf_str(&text), str_next_line(&rest, &line)) && str_starts(line, str_from(before));
    const char *out = ok ? arena_str(l->arena, str_trim(str_sub(line, strlen(before), line.n))).at : NULL;
    buf_clear(&text);
    return out;
}

/* `.git` as a file: the git folder is elsewhere, and it matters only where a call could write it. */
static void add_elsewhere(ProtectedList *l, const char *file, const char *top) {
    const char *to = first_line(l, file, "gitdir: "), *git = to ? join(l, top, to) : NULL;
    const char *common = git ? first_line(l, join(l, git, "commondir"), "") : NULL;
    if (git && protected_writable(l, git)) add_git(l, git, top);
    else if (git) read_configs(l, git, top);
    if (!common) return;
    common = join(l, git, common);
    if (protected_writable(l, common)) add_git(l, common, top);
    else read_configs(l, common, top);
}

/* Without a .git that is a repository, and a call can spoil that one, git takes a folder with HEAD, objects and refs for a bare one. */
static void add_bare(ProtectedList *l, const char *top) {
    const char *head = join(l, top, "HEAD");
    if (kind_of(head) != '-' && is_folder(join(l, top, "objects")) && is_folder(join(l, top, "refs"))) add_git(l, top, top);
    else protected_add(l, head);
}

void protected_git(ProtectedList *l, Str folder) {
    const char *top = arena_str(l->arena, folder).at, *git = join(l, top, ".git");
    char kind = kind_of(git);
    if (is_folder(git)) add_git(l, git, top);
    else protected_add(l, git);
    add_bare(l, top);
    if (kind == 'f') add_elsewhere(l, git, top);
}
