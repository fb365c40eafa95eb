/* Programs that are given commands as text, in their arguments, their input or a variable. What they do with it is only guessed here: what is
 * certainly destructive counts, and input that is not known where all of it is run. */
#include "tool/guard_wrap.h"

enum { TEXTS_MAX = 64, TEXT_MAX = 4096 };

static bool is(const GuardField *f, const char *text) { return str_eq(f->text, str_from(text)); }

static bool is_one_of(Str name, const char *const *names) {
    for (; *names; names++)
        if (str_eq(name, str_from(*names))) return true;
    return false;
}

static void judge_worst(Guard *j, Str text) {
    text = str_sub(text, 0, TEXT_MAX);
    GuardField f = { .text = arena_str(j->arena, text), .exact = true };
    if (!guard_judge_spend(j, 1 + text.n / 16)) return;
    j->only_worst++;
    guard_judge_script(j, &f, (GuardInput){ .kind = GUARD_INPUT_NONE });
    j->only_worst--;
}

/* ---- text in arguments ---- */

/* `shell rm -rf x` of gdb, `.system …` of sqlite3, `!…` of ed and less. One word alone that nothing introduces is a name. */
static void judge_line(Guard *j, Str s) {
    static const char *const openings[] = { "\\!", "!", "shell ", ".shell ", ".system ", "spawn ", "system ", "exec " };
    bool opened = false;
    s = str_trim(s);
    if (str_starts(s, STR("+"))) s = str_sub(s, 1, s.n);
    for (size_t i = 0; i < sizeof openings / sizeof *openings && !opened; i++)
        if ((opened = str_starts(s, str_from(openings[i])))) s = str_trim(str_sub(s, strlen(openings[i]), s.n));
    if (opened || str_find_char(s, ' ') > 0) judge_worst(j, s);
}

static void judge_lines(Guard *j, Str text) {
    Str line;
    for (int i = 0; i < TEXTS_MAX && str_next_line(&text, &line); i++) judge_line(j, line);
}

static void run_texts(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    for (size_t i = 1; i < n; i++) {
        ptrdiff_t equals = str_starts(argv[i].text, STR("-")) ? str_find_char(argv[i].text, '=') : -1;
        judge_lines(j, str_sub(argv[i].text, (size_t)(equals + 1), argv[i].text.n));
    }
    if (in.kind == GUARD_INPUT_TEXT) judge_lines(j, in.text);
}

/* deno eval CODE, emacs --eval CODE */
static void run_code(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    (void)in;
    for (size_t i = 1; i + 1 < n; i++)
        if (is(&argv[i], "eval") || is(&argv[i], "--eval") || is(&argv[i], "-eval") || is(&argv[i], "--execute") || is(&argv[i], "-execute"))
            guard_code_judge(j, argv[0].text, &argv[i + 1]);
}

/* xterm -e rm -rf x, screen -dm rm -rf x: words. */
static void run_words(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    j->only_worst++;
    for (size_t i = 1; i < n && i < TEXTS_MAX; i++)
        if (is(&argv[i - 1], "-e") || is(&argv[i - 1], "--") || str_starts(argv[i - 1].text, STR("-d"))) guard_run_argv(j, argv + i, n - i, in);
    j->only_worst--;
    run_texts(j, argv, n, in);
}

/* man -P 'rm -rf x' */
static void run_man(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    (void)in;
    for (size_t i = 1; i < n; i++) {
        if (is(&argv[i], "-P") && i + 1 < n) judge_worst(j, argv[i + 1].text);
        if (str_starts(argv[i].text, STR("--pager="))) judge_worst(j, str_sub(argv[i].text, 8, argv[i].text.n));
    }
}

/* ---- sed ---- */

/* s/x/command/e runs what it has made; `from` is behind the s. */
static void judge_substitution(Guard *j, Str s, size_t from) {
    if (from >= s.n) return;
    char edge = s.at[from];
    size_t at[3] = { from }, found = 1, i = from + 1;
    for (; i < s.n && found < 3; i++) {
        if (s.at[i] == '\\') i++;
        else if (s.at[i] == edge) at[found++] = i;
    }
    if (found < 3) return;
    while (i < s.n && strchr("gpiIeMm0123456789", s.at[i]))
        if (s.at[i++] == 'e') judge_worst(j, str_sub(s, at[1] + 1, at[2]));
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Where a command of a sed script can stand: not behind a letter, nor inside of s/…/…/. */
static void judge_sed_script(Guard *j, Str s) {
    for (size_t i = 0; i < s.n && i < 4096; i++) {
        if (i && (is_letter(s.at[i - 1]) || s.at[i - 1] == '\\')) continue;
        Str line = str_sub(s, i + 1, s.n), rest = line;
        if (!str_next_line(&rest, &line)) line = STR("");
        bool spaced = line.n && (line.at[0] == ' ' || line.at[0] == '\t');
        if (s.at[i] == 's' && (i == 0 || strchr("0123456789$/;{} \t\n", s.at[i - 1]))) judge_substitution(j, s, i + 1);
        if (s.at[i] == 'e' && spaced && (i == 0 || strchr("0123456789$;{}! \n", s.at[i - 1]))) judge_worst(j, line);
        if (s.at[i] == 'w' && spaced) guard_rules_target(j, &(GuardField){ .text = str_trim(line), .exact = true }, "sed");
    }
}

static void run_sed(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    bool in_place = false;
    (void)in;
    for (size_t i = 1; i < n; i++) {
        bool option = argv[i].text.n > 1 && argv[i].text.at[0] == '-';
        in_place |= str_starts(argv[i].text, STR("-i")) || str_starts(argv[i].text, STR("--in-place"));
        if (!option) judge_sed_script(j, argv[i].text);
        if (!option && in_place) guard_rules_target(j, &argv[i], "sed");
    }
}

/* ---- make ---- */

/* A recipe: behind a tab, a semicolon, or $(shell. */
static void judge_makefile(Guard *j, Str text) {
    Str line;
    for (int i = 0; i < TEXTS_MAX && str_next_line(&text, &line); i++) {
        ptrdiff_t semicolon = str_find_char(line, ';'), shell = str_find(line, STR("$(shell "));
        if (shell >= 0) judge_worst(j, str_sub(line, (size_t)shell + 8, line.n - (str_ends(line, STR(")")) ? 1 : 0)));
        judge_worst(j, semicolon >= 0 ? str_sub(line, (size_t)semicolon + 1, line.n) : str_trim(line));
    }
}

static void run_make(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    for (size_t i = 1; i < n; i++) {
        bool file = is(&argv[i], "-f") || is(&argv[i], "--file") || is(&argv[i], "--makefile"), eval = is(&argv[i], "--eval");
        bool input = (file && i + 1 < n && (is(&argv[i + 1], "-") || is(&argv[i + 1], "/dev/stdin"))) || is(&argv[i], "-f-") || is(&argv[i], "--file=-");
        if (str_starts(argv[i].text, STR("--eval="))) judge_makefile(j, str_sub(argv[i].text, 7, argv[i].text.n));
        if (eval && i + 1 < n) judge_makefile(j, argv[i + 1].text);
        if (input && in.kind == GUARD_INPUT_TEXT) judge_makefile(j, in.text);
        if (input && (in.kind == GUARD_INPUT_UNKNOWN || !in.exact)) guard_judge_raise(j, GUARD_CONFIRM, "what make reads and runs cannot be known before");
    }
}

/* ---- crontab ---- */

static void judge_crontab(Guard *j, Str text) {
    Str line;
    for (int i = 0; i < TEXTS_MAX && str_next_line(&text, &line); i++) {
        line = str_trim(line);
        for (int fields = str_starts(line, STR("@")) ? 1 : 5; fields > 0; fields--) {
            ptrdiff_t space = str_find_char(line, ' ');
            line = space < 0 ? STR("") : str_trim(str_sub(line, (size_t)space, line.n));
        }
        judge_worst(j, line);
    }
}

static void run_crontab(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    for (size_t i = 1; i < n; i++)
        if (is(&argv[i], "-l") || is(&argv[i], "-e") || is(&argv[i], "-h") || is(&argv[i], "--help")) return;
    if (in.kind == GUARD_INPUT_TEXT) judge_crontab(j, in.text);
    if (in.kind == GUARD_INPUT_UNKNOWN) guard_judge_raise(j, GUARD_CONFIRM, "what crontab reads, to be run later, cannot be known before");
}

/* ---- shells for others ---- */

/* socat EXEC:sh, nc -e /bin/sh: whoever is at the other end says what runs. */
static void run_socat(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    static const char *const writes[] = { "open:", "create:", "file:", "gopen:", NULL }, *const runs[] = { "exec:", "system:", "shell:", NULL };
    (void)in;
    for (size_t i = 1; i < n; i++) {
        ptrdiff_t colon = str_find_char(argv[i].text, ':'), comma;
        if (colon < 0) continue;
        char kind[16] = "";
        for (size_t k = 0; k <= (size_t)colon && k < sizeof kind - 1; k++) kind[k] = (char)(argv[i].text.at[k] | (is_letter(argv[i].text.at[k]) ? 32 : 0));
        Str rest = str_sub(argv[i].text, (size_t)colon + 1, argv[i].text.n);
        if ((comma = str_find_char(rest, ',')) >= 0) rest.n = (size_t)comma;
        bool reads = i + 1 < n && is(&argv[1], "-u");                      /* one way: the first is read */
        if (is_one_of(str_from(kind), writes) && !reads) guard_rules_target(j, &(GuardField){ .text = rest, .exact = argv[i].exact }, "socat");
        if (!is_one_of(str_from(kind), runs)) continue;
        judge_worst(j, rest);
        guard_judge_raise(j, GUARD_CONFIRM, "what socat lets the other side run cannot be known before");
    }
}

static void run_nc(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    (void)in;
    for (size_t i = 1; i + 1 < n; i++)
        if (is(&argv[i], "-e") || is(&argv[i], "-c") || is(&argv[i], "--exec") || is(&argv[i], "--sh-exec")) {
            judge_worst(j, argv[i + 1].text);
            guard_judge_raise(j, GUARD_CONFIRM, "what the other side of a connection runs cannot be known before");
        }
}

/* ---- programs of programs ---- */

/* docker exec, kubectl exec, poetry run: the command stands somewhere behind the word. Only names that nothing else has count. */
static void run_inner(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    static const char *const words[] = { "exec", "run", "dlx", "shell", "x", NULL };
    static const char *const names[] = { "rm", "rimraf", "shx", "dd", "sh", "bash", "dash", "zsh", "ash", "env", "sudo", "su", "xargs", "find", "git", "nice", "timeout", "python3",
                                         "python", "perl", "node", "mkfs.ext4", NULL };
    size_t i = 1;
    while (i < n && !is_one_of(argv[i].text, words)) i++;
    if (n > 1 && is(&argv[1], "rimraf")) i = 0;                            /* yarn rimraf x */
    j->only_worst++;
    for (size_t tried = 0; ++i < n && tried < TEXTS_MAX; tried++) {
        const char *slash = argv[i].text.n ? memrchr(argv[i].text.at, '/', argv[i].text.n) : NULL;
        Str name = slash ? str_sub(argv[i].text, (size_t)(slash + 1 - argv[i].text.at), argv[i].text.n) : argv[i].text;
        if (is_one_of(name, names) || str_starts(name, STR("rimraf@"))) guard_run_argv(j, argv + i, n - i, in);
    }
    j->only_worst--;
}

bool guard_text_run(Guard *j, Str name, const GuardField *argv, size_t n, GuardInput in) {
    static const char *const texts[] = { "tmux", "concurrently", "nodemon", "nix-shell", "vagrant", "gdb", "lldb", "sqlite3", "psql", "mysql", "mariadb", "ed", "less",
                                         "more", "expect", "sg", "capsh", "zip", "split", "lftp", "gcloud", NULL };
    static const char *const inner[] = { "docker", "podman", "nerdctl", "docker-compose", "kubectl", "oc", "npm", "pnpm", "yarn", "poetry", "uv", "pipenv", "bundle", "conda",
                                         "mamba", "direnv", "mise", "asdf", "rbenv", "pyenv", "ip", "adb", "aws-vault", "op", "dotenv", "hatch", "pdm", "rye", "volta",
                                         "lxc", "lxc-attach", "machinectl", "flatpak", "snap", "toolbox", "distrobox", NULL };
    static const struct { const char *name; void (*run)(Guard *j, const GuardField *argv, size_t n, GuardInput in); } own[] = {
        { "sed", run_sed }, { "gsed", run_sed }, { "make", run_make }, { "gmake", run_make }, { "crontab", run_crontab }, { "socat", run_socat },
        { "deno", run_code }, { "emacs", run_code }, { "screen", run_words }, { "xterm", run_words }, { "konsole", run_words }, { "gnome-terminal", run_words },
        { "man", run_man }, { "nc", run_nc }, { "ncat", run_nc }, { "netcat", run_nc },
    };
    bool known = is_one_of(name, texts) || is_one_of(name, inner);
    if (is_one_of(name, texts)) run_texts(j, argv, n, in);
    if (is_one_of(name, inner)) run_inner(j, argv, n, in);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (str_eq(name, str_from(own[i].name))) own[i].run(j, argv, n, in), known = true;
    return known;
}

/* ---- variables and settings ---- */

void guard_text_variable(Guard *j, Str name, Str value) {
    static const char *const names[] = { "EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "PROMPT_COMMAND", "GIT_SSH_COMMAND", "GIT_SSH", "GIT_PAGER",
                                         "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "GIT_PROXY_COMMAND", "SSH_ASKPASS", "SUDO_ASKPASS",
                                         "RSYNC_RSH", "CVS_RSH", "FCEDIT", NULL };
    if (!is_one_of(name, names)) return;
    while (value.n && strchr("|-", value.at[0])) value = str_sub(value, 1, value.n);      /* LESSOPEN='||-command' */
    judge_worst(j, value);
}

void guard_text_git_setting(Guard *j, Str name, Str value) {
    static const char *const ends[] = { "sshcommand", "pager", "editor", "fsmonitor", "askpass", "gitproxy", "textconv", "external", "command", "cmd", "clean", "smudge", "process",
                                        "helper", "driver", "program", "uploadpack", "receivepack", "hookspath" };
    char lower[64] = "";
    Str end = name;
    const char *dot = name.n == 0 ? NULL : memrchr(name.at, '.', name.n);
    if (dot) end = str_sub(name, (size_t)(dot + 1 - name.at), name.n);
    for (size_t i = 0; i < end.n && i < sizeof lower - 1; i++) lower[i] = (char)(end.at[i] | (is_letter(end.at[i]) ? 32 : 0));
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp(lower, ends[i]) == 0) judge_worst(j, str_starts(value, STR("!")) ? str_sub(value, 1, value.n) : value);
    bool remote = str_starts(name, STR("remote."));
    if (remote && strcmp(lower, "push") == 0 && str_starts(value, STR("+")))
        guard_judge_raise(j, GUARD_REFUSE, "forced push (" STR_FMT "=" STR_FMT ")", STR_ARG(name), STR_ARG(value));
    if (remote && strcmp(lower, "mirror") == 0 && !str_eq(value, STR("false"))) guard_judge_raise(j, GUARD_REFUSE, "forced push (" STR_FMT ")", STR_ARG(name));
}

/* ssh -o ProxyCommand='…' */
void guard_text_ssh_option(Guard *j, Str option) {
    static const char *const names[] = { "ProxyCommand", "LocalCommand", "RemoteCommand", "KnownHostsCommand", NULL };
    ptrdiff_t at = str_find_char(option, '=');
    if (at < 0) at = str_find_char(option, ' ');
    if (at > 0 && is_one_of(str_trim(str_sub(option, 0, (size_t)at)), names)) judge_worst(j, str_sub(option, (size_t)at + 1, option.n));
}
