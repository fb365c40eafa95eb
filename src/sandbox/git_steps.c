#include "sandbox/git_steps.h"

/* "exec COMMAND" and its short form "x COMMAND". git skips blanks before the word. */
static bool is_exec(Str line) {
    size_t i = 0, from;
    while (i < line.n && (line.at[i] == ' ' || line.at[i] == '\t')) i++;
    for (from = i; i < line.n && line.at[i] > ' '; i++) {}
    Str word = str_sub(line, from, i);
    return str_eq(word, STR("exec")) || str_eq(word, STR("x"));
}

/* git runs the program git-merge-STRATEGY; a strategy with a slash makes that a path. */
static bool has_slash(Str line) { return str_find_char(line, '/') >= 0; }

/* `git apply --build-fake-ancestor=FILE` writes any file that the user can write. Abbreviations count; git has no other option that starts with b. */
static bool has_long_b(Str line) { return str_find(line, STR("--b")) >= 0; }

typedef struct Step { const char *folder, *name; bool (*forbidden)(Str line); } Step;

static const Step *find(Str folder, Str name) {
    static const Step steps[] = {
        { "rebase-merge", "git-rebase-todo", is_exec },
        { "rebase-merge", "strategy", has_slash },
        { "sequencer", "opts", has_slash },
        { "rebase-apply", "apply-opt", has_long_b },
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (str_eq(folder, str_from(steps[i].folder)) && str_eq(name, str_from(steps[i].name))) return &steps[i];
    return NULL;
}

bool git_steps_is(const char *folder, const char *name) { return find(str_from(folder), str_from(name)) != NULL; }

bool git_steps_is_path(const char *path) {
    Str part[2] = { { 0 } };
    for (Str rest = str_from(path); rest.n;) {
        long long slash = str_find_char(rest, '/');
        part[0] = part[1];
        part[1] = str_sub(rest, 0, slash < 0 ? rest.n : (size_t)slash);
        rest = slash < 0 ? STR("") : str_sub(rest, (size_t)slash + 1, rest.n);
    }
    return find(part[0], part[1]) != NULL;
}

static bool has_line(Str text, Str wanted) {
    for (Str line; str_next_line(&text, &line);)
        if (str_eq(line, wanted)) return true;
    return false;
}

bool git_steps_allow(const char *folder, const char *name, Str before, Str now) {
    const Step *step = find(str_from(folder), str_from(name));
    for (Str line; step && str_next_line(&now, &line);)
        if (step->forbidden(line) && !has_line(before, line)) return false;
    return step != NULL;
}
