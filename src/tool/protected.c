/* Which files a call may not change: everything the loader looked at, existing or not, the programs it names inside the
 * project, .mcp.json, .git/config and .git/hooks. */
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "base/path.h"
#include "tool/state.h"

typedef struct Paths { Runtime *rt; Table at; } Paths;       /* each once; the runtime's arena holds them */

static void add(Paths *l, const char *path) { table_put(&l->at, str_from(path), l); }

static const char *absolute(Runtime *rt, Str base, Str path) {
    if (path.n && path.at[0] == '/') return path_normal(&rt->arena, path).at;
    return path_normal(&rt->arena, str_from(arena_fmt(&rt->arena, STR_FMT "/" STR_FMT, STR_ARG(base), STR_ARG(path)))).at;
}

static bool inside(const char *path, Str root) {
    return strncmp(path, root.at, root.n) == 0 && (path[root.n] == '/' || path[root.n] == 0);
}

/* ---- programs ---- */

/* A program that stands inside the project is as much part of the rules as the file that names it. A link counts with both ends. */
static void add_program(Paths *l, Str folder, Str word) {
    Runtime *rt = l->rt;
    char real[PATH_MAX];
    const char *path = absolute(rt, folder, word);
    struct stat st;
    if (!inside(path, rt->project->root) || stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return;
    add(l, path);
    if (realpath(path, real) && inside(real, rt->project->root)) add(l, arena_str(&rt->arena, str_from(real)).at);
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

/* The words of a shell text that name a program: the first of each command, and what an interpreter is given. Reading too many
 * as one only protects a file more. */
static void add_command(Paths *l, Str folder, Str text) {
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

static const char *const *listed(Paths *l) {
    const char **out = ARENA_ARRAY(&l->rt->arena, const char *, l->at.n + 1);
    for (size_t i = 0; i < l->at.n; i++) out[i] = l->at.entry[i].key.at;
    table_clear(&l->at);
    return out;
}

static Str join(Runtime *rt, Str folder) { return str_from(absolute(rt, rt->project->root, folder.n ? folder : STR("."))); }

static void add_programs(Paths *l) {
    const Project *p = l->rt->project;
    for (size_t i = 0; i < p->n_tools; i++) {
        const ToolDef *t = &p->tools[i];
        for (size_t a = 0; a < t->argv.n; a++) add_program(l, join(l->rt, t->folder), t->argv.at[a]);
        if (t->command) add_command(l, join(l->rt, t->folder), template_text(t->command));
    }
    for (size_t i = 0; i < p->n_hooks; i++)
        if (p->hooks[i].kind == HOOK_COMMAND) add_command(l, join(l->rt, p->hooks[i].folder), p->hooks[i].command);
    for (size_t i = 0; i < p->n_servers; i++) {
        const ServerDef *s = &p->servers[i];
        if (!s->command.n) continue;
        add_program(l, join(l->rt, s->cwd), s->command);
        for (size_t a = 0; a < s->args.n; a++) add_program(l, join(l->rt, s->cwd), s->args.at[a]);
    }
    for (size_t i = 0; i < p->settings.n_models; i++)
        if (p->settings.models[i].script.n) add_program(l, p->root, p->settings.models[i].script);
}

const char *const *runtime_programs(Runtime *rt) {
    Paths l = { .rt = rt };
    add_programs(&l);
    return listed(&l);
}

static void add_git(Paths *l, Str folder) {
    add(l, absolute(l->rt, folder, STR(".mcp.json")));
    add(l, absolute(l->rt, folder, STR(".git/config")));
    add(l, absolute(l->rt, folder, STR(".git/hooks")));
}

/* A space's own folder is "looked at" when it is listed; protecting all of it would leave nothing to write. */
static bool is_whole_workspace(Runtime *rt, const char *path) {
    return inside(runtime_workspace(rt).at, str_from(path));
}

const char *const *runtime_protected(Runtime *rt) {
    Paths l = { .rt = rt };
    const Project *p = rt->project;
    for (size_t i = 0; i < p->loaded_files.n; i++) {
        const char *path = absolute(rt, p->root, p->loaded_files.at[i]);
        if (!is_whole_workspace(rt, path)) add(&l, path);
    }
    add_programs(&l);
    add_git(&l, p->root);
    if (!str_eq(runtime_workspace(rt), p->root)) add_git(&l, runtime_workspace(rt));
    return listed(&l);
}
