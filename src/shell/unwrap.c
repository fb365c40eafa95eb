/* Finds what a command runs: the command after a wrapper, the text of a shell. */
#include "shell/lister.h"
#include "shell/wrappers.h"

static ShellCommand *command_at(Lister *l, size_t index) { return &l->list.at[index]; }

static bool is_option(const ShellWord *w) { return w->text.n > 1 && w->text.at[0] == '-'; }
static bool has_unknown(Str s) { return s.n && memchr(s.at, SHELL_UNKNOWN, s.n); }

static const ListerInput no_input = { .kind = LISTER_INPUT_NONE };

/* Part of a word, from byte `from`. */
static ShellWord word_from(const ShellWord *w, size_t from) {
    ShellWord out = *w;
    out.text = str_sub(w->text, from, w->text.n);
    return out;
}

/* Words joined with spaces, as eval and ssh do. Patterns are expanded first, so they count as unknown. */
static ShellWord join(Lister *l, const ShellWord *words, size_t n) {
    Buf b = { 0 };
    ShellWord out = { .exact = true, .from = words[0].from, .to = words[n - 1].to };
    for (size_t i = 0; i < n; i++) {
        if (i) buf_add_char(&b, ' ');
        buf_add(&b, words[i].text);
        out.exact &= words[i].exact;
    }
    out.text = lister_spend(l, b.n) ? arena_str(l->arena, buf_str(&b)) : STR("");
    buf_clear(&b);
    return out;
}

/* ---- text, input, files ---- */

static void run_input(Lister *l, size_t index, const ListerPlace *p) {
    if (p->in.kind == LISTER_INPUT_NONE) return;
    if (p->in.kind == LISTER_INPUT_UNKNOWN) {
        command_at(l, index)->runs = SHELL_RUNS_UNKNOWN;
        return;
    }
    ListerPlace inner = *p;
    inner.in = no_input;
    lister_text(l, index, &p->in.text, &inner);
}

/* The script of a shell. Files are not read; names of the standard input refer to the input. */
static void run_file(Lister *l, size_t index, const ShellWord *w, const ListerPlace *p) {
    const char *slash = w->text.n ? memrchr(w->text.at, '/', w->text.n) : NULL;
    Str base = slash ? str_sub(w->text, (size_t)(slash - w->text.at) + 1, w->text.n) : w->text;
    bool stream = w->process || str_starts(w->text, STR("/dev/fd/")) || str_starts(w->text, STR("/proc/self/fd/"));
    if (shell_word_is(w, "-") || shell_word_is(w, "/dev/stdin") || shell_word_is(w, "/dev/fd/0") || shell_word_is(w, "/proc/self/fd/0"))
        run_input(l, index, p);
    else if (stream || w->splits || has_unknown(base)) command_at(l, index)->runs = SHELL_RUNS_UNKNOWN;
    else if (command_at(l, index)->runs == SHELL_RUNS_NOTHING) command_at(l, index)->runs = SHELL_RUNS_FILE;
}

static void run_shell(Lister *l, size_t index, const Wrapper *row, const ListerPlace *p) {
    const ShellCommand c = *command_at(l, index);
    bool code = false, input = false;
    size_t i = 1;
    for (; i < c.words_n && c.words[i].text.n > 1 && strchr("-+", c.words[i].text.at[0]); i++) {
        const ShellWord *w = &c.words[i];
        Str s = w->text;
        size_t inside;
        if (!w->exact) command_at(l, index)->runs = SHELL_RUNS_UNKNOWN;
        if (str_eq(s, STR("--"))) {
            i++;
            break;
        }
        if (str_eq(s, STR("--version")) || str_eq(s, STR("--help"))) return;
        WrapperOption option = s.at[0] == '-' ? wrappers_option(row, s, &inside) : WRAPPER_FLAG;
        if (option == WRAPPER_TEXT_VALUE) {                     /* fish -C TEXT, --command=TEXT */
            if (!inside && i + 1 >= c.words_n) return;
            ShellWord text = inside ? word_from(w, inside) : c.words[++i];
            lister_text(l, index, &text, p);
            if (str_starts(s, STR("--command"))) return;
            continue;
        }
        if (str_starts(s, STR("--"))) {
            if (option == WRAPPER_VALUE && !inside) i++;
            continue;
        }
        code |= str_find_char(s, 'c') > 0 && s.at[0] == '-';
        input |= str_find_char(s, 's') > 0 && s.at[0] == '-';
        if (s.at[s.n - 1] == 'o' || s.at[s.n - 1] == 'O') i++;  /* options with a value: -o errexit, -eo pipefail */
    }
    command_at(l, index)->operand = (uint32_t)(i < c.words_n ? i : c.words_n);
    if (code && i < c.words_n) lister_text(l, index, &c.words[i], p);
    else if (code) return;
    else if (i < c.words_n && !input) run_file(l, index, &c.words[i], p);
    else run_input(l, index, p);
}

/* ---- builtins that take text ---- */

static bool run_builtin(Lister *l, size_t index, const ListerPlace *p) {
    const ShellCommand c = *command_at(l, index);
    size_t from = c.words_n > 1 && shell_word_is(&c.words[1], "--") ? 2 : 1;
    if (str_eq(c.program, STR("eval"))) {
        if (from >= c.words_n) return true;
        ShellWord text = join(l, c.words + from, c.words_n - from);
        lister_text(l, index, &text, p);
    } else if (str_eq(c.program, STR("trap"))) {
        bool text = c.words_n > from + 1 && c.words[from].text.n && c.words[from].text.at[0] != '-';
        if (text) lister_text(l, index, &c.words[from], p);
    } else if (str_eq(c.program, STR("alias"))) {
        for (size_t i = from; i < c.words_n; i++) {
            ptrdiff_t equals = str_find_char(c.words[i].text, '=');
            if (equals <= 0) continue;
            ShellWord text = word_from(&c.words[i], (size_t)equals + 1);
            lister_text(l, index, &text, p);
        }
    } else if (str_eq(c.program, STR("source")) || str_eq(c.program, STR("."))) {
        if (from < c.words_n) run_file(l, index, &c.words[from], p);
    } else return false;
    return true;
}

/* ---- wrappers ---- */

typedef struct {
    size_t next;                        /* the first word that is not an option */
    bool certain;                       /* no word before it expands to several */
    bool dashes;                        /* a -- is before it */
    bool text;                          /* an option has shell text: `value`; `next` is after it */
    ShellWord value;
} Options;

/* Reads the option at o->next. */
static void read_option(const Wrapper *row, const ShellWord *words, size_t n, Options *o) {
    const ShellWord *w = &words[o->next];
    size_t inside;
    WrapperOption option = wrappers_option(row, w->text, &inside);
    o->certain &= !w->splits && !(has_unknown(w->text) && !inside);
    o->next++;
    if (option == WRAPPER_FLAG) return;
    if (!inside && o->next >= n) return;
    if (option == WRAPPER_TEXT_VALUE) {
        o->text = true;
        o->value = inside ? word_from(w, inside) : words[o->next];
    } else if (!inside) o->certain &= !words[o->next].splits;
    if (!inside) o->next++;
}

static Options skip_options(const Wrapper *row, const ShellWord *words, size_t n, size_t from) {
    Options o = { .next = from, .certain = true };
    while (o.next < n && !o.text && words[o.next].text.n && words[o.next].text.at[0] == '-') {
        o.dashes = shell_word_is(&words[o.next], "--");
        if (o.dashes) {
            o.next++;
            break;
        }
        read_option(row, words, n, &o);
    }
    return o;
}

static bool is_assignment(const ShellWord *w) {
    ptrdiff_t equals = str_find_char(w->text, '=');
    for (ptrdiff_t i = 0; i < equals; i++)
        if (!syntax_is_name(w->text.at[i], i == 0)) return false;
    return equals > 0;
}

/* Text of an option, with the words after it: env -S 'rm -rf' x. */
static void run_option_text(Lister *l, size_t index, const Options *o, bool joins, const ListerPlace *p) {
    const ShellCommand c = *command_at(l, index);
    ShellWord text = o->value;
    if (joins && o->next < c.words_n) {
        ShellWord both[2] = { o->value, join(l, c.words + o->next, c.words_n - o->next) };
        text = join(l, both, 2);
    }
    lister_text(l, index, &text, p);
}

/* The index of the command's first word, or 0 if there is none to list. */
static size_t find_inner(Lister *l, size_t index, const Wrapper *row, size_t from, const ListerPlace *p, bool *certain) {
    const ShellCommand c = *command_at(l, index);
    Options o = skip_options(row, c.words, c.words_n, from);
    *certain = o.certain;
    for (size_t k = 0; k < row->operands && !o.text && o.next < c.words_n; k++) *certain &= !c.words[o.next++].splits;
    while (!o.text && o.next < c.words_n && is_assignment(&c.words[o.next])) o.next++;
    bool again = row->operands > 0 && !o.text && !o.dashes && o.next < c.words_n && is_option(&c.words[o.next]);
    if (again) {                                               /* flock FILE -c TEXT, ssh HOST -- COMMAND */
        Options behind = skip_options(row, c.words, c.words_n, o.next);
        *certain &= behind.certain;
        o = behind;
    }
    if (o.text) {
        run_option_text(l, index, &o, row->kind == WRAPPER_WRAPPER, p);
        return 0;
    }
    if (o.next < c.words_n) return o.next;
    if (wrappers_reads_text(row)) run_input(l, index, p);
    return 0;
}

static bool is_lookup(const ShellCommand *c) {                 /* command -v NAME */
    if (!str_eq(c->program, STR("command")) || c->words_n < 2 || !is_option(&c->words[1])) return false;
    return str_find_char(c->words[1].text, 'v') > 0 || str_find_char(c->words[1].text, 'V') > 0;
}

/* A command with its own words, listed separately. */
static void list_inner(Lister *l, const ShellWord *words, size_t n, bool certain, const ListerPlace *p) {
    ListerPlace inner = *p;
    if (++inner.level > SHELL_DEPTH_MAX) {
        lister_problem(l, "it is nested too deep");
        return;
    }
    if (n) lister_unwrap(l, lister_add(l, words, n, certain, &inner), &inner);
}

static void run_join(Lister *l, size_t index, size_t from, const ListerPlace *p) {
    const ShellCommand c = *command_at(l, index);
    ShellWord text = join(l, c.words + from, c.words_n - from);
    lister_text(l, index, &text, p);
}

/* su -c TEXT USER, script -c TEXT FILE: at any position. */
static size_t run_text_options(Lister *l, size_t index, const Wrapper *row, size_t from, const ListerPlace *p) {
    const ShellCommand c = *command_at(l, index);
    Options o = { .next = from, .certain = true };
    ListerPlace place = *p;
    bool found = false;
    if (!wrappers_reads_text(row)) place.in = no_input;        /* tar -I TEXT: its input is not the command's */
    while (o.next < c.words_n) {
        o.text = false;
        if (shell_word_is(&c.words[o.next], "--")) break;
        if (is_option(&c.words[o.next])) read_option(row, c.words, c.words_n, &o);
        else o.next++;
        if (o.text) run_option_text(l, index, &o, false, &place);
        found |= o.text;
    }
    if (!found && row->kind == WRAPPER_TEXT_OR_COMMAND && o.next + 1 < c.words_n) return o.next + 1;
    if (!found && wrappers_reads_text(row)) run_input(l, index, p);
    return 0;
}

/* ---- programs that run a command many times ---- */

/* The words with `mark` replaced by an unknown part. */
static ShellWord *replace_mark(Lister *l, const ShellWord *words, size_t n, Str mark, size_t room) {
    ShellWord *out = ARENA_ARRAY(l->arena, ShellWord, n + room);
    for (size_t i = 0; i < n; i++) {
        out[i] = words[i];
        ptrdiff_t at = mark.n ? str_find(words[i].text, mark) : -1;
        if (at < 0 || !lister_spend(l, words[i].text.n)) continue;
        Buf b = { 0 };
        Str rest = words[i].text;
        for (; at >= 0; at = str_find(rest, mark)) {
            buf_add(&b, str_sub(rest, 0, (size_t)at));
            buf_add_char(&b, SHELL_UNKNOWN);
            rest = str_sub(rest, (size_t)at + mark.n, rest.n);
        }
        buf_add(&b, rest);
        out[i].text = arena_str(l->arena, buf_str(&b));
        out[i].exact = false;
        buf_clear(&b);
    }
    return out;
}

static ShellWord unknown_words(const ShellWord *near) {
    static const char unknown[] = { SHELL_UNKNOWN, 0 };
    return (ShellWord){ .text = { unknown, 1 }, .splits = true, .from = near->from, .to = near->to };
}

/* -I MARK, -IMARK, -i, --replace, --replace=MARK */
static Str xargs_mark(const ShellWord *words, size_t n) {
    for (size_t i = 1; i < n; i++) {
        Str s = words[i].text;
        if (str_eq(s, STR("-I")) || str_eq(s, STR("-J"))) return i + 1 < n ? words[i + 1].text : STR("");
        if (str_starts(s, STR("-I"))) return str_sub(s, 2, s.n);
        if (str_starts(s, STR("--replace="))) return str_sub(s, sizeof "--replace=" - 1, s.n);
        if (str_eq(s, STR("-i")) || str_eq(s, STR("--replace"))) return STR("{}");
    }
    return STR("");
}

static void run_xargs(Lister *l, size_t index, const Wrapper *row, const ListerPlace *p) {
    const ShellCommand c = *command_at(l, index);
    bool certain;
    size_t inner = find_inner(l, index, row, 1, p, &certain);
    if (!inner) return;
    Str mark = xargs_mark(c.words, inner);
    size_t n = c.words_n - inner;
    ShellWord *words = replace_mark(l, c.words + inner, n, mark, 1);
    if (!mark.n) words[n] = unknown_words(&words[n - 1]);
    ListerPlace place = *p;
    place.in = no_input;                                       /* commands of xargs read /dev/null */
    command_at(l, index)->wrapper = true;
    list_inner(l, words, n + !mark.n, certain, &place);
}

/* The words become shell text, with a value in place of {} or at the end. parallel quotes the value. */
static void run_parallel(Lister *l, size_t index, const Wrapper *row, const ListerPlace *p) {
    const ShellCommand c = *command_at(l, index);
    Options o = skip_options(row, c.words, c.words_n, 1);
    size_t end = o.next;
    while (end < c.words_n && !str_starts(c.words[end].text, STR(":::"))) end++;
    ListerPlace place = *p;
    place.in = no_input;
    if (end == o.next && end == c.words_n) run_input(l, index, p);
    if (end == o.next)                                         /* no command: each value is a command */
        for (size_t i = end + 1; i < c.words_n; i++) lister_text(l, index, &c.words[i], &place);
    if (end == o.next) return;
    ShellWord text = join(l, c.words + o.next, end - o.next), value = text;
    value.text = STR("{}");
    bool exact = text.exact, marked = str_find(text.text, value.text) >= 0;
    ShellWord both[2] = { text, value };
    if (!marked) text = join(l, both, 2);
    text = *replace_mark(l, &text, 1, value.text, 0);
    text.exact = exact;
    lister_text(l, index, &text, &place);
}

static bool starts_exec(const ShellWord *w) {
    static const char *const names[] = { "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (shell_word_is(w, names[i])) return true;
    return false;
}

static void run_find(Lister *l, size_t index, const ListerPlace *p) {
    const ShellCommand c = *command_at(l, index);
    for (size_t i = 1; i < c.words_n; i++) {
        if (!starts_exec(&c.words[i])) continue;
        size_t from = i + 1, end = from;
        while (end < c.words_n && !shell_word_is(&c.words[end], ";") && !(shell_word_is(&c.words[end], "+") && str_eq(c.words[end - 1].text, STR("{}")))) end++;
        command_at(l, index)->wrapper = true;
        list_inner(l, replace_mark(l, c.words + from, end - from, STR("{}"), 0), end - from, true, p);
        i = end;
    }
}

/* ---- entry point ---- */

/* Finds the row of a subcommand, as "docker compose exec"; *from: after the last operand used. */
static const Wrapper *find_row(Lister *l, size_t index, size_t *from, bool *certain) {
    ShellCommand *c = command_at(l, index);
    const Wrapper *row = wrappers_find(c->program);
    *from = 1;
    *certain = true;
    for (bool first = true; row && row->kind == WRAPPER_SUBCOMMAND; first = false) {
        Options o = skip_options(row, c->words, c->words_n, *from);
        *certain &= o.certain;
        if (first) c->operand = (uint32_t)o.next;
        if (o.next >= c->words_n) return NULL;
        row = c->words[o.next].exact ? wrappers_find_sub(row, c->words[o.next].text) : NULL;
        *from = o.next + 1;
    }
    return row;
}

/* The index of the first word of the next command, or 0. */
static size_t unwrap_one(Lister *l, size_t index, const ListerPlace *p, bool *certain) {
    size_t from;
    bool sure;
    if (run_builtin(l, index, p)) return 0;
    const Wrapper *row = find_row(l, index, &from, &sure);
    if (!row || is_lookup(command_at(l, index))) return 0;
    size_t inner = 0;
    *certain = true;
    switch (row->kind) {
    case WRAPPER_SHELL: run_shell(l, index, row, p); return 0;
    case WRAPPER_STDIN: run_input(l, index, p); return 0;
    case WRAPPER_XARGS: run_xargs(l, index, row, p); return 0;
    case WRAPPER_PARALLEL: run_parallel(l, index, row, p); return 0;
    case WRAPPER_FIND: run_find(l, index, p); return 0;
    case WRAPPER_SUBCOMMAND: return 0;
    case WRAPPER_TEXT: case WRAPPER_TEXT_OR_COMMAND: inner = run_text_options(l, index, row, from, p); break;
    case WRAPPER_JOIN:
        inner = find_inner(l, index, row, from, p, certain);
        if (inner) run_join(l, index, inner, p);
        return 0;
    case WRAPPER_WRAPPER: inner = find_inner(l, index, row, from, p, certain); break;
    }
    *certain &= sure;
    return inner;
}

void lister_unwrap(Lister *l, size_t index, const ListerPlace *p) {
    for (unsigned n = 0;; n++) {
        const ShellCommand c = *command_at(l, index);
        bool certain;
        if (c.words_n == 0 || c.program.n == 0) return;
        if (n == SHELL_DEPTH_MAX) {
            lister_problem(l, "it is nested too deep");
            return;
        }
        size_t inner = unwrap_one(l, index, p, &certain);
        if (!inner) return;
        command_at(l, index)->wrapper = true;
        index = lister_add(l, c.words + inner, c.words_n - inner, certain && c.exact, p);
    }
}
