/* Paths named by a git configuration: programs, files that decide which program runs, repositories (git_keys.def). */
#include <ctype.h>
#include <stdlib.h>
#include "base/file.h"
#include "tool/protect/protected_git.h"
#include "tool/protect/uses.h"

/* Includes may repeat a file many times. CONFIG_ALL_MAX limits the bytes read for all repositories together; no usable configuration is
 * larger. */
enum { CONFIG_BYTES_MAX = 1 << 20, CONFIG_ALL_MAX = 4 << 20, INCLUDE_DEPTH = 10 };

/* `git`: the git folder that the configuration belongs to. `modules`: the file is a .gitmodules, so paths of submodules are read too. */
typedef struct GitConfig { ProtectedList *l; const char *file, *git, *top; int depth; bool modules; } GitConfig;

static void read_config(const GitConfig *c);

static const char *join(ProtectedList *l, const char *folder, const char *name) { return protected_path(l, str_from(folder), str_from(name)); }

/* "*" is a wildcard in protected paths. */
static bool is_plain(Str value) { return str_find_char(value, '*') < 0; }

static const char *expand(ProtectedList *l, const char *base, Str value) {
    const char *home = getenv("HOME");
    if (str_starts(value, STR("~/")) && home) return join(l, home, arena_str(l->arena, str_sub(value, 2, value.n)).at);
    return join(l, base, arena_str(l->arena, value).at);
}

typedef enum GitKind { GIT_NONE, GIT_RUN, GIT_PATH, GIT_HOOKS, GIT_INCLUDE, GIT_REMOTE, GIT_NAME, GIT_BASE } GitKind;

/* Names in lower case. */
static GitKind key_kind(Str section, Str key) {
    static const struct { const char *section, *key; GitKind kind; } rows[] = {
#define GIT_KEY(section, key, kind) { section, key, GIT_##kind },
#include "tool/protect/git_keys.def"
#undef GIT_KEY
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!str_eq(section, str_from(rows[i].section))) continue;
        if (rows[i].key[0] == '*' || str_eq(key, str_from(rows[i].key))) return rows[i].kind;
    }
    return GIT_NONE;
}

/* A URL has "://", or a host before a colon. */
static bool is_local(Str url) {
    long long colon = str_find_char(url, ':'), slash = str_find_char(url, '/');
    return colon < 0 || (slash >= 0 && slash < colon);
}

/* A shell text. Its words are protected, and so is what the parsed commands use. Unlike in project files, text that cannot be parsed or is known
 * only at run time is not an error. */
static void add_run(const GitConfig *c, Str text) {
    protected_words(c->l, str_from(c->top), text);
    uses_text(c->l, USES_GIT, str_from(c->top), text, &(UsesFound){ 0 });
}

/* A push to a repository of the workspace runs that repository's hooks. */
static void add_remote(const GitConfig *c, Str url) {
    if (str_starts(url, STR("ext::"))) {
        add_run(c, str_sub(url, 5, url.n));
        return;
    }
    if (str_starts(url, STR("file://"))) url = str_sub(url, 7, url.n);
    const char *path = expand(c->l, c->top, url);
    if (!is_local(url) || !protected_writable(c->l, path) || !is_plain(url) || strcmp(path, c->top) == 0) return;
    protected_git(c->l, str_from(path));
    protected_git(c->l, str_from(arena_fmt(c->l->arena, "%s.git", path)));      /* git also tries this path */
}

/* The folder in which a submodule is checked out. Its .git decides which configuration the user's `git status` reads. */
static void add_module(const GitConfig *c, Str value) {
    const char *path = expand(c->l, c->top, value);
    if (protected_writable(c->l, path) && is_plain(value) && strcmp(path, c->top) != 0) protected_git(c->l, str_from(path));
}

static void add_path(const GitConfig *c, const char *base, Str value) {
    const char *path = expand(c->l, base, value);
    if (protected_writable(c->l, path) && strcmp(path, base) != 0 && strcmp(path, c->top) != 0 && is_plain(value)) protected_add(c->l, path);
}

static void add_include(const GitConfig *c, Str value) {
    ProtectedList *l = c->l;
    const char *folder = arena_fmt(l->arena, "%.*s", (int)(strrchr(c->file, '/') - c->file), c->file);
    const char *path = expand(l, folder[0] ? folder : "/", value);
    if (protected_writable(l, path) && is_plain(value)) protected_add(l, path);
    if (c->depth < INCLUDE_DEPTH) read_config(&(GitConfig){ .l = l, .file = path, .git = c->git, .top = c->top, .depth = c->depth + 1 });
}

static void take_setting(const GitConfig *c, Str section, Str subsection, Str key, Str value) {
    if (c->modules && str_eq(section, STR("submodule")) && str_eq(key, STR("path"))) add_module(c, value);
    switch (key_kind(section, key)) {
    case GIT_NONE:
        break;
    case GIT_RUN:
        if (str_starts(value, STR("!"))) add_run(c, str_sub(value, 1, value.n));
        else if (str_eq(section, STR("alias"))) protected_words(c->l, str_from(c->top), value);      /* arguments of git */
        else add_run(c, value);
        break;
    case GIT_PATH:
        add_path(c, c->top, value);
        break;
    case GIT_HOOKS:
        add_path(c, c->top, value);
        add_path(c, c->git, value);                    /* git receive-pack runs hooks there */
        break;
    case GIT_INCLUDE:
        add_include(c, value);
        break;
    case GIT_REMOTE:
        add_remote(c, value);
        break;
    case GIT_NAME:
        if (str_find_char(value, '/') >= 0) add_remote(c, value);
        break;
    case GIT_BASE:
        add_remote(c, subsection);
        break;
    }
}

static void lower(Buf *b) {
    for (size_t i = 0; i < b->n; i++) b->at[i] = (char)tolower((unsigned char)b->at[i]);
}

/* Parses one value from `text`, which starts after "=": quotes, escapes, comments and continued lines. Returns the offset of its end. */
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

/* False if the file was already read for this repository. */
static bool is_new(const GitConfig *c) {
    Str key = str_from(arena_fmt(c->l->arena, "%s\n%s\n%s", c->file, c->git, c->top));
    if (table_has(&c->l->configs, key)) return false;
    table_put(&c->l->configs, key, c->l);
    return true;
}

static void read_config(const GitConfig *c) {
    Buf text = { 0 };
    if (c->l->config_bytes < CONFIG_ALL_MAX && is_new(c) && file_read(c->file, CONFIG_BYTES_MAX, &text, NULL)) {
        c->l->config_bytes += text.n;
        read_settings(c, buf_str(&text));
    }
    buf_clear(&text);
}

static void read_at(GitConfig c, const char *folder, const char *name) {
    c.file = join(c.l, folder, name);
    read_config(&c);
}

/* The user's own configuration applies to every repository, and may name files of this one (core.hooksPath = .githooks). */
void protected_git_configs(ProtectedList *l, const char *git, const char *top) {
    static const char *const variables[] = { "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM" };
    const char *home = getenv("HOME"), *xdg = getenv("XDG_CONFIG_HOME");
    GitConfig c = { .l = l, .git = git, .top = top }, modules = c;
    modules.modules = true;
    read_at(c, git, "config");
    read_at(c, git, "config.worktree");
    read_at(modules, top, ".gitmodules");
    read_at(c, "/etc", "gitconfig");
    if (home && home[0] == '/') read_at(c, home, ".gitconfig");
    if (xdg && xdg[0] == '/') read_at(c, xdg, "git/config");
    else if (home && home[0] == '/') read_at(c, home, ".config/git/config");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *path = getenv(variables[i]);
        if (path && path[0] == '/') read_at(c, path, ".");
    }
}
