/* What programs do with the files that they get as operands: programs.def, and options that change it. */
#include "guard/protect_judge.h"

typedef struct ProgramRow { const char *name; Effect effect; const char *unless; } ProgramRow;
static const ProgramRow program_rows[] = {
#define GUARD_READS(name) { name, EFFECT_READS, "" },
#define GUARD_READS_UNLESS(name, options) { name, EFFECT_READS, options },
#define GUARD_WRITES(name) { name, EFFECT_WRITES, "" },
#define GUARD_WRITES_TREE(name) { name, EFFECT_WRITES_TREE, "" },
#define GUARD_COPIES(name) { name, EFFECT_COPIES, "" },
#define GUARD_MOVES(name) { name, EFFECT_MOVES, "" },
#define GUARD_LINKS(name) { name, EFFECT_LINKS, "" },
#define GUARD_CODE(name) { name, EFFECT_CODE, "" },
#define GUARD_FETCHES(name) { name, EFFECT_FETCHES, "" },
#define GUARD_UNPACKS(name) { name, EFFECT_UNPACKS, "" },
#include "guard/programs.def"
#undef GUARD_READS
#undef GUARD_READS_UNLESS
#undef GUARD_WRITES
#undef GUARD_WRITES_TREE
#undef GUARD_COPIES
#undef GUARD_MOVES
#undef GUARD_LINKS
#undef GUARD_CODE
#undef GUARD_FETCHES
#undef GUARD_UNPACKS
};

/* ---- options ---- */

static Str before_equals(Str s) {
    ptrdiff_t equals = str_find_char(s, '=');
    return equals < 0 ? s : str_sub(s, 0, (size_t)equals);
}

static bool is_long(Str s) { return str_starts(s, STR("--")); }

/* Long options may be abbreviated, short ones bundled. */
static bool is_option(Str word, Str option) {
    bool prefix = str_ends(option, STR("*"));
    if (prefix) option.n--;
    if (is_long(option)) {
        Str name = before_equals(word);
        return name.n > 2 && is_long(name) && (str_starts(option, name) || (prefix && str_starts(name, option)));
    }
    if (option.n == 2) return word.n > 1 && word.at[0] == '-' && word.at[1] != '-' && str_find_char(word, option.at[1]) > 0;
    return prefix ? str_starts(word, option) : str_eq(word, option);
}

bool judge_has_option(const ShellCommand *c, const char *options) {
    Str rest = str_from(options);
    while (rest.n) {
        ptrdiff_t blank = str_find_char(rest, ' ');
        Str option = blank < 0 ? rest : str_sub(rest, 0, (size_t)blank);
        for (uint32_t i = 1; i < c->words_n; i++)
            if (is_option(c->words[i].text, option)) return true;
        rest = blank < 0 ? STR("") : str_sub(rest, (size_t)blank + 1, rest.n);
    }
    return false;
}

static ShellWord part_of(const ShellWord *w, size_t from) {
    ShellWord out = *w;
    out.text = str_sub(w->text, from, w->text.n);
    out.from = out.to = 0;
    return out;
}

bool judge_option_value(const ShellCommand *c, uint32_t i, char letter, const char *name, ShellWord *value, uint32_t *used) {
    const ShellWord *w = &c->words[i];
    Str s = w->text, before = before_equals(s);
    ptrdiff_t at = s.n > 1 && s.at[0] == '-' && s.at[1] != '-' ? str_find_char(s, letter) : -1;
    bool found = before.n > 2 && is_long(s) && str_starts(str_from(name), before);
    *used = 1;
    if (at > 0 && (size_t)at + 1 < s.n) return *value = part_of(w, (size_t)at + 1), true;
    if (found && before.n < s.n) return *value = part_of(w, before.n + 1), true;
    if ((!found && at <= 0) || i + 1 >= c->words_n) return false;
    *value = c->words[i + 1];
    *used = 2;
    return true;
}

/* ---- programs ---- */

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
            if (shell_word_is(&c->words[i], names[k])) return !judge_has_option(c, "--output* -o --ext-diff -O --open-files-in-pager*");
        return false;
    }
    return false;
}

Effect judge_effect(const ShellCommand *c) {
    if (!c->exact) return EFFECT_UNKNOWN;
    if (str_eq(c->program, STR("git"))) return git_reads(c) ? EFFECT_READS : EFFECT_UNKNOWN;
    if (str_eq(c->program, STR("sed"))) return all_exact(c) && !judge_has_option(c, "-i --in-place") ? EFFECT_READS : EFFECT_WRITES;
    for (size_t i = 0; i < sizeof program_rows / sizeof *program_rows; i++) {
        if (!str_eq(c->program, str_from(program_rows[i].name))) continue;
        bool unless = program_rows[i].unless[0] && (judge_has_option(c, program_rows[i].unless) || !all_exact(c));
        return unless ? EFFECT_UNKNOWN : program_rows[i].effect;
    }
    return EFFECT_UNKNOWN;
}
