#include "tool/builtin/guard.h"
#include <stdarg.h>
#include <stdio.h>
#include "base/glob.h"
#include "base/utf8.h"
#include "tool/builtin/guard_rules.h"

/* ---- the verdict ---- */

/* One line of valid UTF-8 of limited length: it quotes commands. */
static Str clean(Arena *arena, const char *text) {
    Buf b = { .limit = 400 };
    for (Str s = str_from(text); s.n;) {
        size_t n;
        uint32_t c = utf8_decode(s, &n);
        if (c < 32 || c == 127) buf_add(&b, c == SHELL_UNKNOWN ? STR("…") : STR(" "));
        else if (c == 0xFFFD && n == 1) buf_add(&b, STR("\xEF\xBF\xBD"));
        else buf_add(&b, str_sub(s, 0, n));
        s = str_sub(s, n, s.n);
    }
    Str out = arena_str(arena, str_sub(buf_str(&b), 0, utf8_valid_prefix(buf_str(&b))));
    buf_clear(&b);
    return out;
}

void guard_raise(Guard *g, GuardVerdict v, const char *fmt, ...) {
    if (v <= g->verdict) return;
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    g->verdict = v;
    g->reason = clean(g->arena, text);
}

/* ---- words and terms ---- */

/* Splits off the next part of a list. */
static bool next_part(Str *rest, char separator, Str *part) {
    if (rest->n == 0) return false;
    ptrdiff_t at = str_find_char(*rest, separator);
    *part = str_sub(*rest, 0, at < 0 ? rest->n : (size_t)at);
    *rest = str_sub(*rest, part->n + 1, rest->n);
    return true;
}

/* * matches any text, ? any byte. */
static bool in_list(const char *list, Str word) {
    Str one;
    for (Str rest = str_from(list); next_part(&rest, ' ', &one);)
        if (glob_word(one, word)) return true;
    return false;
}

static bool is_option(const ShellWord *w) { return w->text.n > 1 && w->text.at[0] == '-'; }

/* True for a word with a cluster of option letters: -xvf, and the first word of tar. *first: index of the first
 * letter. */
static bool is_cluster(const ShellCommand *c, size_t i, size_t *first) {
    Str s = c->words[i].text;
    bool dash = is_option(&c->words[i]);
    *first = dash;
    return dash ? s.at[1] != '-' : i == 1 && (str_eq(c->program, STR("tar")) || str_eq(c->program, STR("bsdtar")));
}

/* The position of the letter in the word's cluster, or 0. `values`: letters that take the rest of the cluster as their
 * value. */
static size_t find_letter(const ShellCommand *c, size_t i, char letter, const char *values) {
    size_t first;
    Str s = c->words[i].text;
    if (!is_cluster(c, i, &first)) return 0;
    for (size_t k = first; k < s.n; k++) {
        if (s.at[k] == letter) return k + 1;
        if (strchr(values, s.at[k])) return 0;
    }
    return 0;
}

/* True if the long option `s` means `name`; it may be abbreviated and have a value. */
static bool is_long(Str s, Str name) {
    if (str_find_char(name, '=') >= 0) return str_eq(s, name);
    if (str_ends(name, STR("*"))) return glob_word(name, s);
    ptrdiff_t equals = str_find_char(s, '=');
    if (equals >= 0) s.n = (size_t)equals;
    return s.n > 2 && str_starts(name, s);
}

static bool is_present(const ShellCommand *c, Str term, const char *values) {
    bool options = true, operands = c->operand < c->words_n;
    for (size_t i = 1; i < c->words_n; i++) {
        Str s = c->words[i].text;
        if (options && str_eq(s, STR("--"))) {
            options = false;
            continue;
        }
        bool option = options && is_option(&c->words[i]);
        if (str_starts(term, STR("--"))) {
            if (option && is_long(s, term)) return true;
        } else if (term.n == 2 && term.at[0] == '-') {
            if (options && find_letter(c, i, term.at[1], values)) return true;
        } else if (!option && operands && glob_word(term, s)) return true;
    }
    return false;
}

static bool has_one_of(const ShellCommand *c, Str terms, const char *values) {
    Str term;
    while (next_part(&terms, '|', &term))
        if (is_present(c, term, values)) return true;
    return false;
}

static bool has_all(const ShellCommand *c, const char *groups, const char *values) {
    Str group;
    for (Str rest = str_from(groups); next_part(&rest, ' ', &group);)
        if (!has_one_of(c, group, values)) return false;
    return true;
}

/* True if an option's letters or name are unknown. */
static bool has_unknown_option(const ShellCommand *c) {
    for (size_t i = 1; i < c->words_n && !str_eq(c->words[i].text, STR("--")); i++) {
        Str s = c->words[i].text;
        ptrdiff_t equals = str_find_char(s, '=');
        if (equals >= 0) s.n = (size_t)equals;
        if (s.n > 1 && s.at[0] == '-' && memchr(s.at, SHELL_UNKNOWN, s.n)) return true;
    }
    return false;
}

static bool only_asks(const ShellCommand *c) {
    if (c->words_n != 2) return false;
    Str s = c->words[1].text;
    return str_eq(s, STR("--help")) || str_eq(s, STR("--version")) || str_eq(s, STR("-h")) || str_eq(s, STR("-V"));
}

/* ---- rows ---- */

typedef struct { GuardVerdict verdict; const char *programs, *operands, *needed, *exempt, *values, *reason; } Rule;
typedef struct { const char *programs, *targets, *needed, *what; bool replaces; } Target;
typedef struct { const char *programs, *letters; } InputRule;

#define RULE(verdict, programs, operands, needed, exempt, values, reason) { GUARD_##verdict, programs, operands, needed, exempt, values, reason },
#define WRITE(programs, targets, needed, what)
#define REPLACE(programs, targets, what)
#define INPUT(programs, letters)
static const Rule rules[] = {
#include "tool/builtin/guard.def"
};
#undef RULE
#undef WRITE
#undef REPLACE
#undef INPUT

#define RULE(verdict, programs, operands, needed, exempt, values, reason)
#define WRITE(programs, targets, needed, what) { programs, targets, needed, what, false },
#define REPLACE(programs, targets, what) { programs, targets, "", what, true },
#define INPUT(programs, letters)
static const Target targets[] = {
#include "tool/builtin/guard.def"
};
#undef WRITE
#undef REPLACE
#undef INPUT

#define WRITE(programs, targets, needed, what)
#define REPLACE(programs, targets, what)
#define INPUT(programs, letters) { programs, letters },
static const InputRule inputs[] = {
#include "tool/builtin/guard.def"
};

static void judge_rule(Guard *g, const Rule *r, const ShellCommand *c) {
    if (r->verdict <= g->verdict || !in_list(r->programs, c->program)) return;
    const ShellWord *operand = *r->operands && c->operand < c->words_n ? &c->words[c->operand] : NULL;
    if (*r->operands && !operand) return;
    if (operand && !operand->exact) {
        guard_raise(g, GUARD_CONFIRM, "the command of " STR_FMT " cannot be known before it runs", STR_ARG(c->program));
        return;
    }
    if (operand && !in_list(r->operands, operand->text)) return;
    if (*r->exempt && has_one_of(c, str_from(r->exempt), r->values)) return;
    if (has_all(c, r->needed, r->values)) guard_raise(g, r->verdict, "%s", r->reason);
    else if (strchr(r->needed, '-') && has_unknown_option(c)) guard_raise(g, GUARD_CONFIRM,
        "an option of " STR_FMT " cannot be known before it runs", STR_ARG(c->program));
}

static void judge_target(Guard *g, const Target *t, const ShellWord *w, size_t from) {
    ShellWord path = *w;
    path.text = str_sub(w->text, from, w->text.n);
    if (t->replaces) guard_rules_replace(g, &path, t->what);
    else guard_rules_write(g, &path, t->what);
}

/* The value of an option: the rest of word i, or the next word. */
static void judge_option_target(Guard *g, const Target *t, const ShellCommand *c, size_t i, Str name) {
    Str s = c->words[i].text;
    ptrdiff_t equals = str_starts(s, STR("--")) ? str_find_char(s, '=') : -1;
    size_t from = name.n == 2 ? find_letter(c, i, name.at[1], "") : 0;
    if (name.n == 2 && !from) return;
    if (name.n > 2 && !(str_starts(name, STR("--")) ? is_long(s, name) : str_eq(s, name))) return;
    if (equals >= 0) from = (size_t)equals + 1;
    if (from && from < s.n) judge_target(g, t, &c->words[i], from);
    else if (i + 1 < c->words_n) judge_target(g, t, &c->words[i + 1], 0);
}

static void judge_targets(Guard *g, const Target *t, const ShellCommand *c) {
    Str name;
    size_t operands = 0, last = 0;
    for (size_t i = 1; i < c->words_n; i++)
        if (!is_option(&c->words[i])) {
            operands++;
            last = i;
        }
    for (Str rest = str_from(t->targets); next_part(&rest, ' ', &name);) {
        if (str_eq(name, STR("last")) && operands > 1) judge_target(g, t, &c->words[last], 0);
        for (size_t i = 1; i < c->words_n; i++) {
            if (name.at[0] == '-') judge_option_target(g, t, c, i, name);
            else if (str_eq(name, STR("*")) && !is_option(&c->words[i])) judge_target(g, t, &c->words[i], 0);
            else if (str_ends(name, STR("=")) && str_starts(c->words[i].text, name)) judge_target(g, t, &c->words[i], name.n);
        }
    }
}

static bool reads_stream(const ShellCommand *c) {
    bool stream = c->stage > 0;
    for (size_t i = 0; i < c->redirects_n; i++)
        if (c->redirects[i].fd == 0) stream = c->redirects[i].kind == SHELL_READ && !shell_word_is(&c->redirects[i].target, "/dev/null");
    return stream;
}

/* True if an option gives the program other work to do. */
static bool has_code(const ShellCommand *c, const char *letters) {
    for (size_t i = 1; i < c->words_n; i++) {
        if (in_list("--eval* --print* --command* --run* --version --help", c->words[i].text)) return true;
        for (const char *p = letters; *p; p++)
            if (find_letter(c, i, *p, "")) return true;
    }
    return false;
}

static void judge_input(Guard *g, const InputRule *r, const ShellCommand *c) {
    Str name = c->program;
    while (name.n && ((name.at[name.n - 1] >= '0' && name.at[name.n - 1] <= '9') || name.at[name.n - 1] == '.')) name.n--;
    if (!in_list(r->programs, name) || has_code(c, r->letters)) return;
    const ShellWord *operand = c->operand < c->words_n ? &c->words[c->operand] : NULL;
    bool input = !operand || str_eq(operand->text, STR("-")) || str_eq(operand->text, STR("/dev/stdin"));
    if ((input && reads_stream(c)) || (operand && operand->process))
        guard_raise(g, GUARD_CONFIRM, "what " STR_FMT " reads and runs cannot be known before", STR_ARG(c->program));
}

/* ---- entry point ---- */

static void judge_unknown(Guard *g, const ShellCommand *c) {
    if (!c->exact && c->words_n)
        guard_raise(g, GUARD_CONFIRM, "a command word cannot be known before it runs: " STR_FMT, STR_ARG(str_sub(c->words[0].text, 0, 80)));
    if (c->runs == SHELL_RUNS_UNKNOWN) {
        bool shell = str_ends(c->program, STR("sh"));
        guard_raise(g, GUARD_CONFIRM, "what %s" STR_FMT " reads and runs cannot be known before", shell ? "a shell" : "",
            STR_ARG(shell ? STR("") : c->program));
    }
}

static void judge_command(Guard *g, const ShellCommand *c) {
    judge_unknown(g, c);
    for (size_t i = 0; i < c->redirects_n; i++) {
        ShellRedirectKind kind = c->redirects[i].kind;
        if (kind == SHELL_WRITE || kind == SHELL_APPEND || kind == SHELL_READ_WRITE) guard_rules_write(g, &c->redirects[i].target, "a redirection");
    }
    if (!c->program.n || only_asks(c)) return;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) judge_rule(g, &rules[i], c);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (in_list(targets[i].programs, c->program) && has_all(c, targets[i].needed, "")) judge_targets(g, &targets[i], c);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) judge_input(g, &inputs[i], c);
    if (in_list("find gfind", c->program)) guard_rules_find(g, c);
    if (str_eq(c->program, STR("kill"))) guard_rules_kill(g, c);
}

GuardVerdict guard_command(Str command, Arena *arena, Str *reason) {
    Guard g = { .arena = arena, .reason = STR("") };
    ShellCommands list = shell_commands(command, arena);
    if (list.problem) guard_raise(&g, GUARD_CONFIRM, "the command cannot be read with certainty: %s", list.problem);
    for (size_t i = 0; i < list.n && g.verdict != GUARD_REFUSE; i++) judge_command(&g, &list.at[i]);
    if (g.verdict != GUARD_REFUSE) guard_rules_bombs(&g, &list);
    if (reason) *reason = g.reason;
    return g.verdict;
}
