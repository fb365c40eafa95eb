/* `shell:` of a rule against the simple commands of a shell text. The first word of the pattern is the program; words that
 * begin with - may be anywhere; the others must occur in this order among the words that are not options. For rows that deny
 * or ask, assignments and the targets of redirections count as further words: NAME=value, a file. */
#include "base/vec.h"
#include "policy/rules_private.h"

enum { AMBIGUOUS_MAX = 8 };             /* commands with more unknown words than this match without trying every role */

static bool is_option(Str s) { return s.n > 1 && s.at[0] == '-'; }
static bool has_unknown(Str s) { return s.n && memchr(s.at, SHELL_UNKNOWN, s.n); }
static bool starts_unknown(const ShellWord *w) { return w->text.n && w->text.at[0] == SHELL_UNKNOWN; }
/* True if the word may expand to any number of words. A file name pattern does not count: it expands to file names only. */
static bool is_free(const ShellWord *w) { return w->splits && has_unknown(w->text); }

/* What a row that denies or asks compares: the words of the command, then those of its assignments and redirections. */
typedef struct View {
    const ShellCommand *c;
    const ShellWord *words;
    size_t n;
    bool sure;                          /* match only if the row matches for every value of the unknown parts */
} View;

/* Treats an unknown part as a byte that only * and ? match. */
static bool matches(const View *v, Str pattern, Str text, bool glob) {
    return v->sure ? glob_word(pattern, text) : rules_word_may(pattern, text, glob);
}

static bool names_file(ShellRedirectKind kind) { return kind != SHELL_HEREDOC && kind != SHELL_HERESTRING && kind != SHELL_DUPLICATE; }

static View view_of(const ShellCommand *c, Arena *arena) {
    ShellWord *words = ARENA_ARRAY(arena, ShellWord, 1 + c->words_n + c->assigns_n + c->redirects_n);
    size_t n = c->words_n ? c->words_n : 1;                    /* a command without words has an empty program name */
    if (c->words_n) memcpy(words, c->words, c->words_n * sizeof *words);
    for (size_t i = 0; i < c->assigns_n; i++) {
        const ShellAssign *a = &c->assigns[i];
        words[n] = a->value;
        words[n++].text = str_from(arena_fmt(arena, STR_FMT "=" STR_FMT, STR_ARG(a->name), STR_ARG(a->value.text)));
    }
    for (size_t i = 0; i < c->redirects_n; i++)
        if (names_file(c->redirects[i].kind)) words[n++] = c->redirects[i].target;
    return (View){ c, words, n, true };
}

/* ---- options ---- */

static bool is_bundle(Str s) { return s.n > 1 && s.at[0] == '-' && s.at[1] != '-'; }

/* The name of a long option, without =value. */
static Str option_name(Str s) {
    ptrdiff_t equals = str_starts(s, STR("--")) ? str_find_char(s, '=') : -1;
    return equals > 0 ? str_sub(s, 0, (size_t)equals) : s;
}

/* GNU programs and git accept abbreviated option names. */
static bool abbreviates(Str word, Str pattern) {
    size_t n = 0;
    while (n < pattern.n && pattern.at[n] != '*' && pattern.at[n] != '?') n++;
    return word.n > 2 && str_starts(pattern, STR("--")) && str_starts(word, STR("--")) && str_starts(str_sub(pattern, 0, n), word);
}

static bool has_letter(const View *v, char letter) {
    for (size_t i = 1; i < v->n; i++) {
        Str s = v->words[i].text;
        if (is_bundle(s) && (memchr(s.at + 1, letter, s.n - 1) || (!v->sure && has_unknown(s)))) return true;
    }
    return false;
}

static bool has_letters(const View *v, Str letters) {
    for (size_t i = 0; i < letters.n; i++)
        if (letters.at[i] == '*' || letters.at[i] == '?' || !has_letter(v, letters.at[i])) return false;
    return letters.n > 0;
}

static bool name_may(const View *v, Str pattern, Str name, bool glob) { return matches(v, pattern, name, glob) || abbreviates(name, pattern); }

/* The option at word i. A pattern --name=value also matches --name value. */
static bool option_may(const View *v, Str pattern, size_t i) {
    const ShellWord *w = &v->words[i];
    if (!is_option(w->text)) return false;
    Str name = option_name(w->text), wanted = option_name(pattern);
    if (matches(v, pattern, w->text, w->pattern)) return true;
    if (wanted.n == pattern.n) return name_may(v, pattern, name, w->pattern);
    if (!name_may(v, wanted, name, w->pattern)) return false;
    Str value = str_sub(pattern, wanted.n + 1, pattern.n);
    if (name.n < w->text.n) return matches(v, value, str_sub(w->text, name.n + 1, w->text.n), w->pattern);
    return i + 1 < v->n && matches(v, value, v->words[i + 1].text, v->words[i + 1].pattern);
}

/* True if an option of the pattern is among the words that begin with -. */
static bool has_option(Str pattern, const View *v) {
    for (size_t i = 1; i < v->n; i++)
        if (option_may(v, pattern, i)) return true;
    return is_bundle(pattern) && has_letters(v, str_sub(pattern, 1, pattern.n));
}

/* ---- plain words ---- */

/* The word, or the value that an option has in the same word: --data=@x, -d@x. */
static bool plain_may(const View *v, Str pattern, const ShellWord *w, bool options) {
    Str s = w->text;
    if (!options || !is_option(s)) return matches(v, pattern, s, w->pattern);
    if (!is_bundle(s)) {
        Str name = option_name(s);
        return name.n < s.n && matches(v, pattern, str_sub(s, name.n + 1, s.n), w->pattern);
    }
    for (size_t k = 2; k < s.n; k++)
        if (matches(v, pattern, str_sub(s, k, s.n), w->pattern)) return true;
    return false;
}

/* True if the plain words of the pattern occur in order among the command's words that are not in `used`. */
static bool plain_in_order(const StrList *pattern, const View *v, const uint32_t *used, size_t n_used) {
    size_t p = 1;
    bool options = true;
    for (size_t i = 1; i < v->n; i++) {
        while (p < pattern->n && is_option(pattern->at[p])) p++;
        if (p == pattern->n) return true;
        bool taken = false;
        for (size_t k = 0; k < n_used; k++) taken |= used[k] == i;
        if (!taken && plain_may(v, pattern->at[p], &v->words[i], options)) p++;
        options &= !shell_word_is(&v->words[i], "--");
    }
    while (p < pattern->n && is_option(pattern->at[p])) p++;
    return p == pattern->n;
}

/* `missing` options of the pattern are not among the words; that many unknown words must be taken as them. */
static bool unknown_in_roles(const StrList *pattern, const View *v, size_t missing) {
    uint32_t all[AMBIGUOUS_MAX], used[AMBIGUOUS_MAX];
    size_t n = 0;
    for (size_t i = 1; i < v->n; i++) {
        if (!starts_unknown(&v->words[i])) continue;
        if (n == AMBIGUOUS_MAX) return true;
        all[n++] = (uint32_t)i;
    }
    for (unsigned set = 0; set < 1u << n; set++) {
        size_t n_used = 0;
        for (size_t k = 0; k < n; k++)
            if (set >> k & 1) used[n_used++] = all[k];
        if (n_used == missing && plain_in_order(pattern, v, used, n_used)) return true;
    }
    return false;
}

/* ---- one command ---- */

static bool program_may(Str pattern, const View *v) {
    if (v->c->program.n) return glob_word(pattern, v->c->program);
    Str s = v->words[0].text;
    const char *slash = s.n ? memrchr(s.at, '/', s.n) : NULL;
    return matches(v, pattern, slash ? str_sub(s, (size_t)(slash - s.at) + 1, s.n) : s, v->words[0].pattern);
}

static bool view_may(const StrList *pattern, const View *v) {
    size_t missing = 0;
    if (!program_may(pattern->at[0], v)) return false;
    for (size_t p = 1; p < pattern->n; p++) missing += is_option(pattern->at[p]) && !has_option(pattern->at[p], v);
    if (missing) return !v->sure && unknown_in_roles(pattern, v, missing);
    return plain_in_order(pattern, v, NULL, 0);
}

static RulesMatch command_may(const StrList *pattern, const ShellCommand *c, Arena *arena) {
    View v = view_of(c, arena);
    if (!c->exact && c->program.n) return RULES_MAYBE;         /* an unknown word precedes it, so another command may run */
    if (view_may(pattern, &v)) return RULES_YES;
    v.sure = false;
    if (view_may(pattern, &v)) return RULES_MAYBE;
    bool more = false;
    for (size_t i = 0; i < c->words_n; i++) more |= is_free(&c->words[i]);
    return more && program_may(pattern->at[0], &v) ? RULES_MAYBE : RULES_NO;
}

/* ---- rows that deny or ask ---- */

static const char *unknown_command(const ShellCommand *c, Arena *arena) {
    if (!c->program.n) return "a command word is unknown before it runs";
    return arena_fmt(arena, "a word of " STR_FMT " is unknown before it runs", STR_ARG(str_sub(c->program, 0, 64)));
}

RulesMatch rules_shell_may(const StrList *pattern, const ShellCommands *list, const char **unknown, Arena *arena) {
    RulesMatch found = RULES_NO;
    for (size_t i = 0; i < list->n; i++) {
        const ShellCommand *c = &list->at[i];
        RulesMatch match = command_may(pattern, c, arena);
        if (match == RULES_YES) return RULES_YES;
        if (found == RULES_MAYBE) continue;
        if (match == RULES_MAYBE) *unknown = unknown_command(c, arena);
        else if (c->runs == SHELL_RUNS_UNKNOWN)
            *unknown = arena_fmt(arena, "what " STR_FMT " reads and runs is unknown", STR_ARG(str_sub(c->program, 0, 64)));
        else continue;
        found = RULES_MAYBE;
    }
    if (found == RULES_NO && list->problem) {
        *unknown = arena_fmt(arena, "the command cannot be read with certainty: %s", list->problem);
        found = RULES_MAYBE;
    }
    return found;
}

/* ---- rows that allow ---- */

/* True if the option is one of the words before any --. */
static bool option_must(Str pattern, const ShellCommand *c) {
    for (size_t i = 1; i < c->words_n && !shell_word_is(&c->words[i], "--"); i++) {
        Str s = c->words[i].text;
        if (is_option(s) && (glob_word(pattern, s) || glob_word(pattern, option_name(s)))) return true;
        if (pattern.n == 2 && is_bundle(s) && memchr(s.at + 1, pattern.at[1], s.n - 1)) return true;
    }
    return false;
}

static bool named_option(const StrList *pattern, Str word) {
    for (size_t p = 1; p < pattern->n; p++)
        if (is_option(pattern->at[p]) && (glob_word(pattern->at[p], word) || glob_word(pattern->at[p], option_name(word)))) return true;
    return false;
}

/* The plain words come first, directly after the program; only options of the pattern may be between them. */
bool rules_shell_must(const StrList *pattern, const ShellCommand *c) {
    if (!c->exact || !c->program.n || !glob_word(pattern->at[0], c->program)) return false;
    size_t p = 1;
    for (size_t i = 1;; i++) {
        while (p < pattern->n && is_option(pattern->at[p])) p++;
        if (p == pattern->n) break;
        if (i >= c->words_n || !c->words[i].exact) return false;
        if (is_option(c->words[i].text) && named_option(pattern, c->words[i].text)) continue;
        if (!glob_word(pattern->at[p], c->words[i].text)) return false;
        p++;
    }
    for (p = 1; p < pattern->n; p++)
        if (is_option(pattern->at[p]) && !option_must(pattern->at[p], c)) return false;
    return true;
}

bool rules_shell_passes(const ShellCommand *c) {
    static const Str starters[] = { { "command", 7 }, { "builtin", 7 }, { "nohup", 5 }, { "nice", 4 }, { "time", 4 }, { "timeout", 7 }, { "setsid", 6 },
                                    { "chronic", 7 }, { "env", 3 } };
    static const Str shells[] = { { "sh", 2 }, { "bash", 4 }, { "dash", 4 }, { "zsh", 3 } };
    if (c->words_n < 2) return false;
    if (str_among(c->program, shells, sizeof shells / sizeof *shells)) return c->runs == SHELL_RUNS_TEXT && shell_word_is(&c->words[1], "-c");
    Str first = c->words[1].text;
    return c->wrapper && str_among(c->program, starters, sizeof starters / sizeof *starters) && !is_option(first) && str_find_char(first, '=') < 0;
}

static bool writes_file(const ShellRedirect *r) {
    static const char *const streams[] = { "/dev/null", "/dev/stdout", "/dev/stderr" };
    if (r->kind != SHELL_WRITE && r->kind != SHELL_APPEND && r->kind != SHELL_READ_WRITE) return false;
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        if (shell_word_is(&r->target, streams[i])) return false;
    return true;
}

bool rules_shell_hides(const ShellCommand *c) {
    if (c->assigns_n || !c->exact || c->runs == SHELL_RUNS_UNKNOWN) return true;
    for (size_t i = 0; i < c->redirects_n; i++)
        if (writes_file(&c->redirects[i])) return true;
    for (size_t i = 0; i < c->words_n; i++)
        if (has_unknown(c->words[i].text) || c->words[i].process) return true;
    return false;
}
