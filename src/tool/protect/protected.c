#include "tool/protect/protected.h"
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "artifact/project_find.h"
#include "base/nearly.h"
#include "base/path.h"
#include "tool/protect/confine.h"
#include "tool/protect/uses.h"

void protected_add(ProtectedList *l, const char *path) { table_put(&l->at, str_from(path), l); }

const char *protected_path(ProtectedList *l, Str base, Str path) {
    if (path.n && path.at[0] == '/') return path_normal(l->arena, path).at;
    return path_normal(l->arena, str_from(arena_fmt(l->arena, STR_FMT "/" STR_FMT, STR_ARG(base), STR_ARG(path)))).at;
}

static bool inside(const char *path, Str root) {
    return strncmp(path, root.at, root.n) == 0 && (path[root.n] == '/' || path[root.n] == 0);
}

bool protected_writable(const ProtectedList *l, const char *path) {
    if (inside(path, l->root) || inside(path, l->workspace)) return true;
    for (size_t i = 0; l->write_roots && l->write_roots[i]; i++)
        if (inside(path, str_from(l->write_roots[i]))) return true;
    return false;
}

/* ---- programs ---- */

/* A program inside the project is protected like the file that names it. For a link, both the link and its target are protected. */
static void add_program(ProtectedList *l, Str folder, Str word) {
    char real[PATH_MAX];
    const char *path = protected_path(l, folder, word);
    struct stat st;
    if (!protected_writable(l, path) || stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return;
    protected_add(l, path);
    if (!realpath(path, real) || strcmp(real, path) == 0 || !protected_writable(l, real)) return;
    protected_add(l, arena_str(l->arena, str_from(real)).at);
}

static bool is_interpreter(Str word) {
    static const char *const names[] = { "sh", "bash", "dash", "zsh", "python", "python3", "node", "deno", "bun", "perl", "ruby", "php", "lua",
                                         "env", "exec", "nice", "timeout", "source", ".", "awk", "make" };
    for (size_t i = word.n; i-- > 0;)
        if (word.at[i] == '/') {
            word = str_sub(word, i + 1, word.n);
            break;
        }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_eq(word, str_from(names[i]))) return true;
    return false;
}

/* The words of a shell text that name a program: the first word of each command, and the script argument of an interpreter. A word that is taken
 * for a program by mistake only protects one more file. */
static void add_command(ProtectedList *l, Str folder, Str text) {
    bool first = true;
    for (size_t i = 0; i < text.n;) {
        if (strchr(";|&(){}\n`", text.at[i])) {
            first = true, i++;
            continue;
        }
        if (strchr(" \t'\"<>", text.at[i])) {
            i++;
            continue;
        }
        size_t from = i;
        while (i < text.n && !strchr(" \t\n;|&(){}`'\"<>", text.at[i])) i++;
        Str word = str_sub(text, from, i);
        if (str_starts(word, STR("-")) || str_find_char(word, '=') >= 0) continue;      /* an option, or NAME=value in front */
        if (first || str_starts(word, STR("./"))) add_program(l, folder, word);
        first = first && is_interpreter(word);
    }
}

/* A word of git's configuration. Also protects a path that does not exist yet: creating it would activate it. */
static void add_word(ProtectedList *l, Str folder, Str word) {
    if (str_starts(word, STR("~/")) && getenv("HOME")) word = str_from(protected_path(l, str_from(getenv("HOME")), str_sub(word, 2, word.n)));
    const char *path = protected_path(l, folder, word);
    struct stat st;
    if (stat(path, &st) == 0) {
        add_program(l, folder, word);
    } else if (word.at[0] == '/' && !protected_writable(l, path)) {
        add_program(l, folder, str_sub(word, 1, word.n));        /* "$(git rev-parse --show-toplevel)/tools/x" */
    } else if (str_find_char(word, '/') >= 0 && protected_writable(l, path)) {
        protected_add(l, path);
    }
}

/* The first word of a command is looked up in PATH unless it contains a slash. */
void protected_words(ProtectedList *l, Str folder, Str text) {
    static const char ends[] = "\n;|&(){}`", between[] = " \t\r\n;|&(){}`'\"<>=$%*?[]";
    bool first = true;
    for (size_t i = 0; i < text.n;) {
        size_t from = i;
        while (i < text.n && text.at[i] && !strchr(between, text.at[i])) i++;
        Str word = str_sub(text, from, i);
        if (word.n && (!first || str_find_char(word, '/') >= 0)) add_word(l, folder, word);
        first = first && word.n == 0;
        if (i == text.n) break;
        if (strchr(ends, text.at[i])) first = true;
        i++;
    }
}

static const char *const *listed(ProtectedList *l) {
    const char **out = ARENA_ARRAY(l->arena, const char *, l->at.n + 1);
    for (size_t i = 0; i < l->at.n; i++) out[i] = l->at.entry[i].key.at;
    table_clear(&l->at);
    table_clear(&l->repositories);
    table_clear(&l->configs);
    return out;
}

static Str join(ProtectedList *l, Str folder) { return str_from(protected_path(l, l->root, folder.n ? folder : STR("."))); }

/* A script or a recording determines the model's answers, or the outcome of a test. A call may not create a missing one either. */
static void add_answers(ProtectedList *l, Str path) {
    if (!path.n || str_find_char(path, '\n') >= 0) return;              /* the text of a script */
    const char *at = protected_path(l, l->root, path);
    struct stat st;
    add_program(l, l->root, path);
    if (lstat(at, &st) != 0 && protected_writable(l, at) && !inside(l->workspace.at, str_from(at))) protected_add(l, at);
}

/* The model of a test is a script, a recording or the name of a profile. Paths relative to the test's own folder are below .harness. */
static void add_test(ProtectedList *l, const TestDef *t) {
    Value *model = value_is_dict(t->root) ? dict_find_str(value_dict(t->root), STR("model")) : NULL;
    if (model && value_is_dict(*model)) {
        add_answers(l, value_member_text(*model, "script"));
        add_answers(l, value_member_text(*model, "replay"));
    } else if (model && value_is_string(*model)) {
        add_program(l, l->root, value_str(*model));
    }
}

static void add_programs(ProtectedList *l) {
    const Project *p = l->project;
    for (size_t i = 0; i < p->n_tools; i++) {
        const ToolDef *t = &p->tools[i];
        for (size_t a = 0; a < t->argv.n; a++) add_program(l, join(l, t->folder), t->argv.at[a]);
        if (t->command) add_command(l, join(l, t->folder), template_text(t->command));
        uses_tool(l, t, &(UsesFound){ 0 });
    }
    for (size_t i = 0; i < p->n_hooks; i++) uses_hook(l, &p->hooks[i], &(UsesFound){ 0 });
    for (size_t i = 0; i < p->n_servers; i++) uses_server(l, &p->servers[i], &(UsesFound){ 0 });
    for (size_t i = 0; i < p->settings.n_models; i++) {
        add_answers(l, p->settings.models[i].script);
        add_answers(l, p->settings.models[i].replay);
    }
    for (size_t i = 0; i < p->n_tests; i++) add_test(l, &p->tests[i]);
}

const char *const *protected_programs(ProtectedList *l) {
    add_programs(l);
    return listed(l);
}

/* ---- files ---- */

bool protected_is_sign(const char *name) { return strcmp(name, "*") == 0 || strcmp(name, "?") == 0; }

static bool is_work(Str work, const char *name) {
    for (size_t from = 0, i = 0; i <= work.n; i++)
        if (i == work.n || work.at[i] == ' ') {
            if (str_eq(str_sub(work, from, i), str_from(name))) return true;
            from = i + 1;
        }
    return false;
}

/* Protects every entry of the folder except `work`, and every name that a call could add. */
static void add_folder(ProtectedList *l, Str above, Str name, Str work) {
    Str folder = str_from(protected_path(l, above, name));
    DIR *d = opendir(folder.at);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && !protected_is_sign(e->d_name) && !is_work(work, e->d_name))
            protected_add(l, protected_path(l, folder, str_from(e->d_name)));
    if (d) closedir(d);
    for (size_t from = 0, i = 0; i <= work.n; i++)
        if (i == work.n || work.at[i] == ' ') {
            protected_add(l, arena_fmt(l->arena, "%s/?", protected_path(l, folder, str_sub(work, from, i))));
            from = i + 1;
        }
    protected_add(l, protected_path(l, folder, STR("*")));
}

static bool has_ending(const char *name) {
#define PROTECTED(path)
#define PROTECTED_FOLDER(path, work)
#define PROTECTED_ENDING(ending) if (str_ends(str_from(name), STR(ending))) return true;
#define PROTECTED_GIT(path)
#include "tool/protect/protected.def"
#undef PROTECTED
#undef PROTECTED_FOLDER
#undef PROTECTED_ENDING
#undef PROTECTED_GIT
    return false;
}

static void add_endings(ProtectedList *l, Str folder) {
    DIR *d = opendir(arena_str(l->arena, folder).at);
    for (struct dirent *e; d && (e = readdir(d));)
        if (has_ending(e->d_name)) protected_add(l, protected_path(l, folder, str_from(e->d_name)));
    if (d) closedir(d);
}

static void add_rows(ProtectedList *l, Str folder) {
#define PROTECTED(path) protected_add(l, protected_path(l, folder, STR(path)));
#define PROTECTED_FOLDER(path, work) add_folder(l, folder, STR(path), STR(work));
#define PROTECTED_ENDING(ending)
#define PROTECTED_GIT(path)
#include "tool/protect/protected.def"
#undef PROTECTED
#undef PROTECTED_FOLDER
#undef PROTECTED_ENDING
#undef PROTECTED_GIT
    add_endings(l, folder);
    protected_git(l, folder);
    protected_git_below(l, folder);
}

/* Notes for agents are plain text: tools may write them. */
static bool is_note(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strcmp(name, "AGENTS.md") == 0 || strcmp(name, "CLAUDE.md") == 0;
}

/* Listing a space counts as looking at its folder; protecting all of it would leave nothing writable. */
static void add_looked_at(ProtectedList *l, Str path) {
    const char *at = protected_path(l, l->root, path);
    if (!inside(l->workspace.at, str_from(at)) && !is_note(at)) protected_add(l, at);
}

/* Protects the target of a link in a protected folder. */
static void add_link_target(ProtectedList *l, Str path) {
    char real[PATH_MAX];
    const char *at = protected_path(l, l->root, path);
    if (realpath(at, real) && strcmp(real, at) != 0 && protected_writable(l, real) && !is_note(real)) protected_add(l, arena_str(l->arena, str_from(real)).at);
}

static void add_loaded(ProtectedList *l) {
    for (size_t i = 0; i < l->project->loaded_files.n; i++) add_looked_at(l, l->project->loaded_files.at[i]);
    for (size_t i = 0; i < l->project->n_files; i++) add_link_target(l, l->project->files[i].path);
}

/* Files that harness reads at its next start, with or without -c, whether or not the project loads. */
static void add_usual(ProtectedList *l) {
    static const char *const names[] = { PROJECT_NAMES, "agent", NEARLY_NAMES };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) add_looked_at(l, str_from(names[i]));
    for (size_t i = 0; i < l->n_more; i++) add_looked_at(l, l->more[i]);
}

/* harness was started below the root: the next start there looks for a project in each folder on the way up, and stops at a .git. */
static void add_way_up(ProtectedList *l) {
    static const char *const names[] = { PROJECT_NAMES };
    char here[PATH_MAX];
    if (!getcwd(here, sizeof here) || !inside(here, l->root)) return;
    for (size_t n = strlen(here); n > l->root.n; n = (size_t)(strrchr(here, '/') - here), here[n] = 0) {
        Str folder = arena_str(l->arena, str_from(here));
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) add_looked_at(l, str_from(protected_path(l, folder, str_from(names[i]))));
        protected_git(l, folder);
    }
}

const char *const *protected_paths(ProtectedList *l) {
    if (!l->project || !l->self_edit) {
        add_usual(l);
        add_way_up(l);
    }
    if (l->project && !l->self_edit) {
        add_loaded(l);
        add_programs(l);
    }
    add_rows(l, l->root);
    if (!str_eq(l->workspace, l->root)) add_rows(l, l->workspace);
    return listed(l);
}

/* ---- files that the user names ---- */

static bool is_in(Str path, Str folder) { return str_starts(path, folder) && (path.n == folder.n || path.at[folder.n] == '/'); }

/* The user may write a recording beside the tests, or one that a model of the project replays. */
static bool is_recording(ProtectedList *l, Str path) {
    const Settings *s = &l->project->settings;
    for (size_t i = 0; i < s->n_models; i++)
        if (s->models[i].replay.n && str_eq(path, str_from(protected_path(l, l->root, s->models[i].replay)))) return true;
    return is_in(path, str_from(protected_path(l, l->root, STR(".harness/tests")))) && str_ends(path, STR(".jsonl"));
}

bool protected_allows(const Project *p, const char *path, Error *err) {
    Arena arena = { 0 };
    char workspace[PATH_MAX], here[PATH_MAX];
    bool ok = true;
    if (!confine_workspace(p, workspace, NULL) || !getcwd(here, sizeof here)) return true;        /* errors are reported where the files are used */
    ProtectedList l = { .arena = &arena, .project = p, .root = p->root, .workspace = str_from(workspace) };
    Str full = str_from(protected_path(&l, str_from(here), str_from(path)));
    const char *const *all = protected_paths(&l);
    for (size_t i = 0; ok && all[i]; i++) ok = !is_in(full, str_from(all[i])) || is_recording(&l, full);
    arena_clear(&arena);
    return ok || (error_set(err, ERR_VALIDATION, "it is a protected file of the project"), error_hint(err, "choose another file"));
}
