#include "base/mem.h"
#include "base/glob.h"
#include "tool/guard_judge.h"
#include "tool/guard_wrap.h"

enum { SUFFIXES_MAX = 16, CALLS_MAX = 3 /* of functions in functions: each body has been judged by itself too */ };

static bool is(const GuardField *f, const char *text) { return str_eq(f->text, str_from(text)); }

static Str base_name(Str path) {
    const char *slash = path.n ? memrchr(path.at, '/', path.n) : NULL;
    return slash ? str_sub(path, (size_t)(slash - path.at) + 1, path.n) : path;
}

/* ---- shells ---- */

static bool is_shell(Str name) {
    static const char *const names[] = { "sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "rbash", "yash", "fish", "csh", "tcsh", "posh" };
    if (name.n && name.at[0] == '-') name = str_sub(name, 1, name.n);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_eq(name, str_from(names[i]))) return true;
    return false;
}

void guard_run_input(Guard *j, GuardInput in, const char *who) {
    if (in.kind == GUARD_INPUT_NONE) return;
    if (in.kind == GUARD_INPUT_UNKNOWN) {
        guard_judge_raise(j, GUARD_CONFIRM, "what %s reads and runs cannot be known before", who);
        return;
    }
    GuardField code = { .text = in.text, .exact = in.exact };
    guard_judge_script(j, &code, (GuardInput){ .kind = GUARD_INPUT_NONE });
}

static Str plain_path(Str path) {
    while (str_starts(path, STR("./"))) path = str_sub(path, 2, path.n);
    return path;
}

/* What the script itself has written to that file before; NULL: nothing, or it is not known. */
static const GuardField *written(const Guard *j, const GuardField *f) { return j->guess && f->exact ? table_get(&j->files, plain_path(f->text)) : NULL; }

void guard_run_note_file(Guard *j, const GuardField *path, Str text) {
    if (!j->guess || !path->exact || path->text.n == 0 || !guard_judge_spend(j, 1 + text.n / 64)) return;
    GuardField *kept = ARENA_NEW(j->arena, GuardField);
    *kept = (GuardField){ .text = text, .exact = true };
    table_put(&j->files, arena_str(j->arena, plain_path(path->text)), kept);
}

static void run_text_of(Guard *j, const GuardField *text, GuardInput in) {
    j->only_worst++;
    guard_judge_script(j, text, in);
    j->only_worst--;
}

/* ./x: a file that was written just before. */
static void run_written(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    const GuardField *text = n && str_find_char(argv[0].text, '/') >= 0 ? written(j, &argv[0]) : NULL;
    if (text) run_text_of(j, text, in);
}

/* A script's file: where it is no file but a stream, what it streams. */
static void run_file(Guard *j, const GuardField *f, GuardInput in) {
    const GuardField *made = written(j, f);
    if (made) run_text_of(j, made, in);
    if (f->process) {
        GuardInput text = guard_output_of(j, f->process, in);
        if (text.kind == GUARD_INPUT_NONE) text.kind = GUARD_INPUT_UNKNOWN;
        guard_run_input(j, text, "a shell");
    } else if (is(f, "/dev/stdin") || is(f, "-") || is(f, "/proc/self/fd/0") || is(f, "/dev/fd/0")) guard_run_input(j, in, "a shell");
    else if (str_starts(f->text, STR("/dev/fd/")) || str_starts(f->text, STR("/proc/self/fd/")))
        guard_judge_raise(j, GUARD_CONFIRM, "what a shell reads and runs cannot be known before");
    else if (!f->exact && (f->splits || str_find_char(base_name(f->text), GUARD_HOLE) >= 0))
        guard_judge_raise(j, GUARD_CONFIRM, "the script that a shell runs cannot be known before");
}

/* $0, $1 … and $@ of a script or function, while it is judged with what it is called with. */
static void bind_arguments(Guard *j, const GuardField *args, size_t n, size_t first) {
    if (!j->guess) return;
    for (size_t i = 0; i < n && i + first < 10; i++) {
        GuardField *kept = ARENA_NEW(j->arena, GuardField);
        *kept = args[i];
        table_put(&j->variables, str_from(arena_fmt(j->arena, "%zu", i + first)), kept);
    }
    size_t skip = first == 0 && n ? 1 : 0;
    GuardField *all = ARENA_NEW(j->arena, GuardField);
    *all = guard_word_join(j, args + skip, n - skip);
    table_put(&j->variables, STR("@"), all);
    table_put(&j->variables, STR("*"), all);
}

static void run_shell(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    size_t i = 1;
    bool code = false, input = false;
    for (; i < n && argv[i].text.n > 1 && strchr("-+", argv[i].text.at[0]); i++) {
        Str s = argv[i].text;
        if (is(&argv[i], "--")) { i++; break; }
        if (is(&argv[i], "--version") || is(&argv[i], "--help")) return;
        if (is(&argv[i], "--rcfile") || is(&argv[i], "--init-file")) {
            if (++i < n) run_file(j, &argv[i], in);
            continue;
        }
        if (is(&argv[i], "--command")) { code = true; continue; }             /* fish */
        if (str_starts(s, STR("--"))) continue;
        if (!argv[i].exact) guard_judge_raise(j, GUARD_CONFIRM, "an option of a shell cannot be known before it runs");
        code |= str_find_char(s, 'c') > 0 && s.at[0] == '-';
        input |= str_find_char(s, 's') > 0 && s.at[0] == '-';
        if (s.at[s.n - 1] == 'o' || s.at[s.n - 1] == 'O') i++;                 /* -o errexit, -eo pipefail */
    }
    if (code) {
        if (i >= n) return;
        bind_arguments(j, argv + i + 1, n - i - 1, 0);
        guard_judge_script(j, &argv[i], in);
    } else if (i < n && !input) run_file(j, &argv[i], in);
    else guard_run_input(j, in, "a shell");
}

static void run_source(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    if (n > 1) run_file(j, &argv[1], in);
}

static void run_eval(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    size_t from = n > 1 && is(&argv[1], "--") ? 2 : 1;
    if (from >= n) return;
    GuardField text = guard_word_join(j, argv + from, n - from);
    guard_judge_script(j, &text, in);
}

static void run_trap(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    size_t from = n > 1 && is(&argv[1], "--") ? 2 : 1;
    if (n > from + 1 && argv[from].text.n && argv[from].text.at[0] != '-') guard_judge_script(j, &argv[from], in);
}

/* Text that the shell may expand later: a subscript in arithmetic, PS4, ${x@P}. Only what is certainly destructive counts: it may be mere text. */
void guard_run_hidden(Guard *j, Str text) {
    ptrdiff_t dollar = str_find(text, STR("$(")), tick = str_find_char(text, '`');
    ptrdiff_t at = dollar < 0 ? tick : tick < 0 || dollar < tick ? dollar : tick;
    if (at < 0) return;
    GuardField f = { .text = arena_str(j->arena, str_sub(text, (size_t)at, text.n)), .exact = true };
    j->only_worst++;
    guard_judge_script(j, &f, (GuardInput){ .kind = GUARD_INPUT_NONE });
    j->only_worst--;
}

/* printf -v 'a[$(…)]', read, unset, let: names are evaluated. */
static void run_names(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    (void)in;
    for (size_t i = 1; i < n; i++)
        if (str_find_char(argv[i].text, '[') >= 0) guard_run_hidden(j, argv[i].text);
}

/* mapfile -C 'command', compgen -C, complete -C. */
static void run_callback(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    for (size_t i = 1; i + 1 < n; i++)
        if (is(&argv[i], "-C")) guard_judge_script(j, &argv[i + 1], in);
    run_names(j, argv, n, in);
}

static void run_alias(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    for (size_t i = 1; i < n; i++) {
        ptrdiff_t equals = str_find_char(argv[i].text, '=');
        if (equals <= 0) continue;
        GuardField f = argv[i];
        f.text = arena_str(j->arena, str_sub(f.text, (size_t)equals + 1, f.text.n));
        guard_judge_script(j, &f, in);
        if (!j->guess) continue;
        GuardField *kept = ARENA_NEW(j->arena, GuardField);
        *kept = f;
        table_put(&j->aliases, arena_str(j->arena, str_sub(argv[i].text, 0, (size_t)equals)), kept);
    }
}

/* hash -p /bin/rm x: x is rm from then on. */
static void run_hash(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    (void)in;
    if (!j->guess || n < 4 || !is(&argv[1], "-p")) return;
    GuardField *kept = ARENA_NEW(j->arena, GuardField);
    *kept = argv[2];
    table_put(&j->aliases, argv[3].text, kept);
}

/* An alias, used: its text with the arguments behind it. It may not stand for itself again. */
static void use_alias(Guard *j, Str name, const GuardField *alias, const GuardField *argv, size_t n, GuardInput in) {
    GuardField *all = ARENA_ARRAY(j->arena, GuardField, n);
    memcpy(all, argv, n * sizeof *all);
    all[0] = *alias;
    GuardField text = guard_word_join(j, all, n);
    table_put(&j->aliases, name, NULL);
    j->only_worst++;
    guard_judge_script(j, &text, in);
    j->only_worst--;
    table_put(&j->aliases, name, (void *)(uintptr_t)alias);
}

/* ---- other interpreters ---- */

/* `code`: letters of options that take program text; `skip`: of options that take something else. */
typedef struct { const char *name, *code, *skip; bool first; /* the first operand is the program */ } Interpreter;

static const Interpreter interpreters[] = {
    { "python", "c", "mWX", false }, { "pypy", "c", "mWX", false }, { "perl", "eE", "IMm", false }, { "ruby", "e", "IrC", false },
    { "node", "ep", "rC", false }, { "nodejs", "ep", "rC", false }, { "bun", "ep", "r", false }, { "php", "rBR", "dcfz", false }, { "lua", "e", "l", false },
    { "luajit", "e", "lj", false }, { "Rscript", "e", "", false }, { "tclsh", "", "", false }, { "awk", "", "vFf", true }, { "gawk", "", "vFfi", true },
    { "mawk", "", "vFf", true }, { "nawk", "", "vFf", true }, { "osascript", "e", "l", false }, { "pwsh", "c", "f", false },
    { "R", "e", "f", false }, { "julia", "eE", "LJp", false },
};

/* python3.11 and lua5.4 are python and lua. */
static const Interpreter *find_interpreter(Str name) {
    size_t n = name.n;
    while (n && ((name.at[n - 1] >= '0' && name.at[n - 1] <= '9') || name.at[n - 1] == '.')) n--;
    for (size_t i = 0; i < sizeof interpreters / sizeof *interpreters; i++)
        if (str_eq(str_sub(name, 0, n), str_from(interpreters[i].name))) return &interpreters[i];
    return NULL;
}

static bool is_eval_option(const GuardField *f) { return is(f, "--eval") || is(f, "--print") || is(f, "--command") || is(f, "--run"); }

/* Looks for program text in the option at i; returns how many arguments it took, and sets *found. */
static size_t take_code(Guard *j, const Interpreter *p, const GuardField *argv, size_t n, size_t i, bool *found) {
    GuardField f = argv[i];
    Str language = str_from(p->name);
    if (is_eval_option(&f) && i + 1 < n) return *found = true, guard_code_judge(j, language, &argv[i + 1]), 2;
    if (str_starts(f.text, STR("--"))) {
        ptrdiff_t equals = str_find_char(f.text, '=');
        if (equals < 0 || !(str_starts(f.text, STR("--eval=")) || str_starts(f.text, STR("--print=")))) return 1;
        f.text = arena_str(j->arena, str_sub(f.text, (size_t)equals + 1, f.text.n));
        return *found = true, guard_code_judge(j, language, &f), 1;
    }
    for (size_t k = 1; k < f.text.n; k++) {
        bool code = strchr(p->code, f.text.at[k]), last = k + 1 == f.text.n;
        if (!code && !strchr(p->skip, f.text.at[k])) continue;
        *found |= code || f.text.at[k] == 'm' || (p->first && f.text.at[k] == 'f');   /* a module or file is the program */
        if (code && last && i + 1 < n) guard_code_judge(j, language, &argv[i + 1]);
        if (code && !last) {
            f.text = arena_str(j->arena, str_sub(f.text, k + 1, f.text.n));
            guard_code_judge(j, language, &f);
        }
        return last ? 2 : 1;
    }
    return 1;
}

static void run_interpreter(Guard *j, const Interpreter *p, const GuardField *argv, size_t n, GuardInput in) {
    bool found = false;
    size_t i = 1;
    while (i < n && argv[i].text.n > 1 && argv[i].text.at[0] == '-' && !is(&argv[i], "--")) {
        if (is(&argv[i], "--version") || is(&argv[i], "--help") || is(&argv[i], "-V") || is(&argv[i], "-h")) return;
        i += take_code(j, p, argv, n, i, &found);
    }
    if (i < n && is(&argv[i], "--")) i++;
    for (size_t k = 1; p->first && k + 1 < n && k < i; k++) {              /* awk -v c='rm -rf x' 'BEGIN { system(c) }' */
        ptrdiff_t equals = is(&argv[k], "-v") && i < n && str_find(argv[i].text, STR("system")) >= 0 ? str_find_char(argv[k + 1].text, '=') : -1;
        if (equals > 0) run_text_of(j, &(GuardField){ .text = arena_str(j->arena, str_sub(argv[k + 1].text, (size_t)equals + 1, argv[k + 1].text.n)), .exact = true }, in);
    }
    if (found) return;
    if (p->first) {
        if (i < n) guard_code_judge(j, str_from(p->name), &argv[i]);
        return;
    }
    bool stream = i >= n || is(&argv[i], "-") || is(&argv[i], "/dev/stdin");
    const GuardField *text = stream ? NULL : written(j, &argv[i]);
    if (text) guard_code_judge(j, str_from(p->name), text);
    if (!stream && argv[i].process) in = guard_output_of(j, argv[i].process, in), stream = true;
    if (!stream) return;
    if (in.kind == GUARD_INPUT_UNKNOWN) guard_judge_raise(j, GUARD_CONFIRM, "what %s reads and runs cannot be known before", p->name);
    if (in.kind == GUARD_INPUT_TEXT) guard_code_judge(j, str_from(p->name), &(GuardField){ .text = in.text, .exact = in.exact });
}

/* ---- every command ---- */

/* What is read may be the command of something that is not known: only harm that shows counts. */
static void try_suffixes(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    j->only_worst++;
    for (size_t i = 1; i < n && i <= SUFFIXES_MAX; i++)
        if (argv[i].exact && argv[i].text.n && argv[i].text.at[0] != '-') guard_run_argv(j, argv + i, n - i, in);
    j->only_worst--;
}

static bool has_wildcards(const GuardField *f) {
    if (!f->glob) return false;
    for (size_t i = 0; i < f->text.n; i++)
        if (strchr("*?", f->text.at[i]) || (f->text.at[i] == '[' && str_find_char(str_sub(f->text, i, f->text.n), ']') > 0)) return true;
    return false;
}

/* /bin/r? may be rm. */
static void try_names(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    static const char *const names[] = { "rm", "dd", "git", "sh", "bash", "mkfs.ext4", "reboot", "shutdown", "poweroff", "halt", "env", "sudo", "xargs" };
    const Glob *g = glob_new(base_name(argv[0].text), 0, j->arena, NULL);
    GuardField *copy = ARENA_ARRAY(j->arena, GuardField, n);
    memcpy(copy, argv, n * sizeof *copy);
    j->only_worst++;
    for (size_t i = 0; g && i < sizeof names / sizeof *names; i++)
        if (glob_match(g, str_from(names[i]))) {
            copy[0] = (GuardField){ .text = str_from(names[i]), .exact = true };
            guard_run_argv(j, copy, n, in);
        }
    j->only_worst--;
}

static void run_function(Guard *j, const GuardNode *f, const GuardField *argv, size_t n, GuardInput in) {
    Table before = j->variables;
    j->variables = (Table){ 0 };
    for (size_t i = 0; i < before.n; i++) table_put(&j->variables, before.entry[i].key, before.entry[i].value);
    bind_arguments(j, argv + 1, n - 1, 1);
    j->calls++;
    if (guard_judge_spend(j, 2 + before.n / 8) && f->children_n) guard_judge_node(j, f->children[0], in);
    j->calls--;
    table_clear(&j->variables);
    j->variables = before;
}

static void run_name(Guard *j, Str name, const GuardField *argv, size_t n, GuardInput in) {
    static const struct { const char *name; void (*run)(Guard *j, const GuardField *argv, size_t n, GuardInput in); } builtins[] = {
        { "eval", run_eval }, { "source", run_source }, { ".", run_source }, { "trap", run_trap }, { "alias", run_alias }, { "hash", run_hash },
        { "mapfile", run_callback }, { "readarray", run_callback }, { "compgen", run_callback }, { "complete", run_callback },
        { "printf", run_names }, { "read", run_names }, { "unset", run_names }, { "let", run_names }, { "test", run_names }, { "[", run_names },
        { "declare", run_names }, { "typeset", run_names }, { "local", run_names }, { "export", run_names }, { "readonly", run_names },
    };
    const GuardNode *function = j->guess ? table_get(&j->functions, name) : NULL;
    const GuardField *alias = j->guess ? table_get(&j->aliases, name) : NULL;
    if (alias) use_alias(j, name, alias, argv, n, in);
    if (function && j->calls < CALLS_MAX) run_function(j, function, argv, n, in);
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (str_eq(name, str_from(builtins[i].name))) builtins[i].run(j, argv, n, in);
    const Interpreter *interpreter = find_interpreter(name);
    GuardRule *rule = guard_rules_find(name);
    if (is_shell(name)) run_shell(j, argv, n, in);
    else if (interpreter) run_interpreter(j, interpreter, argv, n, in);
    else if (rule) rule(j, argv + 1, n - 1);
    else if (str_eq(name, STR("at")) || str_eq(name, STR("batch"))) guard_run_input(j, in, "at");
    else if (str_eq(name, STR("git-push"))) {
        GuardField *copy = ARENA_ARRAY(j->arena, GuardField, n);
        memcpy(copy, argv, n * sizeof *copy);
        copy[0] = (GuardField){ .text = STR("push"), .exact = true };
        guard_git(j, copy, n);
    } else if (!guard_text_run(j, name, argv, n, in)) guard_wrap_run(j, name, argv, n, in);
    run_written(j, argv, n, in);
}

void guard_run_argv(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    if (n == 0 || !guard_judge_spend(j, 1 + n / 8)) return;
    if (j->depth >= 2 * GUARD_DEPTH_MAX) {
        guard_judge_raise(j, GUARD_CONFIRM, "the command is nested too deep to be judged");
        return;
    }
    j->depth++;
    Str name = base_name(argv[0].text);
    bool known = argv[0].exact || (!argv[0].splits && name.n < argv[0].text.n && str_find_char(name, GUARD_HOLE) < 0);
    if (has_wildcards(&argv[0]) && !is(&argv[0], "[") && !is(&argv[0], "[[")) {
        guard_judge_raise(j, GUARD_CONFIRM, "the command " STR_FMT " cannot be known before it runs", STR_ARG(argv[0].text));
        try_names(j, argv, n, in);
    } else if (!known) {
        guard_judge_raise(j, GUARD_CONFIRM, "a command word cannot be known before it runs: " STR_FMT, STR_ARG(argv[0].text));
        try_suffixes(j, argv, n, in);
    } else run_name(j, name, argv, n, in);
    j->depth--;
}
