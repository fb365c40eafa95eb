#include "tool/protect/uses.h"
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/vec.h"
#include "shell/shell.h"

enum { FOLDERS_MAX = 16, PIECES_MAX = 4096, CLUSTER_MAX = 32, CLUSTER_VALUE_MIN = 3, LINKS_MAX = 16 };

/* ROLE_TARGET is code and ROLE_SUBCOMMAND is data, but a word without a slash there is seldom a file name. */
typedef enum { ROLE_DATA, ROLE_CODE, ROLE_MODULE, ROLE_FOLDER, ROLE_INLINE, ROLE_SKIP, ROLE_TARGET, ROLE_SUBCOMMAND } Role;

typedef struct Use {
    ProtectedList *l;
    UsesBy by;
    Str text;                            /* the whole text, for messages */
    VEC(Str) folders;                    /* possible working folders; [0] is the initial one */
    size_t pieces;
    bool is_text;                        /* a word without a slash counts as a file name only if the file exists */
    UsesFound *found;
} Use;

/* ---- findings ---- */

static const char *const literal = "name what it uses literally, or put the command into a script in a folder of its own and name that script";

static void doubt(Use *u, const ShellWord *w, const char *why, const char *instead) {
    if (u->by == USES_GIT || u->found->why) return;
    u->found->why = why;
    u->found->instead = instead;
    u->found->word = w ? arena_str(u->l->arena, str_sub(u->text, w->from, w->to)) : STR("");
}

static bool is_unknown(const ShellWord *w) { return w->splits || (w->text.n && memchr(w->text.at, SHELL_UNKNOWN, w->text.n)); }

static bool is_path_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80 || strchr("._/+@%~-", c);
}

static bool is_path_text(Str s) {
    for (size_t i = 0; i < s.n; i++)
        if (!s.at[i] || !is_path_char(s.at[i])) return false;
    return s.n > 0 && s.n < PATH_MAX;
}

/* Servers and tools may work on the folders and files that their arguments name. */
static bool works_on_data(const Use *u) { return u->by == USES_SERVER || u->by == USES_TOOL; }

/* ---- paths ---- */

static bool holds(Str folder, Str path) {
    return folder.n <= 1 || (str_starts(path, folder) && (path.n == folder.n || path.at[folder.n] == '/'));
}

/* True for a folder that must stay writable: protecting it would leave nothing to work on. */
static bool is_open(const Use *u, Str folder) {
    bool git = u->by == USES_GIT && (str_eq(folder, u->folders.at[0]) || str_ends(folder, STR("/.git")));
    return git || holds(folder, u->l->workspace);
}

static Str folder_of(const Use *u, const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == path ? STR("/") : arena_str(u->l->arena, (Str){ path, (size_t)(slash - path) });
}

static void take_folder(Use *u, Str folder) {
    if (protected_writable(u->l, folder.at) && !is_open(u, folder)) protected_add(u->l, folder.at);
}

/* Programs often load files next to them: Python modules, files that a script sources. */
static void take_beside(Use *u, const char *path) {
    Str folder = folder_of(u, path);
    if (!is_open(u, folder)) take_folder(u, folder);
    else if (protected_writable(u->l, folder.at) && !u->found->exposed.n) u->found->exposed = arena_str(u->l->arena, str_from(path));
}

static void take_file(Use *u, const char *path, bool beside) {
    char real[PATH_MAX];
    protected_add(u->l, path);
    if (beside) take_beside(u, path);
    if (!realpath(path, real) || strcmp(real, path) == 0 || !protected_writable(u->l, real)) return;
    const char *to = arena_str(u->l->arena, str_from(real)).at;
    protected_add(u->l, to);
    if (beside) take_beside(u, to);
}

/* `node guard` runs guard.js, `flask --app x` loads the Python file x. */
static void take_endings(Use *u, const char *path) {
    static const char *const ends[] = { "js", "mjs", "cjs", "json", "node", "ts", "mts", "cts", "tsx", "jsx", "py" };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *with = arena_fmt(u->l->arena, "%s.%s", path, ends[i]);
        if (protected_writable(u->l, with)) protected_add(u->l, with);
    }
}

/* A folder that is run as a program: `node .`. */
static void take_started(Use *u, Str folder) {
    static const char *const names[] = { "package.json", "index.js", "__main__.py" };
    if (!is_open(u, folder)) return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) protected_add(u->l, protected_path(u->l, folder, str_from(names[i])));
    if (!u->found->exposed.n) u->found->exposed = folder;
    u->found->safe_path = true;
}

/* True if the path exists. */
static bool take_path(Use *u, const char *path, Role role) {
    struct stat st;
    char to[PATH_MAX];
    bool code = role != ROLE_DATA;
    if (stat(path, &st) != 0) return false;
    if (!protected_writable(u->l, path)) {                     /* a link from outside the workspace */
        if (!realpath(path, to) || !protected_writable(u->l, to)) return true;
        path = arena_str(u->l->arena, str_from(to)).at;
    }
    if (S_ISDIR(st.st_mode)) {
        char real[PATH_MAX];
        if (!code && u->by != USES_HOOK) return true;
        take_folder(u, str_from(path));
        if (realpath(path, real) && strcmp(real, path) != 0) {
            protected_add(u->l, path);
            take_folder(u, arena_str(u->l->arena, str_from(real)));
        }
        if (role == ROLE_CODE) take_started(u, str_from(path));
        if (role == ROLE_CODE && !is_open(u, str_from(path))) take_endings(u, path);        /* node prefers DIR.js to DIR/index.js */
    } else if (S_ISREG(st.st_mode)) {
        take_file(u, path, code || u->by == USES_HOOK || uses_looks_like_code(path, st.st_mode));
    }
    return true;
}

/* A dangling link: calls may not create its target. */
static void take_link(Use *u, const char *path) {
    for (int i = 0; i < LINKS_MAX; i++) {
        char to[PATH_MAX];
        ssize_t n = readlink(path, to, sizeof to);
        if (n <= 0 || n == sizeof to) return;
        path = protected_path(u->l, folder_of(u, path), (Str){ to, (size_t)n });
        if (protected_writable(u->l, path)) protected_add(u->l, path);
    }
}

/* A path that does not exist: calls may not create it. For code also protects the nearest existing folder, because the name may lack its extension. */
static void take_missing(Use *u, const char *path, Role role) {
    struct stat st;
    take_link(u, path);
    if (!protected_writable(u->l, path)) return;
    protected_add(u->l, path);
    if (role == ROLE_DATA) return;
    Str folder = folder_of(u, path);
    if (is_open(u, folder)) take_endings(u, path);
    while (folder.n > 1 && stat(folder.at, &st) != 0) folder = folder_of(u, folder.at);
    take_folder(u, folder);
}

/* ---- pieces of words ---- */

/* Other names of the working folder. */
static Str without_here(Str piece) {
    static const Str names[] = { STR("/proc/self/cwd/"), STR("/proc/thread-self/cwd/"), STR("~+/"), STR("~-/") };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (str_eq(piece, names[i]) || str_eq(piece, str_sub(names[i], 0, names[i].n - 1))) return STR(".");
        if (str_starts(piece, names[i])) return str_sub(piece, names[i].n, piece.n);
    }
    return piece;
}

/* "*" is a wildcard in protected paths. */
static bool has_star(Str s) {
    return str_eq(s, STR("*")) || str_starts(s, STR("*/")) || str_ends(s, STR("/*")) || str_find(s, STR("/*/")) >= 0;
}

static bool is_code(Role role) { return role == ROLE_CODE || role == ROLE_MODULE || role == ROLE_FOLDER; }

/* True if calls may not create a file of this name: a word without a slash that names no existing file. */
static bool bare_waits(const Use *u, Str piece, Role role) {
    const char *name = arena_str(u->l->arena, piece).at;
    if (role == ROLE_CODE && str_find_char(piece, '.') > 0) return true;
    if (u->is_text || role == ROLE_INLINE || !uses_is_name(piece)) return false;
    return is_code(role) || u->by == USES_HOOK || uses_looks_like_code(name, 0);
}

/* Handles one possible path, in every folder where the command may work. `whole`: it is a whole word or a whole option value. */
static void take_piece(Use *u, Str piece, Role role, bool whole) {
    bool there = false, plain = piece.n < PATH_MAX && is_path_text(piece);
    char real[PATH_MAX];
    struct stat st;
    if ((!plain && !whole) || !piece.n || piece.n >= PATH_MAX || memchr(piece.at, 0, piece.n)) return;
    if (u->pieces++ > PIECES_MAX) {
        doubt(u, NULL, "it is too long to find every file that it names", "put it into a script in a folder of its own and name that script");
        return;
    }
    if (piece.at[0] == '@') piece = str_sub(piece, 1, piece.n);
    piece = without_here(piece);
    if (!piece.n || piece.at[0] == '~' || has_star(piece)) return;
    bool slash = str_find_char(piece, '/') >= 0;
    for (size_t i = 0; i < u->folders.n; i++) {
        there |= take_path(u, protected_path(u->l, u->folders.at[i], piece), role);
        const char *written = piece.at[0] == '/' ? arena_fmt(u->l->arena, STR_FMT, STR_ARG(piece))
            : arena_fmt(u->l->arena, STR_FMT "/" STR_FMT, STR_ARG(u->folders.at[i]), STR_ARG(piece));
        if (str_find(piece, STR("..")) >= 0 && realpath(written, real))      /* after a link, .. leads to another folder */
            there |= take_path(u, arena_str(u->l->arena, str_from(real)).at, role);
    }
    bool waits = plain && whole && piece.at[0] != '-' && (slash ? !works_on_data(u) || role != ROLE_DATA : bare_waits(u, piece, role));
    for (size_t i = 0; waits && i < u->folders.n; i++) {
        const char *path = protected_path(u->l, u->folders.at[i], piece);
        if (stat(path, &st) != 0) take_missing(u, path, there ? ROLE_DATA : role);      /* found in another folder: here protects only the missing path */
    }
}

/* Handles the first part of pkg.mod as a Python module: a folder or a file. False if `folder` has neither. */
static bool take_module(Use *u, Str folder, Str name) {
    ptrdiff_t dot = str_find_char(name, '.');
    Str first = dot > 0 ? str_sub(name, 0, (size_t)dot) : name;
    const char *dir = protected_path(u->l, folder, first), *file = arena_fmt(u->l->arena, "%s.py", dir);
    bool is_dir = take_path(u, dir, ROLE_FOLDER), is_file = take_path(u, file, ROLE_FOLDER);
    return is_dir || is_file;
}

/* Handles pkg.mod:name, the argument of uvicorn and similar programs. */
static void take_dotted(Use *u, const ShellWord *w) {
    Str name = w->text;
    struct stat st;
    ptrdiff_t colon = str_find_char(name, ':');
    if (colon == 0 || !name.n) return;
    Str module = colon > 0 ? str_sub(name, 0, (size_t)colon) : name;
    ptrdiff_t dot = str_find_char(module, '.');
    for (size_t i = 0; i < module.n; i++)
        if (module.at[i] == '/' || module.at[i] == '-' || module.at[i] == '=' || !is_path_char(module.at[i])) return;
    if (dot == 0 || (dot < 0 && colon < 0) || module.at[module.n - 1] == '.') return;
    char *path = arena_str(u->l->arena, module).n ? arena_fmt(u->l->arena, STR_FMT, STR_ARG(module)) : NULL;
    for (char *c = path; c && *c; c++)
        if (*c == '.') *c = '/';
    for (size_t f = 0; path && f < u->folders.n; f++) {
        Str folder = u->folders.at[f];
        const char *at = protected_path(u->l, folder, str_from(path)), *file = arena_fmt(u->l->arena, "%s.py", at),
            *init = arena_fmt(u->l->arena, "%s/__init__.py", at);
        if ((stat(file, &st) != 0 && stat(init, &st) != 0) || !take_module(u, folder, module)) continue;
        if (is_open(u, folder) && protected_writable(u->l, folder.at))
            doubt(u, w, "the module comes from the working folder, and tools can write there", "keep the package in a folder of its own and work there");
    }
}

/* The application argument of uvicorn, gunicorn, flask and similar programs, which look for modules in their working folder first. */
static void take_app(Use *u, const ShellWord *w, Str name) {
    ptrdiff_t colon = str_find_char(name, ':');
    Str module = colon >= 0 ? str_sub(name, 0, (size_t)colon) : name;
    bool open = true, there = false;
    if (!module.n || !is_path_text(module) || is_unknown(w)) return;
    if (str_find_char(module, '/') >= 0) return take_piece(u, module, ROLE_CODE, true);
    for (size_t i = 0; i < u->folders.n; i++) {
        Str folder = u->folders.at[i];
        bool here = is_open(u, folder) && protected_writable(u->l, folder.at), found = take_module(u, folder, module);
        open &= here;
        there |= here && found;
        ptrdiff_t dot = str_find_char(module, '.');
        if (!found) take_missing(u, protected_path(u->l, folder, dot > 0 ? str_sub(module, 0, (size_t)dot) : module), ROLE_CODE);
    }
    if (open || there)
        doubt(u, w, "the program loads modules from the working folder, and tools can write there",
            "keep the package in a folder of its own and work there (cwd, --app-dir, --chdir)");
}

static Str app_name(Str word) {
    ptrdiff_t equals = word.n && word.at[0] == '-' ? str_find_char(word, '=') : -1;
    return equals > 0 ? str_sub(word, (size_t)equals + 1, word.n) : str_starts(word, STR("-A")) ? str_sub(word, 2, word.n) : word;
}

/* In code: open("NAME"), exists('NAME'), open(F, "NAME"), -e "NAME". */
static bool is_argument(Str code, size_t from, size_t to) {
    if (from == 0 || to >= code.n || !strchr("'\"`", code.at[from - 1]) || code.at[to] != code.at[from - 1]) return false;
    Str before = str_trim(str_sub(code, 0, from - 1));
    if (!before.n || str_ends(before, STR("get("))) return false;
    return strchr("(,", before.at[before.n - 1]) || (before.n > 1 && before.at[before.n - 2] == '-');
}

/* Every part of a text that could be a path; a part without a slash only in code. */
static void take_pieces(Use *u, Str text, Role role) {
    bool hook = u->by == USES_HOOK && role == ROLE_INLINE;
    for (size_t i = 0; i < text.n;) {
        size_t from = i;
        while (i < text.n && text.at[i] && is_path_char(text.at[i])) i++;
        Str piece = str_sub(text, from, i);
        while (piece.n > 1 && piece.at[piece.n - 1] == '.') piece.n--;
        bool slash = str_find_char(piece, '/') >= 0;
        if (piece.n && (slash || role == ROLE_INLINE)) take_piece(u, piece, role == ROLE_INLINE ? ROLE_FOLDER : role, slash && role == ROLE_INLINE);
        if (piece.n && !slash && hook && is_argument(text, from, i)) take_piece(u, piece, ROLE_DATA, true);
        if (piece.n && !slash && role == ROLE_INLINE && str_find_char(piece, '.') > 0)
            for (size_t f = 0; f < u->folders.n; f++) take_module(u, u->folders.at[f], piece);
        i += i < text.n;
    }
}

/* Handles a list, as in PATH, -I a:b, source=a,target=b. */
static void take_list(Use *u, Str text, Role role) {
    for (size_t i = 0; i <= text.n;) {
        size_t from = i;
        while (i < text.n && !strchr(":,;=", text.at[i])) i++;
        if (i - from < text.n) take_piece(u, str_sub(text, from, i), role, is_code(role));
        i++;
    }
}

/* -fg/two.awk, -sCg: the value may begin after any of the letters. */
static void take_cluster(Use *u, Str text, Role role) {
    for (size_t i = 2; i < text.n && i < CLUSTER_MAX; i++) {
        char before = text.at[i - 1];
        if (!((before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z'))) return;
        bool whole = role != ROLE_DATA || (u->by == USES_HOOK && text.n - i >= CLUSTER_VALUE_MIN);
        take_piece(u, str_sub(text, i, text.n), role, whole);
    }
}

static void take_text(Use *u, Str text, Role role) {
    static const Str url = STR("file:");
    if (str_starts(text, url)) {
        text = str_sub(text, url.n, text.n);
        while (str_starts(text, STR("//"))) text = str_sub(text, 1, text.n);
    }
    ptrdiff_t equals = str_find_char(text, '=');
    take_piece(u, text, role, true);
    if (equals >= 0) take_piece(u, str_sub(text, (size_t)equals + 1, text.n), role, true);
    take_list(u, text, role);
    if (text.n > 2 && text.at[0] == '-' && text.at[1] != '-') take_cluster(u, text, role);
    if (!is_path_text(text)) take_pieces(u, text, role);
}

/* ---- words that are known only in part ---- */

/* g/$NAME.jq is a path below g/. A word that begins with the unknown part, or has only the workspace before it, can be any path. */
static void take_partly(Use *u, const ShellWord *w, Role role, bool prints) {
    size_t known = 0, slash = 0;
    bool path = true, slashes = false;
    for (size_t i = 0; i < w->text.n; i++) {
        char c = w->text.at[i];
        path &= c == SHELL_UNKNOWN || is_path_char(c) || (c && strchr("=:,*?[]", c));
        slashes |= c == '/';
        if (c == SHELL_UNKNOWN || (w->pattern && strchr("*?[", c))) continue;
        if (known == i) known = i + 1;
        if (known == i + 1 && c == '/') slash = i + 1;
    }
    Str before = str_sub(w->text, 0, slash);
    ptrdiff_t equals = str_find_char(before, '=');
    if (equals >= 0) before = str_sub(before, (size_t)equals + 1, before.n);
    take_list(u, w->text, role);
    take_pieces(u, w->text, ROLE_DATA);
    if (before.n) take_piece(u, before, role == ROLE_DATA ? ROLE_DATA : ROLE_FOLDER, false);
    if (prints || (works_on_data(u) && role == ROLE_DATA)) return;
    if (w->pattern && !slashes && (str_find_char(w->text, '*') >= 0 || str_find_char(w->text, '?') >= 0))
        doubt(u, w, "which files the pattern matches is known only when it runs", "quote it, or keep the files in a folder of their own and name that folder");
    if (!path || !slashes) return;
    for (size_t i = 0; i < u->folders.n; i++) {
        Str at = str_from(protected_path(u->l, u->folders.at[i], before.n ? before : STR(".")));
        if (is_open(u, at) && protected_writable(u->l, at.at)) doubt(u, w, "which file this names is known only when it runs", literal);
    }
}

static void take_word(Use *u, const ShellWord *w, Role role, bool prints) {
    bool unknown = is_unknown(w), whole = w->text.n == 1 && w->text.at[0] == SHELL_UNKNOWN;
    if (role == ROLE_SKIP) return;
    if (!unknown && !w->pattern) {
        bool message = prints && !is_path_text(w->text);
        if (!message) take_text(u, w->text, role);
        if (!prints && role == ROLE_DATA) take_dotted(u, w);
        return;
    }
    bool names = role == ROLE_CODE || role == ROLE_MODULE || role == ROLE_FOLDER || (role == ROLE_INLINE && (whole || w->splits));
    bool target = u->by == USES_TOOL && u->is_text;            /* make {{target}}: the value only selects a target of the Makefile */
    if (names && !target) doubt(u, w, "it chooses code, and is known only when it runs", literal);
    take_partly(u, w, role, prints);
    if (role == ROLE_INLINE) take_pieces(u, w->text, role);
}

/* ---- commands ---- */

static bool is_program(const ShellCommand *c, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(c->program, str_from(names[i]))) return true;
    return false;
}
#define IS_PROGRAM(c, ...) is_program(c, (const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static bool is_cd(const ShellCommand *c) { return IS_PROGRAM(c, "cd", "pushd", "chdir"); }

typedef struct Reading { const ShellCommand *c; Role *role; const UsesRow *row; bool listed, dashes, has_code,
    text_next; size_t operands; Str program; } Reading;

/* The role of an option's value. */
static Role value_role(const Reading *r, Str name, UsesOption option) {
    if (r->listed && uses_names_folder(r->program, name)) return ROLE_FOLDER;
    if (option != USES_CODE_VALUE) return ROLE_DATA;
    bool module = uses_is_python(r->program) && name.n > 1 && name.at[name.n - 1] == 'm' && name.at[1] != '-';
    if (module || str_eq(name, STR("--module"))) return ROLE_MODULE;
    bool letter = name.n > 1 && name.at[1] != '-' && strchr("ceEprB", name.at[name.n - 1]);
    bool word = str_eq(name, STR("--eval")) || str_eq(name, STR("--print")) || str_eq(name, STR("--run")) || str_eq(name, STR("--command"))
        || str_eq(name, STR("--call"));
    if (!letter && !word) return ROLE_CODE;
    return uses_is_language(r->program) ? ROLE_INLINE : ROLE_CODE;
}

/* Returns the index of the last word of the option. */
static size_t read_option(Reading *r, size_t i) {
    const ShellWord *w = &r->c->words[i];
    size_t inside;
    UsesOption option = uses_row_option(r->row, w->text, &inside);
    ptrdiff_t equals = str_find_char(w->text, '=');
    Str name = equals > 0 ? str_sub(w->text, 0, (size_t)equals) : inside ? str_sub(w->text, 0, inside) : w->text;
    ptrdiff_t letter = option == USES_FLAG && equals < 0 && w->text.at[1] != '-' ? str_find_char(w->text, 'C') : -1;
    /* -sC DIR, -CDIR */
    if (letter > 0 && IS_PROGRAM(r->c, "make", "gmake")) name = STR("-C"), inside = (size_t)letter + 1 < w->text.n ? (size_t)letter + 1 : 0;
    Role role = value_role(r, name, option);
    if (role == ROLE_FOLDER && option == USES_FLAG && equals > 0) inside = (size_t)equals + 1;
    bool takes = option != USES_FLAG || role == ROLE_FOLDER;
    if (uses_row_kind(r->row) == USES_SHELL && w->text.at[1] != '-' && str_find_char(w->text, 'c') > 0) r->text_next = true;
    r->has_code |= role == ROLE_INLINE || role == ROLE_MODULE || (uses_row_kind(r->row) == USES_PROGRAM && option == USES_CODE_VALUE);
    r->role[i] = takes && inside ? role : ROLE_DATA;
    if (!takes || inside || i + 1 >= r->c->words_n) return i;
    r->role[i + 1] = role;
    return i + 1;
}

/* awk and jq programs mostly process data; these words in them start programs or load files. */
static bool reaches_out(Str code) {
    static const Str words[] = { STR("system"), STR("getline"), STR("|"), STR("include "), STR("import ") };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_find(code, words[i]) >= 0) return true;
    return false;
}

static Role operand_role(Reading *r, Str word) {
    bool first = r->operands++ == 0;
    if (str_eq(r->program, STR("jq")) && (str_find(word, STR("include ")) >= 0 || str_find(word, STR("import ")) >= 0)) return ROLE_INLINE;
    switch (uses_row_kind(r->row)) {
    case USES_SHELL:
        if (first && r->text_next) return ROLE_SKIP;                    /* its commands are listed separately */
        return first ? ROLE_CODE : ROLE_DATA;
    case USES_SCRIPT: return first && !r->has_code ? ROLE_CODE : ROLE_DATA;
    case USES_TARGETS: return ROLE_TARGET;
    case USES_TARGET: return first ? ROLE_TARGET : ROLE_DATA;
    case USES_PROGRAM: return first && !r->has_code && reaches_out(word) ? ROLE_INLINE : ROLE_DATA;
    case USES_PLAIN: case USES_SUBCOMMAND: case USES_WRAPPER: break;
    }
    return ROLE_DATA;
}

/* `bun srv` runs a file, `bun test` does not. */
static Role sub_role(Reading *r, Str word) {
    bool file = uses_runs_files(r->program, word);
    r->row = uses_row_sub(r->row, word);
    return file ? ROLE_CODE : ROLE_SUBCOMMAND;
}

static void read_roles(const ShellCommand *c, Role *role) {
    Reading r = { .c = c, .role = role, .row = uses_row(c->program), .listed = uses_row(c->program) != NULL, .program = c->program };
    bool sourced = IS_PROGRAM(c, ".", "source");
    for (size_t i = 1; i < c->words_n; i++) {
        const ShellWord *w = &c->words[i];
        bool option = w->text.n > 1 && w->text.at[0] == '-' && !r.dashes;
        if (uses_row_kind(r.row) == USES_SCRIPT && (r.operands > 0 || (r.has_code && uses_is_python(r.program)))) option = false;
        if (option && shell_word_is(w, "--")) r.dashes = true;
        else if (option) i = read_option(&r, i);
        else if (sourced) role[i] = i == 1 ? ROLE_CODE : ROLE_DATA;
        else if (is_cd(c)) role[i] = ROLE_FOLDER;
        else if (uses_row_kind(r.row) == USES_SUBCOMMAND) role[i] = sub_role(&r, w->text);
        else role[i] = operand_role(&r, w->text);
    }
}

static bool is_python_module(const ShellCommand *c, const Role *role, size_t i) { return uses_is_python(c->program) && role[i] == ROLE_MODULE; }

static Str module_name(const ShellWord *w) {                   /* g.two, or -mg.two, -Bmg.two */
    ptrdiff_t m = str_starts(w->text, STR("-")) ? str_find_char(w->text, 'm') : -1;
    return m > 0 ? str_sub(w->text, (size_t)m + 1, w->text.n) : w->text;
}

/* python -m and python -c look for modules in the working folder first. */
static void look_python(Use *u, const ShellCommand *c, const Role *role) {
    bool script = false;
    for (size_t i = 1; i < c->words_n; i++) script |= role[i] == ROLE_CODE && !is_unknown(&c->words[i]) && !shell_word_is(&c->words[i], "-");
    for (size_t f = 0; f < u->folders.n && !script; f++) {
        Str folder = u->folders.at[f];
        bool open = is_open(u, folder) && protected_writable(u->l, folder.at);
        u->found->safe_path |= open;
        if (!open) take_path(u, folder.at, ROLE_FOLDER);
        for (size_t i = 1; i < c->words_n; i++) {
            if (!is_python_module(c, role, i) || is_unknown(&c->words[i])) continue;
            if (take_module(u, folder, module_name(&c->words[i])) && open)
                doubt(u, &c->words[i], "Python loads the modules of -m from the working folder, and tools can write there",
                      "name the file (python3 FOLDER/FILE.py), or keep the package in a folder of its own and work there");
        }
    }
    for (size_t i = 1; script && i < c->words_n; i++) {
        if (role[i] != ROLE_CODE) continue;
        for (size_t f = 0; f < u->folders.n; f++) {
            Str at = folder_of(u, protected_path(u->l, u->folders.at[f], c->words[i].text));
            u->found->safe_path |= is_open(u, at) && protected_writable(u->l, at.at);
        }
    }
}

/* Protects the files that a program reads by default (Makefile, .npmrc): in a folder below the workspace everything, in the
 * workspace itself only the names below. */
static void look_implied(Use *u, const ShellCommand *c) {
    static const struct { const char *program, *names[4]; } rows[] = {
        { "make", { "GNUmakefile", "makefile", "Makefile" } }, { "gmake", { "GNUmakefile", "makefile", "Makefile" } },
            { "just", { "justfile", "Justfile", ".justfile" } },
        { "rake", { "Rakefile", "rakefile" } }, { "task", { "Taskfile.yml", "Taskfile.yaml" } }, { "npm", { ".npmrc" } },
            { "npx", { ".npmrc" } }, { "yarn", { ".yarnrc.yml", ".yarnrc" } },
        { "pnpm", { ".npmrc", ".pnpmfile.cjs" } }, { "pnpx", { ".npmrc", ".pnpmfile.cjs" } }, { "bun", { "bunfig.toml" } },
            { "bunx", { "bunfig.toml" } }, { "deno", { "deno.json", "deno.jsonc" } },
        { "uv", { "uv.toml" } }, { "uvx", { "uv.toml" } }, { "cargo", { ".cargo/config.toml", ".cargo/config" } },
            { "bundle", { ".bundle/config" } }, { "mise", { "mise.toml", ".mise.toml" } },
        { "direnv", { ".envrc" } }, { "poetry", { "poetry.toml" } }, { "pipenv", { 0 } }, { "go", { 0 } }, { "mvn", { ".mvn" } }, { "gradle", { 0 } },
        { "node", { 0 } }, { "nodejs", { 0 } },
    };
    bool package = uses_runs_package_script(c);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if (!str_eq(c->program, str_from(rows[k].program)) || (IS_PROGRAM(c, "node", "nodejs") && !package)) continue;
        for (size_t f = 0; f < u->folders.n; f++) {
            Str folder = u->folders.at[f];
            take_folder(u, folder);
            if (!is_open(u, folder) || !protected_writable(u->l, folder.at)) continue;
            if (u->by == USES_TOOL) u->found->reads = str_from(rows[k].program);
            for (size_t i = 0; rows[k].names[i]; i++) protected_add(u->l, protected_path(u->l, folder, str_from(rows[k].names[i])));
            if (package) protected_add(u->l, protected_path(u->l, folder, STR("package.json")));
        }
    }
}

/* npx NAME looks in node_modules first. */
static void look_package(Use *u, const ShellWord *w) {
    Str name = w->text;
    if (is_unknown(w) || !is_path_text(name) || str_starts(name, STR("."))) return;
    for (size_t i = name.n; i-- > 1;)
        if (name.at[i] == '@') name = str_sub(name, 0, i);
    const char *slash = memrchr(name.at, '/', name.n);
    Str last = slash ? str_sub(name, (size_t)(slash - name.at) + 1, name.n) : name;
    for (size_t f = 0; f < u->folders.n; f++) {
        const char *folder = protected_path(u->l, u->folders.at[f], STR("node_modules"));
        if (!protected_writable(u->l, folder)) continue;
        protected_add(u->l, arena_fmt(u->l->arena, "%s/" STR_FMT, folder, STR_ARG(name)));
        protected_add(u->l, arena_fmt(u->l->arena, "%s/.bin/" STR_FMT, folder, STR_ARG(last)));
    }
}

/* sh < FILE runs that file. */
static bool reads_file(const ShellCommand *c) {
    bool file = false;
    for (size_t i = 0; i < c->redirects_n; i++)
        if (c->redirects[i].fd == 0) file = c->redirects[i].kind == SHELL_READ && c->redirects[i].target.exact;
    for (size_t i = 0; i < c->words_n; i++) file = file && c->words[i].exact;
    return file;
}

static void look_program(Use *u, const ShellCommand *c) {
    const ShellWord *w = &c->words[0];
    if (!w->exact) doubt(u, w, "which program this is, is known only when it runs", literal);
    if (!w->exact) take_partly(u, w, ROLE_CODE, false);
    else if (str_find_char(w->text, '/') >= 0 || str_starts(w->text, STR("file:"))) take_text(u, w->text, ROLE_CODE);
    const ShellWord *at = c->operand < c->words_n ? &c->words[c->operand] : w;
    if (w->exact && !c->exact) doubt(u, w, "which words are the command that it runs, is known only when it runs", literal);
    if (c->runs == SHELL_RUNS_UNKNOWN && !reads_file(c)) doubt(u, at, "the text that this runs is known only when it runs", literal);
}

/* Handles lists, and options as in NODE_OPTIONS. ${NAME} comes from the user's environment and counts as a folder above the workspace. */
static void take_variable(Use *u, Str value) {
    for (size_t i = 0; i < value.n;) {
        size_t from = i;
        while (i < value.n && !strchr(" \t\n:;,=\"'${}\1", value.at[i])) i++;
        Str piece = str_sub(value, from, i);
        bool rest = from > 0 && value.at[from - 1] == '}' && str_starts(piece, STR("/"));
        if (from > 0 && (value.at[from - 1] == '{' || value.at[from - 1] == '$')) piece.n = 0;        /* the name of a variable */
        if (piece.n) take_piece(u, rest ? str_sub(piece, 1, piece.n) : piece, ROLE_FOLDER, true);
        if (piece.n > 2 && piece.at[0] == '-' && piece.at[1] != '-') take_cluster(u, piece, ROLE_FOLDER);
        i++;
    }
}

/* If a part of PATH, PYTHONPATH … is the workspace itself, it cannot be protected. An empty part of PATH is the working folder. */
static void look_variable(Use *u, const ShellWord *w, Str name, Str value) {
    bool path = str_eq(name, STR("PATH"));
    if (!uses_loader_variable(name)) return;
    take_variable(u, value);
    for (size_t i = 0; i <= value.n && !str_starts(name, STR("GIT_"));) {
        size_t from = i;
        while (i < value.n && value.at[i] != ':') i++;
        Str part = without_here(str_sub(value, from, i++));
        if ((!part.n && !path) || (part.n && !is_path_text(part))) continue;
        for (size_t f = 0; f < u->folders.n; f++) {
            Str at = str_from(protected_path(u->l, u->folders.at[f], part.n ? part : STR(".")));
            if (is_open(u, at) && protected_writable(u->l, at.at))
                doubt(u, w, "the variable names a folder from which programs are loaded, and tools can write there", "name a folder of its own");
        }
    }
}

static void look_assigns(Use *u, const ShellCommand *c) {
    for (size_t i = 0; i < c->assigns_n; i++) {
        const ShellAssign *a = &c->assigns[i];
        bool loader = uses_loader_variable(a->name), known = str_find_char(a->value.text, SHELL_UNKNOWN) < 0;
        Role role = loader && !known && !str_eq(a->name, STR("PATH")) ? ROLE_CODE
                  : u->by == USES_GIT ? ROLE_FOLDER : ROLE_DATA;        /* git: d=g; $d/two.sh is not refused */
        take_word(u, &a->value, role, !loader);
        look_variable(u, &a->value, a->name, a->value.text);
    }
}

static void look_redirects(Use *u, const ShellCommand *c) {
    bool language = uses_is_language(c->program);
    for (size_t i = 0; i < c->redirects_n; i++) {
        const ShellRedirect *r = &c->redirects[i];
        if (r->kind == SHELL_READ || r->kind == SHELL_READ_WRITE) take_word(u, &r->target, ROLE_CODE, false);
        else if ((r->kind == SHELL_HEREDOC || r->kind == SHELL_HERESTRING) && language) take_pieces(u, r->target.text, ROLE_INLINE);
        else if (r->kind == SHELL_HEREDOC || r->kind == SHELL_HERESTRING) take_pieces(u, r->target.text, ROLE_DATA);
    }
}

static void look_command(Use *u, const ShellCommands *list, size_t at) {
    const ShellCommand *c = &list->at[at];
    Role *role = ARENA_ARRAY(u->l->arena, Role, c->words_n + 2);
    bool prints = IS_PROGRAM(c, "echo", "printf", ":", "true", "false"), tests = IS_PROGRAM(c, "test", "["), writes = uses_writes(c->program);
    look_assigns(u, c);
    look_redirects(u, c);
    if (!c->words_n) return;
    read_roles(c, role);
    look_program(u, c);
    for (size_t i = 1; i < c->words_n; i++) {
        const ShellWord *w = &c->words[i];
        struct stat st;
        if (writes) continue;
        if (tests && w->exact && stat(protected_path(u->l, u->folders.at[0], w->text), &st) == 0 && S_ISDIR(st.st_mode)) continue;
        ptrdiff_t equals = str_find_char(w->text, '=');
        if (equals > 0) look_variable(u, w, str_sub(w->text, 0, (size_t)equals), str_sub(w->text, (size_t)equals + 1, w->text.n));
        if (is_python_module(c, role, i) && !is_unknown(w)) continue;
        u->is_text = role[i] == ROLE_TARGET || role[i] == ROLE_SUBCOMMAND || uses_is_text(list, at, i, is_code(role[i]));
        take_word(u, w, role[i] == ROLE_TARGET ? ROLE_CODE : role[i] == ROLE_SUBCOMMAND ? ROLE_DATA : role[i], prints);
        u->is_text = false;
        if (uses_takes_module(c, i)) take_app(u, w, app_name(w->text));
    }
    if (uses_is_python(c->program)) look_python(u, c, role);
    look_implied(u, c);
    bool npx = IS_PROGRAM(c, "npx", "pnpx", "bunx") || (IS_PROGRAM(c, "npm", "pnpm", "yarn") && c->wrapper);
    if (npx && at + 1 < list->n && list->at[at + 1].words_n) look_package(u, &list->at[at + 1].words[0]);
}

/* ---- where it works ---- */

static bool add_folder(Use *u, const ShellWord *w, Str name) {
    bool more = false;
    struct stat st;
    if (!is_path_text(name) || name.at[0] == '~' || name.at[0] == '-') return false;
    for (size_t i = 0, n = u->folders.n; i < n; i++) {
        Str path = str_from(protected_path(u->l, u->folders.at[i], name));
        bool known = stat(path.at, &st) != 0 || !S_ISDIR(st.st_mode);
        for (size_t k = 0; k < u->folders.n && !known; k++) known = str_eq(u->folders.at[k], path);
        if (known) continue;
        if (u->folders.n >= FOLDERS_MAX) {
            doubt(u, w, "it changes its working folder too often", literal);
            return false;
        }
        VEC_PUSH(&u->folders, path);
        more = true;
    }
    return more;
}

/* Collects every folder in which the command may work. Commands may run in loops and functions, so any order of `cd` commands is possible. */
static void find_folders(Use *u, const ShellCommands *list) {
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < list->n; i++) {
            const ShellCommand *c = &list->at[i];
            Role *role = ARENA_ARRAY(u->l->arena, Role, c->words_n + 2);
            if (!c->words_n) continue;
            read_roles(c, role);
            for (size_t k = 1; k < c->words_n; k++) {
                const ShellWord *w = &c->words[k];
                ptrdiff_t equals = w->text.n && w->text.at[0] == '-' ? str_find_char(w->text, '=') : -1;
                if (role[k] != ROLE_FOLDER || !w->exact) continue;
                more |= add_folder(u, w, equals > 0 ? str_sub(w->text, (size_t)equals + 1, w->text.n) : w->text);
                for (size_t s = 2; w->text.at[0] == '-' && equals < 0 && s < w->text.n
                    && s < CLUSTER_MAX; s++) more |= add_folder(u, w, str_sub(w->text, s, w->text.n));
            }
        }
    }
}

static bool has_piece(const ShellWord *w, Str piece, size_t from) {
    return w->from <= from && from + piece.n <= w->to && str_find(w->text, piece) >= 0;
}

/* True if the piece is only written or printed by a command. */
static bool is_written(const ShellCommands *list, Str piece, size_t from) {
    for (size_t i = 0; i < list->n; i++) {
        const ShellCommand *c = &list->at[i];
        for (size_t k = 0; k < c->redirects_n; k++)
            if (c->redirects[k].kind != SHELL_READ && has_piece(&c->redirects[k].target, piece, from)) return true;
        for (size_t k = 1; k < c->words_n; k++) {
            bool says = uses_writes(c->program) || (IS_PROGRAM(c, "echo", "printf") && !is_path_text(c->words[k].text));
            if (says && has_piece(&c->words[k], piece, from)) return true;
        }
    }
    return false;
}

/* The parser does not list the words of `for`, [[ ]] and arrays, so every path in the text counts. */
static void take_rest(Use *u, const ShellCommands *list) {
    for (size_t i = 0; i < u->text.n && u->pieces <= PIECES_MAX;) {
        size_t from = i;
        while (i < u->text.n && u->text.at[i] && is_path_char(u->text.at[i])) i++;
        Str piece = str_sub(u->text, from, i);
        if (str_find_char(piece, '/') >= 0 && !is_written(list, piece, from)) take_piece(u, piece, ROLE_DATA, false);
        i += i < u->text.n;
    }
    StrList names = uses_loose_names(u->text, u->l->arena);
    for (size_t i = 0; i < names.n; i++) take_piece(u, names.at[i], ROLE_DATA, true);
}

void uses_text(ProtectedList *l, UsesBy by, Str folder, Str text, UsesFound *found) {
    Use u = { .l = l, .by = by, .text = text, .found = found };
    ShellCommands list = shell_commands(text, l->arena);
    VEC_PUSH(&u.folders, str_from(protected_path(l, folder, STR("."))));
    find_folders(&u, &list);
    for (size_t i = 0; i < list.n; i++) look_command(&u, &list, i);
    if (by == USES_HOOK) take_rest(&u, &list);
    if (list.problem) {
        doubt(&u, NULL, arena_fmt(l->arena, "it cannot be read as shell text: %s", list.problem),
            "put it into a script in a folder of its own and name that script");
        take_pieces(&u, text, ROLE_DATA);
    }
    VEC_CLEAR(&u.folders);
}

void uses_quote(Buf *b, Str word) {
    buf_add_char(b, '\'');
    for (size_t i = 0; i < word.n; i++) {
        if (word.at[i] == '\'') buf_add(b, STR("'\\''"));
        else buf_add_char(b, word.at[i]);
    }
    buf_add_char(b, '\'');
}

void uses_argv(ProtectedList *l, UsesBy by, Str folder, Str program, const StrList *args, UsesFound *found) {
    Buf text = { 0 };
    uses_quote(&text, program);
    for (size_t i = 0; i < args->n; i++) {
        buf_add_char(&text, ' ');
        uses_quote(&text, args->at[i]);
    }
    uses_text(l, by, folder, arena_str(l->arena, buf_str(&text)), found);
    buf_clear(&text);
}

void uses_variable(ProtectedList *l, UsesBy by, Str folder, Str name, Str value, UsesFound *found) {
    ShellWord word = { .from = 0, .to = (uint32_t)value.n };
    Use u = { .l = l, .by = by, .text = value, .found = found };
    VEC_PUSH(&u.folders, str_from(protected_path(l, folder, STR("."))));
    look_variable(&u, &word, name, value);
    VEC_CLEAR(&u.folders);
}
