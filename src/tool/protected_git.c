/* Of git: everything that makes a person's next `git status` run a program that a call has chosen. */
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "base/file.h"
#include "tool/protected.h"

enum { CONFIG_BYTES_MAX = 1 << 20, INCLUDE_DEPTH = 10, MODULE_DEPTH = 6, MODULES_MAX = 500 };

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

static const char *expand(ProtectedList *l, const char *base, Str value) {
    const char *home = getenv("HOME");
    if (str_starts(value, STR("~/")) && home) return join(l, home, arena_str(l->arena, str_sub(value, 2, value.n)).at);
    return join(l, base, arena_str(l->arena, value).at);
}

static bool is_one(Str key, const char *const *list) {
    for (; *list; list++)
        if (str_eq(key, str_from(*list))) return true;
    return false;
}

/* Keys are in lower case: `section.key`, without the subsection. */
static void take_setting(const GitConfig *c, Str section, Str key, Str value) {
    static const char *const paths[] = { "hookspath", "attributesfile", NULL };
    static const char *const programs[] = { "clean", "smudge", "process", "command", "textconv", "driver", "helper", "program", "editor", "pager",
        "fsmonitor", "sshcommand", "askpass", "cmd", "gitproxy", "uploadpack", "receivepack", "packobjectshook", "proxycommand", NULL };
    ProtectedList *l = c->l;
    const char *folder = arena_fmt(l->arena, "%.*s", (int)(strrchr(c->file, '/') - c->file), c->file);
    if ((str_eq(section, STR("include")) || str_eq(section, STR("includeif"))) && str_eq(key, STR("path"))) {
        const char *path = expand(l, folder[0] ? folder : "/", value);
        if (protected_writable(l, path)) protected_add(l, path);
        if (c->depth < INCLUDE_DEPTH) read_config(l, path, c->top, c->depth + 1);
    } else if (is_one(key, paths)) {
        const char *path = expand(l, c->top, value);
        if (protected_writable(l, path) && strcmp(path, c->top) != 0) protected_add(l, path);
    } else if (is_one(key, programs) || str_eq(section, STR("alias"))) {
        protected_command(l, str_from(c->top), str_starts(value, STR("!")) ? str_sub(value, 1, value.n) : value);
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

static size_t read_section(Str text, Buf *section) {
    size_t i = 1;
    buf_reset(section);
    while (i < text.n && (isalnum((unsigned char)text.at[i]) || text.at[i] == '-')) buf_add_char(section, text.at[i++]);
    lower(section);
    for (bool quoted = false; i < text.n && text.at[i] != '\n' && (quoted || text.at[i] != ']'); i++) {
        if (text.at[i] == '\\') i++;
        else if (text.at[i] == '"') quoted = !quoted;
    }
    return i < text.n ? i + 1 : i;
}

static void read_settings(const GitConfig *c, Str text) {
    Buf section = { 0 }, key = { 0 }, value = { 0 };
    buf_add(&value, STR(""));
    for (size_t i = 0; i < text.n;) {
        char at = text.at[i];
        if (at == '[') {
            i += read_section(str_sub(text, i, text.n), &section);
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
            if (value.n) take_setting(c, buf_str(&section), buf_str(&key), buf_str(&value));
        }
    }
    buf_clear(&section);
    buf_clear(&key);
    buf_clear(&value);
}

static void read_config(ProtectedList *l, const char *file, const char *top, int depth) {
    Buf text = { 0 };
    if (file_read(file, CONFIG_BYTES_MAX, &text, NULL)) read_settings(&(GitConfig){ l, file, top, depth }, buf_str(&text));
    buf_clear(&text);
}

/* The person's own configuration applies to every repository, and may name files of this one (core.hooksPath = .githooks). */
static void read_configs(ProtectedList *l, const char *git, const char *top) {
    const char *home = getenv("HOME"), *xdg = getenv("XDG_CONFIG_HOME");
    read_config(l, join(l, git, "config"), top, 0);
    read_config(l, join(l, git, "config.worktree"), top, 0);
    read_config(l, "/etc/gitconfig", top, 0);
    if (home && home[0] == '/') read_config(l, join(l, home, ".gitconfig"), top, 0);
    if (xdg && xdg[0] == '/') read_config(l, join(l, xdg, "git/config"), top, 0);
    else if (home && home[0] == '/') read_config(l, join(l, home, ".config/git/config"), top, 0);
}

/* ---- folders of git ---- */

static void add_rows(ProtectedList *l, const char *git) {
#define PROTECTED(path)
#define PROTECTED_GIT(path) protected_add(l, join(l, git, path));
#include "tool/protected.def"
#undef PROTECTED
#undef PROTECTED_GIT
}

/* Names of modules may have slashes, and modules have modules: whatever has a HEAD is one. */
static void add_modules(ProtectedList *l, const char *folder, int depth, int *left) {
    DIR *d = depth > MODULE_DEPTH ? NULL : opendir(folder);
    for (struct dirent *e; d && *left > 0 && (e = readdir(d));) {
        const char *path = join(l, folder, e->d_name);
        if (e->d_name[0] == '.' || kind_of(path) != 'd') continue;
        if (kind_of(join(l, path, "HEAD")) == '-') {
            add_modules(l, path, depth + 1, left);
            continue;
        }
        --*left;
        add_rows(l, path);
        add_modules(l, join(l, path, "modules"), depth + 1, left);
    }
    if (d) closedir(d);
}

/* A call may add a worktree (the names "*"): see sandbox/snapshot.h for what its commondir may hold. */
static void add_worktrees(ProtectedList *l, const char *git) {
    const char *folder = join(l, git, "worktrees");
    int left = MODULES_MAX;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && left > 0 && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) add_rows(l, join(l, folder, e->d_name)), left--;
    if (d) closedir(d);
    add_rows(l, join(l, folder, "*"));
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
