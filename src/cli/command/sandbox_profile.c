#include "cli/command/sandbox_profile.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "cli/replace_file.h"
#include "guard/guard.h"
#include "guard/install.h"
#include "guard/layers.h"

enum { FILE_MAX = 4 << 20 };
typedef struct Row { Vendor vendor; const char *hosts, *variables; } Row;
static const Row rows[] = {
#define SANDBOX_PROFILE(vendor, hosts, variables) { VENDOR_##vendor, hosts, variables },
#include "cli/command/profiles.def"
#undef SANDBOX_PROFILE
};
enum { ROWS = sizeof rows / sizeof *rows };

static const Row *find_row(const char *name, Error *err) {
    Vendor vendor;
    Buf known = { 0 };
    bool found = vendor_find(str_from(name), &vendor);
    for (size_t i = 0; i < ROWS; i++) {
        if (found && rows[i].vendor == vendor) return buf_clear(&known), &rows[i];
        buf_add_fmt(&known, "%s%s", i ? ", " : "", vendor_name(rows[i].vendor));
    }
    error_set(err, ERR_VALIDATION, "--profile: there is none for \"%.100s\", only for " STR_FMT, name, STR_ARG(buf_str(&known)));
    buf_clear(&known);
    return NULL;
}

/* ---- the program ---- */

static const char *find_program(const char *name, Arena *arena) {
    const char *path = getenv("PATH");
    if (strchr(name, '/')) return name;
    for (Str rest = str_from(path ? path : ""); rest.n;) {
        ptrdiff_t colon = str_find_char(rest, ':');
        Str folder = colon < 0 ? rest : str_sub(rest, 0, (size_t)colon);
        const char *file = arena_fmt(arena, STR_FMT "/%s", STR_ARG(folder), name);
        struct stat st;
        if (folder.n && folder.at[0] == '/' && access(file, X_OK) == 0 && stat(file, &st) == 0 && S_ISREG(st.st_mode)) return file;
        rest = colon < 0 ? STR("") : str_sub(rest, (size_t)colon + 1, rest.n);
    }
    return NULL;
}

static const char *folder_of(const char *path, Arena *arena) {
    const char *slash = strrchr(path, '/');
    return slash && slash > path ? arena_str(arena, (Str){ path, (size_t)(slash - path) }).at : "/";
}

/* The folder that must be readable to run the program: the outermost node_modules for one from npm, else the one that holds it. */
static bool add_files(const char *program, Arena *arena, SandboxProfile *out, Error *err) {
    char real[PATH_MAX];
    if (!realpath(program, real)) return error_set(err, ERR_IO, "%s: %m", program);
    const char *modules = strstr(real, "/node_modules/");
    Str folder = modules ? (Str){ real, (size_t)(modules - real) + sizeof "/node_modules" - 1 } : str_from(folder_of(real, arena));
    VEC_PUSH(&out->read, arena_str(arena, folder).at);
    return true;
}

/* PATH has the program's folder and that of node, which most agents need. */
static bool add_program(const char *name, Arena *arena, SandboxProfile *out, Error *err) {
    char self[PATH_MAX];
    const char *found = find_program(name, arena), *node = find_program("node", arena);
    if (!found) return error_set(err, ERR_IO, "%s: not found in PATH", name);
    if (!add_files(found, arena, out, err) || (node && !add_files(node, arena, out, err))) return false;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return error_set(err, ERR_IO, "the path of this program is not known: %m");
    self[n] = 0;
    out->program = found;
    VEC_PUSH(&out->env, arena_fmt(arena, "PATH=%s%s%s:/usr/local/bin:/usr/bin:/bin", folder_of(found, arena), node ? ":" : "", node ? folder_of(node, arena) : ""));
    return add_files(self, arena, out, err);
}

/* ---- the home folder ---- */

static bool make_folders(const char *path, Error *err) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/", path);
    for (char *at = strchr(folder + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        if (mkdir(folder, 0700) != 0 && errno != EEXIST) return error_set(err, ERR_IO, "%s: %m", folder);
        *at = '/';
    }
    return true;
}

static bool make_home(Vendor vendor, Arena *arena, SandboxProfile *out, Error *err) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    char real[PATH_MAX];
    if (data && data[0] == '/') out->home = arena_fmt(arena, "%s/harness/profiles/%s", data, vendor_name(vendor));
    else if (home && home[0] == '/') out->home = arena_fmt(arena, "%s/.local/share/harness/profiles/%s", home, vendor_name(vendor));
    else return error_set(err, ERR_CONFIG, "there is no home folder (set HOME)");
    if (!make_folders(out->home, err)) return false;
    if (!realpath(out->home, real)) return error_set(err, ERR_IO, "%s: %m", out->home);
    out->home = arena_str(arena, str_from(real)).at;
    VEC_PUSH(&out->env, arena_fmt(arena, "HOME=%s", out->home));
    return true;
}

/* The agent of an earlier run could write here, so a link is not followed. */
static bool put_file(const char *path, Str text, Arena *arena, Error *err) {
    char real[PATH_MAX];
    const char *folder = folder_of(path, arena);
    if (!make_folders(folder, err)) return false;
    if (!realpath(folder, real) || strcmp(real, folder) != 0) return error_set(err, ERR_SANDBOX, "%s is reached by a link: remove it", folder);
    return replace_file(path, text, 0600, err);
}

/* The hook in the agent's settings. What else the user keeps there stays. */
static bool put_hook(Vendor vendor, Arena *arena, SandboxProfile *out, Error *err) {
    char self[PATH_MAX], path[PATH_MAX];
    Buf before = { 0 }, after = { 0 };
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return error_set(err, ERR_IO, "the path of this program is not known: %m");
    self[n] = 0;
    GuardInstall g = { .vendor = vendor, .scope = GUARD_SCOPE_USER, .program = self, .project = "", .home = out->home };
    bool ok = guard_install_path(&g, path, err);
    struct stat st;
    if (ok && lstat(path, &st) == 0) ok = S_ISREG(st.st_mode) ? file_read(path, FILE_MAX, &before, err) : error_set(err, ERR_SANDBOX, "%s is not a file", path);
    ok = ok && guard_install_text(&g, buf_str(&before), &after, err) && put_file(path, buf_str(&after), arena, err);
    if (ok) VEC_PUSH(&out->protect, arena_str(arena, str_from(path)).at);
    buf_clear(&before);
    buf_clear(&after);
    return ok;
}

/* The user's guard.md, which the sandbox hides: the hook reads this copy. Without one the copy has no rules, so that the agent cannot write its own. */
static bool put_policy(Arena *arena, SandboxProfile *out, Error *err) {
    Buf folder = { 0 }, text = { 0 };
    struct stat st;
    bool ok = true;
    if (guard_layer_user_folder(&folder)) {
        buf_add(&folder, STR("/guard.md"));
        if (stat(folder.at, &st) == 0) ok = file_read(folder.at, FILE_MAX, &text, err) || error_wrap(err, "%s", folder.at);
    }
    if (ok && !text.n) buf_add(&text, STR("---\nrules: []\n---\n"));
    const char *copy = arena_fmt(arena, "%s/.config/harness/guard.md", out->home);
    ok = ok && put_file(copy, buf_str(&text), arena, err);
    if (ok) VEC_PUSH(&out->protect, copy);
    buf_clear(&folder);
    buf_clear(&text);
    return ok;
}

/* ---- all ---- */

static bool next_word(Str *rest, Str *word) {
    *rest = str_trim(*rest);
    ptrdiff_t blank = str_find_char(*rest, ' ');
    *word = blank < 0 ? *rest : str_sub(*rest, 0, (size_t)blank);
    *rest = str_sub(*rest, word->n, rest->n);
    return word->n > 0;
}

static void add_words(const Row *row, Arena *arena, SandboxProfile *out) {
    Str rest = str_from(row->hosts), word;
    while (next_word(&rest, &word)) VEC_PUSH(&out->hosts, arena_str(arena, word).at);
    rest = str_from(row->variables);
    while (next_word(&rest, &word)) {
        const char *name = arena_str(arena, word).at, *value = getenv(name);
        if (value) VEC_PUSH(&out->env, arena_fmt(arena, "%s=%s", name, value));
    }
}

bool sandbox_profile_prepare(const char *vendor, const char *program, Arena *arena, SandboxProfile *out, Error *err) {
    const char *trust = getenv("HARNESS_TRUST");
    *out = (SandboxProfile){ 0 };
    const Row *row = find_row(vendor, err);
    if (!row || !add_program(program, arena, out, err) || !make_home(row->vendor, arena, out, err)) return false;
    if (!put_hook(row->vendor, arena, out, err) || !put_policy(arena, out, err)) return false;
    add_words(row, arena, out);
    if (trust) VEC_PUSH(&out->env, arena_fmt(arena, "HARNESS_TRUST=%s", trust));
    return true;
}

void sandbox_profile_clear(SandboxProfile *p) {
    VEC_CLEAR(&p->read);
    VEC_CLEAR(&p->protect);
    VEC_CLEAR(&p->hosts);
    VEC_CLEAR(&p->env);
}
