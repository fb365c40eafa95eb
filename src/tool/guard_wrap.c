#include "tool/guard_wrap.h"

enum { LINES_MAX = 8 };

static bool is(const GuardField *f, const char *text) { return str_eq(f->text, str_from(text)); }

static const GuardInput nothing = { .kind = GUARD_INPUT_NONE };

/* ---- the plain ones ---- */

typedef struct { const char *name, *letters, *words; size_t operands; bool assigns; } Wrapper;

static const Wrapper wrappers[] = {
#define W(name, letters, words, operands, assigns) { name, letters, words, operands, assigns },
#include "tool/guard_wrap.def"
#undef W
};

static bool in_list(const char *list, Str word) {
    for (Str rest = str_from(list); rest.n;) {
        ptrdiff_t space = str_find_char(rest, ' ');
        Str one = str_sub(rest, 0, space < 0 ? rest.n : (size_t)space);
        if (str_eq(one, word)) return true;
        rest = str_sub(rest, one.n + 1, rest.n);
    }
    return false;
}

/* How many arguments the option takes up: 1 or 2. *sure: it is known. */
static size_t option_length(const Wrapper *w, Str s, bool *sure) {
    *sure = true;
    if (str_starts(s, STR("--"))) {
        if (str_find_char(s, '=') >= 0) return 1;
        if (in_list(w->words, str_sub(s, 2, s.n))) return 2;
        return *sure = false, 1;
    }
    for (size_t i = 1; i < s.n; i++)
        if (strchr(w->letters, s.at[i])) return i + 1 == s.n ? 2 : 1;
    *sure = s.n == 2;
    return 1;
}

static bool is_assignment(Str s) {
    ptrdiff_t equals = str_find_char(s, '=');
    return equals > 0 && s.at[0] != '-' && str_find_char(str_sub(s, 0, (size_t)equals), '/') < 0;
}

/* Passes the options of a wrapper; when one may or may not take an argument, the other reading is looked at too. */
static size_t skip_options(Guard *j, const Wrapper *w, const GuardField *argv, size_t n, GuardInput in) {
    size_t i = 1;
    while (i < n && argv[i].text.n > 1 && argv[i].text.at[0] == '-') {
        bool sure;
        if (is(&argv[i], "--")) return i + 1;
        i += option_length(w, argv[i].text, &sure);
        if (sure || i + 1 >= n) continue;
        j->only_worst++;
        guard_run_argv(j, argv + i + 1, n - i - 1, in);
        j->only_worst--;
    }
    return i < n ? i : n;
}

static void run_wrapper(Guard *j, const Wrapper *w, const GuardField *argv, size_t n, GuardInput in) {
    size_t i = skip_options(j, w, argv, n, in) + w->operands;
    while (w->assigns && i < n && is_assignment(argv[i].text)) i++;
    if (i < n) guard_run_argv(j, argv + i, n - i, in);
}

/* ---- those with ways of their own ---- */

static void run_joined(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    if (n == 0) return;
    GuardField text = guard_word_join(j, argv, n);
    guard_judge_script(j, &text, in);
}

/* env -S 'rm -rf' x: the text is words. */
static void run_split(Guard *j, GuardField text, const GuardField *rest, size_t n, GuardInput in) {
    GuardFields made = { 0 };
    Buf plain = { 0 };
    for (size_t i = 0; i < text.text.n; i++)
        if (!strchr("'\"\\", text.text.at[i])) buf_add_char(&plain, text.text.at[i]);
    guard_word_push(&made, (GuardField){ .text = STR("env"), .exact = true });
    guard_word_split(j, buf_str(&plain), &made);
    for (size_t i = 0; i < n; i++) guard_word_push(&made, rest[i]);
    guard_run_argv(j, made.at, made.n, in);
    GuardField quoted[2] = { text, guard_word_join(j, rest, n) };      /* and as the quotes in it say */
    GuardField all = guard_word_join(j, quoted, 2);
    j->only_worst++;
    guard_judge_script(j, &all, in);
    j->only_worst--;
    buf_clear(&plain);
    VEC_CLEAR(&made);
}

static void run_env(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    size_t i = 1;
    for (; i < n && argv[i].text.n && argv[i].text.at[0] == '-'; i++) {
        Str s = argv[i].text;
        GuardField f = argv[i];
        bool letters = s.n > 1 && s.at[1] != '-';
        ptrdiff_t split = letters ? str_find_char(s, 'S') : -1;
        if (is(&f, "--")) { i++; break; }
        if (str_starts(s, STR("--split-string=")) || split > 0) {
            size_t from = split > 0 ? (size_t)split + 1 : sizeof "--split-string=" - 1;
            bool next = from >= s.n;
            if (next && i + 1 >= n) return;
            f.text = next ? argv[i + 1].text : str_sub(s, from, s.n);
            run_split(j, f, argv + i + 1 + next, n - i - 1 - next, in);
            return;
        }
        if (is(&f, "--split-string") && i + 1 < n) { run_split(j, argv[i + 1], argv + i + 2, n - i - 2, in); return; }
        if (is(&f, "-u") || is(&f, "--unset") || is(&f, "-C") || is(&f, "--chdir") || is(&f, "-P")) i++;
    }
    while (i < n && is_assignment(argv[i].text)) i++;
    if (i < n) guard_run_argv(j, argv + i, n - i, in);
}

static void run_command(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    size_t i = 1;
    for (; i < n && argv[i].text.n > 1 && argv[i].text.at[0] == '-'; i++) {
        if (is(&argv[i], "--")) { i++; break; }
        if (str_find_char(argv[i].text, 'v') > 0 || str_find_char(argv[i].text, 'V') > 0) return;   /* asks where it is */
    }
    if (i < n) guard_run_argv(j, argv + i, n - i, in);
}

/* su and script: the text of -c, wherever it stands. */
static void run_text_option(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    static const Wrapper runuser = { "runuser", "ugGsw", "user group supp-group shell whitelist-environment", 0, false };
    for (size_t i = 1; i < n; i++) {
        Str s = argv[i].text;
        bool option = str_starts(s, STR("-")) && !str_starts(s, STR("--")) && s.n > 1;
        if (((option && s.at[s.n - 1] == 'c') || is(&argv[i], "--command") || is(&argv[i], "--session-command")) && i + 1 < n) {
            guard_judge_script(j, &argv[i + 1], in);
            return;
        }
        if (str_starts(s, STR("--command="))) {
            GuardField f = argv[i];
            f.text = str_sub(s, sizeof "--command=" - 1, s.n);
            guard_judge_script(j, &f, in);
            return;
        }
        if (is(&argv[i], "-u") || is(&argv[i], "--user")) { run_wrapper(j, &runuser, argv, n, in); return; }
    }
    guard_run_input(j, in, "a shell");
}

static void run_flock(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    static const Wrapper flock = { "flock", "wE", "timeout wait conflict-exit-code", 1, false };
    size_t i = skip_options(j, &flock, argv, n, in) + 1;
    if (i + 1 < n && (is(&argv[i], "-c") || is(&argv[i], "--command"))) guard_judge_script(j, &argv[i + 1], in);
    else if (i < n) guard_run_argv(j, argv + i, n - i, in);
}

static void run_watch(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    static const Wrapper watch = { "watch", "nq", "interval equexit", 0, false };
    size_t i = skip_options(j, &watch, argv, n, in);
    if (i < n) run_joined(j, argv + i, n - i, nothing);
}

static void run_ssh(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    static const Wrapper ssh = { "ssh", "bcDEeFIiJLlmOopQRSWwB", "", 1, false };
    size_t i = skip_options(j, &ssh, argv, n, in) + 1;
    for (size_t k = 1; k < n && k < i; k++) {
        if (is(&argv[k], "-o") && k + 1 < n) guard_text_ssh_option(j, argv[k + 1].text);
        else if (str_starts(argv[k].text, STR("-o"))) guard_text_ssh_option(j, str_sub(argv[k].text, 2, argv[k].text.n));
    }
    if (i < n && is(&argv[i], "--")) i++;
    if (i < n) run_joined(j, argv + i, n - i, in);
    else guard_run_input(j, in, "a remote shell");
}

/* ---- xargs and parallel ---- */

/* The same arguments with `mark` replaced by a hole, or by `value`. */
static GuardField *replace_mark(Guard *j, const GuardField *argv, size_t n, Str mark, Str value, bool exact) {
    GuardField *out = ARENA_ARRAY(j->arena, GuardField, n);
    for (size_t i = 0; i < n; i++) {
        out[i] = argv[i];
        Buf b = { .limit = GUARD_COMMAND_MAX };
        Str rest = argv[i].text;
        ptrdiff_t at;
        while (mark.n && (at = str_find(rest, mark)) >= 0) {
            buf_add(&b, str_sub(rest, 0, (size_t)at));
            buf_add(&b, value);
            rest = str_sub(rest, (size_t)at + mark.n, rest.n);
            out[i].exact &= exact;
        }
        buf_add(&b, rest);
        out[i].text = arena_str(j->arena, buf_str(&b));
        buf_clear(&b);
    }
    return out;
}

static void run_each_line(Guard *j, const GuardField *argv, size_t n, Str mark, Str text) {
    Str line;
    j->only_worst++;
    for (int i = 0; i < LINES_MAX && str_next_line(&text, &line); i++)
        if (guard_judge_spend(j, 1 + n)) guard_run_argv(j, replace_mark(j, argv, n, mark, str_trim(line), true), n, nothing);
    j->only_worst--;
}

static Str find_mark(const GuardField *argv, size_t n) {
    for (size_t i = 1; i < n && argv[i].text.n && argv[i].text.at[0] == '-'; i++) {
        Str s = argv[i].text;
        if (is(&argv[i], "-I") || is(&argv[i], "-J")) return i + 1 < n ? argv[i + 1].text : STR("");
        if (str_starts(s, STR("-I"))) return str_sub(s, 2, s.n);
        if (str_starts(s, STR("--replace="))) return str_sub(s, sizeof "--replace=" - 1, s.n);
        if (is(&argv[i], "-i") || is(&argv[i], "--replace")) return STR("{}");
    }
    return STR("");
}

static void run_xargs(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    static const Wrapper xargs = { "xargs", "ILnPdsaEJRS", "max-args max-procs delimiter max-chars arg-file max-lines process-slot-var", 0, false };
    Str mark = find_mark(argv, n);
    size_t i = skip_options(j, &xargs, argv, n, nothing);
    bool whole = false;                                  /* -0: spaces and lines do not end an argument */
    for (size_t k = 1; k < n && k < i; k++) whole |= is(&argv[k], "-0") || is(&argv[k], "--null");
    if (i >= n) return;
    argv += i, n -= i;
    if (mark.n) {
        guard_run_argv(j, replace_mark(j, argv, n, mark, STR("\1"), false), n, nothing);
        if (in.kind == GUARD_INPUT_TEXT) run_each_line(j, argv, n, mark, in.text);
        return;
    }
    GuardFields made = { 0 };
    for (size_t k = 0; k < n; k++) guard_word_push(&made, argv[k]);
    if (in.kind == GUARD_INPUT_TEXT && whole) guard_word_push(&made, (GuardField){ .text = str_trim(in.text), .exact = true });
    else if (in.kind == GUARD_INPUT_TEXT) guard_word_split(j, in.text, &made);
    if (in.kind != GUARD_INPUT_TEXT || !in.exact) guard_word_push(&made, (GuardField){ .text = STR("\1"), .splits = true });
    guard_run_argv(j, made.at, made.n, nothing);
    VEC_CLEAR(&made);
}

static void run_parallel(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    static const Wrapper parallel = { "parallel", "jPNnLIaSdCsX", "jobs max-args arg-file sshlogin colsep delay timeout retries results joblog tmpdir workdir basefile delimiter", 0, false };
    size_t i = skip_options(j, &parallel, argv, n, nothing), end = i;
    while (end < n && !str_starts(argv[end].text, STR(":::"))) end++;
    if (end == i && end >= n) { guard_run_input(j, in, "parallel"); return; }
    GuardField command = guard_word_join(j, argv + i, end - i);
    for (size_t k = end + 1; k < n && k < end + 1 + LINES_MAX; k++) {          /* each value behind ::: */
        GuardField both[2] = { command, argv[k] };
        bool marked = str_find(command.text, STR("{}")) >= 0;
        GuardField one = marked ? *replace_mark(j, &command, 1, STR("{}"), argv[k].text, argv[k].exact) : guard_word_join(j, both, 2);
        guard_judge_script(j, end == i ? &argv[k] : &one, nothing);
    }
    if (end < n) return;
    GuardField one = *replace_mark(j, &command, 1, STR("{}"), STR("\1"), true);
    guard_judge_script(j, &one, nothing);
}

/* ---- find ---- */

/* A test that leaves most files alone. */
static bool narrows(const GuardField *argv, size_t n, size_t i) {
    static const char *const tests[] = { "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-inum",
                                         "-empty", "-newer", "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-size", "-perm", "-user",
                                         "-group", "-nouser", "-nogroup", "-samefile", "-links", "-newermt" };
    for (size_t k = 0; k < sizeof tests / sizeof *tests; k++)
        if (is(&argv[i], tests[k])) {
            Str pattern = i + 1 < n ? argv[i + 1].text : STR("");
            bool everything = pattern.n > 0;
            for (size_t c = 0; c < pattern.n; c++) everything = everything && strchr("*.?", pattern.at[c]);
            return !everything || is(&argv[i], "-empty");
        }
    return false;
}

static size_t exec_end(const GuardField *argv, size_t n, size_t i) {
    while (i < n && !is(&argv[i], ";") && !(is(&argv[i], "+") && is(&argv[i - 1], "{}"))) i++;
    return i;
}

static bool removes(const GuardField *f) {
    return is(f, "rm") || is(f, "/bin/rm") || is(f, "/usr/bin/rm") || is(f, "unlink") || is(f, "shred");
}

static void run_find(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    bool narrow = false, removal = false;
    size_t deep = 0;
    for (size_t i = 1; i < n; i++) {
        bool negated = is(&argv[i - 1], "!") || is(&argv[i - 1], "-not");
        deep += is(&argv[i], "(");
        deep -= deep && is(&argv[i], ")");
        if (deep == 0 && (is(&argv[i], "-o") || is(&argv[i], "-or") || is(&argv[i], ","))) narrow = false;
        narrow |= narrows(argv, n, i) && !negated;
        removal |= is(&argv[i], "-delete") && !narrow;
        bool writes = is(&argv[i], "-fprint") || is(&argv[i], "-fprint0") || is(&argv[i], "-fls") || is(&argv[i], "-fprintf");
        if (writes && i + 1 < n) guard_rules_target(j, &argv[i + 1], "find");
        if (!is(&argv[i], "-exec") && !is(&argv[i], "-execdir") && !is(&argv[i], "-ok") && !is(&argv[i], "-okdir")) continue;
        size_t end = exec_end(argv, n, i + 1);
        if (end > i + 1) {
            removal |= removes(&argv[i + 1]) && !narrow;
            guard_run_argv(j, replace_mark(j, argv + i + 1, end - i - 1, STR("{}"), STR("\1"), false), end - i - 1, in);
        }
        i = end;
    }
    if (removal) guard_judge_raise(j, GUARD_REFUSE, "recursive forced removal (find removes all that it finds)");
}

/* fd -x CMD, fdfind -X CMD */
static void run_fd(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    for (size_t i = 1; i + 1 < n; i++)
        if (is(&argv[i], "-x") || is(&argv[i], "-X") || is(&argv[i], "--exec") || is(&argv[i], "--exec-batch")) {
            guard_run_argv(j, replace_mark(j, argv + i + 1, n - i - 1, STR("{}"), STR("\1"), false), n - i - 1, in);
            return;
        }
}

/* npx -c 'text' */
static void run_npx(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    for (size_t i = 1; i + 1 < n && argv[i].text.n && argv[i].text.at[0] == '-'; i++)
        if (is(&argv[i], "-c") || is(&argv[i], "--call")) guard_judge_script(j, &argv[i + 1], in);
}

/* sudo -s, sudo -i: a shell, with the rest as its text. */
static void run_sudo(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    for (size_t i = 1; i < n && argv[i].text.n > 1 && argv[i].text.at[0] == '-'; i++)
        if (is(&argv[i], "-s") || is(&argv[i], "-i") || is(&argv[i], "--shell") || is(&argv[i], "--login")) {
            if (i + 1 == n) guard_run_input(j, in, "a shell");
            else run_joined(j, argv + i + 1, n - i - 1, in);
        }
}

/* coreutils --coreutils-prog=rm -rf x */
static void run_coreutils(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    static const Str option = { "--coreutils-prog=", sizeof "--coreutils-prog=" - 1 };
    if (n < 2 || !str_starts(argv[1].text, option)) return;
    GuardField *copy = ARENA_ARRAY(j->arena, GuardField, n - 1);
    memcpy(copy, argv + 1, (n - 1) * sizeof *copy);
    copy[0].text = str_sub(copy[0].text, option.n, copy[0].text.n);
    guard_run_argv(j, copy, n - 1, in);
}

void guard_wrap_run(Guard *j, Str name, const GuardField *argv, size_t n, GuardInput in) {
    static const struct { const char *name; void (*run)(Guard *j, const GuardField *argv, size_t n, GuardInput in); } own[] = {
        { "env", run_env }, { "command", run_command }, { "su", run_text_option }, { "runuser", run_text_option }, { "script", run_text_option },
        { "flock", run_flock }, { "watch", run_watch }, { "ssh", run_ssh }, { "xargs", run_xargs }, { "parallel", run_parallel },
        { "coreutils", run_coreutils }, { "find", run_find }, { "gfind", run_find }, { "fd", run_fd }, { "fdfind", run_fd }, { "npx", run_npx }, { "sudo", run_sudo }, { "doas", run_sudo },
    };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (str_eq(name, str_from(own[i].name))) own[i].run(j, argv, n, in);
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
        if (str_eq(name, str_from(wrappers[i].name))) run_wrapper(j, &wrappers[i], argv, n, in);
}
