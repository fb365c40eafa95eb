/* Shell commands that write protected files, by redirection or by operand. Judges only the text of the command: a script that it runs may
 * still write them, which only the sandbox prevents. */
#include <sys/stat.h>
#include "base/glob.h"
#include "base/path.h"
#include "guard/protect_judge.h"

/* Raises the verdict to `v`, with the reason `before` + word + `after`; a stricter verdict stays. */
static void decide(Judge *j, GuardVerdict v, const char *before, Str word, const char *after) {
    if (v <= j->verdict) return;
    j->verdict = v;
    buf_reset(j->why);
    buf_add(j->why, str_from(before));
    buf_add(j->why, str_sub(word, 0, 200));
    buf_add(j->why, str_from(after));
    for (size_t i = 0; i < j->why->n; i++)
        if (j->why->at[i] == SHELL_UNKNOWN) j->why->at[i] = '?';
}

static void decide_protected(Judge *j, Str word) { decide(j, GUARD_DENY, "this command may not write ", word, ", which is protected"); }
void judge_unknown(Judge *j, Str word) { decide(j, GUARD_ASK, "it is not known before the command runs which file it writes: ", word, ""); }

/* ---- words ---- */

bool judge_below(Str path, Str folder) {
    if (str_eq(folder, STR("/"))) return true;
    return str_starts(path, folder) && (path.n == folder.n || path.at[folder.n] == '/');
}

static Str first_part(Str s) {
    ptrdiff_t slash = str_find_char(s, '/');
    return slash < 0 ? s : str_sub(s, 0, (size_t)slash);
}

/* Protected names that patterns and folders are compared with, if they exist. */
static const char *const row_names[] = {
#define PROTECTED(path) path,
#define PROTECTED_FOLDER(path, work) path "/settings.json", path,
#define PROTECTED_ENDING(ending)
#define PROTECTED_GIT(path) ".git/" path,
#include "tool/protect/protected.def"
#undef PROTECTED
#undef PROTECTED_FOLDER
#undef PROTECTED_ENDING
#undef PROTECTED_GIT
#define GUARD_HOME(path) path,
#include "guard/home.def"
#undef GUARD_HOME
    "harness.md", "harness.yaml", "harness.yml", ".harness", "tools.json",
};

bool judge_parts_match(const Judge *j, Str pattern, Str name) {
    while (pattern.n && name.n) {
        Str a = first_part(pattern), b = first_part(name);
        const Glob *g = glob_new(a, GLOB_PERIOD, j->p->arena, NULL);
        if (g && !glob_match(g, b)) return false;
        pattern = str_sub(pattern, a.n + 1, pattern.n);
        name = str_sub(name, b.n + 1, name.n);
    }
    return true;
}

bool judge_each_name(const Judge *j, JudgeEach *each, void *ctx) {
    const Str bases[] = { j->p->root, j->p->home };
    for (size_t b = 0; b < 2; b++)
        for (size_t i = 0; bases[b].n && i < sizeof row_names / sizeof *row_names; i++) {
            Str full = str_from(arena_fmt(j->p->arena, STR_FMT "/%s", STR_ARG(bases[b]), row_names[i]));
            if (guard_protect_covers(j->p, full) && each(ctx, full)) return true;
        }
    return false;
}

typedef struct Existing { const Judge *j; Str folder, pattern; } Existing;

static bool is_existing(void *ctx, Str path) {
    const Existing *e = ctx;
    struct stat st;
    bool named = e->pattern.n ? judge_parts_match(e->j, str_sub(e->pattern, 1, e->pattern.n), str_sub(path, 1, path.n)) : judge_below(path, e->folder);
    return named && lstat(path.at, &st) == 0;
}

/* Is an existing protected file below `folder`, or among the files of `pattern`? */
static bool covers_existing(const Judge *j, Str folder, Str pattern) { return judge_each_name(j, is_existing, &(Existing){ j, folder, pattern }); }

static bool covers_word(const Judge *j, const ShellWord *w, Str folder, bool tree) {
    if (w->pattern) {
        bool absolute = str_starts(w->text, STR("/"));
        Str pattern = path_normal(j->p->arena, str_from(arena_fmt(j->p->arena, STR_FMT "/" STR_FMT, STR_ARG(absolute ? STR("") : folder), STR_ARG(w->text))));
        return covers_existing(j, STR(""), pattern);
    }
    Str path = guard_path_resolve(w->text, folder, j->p->arena);
    return guard_protect_covers(j->p, path) || (tree && (judge_below(j->p->root, path) || covers_existing(j, path, STR(""))));
}

static bool covers(const Judge *j, const ShellWord *w, bool tree) {
    for (size_t i = 0; i < j->folders.n; i++)
        if (covers_word(j, w, j->folders.at[i], tree)) return true;
    return false;
}

/* `~/x` is the home folder's, which the parser does not know; ~user, ~+ and ~- stay unknown. */
ShellWord judge_with_home(const Judge *j, const ShellWord *w) {
    ShellWord out = *w;
    bool tilde = w->text.n && w->text.at[0] == SHELL_UNKNOWN && w->from < j->text.n && j->text.at[w->from] == '~' && j->p->home.n &&
                 (w->text.n == 1 ? w->to == w->from + 1 : w->text.at[1] == '/' && w->from + 1 < j->text.n && j->text.at[w->from + 1] == '/');
    if (!tilde || memchr(w->text.at + 1, SHELL_UNKNOWN, w->text.n - 1)) return out;
    out.text = str_from(arena_fmt(j->p->arena, STR_FMT STR_FMT, STR_ARG(j->p->home), STR_ARG(str_sub(w->text, 1, w->text.n))));
    out.exact = !w->pattern;
    return out;
}

static bool is_relative(const ShellWord *w) { return !str_starts(w->text, STR("/")) && !str_starts(w->text, STR("~")); }

/* A word whose text, or the folder it is relative to, is unknown. */
static bool is_unknown(const Judge *j, const ShellWord *w) { return (!w->exact && !w->pattern) || (j->lost && is_relative(w)); }

/* ---- operands ---- */

/* The file in a word such as of=FILE, --output=FILE, -oFILE; the whole word otherwise. */
static ShellWord value_of(const ShellWord *w) {
    ShellWord v = *w;
    ptrdiff_t equals = str_find_char(w->text, '=');
    if (equals > 0) v.text = str_sub(w->text, (size_t)equals + 1, w->text.n);
    else if (w->text.n > 2 && w->text.at[0] == '-' && w->text.at[1] != '-') v.text = str_sub(w->text, 2, w->text.n);
    return v;
}

static bool writes(Effect e) { return e == EFFECT_WRITES || e == EFFECT_WRITES_TREE || e == EFFECT_COPIES || e == EFFECT_MOVES || e == EFFECT_LINKS; }

void judge_operand(Judge *j, const ShellWord *written, Effect effect) {
    ShellWord known = judge_with_home(j, written), *w = &known, v = value_of(w);
    if (!w->text.n) return;
    if (is_unknown(j, w)) {
        if (writes(effect)) judge_unknown(j, w->text);
        return;
    }
    bool tree = (effect == EFFECT_WRITES_TREE || effect == EFFECT_MOVES) && !judge_is_option(w);
    if (covers(j, w, tree) || (v.text.at != w->text.at && v.text.n && covers(j, &v, false))) decide_protected(j, w->text);
}

/* A part of a word, as a file. */
static bool covers_text(const Judge *j, Str text) {
    return text.n && !memchr(text.at, SHELL_UNKNOWN, text.n) && covers(j, &(ShellWord){ .text = text, .exact = true }, false);
}

static bool in_path(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("_./~+-", c) != NULL; }

/* Code in another language is not understood: a protected file that it names may be written. */
static void judge_code(Judge *j, const ShellWord *w) {
    for (size_t i = 0, from = 0; i <= w->text.n; i++) {
        if (i < w->text.n && w->text.at[i] && in_path(w->text.at[i])) continue;
        Str part = str_sub(w->text, from, i);
        if (part.n < w->text.n && covers_text(j, part)) decide(j, GUARD_ASK, "this code may write ", part, ", which is protected");
        from = i + 1;
    }
}

/* The w command of sed, and the w of its s command, write the file that the rest of the line names. */
static void judge_sed(Judge *j, const ShellWord *w) {
    for (size_t i = 0; i < w->text.n; i++) {
        if (w->text.at[i] != 'w' && w->text.at[i] != 'W') continue;
        Str rest = str_sub(w->text, i + 1, w->text.n), line = { 0 };
        if (rest.n && str_next_line(&rest, &line) && covers_text(j, str_trim(line))) decide_protected(j, str_trim(line));
    }
}

/* The name at the end of an address; curl uses it with -O only. */
static void judge_address(Judge *j, const ShellCommand *c, const ShellWord *w) {
    if (str_eq(c->program, STR("curl")) && !judge_has_option(c, "-O --remote-name*")) return;
    size_t n = 0, from = 0;
    while (n < w->text.n && w->text.at[n] != '?' && w->text.at[n] != '#') n++;
    for (size_t i = 0; i < n; i++)
        if (w->text.at[i] == '/') from = i + 1;
    if (covers_text(j, str_sub(w->text, from, n))) decide_protected(j, str_sub(w->text, from, n));
}

static void judge_packed(Judge *j, const ShellWord *w) {
    size_t n = w->text.n;
    while (n > 0 && w->text.at[n - 1] != '.' && w->text.at[n - 1] != '/') n--;
    if (n > 1 && w->text.at[n - 1] == '.' && covers_text(j, str_sub(w->text, 0, n - 1))) decide_protected(j, str_sub(w->text, 0, n - 1));
}

/* git config writes .git/config, which is protected: only keys that run nothing. */
static void judge_git_config(Judge *j, const ShellCommand *c) {
    static const char *const harmless[] = { "user.", "branch.", "init.", "push.", "pull.", "color.", "advice.", "commit.gpgsign", "rebase.autostash", "rerere." };
    if (c->operand >= c->words_n || !shell_word_is(&c->words[c->operand], "config")) return;
    if (judge_has_option(c, "--get* --list -l --global --system --file -f --show-origin")) return;
    const ShellWord *key = NULL;
    uint32_t n = 0;
    for (uint32_t i = c->operand + 1; i < c->words_n; i++) {
        const ShellWord *w = &c->words[i];
        if (n == 0 && (shell_word_is(w, "get") || shell_word_is(w, "list"))) return;
        if (judge_is_option(w) || (n == 0 && (shell_word_is(w, "set") || shell_word_is(w, "unset")))) continue;
        if (n++ == 0) key = w;
    }
    bool edits = judge_has_option(c, "--unset* --add --replace-all --edit -e --rename-section --remove-section");
    if (!edits && n < 2 && !(key && !key->exact)) return;
    for (size_t i = 0; key && key->exact && i < sizeof harmless / sizeof *harmless; i++)
        if (str_starts(key->text, str_from(harmless[i]))) return;
    decide_protected(j, STR(".git/config"));
}

/* ---- commands about trust ---- */

static bool names_trust(Str s) { return str_starts(s, STR("HARNESS_TRUST=")) || str_eq(s, STR("HARNESS_TRUST")); }

static void decide_trust(Judge *j, GuardVerdict v, Str what) { decide(j, v, "only a user at a terminal may run this: ", what, ""); }

/* Commands of harness that speak for the user, or write files that no agent may write. */
static const struct { const char *first, *second, *shown; } own[] = {
    { "trust", NULL, "harness trust" },
    { "approvals", NULL, "harness approvals" },
    { "console", NULL, "harness console" },               /* answers questions, and starts calls */
    { "mcp", "approve", "harness mcp approve" },
    { "mcp", "add", "harness mcp add" },                  /* trusts what it writes, and starts it */
    { "mcp", "remove", "harness mcp remove" },
    { "guard", "install", "harness guard install" },
    { "guard", "uninstall", "harness guard uninstall" },
    { "init", NULL, "harness init" },
    { "scaffold", NULL, "harness scaffold" },
    { "new", NULL, "harness new" },
    { "runs", "say", "harness runs say" },                /* the other agent takes it for a message of the user */
    { "runs", "prune", "harness runs prune" },
};

static bool names_state(Str s) {
    ptrdiff_t equals = str_find_char(s, '=');
    Str name = equals < 0 ? s : str_sub(s, 0, (size_t)equals);
    return str_eq(name, STR("HARNESS_STATE")) || str_eq(name, STR("XDG_STATE_HOME"));
}

/* Another state could hold another consent: XDG_STATE_HOME=x harness run, env XDG_STATE_HOME=x harness run. */
static void judge_state(Judge *j, const ShellCommand *c) {
    bool runs = false, names = false;
    for (uint32_t i = 0; i < c->assigns_n; i++) names = names || names_state(c->assigns[i].name);
    for (uint32_t i = 0; i < c->words_n; i++) {
        runs = runs || str_eq(judge_last_part(c->words[i].text), STR("harness"));
        names = names || names_state(c->words[i].text);
    }
    if (runs && names) decide_trust(j, GUARD_ASK, STR("harness with another state"));
}

static void judge_trust(Judge *j, const ShellCommand *c) {
    for (uint32_t i = 0; i < c->assigns_n; i++)
        if (str_eq(c->assigns[i].name, STR("HARNESS_TRUST"))) decide_trust(j, GUARD_DENY, STR("HARNESS_TRUST="));
    for (uint32_t i = 0; i < c->words_n; i++)
        if (names_trust(c->words[i].text)) decide_trust(j, GUARD_DENY, STR("HARNESS_TRUST="));
    if (!str_eq(c->program, STR("harness"))) return;
    for (uint32_t i = 1; i < c->words_n; i++) {
        const ShellWord *w = &c->words[i], *next = i + 1 < c->words_n ? &c->words[i + 1] : NULL;
        if (!w->exact) decide_trust(j, GUARD_ASK, STR("harness"));
        if (shell_word_is(w, "--yes") || str_starts(w->text, STR("--approve"))) decide_trust(j, GUARD_ASK, STR("harness --yes, --approve"));
        for (size_t k = 0; k < sizeof own / sizeof *own; k++)
            if (shell_word_is(w, own[k].first) && (!own[k].second || (next && shell_word_is(next, own[k].second))))
                decide_trust(j, GUARD_DENY, str_from(own[k].shown));
    }
}

/* ---- all ---- */

static void add_folder(Judge *j, const ShellWord *written) {
    ShellWord w = judge_with_home(j, written);
    size_t n = j->folders.n;
    if (!w.exact || n >= 16) {
        j->lost = true;
        return;
    }
    for (size_t i = 0; i < n && j->folders.n < 32; i++) {
        Str next = guard_path_resolve(w.text, j->folders.at[i], j->p->arena);
        VEC_PUSH(&j->folders, next);
    }
}

/* `env -C DIR CMD` and its like start the command elsewhere. */
static void follow_wrapper(Judge *j, const ShellCommand *c) {
    char letter = str_eq(c->program, STR("env")) ? 'C' : str_eq(c->program, STR("sudo")) || str_eq(c->program, STR("run0")) ? 'D' : 0;
    ShellWord folder;
    for (uint32_t i = 1, used; i < c->words_n && judge_is_option(&c->words[i]); i++)
        if ((letter && judge_option_value(c, i, letter, "--chdir", &folder, &used)) || judge_option_value(c, i, 0, "--working-directory", &folder, &used))
            add_folder(j, &folder);
}

static void follow_cd(Judge *j, const ShellCommand *c) {
    bool cd = str_eq(c->program, STR("cd")) || str_eq(c->program, STR("pushd"));
    if (c->wrapper) follow_wrapper(j, c);
    if (!cd) return;
    if (c->operand >= c->words_n) j->lost = true;
    else add_folder(j, &c->words[c->operand]);
}

static void judge_words(Judge *j, const ShellCommand *c, Effect effect) {
    for (uint32_t i = 1; i < c->words_n; i++) {
        judge_operand(j, &c->words[i], effect);
        if (effect == EFFECT_CODE) judge_code(j, &c->words[i]);
        if (effect == EFFECT_FETCHES) judge_address(j, c, &c->words[i]);
        if (effect == EFFECT_UNPACKS) judge_packed(j, &c->words[i]);
    }
}

static void judge_command(Judge *j, const ShellCommand *c) {
    judge_trust(j, c);
    judge_state(j, c);
    for (uint32_t i = 0; i < c->redirects_n; i++) {
        const ShellRedirect *r = &c->redirects[i];
        if (r->kind != SHELL_WRITE && r->kind != SHELL_APPEND && r->kind != SHELL_READ_WRITE) continue;
        ShellWord target = judge_with_home(j, &r->target);
        if (is_unknown(j, &target)) judge_unknown(j, target.text);
        else if (covers(j, &target, false)) decide_protected(j, target.text);
    }
    Effect effect = judge_effect(c);
    bool sed = str_eq(c->program, STR("sed"));
    for (uint32_t i = 1; sed && i < c->words_n; i++) judge_sed(j, &c->words[i]);
    if (str_eq(c->program, STR("git"))) judge_git_config(j, c);
    if (effect == EFFECT_READS || c->words_n == 0) return;
    if (str_eq(c->program, STR("find")) && judge_has_option(c, "-delete")) judge_find(j, c);
    if (c->wrapper) return;
    if (effect == EFFECT_COPIES || effect == EFFECT_MOVES || effect == EFFECT_LINKS) judge_copy(j, c, effect);
    else judge_words(j, c, effect);
}

GuardVerdict guard_protect_shell(const GuardProtect *p, Str command, Str cwd, Buf *why) {
    Judge j = { .p = p, .text = command, .why = why, .verdict = GUARD_PASS };
    ShellCommands all = shell_commands(command, p->arena);
    VEC_PUSH(&j.folders, cwd);
    for (size_t i = 0; i < all.n; i++) follow_cd(&j, &all.at[i]);
    for (size_t i = 0; i < all.n; i++) judge_command(&j, &all.at[i]);
    if (all.problem) decide(&j, GUARD_ASK, "the command cannot be parsed: ", str_from(all.problem), "");
    VEC_CLEAR(&j.folders);
    return j.verdict;
}
