/* Shell commands that write protected files, by redirection or by operand. Only what the text says is judged: a script that the command runs
 * may still write them, which the sandbox prevents and this does not. */
#include <sys/stat.h>
#include "base/glob.h"
#include "base/path.h"
#include "base/vec.h"
#include "guard/protect.h"
#include "shell/shell.h"

typedef enum Effect { EFFECT_UNKNOWN, EFFECT_READS, EFFECT_WRITES, EFFECT_WRITES_TREE, EFFECT_COPIES, EFFECT_MOVES } Effect;
typedef struct ProgramRow { const char *name; Effect effect; const char *unless; } ProgramRow;
static const ProgramRow program_rows[] = {
#define GUARD_READS(name) { name, EFFECT_READS, "" },
#define GUARD_READS_UNLESS(name, options) { name, EFFECT_READS, options },
#define GUARD_WRITES(name) { name, EFFECT_WRITES, "" },
#define GUARD_WRITES_TREE(name) { name, EFFECT_WRITES_TREE, "" },
#define GUARD_COPIES(name) { name, EFFECT_COPIES, "" },
#define GUARD_MOVES(name) { name, EFFECT_MOVES, "" },
#include "guard/programs.def"
#undef GUARD_READS
#undef GUARD_READS_UNLESS
#undef GUARD_WRITES
#undef GUARD_WRITES_TREE
#undef GUARD_COPIES
#undef GUARD_MOVES
};

typedef struct Judge {
    const GuardProtect *p;
    Str text;                            /* of the whole command */
    VEC(Str) folders;                    /* where relative words may start: the working folder, and where a cd leads */
    bool lost;                           /* a cd to an unknown place */
    GuardVerdict verdict;
    Buf *why;
} Judge;

/* The reason: `before`, the word, `after`. */
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
static void decide_unknown(Judge *j, Str word) { decide(j, GUARD_ASK, "it is not known before the command runs which file it writes: ", word, ""); }

/* ---- words ---- */

static bool below(Str path, Str folder) {
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

/* Part by part; the shorter one may be a folder above the other. */
static bool parts_match(const Judge *j, Str pattern, Str name) {
    while (pattern.n && name.n) {
        Str a = first_part(pattern), b = first_part(name);
        const Glob *g = glob_new(a, GLOB_PERIOD, j->p->arena, NULL);
        if (g && !glob_match(g, b)) return false;
        pattern = str_sub(pattern, a.n + 1, pattern.n);
        name = str_sub(name, b.n + 1, name.n);
    }
    return true;
}

/* Is an existing protected file below `folder`, or among the files of `pattern`? */
static bool covers_existing(const Judge *j, Str folder, Str pattern) {
    const Str bases[] = { j->p->root, j->p->home };
    struct stat st;
    for (size_t b = 0; b < 2; b++)
        for (size_t i = 0; bases[b].n && i < sizeof row_names / sizeof *row_names; i++) {
            Str full = str_from(arena_fmt(j->p->arena, STR_FMT "/%s", STR_ARG(bases[b]), row_names[i]));
            bool named = pattern.n ? parts_match(j, str_sub(pattern, 1, pattern.n), str_sub(full, 1, full.n)) : below(full, folder);
            if (named && guard_protect_covers(j->p, full) && lstat(full.at, &st) == 0) return true;
        }
    return false;
}

static bool covers_word(const Judge *j, const ShellWord *w, Str folder, bool tree) {
    if (w->pattern) {
        bool absolute = str_starts(w->text, STR("/"));
        Str pattern = path_normal(j->p->arena, str_from(arena_fmt(j->p->arena, STR_FMT "/" STR_FMT, STR_ARG(absolute ? STR("") : folder), STR_ARG(w->text))));
        return covers_existing(j, STR(""), pattern);
    }
    Str path = guard_path_resolve(w->text, folder, j->p->arena);
    return guard_protect_covers(j->p, path) || (tree && (below(j->p->root, path) || covers_existing(j, path, STR(""))));
}

static bool covers(const Judge *j, const ShellWord *w, bool tree) {
    for (size_t i = 0; i < j->folders.n; i++)
        if (covers_word(j, w, j->folders.at[i], tree)) return true;
    return false;
}

/* `~/x` is the home folder's, which the parser does not know. */
static ShellWord with_home(const Judge *j, const ShellWord *w) {
    ShellWord out = *w;
    bool tilde = w->text.n && w->text.at[0] == SHELL_UNKNOWN && w->from < j->text.n && j->text.at[w->from] == '~' &&
                 (w->text.n == 1 || w->text.at[1] == '/') && j->p->home.n;
    if (!tilde || memchr(w->text.at + 1, SHELL_UNKNOWN, w->text.n - 1)) return out;
    out.text = str_from(arena_fmt(j->p->arena, STR_FMT STR_FMT, STR_ARG(j->p->home), STR_ARG(str_sub(w->text, 1, w->text.n))));
    out.exact = !w->pattern;
    return out;
}

static bool is_relative(const ShellWord *w) { return !str_starts(w->text, STR("/")) && !str_starts(w->text, STR("~")); }

/* A word whose text is not known, or whose folder is not. */
static bool is_unknown(const Judge *j, const ShellWord *w) { return (!w->exact && !w->pattern) || (j->lost && is_relative(w)); }

/* ---- programs ---- */

static bool has_option(const ShellCommand *c, const char *options) {
    Str rest = str_from(options);
    while (rest.n) {
        ptrdiff_t blank = str_find_char(rest, ' ');
        Str option = blank < 0 ? rest : str_sub(rest, 0, (size_t)blank);
        bool prefix = str_ends(option, STR("*"));
        if (prefix) option.n--;
        for (uint32_t i = 1; i < c->words_n; i++)
            if (prefix ? str_starts(c->words[i].text, option) : str_eq(c->words[i].text, option)) return true;
        rest = blank < 0 ? STR("") : str_sub(rest, (size_t)blank + 1, rest.n);
    }
    return false;
}

static bool all_exact(const ShellCommand *c) {
    for (uint32_t i = 0; i < c->words_n; i++)
        if (!c->words[i].exact && !c->words[i].pattern) return false;
    return true;
}

static bool git_reads(const ShellCommand *c) {
    static const char *const names[] = { "status", "diff", "log", "show", "blame", "ls-files", "ls-tree", "add", "commit", "grep",
        "rev-parse", "cat-file", "describe",
                                         "push", "fetch", "branch", "tag", "check-ignore", "shortlog", "stash" };
    for (uint32_t i = 1; i < c->words_n; i++) {
        if (str_starts(c->words[i].text, STR("-"))) return false;               /* -c KEY=VALUE can run programs */
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (shell_word_is(&c->words[i], names[k])) return !has_option(c, "--output* -o --ext-diff -O* --open-files-in-pager*");
        return false;
    }
    return false;
}

/* sed edits a file in place with -i, which may stand in a bundle. */
static bool sed_reads(const ShellCommand *c) {
    for (uint32_t i = 1; i < c->words_n; i++) {
        Str w = c->words[i].text;
        if (str_starts(w, STR("--in-place"))) return false;
        if (w.n > 1 && w.at[0] == '-' && w.at[1] != '-' && str_find_char(w, 'i') > 0) return false;
    }
    return true;
}

static Effect effect_of(const ShellCommand *c) {
    if (!c->exact) return EFFECT_UNKNOWN;
    if (str_eq(c->program, STR("git"))) return git_reads(c) ? EFFECT_READS : EFFECT_UNKNOWN;
    if (str_eq(c->program, STR("sed"))) return all_exact(c) && sed_reads(c) ? EFFECT_READS : EFFECT_WRITES;
    for (size_t i = 0; i < sizeof program_rows / sizeof *program_rows; i++) {
        if (!str_eq(c->program, str_from(program_rows[i].name))) continue;
        bool unless = program_rows[i].unless[0] && (has_option(c, program_rows[i].unless) || !all_exact(c));
        return unless ? EFFECT_UNKNOWN : program_rows[i].effect;
    }
    return EFFECT_UNKNOWN;
}

/* The file in a word such as of=FILE, --output=FILE, -oFILE; the whole word otherwise. */
static ShellWord value_of(const ShellWord *w) {
    ShellWord v = *w;
    ptrdiff_t equals = str_find_char(w->text, '=');
    if (equals > 0) v.text = str_sub(w->text, (size_t)equals + 1, w->text.n);
    else if (w->text.n > 2 && w->text.at[0] == '-' && w->text.at[1] != '-') v.text = str_sub(w->text, 2, w->text.n);
    return v;
}

static bool is_option(const ShellWord *w) { return w->text.n > 0 && w->text.at[0] == '-'; }

static void judge_operand(Judge *j, const ShellWord *written, Effect effect) {
    ShellWord known = with_home(j, written), *w = &known, v = value_of(w);
    if (!w->text.n) return;
    if (is_unknown(j, w)) {
        if (effect != EFFECT_UNKNOWN) decide_unknown(j, w->text);
        return;
    }
    bool tree = (effect == EFFECT_WRITES_TREE || effect == EFFECT_MOVES) && !is_option(w);
    if (covers(j, w, tree) || (v.text.at != w->text.at && v.text.n && covers(j, &v, false))) decide_protected(j, w->text);
}

static Str last_part(Str s) {
    while (s.n > 1 && s.at[s.n - 1] == '/') s.n--;
    size_t from = s.n;
    while (from > 0 && s.at[from - 1] != '/') from--;
    return str_sub(s, from, s.n);
}

/* `cp A B`: B, and B/A if B is a folder. */
static void judge_copy(Judge *j, const ShellCommand *c, Effect effect) {
    uint32_t last = c->words_n - 1;
    while (last > 0 && is_option(&c->words[last])) last--;
    for (uint32_t i = 1; i < c->words_n; i++) {
        const ShellWord *w = &c->words[i];
        if (i == last || is_option(w)) judge_operand(j, w, i == last ? EFFECT_WRITES : effect);
        else if (effect == EFFECT_MOVES) judge_operand(j, w, effect);
        if (i >= last || is_option(w) || !w->exact || !c->words[last].exact) continue;
        ShellWord into = c->words[last];
        into.text = str_from(arena_fmt(j->p->arena, STR_FMT "/" STR_FMT, STR_ARG(into.text), STR_ARG(last_part(w->text))));
        judge_operand(j, &into, EFFECT_WRITES);
    }
}

/* ---- commands about trust ---- */

static bool names_trust(Str s) { return str_starts(s, STR("HARNESS_TRUST=")) || str_eq(s, STR("HARNESS_TRUST")); }

static void decide_trust(Judge *j, GuardVerdict v, Str what) { decide(j, v, "only a person at a terminal may run this: ", what, ""); }

static void judge_trust(Judge *j, const ShellCommand *c) {
    for (uint32_t i = 0; i < c->assigns_n; i++)
        if (str_eq(c->assigns[i].name, STR("HARNESS_TRUST"))) decide_trust(j, GUARD_DENY, STR("HARNESS_TRUST="));
    for (uint32_t i = 0; i < c->words_n; i++)
        if (names_trust(c->words[i].text)) decide_trust(j, GUARD_DENY, STR("HARNESS_TRUST="));
    if (!str_eq(c->program, STR("harness"))) return;
    for (uint32_t i = 1; i < c->words_n; i++) {
        const ShellWord *w = &c->words[i], *next = i + 1 < c->words_n ? &c->words[i + 1] : NULL;
        if (!w->exact) decide_trust(j, GUARD_ASK, STR("harness"));
        if (shell_word_is(w, "trust") || shell_word_is(w, "approvals") || shell_word_is(w, "console"))
            decide_trust(j, GUARD_DENY, STR("harness trust, harness approvals, harness console"));
        if (next && shell_word_is(w, "mcp") && shell_word_is(next, "approve")) decide_trust(j, GUARD_DENY, STR("harness mcp approve"));
        if (next && shell_word_is(w, "guard") && (shell_word_is(next, "uninstall") || shell_word_is(next, "install")))
            decide_trust(j, GUARD_DENY, STR("harness guard install, uninstall"));
    }
}

/* ---- all ---- */

static void follow_cd(Judge *j, const ShellCommand *c) {
    bool cd = str_eq(c->program, STR("cd")) || str_eq(c->program, STR("pushd"));
    if (!cd) return;
    if (c->operand >= c->words_n || !c->words[c->operand].exact || j->folders.n >= 16) {
        j->lost = true;
        return;
    }
    size_t n = j->folders.n;
    for (size_t i = 0; i < n && j->folders.n < 32; i++) {
        Str next = guard_path_resolve(c->words[c->operand].text, j->folders.at[i], j->p->arena);
        VEC_PUSH(&j->folders, next);
    }
}

static void judge_command(Judge *j, const ShellCommand *c) {
    judge_trust(j, c);
    for (uint32_t i = 0; i < c->redirects_n; i++) {
        const ShellRedirect *r = &c->redirects[i];
        if (r->kind != SHELL_WRITE && r->kind != SHELL_APPEND && r->kind != SHELL_READ_WRITE) continue;
        ShellWord target = with_home(j, &r->target);
        if (is_unknown(j, &target)) decide_unknown(j, target.text);
        else if (covers(j, &target, false)) decide_protected(j, target.text);
    }
    Effect effect = effect_of(c);
    if (effect == EFFECT_READS || c->wrapper || c->words_n == 0) return;
    if (effect == EFFECT_COPIES || effect == EFFECT_MOVES) {
        judge_copy(j, c, effect);
        return;
    }
    for (uint32_t i = 1; i < c->words_n; i++) judge_operand(j, &c->words[i], effect);
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
